# SPDX-License-Identifier: Apache-2.0
"""Batchers: threads that move examples from sources into a queue, and batches out of it.

The contract is that of TensorFlow's ``python/training/input.py``. The result of each function is a
``Stream``: a call returns the next batch in the structure of the examples (an example of one field
is returned bare), and raises OutOfRangeError at the end. Its ``stats()`` has the queue's fullness
under TensorFlow's name, and ``dropped_records``: the number of records at the end that did not
fill a batch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from levada.errors import LevadaError, OutOfRangeError
from levada.train._examples import Examples, Keep, Move, feed
from levada.train._input_block import enqueue_rows, native_spec
from levada.train._input_stream import Gauge, LateQueue, Made, Stream
from levada.train._queue_runner import QueueRunner
from levada.train._queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from levada.train._structure import Fields, as_source


class _Batcher(Examples):
    """What the threads and the consumer of one batch function share."""

    def __init__(self, who: str, make: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(who, options)
        self.batch_size = operator.index(options["batch_size"])
        if self.batch_size < 1:
            raise ValueError(f"{who}: batch_size={self.batch_size} must be at least 1")
        self._ended = False
        shared_name = options.get("shared_name")
        self._late = LateQueue(make, shared_name or f"{options.get('name') or who}/queue")
        self._made = Made(self._dequeue, self._build)
        self._enqueue: Callable[[Sequence[Any]], None]  # into it

    # -- the threads' side

    def _open(self, dtypes: list[str], shapes: list[Any]) -> Any:
        queue = self._late.settle(dtypes, shapes)
        self._enqueue = partial(enqueue_rows, queue) if self.enqueue_many else queue._queue.enqueue
        return queue

    def put(self, example: Any) -> None:
        """One example, or with enqueue_many its rows, into the queue."""
        if self.queue is None:
            self.settle(example)
        values = self.structure.flatten(example)
        if self.keep is not None:
            values = self.keep(example, values, self.structure)
            if values is None:
                return
        try:
            self._enqueue(values)
        except (TypeError, ValueError) as error:
            if isinstance(error, LevadaError):
                raise
            raise self.misfit(values, error) from error

    # -- the consumer's side

    def take(self, timeout: float | None) -> Any:
        """The next batch."""
        return self._made.next(timeout)

    def _dequeue(self, timeout: float | None) -> Any:
        dequeue = self._late.dequeue_up_to if self.smaller else self._late.dequeue_many
        try:
            return dequeue(self.batch_size, timeout=timeout)
        except OutOfRangeError:
            self._ended = True
            raise

    def _build(self, values: Any) -> Any:
        return self.structure.build([values] if len(self.structure.keys) == 1 else values)

    def counts(self) -> dict[str, int]:
        """`dropped_records`: those that do not fill a batch, known at the end."""
        return {"dropped_records": self._late.size() if self._ended else 0}

    def stream(self, sources: list[Any], options: dict[str, Any], gauge: Gauge) -> Stream:
        """Threads and result: `num_threads` (1) for each source."""
        num_threads = options.get("num_threads", 1)
        if operator.index(num_threads) < 1:
            raise ValueError(f"{self.who}: num_threads={num_threads} must be at least 1")
        ops = []
        for source in sources:
            spec = native_spec(source, self)
            op = Move(self, source, spec) if spec else feed(self, as_source(source, self.who))
            ops += [op] * (1 if spec else num_threads)
        moves = [op for op in ops if isinstance(op, Move)]

        def cancel() -> None:
            self._late.close(cancel_pending_enqueues=True)
            for move in moves:
                move.cancel()

        runner = QueueRunner(self._late, ops, cancel_op=cancel if moves else None)
        return Stream(self.take, self._late, [runner], gauge, self.counts)


# -- the functions


def _fifo(options: dict[str, Any], scope: str) -> Callable[..., Any]:
    kind = PaddingFIFOQueue if options.get("dynamic_pad") else FIFOQueue
    word = "padding_fifo_queue" if options.get("dynamic_pad") else "fifo_queue"
    capacity, shared_name = options["capacity"], options["shared_name"]
    check_capacity(capacity)

    def make(dtypes: list[str], shapes: list[Any]) -> Any:
        return kind(capacity, dtypes, shapes, shared_name=shared_name, name=f"{scope}/{word}")

    return make


def check_capacity(capacity: int) -> None:
    """ValueError unless a queue may have that capacity."""
    if operator.index(capacity) == 0 or capacity < -1:
        raise ValueError(f"capacity={capacity} must be at least 1, or -1 for no limit")


def _batch(who: str, options: dict[str, Any]) -> Stream:
    scope = options["name"] or who
    batcher = _Batcher(who, _fifo(options, scope), options)
    return batcher.stream(sources_of(who, options), options, Gauge(scope, options["capacity"]))


def _shuffle_batch(who: str, options: dict[str, Any]) -> Stream:
    scope = options["name"] or who
    capacity, least = options["capacity"], options["min_after_dequeue"]
    seed, shared_name = options["seed"], options["shared_name"]
    check_capacity(capacity)
    if seed is not None:
        operator.index(seed)
    if operator.index(least) < 0:
        raise ValueError(f"min_after_dequeue {least} must be >= 0.")
    if 0 < capacity <= least:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {least}.")

    def make(dtypes: list[str], shapes: list[Any]) -> Any:
        return RandomShuffleQueue(
            capacity, least, dtypes, shapes, seed=seed, shared_name=shared_name,
            name=f"{scope}/random_shuffle_queue",
        )  # fmt: skip

    batcher = _Batcher(who, make, options)
    return batcher.stream(sources_of(who, options), options, Gauge(scope, capacity, least))


def sources_of(who: str, options: dict[str, Any]) -> list[Any]:
    """The sources of a function: the argument `source`, or each of `sources`."""
    if "sources" not in options:
        return [_example_of(options["source"], who)]
    sources = options["sources"]
    if not isinstance(sources, (list, tuple)):
        raise TypeError(f"{who}: the sources must be a list, got {type(sources).__name__}")
    if not sources:
        raise ValueError(f"Expected at least one input in {who}().")
    return [_example_of(source, who) for source in sources]


def _example_of(source: Any, who: str) -> Any:
    """The source; a list, tuple or dict is one example of several fields, as in TensorFlow."""
    if not isinstance(source, (list, tuple, dict)):
        return source
    if not source:
        raise ValueError(f"Expected at least one tensor in {who}().")
    return Fields(source, who)


def batch(
    source: Any,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples, in their order.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from: a function of
            no arguments that returns one (array-likes as a list, tuple or dict, or bare) and raises
            OutOfRangeError or StopIteration at the end; an iterator or iterable of examples; a
            Dataset; a queue. A list, tuple or dict is one example, as in TensorFlow: its fields are
            functions, queues and iterators, which are read together, or values that every example
            repeats. ``iter(examples)`` reads a list of examples. Threads of levada read the source
            after ``start_queue_runners``.
        batch_size (int): examples in a batch.
        num_threads (int, default 1): threads that call the source. With several threads, the order
            of examples is not fixed, and a function must be thread-safe; queues are thread-safe,
            and levada reads iterables under a lock. One thread moves a Dataset whose columns are
            known, with the interpreter released.
        capacity (int, default 32): capacity of the queue, in examples; -1 = no limit.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension. Rows of a field may differ in length (``levada.Ragged``, a RaggedFeature of
            ``parse_example``) with `dynamic_pad`.
        shapes (list | dict): shape of each field of one example (one row), a list in the order of
            fields or a dict; by default the shapes of the first example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest on the right (0, b"", False). None in `shapes` means a dimension that varies;
            without `shapes` all do.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller. Otherwise
            the examples that do not fill a batch are dropped, and ``stats()["dropped_records"]``
            counts them.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces "batch" in the names of the queue and the gauge.

    Raises:
        ValueError, TypeError: wrong arguments. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        batches = lt.batch(iter(range(6)), 3)
        lt.start_queue_runners()
        print(batches())
    """
    return _batch("batch", locals())


def maybe_batch(
    source: Any,
    keep_input: Keep,
    batch_size: int,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of the examples that `keep_input` keeps.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from, as in `batch`.
        keep_input (bool | str | int | Callable): which examples to keep: a bool, the name or number
            of a field, or a function of the example. With `enqueue_many`, a vector keeps and drops
            single rows.
        batch_size (int): examples in a batch.
        num_threads (int, default 1): threads that call the source. With several threads, the order
            of examples is not fixed, and a function must be thread-safe.
        capacity (int, default 32): capacity of the queue, in examples; -1 = no limit.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces "batch" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        batches = lt.maybe_batch(iter(range(9)), lambda x: x % 2 == 0, 3)
        lt.start_queue_runners()
        print(batches())
    """
    return _batch("batch", locals())


def batch_join(
    sources: Sequence[Any],
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples from several sources.

    levada keeps the order of each source; the end of one does not stop the others.

    Args:
        sources (list): the sources, each as in `batch`; one thread reads each of them.
        batch_size (int): examples in a batch.
        capacity (int, default 32): capacity of the queue, in examples; -1 = no limit.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces the name of the function in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        sources = [iter(range(4)), iter(range(4))]
        batches = lt.batch_join(sources, 4)
        lt.start_queue_runners()
        print(batches())
    """
    return _batch("batch_join", locals())


def maybe_batch_join(
    sources: Sequence[Any],
    keep_input: Keep,
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of the examples that `keep_input` keeps, from several sources.

    Args:
        sources (list): the sources, each as in `batch`; one thread reads each of them.
        keep_input (bool | str | int | Callable): which examples to keep: a bool, the name or number
            of a field, or a function of the example. With `enqueue_many`, a vector keeps and drops
            single rows.
        batch_size (int): examples in a batch.
        capacity (int, default 32): capacity of the queue, in examples; -1 = no limit.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces "batch_join" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        sources = [iter(range(4)), iter(range(4))]
        batches = lt.maybe_batch_join(sources, lambda x: x > 0, 3)
        lt.start_queue_runners()
        print(batches())
    """
    return _batch("batch_join", locals())


def shuffle_batch(
    source: Any,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples in random order, drawn from a queue.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from, as in `batch`.
        batch_size (int): examples in a batch.
        capacity (int): most examples in the queue; larger than `min_after_dequeue`, or -1 = no
            limit.
        min_after_dequeue (int): examples that stay in the queue after a draw, until the end. More
            examples mix better.
        num_threads (int, default 1): threads that call the source. With several threads, the order
            of examples is not fixed, and a function must be thread-safe.
        seed (int): seed of the draws; None picks a random seed. The order also depends on the
            number of examples in the queue.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces the name of the function in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        batches = lt.shuffle_batch(iter(range(9)), 3, capacity=20, min_after_dequeue=4)
        lt.start_queue_runners()
        print(batches())
    """
    return _shuffle_batch("shuffle_batch", locals())


def maybe_shuffle_batch(
    source: Any,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Keep,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches in random order of the examples that `keep_input` keeps.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from, as in `batch`.
        batch_size (int): examples in a batch.
        capacity (int): most examples in the queue; larger than `min_after_dequeue`, or -1 = no
            limit.
        min_after_dequeue (int): examples that stay in the queue after a draw, until the end. More
            examples mix better.
        keep_input (bool | str | int | Callable): which examples to keep: a bool, the name or number
            of a field, or a function of the example. With `enqueue_many`, a vector keeps and drops
            single rows.
        num_threads (int, default 1): threads that call the source. With several threads, the order
            of examples is not fixed, and a function must be thread-safe.
        seed (int): seed of the draws; None picks a random seed. The order also depends on the
            number of examples in the queue.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces "shuffle_batch" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        batches = lt.maybe_shuffle_batch(iter(range(9)), 3, 20, 4, lambda x: x > 0)
        lt.start_queue_runners()
        print(batches())
    """
    return _shuffle_batch("shuffle_batch", locals())


def shuffle_batch_join(
    sources: Sequence[Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples in random order, from several sources.

    Args:
        sources (list): the sources, each as in `batch`; one thread reads each of them.
        batch_size (int): examples in a batch.
        capacity (int): most examples in the queue; larger than `min_after_dequeue`, or -1 = no
            limit.
        min_after_dequeue (int): examples that stay in the queue after a draw, until the end. More
            examples mix better.
        seed (int): seed of the draws; None picks a random seed. The order also depends on the
            number of examples in the queue.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces the name of the function in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        sources = [iter(range(4)), iter(range(4))]
        batches = lt.shuffle_batch_join(sources, 3, capacity=20, min_after_dequeue=4)
        lt.start_queue_runners()
        print(batches())
    """
    return _shuffle_batch("shuffle_batch_join", locals())


def maybe_shuffle_batch_join(
    sources: Sequence[Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Keep,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches in random order of the examples that `keep_input` keeps, from several
    sources.

    Args:
        sources (list): the sources, each as in `batch`; one thread reads each of them.
        batch_size (int): examples in a batch.
        capacity (int): most examples in the queue; larger than `min_after_dequeue`, or -1 = no
            limit.
        min_after_dequeue (int): examples that stay in the queue after a draw, until the end. More
            examples mix better.
        keep_input (bool | str | int | Callable): which examples to keep: a bool, the name or number
            of a field, or a function of the example. With `enqueue_many`, a vector keeps and drops
            single rows.
        seed (int): seed of the draws; None picks a random seed. The order also depends on the
            number of examples in the queue.
        enqueue_many (bool, default False): an example has many rows: every field has one more
            dimension.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        allow_smaller_final_batch (bool, default False): the last batch may be smaller; otherwise
            the remaining examples are dropped and counted.
        shared_name (str): batchers of one name share a queue.
        name (str): replaces "shuffle_batch_join" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        sources = [iter(range(4)), iter(range(4))]
        batches = lt.maybe_shuffle_batch_join(sources, 3, 20, 4, lambda x: x > 0)
        lt.start_queue_runners()
        print(batches())
    """
    return _shuffle_batch("shuffle_batch_join", locals())
