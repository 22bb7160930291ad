# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: several saved states in one file, written whole or not at all.

The file: "LVDACKPT", version u32, CRC32 u32 of what follows, then for each part the sizes of name
and bytes (u32, u64), the name in UTF-8 and the bytes; little endian.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from typing import Any

from levada import _levada
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)

_MAGIC = b"LVDACKPT"
_VERSION = 1


def _bytes_of(name, part):
    if hasattr(part, "save"):
        part = part.save()
    if not isinstance(part, (bytes, bytearray, memoryview)):
        raise TypeError(f"part {name!r} must be bytes or have save(), got {type(part).__name__}")
    return bytes(part)


def save_checkpoint(path: str | os.PathLike[str], **parts: Any) -> None:
    """Writes several parts to a checkpoint file, atomically.

    The file appears complete or not at all, even if the machine stops during the call, or other
    threads and processes save to the same path. It keeps the permissions of the file that it
    replaces. A symbolic link is an error.

    Args:
        path (str): the file.
        parts (bytes | object): name=bytes, or name=object with ``save() -> bytes``
            (iterators, readers).

    Example:
        it = iter(lv.range(9))
        lv.save_checkpoint("run.ckpt", data=it, model=b"weights")
    """
    body = bytearray()
    for name, part in parts.items():
        data, encoded = _bytes_of(name, part), name.encode()
        body += struct.pack("<IQ", len(encoded), len(data)) + encoded + data
    head = _MAGIC + struct.pack("<II", _VERSION, zlib.crc32(body))
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidArgumentError("a checkpoint must be a regular file", file=path)
    _levada.save_file(path, head + body)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """Reads a file of ``save_checkpoint``.

    Args:
        path (str): the file.

    Returns:
        A dict {name: bytes}.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: the file is corrupt or truncated.
        FailedPreconditionError: a later version wrote the file.

    Example:
        lv.save_checkpoint("run.ckpt", data=iter(lv.range(9)))
        print(list(lv.load_checkpoint("run.ckpt")))
    """
    path = os.fsdecode(path)
    data = _read(path)
    if len(data) < 16 or data[:8] != _MAGIC:
        raise DataLossError("not a checkpoint of save_checkpoint()", file=path)
    version, checksum = struct.unpack_from("<II", data, 8)
    if not 1 <= version <= _VERSION:
        raise FailedPreconditionError(
            f"the checkpoint has version {version}, this levada reads versions up to {_VERSION}: "
            "use a newer levada",
            file=path,
        )
    if zlib.crc32(data[16:]) != checksum:
        raise DataLossError(
            "the checkpoint is corrupt: wrong checksum; use an earlier one", file=path
        )
    parts, at = {}, 16
    while at < len(data):
        name, part, at = _part(data, at, path)
        if name in parts:
            raise DataLossError(f"the checkpoint has the part {name!r} twice", file=path)
        parts[name] = part
    return parts


def _open(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe would wait for its other end


def _read(path):
    try:
        with open(path, "rb", opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidArgumentError("a checkpoint must be a regular file", file=path)
            return file.read()
    except FileNotFoundError:
        raise NotFoundError("the checkpoint does not exist", file=path) from None
    except IsADirectoryError:
        raise InvalidArgumentError(
            "a checkpoint must be a regular file, got a directory", file=path
        ) from None
    except PermissionError:
        raise PermissionDeniedError("no permission to read the checkpoint", file=path) from None
    except OSError as error:
        raise UnavailableError(f"cannot read the checkpoint: {error}", file=path) from error


def _part(data, at, path):
    """(name, bytes, position after it) of the part at a position; its sizes may be made up."""
    if len(data) - at < 12:
        raise DataLossError(f"the checkpoint ends inside a part, at byte {at}", file=path)
    name_size, size = struct.unpack_from("<IQ", data, at)
    start = at + 12 + name_size
    if start + size > len(data):
        raise DataLossError(f"the part at byte {at} is longer than the checkpoint", file=path)
    try:
        name = data[at + 12 : start].decode()
    except UnicodeDecodeError:
        raise DataLossError(f"the name of the part at byte {at} is not UTF-8", file=path) from None
    return name, data[start : start + size], start + size
