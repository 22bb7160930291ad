# SPDX-License-Identifier: Apache-2.0
"""Buckets: examples of similar length, or of one class, batched together.

The contract is that of TensorFlow's ``contrib/training/python/training/bucket_ops.py``. The work is
done in C (``levada/bucket.h``): this module turns examples of Python into elements, and runs the
threads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from levada import _levada
from levada._dataset import Dataset
from levada.errors import (
    AbortedError,
    CancelledError,
    InvalidArgumentError,
    LevadaError,
    OutOfRangeError,
)
from levada.train._examples import Examples, Keep, Move, feed
from levada.train._feed import Feed
from levada.train._input import check_capacity, sources_of
from levada.train._input_block import native_spec
from levada.train._input_stream import Gauge, LateQueue, Made, Stream
from levada.train._queue_runner import QueueRunner
from levada.train._queues import FIFOQueue, PaddingFIFOQueue
from levada.train._structure import Structure, as_source

_Key = Hashable | Callable[[Any], Any]
_MOST = 2**31 - 1  # of numbers that have a limit anyway


class _Blocks:
    """The bucket queues as a queue that takes whole blocks."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    def enqueue_block(self, block: Any, columns: Sequence[int], first: int) -> None:
        if first:
            return  # a call that failed has counted what did not go in
        try:
            self._bucket.enqueue_block(block, columns, 0)
        except BaseException as error:
            error.enqueued = 1  # type: ignore[attr-defined]
            raise


class _BucketQueues:
    """The bucket queues as one: what the input threads fill, and close together."""

    names = None

    def __init__(
        self, name: str, queues: Sequence[Any], dtypes: Sequence[Any], bucket: Any
    ) -> None:
        self.name = name
        self.queues = queues
        self.dtypes = dtypes  # of an example, without its length
        self.bucket = bucket
        self._queue = _Blocks(bucket)

    def enqueue_from(self, dataset: Any) -> Feed:
        """A function that puts the next block of records of a dataset in."""
        return Feed(self, dataset)  # type: ignore[arg-type]

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        """Closes all of them, the first one first."""
        for queue in self.queues:
            try:
                queue.close(cancel_pending_enqueues=cancel_pending_enqueues, timeout=timeout)
            except CancelledError:  # closed already
                pass

    def cancel(self) -> None:
        """Ends every waiting call."""
        for queue in self.queues:
            queue.cancel()

    def size(self) -> int:
        """Elements in all of them."""
        return sum(queue.size() for queue in self.queues)

    def is_closed(self) -> bool:
        """Whether they were closed, or are about to be."""
        return self.queues[0].is_closed()


class _Input(LateQueue):
    """The bucket queues, once there are some. Consumers of the top queue receive the errors of
    these threads."""

    def __init__(self, make: Callable[[list[Any], Any], Any], name: str, top: LateQueue) -> None:
        super().__init__(make, name)
        self._top = top

    def _producers_failed(self, error: BaseException) -> None:
        self._top._producers_failed(error)

    def wait(self) -> _BucketQueues:
        """Until the first example; OutOfRangeError where there is none."""
        return self._settled(None, None, None)[0]


class _Bucketer(Examples):
    """What the threads and the consumer of one bucket function share."""

    def __init__(
        self, who: str, key: _Key, boundaries: tuple[int, ...] | None, options: dict[str, Any]
    ) -> None:
        super().__init__(who, options)
        self._key, self._what = key, "which_bucket" if boundaries is None else "input_length"
        if not callable(key) and not isinstance(key, Hashable):
            raise TypeError(
                f"{who}: {self._what} is {key!r:.60}; it must be the name or number of a field of "
                "the example, or a function of the example"
            )
        self._keep_field = _field_of(options["keep_input"])
        self._boundaries = boundaries
        self._n = self._check(options)
        self._shared_name = options["shared_name"]
        self._scope = options["name"] or "bucket"
        self._filtered = self._lost = 0
        self._bucket: Any = None
        shared = self._shared_name
        self._top = LateQueue(self._make_top, shared or f"{self._scope}/top_queue")
        self._input = _Input(self._make_queues, f"{self._scope}/bucket_queues", self._top)
        self._made = Made(lambda timeout: self._top.dequeue(timeout=timeout), self._build)
        self.put: Callable[[Any], None] = self._first  # for the input threads

    def _check(self, options: dict[str, Any]) -> int:
        """Checks numbers; returns that of the buckets."""
        capacities = options["bucket_capacities"]
        self._sizes = _integers(options["batch_size"], "batch_size")
        self._capacity = _integer(options["capacity"], "capacity")
        self._threads = _integer(options["num_threads"], "num_threads")
        check_capacity(self._capacity)
        self._capacities = None
        if capacities is not None:
            if _is_one(capacities):
                raise TypeError(
                    f"bucket_capacities={capacities} must be a list with an entry for each bucket"
                )
            self._capacities = _integers(capacities, "bucket_capacities")
        n = 0
        if self._boundaries is None:
            n = min(max(_integer(options["num_buckets"], "num_buckets"), -1), _MOST)
        if self._threads < 1:
            raise ValueError(f"{self.who}: num_threads={self._threads} must be at least 1")
        _levada.bucket_check(
            n,
            self._sizes,
            self._capacity,
            self._capacities,
            self._boundaries,
            min(self._threads, _MOST),
        )
        n = n if self._boundaries is None else len(self._boundaries) + 1
        if len(self._sizes) != n and not _is_one(options["batch_size"]):
            raise ValueError(
                f"{self.who}: batch_size must have num_buckets={n} entries if it is a list, got "
                f"{len(self._sizes)}; pass an integer for all buckets"
            )
        return n

    # -- queues

    def _open(self, dtypes: list[str], shapes: list[Any]) -> Any:
        return self._input.settle(dtypes, shapes)

    def _make_top(self, dtypes: list[str], shapes: list[Any]) -> Any:
        name = f"{self._scope}/top_queue"
        return PaddingFIFOQueue(
            self._capacity, dtypes, shapes, shared_name=self._shared_name, name=name
        )

    def _make_queues(self, dtypes: list[str], shapes: list[Any]) -> _BucketQueues:
        by_length = self._boundaries is not None
        all_dtypes = ["int32", *dtypes] if by_length else dtypes
        all_shapes = [(), *shapes] if by_length else list(shapes)
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        capacities = self._capacities or (self._capacity,) * self._n
        shared = self._shared_name
        queues = [
            kind(
                capacity,
                all_dtypes,
                all_shapes,
                shared_name=None if shared is None else f"{shared}_{i}",
                name=f"{self._scope}/bucket_queue_{i}",
            )
            for i, capacity in enumerate(capacities)
        ]
        rows = [(None, *shape) for shape in all_shapes]
        top = self._top.settle(["int32", *all_dtypes], [(), *rows])
        key = 0 if callable(self._key) else self.structure.index(self._key)
        keep = -1 if self._keep_field is None else self.structure.index(self._keep_field)
        self._bucket = _levada.Bucket(
            tuple(queue._queue for queue in queues),
            top._queue,
            self._sizes,
            self._boundaries,
            self.smaller,
            key,
            keep,
        )
        self.put = self._putter(key)
        return _BucketQueues(self._input.name, queues, dtypes, self._bucket)

    # -- the input threads' side

    def _first(self, example: Any) -> None:
        """Puts an example before there is a queue; then `put` is made for its structure."""
        self.settle(example)
        self.put(example)

    def _putter(self, field: int) -> Callable[[Any], None]:
        """A function that puts one example into its bucket.

        It takes a dict of the usual fields apart itself: a call of ``flatten`` takes longer.
        """
        flatten, enqueue = self.structure.flatten, self._bucket.put
        pick, first = self.structure.pick, self.structure.keys[0]
        fields = len(self.structure.keys) if self.structure.kind is dict else -1
        key_of = _no_end(self._key) if callable(self._key) else None
        kept = None if self.keep is None else self._kept
        sized = self._boundaries is not None and key_of is None  # the key may be what has a length

        def put(example: Any) -> None:
            try:
                usual = type(example) is dict and len(example) == fields
                if usual and fields == 1:
                    values = [example[first]]
                else:
                    values = pick(example) if usual else flatten(example)
            except KeyError:
                values = flatten(example)  # names the field
            if kept and not kept(example, values):
                return
            key = values[field] if key_of is None else key_of(example)
            try:
                enqueue(values, key, sized)
            except Exception as error:
                self._failed(_length_of(key) if sized else key, values, error)

        return put

    def _kept(self, example: Any, values: Sequence[Any]) -> bool:
        keep = self.keep
        if keep is None or keep(example, values, self.structure) is not None:
            return True
        with self._lock:
            self._filtered += 1
        return False

    def _failed(self, key: Any, values: Sequence[Any], error: Exception) -> None:
        """Raises what a failed put means."""
        if isinstance(error, CancelledError):
            self._cancelled(error)
        if isinstance(error, LevadaError) or not isinstance(error, (TypeError, ValueError)):
            raise error
        try:
            operator.index(key)
        except TypeError:
            raise InvalidArgumentError(
                f"{self.who}: {self._what} is {key!r:.60}, not an integer"
            ) from None
        raise self.misfit(values, error) from error

    def _cancelled(self, error: CancelledError) -> None:
        with self._lock:
            self._lost += 1
        if self._input.is_closed():
            raise error
        raise AbortedError(
            f"{self.who}: a call in '{self._input.name}' was cancelled while it was open: the "
            "input is incomplete"
        ) from error

    # -- the buckets' side

    def _run(self, i: int) -> None:
        self._input.wait().bucket.run(i)

    # -- the consumer's side

    def take(self, timeout: float | None) -> Any:
        """The next batch."""
        return self._made.next(timeout)

    def _build(self, values: Sequence[Any]) -> Any:
        if self._boundaries is None:
            return values[0], self.structure.build(values[1:], bare=False)
        return values[1], self.structure.build(values[2:], bare=False)

    def counts(self) -> dict[str, float]:
        """What ``stats()`` has besides the top queue."""
        queues = [] if self.queue is None else self.queue.queues
        sizes = [queue.size() for queue in queues] or [0] * self._n
        found: dict[str, float] = {
            f"{self._scope}/bucket_queue_{i}/size": size for i, size in enumerate(sizes)
        }
        counts = (0, 0, 0, 0) if self._bucket is None else self._bucket.counts()
        found["batches"], found["records"] = counts[0], counts[1]
        found["dropped_records"] = counts[2] + self._lost
        found["filtered_records"] = counts[3] + self._filtered
        return found

    def stream(self, source: Any) -> Stream:
        """Threads and result."""
        spec = self._spec_of(source)
        move = Move(self, source, spec) if spec else None
        ops: list[Callable[[], None]] = [move] if move else []
        if move is None:
            ops = [feed(self, as_source(source, self.who))] * self._threads

        def cancel() -> None:
            self._input.close(cancel_pending_enqueues=True)
            if move is not None:
                move.cancel()

        ends = (OutOfRangeError, CancelledError)
        runs: list[Any] = []
        for i in range(self._n):
            runs.append(partial(self._run, i))
            runs[-1].__name__ = f"enqueue_from_bucket_{i}"
        output = QueueRunner(self._top, runs, queue_closed_exception_types=ends)
        fill = QueueRunner(self._input, ops, cancel_op=cancel, queue_closed_exception_types=ends)
        gauge = Gauge(f"{self._scope}/top_queue", self._capacity)
        return Stream(self.take, self._top, [output, fill], gauge, self.counts)

    def _spec_of(self, source: Any) -> Any:
        """(names, dtypes, shapes) of a dataset whose blocks need no Python for each record."""
        if callable(self._key) or (self.keep is not None and self._keep_field is None):
            return None
        wanted = SimpleNamespace(keep=None, enqueue_many=False, dynamic_pad=self.dynamic_pad)
        spec = native_spec(source, wanted)
        if spec is not None:
            structure = Structure(dict, sorted(spec[0]))
            structure.index(self._key)
            if self._keep_field is not None:
                structure.index(self._keep_field)
        return spec


def _single(sources: list[Any]) -> list[Any]:
    """The sources; ValueError where a record is a batch."""
    for source in sources:
        if isinstance(source, Dataset) and source._core.flags & 2:
            raise ValueError(
                "the dataset ends in a batching stage; buckets need single records: add unbatch()"
            )
    return sources


def _field_of(keep: Any) -> Hashable | None:
    """The field that keep_input names; None: it does not name one."""
    import numpy as np

    if keep is None or callable(keep) or isinstance(keep, (bool, np.bool_, np.ndarray, list)):
        return None
    return keep


def _no_end(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, whose StopIteration would look like the end of the input."""

    def key_of(example: Any) -> Any:
        try:
            return function(example)
        except (StopIteration, OutOfRangeError) as error:
            raise RuntimeError(f"the function of an example raised {error!r}") from error

    return key_of


def _length_of(value: Any) -> Any:
    """A length: that of an array, a list or a byte string, or the value itself."""
    try:
        return len(value)
    except TypeError:
        return value


def _integer(value: Any, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {value!r:.60}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{what}={number} must be within int64")
    return number


def _is_one(values: Any) -> bool:
    """Whether it is an integer; an array has ``__index__`` too."""
    return hasattr(values, "__index__") and not getattr(values, "shape", ())


def _integers(values: Any, what: str) -> tuple[int, ...]:
    """An integer, or an iterable of integers, which is copied."""
    if _is_one(values):
        return (_integer(values, what),)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be an integer or a list of integers, got {values!r:.60}")
    return tuple(_integer(value, what) for value in values)


def _boundaries_of(values: Any) -> tuple[int, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {values!r:.60}")
    found = []
    for value in values:
        if not hasattr(value, "__index__"):
            raise TypeError(f"bucket boundaries must be integers, but saw: {value!r:.60}")
        found.append(_integer(value, "bucket boundary"))
    if not found:
        raise ValueError("bucket_boundaries must not be empty")
    return tuple(found)


def bucket(
    source: Any,
    which_bucket: _Key,
    batch_size: int | Iterable[int],
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Iterable[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Keep = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples of one bucket each, as ``(bucket id, outputs)``.

    Input threads put each example into the queue of its bucket. One thread for each bucket moves
    full batches to a top queue, from which the calls take them. With one input thread a bucket
    keeps the order of arrival. Batches of different buckets arrive in any order. A bucket whose
    batches nobody takes blocks the input.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from: a function of
            no arguments that returns one (array-likes as a list, tuple or dict, or bare) and raises
            OutOfRangeError or StopIteration at the end; an iterator or iterable of examples; a
            Dataset; a queue. A list, tuple or dict is one example, as in TensorFlow (see
            ``batch``). Threads of levada read the source after ``start_queue_runners``.
        which_bucket (str | int | Callable): the number of the bucket of an example: the name (or
            list index) of a field, or a function of the example. A number outside of [0,
            num_buckets) ends the input, and consumers receive InvalidArgumentError after the
            batches before it.
        batch_size (int | Iterable[int]): examples in a batch, or a list with an entry for each
            bucket.
        num_buckets (int): how many buckets there are.
        num_threads (int, default 1): threads that call the source, which must then be thread-safe.
            If fields choose the bucket, and not functions, one thread moves a Dataset block by
            block.
        capacity (int, default 32): capacity of the top queue, in batches, and of each bucket queue,
            in examples; -1 = no limit.
        bucket_capacities (Iterable[int]): capacities of the bucket queues, one for each.
        shapes (list | dict): shape of each field of one example, a list in the order of fields or a
            dict; by default the shapes of the first example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest on the right (0, b"", False). None in `shapes` means a dimension that varies;
            without `shapes` all do.
        allow_smaller_final_batch (bool, default False): at the end each bucket delivers its
            remainder as a smaller batch, in the order of the buckets. Otherwise
            ``stats()["dropped_records"]`` counts the remaining examples.
        keep_input (bool | str | int | Callable, default True): a bool, a field, or a function of
            the example: whether to keep it. ``stats()["filtered_records"]`` counts the other
            examples.
        shared_name (str): the bucket queues are shared under ``<shared_name>_<i>``, the top queue
            under ``<shared_name>``.
        name (str): replaces "bucket" in the names of queues and gauges.

    Raises:
        ValueError, TypeError: wrong arguments. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        batches = lt.bucket(iter(range(8)), lambda x: x % 2, 2, num_buckets=2)
        lt.start_queue_runners()
        print(batches())
    """
    options = locals()
    (source,) = _single(sources_of("bucket", options))
    return _Bucketer("bucket", which_bucket, None, options).stream(source)


def bucket_by_sequence_length(
    source: Any,
    input_length: _Key,
    batch_size: int | Iterable[int],
    bucket_boundaries: Iterable[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Iterable[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Keep = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns batches of examples of similar length: a call returns ``(sequence_length, outputs)``.

    ``sequence_length`` is an int32 array with the length of each example. Bucket i holds the
    lengths l with ``bucket_boundaries[i - 1] <= l < bucket_boundaries[i]``; the first and the last
    bucket are open.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from, as in `batch`.
        input_length (str | int | Callable): the length of an example: the name (or list index) of
            an integer field, or of a field whose first dimension is the length, or a function of
            the example.
        batch_size (int | Iterable[int]): examples in a batch, or a list with an entry for each
            bucket.
        bucket_boundaries (Iterable[int]): increasing lengths, one fewer than buckets.
        num_threads (int, default 1): threads that call the source, which must then be thread-safe.
        capacity (int, default 32): capacity of the top queue, in batches, and of each bucket
            queue, in examples; -1 = no limit.
        bucket_capacities (Iterable[int]): capacities of the bucket queues, one for each; None =
            `capacity`.
        shapes (list | dict): shape of each field of one example; None = the shapes of the first
            example.
        dynamic_pad (bool, default False): fields may differ in shape, and a batch is padded to the
            largest.
        allow_smaller_final_batch (bool, default False): at the end each bucket delivers its
            remainder as a smaller batch, in the order of the buckets; otherwise the remaining
            examples are dropped and counted.
        keep_input (bool | str | int | Callable, default True): which examples to keep: a bool, a
            field, or a function of the example.
        shared_name (str): the bucket queues are shared under ``<shared_name>_<i>``, the top queue
            under ``<shared_name>``.
        name (str): replaces the name of the function in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next batch, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        examples = iter([{"x": [1]}, {"x": [1, 2]}, {"x": [1, 2, 3]}, {"x": [4]}])
        batches = lt.bucket_by_sequence_length(examples, "x", 2, [2], dynamic_pad=True)
        lt.start_queue_runners()
        print(batches())
    """
    who = "bucket_by_sequence_length"
    options = locals()
    (source,) = _single(sources_of(who, options))
    return _Bucketer(who, input_length, _boundaries_of(bucket_boundaries), options).stream(source)
