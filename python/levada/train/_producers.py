# SPDX-License-Identifier: Apache-2.0
"""Producers: queues of the rows of an array, epoch after epoch, each filled by one thread.

The contract is that of TensorFlow's ``python/training/input.py``. Each epoch has
each row exactly once, and epochs never mix. Nothing runs before ``start_queue_runners``.
"""

from __future__ import annotations

import glob
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from levada._dtypes import name_of
from levada._exact import check_mixed
from levada._ragged import check_mask, objects
from levada.errors import InvalidArgumentError, OutOfRangeError
from levada.train._input_stream import Gauge, LateQueue, Made, Stream
from levada.train._locks import own_lock
from levada.train._queue_runner import QueueRunner
from levada.train._queues import FIFOQueue
from levada.train._structure import as_source


def match_filenames_once(pattern: str | Iterable[str], name: str | None = None) -> Any:
    """Returns the sorted names of the files that match a pattern.

    The call lists the files; later changes have no effect. Directories are skipped.

    Args:
        pattern (str | Iterable[str]): one or several patterns with ``*``, ``?`` and ``[a-z]``.
        name (str): ignored.

    Returns:
        An object array [n] of ``bytes``.

    Example:
        lv.samples.write(".")
        print(lt.match_filenames_once("train-*.tfrecord.gz"))
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    found = {path for one in patterns for path in glob.glob(os.fsdecode(one))}
    return objects(sorted(os.fsencode(path) for path in found if not os.path.isdir(path)))


def _check_epochs(num_epochs: int | None) -> None:
    if num_epochs is not None and operator.index(num_epochs) <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")


class _Limited:
    """A source that may be called a limited number of times, by any number of threads."""

    def __init__(self, source: Callable[[], Any], limit: int) -> None:
        self._source, self._limit = source, limit
        self._lock = own_lock(self)
        self._epochs = 0  # guarded by _lock

    def __call__(self) -> Any:
        with self._lock:
            if self._epochs >= self._limit:
                raise OutOfRangeError(f"Reached limit of {self._limit}")
            self._epochs += 1
        return self._source()

    def __iter__(self) -> Any:
        from levada.train._input_stream import elements

        return elements(self)


def limit_epochs(source: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns a function that returns the values of `source` `num_epochs` times, then raises
    OutOfRangeError.

    Args:
        source (Callable | array): a source, or an array, value or list, which every call returns.
        num_epochs (int): number of calls; None = no limit, and the result is the source itself.
        name (str): ignored.

    Returns:
        A function of no arguments, which any thread may call.

    Raises:
        ValueError: `num_epochs` is not positive.

    Example:
        twice = lt.limit_epochs([1, 2], num_epochs=2)
        print(twice(), twice())
    """
    if num_epochs is None:
        return source
    _check_epochs(num_epochs)
    constant = isinstance(source, (list, tuple, str, bytes, int, float)) or hasattr(source, "dtype")
    return _Limited((lambda: source) if constant else as_source(source, "limit_epochs"), num_epochs)


def _as_rows(values: Any) -> Any:
    """Array [n, ...]; texts and paths as an object array of bytes."""
    import numpy as np

    check_mask(values)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OSU":
        return values
    array = np.asarray(values)
    if array.dtype.kind in "fc" and not hasattr(values, "dtype"):
        check_mixed(array, values, "")
    if array.dtype.kind in "OSU":
        array = array.astype(object)
        flat = [os.fsencode(item) for item in array.reshape(-1).tolist()]
        array = objects(flat, array.shape)
    if array.ndim == 0:
        raise ValueError(f"the input must have rows: {values!r} is one value")
    return array


def _row_shape(rows: Any, given: Sequence[int | None] | None) -> Any:
    """The shape of a row, checked against the argument; of a function's rows the argument."""
    if callable(rows):
        return given
    shape = rows.shape[1:]
    if given is not None:
        fits = [b in (None, a) for a, b in zip(shape, given, strict=False)]
        if len(shape) != len(given) or not all(fits):
            raise ValueError(f"element_shape={given} does not fit rows of the shape {shape}")
    return shape


class _Epochs:
    """The enqueue op of a producer: one call puts one epoch into the queue."""

    def __init__(
        self, rows: Any, queue: Any, num_epochs: int | None, shuffle: bool, seed: int | None,
        nothing: str,
    ) -> None:  # fmt: skip
        import numpy as np

        self.__name__ = "enqueue_epoch"
        self._rows, self._queue, self._nothing = rows, queue, nothing
        self._num_epochs, self._done = num_epochs, 0
        if seed is not None:
            seed = operator.index(seed) & (2**63 - 1)
        self._random = np.random.default_rng(seed) if shuffle else None

    def __call__(self) -> None:
        if self._num_epochs is not None and self._done >= self._num_epochs:
            raise OutOfRangeError(f"Reached limit of {self._num_epochs}")
        self._done += 1
        rows = _as_rows(self._rows()) if callable(self._rows) else self._rows
        if len(rows) == 0 and (self._nothing or self._num_epochs is None):
            raise InvalidArgumentError(self._nothing or "an input without rows would never end")
        if self._random is not None:
            rows = rows[self._random.permutation(len(rows))]
        queue = self._queue
        if isinstance(queue, LateQueue):
            queue = queue.settle([name_of(rows.dtype)], None)
        queue.enqueue_many(rows)


def _produce(
    rows: Any, element_shape: Sequence[int | None] | None, options: dict[str, Any], scope: str,
    gauge: Gauge | None, nothing: str = "",
) -> Stream:  # fmt: skip
    num_epochs, capacity = options["num_epochs"], options["capacity"]
    shared_name, name = options["shared_name"], f"{scope}/fifo_queue"
    _check_epochs(num_epochs)
    rows = rows if callable(rows) else _as_rows(rows)
    shape = _row_shape(rows, element_shape)
    if shape is None or None in shape:
        raise ValueError(
            f"{scope}: the input must have a fully defined shape or `element_shape` must be "
            "specified"
        )

    def make(dtypes: list[Any], _: Any) -> FIFOQueue:
        return FIFOQueue(capacity, dtypes, [tuple(shape)], shared_name=shared_name, name=name)

    queue: Any = LateQueue(make, shared_name or name)
    if not callable(rows):
        queue = make([name_of(rows.dtype)], None)
    op = _Epochs(rows, queue, num_epochs, options["shuffle"], options["seed"], nothing)
    runner = QueueRunner(queue, [op], cancel_op=options["cancel_op"])
    return Stream(lambda timeout: queue.dequeue(timeout=timeout), queue, [runner], gauge)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    names = ("num_epochs", "shuffle", "seed", "capacity", "shared_name", "cancel_op")
    return {name: given.get(name) for name in names}


def input_producer(
    input_tensor: Any,
    element_shape: Sequence[int | None] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Callable[[], object] | None = None,
) -> Stream:
    """Returns the rows of an array, one at a time.

    Args:
        input_tensor (array | Callable): array-like [n, ...], or a function of no arguments that
            returns an array, called by the thread once an epoch; then `element_shape` is needed.
        element_shape (Sequence[int]): shape of a row, all dimensions known.
        num_epochs (int): how many times each row is returned; None = forever.
        shuffle (bool, default True): another order in each epoch.
        seed (int): seed of the orders; None picks a random seed.
        capacity (int, default 32): capacity of the queue, in rows.
        shared_name (str): producers of one name share a queue.
        summary_name (str): name under which ``stats()`` has size / capacity.
        name (str): replaces "input_producer" in the names of the queue and the gauge.
        cancel_op (Callable): function that a stop of the coordinator calls in place of cancelling
            the queue.

    Returns:
        A stream: call it, or iterate it, for the next row, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. An input without rows and without `num_epochs`
            is an InvalidArgumentError in the thread, which stops the coordinator.

    Example:
        rows = lt.input_producer([[1, 2], [3, 4]], num_epochs=1, shuffle=False)
        lt.start_queue_runners()
        print([row.tolist() for row in rows])
    """
    scope, gauge = name or "input_producer", None
    if summary_name is not None:
        gauge = Gauge(scope, capacity)
        gauge.name = f"{scope}/{summary_name}"
    return _produce(input_tensor, element_shape, _options(locals()), scope, gauge)


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Callable[[], object] | None = None,
) -> Stream:
    """Returns strings (names of files) one at a time, as ``bytes``.

    Args:
        string_tensor (list | array | Callable): str, bytes or paths, or a function that returns
            them.
        num_epochs (int): how many times each row is returned; None = forever.
        shuffle (bool, default True): another order in each epoch.
        seed (int): seed of the orders; None picks a random seed.
        capacity (int, default 32): capacity of the queue, in rows.
        shared_name (str): producers of one name share a queue.
        name (str): replaces "input_producer" in the names of the queue and the gauge.
        cancel_op (Callable): function that a stop of the coordinator calls in place of cancelling
            the queue.

    Returns:
        A stream: call it, or iterate it, for the next string, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. An empty list raises ValueError; an empty
        array, or a function that returns no string, raises InvalidArgumentError in the thread.

    Example:
        names = lt.string_input_producer(["a.txt", "b.txt"], num_epochs=1, shuffle=False)
        lt.start_queue_runners()
        print(list(names))
    """
    nothing = "string_input_producer requires a non-null input tensor"
    if isinstance(string_tensor, (str, bytes, os.PathLike)):
        raise TypeError(f"string_tensor must be a list of strings, got {string_tensor!r}")
    if isinstance(string_tensor, (list, tuple)) and not string_tensor:
        raise ValueError(nothing)
    if not callable(string_tensor):
        string_tensor = _as_rows(string_tensor)
        if len(string_tensor) and string_tensor.dtype != object:
            raise TypeError(f"string_tensor must be a list of strings, got {string_tensor.dtype}")
    scope = name or "input_producer"
    gauge = Gauge(scope, capacity)
    return _produce(string_tensor, (), _options(locals()), scope, gauge, nothing)


def range_input_producer(
    limit: int,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns the integers from 0 to limit - 1 (int32), one at a time.

    Args:
        limit (int): number of integers, below 2**31.
        num_epochs (int): how many times each row is returned; None = forever.
        shuffle (bool, default True): another order in each epoch.
        seed (int): seed of the orders; None picks a random seed.
        capacity (int, default 32): capacity of the queue, in rows.
        shared_name (str): producers of one name share a queue.
        name (str): replaces "input_producer" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next integer, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong.

    Example:
        numbers = lt.range_input_producer(3, num_epochs=1, shuffle=False)
        lt.start_queue_runners()
        print([int(number) for number in numbers])
    """
    import numpy as np

    if not 0 <= operator.index(limit) < 2**31:
        raise ValueError(f"limit={limit} must be at least 0 and below 2**31")
    scope = name or "input_producer"
    rows = np.arange(limit, dtype=np.int32)
    return _produce(rows, (), _options(locals()), scope, Gauge(scope, capacity))


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Stream:
    """Returns lists with one row of each array, at a common index.

    Args:
        tensor_list (Sequence): arrays [n, ...] with the same number of rows.
        num_epochs (int): how many times each row is returned; None = forever.
        shuffle (bool, default True): another order in each epoch.
        seed (int): seed of the orders; None picks a random seed.
        capacity (int, default 32): capacity of the queue, in rows.
        shared_name (str): producers of one name share a queue.
        name (str): replaces "input_producer" in the names of the queue and the gauge.

    Returns:
        A stream: call it, or iterate it, for the next list, after ``start_queue_runners``.

    Raises:
        ValueError, TypeError: an argument is wrong. The arrays have different numbers of rows, or
            there is no array.

    Example:
        pairs = lt.slice_input_producer([[1, 2], [b"a", b"b"]], num_epochs=1, shuffle=False)
        lt.start_queue_runners()
        print(pairs())
    """
    if len(tensor_list) == 0:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    arrays = [_as_rows(values) for values in tensor_list]
    sizes = [len(array) for array in arrays]
    if len(set(sizes)) > 1:
        raise ValueError(f"slice_input_producer: the arrays have {sizes} rows, not all the same")
    numbers = range_input_producer(
        sizes[0], num_epochs, shuffle, seed, capacity, shared_name, name or "input_producer"
    )

    def rows(number: Any) -> list[Any]:
        return [array[int(number)] for array in arrays]

    return numbers.mapped(Made(numbers.__call__, rows).next)
