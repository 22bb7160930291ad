# SPDX-License-Identifier: Apache-2.0
"""A watchdog: reports calls that wait in a queue or barrier for too long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from levada import _levada

_LOG = logging.getLogger("levada")
_Report = Callable[[dict[str, Any]], object]


def _log(row: dict[str, Any]) -> None:
    _LOG.warning(
        "%s waits %.1f s in %r: %s%s",
        row["thread"],
        row["seconds"],
        row["object"],
        row["waits_for"],
        " (cancelled)" if row["cancelled"] else "",
    )


class Watchdog:
    """Reports each call that waits in a queue or barrier for longer than a limit, once.

    A watchdog does not slow down waiting calls. It works until it is closed or unreferenced.

    Args:
        limit (float, default 30): seconds.
        cancel (bool, default False): ends such a call with CancelledError. Nothing is lost, and
            other calls continue to wait.
        report (Callable): a function that receives a row of ``waiters()``, with ``cancelled``; None
            logs the row as a warning. It runs on a thread of the watchdog, which logs its
            exceptions.

    Raises:
        ValueError, TypeError: an argument is wrong.

    Example:
        with lt.Watchdog(60, cancel=True):
            pass  # train here
    """

    def __init__(
        self, limit: float = 30, cancel: bool = False, report: _Report | None = None
    ) -> None:
        if not limit > 0:
            raise ValueError(f"limit={limit} must be more than 0 seconds")
        if report is not None and not callable(report):
            raise TypeError(f"report must be a function of a dict, got {report!r}")
        self._limit, self._cancel = limit, cancel
        self._handle = _levada.watchdog_open(limit, cancel)
        self._thread = threading.Thread(
            target=_watch, args=(self._handle, report or _log), name="levada watchdog", daemon=True
        )
        self._thread.start()

    def __repr__(self) -> str:
        return f"levada.train.Watchdog({self._limit} s, {'cancels' if self._cancel else 'reports'})"

    def close(self) -> None:
        """Stops the watchdog, which then calls ``report`` no more. May be called again.

        Example:
            watchdog = lt.Watchdog(60)
            watchdog.close()
        """
        _levada.watchdog_stop(self._handle)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Watchdog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            _levada.watchdog_stop(self._handle)


def _watch(handle: Any, report: _Report) -> None:
    while (found := _levada.watchdog_next(handle)) is not None:
        row = dict(
            zip(("thread", "object", "waits_for", "seconds", "cancelled"), found, strict=True)
        )
        try:
            report(row)
        except Exception:
            _LOG.exception("the report of a watchdog failed")
