# SPDX-License-Identifier: Apache-2.0
"""Queues: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue.

The contract is TensorFlow's (core/kernels/queue_base.cc, python/ops/data_flow_ops.py) with its
defects mended. Every method acts at once, may be called from any thread and releases the
interpreter while it waits. A waiting call ends with ``CancelledError`` at ``cancel()``, with
``DeadlineExceededError`` past ``timeout`` seconds (None: no limit, 0: only try) and with
``KeyboardInterrupt`` at Ctrl-C; nothing is lost by either.
"""

from __future__ import annotations

import itertools
import json
import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from levada import _levada, errors
from levada._dtypes import DType
from levada.train._locks import waits
from levada.train._signature import Shape, Signature, as_list, as_shapes

if TYPE_CHECKING:
    from levada import Dataset

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "waiters",
]


_FIFO, _PADDING, _SHUFFLE, _PRIORITY = range(4)
_NAMES = ("fifo_queue", "padding_fifo_queue", "random_shuffle_queue", "priority_queue")
_counts: dict[str, Any] = {}  # default name: numbers for the next ones
_lock = threading.RLock()  # finalizers, which run anywhere, may make queues
_live: weakref.WeakValueDictionary[int, Any] = (
    weakref.WeakValueDictionary()
)  # every queue by number, to be found by name
_numbers = itertools.count()


def _forked() -> None:
    """The thread that held the lock is not in the child, whose queues are its own."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_forked)


def unique_name(name: str | None, default: str) -> str:
    """The name; of the default (or None) ``name_1`` for the second one, and so on."""
    if name not in (None, default):
        return str(name)
    with _lock:
        number = next(_counts.setdefault(default, itertools.count()))
    return f"{default}_{number}" if number else default


def remember(queue: Any) -> None:
    """Lets ``find_queue`` find it, as long as anybody holds it, by its ``_name``."""
    with _lock:
        _live[next(_numbers)] = queue


def _queues() -> list[Any]:
    """Every queue that is alive, the oldest first."""
    found = [reference() for reference in _live.valuerefs()]
    return [queue for queue in found if queue is not None]


def find_queue(name: str) -> QueueBase:
    """The queue with this ``shared_name``, else the newest of this name; else NotFoundError."""
    with _lock:
        queues = _queues()[::-1]
    for queue in queues:
        if queue._shared_name == name:
            return queue
    for queue in queues:
        if queue._name == name:
            return queue
    known = sorted(queue._shared_name or queue._name for queue in queues)
    raise errors.NotFoundError(f"no queue is called {name!r}; there are {known}")


class _Fate:
    """Why the queue receives no more elements, for everybody who holds the same queue."""

    error: BaseException | None = None
    trace: TracebackType | None = None

    def instead_of(self, end: BaseException) -> BaseException:
        """The error that ended the producers, which consumers receive for OutOfRangeError."""
        return end if self.error is None else self.error.with_traceback(self.trace)


def _names_of(names: Any, count: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = as_list(names)
    if len(names) != count:
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(names)}, len(dtypes)={count}"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"names of components must differ: {names}")
    return tuple(names)


class QueueBase:
    """The base of all queues. Create one with a subclass or with ``from_list``.

    An element is a tuple of components. Each has a dtype and, if ``shapes`` is set, a shape.
    A queue with ``names`` accepts and returns dicts. Without names, a queue of several components
    accepts tuples or lists and returns lists. A queue of one component accepts and returns the bare
    value; a list or tuple is always read as the tuple of components, as in TensorFlow.

    Numbers are returned as NumPy arrays that the caller owns (rank 0: a NumPy scalar), and byte
    strings as object arrays of bytes (rank 0: bytes). A str is encoded as UTF-8.
    """

    def __init__(self) -> None:
        raise TypeError("QueueBase is made by FIFOQueue and similar classes, or by from_list")

    def _open(
        self,
        kind: int,
        capacity: int,
        dtypes: list[Any],
        shapes: list[Shape] | None,
        names: Any,
        shared_name: str | None,
        name: str,
        max_bytes: int | None,
        **more: int,
    ) -> None:
        capacity = operator.index(capacity)
        if capacity == 0:
            raise ValueError("capacity=0 must be at least 1, or -1 for no limit")
        if max_bytes is not None and operator.index(max_bytes) < 1:
            raise ValueError(f"max_bytes={max_bytes} must be at least 1, or None")
        if not dtypes:
            raise ValueError("a queue needs at least one component type, got an empty list")
        self._name = unique_name(name, _NAMES[kind])
        self._names = _names_of(names, len(dtypes))
        self._signature = Signature(self._name, dtypes, shapes, self._names)
        self._shapes = self._signature.shapes
        self._queue = _levada.Queue(
            kind,
            capacity,
            -1 if max_bytes is None else max_bytes,
            more.get("min_after_dequeue", 0),
            more.get("seed", -1),
            self._signature.components(),
            self._names,
            self._signature,
            self._name,
            shared_name,
        )
        if shared_name is not None:
            self._signature.adopt(self._queue.dims())
        self._shared_name = shared_name
        with _lock:
            others = _queues() if shared_name else ()
            same = (q._fate for q in others if q._shared_name == shared_name)
            self._fate = next(same, None) or _Fate()
            _live[next(_numbers)] = self

    def _producers_failed(self, error: BaseException) -> None:
        """Consumers of the closed and drained queue get ``error``, the first one told."""
        with _lock:
            if self._fate.error is None:
                self._fate.trace = error.__traceback__
                self._fate.error = error

    @staticmethod
    def from_list(index: int, queues: list[QueueBase]) -> QueueBase:
        """The queue ``queues[index]``, seen with what all of them have in common.

        ``shapes`` of the result keeps the dimensions that all queues share. TypeError: no list of
        queues, or other dtypes or names; InvalidArgumentError: the index is not in the list.
        """
        known = isinstance(queues, list) and queues
        if not known or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError(f"from_list takes a list of queues, not {queues!r:.60}")
        if any(queue.dtypes != queues[0].dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes")
        if any(queue.names != queues[0].names for queue in queues):
            raise TypeError("Queues do not have matching component names")
        index = operator.index(index)
        if not 0 <= index < len(queues):
            raise errors.InvalidArgumentError(f"index {index} is not in [0, {len(queues)})")
        made = object.__new__(QueueBase)
        made.__dict__.update(queues[index].__dict__)
        each = zip(*(queue.shapes for queue in queues), strict=True)
        made._shapes = [_common_shape(shapes) for shapes in each]
        return made

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """List of the dtypes of the components."""
        return list(self._signature.dtypes)

    @property
    def shapes(self) -> list[Shape]:
        """List of the shapes: tuples with None for a dimension that may vary; None for any."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """List of the names of the components, or None."""
        return None if self._names is None else list(self._names)

    def enqueue(self, vals: Any, timeout: float | None = None) -> None:
        """Puts one element in; its values are copied. Waits while the queue is full.

        CancelledError: the queue is closed. ValueError, TypeError: values that do not fit;
        InvalidArgumentError: of another shape.
        """
        self._queue.enqueue(vals, timeout)

    def enqueue_many(self, vals: Any, timeout: float | None = None) -> None:
        """Puts elements in, in order: every component has one more dimension in front.

        Adds elements as space appears, without other elements between them. After an error the
        first ``error.enqueued`` elements are in the queue.
        """
        self._queue.enqueue_many(vals, timeout)

    def enqueue_from(self, dataset: Dataset) -> Callable[[], None]:
        """Returns a function that enqueues the next block of records of a dataset.

        A queue runner then needs no Python for each record:
        ``QueueRunner(q, [q.enqueue_from(ds)])``. The names of the queue select the fields; without
        names it is their order. A field of varying length needs a component with an unknown
        dimension. The first call opens the dataset, and a call at its end raises OutOfRangeError.
        Records that an interrupted call did not enqueue are kept for the next call. Raises
        ValueError for an unknown field, and InvalidArgumentError for a field that does not fit.
        """
        from levada.train._feed import Feed

        return Feed(self, dataset)

    def dequeue(self, timeout: float | None = None) -> Any:
        """Takes one element.

        OutOfRangeError: the queue is closed and empty; or the error that ended its producers.
        """
        return self._take(None, None, timeout)

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """Takes n elements, stacked along a new first dimension (PaddingFIFOQueue pads them).

        OutOfRangeError where the queue is closed and has fewer, which stay in it, in order.
        InvalidArgumentError where no shapes were given.
        """
        return self._take(n, False, timeout)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """As dequeue_many; but a closed queue returns what it has, from 1 to n elements."""
        return self._take(n, True, timeout)

    def _take(self, n: int | None, up_to: bool | None, timeout: float | None) -> Any:
        # Python looks for Ctrl-C when a call of C has ended, which would lose what came; but not
        # after a subscript of C, nor where a function of Python returns.
        try:
            return self._queue[n, up_to, timeout]
        except errors.OutOfRangeError as error:
            end = [error]
        raise self._fate.instead_of(end.pop())  # an error that is kept here would keep the queue

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        """No more elements go in; those in the queue can still be taken.

        Waits for the enqueues that wait before it; with ``cancel_pending_enqueues`` they end with
        CancelledError at once. CancelledError: a plain close of a closed queue. Past ``timeout`` it
        raises DeadlineExceededError and takes effect later, in its turn.
        """
        self._queue.close(bool(cancel_pending_enqueues), timeout)

    def cancel(self) -> None:
        """Ends every waiting call with CancelledError; the queue stays usable."""
        self._queue.cancel()

    def size(self) -> int:
        """Elements in the queue."""
        return self._queue.size()

    def is_closed(self) -> bool:
        """Whether it is closed."""
        return self._queue.is_closed()

    def __iter__(self) -> Iterator[Any]:
        """Elements until the queue is closed and empty."""
        while True:
            try:
                element = self.dequeue()
            except errors.OutOfRangeError:
                return
            yield element

    def __repr__(self) -> str:
        return f"levada.train.{type(self).__name__}({self._name!r}, {self.dtypes})"


def _common_shape(shapes: Sequence[Shape]) -> Shape:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    return tuple(dims[0] if len({*dims}) == 1 else None for dims in zip(*known, strict=True))


class FIFOQueue(QueueBase):
    """First in, first out (TensorFlow: core/kernels/fifo_queue.cc).

    ``capacity``: most elements, -1 for no limit; ``dtypes``: one or a list; ``shapes``: of the
    components, fully known, without which elements may have any shape and only ``dequeue`` works;
    ``names``: of the components, for dicts; ``shared_name``: every constructor call with it
    returns the same queue while a reference to it exists; ``max_bytes``: a limit on its bytes.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Sequence[Any] | None = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
        *,
        max_bytes: int | None = None,
    ) -> None:
        dtypes = as_list(dtypes)
        shapes = as_shapes(shapes, dtypes)
        self._open(_FIFO, capacity, dtypes, shapes, names, shared_name, name, max_bytes)


class PaddingFIFOQueue(QueueBase):
    """First in, first out; dimensions given as None may vary (core/kernels/padding_fifo_queue.cc).

    ``dequeue_many`` pads each component at its end, with 0, False or b"", to the largest of the
    elements it takes; ``dequeue`` returns elements as they are.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Sequence[Any] | None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
        *,
        max_bytes: int | None = None,
    ) -> None:
        dtypes = as_list(dtypes)
        flat = isinstance(shapes, (list, tuple)) and any(
            dim is None or hasattr(dim, "__index__") for dim in shapes
        )
        partial = None if flat else as_shapes(shapes, dtypes)
        if partial is None:
            raise ValueError(
                "When providing partial shapes, a list of shapes must be provided, got "
                f"shapes={shapes!r}; a shape must have a defined rank: [[None]] is one vector of "
                "any length"
            )
        for i, shape in enumerate(partial):
            if shape is None:
                raise ValueError(f"shape {i} must have a defined rank, got None")
        self._open(_PADDING, capacity, dtypes, partial, names, shared_name, name, max_bytes)


class RandomShuffleQueue(QueueBase):
    """Returns elements in random order (TensorFlow: core/kernels/random_shuffle_queue_op.cc).

    While it is open an element can be taken only when more than ``min_after_dequeue`` are there.
    The same ``seed`` produces the same order in each run; None picks a random seed.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Sequence[Any] | None = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
        *,
        max_bytes: int | None = None,
    ) -> None:
        dtypes = as_list(dtypes)
        shapes = as_shapes(shapes, dtypes)
        least = operator.index(min_after_dequeue)
        seed = -1 if seed is None else operator.index(seed) & (2**63 - 1)
        options = {"min_after_dequeue": least, "seed": seed}
        self._open(
            _SHUFFLE, capacity, dtypes, shapes, names, shared_name, name, max_bytes, **options
        )


class PriorityQueue(QueueBase):
    """Returns the lowest priority first (TensorFlow: core/kernels/priority_queue.cc).

    The priority is an int64 scalar, the first component, before those of ``types``; elements of the
    same priority are returned in the order of their arrival. ``names`` includes its name.
    ``dequeue_many`` returns a sorted batch, so n must not be larger than the capacity.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Sequence[Any] | None = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
        *,
        max_bytes: int | None = None,
    ) -> None:
        dtypes = as_list(types)
        shapes = as_shapes(shapes, dtypes)
        dtypes = ["int64", *dtypes]
        shapes = None if shapes is None else [(), *shapes]
        self._open(_PRIORITY, capacity, dtypes, shapes, names, shared_name, name, max_bytes)


def waiters() -> list[dict[str, Any]]:
    """Every call that waits in a queue or barrier of this process, for a coordinator, or for its
    turn at a reader or an iterable.

    A list of dicts: ``thread`` (its name), ``object`` (the queue), ``waits_for``, ``seconds``.
    """
    return json.loads(_levada.waiters()) + waits()
