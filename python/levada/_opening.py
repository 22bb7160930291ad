# SPDX-License-Identifier: Apache-2.0
"""``levada.open``: which format files have, and which features the Examples in them have."""

from __future__ import annotations

import os

from levada import _sources
from levada._features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from levada.errors import DataLossError, InvalidArgumentError, OutOfRangeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from levada._dataset import Dataset
    from levada._values import Paths

_LOOK = 64  # records that fix the spec
_OTHERS = {".csv": "csv", ".tar": "tar", ".tgz": "tar"}  # by suffix
_KINDS = {1: "string", 2: "float32", 3: "int64"}  # fields of a Feature


class _NotAMessageError(ValueError):
    pass


def _number(data: bytes, at: int) -> tuple[int, int]:
    """(varint, position after it)."""
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise _NotAMessageError


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(number, wire type, content) of each field of a message; numbers have their bytes."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind, begin = tag & 7, at
        if kind == 0:
            _, at = _number(data, at)
        elif kind == 2:
            size, begin = _number(data, at)
            at = begin + size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise _NotAMessageError
        if at > len(data) or tag >> 3 == 0:
            raise _NotAMessageError
        yield tag >> 3, kind, data[begin:at]


def _values(kind: int, content: bytes) -> int:
    """How many values a list of a Feature has."""
    count = 0
    for number, wire, part in _fields(content):
        if number != 1:
            raise _NotAMessageError
        if kind == 1 or wire != 2:
            count += 1
        elif kind == 2:
            count += len(part) // 4
        else:
            count += sum(byte < 128 for byte in part)
    return count


def _feature(data: bytes) -> tuple[str | None, int]:
    """(dtype, number of values) of a Feature; None for an empty one."""
    found: tuple[str | None, int] = (None, 0)
    for number, wire, content in _fields(data):
        if number not in _KINDS or wire != 2:
            raise _NotAMessageError
        found = _KINDS[number], _values(number, content)
    return found


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each entry of a map of features or feature lists."""
    for number, wire, entry in _fields(data):
        if number != 1 or wire != 2:
            raise _NotAMessageError
        parts = {key: content for key, _, content in _fields(entry)}
        yield parts.get(1, b"").decode(), parts.get(2, b"")


class _Seen:
    """The features of the records so far: dtypes, and numbers of values."""

    def __init__(self) -> None:
        self.records = 0
        self.context: dict[str, list[tuple[str | None, int]]] = {}
        self.lists: dict[str, list[tuple[str | None, int]]] = {}

    def read(self, record: bytes) -> None:
        """Notes one record. Raises _NotAMessageError, UnicodeDecodeError for other bytes."""
        self.records += 1
        for number, wire, content in _fields(record):
            if number not in (1, 2) or wire != 2:
                raise _NotAMessageError
            for name, part in _entries(content):
                if number == 1:
                    self.context.setdefault(name, []).append(_feature(part))
                else:
                    steps = [_feature(step) for _, _, step in _fields(part)]
                    self.lists.setdefault(name, []).extend(steps or [(None, 0)])

    def spec(self) -> dict[str, Any]:
        """Features of an Example, or of the context."""
        return {name: self._one(name, seen) for name, seen in sorted(self.context.items())}

    def _one(self, name, seen):
        dtype, counts = _dtype_of(name, seen), {n for _, n in seen}
        if len(seen) == self.records and counts == {1}:
            return FixedLenFeature([], dtype)
        return VarLenFeature(dtype)

    def sequences(self) -> dict[str, Any]:
        """Feature lists: one value per step, or any number."""
        made: dict[str, Any] = {}
        for name, seen in sorted(self.lists.items()):
            dtype, counts = _dtype_of(name, seen), {n for kind, n in seen if kind}
            fixed = len(counts) == 1 and counts != {0}
            shape = [] if counts == {1} else [*counts]
            made[name] = (
                FixedLenSequenceFeature(shape, dtype, allow_missing=True)
                if fixed
                else VarLenFeature(dtype)
            )
        return made


def _dtype_of(name, seen):
    dtypes = sorted({dtype for dtype, _ in seen if dtype})
    if len(dtypes) > 1:
        raise InvalidArgumentError(
            f"open: feature {name!r} has the dtypes {' and '.join(dtypes)}; pass spec="
        )
    return dtypes[0] if dtypes else "int64"


def _parsed(ds: Dataset[Any]) -> Dataset[Any]:
    """The dataset with its messages decoded; with the records as bytes if they are not messages."""
    seen = _Seen()
    try:
        for record in ds.to_list(_LOOK):
            seen.read(bytes(record["record"]))
    except (_NotAMessageError, UnicodeDecodeError):
        return ds
    if not seen.context and not seen.lists:
        return ds
    if seen.lists:
        return ds.parse_sequence_example(seen.spec() or None, seen.sequences())
    return ds.parse_example(seen.spec())


def open_files(files: Paths, source: str | None, spec: Any) -> Dataset[Any]:
    """See ``levada.open``."""
    if source not in (None, "tfrecord", "text_lines", "csv", "tar"):
        raise InvalidArgumentError(
            f"open: source={source!r} must be 'tfrecord', 'text_lines', 'csv' or 'tar'"
        )
    ds: Dataset[Any] = _sources.tfrecord(files)
    if source is None:
        source = _format_of(ds, files)
    if source == "csv":
        return _sources.csv(files, infer=True)
    if source != "tfrecord":
        return _sources.tar(files) if source == "tar" else _sources.text_lines(files)
    if spec is None:
        return ds
    return _parsed(ds) if isinstance(spec, str) and spec == "auto" else ds.parse_example(spec)


def _is_text(files: Paths) -> bool:
    """Whether the first record is a line of text. Compressed files are read as such, too."""
    line = _sources.text_lines(files).first()["line"]
    return line.isascii() and bytes(line).decode("ascii").isprintable()


def _named(files: Paths) -> str | None:
    """The source that the name of the first file tells: rows of CSV would pass for lines."""
    path = os.fsdecode(_sources.files(files).first()["path"])
    name = path.removesuffix(".gz").removesuffix(".zst").removesuffix(".zz")
    return next((source for suffix, source in _OTHERS.items() if name.endswith(suffix)), None)


def _format_of(ds: Dataset[Any], files: Paths) -> str:
    """The source for files, by the first name and record. Raises NotFoundError."""
    named = _named(files)
    if named:
        return named
    try:
        ds.first()
    except OutOfRangeError:
        raise InvalidArgumentError(
            f"open: {files!r} has no records, so its format is unknown; pass source="
        ) from None
    except DataLossError as error:
        short = "truncated header" in error.message  # less than the header of a TFRecord
        if "looks like text" not in error.message and not (short and _is_text(files)):
            raise
        return "text_lines"
    return "tfrecord"
