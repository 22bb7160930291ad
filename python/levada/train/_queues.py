# SPDX-License-Identifier: Apache-2.0
"""Queues: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue.

The contract is TensorFlow's (core/kernels/queue_base.cc, python/ops/data_flow_ops.py) with its
defects mended. Every method takes effect immediately, may be called from any thread and releases
the interpreter while it waits. A waiting call ends with ``CancelledError`` at ``cancel()``, with
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
        raise ValueError(f"names of components must differ, got {names!r:.200}")
    return tuple(names)


class QueueBase:
    """Defines the methods of all queues. A subclass or ``from_list`` makes a queue.

    An element is a tuple of components. Each has a dtype and, if ``shapes`` is set, a shape.
    A queue with ``names`` accepts and returns dicts. Without names, a queue of several components
    accepts tuples or lists and returns lists. A queue of one component accepts and returns the bare
    value; a list or tuple is always read as the tuple of components, as in TensorFlow.

    Numbers are returned as NumPy arrays that the caller owns (rank 0: a NumPy scalar), and byte
    strings as object arrays of bytes (rank 0: bytes). A str is encoded as UTF-8.

    Example:
        queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
        print(isinstance(queue, lt.QueueBase), queue.dtypes, queue.shapes, queue.names)
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
        """Returns the queue ``queues[index]``, with the shapes that all queues have in common.

        Args:
            index (int): number of the queue.
            queues (list[QueueBase]): queues with the same dtypes and names. ``shapes`` of the
                result keeps the dimensions that all of them share.

        Returns:
            A queue over the same elements.

        Raises:
            TypeError: `queues` is not a list of queues, or their dtypes or names differ.
            InvalidArgumentError: `index` is out of range.

        Example:
            queues = [lt.FIFOQueue(10, [lv.int64], shapes=[()]) for _ in range(2)]
            queue = lt.QueueBase.from_list(1, queues)
        """
        known = isinstance(queues, list) and queues
        if not known or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError(f"from_list: queues must be a list of queues, got {queues!r:.60}")
        if any(queue.dtypes != queues[0].dtypes for queue in queues):
            dtypes = [queue.dtypes for queue in queues]
            raise TypeError(f"from_list: queues must have the same dtypes, got {dtypes!r:.200}")
        if any(queue.names != queues[0].names for queue in queues):
            names = [queue.names for queue in queues]
            raise TypeError(f"from_list: queues must have the same names, got {names!r:.200}")
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
        """Adds one element, and waits while the queue is full.

        Args:
            vals (array | list | dict): a value for each component, which the queue copies; a dict
                if the queue has names.
            timeout (float): seconds to wait; None = no limit, 0 does not wait.

        Raises:
            CancelledError: the queue is closed.
            ValueError, TypeError, InvalidArgumentError: the values do not fit.
            DeadlineExceededError: the timeout has passed; nothing was added.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue(1)
        """
        self._queue.enqueue(vals, timeout)

    def enqueue_many(self, vals: Any, timeout: float | None = None) -> None:
        """Adds several elements, in order.

        Elements are added as space appears, without elements of other calls between them. After an
        error the first ``error.enqueued`` elements are in the queue.

        Args:
            vals (array | list | dict): the values of each component, with one more dimension in
                front.
            timeout (float): seconds to wait; None = no limit, 0 does not wait.

        Raises:
            CancelledError: the queue is closed.
            ValueError, TypeError, InvalidArgumentError: the values do not fit.
            DeadlineExceededError: the timeout has passed.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue_many([[1, 2, 3]])
        """
        self._queue.enqueue_many(vals, timeout)

    def enqueue_from(self, dataset: Dataset) -> Callable[[], None]:
        """Returns a function that enqueues the next block of records of a dataset.

        A queue runner then needs no Python for each record: ``QueueRunner(q,
        [q.enqueue_from(ds)])``. The names of the queue select the fields; without names their order
        decides. A field of varying length needs a component with an unknown dimension. The first
        call of the function opens the dataset, and a call at its end raises OutOfRangeError.
        Records that an interrupted call did not enqueue are kept for the next call.

        Args:
            dataset (Dataset): the records.

        Returns:
            The function, without arguments.

        Raises:
            ValueError: the dataset does not have a field of this name.
            InvalidArgumentError: a field does not fit.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue_from(lv.range(5))()
            print(queue.dequeue_many(5))
        """
        from levada.train._feed import Feed

        return Feed(self, dataset)

    def dequeue(self, timeout: float | None = None) -> Any:
        """Takes one element, and waits while the queue is empty.

        Args:
            timeout (float): seconds to wait; None = no limit, 0 does not wait.

        Returns:
            The value, a list of values if there are several components, or a dict if the queue has
            names.

        Raises:
            OutOfRangeError: the queue is closed and empty. If its producers failed, their error is
                raised instead.
            DeadlineExceededError: the timeout has passed; nothing was taken.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue(1)
            print(queue.dequeue())
        """
        return self._take(None, None, timeout)

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """Takes n elements, and waits until n have arrived.

        Args:
            n (int): number of elements, which may exceed the capacity.
            timeout (float): seconds to wait; None = no limit, 0 does not wait.

        Returns:
            Arrays [n, ...], in the structure of ``dequeue``. A PaddingFIFOQueue pads them.

        Raises:
            OutOfRangeError: the queue is closed and has fewer elements, which stay in it, in order.
            InvalidArgumentError: the queue has no shapes.
            DeadlineExceededError: the timeout has passed; nothing was taken.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue_many([[1, 2, 3]])
            print(queue.dequeue_many(2))
        """
        return self._take(n, False, timeout)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """Takes n elements, or the remaining elements of a closed queue.

        Args:
            n (int): most elements.
            timeout (float): seconds to wait; None = no limit, 0 does not wait.

        Returns:
            Arrays [n, ...] as from ``dequeue_many``, with 1 to n rows if the queue is closed.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            InvalidArgumentError: the queue has no shapes.
            DeadlineExceededError: the timeout has passed; nothing was taken.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue_many([[1, 2, 3]])
            queue.close()
            print(queue.dequeue_up_to(5))
        """
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
        """Closes the queue: it accepts no more elements, and its elements can still be taken.

        The call first waits for enqueues that were already waiting.

        Args:
            cancel_pending_enqueues (bool, default False): ends waiting enqueues with CancelledError
                at once.
            timeout (float): seconds to wait; None = no limit.

        Raises:
            CancelledError: the queue is closed already (a close with ``cancel_pending_enqueues``
                may follow a close without it).
            DeadlineExceededError: the timeout has passed; the close takes effect later, in its
                turn.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.close()
        """
        self._queue.close(bool(cancel_pending_enqueues), timeout)

    def cancel(self) -> None:
        """Ends every waiting call with CancelledError; the queue stays usable.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.cancel()
        """
        self._queue.cancel()

    def size(self) -> int:
        """Returns the number of elements in the queue.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            queue.enqueue(1)
            print(queue.size())
        """
        return self._queue.size()

    def is_closed(self) -> bool:
        """Returns True if the queue is closed.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            print(queue.is_closed())
        """
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
    """Passes elements between threads, first in, first out.

    Args:
        capacity (int): most elements; -1 = no limit.
        dtypes (dtype | list): dtypes of the components.
        shapes (Sequence): shapes of the components, fully known; None = any shape, and only
            ``dequeue`` works.
        names (list[str]): names of the components; elements are then dicts.
        shared_name (str): every constructor call with this name returns the same queue while a
            reference to it exists.
        name (str, default "fifo_queue"): the name in messages.
        max_bytes (int): most bytes in the queue; None = no limit.

    Raises:
        ValueError, TypeError: an argument is wrong.
        InvalidArgumentError: a shared queue has other components.

    Example:
        queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
        queue.enqueue_many([[1, 2, 3]])
        print(queue.dequeue_many(2))
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
    """Passes elements between threads, first in, first out, and pads them in batches.

    ``dequeue_many`` pads each component at its end, with 0, False or ``b""``, to the largest of the
    elements that it takes. ``dequeue`` returns elements without padding.

    Args:
        capacity (int): most elements; -1 = no limit.
        dtypes (dtype | list): dtypes of the components.
        shapes (Sequence): shapes of the components; None stands for a dimension that varies.
        names (list[str]): names of the components; elements are then dicts.
        shared_name (str): every constructor call with this name returns the same queue while a
            reference to it exists.
        name (str, default "padding_fifo_queue"): the name in messages.
        max_bytes (int): most bytes in the queue; None = no limit.

    Raises:
        ValueError, TypeError: an argument is wrong.
        InvalidArgumentError: a shared queue has other components.

    Example:
        queue = lt.PaddingFIFOQueue(10, [lv.int64], shapes=[[None]])
        queue.enqueue([[1, 2, 3]])
        queue.enqueue([[4]])
        print(queue.dequeue_many(2))
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
    """Passes elements between threads in random order.

    While the queue is open, you can take an element only if the queue has more than
    `min_after_dequeue` elements.

    Args:
        capacity (int): most elements; -1 = no limit.
        min_after_dequeue (int): elements that stay in an open queue, so that draws mix.
        dtypes (dtype | list): dtypes of the components.
        shapes (Sequence): shapes of the components, fully known; None = any shape, and only
            ``dequeue`` works.
        names (list[str]): names of the components; elements are then dicts.
        seed (int): seed of the draws; None picks a random seed.
        shared_name (str): every constructor call with this name returns the same queue while a
            reference to it exists.
        name (str, default "random_shuffle_queue"): the name in messages.
        max_bytes (int): most bytes in the queue; None = no limit.

    Raises:
        ValueError, TypeError: an argument is wrong.
        InvalidArgumentError: a shared queue has other components.

    Example:
        queue = lt.RandomShuffleQueue(10, 2, [lv.int64], shapes=[()], seed=7)
        queue.enqueue_many([[1, 2, 3, 4]])
        print(queue.dequeue_many(2))
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
    """Passes elements between threads, lowest priority first.

    The priority is an int64 scalar, the first component of an element, before the components of
    `types`. Elements of the same priority are returned in the order of their arrival.
    ``dequeue_many(n)`` returns a sorted batch, so n must not exceed the capacity.

    Args:
        capacity (int): most elements; -1 = no limit.
        types (dtype | list): dtypes of the components after the priority.
        shapes (Sequence): shapes of the components after the priority.
        names (list[str]): names of all components, the priority included; elements are then dicts.
        shared_name (str): every constructor call with this name returns the same queue while a
            reference to it exists.
        name (str, default "priority_queue"): the name in messages.
        max_bytes (int): most bytes in the queue; None = no limit.

    Raises:
        ValueError, TypeError: an argument is wrong.
        InvalidArgumentError: a shared queue has other components.

    Example:
        queue = lt.PriorityQueue(10, [lv.string], shapes=[()])
        queue.enqueue([5, b"later"])
        queue.enqueue([1, b"first"])
        print(queue.dequeue())
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
    """Lists every call of this process that waits.

    A call waits in a queue or barrier, for a coordinator, or for its turn at a reader or an
    iterable.

    Returns:
        A list of dicts: ``thread`` (its name), ``object`` (the queue), ``waits_for``, ``seconds``.

    Example:
        for row in lt.waiters():
            print(row["thread"], row["waits_for"])
    """
    return json.loads(_levada.waiters()) + waits()
