# SPDX-License-Identifier: Apache-2.0
"""LooperThread: a function called at fixed times until a coordinator stops.

Source of the behavior: TensorFlow's ``python/training/coordinator.py``.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from levada.train._coordinator import Coordinator


class LooperThread(threading.Thread):
    """Calls a function at fixed times until the coordinator stops, as a daemon thread.

    The first call is immediate. The times do not drift: a slow call is followed by the calls that
    it delayed, without a pause. Subclasses may override ``run_loop``, ``start_loop`` and
    ``stop_loop``. An exception stops the coordinator; once ``start_loop`` was called, ``stop_loop``
    runs in any case.

    Args:
        coord (Coordinator): stops the thread, and registers it when it is made.
        timer_interval_secs (float): seconds from one call to the next; None, 0 or less: no pauses.
        target (Callable[..., object]): the function; None = ``run_loop`` of a subclass.
        args (Iterable[Any]): positional arguments of `target`.
        kwargs (Mapping): keyword arguments of `target`.

    Raises:
        ValueError, TypeError: an argument is wrong.

    Example:
        coord = lt.Coordinator()
        looper = lt.LooperThread(coord, 0.01, print, ["tick"])
        looper.start()
        coord.request_stop()
        coord.join()
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator, got {coord!r}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' need a 'target'")
        if target is not None and not callable(target):
            raise TypeError(f"target must be a function, got {target!r}")
        interval = None if timer_interval_secs is None else float(timer_interval_secs)
        if interval is not None and math.isnan(interval):
            raise ValueError("timer_interval_secs must be a number of seconds or None, not nan")
        name = getattr(target, "__name__", None) or type(self).__name__
        super().__init__(name=f"LooperThread-{name}", daemon=True)
        self._coord = coord
        self._interval = interval
        self._call = target
        self._call_args = tuple(args or ())
        self._call_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Makes a looper and starts it.

        Args:
            coord (Coordinator): stops the thread.
            timer_interval_secs (float): seconds from one call to the next; None, 0 or less: no
                pauses.
            target (Callable[..., object]): the function.
            args (Iterable[Any]): positional arguments of `target`.
            kwargs (Mapping): keyword arguments of `target`.

        Returns:
            The running thread.

        Raises:
            ValueError, TypeError: an argument is wrong.

        Example:
            coord = lt.Coordinator()
            looper = lt.LooperThread.loop(coord, 0.01, print, ["tick"])
            coord.request_stop()
            coord.join()
        """
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Runs in the thread until the coordinator stops; ``start`` calls it.

        Example:
            coord = lt.Coordinator()
            looper = lt.LooperThread(coord, 0.01, print, ["tick"])
            looper.start()
            coord.request_stop()
            coord.join()
        """
        with self._coord.stop_on_exception():
            try:
                with self._coord.stop_on_exception():
                    self.start_loop()
                    self._turn()
            finally:
                self.stop_loop()

    def _turn(self) -> None:
        if self._interval is None:
            while not self._coord.should_stop():
                self.run_loop()
            return
        due = time.monotonic()
        while not self._coord.wait_for_stop(due - time.monotonic()):
            due += self._interval
            self.run_loop()

    def start_loop(self) -> None:
        """Runs once before the first call; override it in a subclass.

        Example:
            class Ticker(lt.LooperThread):
                def start_loop(self):
                    print("started")

            coord = lt.Coordinator()
            ticker = Ticker(coord, 0.01, print)
            ticker.start()
            coord.request_stop()
            coord.join()
        """

    def stop_loop(self) -> None:
        """Runs once at the end, even after an exception; override it in a subclass.

        Example:
            class Ticker(lt.LooperThread):
                def stop_loop(self):
                    print("stopped")

            coord = lt.Coordinator()
            ticker = Ticker(coord, 0.01, print)
            ticker.start()
            coord.request_stop()
            coord.join()
        """

    def run_loop(self) -> None:
        """Calls the target; override it in a subclass to do something else.

        Example:
            class Ticker(lt.LooperThread):
                def run_loop(self):
                    print("tick")

            coord = lt.Coordinator()
            ticker = Ticker(coord, 0.01)
            ticker.start()
            coord.request_stop()
            coord.join()
        """
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
