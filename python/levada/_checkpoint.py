# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: several saved states in one file, written whole or not at all.

The file: "LVDACKPT", version u32, CRC32 u32 of what follows, then for each part the sizes of name
and bytes (u32, u64), the name in UTF-8 and the bytes; little endian.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)

_MAGIC = b"LVDACKPT"
_VERSION = 1


def _bytes_of(name, part):
    if hasattr(part, "save"):
        part = part.save()
    if not isinstance(part, (bytes, bytearray, memoryview)):
        raise TypeError(f"part {name!r} is neither bytes nor has it save(): {type(part).__name__}")
    return bytes(part)


def save_checkpoint(path: str | os.PathLike[str], **parts: Any) -> None:
    """Writes parts (bytes, or anything with ``save() -> bytes``: iterators, readers) to one file.

    The file appears complete or not at all, also when the machine stops in between.
    """
    body = bytearray()
    for name, part in parts.items():
        data, encoded = _bytes_of(name, part), name.encode()
        body += struct.pack("<IQ", len(encoded), len(data)) + encoded + data
    head = _MAGIC + struct.pack("<II", _VERSION, zlib.crc32(body))
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):  # it would be replaced
        raise InvalidArgumentError("a checkpoint is a file", file=path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(head + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except FileNotFoundError:
        raise NotFoundError("its folder does not exist", file=path) from None
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(path) or ".")


def _sync_folder(path):
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """{name: bytes} of a file of ``save_checkpoint``.

    Raises NotFoundError, DataLossError (damaged or cut off) or FailedPreconditionError (written by
    a later version).
    """
    path = os.fsdecode(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise NotFoundError("no such checkpoint", file=path) from None
    except IsADirectoryError:
        raise InvalidArgumentError("a checkpoint is a file", file=path) from None
    if len(data) < 16 or data[:8] != _MAGIC:
        raise DataLossError("not a checkpoint", file=path)
    version, checksum = struct.unpack_from("<II", data, 8)
    if not 1 <= version <= _VERSION:
        raise FailedPreconditionError(f"checkpoint of version {version}, this is {_VERSION}")
    if zlib.crc32(data[16:]) != checksum:
        raise DataLossError("the checksum of the checkpoint does not fit", file=path)
    parts, at = {}, 16
    while at < len(data):
        name_size, size = struct.unpack_from("<IQ", data, at)
        at += 12
        name = data[at : at + name_size].decode()
        at += name_size
        parts[name] = data[at : at + size]
        at += size
    return parts
