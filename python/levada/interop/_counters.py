# SPDX-License-Identifier: Apache-2.0
"""Sums what the workers of DataLoaders count, for the process that runs the loaders.

Each iterator adds what it counted since it last did so to a row of a shared file, at most 20 times
a second and at its end. A row belongs to the worker of that number, whichever process it is, so
the sums grow over epochs, parts and restarted workers.
"""

from __future__ import annotations

import struct
import threading
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
_NAMES = [*_SUMS, "ready"]
_ROW = struct.Struct(f"<{len(_NAMES)}d")
_EVERY = 0.05


class Counters:
    """Rows of numbers, one for each worker."""

    def __init__(self, path: str | None = None) -> None:
        self._shared = SharedFile("levada-counters", path)

    def __reduce__(self) -> tuple[Any, ...]:
        return Counters, (self._shared.path_for_workers(),)

    def __deepcopy__(self, memo: object) -> Counters:
        return Counters()

    def gone(self) -> bool:
        return self._shared.gone()

    def add(self, worker: int, more: list[float], ready: float) -> None:
        with self._shared.locked() as file:
            file.seek(worker * _ROW.size)
            bytes_ = file.read(_ROW.size)
            row = _ROW.unpack(bytes_) if len(bytes_) == _ROW.size else [0.0] * len(_NAMES)
            sums = [a + b for a, b in zip(row, more, strict=False)]
            file.seek(worker * _ROW.size)
            file.write(_ROW.pack(*sums, ready))

    def stats(self) -> dict[str, Any]:
        with self._shared.locked() as file:
            data = file.read()
        rows = list(_ROW.iter_unpack(data[: len(data) // _ROW.size * _ROW.size]))
        sums = [sum(row[i] for row in rows) for i in range(len(_NAMES))]
        found: dict[str, Any] = {
            name: value if name in _SECONDS else int(value)
            for name, value in zip(_NAMES, sums, strict=True)
        }
        found["padding_fraction"] = found["padding"] / max(found["elements"], 1)
        found["workers"] = sum(row[_NAMES.index("batches")] > 0 for row in rows)
        return found


class Counted:
    """What an iterator has added to the counters. Any thread."""

    def __init__(self, counters: Counters, worker: int, iterator: Iterator[Any]) -> None:
        self._counters, self._worker = counters, worker
        self._lock = threading.Lock()
        self._before, _ = _numbers(iterator)
        self._next = 0.0

    def add(self, iterator: Iterator[Any], *, now: bool = False) -> None:
        if (time.monotonic() < self._next and not now) or self._counters.gone():
            return
        with self._lock:
            self._next = time.monotonic() + _EVERY
            try:
                numbers, ready = _numbers(iterator)
            except FailedPreconditionError:  # it is closed, and added then
                return
            more = [a - b for a, b in zip(numbers, self._before, strict=True)]
            self._before = numbers
            self._counters.add(self._worker, more, ready)


def _numbers(iterator: Iterator[Any]) -> tuple[list[float], float]:
    stats = iterator.stats()
    return [float(stats[name]) for name in _SUMS], float(stats["ready"])
