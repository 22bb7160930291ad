# SPDX-License-Identifier: Apache-2.0
"""Examples for tests of buckets, and checks of their batches."""

import numpy as np
from input_support import counter


def numbered(n, length=lambda i: i):
    """Examples as upstream's: a number, that many numbers, three strings and bools."""
    count = counter(n)

    def example():
        i = count()
        return [np.int32(i), np.arange(length(i), dtype=np.int64), np.array([b"s", b"t", b"u"])]

    return example


def drain(stream):
    """Every batch until the end."""
    return list(stream)


def rows_of(batches):
    return sorted(int(i) for _, outputs in batches for i in outputs[0])


LENGTHS = (1, 3, 4, 5, 6, 10)
BOUNDARIES = [3, 4, 5, 10]


def of_lengths(n=500):
    count = counter(n)

    def example():
        i = count()
        return {"i": i, "x": np.full(LENGTHS[i % 6], i, np.int32)}

    return example


def bucket_of(length):
    return sum(length >= boundary for boundary in BOUNDARIES)


def check_lengths(batches, most=8):
    for lengths, outputs in batches:
        assert lengths.dtype == np.int32 and lengths.shape == outputs["i"].shape
        assert 0 < len(lengths) <= most
        assert len({bucket_of(length) for length in lengths}) == 1
        assert outputs["x"].shape == (len(lengths), max(lengths))
        for i, length, row in zip(outputs["i"], lengths, outputs["x"], strict=True):
            assert length == LENGTHS[i % 6]
            assert np.array_equal(row, np.where(np.arange(len(row)) < length, i, 0))
