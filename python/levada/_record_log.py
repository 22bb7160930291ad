# SPDX-License-Identifier: Apache-2.0
"""A log of which records each step of a training loop had.

The file: "LVDSTEPS", version u32; then frames of size u32, CRC32 u32 and as many bytes. A frame is
b"F" and the name of the next file, or b"S", step i64, lanes u8 and for each record and lane a u64:
number of the file << 40 | number of the record. Little endian.
"""

from __future__ import annotations

import fcntl
import os
import struct
import warnings
import zlib

from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from levada._batch import Batch

_HEAD = b"LVDSTEPS" + struct.pack("<I", 1)
_RECORD_BITS = 40
_NO_FILE = (1 << 24) - 1  # of a lane that a record lacks


def _frame(body):
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


def _frames(file, path):
    """(offset of its end, body) of each whole frame."""
    head = file.read(len(_HEAD))
    if head != _HEAD:
        kind = "a version of a record log that is not known" if head[:8] == _HEAD[:8] else (
            "not a record log")  # fmt: skip
        raise DataLossError(kind, file=path)
    total, end = os.fstat(file.fileno()).st_size, len(_HEAD)
    while True:
        size, crc = struct.unpack("<II", file.read(8).ljust(8, b"\0"))
        if not 0 < size <= total - end - 8:
            return
        body = file.read(size)
        if zlib.crc32(body) != crc:
            return
        end += 8 + size
        yield end, body


def _has_frame(rest):
    """Whether a whole frame begins somewhere in what follows a damaged one."""
    rest = memoryview(rest)
    for at in range(1, len(rest) - 8):
        size, crc = struct.unpack_from("<II", rest, at)
        body = rest[at + 8 : at + 8 + size]
        if len(body) == size > 0 and body[0] in b"FS" and zlib.crc32(body) == crc:
            return True
    return False


class RecordLog:
    """Stores which records each step had, 8 bytes a record, as a context manager.

    Each step is appended in one write, so that a crash of the process loses no earlier step. A
    log that exists is continued. If the last step is incomplete because the machine stopped, levada
    removes it, with a warning. Only one process may write to a log.

    ``levada steps PATH --step 340`` prints the records of a step.

    Args:
        path (str): the file.

    Raises:
        DataLossError: the file is not a record log, or is damaged before its last step.
        FailedPreconditionError: another process writes to the log.

    Example:
        with lv.RecordLog("steps.lvlog") as log:
            for step, batch in enumerate(lv.range(6).batch(4)):
                log.add(step, batch)
            print(log.keys(1))
    """

    _file = -1

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fsdecode(path)
        self._numbers: dict[str, int] = {}
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o666)
        try:
            self._lock()
            self._size = os.fstat(self._file).st_size
            if self._size <= len(_HEAD) and _HEAD.startswith(os.pread(self._file, 12, 0)):
                os.ftruncate(self._file, 0)
                self._size = 0
                self._append(_HEAD)
            else:
                self._read()
        except BaseException:
            self.close()
            raise

    def _lock(self):
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FailedPreconditionError(
                "another process writes to this record log: use one log for each rank",
                file=self._path,
            ) from None

    def _read(self):
        """Learns the names of the files, and cuts a last frame that is not whole."""
        end = len(_HEAD)
        with open(self._path, "rb") as file:
            for end, body in _frames(file, self._path):  # noqa: B007
                if body[:1] == b"F":
                    self._numbers[os.fsdecode(body[1:])] = len(self._numbers)
        if end < self._size:
            if _has_frame(os.pread(self._file, self._size - end, end)):
                raise DataLossError(
                    "a step is damaged, so the log cannot be continued: use another path",
                    file=self._path,
                    offset=end,
                )
            warnings.warn(
                f"{self._path}: the last {self._size - end} bytes, from byte {end}, are not a "
                "whole step and are cut off",
                RuntimeWarning,
                stacklevel=4,
            )
            os.ftruncate(self._file, end)
            self._size = end

    def _append(self, data):
        """Writes all or nothing."""
        try:
            written = os.write(self._file, data)
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise UnavailableError(f"a step was not written: {error}", file=self._path) from error
        self._size += len(data)

    def _number(self, name, new):
        number = self._numbers.get(name)
        if number is None:
            number = new.setdefault(name, len(self._numbers) + len(new))
        return number

    def _entries(self, batch, lane, new):
        """File and record of each record of a lane, as one number."""
        import numpy as np

        places = np.stack([lane["source"], lane["pass"], lane["shard"]], 1)
        each, of = np.unique(places, axis=0, return_inverse=True)
        numbers = [
            self._number(batch._place(*place), new) if place[0] >= 0 else _NO_FILE
            for place in each.tolist()
        ]
        records = np.where(lane["source"] < 0, 0, lane["record"])
        if max(numbers, default=0) > _NO_FILE or records.max(initial=0) >> _RECORD_BITS:
            raise InvalidArgumentError(
                "a record log must have at most 2**24 files of 2**40 records; use another path"
            )
        files = np.array(numbers, np.uint64)[of.reshape(-1)]
        return files << np.uint64(_RECORD_BITS) | records.astype(np.uint64)

    def add(self, step: int, batch: Batch) -> None:
        """Appends the records of a batch.

        For a packed record, the log stores its first sequence. A step that is added again, such as
        after a resume, replaces the older entry.

        Args:
            step (int): the step of the training loop, at least 0.
            batch (Batch): the batch, as the iterator returned it.

        Raises:
            InvalidArgumentError: the step is negative, or the log has no number for a file or a
                record.
            FailedPreconditionError: the log is closed.
            UnavailableError: the step was not written, for example because the disk is full; the
            log has not changed.

        Example:
            with lv.RecordLog("steps.lvlog") as log:
                log.add(0, lv.range(6).batch(4).first())
        """
        import numpy as np

        if self._file < 0:
            raise FailedPreconditionError(
                "the record log is closed; open it again", file=self._path
            )
        if step < 0:
            raise InvalidArgumentError(f"step={step} must be at least 0")
        lanes = batch.lanes
        new: dict[str, int] = {}  # files that the log does not name yet
        entries = np.stack([self._entries(batch, lane, new) for lane in lanes], 1)
        body = struct.pack("<cqB", b"S", step, len(lanes)) + entries.astype("<u8").tobytes()
        names = (_frame(b"F" + os.fsencode(name)) for name in new)
        self._append(b"".join(names) + _frame(body))
        self._numbers |= new

    def keys(self, step: int) -> list[str] | None:
        """Returns the names of the records of a step, as ``Batch.record_keys``; None if the log
        does not have the step.

        Args:
            step (int): the step.

        Example:
            with lv.RecordLog("steps.lvlog") as log:
                print(log.keys(340))
        """
        import numpy as np

        found, names = None, list(self._numbers)
        with open(self._path, "rb") as file:
            for _, body in _frames(file, self._path):
                if body[:1] == b"S" and struct.unpack_from("<q", body, 1)[0] == step:
                    found = body
        if found is None:
            return None
        entries = np.frombuffer(found, "<u8", offset=10).reshape(-1, max(found[9], 1))
        return [
            " + ".join(
                f"{names[e >> _RECORD_BITS]}:{e & ((1 << _RECORD_BITS) - 1)}"
                for e in row
                if e >> _RECORD_BITS != _NO_FILE
            )
            for row in entries.tolist()
        ]

    def close(self) -> None:
        """Closes the file. May be called again.

        Example:
            log = lv.RecordLog("steps.lvlog")
            log.close()
        """
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"levada.RecordLog({self._path!r}{'' if self._file >= 0 else ', closed'})"
