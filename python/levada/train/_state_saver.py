# SPDX-License-Identifier: Apache-2.0
"""SequenceQueueingStateSaver: long sequences in segments, with the states carried between them.

The contract is TensorFlow's (contrib/training/python/training/sequence_queueing_state_saver.py),
eager. The saver itself is in C; here are the fields of examples, the source and the errors.
"""

from __future__ import annotations

import json
import logging
import operator
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from levada import _levada
from levada._front import with_fronts
from levada._states import RequeuedOnError
from levada.errors import (
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
)
from levada.train._input_stream import LateQueue
from levada.train._queues import unique_name
from levada.train._state_saver_fields import (
    Layout,
    as_key,
    as_length,
    getter,
    getters,
    states_of,
)
from levada.train._state_saver_source import Reader

if TYPE_CHECKING:
    import numpy as np

_LOG = logging.getLogger("levada")
_ZERO_LENGTH = ("error", "skip", "segment")
_MARKS = (
    "total_length", "length", "insertion_index", "key", "next_key", "sequence", "sequence_count",
)  # fmt: skip
_MAGIC = b"LVDASAV2"
_HEAD = struct.Struct("<QI")  # size and CRC-32 of the head


class _Core:
    """The saver of C once the first example has settled its fields; a queue to ``LateQueue``."""

    def __init__(self, make: Callable[..., Any], layout: Layout) -> None:
        groups = (tuple((p.label, p.ragged) for p in group) for group in layout.groups)
        self.layout = layout
        self.saver = make(*groups)
        self.saver.settle(layout.signature.components())
        self.error: BaseException | None = None
        self.constants: dict[int, Any] = {}  # tensors of initial states that never change

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        self.saver.close(bool(cancel_pending_enqueues))

    def cancel(self) -> None:
        self.saver.cancel()

    def size(self) -> int:
        return self.saver.stats()["live"]

    def is_closed(self) -> bool:
        return self.saver.is_closed()

    def _producers_failed(self, error: BaseException) -> None:
        self.error = self.error or error


class _Late(LateQueue):
    """The saver before and after the first example."""

    def next(self, n: int, timeout: float | None) -> tuple[_Core, Any]:
        """The next batch of n segments."""
        core, timeout = self._settled(1, True, timeout)
        try:
            return core, core.saver[n, timeout]
        except OutOfRangeError as error:
            raise (core.error or error) from None


class _Sizes:
    """What TensorFlow's barrier of a state saver shows: how many segments are where."""

    def __init__(self, saver: SequenceQueueingStateSaver) -> None:
        self._saver = saver

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._saver.name

    def ready_size(self) -> int:
        """Segments that can be taken."""
        return int(self._saver.stats()["ready"])

    def incomplete_size(self) -> int:
        """Segments that wait for the states of those before them."""
        return int(self._saver.stats()["incomplete"])


@with_fronts
class NextQueuedSequenceBatch(RequeuedOnError):
    """Holds one segment of each of several examples; ``next_batch`` makes it.

    Save every declared state in every step, so that the next segments become ready. If a step
    fails, return the batch by ``requeue()``, or drop it by ``discard()``. As a context manager, the
    batch is requeued if the block raises. Any thread may use it.

    Args:
        core (object): the state saver.
        batch (object): the batch in C.
        unroll (int): steps in a segment.

    Example:
        saver = lt.SequenceQueueingStateSaver(
            iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
        saver.prefetch_op()
        batch = saver.next_batch()
        print(batch.key, batch.sequences["x"], batch.length, batch.total_length, batch.context)
        print(batch.sequence, batch.sequence_count, batch.next_key, batch.insertion_index)
    """

    def __init__(self, core: _Core, batch: Any, unroll: int) -> None:
        self._core, self._batch, self._unroll = core, batch, unroll
        self._cache: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def _mark(self, name: str) -> np.ndarray:
        return self._once(name, partial(self._batch.mark, _MARKS.index(name)))

    @property
    def total_length(self) -> np.ndarray:
        """Steps of the examples, int32 [batch_size]."""
        return self._mark("total_length")

    @property
    def length(self) -> np.ndarray:
        """Real steps of the segments, from 0 to num_unroll: int32 [batch_size]."""
        return self._mark("length")

    @property
    def batch_size(self) -> int:
        """Rows of this batch."""
        return self._once("batch_size", self._batch.rows)

    @property
    def insertion_index(self) -> np.ndarray:
        """Numbers of the examples, from -2**63, in the order of inserts: int64 [batch_size]."""
        return self._mark("insertion_index")

    @property
    def key(self) -> np.ndarray:
        """Keys of the segments, ``b"00000_of_00002:K"``: object array of bytes."""
        return self._mark("key")

    @property
    def next_key(self) -> np.ndarray:
        """Keys of the next segments; ``b"STOP:K"`` after the last one."""
        return self._mark("next_key")

    @property
    def sequence(self) -> np.ndarray:
        """Numbers of the segments in their examples, from 0: int32 [batch_size]."""
        return self._mark("sequence")

    @property
    def sequence_count(self) -> np.ndarray:
        """Numbers of segments of the examples, int32 [batch_size]."""
        return self._mark("sequence_count")

    @property
    def sequences(self) -> dict[str, Any]:
        """{name: array [batch_size, num_unroll, ...], Ragged or SparseTensorValue}."""
        return self._once("sequences", partial(self._values, 0))

    @property
    def context(self) -> dict[str, Any]:
        """{name: array [batch_size, ...], Ragged or SparseTensorValue}."""
        return self._once("context", partial(self._values, 1))

    def _values(self, group: int) -> dict[str, Any]:
        return self._core.layout.values(self._batch, group, self._unroll)

    def _state(self, state_name: str) -> int:
        for i, part in enumerate(self._core.layout.groups[2]):
            if part.name == state_name:
                return i
        known = ", ".join(repr(part.name) for part in self._core.layout.groups[2])
        raise KeyError(f"state was not declared: {state_name}; there are {known}")

    def state(self, state_name: str) -> np.ndarray:
        """Returns the state that the segments start from.

        Args:
            state_name (str): name of a declared state.

        Returns:
            An array [batch_size, ...].

        Raises:
            KeyError: the state was not declared.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            print(batch.state("sum"))
        """
        i = self._state(state_name)
        return self._once(i, partial(self._batch.state, i))

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> None:
        """Saves a state of all rows at once.

        The value is copied. Rows whose segment is the last one of their example are ignored. If the
        source, or a thread that reads it, failed, its error is raised.

        Args:
            state_name (str): name of a declared state.
            value (array): array-like [batch_size, ...].
            name (str): ignored.

        Raises:
            KeyError: the state was not declared.
            InvalidArgumentError: the value has another shape or dtype, is not finite
                (``check_finite``), or was saved already.
            CancelledError: the saver was closed with ``cancel_pending_enqueues``.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            batch.save_state("sum", batch.state("sum") + batch.sequences["x"].sum(1))
        """
        i = self._state(state_name)
        layout = self._core.layout
        try:
            if not self._batch.save(i, value):
                self._batch.save(i, layout.rows(layout.first_state + i, value))
        except CancelledError as error:
            raise (self._core.error or error) from None

    def requeue(self) -> None:
        """Puts the segments back with their states; the next batches return them first.

        Raises:
            FailedPreconditionError: all states are saved, or it was requeued or discarded.
            CancelledError: as in `save_state`; if the source failed, its error is raised.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            batch.requeue()
        """
        try:
            self._batch.requeue()
        except CancelledError as error:
            raise (self._core.error or error) from None

    def discard(self) -> None:
        """Drops the examples of the batch, and counts them in ``stats()["discarded"]``.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            batch.discard()
        """
        self._batch.discard()

    def __repr__(self) -> str:
        return f"<levada.train.NextQueuedSequenceBatch of {self.batch_size}>"


class SequenceQueueingStateSaver:
    """Cuts long sequences into segments, and carries states from a segment to the next.

    An example is cut into segments of ``num_unroll`` steps. ``next_batch`` returns one segment of
    each of ``batch_size`` examples, and the states saved for them. Once all states of a batch are
    saved with ``save_state``, the next segments of its examples are ready. Earlier examples have
    priority, so adjacent steps receive adjacent segments of an example.

    Choose a capacity of a few times ``batch_size``, because an unbounded capacity costs memory. If
    keys repeat from epoch to epoch, keep the capacity below the number of examples.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from: a function
            that returns an example and raises OutOfRangeError or StopIteration at the end, an
            iterable, a Dataset or a queue. levada reads iterables under a lock; a function of
            several threads must be thread-safe.
        batch_size (int | Callable): rows of a batch, or a function that returns the number for each
            batch.
        num_unroll (int): steps in a segment.
        input_length (str | int | Callable): real steps of an example: the name or number of a
            field, or a function.
        input_key (str | int | Callable): key of an example, str or bytes, unique among live
            examples.
        input_sequences (dict | list): {name: field or function}, or a list of field names. All
            sequences of an example have the same number of steps, a multiple of ``num_unroll``.
        input_context (dict | list): values that every segment repeats, in the same form; may be
            empty.
        initial_states (dict): {name: array, or function of the example}.
        capacity (int): most live examples; None = no limit. An example no longer counts once its
            last segment was returned.
        allow_small_batch (bool, default False): once the saver is closed, batches may have fewer
            rows.
        name (str): the name in messages.
        zero_length (str, default "error"): what to do with an example without steps: "error",
            "skip" (counted), or "segment" (one segment of padding).
        state_timeout_secs (float, default 30): seconds after which levada logs an unsaved state
            while a call waits; infinity = never.
        pad (bool, default False): pads sequences at the end with 0 or ``b""`` to a multiple of
            ``num_unroll``; then ``input_length`` may be None.
        make_keys_unique (bool, default False): appends a number to every key.
        check_finite (bool, default False): ``save_state`` refuses NaN and infinity.

    Raises:
        ValueError, TypeError, InvalidArgumentError: an argument is wrong.

    Example:
        saver = lt.SequenceQueueingStateSaver(
            iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
        saver.prefetch_op()
        batch = saver.next_batch()
        batch.save_state("sum", batch.state("sum") + batch.sequences["x"].sum(1))
        print(saver.num_unroll, saver.batch_size, saver.barrier.ready_size())
    """

    def __init__(
        self,
        source: Any,
        batch_size: Any,
        num_unroll: int,
        input_length: Any,
        input_key: Any,
        input_sequences: Any,
        input_context: Any,
        initial_states: Any,
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
        *,
        zero_length: str = "error",
        state_timeout_secs: float = 30,
        pad: bool = False,
        make_keys_unique: bool = False,
        check_finite: bool = False,
    ) -> None:
        who = "SequenceQueueingStateSaver"
        self._reader = Reader(source, who)
        self._batch_size = batch_size
        self._num_unroll = operator.index(num_unroll)
        self._length = None if input_length is None else getter(input_length, "input_length")
        self._key = getter(input_key, "input_key")
        self._sequences = getters(input_sequences, "input_sequences")
        if not self._sequences:
            raise ValueError("input_sequences may not be empty")
        self._context = getters(input_context or {}, "input_context")
        self._states = states_of(initial_states)
        if self._length is None and not pad:
            raise ValueError(
                "input_length=None needs pad=True: the length is that of the sequences"
            )
        self._name = unique_name(name, who)
        self._timeout = float(state_timeout_secs)
        size = 0 if callable(batch_size) else operator.index(batch_size)
        limit = -1 if capacity is None else operator.index(capacity)
        self._check(size, limit, zero_length)
        self._make = partial(
            _levada.StateSaver, self._name, size, self._num_unroll, limit, bool(allow_small_batch),
            bool(pad), bool(make_keys_unique), bool(check_finite), _ZERO_LENGTH.index(zero_length),
            int(min(self._timeout * 1e9, 2**62)),
        )  # fmt: skip
        self._late = _Late(lambda layout, _: self._open(layout), self._name)
        self._warned = 0.0

    def _check(self, size: int, limit: int, zero_length: str) -> None:
        if self._num_unroll < 1:
            raise ValueError(f"num_unroll={self._num_unroll} must be at least 1")
        if size < 0:
            raise ValueError(f"batch_size={size} must be at least 0")
        if limit == 0 or limit < -1:
            raise ValueError(f"capacity={limit} must be at least 1, or None")
        if 0 < limit < size:
            raise ValueError(f"capacity {limit} needs to be >= batch_size {size}")
        if zero_length not in _ZERO_LENGTH:
            allowed = ", ".join(_ZERO_LENGTH)
            raise ValueError(f"zero_length={zero_length!r} must be one of: {allowed}")
        if not self._timeout >= 1e-9:
            raise ValueError(f"state_timeout_secs={self._timeout} must be at least 1e-9")

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    @property
    def batch_size(self) -> Any:
        """The number, or the function, of the constructor."""
        return self._batch_size

    @property
    def num_unroll(self) -> int:
        """Steps of a segment."""
        return self._num_unroll

    @property
    def barrier(self) -> _Sizes:
        """``ready_size()`` and ``incomplete_size()``: segments, as in TensorFlow's barrier."""
        return _Sizes(self)

    # -- inserting

    @property
    def prefetch_op(self) -> Callable[[], None]:
        """A function that reads one example and inserts its segments; for a queue runner.

        It waits while ``capacity`` examples are live, before it reads. OutOfRangeError: the end of
        the source; CancelledError: the saver was closed before the call, or was cancelled.
        AlreadyExistsError: a live example has the key, and nothing has changed.
        """
        return self._prefetch

    def _prefetch(self) -> None:
        core = self._late._queue
        if core is None:
            self._prefetch_first()
            return
        core.saver.reserve(None)
        try:
            with self._reader.next() as (ordinal, example), self._naming(example):
                self._insert(core, ordinal, example)
        except BaseException:
            core.saver.release()
            raise

    def _prefetch_first(self) -> None:
        """The first example settles the fields: nobody else reads meanwhile."""
        with self._reader.alone():
            if self._late._queue is not None:
                return
            with self._reader.next() as (ordinal, example), self._naming(example):
                layout = Layout.of(*self._fields(example))
                core = self._late.settle(layout, None)
                try:
                    self._insert(core, ordinal, example)
                except BaseException:
                    core.saver.release()
                    raise

    def _open(self, layout: Layout) -> _Core:
        """The saver with a reservation for the first example. Once other threads see it, they
        reserve too, and wait for the thread that reads alone."""
        core = _Core(self._make, layout)
        core.saver.reserve(None)
        return core

    @contextmanager
    def _naming(self, example: Any) -> Iterator[None]:
        """Adds the key of the example to the error of a value that does not fit."""
        try:
            yield
        except InvalidArgumentError as error:
            try:
                key = as_key(self._key(example))
            except Exception:  # the key itself is what does not fit
                raise error from None
            raise InvalidArgumentError(
                f"example {key.decode(errors='replace')!r}: {error}"
            ) from None

    def _fields(self, example: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return (
            {name: get(example) for name, get in self._sequences.items()},
            {name: get(example) for name, get in self._context.items()},
            {name: get(example) if callable(get) else get for name, get in self._states.items()},
        )

    def _insert(self, core: _Core, ordinal: int, example: Any) -> None:
        layout, saver = core.layout, core.saver
        length = -1 if self._length is None else as_length(self._length(example))
        sequences, context, states = self._fields(example)
        tensors, offsets = layout.sequences(saver, sequences)
        saver.insert(
            as_key(self._key(example)), length, ordinal, tensors, offsets,
            layout.context(saver, context, sequences), self._initial(core, states),
        )  # fmt: skip

    def _initial(self, core: _Core, states: dict[str, Any]) -> tuple[Any, ...]:
        made = []
        for i, (name, value) in enumerate(states.items(), core.layout.first_state):
            tensor = core.constants.get(i)
            if tensor is None:
                tensor = core.layout.tensor(core.saver, i, value, False)
            if not callable(self._states[name]):
                core.constants[i] = tensor
            made.append(tensor)
        return tuple(made)

    # -- taking

    def next_batch(self, timeout: float | None = None) -> NextQueuedSequenceBatch:
        """Waits until ``batch_size`` segments are ready, and returns them.

        Args:
            timeout (float): seconds to wait; None = no limit.

        Returns:
            The segments and their states.

        Raises:
            OutOfRangeError: the saver is closed and will not have enough segments.
            DeadlineExceededError: the timeout has passed; the message has the oldest unsaved state
                and its key.
            FailedPreconditionError: the remaining segments need states of batches that no longer
                exist.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            print(batch.key)
        """
        size = self._batch_size() if callable(self._batch_size) else self._batch_size
        n, until = operator.index(size), None if timeout is None else time.monotonic() + timeout
        while True:
            left = self._timeout if until is None else max(until - time.monotonic(), 0)
            try:
                return NextQueuedSequenceBatch(
                    *self._late.next(n, min(left, self._timeout)), self._num_unroll
                )
            except DeadlineExceededError as error:
                if until is not None and time.monotonic() >= until:
                    raise
                self._warn(error)

    def _warn(self, error: DeadlineExceededError) -> None:
        oldest = self.stats()["oldest_unsaved"]
        taken = time.monotonic() - oldest
        if oldest >= self._timeout and abs(taken - self._warned) > 0.1:
            self._warned = taken
            _LOG.warning("a call waits for segments: %s", error)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> None:
        """Closes the saver: it accepts no new examples, and started ones continue.

        A ``prefetch_op`` that waits for capacity still reads and inserts its example.

        Args:
            cancel_pending_enqueues (bool, default False): no state can be saved any more; segments
                that are ready can still be taken.
            name (str): ignored.

        Raises:
            CancelledError: the saver is closed already (a close with ``cancel_pending_enqueues``
                may follow a close without it).

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            saver.close()
        """
        self._late.close(cancel_pending_enqueues=cancel_pending_enqueues)

    def cancel(self) -> None:
        """Ends every waiting call with CancelledError; the saver stays usable.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.cancel()
        """
        self._late.cancel()

    def is_closed(self) -> bool:
        """Returns True if the saver is closed.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            print(saver.is_closed())
        """
        return self._late.is_closed()

    def size(self) -> int:
        """Returns the number of live examples.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            print(saver.size())
        """
        return self._late.size()

    def _producers_failed(self, error: BaseException) -> None:
        self._late._producers_failed(error)

    def stats(self) -> dict[str, float]:
        """Counts of examples and segments, and ``oldest_unsaved`` in seconds (-1: none).

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            print(saver.stats()["finished"])
        """
        core = self._late._queue
        if core is None:
            return dict.fromkeys((*_COUNTS, "ready", "incomplete", "unsaved"), 0) | {
                "oldest_unsaved": -1.0
            }
        found = core.saver.stats()
        since = found["oldest_unsaved"]
        return {**found, "oldest_unsaved": since * 1e-9 if since >= 0 else -1.0}

    def unsaved(self) -> list[dict[str, Any]]:
        """Lists up to 100 unsaved states, oldest first: key, states, seconds, abandoned.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            batch = saver.next_batch()
            print(saver.unsaved())
        """
        core = self._late._queue
        return [] if core is None else json.loads(core.saver.unsaved())

    # -- save and restore

    def save(self, data: bool | None = None) -> bytes:
        """Returns the positions, keys and states of all unfinished examples.

        Segments of batches that are not saved yet are returned again. If the source is a Dataset
        (or an iterator with ``save`` and ``restore``), its position and the data of unfinished
        examples are saved too. The restored saver reads other iterables again from their beginning
        and ignores finished examples, so the bytes contain no data. For a function or a queue as
        the source, pass ``data=True``, and restore its position yourself.

        Args:
            data (bool): True adds the data of unfinished examples for any source. False omits this
                data; the source must then be read again from its beginning. None = as the source
                needs.

        Returns:
            Bytes for ``restore``.

        Raises:
            InvalidArgumentError: ``data=False``, and the source is a Dataset.
            UnimplementedError: the source is a function or a queue, and `data` is not True.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            print(len(saver.save()))
        """
        core = self._late._queue
        if core is None:
            raise FailedPreconditionError(
                "nothing to save: the state saver has not had an example yet"
            )
        if not data and self._reader.is_function:
            raise UnimplementedError(
                "the position of a function or a queue cannot be saved: use an iterable as the "
                "source, or save(data=True) and restore the position yourself"
            )
        with self._reader.paused():
            position = self._reader.position()
            if data is False and position is not None:
                raise InvalidArgumentError(
                    "save(data=False) needs a source that is read again from its beginning, such "
                    "as a list; this source continues at its saved position, and a restored saver "
                    "would repeat or lose examples: call save()"
                )
            keep = position is not None if data is None else bool(data)
            head = {"layout": core.layout.to_json(), "data": keep, "position": position}
            extra = json.dumps(head).encode()
            body = core.saver.save(keep, extra)
        return _joined(extra, body)

    def restore(self, state: bytes) -> None:
        """Continues at the position that ``save`` returned, in a new saver before its first
        example.

        Args:
            state (bytes): the bytes of ``save``.

        Raises:
            FailedPreconditionError: this saver is not new, or has other fields or another
                ``num_unroll``.
            DataLossError: the bytes are damaged.

        Example:
            saver = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            saver.prefetch_op()
            state = saver.save()
            again = lt.SequenceQueueingStateSaver(
                iter([("a", [1, 2, 3, 4])]), 1, 2, None, 0, {"x": 1}, {}, {"sum": 0}, pad=True)
            again.restore(state)
        """
        head, body = _split(state)
        if self._late._queue is not None:
            raise FailedPreconditionError(
                f"the state saver {self._name!r} cannot be restored: examples were inserted into it"
            )
        layout = Layout.from_json(head["layout"])
        self._check_names(layout)
        with self._reader.alone():
            core = _Core(self._make, layout)
            if json.loads(core.saver.restore(body)) != head:
                raise DataLossError("the state saver's checkpoint is corrupt; use an earlier one")
            if head["position"] is not None:
                self._reader.seek(head["position"])
            self._late._make = lambda *_: core
            self._late.settle(layout, None)

    def _check_names(self, layout: Layout) -> None:
        have = (self._sequences, self._context, self._states)
        for group, names in zip(layout.groups, have, strict=True):
            saved = {part.name for part in group if part.kind != "dense_shape"}
            if saved != set(names):
                raise FailedPreconditionError(
                    f"the checkpoint was saved with the fields {sorted(saved)}, "
                    f"this saver has {sorted(names)}"
                )

    def __repr__(self) -> str:
        return f"<levada.train.SequenceQueueingStateSaver {self._name!r}>"


_COUNTS = (
    "live", "reserved", "abandoned", "awaited", "inserted", "finished", "skipped", "discarded",
    "dropped", "replayed", "segments",
)  # fmt: skip


def _joined(extra: bytes, body: bytes) -> bytes:
    return b"".join((_MAGIC, _HEAD.pack(len(extra), zlib.crc32(extra)), extra, body))


def _split(state: bytes) -> tuple[dict[str, Any], bytes]:
    """The head of a saved state, and the part of C."""
    begin = len(_MAGIC) + _HEAD.size
    if state[: len(_MAGIC)] != _MAGIC or len(state) < begin:
        raise DataLossError(f"not a checkpoint of a state saver: {len(state)} bytes")
    size, checksum = _HEAD.unpack_from(state, len(_MAGIC))
    extra = state[begin : begin + size]
    if zlib.crc32(extra) != checksum:
        raise DataLossError("the state saver's checkpoint is corrupt; use an earlier one")
    return json.loads(extra), bytes(state[begin + size :])
