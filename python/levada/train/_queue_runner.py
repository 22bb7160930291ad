# SPDX-License-Identifier: Apache-2.0
"""QueueRunner: threads that fill a queue, and the collection that starts them all.

The rules are those of TensorFlow's ``python/training/queue_runner_impl.py``, eager: what it runs
in a session is a function of no arguments here. What differs is said where it differs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, overload

from levada import errors
from levada.errors import CancelledError, LevadaError, OutOfRangeError
from levada.train._coordinator import Coordinator
from levada.train._locks import own_lock
from levada.train._protos import QueueRunnerDef
from levada.train._registry import (
    GraphKeys,
    add_to_collection,
    find_op,
    get_collection,
    is_op,
    op_name,
)

_LOG = logging.getLogger("levada")
_Op = Callable[[], object]
_CLASSES = {-getattr(errors, name).code: getattr(errors, name) for name in errors.__all__}
_CLASSES[-errors.UnknownError.code] = errors.UnknownError  # LevadaError has the same code


def _is_closed(queue: Any) -> bool:
    """False for a queue of another kind, which cannot tell."""
    is_closed = getattr(queue, "is_closed", None)
    return is_closed is not None and bool(is_closed())


class _Run:
    """One set of threads: how many of them have not ended, and whether they began too late."""

    def __init__(self, left: int, closed_before: bool) -> None:
        self.left = left
        self.closed_before = closed_before  # the queue was closed already


class QueueRunner:
    """Fills a queue by calling functions over and over, each in its own thread.

    A thread ends when its function raises one of `queue_closed_exception_types`, when the
    coordinator stops, or with an error, which stops the coordinator. The last thread to end always
    calls `close_op`. Consumers then receive the remaining elements, and after them OutOfRangeError,
    or the error of a thread. If other code closes the queue, the threads receive CancelledError and
    end without an error, unless the queue was closed before they were made. When the coordinator
    stops, `cancel_op` ends the calls of threads that wait for space.

    Args:
        queue (QueueBase): the queue, or an object with ``name`` and ``close``.
        enqueue_ops (Iterable[Callable]): functions without arguments; functions of several threads
            run at the same time.
        close_op (Callable): None = ``queue.close()``.
        cancel_op (Callable): None = ``queue.close(cancel_pending_enqueues=True)``.
        queue_closed_exception_types (tuple): exceptions that mean the end of the input; None =
            ``(OutOfRangeError,)``. StopIteration counts as OutOfRangeError.
        queue_runner_def (QueueRunnerDef): makes the runner from a message instead, as
            ``from_proto`` does.
        import_scope (str): prefix of all names in `queue_runner_def`: ``"a"`` reads ``q`` as
            ``a/q``.

    Raises:
        ValueError, TypeError: an argument is wrong, or both forms are used.

    Example:
        queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
        runner = lt.QueueRunner(queue, [queue.enqueue_from(lv.range(5))])
        runner.create_threads(start=True)
        print(queue.dequeue_many(5))
        print(runner.queue.name, len(runner.enqueue_ops), runner.exceptions_raised)
        print(runner.queue_closed_exception_types, runner.close_op, runner.cancel_op)
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Iterable[_Op] | None = None,
        close_op: _Op | None = None,
        cancel_op: _Op | None = None,
        queue_closed_exception_types: tuple[type[LevadaError], ...] | None = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        given = (queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        if queue_runner_def is not None:
            if any(value is not None for value in given):
                raise ValueError("queue_runner_def and the other arguments are mutually exclusive.")
            given = _resolve(queue_runner_def, import_scope)
        self._queue, ops, close, cancel, kinds = given
        self._enqueue_ops: Any = list(ops) if isinstance(ops, Iterable) else ops
        if self._queue is None or not self._enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        # None stands for a method of its own, which would keep it, and so the queue, alive.
        self._close_op, self._cancel_op = close, cancel
        self._closed_types = (OutOfRangeError,) if kinds is None else kinds
        self._check()
        self._lock = own_lock(self)
        # -- guarded by _lock
        self._exceptions_raised: list[BaseException] = []
        self._threads: list[threading.Thread] = []  # of the newest set, without close_on_stop
        # -- set once
        self._was_started = False

    def _check(self) -> None:
        if not hasattr(self._queue, "name") or not hasattr(self._queue, "close"):
            raise TypeError(f"queue must have a name and close(), got {self._queue!r:.60}")
        if not isinstance(self._enqueue_ops, list):
            raise TypeError(f"enqueue_ops must be a list of functions, got {self._enqueue_ops!r}")
        for op in (*self._enqueue_ops, self.close_op, self.cancel_op):
            if not callable(op):
                raise TypeError(f"an op must be a function of no arguments, got {op!r}")
        kinds = self._closed_types
        if not (
            isinstance(kinds, tuple) and kinds and all(_is_error_class(kind) for kind in kinds)
        ):
            raise TypeError(
                "queue_closed_exception_types must be a tuple, not empty, of classes of "
                f"levada.errors, got {kinds!r}"
            )

    def _close_queue(self) -> None:
        self._queue.close()

    def _cancel_queue(self) -> None:
        self._queue.close(cancel_pending_enqueues=True)

    @property
    def queue(self) -> Any:
        """The queue that it fills."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[_Op]:
        """The functions of its threads."""
        return self._enqueue_ops

    @property
    def close_op(self) -> _Op:
        """The function that the last thread calls."""
        return self._close_queue if self._close_op is None else self._close_op

    @property
    def cancel_op(self) -> _Op:
        """The function that a stop of the coordinator calls."""
        return self._cancel_queue if self._cancel_op is None else self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[LevadaError], ...]:
        """Exceptions that mean the end of the input."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """Errors of threads without a coordinator, since the last ``create_threads``; a copy."""
        with self._lock:
            return list(self._exceptions_raised)

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    def was_started(self) -> bool:
        """Returns True if a thread of the runner was ever started.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            runner = lt.QueueRunner(queue, [queue.enqueue_from(lv.range(5))])
            print(runner.was_started())
        """
        return self._was_started

    def create_threads(
        self,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
        *,
        sess: Any = None,
    ) -> list[threading.Thread]:
        """Makes a thread for each enqueue function, and with `coord` a further thread that cancels
        at a stop.

        While threads of an earlier call run, the call makes none; threads that were never started
        do not count.

        Args:
            coord (Coordinator): registers the threads, and stops them.
            daemon (bool, default False): the threads do not keep the process alive.
            start (bool, default False): starts the threads.
            sess (object): ignored, because levada has no sessions.

        Returns:
            The threads; [] if threads of an earlier call run.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
            runner = lt.QueueRunner(queue, [queue.enqueue_from(lv.range(5))])
            threads = runner.create_threads(start=True)
            print(queue.dequeue_many(5))
        """
        check_coordinator(coord)
        run = _Run(len(self._enqueue_ops), _is_closed(self._queue))
        with self._lock:
            if any(thread.is_alive() for thread in self._threads):
                return []
            self._exceptions_raised = []
            self._threads = [
                self._thread(self._serve, daemon, _name_of(op, i), run, op, coord)
                for i, op in enumerate(self._enqueue_ops)
            ]
            threads = list(self._threads)
            if coord is not None:
                threads.append(self._thread(self._close_on_stop, daemon, None, coord))
                for thread in threads:
                    coord.register_thread(thread)
            self._was_started = self._was_started or start
            started, error = _start(threads) if start else (len(threads), None)
        if error is not None:  # the system creates no more threads; consumers must not hang
            self._tell(error)
            for _ in self._enqueue_ops[started:]:
                self._leave(run)
            raise error
        return threads

    def _thread(
        self, body: Callable[..., None], daemon: bool, name: str | None, *args: Any
    ) -> threading.Thread:
        name = f"QueueRunnerThread-{self.name}-{name or 'close_on_stop'}"
        return threading.Thread(target=body, args=args, name=name, daemon=daemon)

    def _serve(self, run: _Run, op: _Op, coord: Coordinator | None) -> None:
        """Body of an enqueue thread."""
        self._was_started = True
        try:
            self._loop(op, coord)
        except self._closed_types as error:
            _LOG.debug("%s ends: %s", threading.current_thread().name, error)
        except CancelledError as error:
            closed = not run.closed_before and _is_closed(self._queue)
            if not closed and not _stopped(coord):
                self._report(error, coord)
        except BaseException as error:
            self._report(error, coord)
        finally:
            self._leave(run)

    @staticmethod
    def _loop(op: _Op, coord: Coordinator | None) -> None:
        try:
            if isinstance(coord, Coordinator):
                coord._repeat(op)
            else:
                while coord is None or not coord.should_stop():
                    op()
        except StopIteration as error:
            raise OutOfRangeError("an enqueue function raised StopIteration") from error

    def _report(self, error: BaseException, coord: Coordinator | None) -> None:
        if not isinstance(error, SystemExit):
            self._tell(error)
        if not isinstance(error, Exception):  # these end the thread alone
            raise error
        if coord is not None:
            coord.request_stop(error)
            return
        with self._lock:
            self._exceptions_raised.append(error)
        _LOG.error("%s: %r", threading.current_thread().name, error)
        raise error

    def _tell(self, error: BaseException) -> None:
        """Consumers get the error where they would get OutOfRangeError."""
        tell = getattr(self._queue, "_producers_failed", None)
        if tell is not None:
            tell(error)

    def _leave(self, run: _Run) -> None:
        """Counts a thread as ended, once; the last one closes the queue."""
        with self._lock:
            run.left -= 1
            if run.left:
                return
        try:
            self.close_op()
        except Exception as error:
            _LOG.debug("closing %s: %s", self.name, error)

    def _close_on_stop(self, coord: Coordinator) -> None:
        coord.wait_for_stop()
        try:
            self.cancel_op()
        except Exception as error:
            _LOG.debug("cancelling %s: %s", self.name, error)

    @overload
    def to_proto(self, export_scope: None = None) -> QueueRunnerDef: ...

    @overload
    def to_proto(self, export_scope: str) -> QueueRunnerDef | None: ...

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Returns the names of the runner as a message that ``from_proto`` and TensorFlow read.

        The message has the names of ``register_op``, or the ``__name__`` of other functions. The
        defaults of `close_op` and `cancel_op` have the names that TensorFlow uses.

        Args:
            export_scope (str): removed from the beginning of the names.

        Returns:
            The message; None if the name of the queue does not begin with `export_scope`.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()], shared_name="tokens_queue")
            fill = lt.register_op("fill", queue.enqueue_from(lv.range(5)))
            message = lt.QueueRunner(queue, [fill]).to_proto()
            print(message.enqueue_op_name)
        """
        if export_scope is not None and not self.name.startswith(export_scope):
            return None

        def stripped(name: str) -> str:
            scope = (export_scope or "").rstrip("/") + "/"
            return name.removeprefix(scope) if export_scope else name

        return QueueRunnerDef(
            queue_name=stripped(self.name),
            enqueue_op_name=[
                stripped(op_name(op) or _name_of(op, i)) for i, op in enumerate(self._enqueue_ops)
            ],
            close_op_name=stripped(self._name_of_end(self._close_op, "_Close")),
            cancel_op_name=stripped(self._name_of_end(self._cancel_op, "_Close_1")),
            queue_closed_exception_types=[_code_of(kind) for kind in self._closed_types],
        )

    def _name_of_end(self, op: _Op | None, ending: str) -> str:
        return self.name + ending if op is None else op_name(op) or _name_of(op, 0)

    @staticmethod
    def from_proto(
        queue_runner_def: QueueRunnerDef, import_scope: str | None = None
    ) -> QueueRunner:
        """Makes a runner from a message, which TensorFlow may have written.

        Args:
            queue_runner_def (QueueRunnerDef): the message. A message without error codes ends its
                input with OutOfRangeError.
            import_scope (str): prefix of the names of the queue and the functions.

        Returns:
            The runner.

        Raises:
            NotFoundError: no queue has this ``shared_name`` or name, or ``register_op`` was not
                called for a function.

        Example:
            queue = lt.FIFOQueue(10, [lv.int64], shapes=[()], shared_name="tokens_queue")
            fill = lt.register_op("fill", queue.enqueue_from(lv.range(5)))
            message = lt.QueueRunner(queue, [fill]).to_proto()
            print(lt.QueueRunner.from_proto(message).name)
        """
        if queue_runner_def is None:
            raise TypeError("queue_runner_def must be a QueueRunnerDef, not None")
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def __repr__(self) -> str:
        count = len(self._enqueue_ops)
        return f"<levada.train.QueueRunner {self.name!r}, {count} thread{'s' * (count != 1)}>"


def _start(threads: list[threading.Thread]) -> tuple[int, RuntimeError | None]:
    """How many were started, and why not all."""
    for i, thread in enumerate(threads):
        try:
            thread.start()
        except RuntimeError as error:
            return i, error
    return len(threads), None


def _stopped(coord: Coordinator | None) -> bool:
    return coord is not None and coord.should_stop()


def _is_error_class(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, LevadaError)


def _name_of(op: _Op, index: int) -> str:
    return getattr(op, "__name__", None) or f"op{index}"


def _code_of(kind: type[LevadaError]) -> int:
    if kind is LevadaError:
        raise ValueError("LevadaError has no code of its own: name the classes instead")
    return -kind.code


def _resolve(message: QueueRunnerDef, import_scope: str | None) -> tuple:
    """The arguments of the constructor that a message stands for."""
    from levada.train._queues import find_queue

    if not hasattr(message, "queue_name"):
        raise TypeError(f"queue_runner_def must be a QueueRunnerDef, got {message!r:.60}")

    def scoped(name: str) -> str:
        return f"{import_scope}/{name}" if import_scope and name else name

    queue = find_queue(scoped(message.queue_name))
    codes = list(message.queue_closed_exception_types)
    unknown = [code for code in codes if code not in _CLASSES]
    if unknown:
        raise ValueError(f"queue_closed_exception_types: no error has the code {unknown[0]}")

    def op(name: str, ending: str) -> _Op | None:
        short, scope = name.rpartition("/")[2], message.queue_name.rpartition("/")[2]
        default = short in ("", scope + ending)
        return find_op(scoped(name)) if not default or is_op(scoped(name)) else None

    return (
        queue,
        [find_op(scoped(name)) for name in message.enqueue_op_name],
        op(message.close_op_name, "_Close"),
        op(message.cancel_op_name, "_Close_1"),
        tuple(_CLASSES[code] for code in codes) or None,
    )


def check_coordinator(coord: object) -> None:
    """TypeError unless ``coord`` is a Coordinator or None."""
    if coord is not None and not isinstance(coord, Coordinator):
        raise TypeError(
            f"coord must be a Coordinator or None, got {coord!r}: levada has no sessions, so where "
            "TensorFlow takes a `tf.Session` object first, omit it"
        )


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the process, for ``start_queue_runners``.

    Args:
        qr (QueueRunner): the runner.
        collection (str, default "queue_runners"): name of the collection.

    Raises:
        TypeError: `qr` is not a queue runner.

    Example:
        queue = lt.FIFOQueue(10, [lv.int64], shapes=[()])
        lt.add_queue_runner(lt.QueueRunner(queue, [lt.limit_epochs(lambda: queue.enqueue(1), 3)]))
        lt.start_queue_runners()
        print(queue.dequeue_many(3))
    """
    if not hasattr(qr, "create_threads"):
        raise TypeError(f"qr must be a QueueRunner, got {qr!r}")
    add_to_collection(collection, qr)


def start_queue_runners(
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
    *,
    sess: Any = None,
) -> list[threading.Thread]:
    """Starts the threads of every queue runner in a collection.

    Runners whose threads run already start no others. Runners whose queue is closed start none,
    because their input has ended. (TensorFlow has a collection in each graph, levada one in the
    process.)

    Args:
        coord (Coordinator): stops the threads, and receives their exceptions.
        daemon (bool, default True): the threads do not keep the process alive.
        start (bool, default True): starts the threads; False only makes them.
        collection (str, default "queue_runners"): name of the collection.
        sess (object): ignored, because levada has no sessions.

    Returns:
        All threads, for ``coord.join``.

    Example:
        coord = lt.Coordinator()
        batches = lt.batch(iter(range(6)), 3)
        threads = lt.start_queue_runners(coord)
        print(batches())
        coord.request_stop()
        coord.join(threads)
    """
    check_coordinator(coord)
    runners = get_collection(collection)
    if not runners:
        _LOG.warning(
            "start_queue_runners: no queue runner is in the collection %r; a dataset needs none",
            collection,
        )
    threads: list[threading.Thread] = []
    for runner in runners:
        if not _is_closed(runner.queue):
            threads += runner.create_threads(coord=coord, daemon=daemon, start=start)
    return threads
