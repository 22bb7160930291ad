# SPDX-License-Identifier: Apache-2.0
"""Where a state saver reads examples: numbered, or with a position that can be saved."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from levada.errors import OutOfRangeError
from levada.train._locks import Listed
from levada.train._structure import as_source


class Reader:
    """Reads a source for several threads, and stops between two examples for a save.

    An iterable is read under a lock, so its examples have numbers. If its iterator has ``save`` and
    ``restore``, these are its position. A function or a queue has neither. Any thread.
    """

    def __init__(self, source: Any, who: str) -> None:
        self._function: Callable[[], Any] = as_source(source, who)
        self._source = source
        self.is_function = self._function is source or hasattr(source, "dequeue")
        self._iterator: Iterator[Any] | None = None
        self._count = 0
        self._lock = threading.RLock()  # of the iterator
        self._state = threading.Condition()
        # -- guarded by _state
        self._reading = 0  # examples that were or are being read, and are not inserted yet
        self._owner: int | None = None  # the thread for which all others stop
        self._depth = 0

    @contextmanager
    def next(self) -> Iterator[tuple[int, Any]]:
        """(number or -1, example); the block inserts it. OutOfRangeError at the end."""
        self._enter()
        try:
            yield self._read()
        finally:
            with self._state:
                self._reading -= 1
                self._state.notify_all()

    def _enter(self) -> None:
        with Listed("state saver", "its turn") as wait, self._state:
            self._state.wait_for(lambda: self._owner in (None, threading.get_ident()))
            wait.over()
            self._reading += 1

    def _read(self) -> tuple[int, Any]:
        if self.is_function:
            try:
                return -1, self._function()
            except StopIteration:
                raise OutOfRangeError("the end of the source") from None
        with self._lock:
            try:
                example = next(self._open())
            except StopIteration:
                raise OutOfRangeError("the end of the source") from None
            number = -1 if self._has_position() else self._count
            self._count += 1
            return number, example

    def _open(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = iter(self._source)
        return self._iterator

    def _has_position(self) -> bool:
        return hasattr(self._iterator, "save") and hasattr(self._iterator, "restore")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other thread reads in the block; what was read has been inserted."""
        me = threading.get_ident()
        with Listed("state saver", "its turn") as wait, self._state:
            self._state.wait_for(lambda: self._owner in (None, me))
            self._owner = me
            self._depth += 1
            try:
                self._state.wait_for(lambda: self._reading == 0 or self._depth > 1)
            except BaseException:
                self._leave_locked()
                raise
            wait.over()
        try:
            yield
        finally:
            with self._state:
                self._leave_locked()

    def _leave_locked(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._state.notify_all()

    paused = alone

    def position(self) -> str | None:
        """Where the iterator is, as text; None if it cannot say."""
        if self.is_function or self._iterator is None or not self._has_position():
            return None
        return base64.b64encode(self._iterator.save()).decode()  # type: ignore[attr-defined]

    def seek(self, position: str) -> None:
        """Continues at a position of another reader of the same source."""
        with self._lock:
            self._open().restore(base64.b64decode(position))  # type: ignore[attr-defined]
