# SPDX-License-Identifier: Apache-2.0
"""Sums what the workers of DataLoaders count, for the process that runs the loaders.

Each iterator has a row of a shared file, and writes its counts there, at most 20 times a second and
at its end. It writes sums, never adds to them, and nobody else writes its row: no lock is needed,
and a Ctrl-C at any place leaves the row right. A closed iterator leaves its row, with the sums, to
the next one of its process.
"""

from __future__ import annotations

import os
import struct
import time

from levada.errors import FailedPreconditionError
from levada.interop._shared_file import SharedFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada._iterator import Iterator

_SUMS = (
    "records batches bytes skipped_records damaged_bytes missing_files empty_files dropped_records "
    "elements padding requests retries received_bytes wait_seconds seconds"
).split()
_SECONDS = ("wait_seconds", "seconds")  # numbers with a fraction
_NAMES = [*_SUMS, "ready", "worker"]
_ROW = struct.Struct(f"<{len(_NAMES)}d")
_EVERY = 0.05


class Counters:
    """Rows of numbers, one for each iterator that is open."""

    def __init__(self, path: str | None = None) -> None:
        self._shared = SharedFile("levada-counters", path)
        self._pid = 0
        self._left: list[tuple[int, list[float]]] = []  # rows of this process, and their sums

    def __reduce__(self) -> tuple[Any, ...]:
        return Counters, (self._shared.path_for_workers(),)

    def __deepcopy__(self, memo: object) -> Counters:
        return Counters()

    def gone(self) -> bool:
        return self._shared.gone()

    def row(self) -> tuple[int, list[float]]:
        """The place of a row that nobody else writes, and its sums."""
        if self._pid != os.getpid():
            self._pid, self._left = os.getpid(), []
        try:
            return self._left.pop()
        except IndexError:
            pass
        with self._shared.opened(os.O_APPEND) as file:
            os.write(file.fileno(), bytes(_ROW.size))
            end = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        return end - _ROW.size, [0.0] * len(_SUMS)

    def write(self, place: int, sums: list[float], ready: float, worker: int) -> None:
        with self._shared.opened() as file:
            os.pwrite(file.fileno(), _ROW.pack(*sums, ready, worker), place)

    def leave(self, place: int, sums: list[float]) -> None:
        if self._pid == os.getpid():
            self._left.append((place, sums))

    def stats(self) -> dict[str, Any]:
        with self._shared.opened() as file:
            data = file.read()
        rows = list(_ROW.iter_unpack(data[: len(data) // _ROW.size * _ROW.size]))
        found: dict[str, Any] = {}
        for i, name in enumerate(_NAMES[:-1]):
            value = sum(row[i] for row in rows)
            found[name] = value if name in _SECONDS else int(value)
        found["padding_fraction"] = found["padding"] / max(found["elements"], 1)
        found["workers"] = len({row[-1] for row in rows if row[_SUMS.index("batches")] > 0})
        return found


class Counted:
    """What an iterator has counted. Any thread."""

    def __init__(self, counters: Counters, worker: int, iterator: Iterator[Any]) -> None:
        self._counters, self._worker = counters, worker
        self._place, sums = counters.row()
        before, _ = _numbers(iterator)
        self._base = [a - b for a, b in zip(sums, before, strict=True)]
        self._next = 0.0

    def add(self, iterator: Iterator[Any], *, now: bool = False) -> None:
        if (time.monotonic() < self._next and not now) or self._counters.gone():
            return
        self._next = time.monotonic() + _EVERY
        try:
            numbers, ready = _numbers(iterator)
        except FailedPreconditionError:  # it is closed, and was counted then
            return
        self._counters.write(self._place, self._sums(numbers), ready, self._worker)

    def end(self, iterator: Iterator[Any]) -> None:
        """Counts what is left, for the last time."""
        if self._counters.gone():
            return
        try:
            numbers, _ = _numbers(iterator)
        except FailedPreconditionError:
            return
        sums = self._sums(numbers)
        self._counters.write(self._place, sums, 0.0, self._worker)
        self._counters.leave(self._place, sums)

    def _sums(self, numbers):
        return [a + b for a, b in zip(self._base, numbers, strict=True)]


def _numbers(iterator: Iterator[Any]) -> tuple[list[float], float]:
    stats = iterator.stats()
    return [float(stats[name]) for name in _SUMS], float(stats["ready"])
