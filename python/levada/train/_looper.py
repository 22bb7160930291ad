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
    """Calls ``target(*args, **kwargs)`` every ``timer_interval_secs`` until the coordinator stops.

    The first call is immediate, the others follow at fixed times: they do not drift, and a slow
    call is followed by the calls that it delayed, without a pause. None, 0 or less: no pauses.
    Subclasses may override ``run_loop``, ``start_loop`` and ``stop_loop``. An exception stops the
    coordinator; once ``start_loop`` was entered, ``stop_loop`` runs in any case. A daemon thread,
    registered with the coordinator when it is made.
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
            raise ValueError(f"'coord' argument must be a Coordinator, not {coord!r}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' need a 'target'")
        if target is not None and not callable(target):
            raise TypeError(f"target must be a function, not {target!r}")
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
        """Makes a looper, starts it and returns it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
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
        """Called once before the first turn."""

    def stop_loop(self) -> None:
        """Called once at the end, whatever the end was."""

    def run_loop(self) -> None:
        """One turn: calls the target, where there is one."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
