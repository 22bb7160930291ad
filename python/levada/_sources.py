# SPDX-License-Identifier: Apache-2.0
"""Sources from their option tables. Made by ci/gen_python.py; do not edit."""

from __future__ import annotations

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from levada._dataset import Dataset

__all__ = [
    "files",
    "fixed_length",
    "text_lines",
    "tfrecord",
]


def _source(name: str, **options: Any) -> Dataset:
    from levada._dataset import Dataset
    from levada._values import paths

    given = {key: value for key, value in options.items() if value is not None}
    for key in ("files", "pattern"):
        if key in given:
            given[key] = paths(given[key])
    return Dataset(_levada.append(name, given, ()))


def files(pattern: str | Iterable[str], *, shuffle: bool = False) -> Dataset:
    """Names of files.

    pattern: paths and patterns (* ? [a-z]); what a pattern finds is sorted
    shuffle: another order in each epoch

    As text: files:*.txt
    """
    return _source("files", pattern=pattern, shuffle=shuffle)


def fixed_length(
    files: str | Iterable[str],
    record_bytes: int | str,
    *,
    header_bytes: int | str = 0,
    footer_bytes: int | str = 0,
    hop_bytes: int | str = 0,
    drop_partial: bool = False,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
) -> Dataset:
    """Records of one length.

    files: paths and globs of the files
    record_bytes: length of a record
    header_bytes: bytes to skip at the start of every file
    footer_bytes: bytes to skip at the end of every file
    hop_bytes: from the start of a record to that of the next; 0 = record_bytes, less: they
        overlap, more: bytes are skipped
    drop_partial: drop an incomplete record at the end of a file; else it is an error
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: reads the files in another order in each epoch
    errors: at damage: fail, skip, skip:1000 or skip:0.1%; null = as the iterator

    As text: fixed_length:images.bin,record_bytes=4
    """
    return _source(
        "fixed_length",
        files=files,
        record_bytes=record_bytes,
        header_bytes=header_bytes,
        footer_bytes=footer_bytes,
        hop_bytes=hop_bytes,
        drop_partial=drop_partial,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
    )


def text_lines(
    files: str | Iterable[str],
    *,
    skip_lines: int = 0,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
) -> Dataset:
    """Lines of text files, without their ends.

    files: paths and globs of the files
    skip_lines: lines to skip at the start of every file
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: reads the files in another order in each epoch
    errors: at damage: fail, skip, skip:1000 or skip:0.1%; null = as the iterator

    As text: text_lines:lines.txt
    """
    return _source(
        "text_lines",
        files=files,
        skip_lines=skip_lines,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
    )


def tfrecord(
    files: str | Iterable[str],
    *,
    verify: bool = True,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
) -> Dataset:
    """Records of TFRecord files.

    files: paths and globs of the files
    verify: check the checksums of payloads; those of lengths are always checked
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: reads the files in another order in each epoch
    errors: at damage: fail, skip, skip:1000 or skip:0.1%; null = as the iterator

    As text: tfrecord:examples.tfrecord
    """
    return _source(
        "tfrecord",
        files=files,
        verify=verify,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
    )
