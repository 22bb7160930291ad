# SPDX-License-Identifier: Apache-2.0
"""Readers: file names from a queue in, (key, value) pairs out.

The contract is that of TensorFlow's readers (core/framework/reader_base.cc, core/kernels/
*_reader_op.cc, python/ops/io_ops.py). A reader takes a name from the queue when it has none, reads
that file to its end and takes the next; the end is the queue's OutOfRangeError. Files without
records are passed over. Records are read in blocks by the sources of levada and handed out from
there, so that a call for one record, and even more one for many, costs little.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import operator
import os
from collections.abc import Sequence

from levada import _functions, _levada
from levada._batch import ORIGIN, column_of
from levada._ragged import Bytes, objects
from levada.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    UnavailableError,
    UnimplementedError,
)
from levada.train._locks import Listed, own_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from levada._dataset import Dataset

ROWS = 256  # records in a block, where a call does not ask for another number
_MOST_ROWS = 65536
_BLOCK_BYTES = 2 << 20  # of records of one length that may overlap: what a block copies
_MOST_BYTES = 1 << 30  # of a record: offsets of a block are int32
# In front of the first block: the file cannot be opened, which says nothing about the next one.
_OF_OPENING = (NotFoundError, PermissionDeniedError, InvalidArgumentError, UnimplementedError)


class Keys(Sequence[bytes]):
    """Keys ``b"file:number"`` of the records of one file, made when they are looked at.

    ``name`` is the file's name, ``numbers`` an int64 array [n]. Also an array of bytes to NumPy.
    """

    __slots__ = ("name", "numbers")

    def __init__(self, name: bytes, numbers: Any) -> None:
        self.name = name
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Keys(self.name, self.numbers[index])
        return b"%b:%d" % (self.name, self.numbers[index])

    def __iter__(self) -> Iterator[bytes]:
        return map((self.name.replace(b"%", b"%%") + b":%d").__mod__, self.numbers.tolist())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return objects(self.to_list()) if dtype is None else objects(self.to_list()).astype(dtype)

    def __repr__(self):
        return f"levada.train.Keys({list(self[:3])}{', ...' if len(self) > 3 else ''})"

    def to_list(self) -> list[bytes]:
        """List of ``bytes``."""
        return list(self)

    tolist = to_list


class _Block:
    """Records of one file that are handed out in order."""

    __slots__ = ("keys", "values")

    def __init__(self, keys, values):
        self.keys = keys
        self.values = values

    def pairs(self, first):
        """Iterator of (key, value) from record `first` on."""
        rest = self.values[first:]
        rest = rest.to_list() if isinstance(rest, Bytes) else rest
        return zip(self.keys[first:], rest, strict=True)

    def part(self, first, last):
        """The records from `first` up to `last` as (keys, values)."""
        if first == 0 and last == len(self.keys):
            return self.keys, self.values
        return self.keys[first:last], self.values[first:last]


_NOTHING = _Block((), ())


class _Reader:
    """What all readers share. One call at a time: a second one waits for the first."""

    _whole = False  # whether a file is one record, so that its end is known with it

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__
        self._lock = own_lock(self)
        self._clear()

    def _clear(self):
        self._file = None  # the blocks of the current file, an iterator
        self._path = b""
        self._begun = False  # whether a block of it came
        self._error = None
        self._block = _NOTHING
        self._before = 0  # what was produced in front of the block
        self._pairs = iter(())  # the rest of the block, or nothing, for `read`
        self._produced = self._finished = 0

    def _open(self, name, rows):
        """Iterator of the `_Block`s of the file called `name` (bytes)."""
        raise NotImplementedError

    def read(self, queue: Any) -> tuple[bytes, bytes]:
        """The next record: (key, value), both ``bytes``.

        Args:
            queue: a queue of file names, or what a producer returned. Waits there for a name.

        Raises:
            OutOfRangeError: the queue is closed and empty, and no file is open.
            NotFoundError, PermissionDeniedError, InvalidArgumentError, UnimplementedError: the next
                file cannot be opened (is not there, may not be read, is a folder); the next call
                goes on with the name after it.
            DataLossError: the file is damaged; again at each call until ``reset()``, as is any
                other error of a file.
        """
        with Listed(self.name, "its turn") as wait, self._lock:
            wait.over()
            for pair in self._pairs:
                self._produced += 1
                return pair
            while self._left() == 0:
                self._advance(queue, ROWS)
            self._pairs = self._block.pairs(self._produced - self._before)
            self._produced += 1
            return next(self._pairs)

    def read_up_to(self, queue: Any, num_records: int) -> tuple[Any, Any]:
        """Up to `num_records` records: (keys, values), sequences of ``bytes`` of one length.

        Fewer, but at least one, where a file ends. Both also are arrays to NumPy; values that come
        from one block are a ``levada.Bytes`` over its memory. Raises what ``read`` raises; records
        in front of damage are given first.
        """
        num_records = operator.index(num_records)
        if num_records < 1:
            raise InvalidArgumentError(f"num_records={num_records} must be at least 1")
        parts: list[tuple[Any, Any]] = []
        need = num_records
        with Listed(self.name, "its turn") as wait, self._lock:
            wait.over()
            self._pairs = iter(())
            while need:
                if self._left() == 0 and not self._more(queue, num_records, parts):
                    break
                n = min(need, self._left())
                if n:
                    first = self._produced - self._before
                    parts.append(self._block.part(first, first + n))
                    self._produced += n
                    need -= n
        return parts[0] if len(parts) == 1 else _join(parts)

    def _left(self):
        """Records of the block that were not handed out yet."""
        return len(self._block.keys) - (self._produced - self._before)

    def _more(self, queue, rows, parts):
        """Whether read_up_to goes on: not past the end of a file that gave something."""
        if not parts:
            self._advance(queue, rows)
            return True
        if self._file is None:  # one record was all of it
            return False
        try:
            return self._next_block()
        except Exception as error:  # told by the next call, after what is good
            self._error = error
            return False

    def _advance(self, queue, rows):
        """One step towards the next record: a name, or a block of the current file."""
        if self._error is not None:
            raise self._error
        if self._file is None:
            self._path, self._begun = name_from(queue), False
        try:
            if self._file is None:
                self._file = self._open(self._path, min(max(rows, 16), _MOST_ROWS))
            self._next_block()
        except Exception as error:
            if self._begun or not isinstance(error, _OF_OPENING):
                self._error = error
            self._file = None
            raise

    def _next_block(self):
        """Fetches a block of the current file; False at its end."""
        block = next(self._file, None)
        if block is None or self._whole:
            self._file = None
            self._finished += 1
        self._begun = True
        self._block, self._before = block or _NOTHING, self._produced
        return block is not None

    def num_records_produced(self) -> int:
        """Records handed out since the beginning or ``reset()``."""
        return self._produced

    def num_work_units_completed(self) -> int:
        """Files read to their end; a file counts when a call has found its end."""
        return self._finished

    def reset(self) -> None:
        """Zeroes the counters and forgets the current file; the queue stays as it is."""
        with Listed(self.name, "its turn"), self._lock:
            self._clear()

    def serialize_state(self) -> bytes:
        """The position as bytes; only an IdentityReader has one. Raises UnimplementedError."""
        raise UnimplementedError(f"{self.name} cannot save its state")

    def restore_state(self, state: bytes) -> None:
        """Goes on where ``serialize_state()`` was called. Raises UnimplementedError."""
        _check_state(state)
        raise UnimplementedError(f"{self.name} cannot restore a state")


def name_from(queue):
    """One name (bytes) from a queue or from what a producer returned."""
    take = getattr(queue, "dequeue", None) or queue
    if not callable(take):
        raise TypeError(f"a reader reads names from a queue, not from {type(queue).__name__}")
    name = take()
    if hasattr(name, "item") and getattr(name, "shape", None) in ((), (1,)):
        name = name.item()
    if not isinstance(name, (bytes, str, os.PathLike)):
        raise InvalidArgumentError(f"a queue of file names gave {name!r}")
    return os.fsencode(name)


def _join(parts):
    """(keys, values) of several blocks of one file as one."""
    import numpy as np

    keys = Keys(parts[0][0].name, np.concatenate([keys.numbers for keys, _ in parts]))
    data = np.concatenate([data_of(values) for _, values in parts])
    lengths = np.concatenate([values.lengths for _, values in parts])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return keys, Bytes(data, offsets)


def data_of(values):
    """The bytes of a ``Bytes``, without what lies around them."""
    return values.data[values.offsets[0] : values.offsets[-1]]


def _check_state(state):
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise ValueError(f"a state is bytes, not {type(state).__name__}")


# -- sources of levada as files


class _Source:
    """The blocks of one file, through a source of levada: `rows` records each, to the last one.

    A batch gives nothing of itself where damage follows, so that then the file is opened anew
    without batches, behind what was given.
    """

    __slots__ = ("_dataset", "_first", "_given", "_iterator", "_name", "_number")

    def __init__(self, dataset, name, number, first, rows):
        self._dataset = dataset.with_options(threads=1, block_rows=rows)
        self._iterator = self._dataset.batch(rows)._open(epoch=0, seed=0)
        self._given = 0  # records; None when there are no batches any more
        self._name = name
        self._number = number  # which part of an origin stands in a key
        self._first = first  # what is added to it

    def __iter__(self):
        return self

    def __next__(self):
        import numpy as np

        block = self._next_block()
        if block is None:
            self._iterator.close()
            raise StopIteration
        numbers = np.frombuffer(block.origins(), ORIGIN)[self._number] + self._first
        return _Block(Keys(self._name, numbers), column_of(block, 0))

    def _next_block(self):
        try:
            block = next(self._iterator, None)
        except DataLossError:
            if self._given is None:
                raise
            self._iterator.close()
            self._iterator = self._dataset.skip(self._given)._open(epoch=0, seed=0)
            self._given = None
            block = next(self._iterator, None)
        if block is not None and self._given is not None:
            self._given += block.rows
        return block


class _Native(_Reader):
    """Readers whose records a source of levada finds."""

    _number, _first = "record", 0

    def _dataset(self, path):
        """Dataset of the records of the files that the pattern `path` finds."""
        raise NotImplementedError

    def _open(self, name, rows):
        return _Source(self._dataset(_pattern(name)), name, self._number, self._first, rows)

    def dataset(self, queue: Any) -> Dataset:
        """A Dataset of the records of all files that the queue names, read when it is iterated.

        For what moves whole blocks: ``batch(reader.dataset(names).parse_example(spec), 64, ...)``
        is the program with ``read`` and a parser, without a Python call for each record. The
        counters of the reader do not count these records.
        """
        from levada._dataset import Dataset, _with_spec

        target = _Names(lambda: _paths(queue), {"path": "string"})
        handle = _functions.handle(target, queue, source=True)
        names = Dataset(_levada.append("records", _with_spec(handle, {"path": "string"}), ()))
        return names.interleave(lambda record: self._dataset(record["path"]), cycle_length=1)


class _Names(_functions.Records):
    """Records of which each is a block: a queue is not asked for more names than are needed."""

    def call(self, run, _):
        record = next(self.noted(run), None)
        return None if record is None else self.columns.block([record])


def _paths(queue):
    with contextlib.suppress(OutOfRangeError):
        while True:
            yield {"path": _pattern(name_from(queue))}


def _pattern(name):
    """What finds just the file of that name."""
    return glob.escape(os.fsdecode(name))


class TFRecordReader(_Native):
    """Records of TFRecord files; keys are ``b"file:offset"``, offsets in the decompressed file.

    Args:
        compression: "auto" (looks at the first bytes), "none", "gzip", "zlib", "zstd".
    """

    _number = "offset"

    def __init__(self, compression: str = "auto", name: str | None = None) -> None:
        super().__init__(name)
        self._compression = compression
        self._dataset("")  # refuses wrong options now

    def _dataset(self, path):
        from levada import tfrecord

        return tfrecord(path, compression=self._compression)


class TextLineReader(_Native):
    """Lines without their ends (LF or CR LF); keys are ``b"file:line"``, lines count from 1.

    Args:
        skip_header_lines: lines at the start of every file that are passed over, but counted.
    """

    def __init__(self, skip_header_lines: int = 0, name: str | None = None) -> None:
        super().__init__(name)
        self._skip = operator.index(skip_header_lines or 0)
        if self._skip < 0:
            raise ValueError(f"skip_header_lines={self._skip} must be at least 0")
        self._first = self._skip + 1
        self._dataset("")

    def _dataset(self, path):
        from levada import text_lines

        return text_lines(path, skip_lines=self._skip)


class FixedLengthRecordReader(_Native):
    """Records of one length; keys are ``b"file:number"``, numbers count from 0.

    Args:
        record_bytes: length of a record.
        header_bytes, footer_bytes: what is left out at the start and the end of each file.
        hop_bytes: from the start of a record to that of the next; 0 = record_bytes. Less gives
            records that overlap, more leaves bytes out.
        encoding: None (files as they are), "GZIP" or "ZLIB"; sizes are those of the content.

    What is too short for a record at the end of a file is left out.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = 0,
        footer_bytes: int | None = 0,
        hop_bytes: int | None = 0,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(name)
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

    def _open(self, name, rows):
        rows = min(rows, max(_BLOCK_BYTES // self._sizes["record_bytes"], 1))
        dataset = self._dataset(_pattern(name)).with_options(max_bytes=_MOST_BYTES)
        return _Source(dataset, name, self._number, self._first, rows)

    def _dataset(self, path):
        from levada import fixed_length

        return fixed_length(path, **self._sizes, drop_partial=True, compression=self._compression)


# -- readers in Python


class IdentityReader(_Reader):
    """The names themselves as records: key and value are the name."""

    _whole = True

    def _open(self, name, rows):
        return iter([_Block([name], [name])])

    def serialize_state(self) -> bytes:
        """Counters and name as bytes: the message ReaderBaseState of TensorFlow."""
        with self._lock:
            counts = (self._finished, self._finished, self._produced)
            numbers = (bytes([8 * i]) + _varint(n) for i, n in enumerate(counts, 1))
            return b"".join(numbers) + b"\x22" + _varint(len(self._path)) + self._path

    def restore_state(self, state: bytes) -> None:
        """Goes on where ``serialize_state()`` was called.

        Raises ValueError where `state` is not bytes, InvalidArgumentError where it is not a state.
        """
        _check_state(state)
        fields = _parse_state(bytes(state))
        if fields is None:
            raise InvalidArgumentError(
                f"Could not parse state for IdentityReader '{self.name}': {bytes(state)!r}"
            )
        with self._lock:
            self._clear()
            self._finished, self._produced, self._path = fields
            self._before = self._produced


def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _read_varint(data, at):
    """(number, position after it)."""
    value = shift = 0
    while shift < 63:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise IndexError


def _parse_state(data):
    """(finished, produced, current) of a ReaderBaseState, or None."""
    numbers, at = [], 0
    try:
        for tag in (0x08, 0x10, 0x18):
            if data[at] != tag:
                return None
            value, at = _read_varint(data, at + 1)
            numbers.append(value)
        size, start = _read_varint(data, at + 1)
        sound = data[at] == 0x22 and start + size == len(data) and numbers[0] == numbers[1]
    except IndexError:
        return None
    return (*numbers[1:], data[start:]) if sound else None


class WholeFileReader(_Reader):
    """Whole files: the key is the name, the value the content."""

    _whole = True

    def _open(self, name, rows):
        with _reading(name) as file:
            return iter([_Block([name], [file.read()])])


@contextlib.contextmanager
def _reading(name):
    """The file, open; errors of the system become those of levada."""
    place = os.fsdecode(name)
    if b"\0" in name:
        raise InvalidArgumentError(f"the name of a file has a zero byte in it: {name!r}")
    try:
        with open(name, "rb") as file:
            yield file
    except IsADirectoryError as error:
        raise InvalidArgumentError("it is a folder", file=place) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError("no such file", file=place) from error
    except PermissionError as error:
        raise PermissionDeniedError("not allowed to read the file", file=place) from error
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENAMETOOLONG):
            raise InvalidArgumentError(f"cannot open it: {error}", file=place) from error
        raise UnavailableError(f"the file cannot be read: {error}", file=place) from error
