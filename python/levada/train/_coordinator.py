# SPDX-License-Identifier: Apache-2.0
"""Coordinator: several threads that stop together, and one that waits for them.

The rules are those of TensorFlow's ``python/training/coordinator.py``; what differs is said where
it differs. Waits sleep until somebody rings (nothing polls), and Ctrl-C ends them.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, NoReturn

from levada.errors import CancelledError, OutOfRangeError
from levada.train._locks import Listed, own_lock

_LOG = logging.getLogger("levada")
_MOST_ERRORS = 16
_LEAST_GRACE = 0.001  # seconds; a grace period of 0 still lets threads that are ending end
_LONG_NAME = 63  # bytes of a name that reports show
_Reported = tuple[BaseException, TracebackType | None]


class _Signal:
    """An event that a signal handler may set at any point, also inside its own methods.

    Each waiter hangs up a bell before it looks, so that no ring is missed. ``threading.Event``
    holds a lock meanwhile that a handler on the same thread would wait for.
    """

    def __init__(self) -> None:
        self.on = False
        self._bells: list[queue.SimpleQueue[bool]] = []

    def set(self) -> None:
        self.on = True
        for bell in tuple(self._bells):
            bell.put(True)

    def wait(
        self, timeout: float | None = None, bell: queue.SimpleQueue[bool] | None = None
    ) -> bool:
        """True once it was set; False past ``timeout`` or when another rang ``bell`` (False)."""
        if timeout is not None and not 0 < timeout <= threading.TIMEOUT_MAX:
            if not timeout > 0:
                return self.on
            timeout = None
        bell = queue.SimpleQueue() if bell is None else bell
        self._bells.append(bell)
        try:
            return self.on or bell.get(timeout=timeout)
        except queue.Empty:
            return self.on
        finally:
            self._bells.remove(bell)


class Coordinator:
    """Stops a group of threads together and raises the first exception in the call that joins them.

    Any method may be called from any thread; ``request_stop`` never blocks and may be called from
    a signal handler. ``clean_stop_exception_types`` are exceptions that mean a clean end
    (default: ``(OutOfRangeError,)``; a list given replaces it).

        coord = Coordinator()
        threads = start_queue_runners(coord=coord)
        try:
            while not coord.should_stop():
                step(batch())
        except levada.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
    """

    def __init__(
        self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None
    ) -> None:
        self._clean = _types_of(clean_stop_exception_types)
        self._stop = _Signal()
        # An RLock: a signal handler may come while its thread holds it.
        self._lock = own_lock(self, threading.RLock)
        # -- guarded by _lock
        self._errors: list[_Reported] = []
        self._joined = False
        self._registered: dict[threading.Thread, None] = {}

    def __repr__(self) -> str:
        state = "stop requested" if self._stop.on else "running"
        count = len(self._registered)
        return f"levada.train.Coordinator({state}, {count} thread{'s' * (count != 1)})"

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Requests that all threads stop. ``ex``: an exception or ``sys.exc_info()``, for ``join``.

        The first exception is what ``join`` raises; later ones are ``secondary_errors``, and one
        that follows a clean stop is not lost. Clean-stop types and a CancelledError after the stop
        (the stop itself causes those) count as no exception. Once joined, an exception is raised
        here instead.
        """
        reported = self._reported(ex)
        with self._lock:
            joined = self._joined
            if not joined:
                if reported:
                    self._record(reported)
                self._stop.set()
        if joined and reported:
            _raise(reported)
        if reported:
            value = reported[0]
            _LOG.info("Error reported to Coordinator: %s: %s", type(value).__name__, value)

    def _reported(self, ex: BaseException | tuple[Any, ...] | None) -> _Reported | None:
        if isinstance(ex, tuple) and len(ex) == 3:
            _, value, trace = ex
        else:
            value, trace = ex, getattr(ex, "__traceback__", None)
        if value is None:
            return None
        if not isinstance(value, BaseException):
            raise TypeError(f"ex must be an exception, sys.exc_info() or None, not {ex!r}")
        echo = self._stop.on and isinstance(value, CancelledError)
        return None if echo or isinstance(value, self._clean) else (value, trace)

    def _record(self, reported: _Reported) -> None:
        known = any(reported[0] is value for value, _ in self._errors)  # it came down a line
        if not known and len(self._errors) < _MOST_ERRORS:
            self._errors.append(reported)

    def clear_stop(self) -> None:
        """Resets it, but keeps registered threads. Threads that have seen the stop still end."""
        with self._lock:
            self._joined = False
            self._errors.clear()
            self._stop.on = False

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.on

    def _repeat(self, function: Callable[[], object]) -> None:
        """Calls a function again and again until a stop is requested."""
        signal = self._stop
        if getattr(self.should_stop, "__func__", None) is Coordinator.should_stop:
            while not signal.on:  # the same without a call
                function()
        else:
            while not self.should_stop():
                function()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested or ``timeout`` seconds passed; whether it was."""
        if self._stop.on or (timeout is not None and not timeout > 0):
            return self._stop.on
        with Listed("coordinator", "stop"):
            return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Whatever the body raises, KeyboardInterrupt too, stops all threads and ends here.

        Where the coordinator is already joined it is raised.
        """
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def register_thread(self, thread: threading.Thread) -> None:
        """``join`` will wait for this thread too. It need not have been started."""
        with self._lock:
            self._registered[_as_thread(thread)] = None

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the registered threads and ``threads``; raises the reported exception.

        Without a stop it waits until all threads have ended. After a stop they have
        ``stop_grace_period_secs``. Then it raises RuntimeError, which names the threads that still
        run and what they wait for, unless ``ignore_live_threads``. A reported exception has
        priority; every call raises it, with its own traceback. A thread that joins its own group
        does not wait for itself.
        """
        if threads is not None and not isinstance(threads, Iterable):
            raise TypeError(f"threads must be a list of threads, not {threads!r}")
        with self._lock:
            members = dict.fromkeys([*self._registered, *map(_as_thread, threads or ())])
        members.pop(threading.current_thread(), None)
        with Listed("coordinator", "join"):
            self._until_stop_or_end(members)
            _give_time(members, stop_grace_period_secs)
        alive = [thread for thread in members if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            failed = bool(self._errors)
        if alive and (failed or ignore_live_threads):
            _LOG.warning("%s", _stragglers(alive))
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(_stragglers(alive))

    def _until_stop_or_end(self, members: Iterable[threading.Thread]) -> None:
        if self._stop.on or not any(thread.is_alive() for thread in members):
            return
        bell: queue.SimpleQueue[bool] = queue.SimpleQueue()
        args = (tuple(members), bell)
        threading.Thread(
            target=_ring_at_the_end, args=args, name="levada join", daemon=True
        ).start()
        self._stop.wait(bell=bell)

    @property
    def joined(self) -> bool:
        """Whether a ``join`` has ended."""
        return self._joined

    @property
    def secondary_errors(self) -> tuple[BaseException, ...]:
        """Exceptions reported after the one that ``join`` raises (the first few)."""
        with self._lock:
            return tuple(value for value, _ in self._errors[1:])

    def raise_requested_exception(self) -> None:
        """Raises the first exception that was reported, if there is one."""
        with self._lock:
            first = self._errors[0] if self._errors else None
        if first:
            _raise(first)


def _as_thread(thread: Any) -> Any:
    if not hasattr(thread, "is_alive") or isinstance(thread, type):
        raise TypeError(f"a coordinator joins threads, not {thread!r}")
    return thread


def _types_of(given: Iterable[type[BaseException]] | None) -> tuple[type[BaseException], ...]:
    if given is None:
        return (OutOfRangeError,)
    kinds = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        raise TypeError(
            f"clean_stop_exception_types must be a list of exception classes, not {given!r}"
        )
    return kinds


def _raise(reported: _Reported) -> NoReturn:
    value, trace = reported
    raise value.with_traceback(trace)


def _ring_at_the_end(members: Iterable[threading.Thread], bell: queue.SimpleQueue[bool]) -> None:
    """Waits for threads on behalf of a join, which cannot wait for them and the stop at once."""
    for thread in members:
        if thread.is_alive():
            thread.join()
    bell.put(False)


def _give_time(members: Iterable[threading.Thread], seconds: float) -> None:
    if math.isnan(seconds):
        raise ValueError("stop_grace_period_secs must be a number of seconds, not nan")
    end = time.monotonic() + (max(seconds, _LEAST_GRACE) if seconds >= 0 else 0)
    for thread in members:
        if thread.is_alive():
            thread.join(min(max(end - time.monotonic(), 0), threading.TIMEOUT_MAX))


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
