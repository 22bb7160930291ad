# SPDX-License-Identifier: Apache-2.0
"""Indexes: the position of each record of a file, in a file next to it."""

from __future__ import annotations

import glob
import os

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIX = ".lvindex"


def _paths(files):
    """The files of paths and patterns, without the indexes among them."""
    files = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    if not files:
        raise ValueError("index needs at least one file")
    for name in map(os.fspath, files):
        if not isinstance(name, str):
            raise TypeError(f"a path must be a str, got {type(name).__name__}")
        if not glob.has_magic(name):
            yield name
            continue
        found = sorted(path for path in glob.glob(name) if not path.endswith(_SUFFIX))
        if not found:
            raise FileNotFoundError(f"no file matches {name!r}")
        yield from found


def index(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    source: str | None = None,
    check: bool = False,
    length: str | Iterable[str] | None = None,
    stages: str | None = None,
    max_bytes: int | None = None,
) -> int:
    """Writes the index of each file, as ``levada index`` does, and returns the number of records.

    The index of ``a.tfrecord`` is ``a.tfrecord.lvindex``. With it, ``lv.tfrecord("a.tfrecord",
    index=True)`` supports ``len(ds)`` and ``ds[i]``, reads ranges (``records=``, ``part=``), and
    shuffles all records (``shuffle_records=True``).

    Args:
        files (str | os.PathLike[str] | Iterable[str | os.PathLike[str]]): a path, a glob, or a list
            of them.
        source (str): the format, with options: ``"fixed_length:record_bytes=8"``; None = by name
            or content.
        check (bool, default False): compares the files with their indexes and writes nothing.
        length (str | Iterable[str]): the name of a field, or of up to 8, whose lengths the index
            also stores. ``bucket_by_sequence_length`` then chooses boundaries from all records,
            ranks in step read only their own records, and ``length_histogram`` and
            ``padding_report`` read no data.
        stages (str): the stages that produce these fields, as in a pipeline:
            ``"parse_example:@spec.json"``.
        max_bytes (int): size of the largest record of a file; None = 1 GiB, which is the most.

    Raises:
        FailedPreconditionError: with `check`, a file has changed since it was indexed.
        DataLossError: a file is damaged.
        UnimplementedError: a file is compressed.

    Example:
        lv.samples.write(".")
        print(lv.index("speeches.txt"))
    """
    if stages is not None and length is None:
        raise ValueError("stages= needs length=, the name of a field that they make")
    if check and length is not None:
        raise ValueError("check=True writes no index, so length= has no meaning with it")
    if length is not None and not isinstance(length, str):
        length = ",".join(length)
    if max_bytes is not None and not 0 < max_bytes <= 1 << 30:
        raise ValueError(f"max_bytes={max_bytes} must be from 1 to {1 << 30}")
    return sum(
        _levada.index(path, source, check, stages, length, max_bytes or 0) for path in _paths(files)
    )
