# SPDX-License-Identifier: Apache-2.0
"""What Python writes before a position: eight letters, CRC32 u32 of all that follows, the body."""

import zlib

from levada.errors import DataLossError


def prefixed(letters, body):
    """The letters, the checksum, the body."""
    return letters + zlib.crc32(body).to_bytes(4, "little") + body


def body_of(letters, state):
    """The body; None if the state begins with other letters. Raises DataLossError."""
    if not state.startswith(letters):
        return None
    body = state[len(letters) + 4 :]
    if prefixed(letters, body) != state:
        raise DataLossError("the checkpoint is corrupt: wrong checksum; use an earlier one")
    return body
