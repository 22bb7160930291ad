# SPDX-License-Identifier: Apache-2.0
"""CRC-32C of many records at once, in NumPy.

Records are cut into chunks of equal size, right-aligned: a reflected CRC with a zero state ignores
leading zero bytes, so the padding before a record changes nothing. The initial value is XORed
into the record's first four bytes. All chunks then advance together, eight bytes a step.
"""

import numpy as np

POLYNOMIAL = np.uint32(0x82F63B78)
LANES = 4096  # chunks that advance together: their state and one column stay in the cache


def _byte_tables():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ POLYNOMIAL, table >> 1).astype(np.uint32)
    tables = [table]
    for _ in range(7):
        last = tables[-1]
        tables.append(table[last & 0xFF] ^ (last >> 8))
    return tables


def _pair_tables():
    """Four tables of 65,536: what two neighbouring bytes of an eight-byte word add to the state."""
    by_distance = _byte_tables()
    pair = np.arange(65536)
    return [
        by_distance[7 - 2 * k][pair & 0xFF] ^ by_distance[6 - 2 * k][pair >> 8] for k in range(4)
    ]


PAIRS = _pair_tables()


def _advance(words):
    """The states after the eight-byte words (with the old states already XORed in)."""
    pairs = words.view(np.uint16).reshape(-1, 4)
    state = PAIRS[0].take(pairs[:, 0])
    for k in range(1, 4):
        state ^= PAIRS[k].take(pairs[:, k])
    return state


def _chunk_states(words):
    """Raw CRC (zero state) of each row of a [chunks, words] matrix."""
    out = np.empty(len(words), np.uint32)
    for at in range(0, len(words), LANES):
        columns = np.ascontiguousarray(words[at : at + LANES].T)
        state = np.zeros(columns.shape[1], np.uint32)
        for column in columns:
            state = _advance(column ^ state)
        out[at : at + LANES] = state
    return out


def _shift_tables(size):
    """Four tables of 256: a state followed by `size` zero bytes."""
    basis = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    for _ in range(size // 8):
        basis = _advance(basis.astype(np.uint64))
    byte = np.arange(256)
    tables = []
    for k in range(4):
        table = np.zeros(256, np.uint32)
        for bit in range(8):
            table ^= np.where(byte >> bit & 1, basis[8 * k + bit], np.uint32(0))
        tables.append(table)
    return tables


def _shifted(state, tables):
    out = tables[0][state & 0xFF]
    for k in range(1, 4):
        out ^= tables[k][state >> (8 * k) & 0xFF]
    return out


def gaps(starts, lengths, total):
    """A mask of `total` bytes: False in the `lengths` bytes from each of `starts`, else True."""
    edge = np.zeros(total + 1, np.int8)
    some = lengths > 0
    edge[starts[some]] += 1
    edge[(starts + lengths)[some]] -= 1
    return np.cumsum(edge[:-1], dtype=np.int8) == 0


def crc32c(flat, lengths):
    """CRC-32C of each record of `flat` (uint8, records one after another), as uint32."""
    lengths = np.asarray(lengths, np.int64)
    if len(lengths) == 0:
        return np.zeros(0, np.uint32)
    if lengths.min() < 4:
        raise ValueError("records below 4 bytes are not supported")
    size = 8 if lengths.max() <= 8 else 64 if lengths.mean() < 256 else 512
    chunks = -(-lengths // size)
    first = np.cumsum(chunks) - chunks
    pad = chunks * size - lengths
    total = int(chunks.sum()) * size
    padded = np.zeros(total, np.uint8)
    padded[gaps(first * size, pad, total)] = flat
    padded[(first * size + pad)[:, None] + np.arange(4)] ^= np.uint8(0xFF)
    states = _chunk_states(padded.view(np.uint64).reshape(-1, size // 8))
    tables = _shift_tables(size)
    out = states[first]
    for k in range(1, int(chunks.max())):
        rows = np.flatnonzero(chunks > k)
        out[rows] = _shifted(out[rows], tables) ^ states[first[rows] + k]
    return ~out


def masked(crc):
    """The form in which TFRecord stores a checksum."""
    return ((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)
