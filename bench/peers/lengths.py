# SPDX-License-Identifier: Apache-2.0
"""Sequences in memory for the rows on padding: the same lengths for everybody.

Every measure returns `padding` as well: the share of the steps of its batches that are padding.
"""

import functools
import itertools

import numpy as np
from common import timed

COUNT = 60_000
LONGEST = 2048
BUDGET = 16_384  # steps of a padded batch
BINS = 64
# Optimal for these lengths, at most 16.
BOUNDARIES = [
    62, 95, 125, 155, 187, 222, 261, 305, 356, 417, 492, 589, 724, 930, 1304, LONGEST + 1,
]  # fmt: skip


@functools.cache
def lengths(count=COUNT):
    """Those of documents: lognormal, at most LONGEST."""
    drawn = np.random.default_rng(26).lognormal(5.2, 0.8, count)
    return np.clip(drawn, 1, LONGEST).astype(np.int64)


@functools.cache
def sequences(count=COUNT):
    """An int32 array for each."""
    ends = np.cumsum(lengths(count))
    tokens = np.random.default_rng(27).integers(0, 50_000, ends[-1], np.int32)
    return [tokens[a:b] for a, b in itertools.pairwise([0, *ends.tolist()])]


def padded(batches, of=None):
    """Takes (records, steps with padding) of each batch; every sequence must be in one of them."""
    of = lengths() if of is None else of
    sizes = []

    def drain():
        records = steps = 0
        for n, size in batches():
            records += n
            steps += size
        sizes.append(steps)
        return records

    result = timed(drain)
    if result["n"] != len(of):
        raise AssertionError(f"{result['n']} records of {len(of)}")
    return {**result, "padding": 1 - int(of.sum()) / sizes[-1]}
