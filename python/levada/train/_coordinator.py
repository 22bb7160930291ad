# SPDX-License-Identifier: Apache-2.0
"""Coordinator: several threads that stop together, and one that waits for them.

The rules are those of TensorFlow's ``python/training/coordinator.py``; what differs is said where
it differs. The stop, the errors and all waits are those of the coordinator of C, which knows
exceptions by numbers. Ctrl-C ends every wait.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, NoReturn

from levada import _levada
from levada.errors import CancelledError, OutOfRangeError

_LOG = logging.getLogger("levada")
_MOST_ERRORS = 16  # that are held; C lists fewer
_LEAST_GRACE = 0.001  # seconds; a grace period of 0 still lets threads that are ending end
_LONG_NAME = 63  # bytes of a name that reports show
_Reported = tuple[BaseException, TracebackType | None]


class Coordinator:
    """Stops a group of threads together, and raises their first exception in the call that joins
    them.

    Any thread may call any method; ``request_stop`` never blocks, and a signal handler may call it.

    Args:
        clean_stop_exception_types (Iterable[type]): exceptions that mean a clean end; None =
            ``(OutOfRangeError,)``.

    Raises:
        TypeError: the argument is not a list of exception classes.

    Example:
        batches = lt.batch(iter(range(6)), 3)
        coord = lt.Coordinator()
        threads = lt.start_queue_runners(coord)
        try:
            while not coord.should_stop():
                print(batches())
        except lv.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
        print(coord.joined, coord.secondary_errors)
    """

    def __init__(
        self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None
    ) -> None:
        self._clean = _types_of(clean_stop_exception_types)
        self._core = _levada.Coordinator()
        self._errors: dict[int, _Reported] = {}  # by their ids, which are their tokens in C
        self._registered: dict[threading.Thread, None] = {}

    def __repr__(self) -> str:
        state = "stop requested" if self.should_stop() else "running"
        count = len(self._registered)
        return f"levada.train.Coordinator({state}, {count} thread{'s' * (count != 1)})"

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Requests that all threads stop.

        ``join`` raises the first reported exception; ``secondary_errors`` has later ones, and an
        exception that follows a clean stop is not lost. Clean-stop types do not count as
        exceptions, nor does a CancelledError after the stop, because the stop itself causes it.

        Args:
            ex (BaseException | tuple): an exception or ``sys.exc_info()`` for ``join``; None = no
                error.

        Raises:
            BaseException: the exception, if the coordinator was joined already.

        Example:
            coord = lt.Coordinator()
            coord.request_stop()
            print(coord.should_stop())
        """
        reported = self._reported(ex)
        if reported is None:
            self._core.request_stop()
            return
        value = reported[0]
        if not self.joined and len(self._errors) < _MOST_ERRORS:
            self._errors.setdefault(id(value), reported)
        if not self._core.request_stop(id(value)):
            _raise(reported)
        _LOG.info("Error reported to Coordinator: %s: %s", type(value).__name__, value)

    def _reported(self, ex: BaseException | tuple[Any, ...] | None) -> _Reported | None:
        if isinstance(ex, tuple) and len(ex) == 3:
            _, value, trace = ex
        else:
            value, trace = ex, getattr(ex, "__traceback__", None)
        if value is None:
            return None
        if not isinstance(value, BaseException):
            raise TypeError(f"ex must be an exception, sys.exc_info() or None, got {ex!r}")
        echo = self.should_stop() and isinstance(value, CancelledError)
        return None if echo or isinstance(value, self._clean) else (value, trace)

    def clear_stop(self) -> None:
        """Withdraws a stop, and keeps registered threads. Threads that saw the stop still end.

        Example:
            coord = lt.Coordinator()
            coord.request_stop()
            coord.clear_stop()
        """
        self._errors.clear()
        self._core.clear_stop()

    def should_stop(self) -> bool:
        """Returns True if a stop was requested.

        Example:
            coord = lt.Coordinator()
            print(coord.should_stop())
        """
        return self._core.should_stop()

    def _repeat(self, function: Callable[[], object]) -> None:
        """Calls a function again and again until a stop is requested."""
        should_stop = self.should_stop
        if getattr(should_stop, "__func__", None) is Coordinator.should_stop:
            should_stop = self._core.should_stop
        while not should_stop():
            function()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested.

        Args:
            timeout (float): seconds to wait; None = no limit.

        Returns:
            True if a stop was requested, False after the timeout.

        Example:
            print(lt.Coordinator().wait_for_stop(0.01))
        """
        if timeout is not None and not timeout > 0:
            return self._core.should_stop()
        return self._core.wait_for_stop(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Stops all threads if the body raises an exception, even KeyboardInterrupt.

        The exception ends here and ``join`` raises it, unless the coordinator is already joined.

        Example:
            coord = lt.Coordinator()
            with coord.stop_on_exception():
                raise ValueError("wrong")
            print(coord.should_stop())
        """
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to the threads that ``join`` waits for.

        Args:
            thread (threading.Thread): the thread, which need not have been started.

        Raises:
            TypeError: `thread` is not a thread.

        Example:
            import threading
            coord = lt.Coordinator()
            coord.register_thread(threading.Thread(target=print))
        """
        self._registered[_as_thread(thread)] = None

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the registered threads and `threads`, and raises the reported exception.

        Without a stop it waits until all threads have ended. After a stop they have the grace
        period. A thread that joins its own group does not wait for itself.

        Args:
            threads (Iterable[threading.Thread]): further threads to wait for.
            stop_grace_period_secs (float, default 120): seconds to wait after a stop.
            ignore_live_threads (bool, default False): logs threads that still run in place of
                raising RuntimeError.

        Raises:
            RuntimeError: threads still run after the grace period; the message has their names and
                what they wait for.
            BaseException: the reported exception, with its own traceback, in every call. It has
                priority.

        Example:
            coord = lt.Coordinator()
            coord.request_stop()
            coord.join()
        """
        if threads is not None and not isinstance(threads, Iterable):
            raise TypeError(f"threads must be a list of threads, got {threads!r}")
        if math.isnan(stop_grace_period_secs):
            raise ValueError("stop_grace_period_secs must be a number of seconds, not nan")
        grace = max(stop_grace_period_secs, _LEAST_GRACE) if stop_grace_period_secs >= 0 else 0
        members = dict.fromkeys([*self._registered, *map(_as_thread, threads or ())])
        members.pop(threading.current_thread(), None)
        self._core.join(self._begin(members), grace)
        alive = [thread for thread in members if thread.is_alive()]
        self._registered.clear()
        if alive and (ignore_live_threads or self._core.errors()):
            _LOG.warning("%s", _stragglers(alive))
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(_stragglers(alive))

    def _begin(self, members: Iterable[threading.Thread]) -> int:
        """The number of a group of C that lasts until the threads have ended; 0 = none runs."""
        if not any(thread.is_alive() for thread in members):
            return 0
        number, group = self._core.begin()
        args = (tuple(members), group)
        threading.Thread(target=_join_all, args=args, name="levada join", daemon=True).start()
        return number

    @property
    def joined(self) -> bool:
        """True if a ``join`` has ended."""
        return self._core.joined()

    @property
    def secondary_errors(self) -> tuple[BaseException, ...]:
        """Exceptions reported after the one that ``join`` raises (the first few)."""
        return tuple(value for value, _ in self._reported_errors()[1:])

    def _reported_errors(self) -> list[_Reported]:
        found = map(self._errors.get, self._core.errors())
        return [reported for reported in found if reported is not None]

    def raise_requested_exception(self) -> None:
        """Raises the first exception that was reported, if there is one.

        Example:
            coord = lt.Coordinator()
            coord.raise_requested_exception()
        """
        for first in self._reported_errors():
            _raise(first)


def _as_thread(thread: Any) -> Any:
    if not hasattr(thread, "is_alive") or isinstance(thread, type):
        raise TypeError(f"every thread of join must be a thread, got {thread!r}")
    return thread


def _types_of(given: Iterable[type[BaseException]] | None) -> tuple[type[BaseException], ...]:
    if given is None:
        return (OutOfRangeError,)
    kinds = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        raise TypeError(
            f"clean_stop_exception_types must be a list of exception classes, got {given!r}"
        )
    return kinds


def _raise(reported: _Reported) -> NoReturn:
    value, trace = reported
    raise value.with_traceback(trace)


def _join_all(members: tuple[threading.Thread, ...], _group: object) -> None:
    """Holds a group until its threads have ended, which cannot tell C so themselves."""
    for thread in members:
        if thread.is_alive():
            thread.join()


def _stragglers(alive: list[threading.Thread]) -> str:
    """Their names separated by blanks, then a line for each that waits in levada."""
    names = [thread.name for thread in alive]
    told = "Coordinator stopped with threads still running: " + " ".join(names)
    return "\n  ".join([told, *_waits_of(names)])


def _waits_of(names: list[str]) -> list[str]:
    from levada.train._queues import waiters

    return [
        f"{row['thread']} waits {row['seconds']:.1f} s in {row['object']!r}: {row['waits_for']}"
        for row in waiters()
        if any(_is_called(name, row["thread"]) for name in names)
    ]


def _is_called(name: str, noted: str) -> bool:
    """Whether a name, cut where it is long, was noted for a thread called ``name``."""
    return name == noted or (len(noted.encode()) >= _LONG_NAME and name.startswith(noted))
