# SPDX-License-Identifier: Apache-2.0
"""Readers: file names from a queue in, (key, value) pairs out.

The contract is that of TensorFlow's readers (core/framework/reader_base.cc, core/kernels/
*_reader_op.cc, python/ops/io_ops.py). The readers are those of the C library (levada/reader.h);
this module checks options and says where names come from.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
from typing import Any

from levada import _functions, _levada
from levada._batch import column_of
from levada.errors import InvalidArgumentError, OutOfRangeError
from levada.train._queues import QueueBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from levada._dataset import Dataset

_MOST_BYTES = 1 << 30  # of a record: offsets of a block are int32
_TFRECORD, _TEXT_LINE, _FIXED_LENGTH, _WHOLE_FILE, _IDENTITY = range(5)


class _Reader:
    """What all readers share. One call at a time: others wait for their turn, in order."""

    _kind = -1

    def __init__(self, name: str | None = None) -> None:
        self._open(name)

    def _open(
        self,
        name: str | None,
        compression: str | None = None,
        skip: int = 0,
        sizes: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:
        self.name = name or type(self).__name__
        self._core = _levada.Reader(
            self._kind, self.name, compression, skip, *sizes, _source_of, _columns
        )

    def __repr__(self) -> str:
        return f"levada.train.{type(self).__name__}({self.name!r})"

    def read(self, queue: Any) -> tuple[bytes, bytes]:
        """Returns the next record: (key, value), both ``bytes``.

        Args:
            queue: a queue of file names, or a producer. The call waits there for a name.

        Raises:
            OutOfRangeError: the queue is closed and empty, and no file is open.
            NotFoundError, PermissionDeniedError, InvalidArgumentError, UnimplementedError: the next
                file cannot be opened (it does not exist, may not be read, or is a directory). The
                next call takes the name after it.
            DataLossError: the file is damaged; again at each call until ``reset()``, as is any
                other error of a file.
        """
        return self._take(queue, None)

    def read_up_to(self, queue: Any, num_records: int) -> tuple[Any, Any]:
        """Returns up to `num_records` records: (keys, values), each a ``levada.Bytes``.

        Returns fewer, but at least one, at the end of a file. Raises the errors of ``read``, after
        the records before the damage.
        """
        num_records = operator.index(num_records)
        if num_records < 1:
            raise InvalidArgumentError(f"num_records={num_records} must be at least 1")
        return self._take(queue, num_records)

    def _take(self, queue, n):
        # An item, not a call: Python raises Ctrl-C after a call of C, which would lose the result.
        try:
            return self._core[queue, n]
        except OutOfRangeError as error:
            end = [error]
        fate = getattr(queue, "_fate", None)
        raise fate.instead_of(end.pop()) if fate else end.pop()

    def num_records_produced(self) -> int:
        """Records returned since the beginning or ``reset()``."""
        return self._core.counts()[0]

    def num_work_units_completed(self) -> int:
        """Files read to their end. A file counts once a call has reached its end."""
        return self._core.counts()[1]

    def reset(self) -> None:
        """Zeroes the counters and forgets the current file; the queue stays as it is."""
        self._core.reset()

    def serialize_state(self) -> bytes:
        """The position as bytes; only an IdentityReader has one. Raises UnimplementedError."""
        return self._core.save()

    def restore_state(self, state: bytes) -> None:
        """Resumes where ``serialize_state()`` was called.

        Raises ValueError if `state` is not bytes, InvalidArgumentError if it is not a state, and
        UnimplementedError for other readers than an IdentityReader.
        """
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise ValueError(f"a state must be bytes, got {type(state).__name__}")
        self._core.restore(bytes(state))


def _source_of(queue: Any) -> Any:
    """The queue of C, which the reader takes names from directly, or a function that returns one
    name as bytes."""
    if isinstance(queue, QueueBase) and type(queue).dequeue is QueueBase.dequeue:
        dtypes = [dtype.name for dtype in queue.dtypes]
        if dtypes == ["string"] and queue.names is None:
            return queue._queue
    return functools.partial(_name_from, queue)


def _name_from(queue: Any) -> bytes:
    """One name from a queue or from what a producer returned."""
    take = getattr(queue, "dequeue", None) or queue
    if not callable(take):
        raise TypeError(
            f"the file names of a reader must come from a queue, got {type(queue).__name__}"
        )
    name = take()
    if hasattr(name, "item") and getattr(name, "shape", None) in ((), (1,)):
        name = name.item()
    if not isinstance(name, (bytes, str, os.PathLike)):
        raise InvalidArgumentError(f"a queue of file names must hold strings, got {name!r}")
    return os.fsencode(name)


def _columns(block: _levada.Block) -> tuple[Any, Any]:
    return column_of(block, 0), column_of(block, 1)


class _Native(_Reader):
    """Readers whose records a source of levada finds."""

    def _dataset(self, path: Any) -> Dataset:
        """Dataset of the records of the files that the pattern `path` finds."""
        raise NotImplementedError

    def dataset(self, queue: Any) -> Dataset:
        """A Dataset of the records of all files that the queue names, read when it is iterated.

        For programs that move whole blocks: ``batch(reader.dataset(names).parse_example(spec), 64,
        ...)`` is the program with ``read`` and a parser, without a Python call for each record. The
        counters of the reader do not count these records.
        """
        from levada._dataset import Dataset, with_spec

        target = _Names(lambda: _paths(queue), {"path": "string"})
        handle = _functions.handle(target, queue, source=True)
        names = Dataset(_levada.append("records", with_spec(handle, {"path": "string"}), ()))
        return names.interleave(lambda record: self._dataset(record["path"]), cycle_length=1)


class _Names(_functions.Records):
    """Records of which each is a block: a queue is not asked for more names than are needed."""

    def call(self, run, _):
        record = next(self.noted(run), None)
        return None if record is None else self.columns.block([record])


def _paths(queue):
    with contextlib.suppress(OutOfRangeError):
        while True:
            yield {"path": os.fsdecode(_name_from(queue))}


class TFRecordReader(_Native):
    """Reads TFRecord files. Keys are ``b"file:offset"``; offsets count in the decompressed file.

    Args:
        compression (str, default "auto"): "auto" (looks at the first bytes), "none", "gzip", "zlib"
            or "zstd".
        name (str): the name in messages.
        options (object): ignored, because the compression is detected.

    Example:
        lv.samples.write(".")
        names = lt.FIFOQueue(10, [lv.string], shapes=[()])
        names.enqueue("train-0.tfrecord.gz")
        key, value = lt.TFRecordReader().read(names)
    """

    _kind = _TFRECORD

    def __init__(
        self, compression: str = "auto", name: str | None = None, *, options: Any = None
    ) -> None:
        self._open(name, compression=compression)
        self._compression = compression

    def _dataset(self, path):
        from levada import tfrecord

        return tfrecord(path, compression=self._compression)


class TextLineReader(_Native):
    """Reads lines without their ends (LF or CR LF). Keys are ``b"file:line"``; lines count from 1.

    Args:
        skip_header_lines (int, default 0): lines at the start of every file that are skipped, but
            counted.
        name (str): the name in messages.

    Raises:
        ValueError: `skip_header_lines` is negative.

    Example:
        lv.samples.write(".")
        names = lt.FIFOQueue(10, [lv.string], shapes=[()])
        names.enqueue("speeches.txt")
        key, value = lt.TextLineReader().read(names)
    """

    _kind = _TEXT_LINE

    def __init__(self, skip_header_lines: int = 0, name: str | None = None) -> None:
        self._skip = operator.index(skip_header_lines or 0)
        if self._skip < 0:
            raise ValueError(f"skip_header_lines={self._skip} must be at least 0")
        self._open(name, skip=self._skip)

    def _dataset(self, path):
        from levada import text_lines

        return text_lines(path, skip_lines=self._skip)


class FixedLengthRecordReader(_Native):
    """Reads records of one length. Keys are ``b"file:number"``; numbers count from 0.

    Bytes at the end of a file that do not fill a record are skipped.

    Args:
        record_bytes (int): length of a record.
        header_bytes (int, default 0): bytes to skip at the start of each file.
        footer_bytes (int, default 0): bytes to skip at the end of each file.
        hop_bytes (int, default 0): bytes from the start of a record to the start of the next; 0 =
            `record_bytes`. A smaller number makes records overlap; a larger number skips bytes
            between records.
        name (str): the name in messages.
        encoding (str): None (files as they are), "GZIP" or "ZLIB"; sizes count decompressed bytes.

    Raises:
        ValueError: an argument is out of range.

    Example:
        lv.samples.write(".")
        names = lt.FIFOQueue(10, [lv.string], shapes=[()])
        names.enqueue("speeches.txt")
        print(lt.FixedLengthRecordReader(16).read(names))
    """

    _kind = _FIXED_LENGTH

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = 0,
        footer_bytes: int | None = 0,
        hop_bytes: int | None = 0,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self._sizes = {"record_bytes": record_bytes, "header_bytes": header_bytes or 0,
                       "footer_bytes": footer_bytes or 0, "hop_bytes": hop_bytes or 0}  # fmt: skip
        for word, size in self._sizes.items():
            least = int(word == "record_bytes")
            most = _MOST_BYTES if word in ("record_bytes", "footer_bytes") else 2**63 - 1
            if not least <= operator.index(size) <= most:
                raise ValueError(f"{word}={size} must be at least {least} and at most {most}")
        if encoding not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(f'encoding={encoding!r} must be None, "GZIP" or "ZLIB"')
        self._compression = encoding.lower() if encoding else "none"
        record, header, footer, hop = self._sizes.values()
        self._open(name, compression=self._compression, sizes=(record, header, footer, hop))

    def _dataset(self, path):
        from levada import fixed_length

        return fixed_length(path, **self._sizes, drop_partial=True, compression=self._compression)


class IdentityReader(_Reader):
    """Reads the names themselves: key and value of a record are the name.

    Args:
        name (str): the name in messages.

    Example:
        lv.samples.write(".")
        names = lt.FIFOQueue(10, [lv.string], shapes=[()])
        names.enqueue("speeches.txt")
        key, value = lt.IdentityReader().read(names)
    """

    _kind = _IDENTITY


class WholeFileReader(_Reader):
    """Reads whole files: the key is the name, the value the content.

    Args:
        name (str): the name in messages.

    Example:
        lv.samples.write(".")
        names = lt.FIFOQueue(10, [lv.string], shapes=[()])
        names.enqueue("speeches.txt")
        key, value = lt.WholeFileReader().read(names)
    """

    _kind = _WHOLE_FILE
