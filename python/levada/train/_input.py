# SPDX-License-Identifier: Apache-2.0
"""Batchers: threads that move examples from sources into a queue, and batches out of it.

The contract is that of TensorFlow's ``python/training/input.py``. The result of each function is a
``Stream``: a call gives the next batch in the structure of the examples (an example of one field
comes back bare), and raises OutOfRangeError at the end. Its ``stats()`` has the queue's fullness
under TensorFlow's name and ``dropped_records``: how many were left over at the end because they do
not fill a batch.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from levada._dataset import Dataset
from levada._ragged import check_mask
from levada.errors import InvalidArgumentError, LevadaError, OutOfRangeError
from levada.train._input_block import (
    dtype_of_value,
    enqueue_rows,
    is_column,
    native_spec,
    shape_of_rows,
)
from levada.train._input_stream import Gauge, LateQueue, Made, Stream
from levada.train._queue_runner import QueueRunner
from levada.train._queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from levada.train._structure import Structure, as_source

_Keep = bool | Hashable | Callable[[Any], Any] | None


class _Batcher:
    """What the threads and the consumer of one batch function share."""

    def __init__(self, who: str, make: Callable[..., Any], options: dict[str, Any]) -> None:
        self.who = who
        self.enqueue_many = bool(options.get("enqueue_many"))
        self.batch_size = operator.index(options["batch_size"])
        if self.batch_size < 1:
            raise ValueError(f"{who}: batch_size={self.batch_size} must be at least 1")
        self.dynamic_pad = bool(options.get("dynamic_pad"))
        self.smaller = bool(options.get("allow_smaller_final_batch"))
        self.shapes = options.get("shapes")
        _check_shapes(self.shapes, self.dynamic_pad)
        self.keep = _keeper(options.get("keep_input", True), self.enqueue_many)
        self.structure: Any = None  # a Structure, once an example or a dataset has settled it
        self._lock = threading.Lock()
        self._ended = False
        shared_name = options.get("shared_name")
        self._late = LateQueue(make, shared_name or f"{options.get('name') or who}/queue")
        self._made = Made(self._dequeue, self._build)
        self.queue: Any = None  # the settled one
        self._enqueue: Callable[[Sequence[Any]], None]  # into it

    # -- the threads' side

    def settle(self, example: Any) -> None:
        """Fixes structure, types and shapes; the first example of all threads does."""
        with self._lock:
            if self.queue is not None:
                return
            structure = Structure.of(example)
            values = structure.flatten(example)
            dtypes = [self._dtype_of(*field) for field in zip(structure.keys, values, strict=True)]
            shapes = self._shapes_of(structure, values)
            self._settle_locked(structure, dtypes, shapes)

    def _dtype_of(self, field: Hashable, value: Any) -> str:
        try:
            return dtype_of_value(value)
        except TypeError as error:
            raise TypeError(f"{self.who}: field {field!r} of the first example: {error}") from None
        except ValueError as error:  # rows of different lengths
            raise InvalidArgumentError(
                f"{self.who}: field {field!r} of the first example is not an array: {error}"
            ) from error

    def settle_spec(self, names: list[str], dtypes: list[str], shapes: list[Any]) -> None:
        """The same from what a dataset says of itself."""
        with self._lock:
            if self.queue is None:
                structure = Structure(dict, sorted(names))
                order = [names.index(name) for name in structure.keys]
                if self.shapes is not None:
                    shapes = structure.in_order(self.shapes, "shapes")
                else:
                    shapes = [self._loose(shapes[i]) for i in order]
                self._settle_locked(structure, [dtypes[i] for i in order], shapes)

    def _settle_locked(self, structure: Structure, dtypes: list[str], shapes: list[Any]) -> None:
        self.structure = structure
        queue = self._late.settle(dtypes, shapes)
        self._enqueue = partial(enqueue_rows, queue) if self.enqueue_many else queue._queue.enqueue
        self.queue = queue  # the last: then there is all that `put` needs

    def _loose(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (None,) * len(shape) if self.dynamic_pad else tuple(shape)

    def _shapes_of(self, structure: Structure, values: Sequence[Any]) -> list[Any]:
        if self.shapes is not None:
            return [tuple(shape) for shape in structure.in_order(self.shapes, "shapes")]
        shapes = []
        for field, value in zip(structure.keys, values, strict=True):
            shape = shape_of_rows(value) if self.enqueue_many else _shape_of(value)
            if shape is None:
                raise InvalidArgumentError(
                    f"{self.who}: field {field!r} is one value; with enqueue_many=True it has rows"
                )
            shape = self._loose(shape)
            if None in shape and not self.dynamic_pad:
                raise InvalidArgumentError(
                    f"{self.who}: field {field!r} is ragged; dynamic_pad=True pads it"
                )
            shapes.append(shape)
        return shapes

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
            raise self._misfit(values, error) from error

    def _misfit(self, values: Sequence[Any], error: Exception) -> InvalidArgumentError:
        fields = ", ".join(repr(key) for key in self.structure.keys)
        return InvalidArgumentError(
            f"{self.who}: an example does not fit the first one (fields {fields}): {error}"
        )

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
            op = _Move(self, source, spec) if spec else _feed(self.put, as_source(source, self.who))
            ops += [op] * (1 if spec else num_threads)
        moves = [op for op in ops if isinstance(op, _Move)]

        def cancel() -> None:
            self._late.close(cancel_pending_enqueues=True)
            for move in moves:
                move.cancel()

        runner = QueueRunner(self._late, ops, cancel_op=cancel if moves else None)
        return Stream(self.take, self._late, [runner], gauge, self.counts)


def _feed(put: Callable[[Any], None], source: Callable[[], Any]) -> Callable[[], None]:
    """An enqueue op: one example of a source into the queue."""

    def enqueue() -> None:
        put(source())

    enqueue.__name__ = str(getattr(source, "__name__", "enqueue"))
    return enqueue


class _Move:
    """An enqueue op: a block of records of a dataset into the queue, without Python between."""

    def __init__(self, batcher: _Batcher, dataset: Dataset, spec: Any) -> None:
        self.__name__ = "enqueue_dataset"
        self._batcher, self._dataset, self._spec = batcher, dataset, spec
        self._feed: Any = None
        self._cancelled = False

    def __call__(self) -> None:
        if self._feed is None:
            self._batcher.settle_spec(*self._spec)
            ordered = self._dataset.select(*self._batcher.structure.keys)
            self._feed = self._batcher.queue.enqueue_from(ordered)
        if self._cancelled:
            self._feed.cancel()
        self._feed()

    def cancel(self) -> None:
        """Frees a thread that waits for records of the dataset. Any thread."""
        self._cancelled = True
        if self._feed is not None:
            self._feed.cancel()


def _shape_of(value: Any) -> tuple[int, ...]:
    import numpy as np

    shape = getattr(value, "shape", None)
    return np.shape(value) if shape is None else tuple(shape)


def _check_shapes(shapes: Any, dynamic_pad: bool) -> None:
    """What can be said of shapes= before there is an example."""
    if shapes is None:
        return
    for shape in shapes.values() if hasattr(shapes, "values") else shapes:
        if shape is None:
            raise ValueError(f"Cannot infer Tensor's rank: shapes={shapes}")
        if any(size in (None, -1) for size in shape) and not dynamic_pad:
            raise ValueError(
                f"All shapes must be fully defined: {shapes}; dynamic_pad=True allows others"
            )


# -- keep_input


def _keeper(keep: Any, enqueue_many: bool) -> Callable[..., list[Any] | None] | None:
    """Function (example, values, structure) -> the values to keep, or None; None keeps all."""
    import numpy as np

    if keep is None or keep is True:
        return None
    if callable(keep):
        return lambda example, values, _: _kept(values, keep(example), enqueue_many)
    if isinstance(keep, (bool, np.bool_, np.ndarray, list)):
        constant = _checked_keep(keep, enqueue_many)
        return lambda _, values, __: _kept(values, constant, enqueue_many)

    def by_field(_: Any, values: list[Any], structure: Structure) -> list[Any] | None:
        return _kept(values, values[structure.index(keep)], enqueue_many)

    return by_field


def _checked_keep(keep: Any, enqueue_many: bool) -> Any:
    import numpy as np

    check_mask(keep)
    keep = np.asarray(keep)
    if keep.ndim > 1:
        raise InvalidArgumentError("`keep_input` must be 0 or 1 dimensions.")
    if keep.ndim == 1 and not enqueue_many:
        raise InvalidArgumentError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    return keep.astype(bool)


def _kept(values: list[Any], keep: Any, enqueue_many: bool) -> list[Any] | None:
    if keep is True or keep is False:
        return values if keep else None
    keep = _checked_keep(keep, enqueue_many)
    if keep.ndim == 0 or keep.all():
        return values if keep.all() else None
    if not keep.any():
        return None
    return [_rows_where(value, keep) for value in values]


def _rows_where(value: Any, keep: Any) -> Any:
    import numpy as np

    if len(value) != len(keep):
        raise InvalidArgumentError(
            f"`keep_input` has {len(keep)} entries, the example {len(value)} rows"
        )
    if is_column(value):
        rows = list(value)
        return [rows[i] for i in np.flatnonzero(keep)]
    return np.asanyarray(value)[keep]  # the queue refuses masks


# -- the functions


def _fifo(options: dict[str, Any], scope: str) -> Callable[..., Any]:
    kind = PaddingFIFOQueue if options.get("dynamic_pad") else FIFOQueue
    word = "padding_fifo_queue" if options.get("dynamic_pad") else "fifo_queue"
    capacity, shared_name = options["capacity"], options["shared_name"]
    _check_capacity(capacity)

    def make(dtypes: list[str], shapes: list[Any]) -> Any:
        return kind(capacity, dtypes, shapes, shared_name=shared_name, name=f"{scope}/{word}")

    return make


def _check_capacity(capacity: int) -> None:
    if operator.index(capacity) == 0 or capacity < -1:
        raise ValueError(f"capacity={capacity} must be at least 1, or -1 for no limit")


def _batch(who: str, options: dict[str, Any]) -> Stream:
    scope = options["name"] or who
    batcher = _Batcher(who, _fifo(options, scope), options)
    return batcher.stream(_sources(who, options), options, Gauge(scope, options["capacity"]))


def _shuffle_batch(who: str, options: dict[str, Any]) -> Stream:
    scope = options["name"] or who
    capacity, least = options["capacity"], options["min_after_dequeue"]
    seed, shared_name = options["seed"], options["shared_name"]
    _check_capacity(capacity)
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
    return batcher.stream(_sources(who, options), options, Gauge(scope, capacity, least))


def _sources(who: str, options: dict[str, Any]) -> list[Any]:
    """The sources of a function: the argument `source`, or each of `sources`."""
    if "sources" not in options:
        source = options["source"]
        if isinstance(source, (list, tuple, dict)) and not source:
            raise ValueError(f"Expected at least one tensor in {who}().")
        return [source]
    sources = options["sources"]
    if not isinstance(sources, (list, tuple)):
        raise TypeError(f"{who} takes a list of sources, not {type(sources).__name__}")
    if not sources:
        raise ValueError(f"Expected at least one input in {who}().")
    return list(sources)


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
    """Batches of examples in the order in which they came.

    Args:
        source: where examples come from: a function of no arguments that returns one (array-likes
            as a list, tuple or dict, or bare) and raises OutOfRangeError or StopIteration at the
            end; an iterable; a Dataset; a queue. Called by threads of levada, not before
            ``start_queue_runners``.
        batch_size: examples in a batch.
        num_threads: threads that call the source, which must then be thread-safe (a queue is, an
            iterable is read under a lock); the order of examples is not fixed then. A Dataset is
            moved by one thread, with the interpreter released, where its columns are known.
        capacity: of the queue, in examples; -1 = no limit.
        enqueue_many: an example holds many: every field has rows. Rows of a field may differ in
            length (``levada.Ragged``, a RaggedFeature of ``parse_example``) with `dynamic_pad`.
        shapes: shape of each field of one example (one row), a list in the order of fields or a
            dict; by default those of the first example.
        dynamic_pad: fields may differ in shape, and a batch is padded to the largest on the right
            (0, b"", False). None in `shapes` means a dimension that varies; without `shapes` all
            do.
        allow_smaller_final_batch: the last batch may be smaller. Else what does not fill one is
            left out; ``stats()["dropped_records"]`` says how many.
        shared_name: batchers of one name share a queue.
        name: replaces "batch" in the names of the queue and the gauge.

    Raises:
        ValueError, TypeError: wrong arguments. Examples that do not fit the first one are an
            InvalidArgumentError in the thread, which stops the coordinator.
    """
    return _batch("batch", locals())


def maybe_batch(
    source: Any,
    keep_input: _Keep,
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
    """As `batch`, of the examples that `keep_input` keeps.

    `keep_input`: a bool, the name or number of a field, or a function of the example. With
    `enqueue_many` a vector keeps and drops single rows.
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
    """As `batch`, from several sources with one thread each.

    The order of each source is kept; the end of one does not stop the others.
    """
    return _batch("batch_join", locals())


def maybe_batch_join(
    sources: Sequence[Any],
    keep_input: _Keep,
    batch_size: int,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """As `batch_join`, of the examples that `keep_input` keeps; see `maybe_batch`."""
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
    """Batches of examples in random order: drawn from a queue that holds many.

    Args:
        capacity: most examples in the queue; larger than `min_after_dequeue`, -1 = no limit.
        min_after_dequeue: examples that stay in the queue after a draw, until the end: the more,
            the better mixed.
        seed: of the draws. The order also depends on how full the queue is at each of them.

    The rest as in `batch`.
    """
    return _shuffle_batch("shuffle_batch", locals())


def maybe_shuffle_batch(
    source: Any,
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: _Keep,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """As `shuffle_batch`, of the examples that `keep_input` keeps; see `maybe_batch`."""
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
    """As `shuffle_batch`, from several sources with one thread each."""
    return _shuffle_batch("shuffle_batch_join", locals())


def maybe_shuffle_batch_join(
    sources: Sequence[Any],
    batch_size: int,
    capacity: int,
    min_after_dequeue: int,
    keep_input: _Keep,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """As `shuffle_batch_join`, of the examples that `keep_input` keeps; see `maybe_batch`."""
    return _shuffle_batch("shuffle_batch_join", locals())
