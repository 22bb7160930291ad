# SPDX-License-Identifier: Apache-2.0
"""Saved positions in the form of older versions."""

import zlib


def dropping(state: bytes, records: int) -> bytes:
    """A state, and the number of records to drop after it."""
    body = records.to_bytes(8, "little") + state
    return b"LVDROWS1" + zlib.crc32(body).to_bytes(4, "little") + body
