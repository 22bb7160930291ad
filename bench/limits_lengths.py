# SPDX-License-Identifier: Apache-2.0
"""Limits of the rows on padding: what sorting, packing and boundaries can do at best."""

import functools
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import main, timed  # noqa: E402
from lengths import BUDGET, LONGEST, lengths, sequences  # noqa: E402


def padding_of(boundaries):
    """Of all lengths, padded to the boundary of their bucket less one; the last to the longest."""
    found, bounds = lengths(), np.asarray(boundaries)
    steps = np.append(bounds - 1, found.max())[np.searchsorted(bounds, found, "right")]
    return 1 - int(found.sum()) / int(steps.sum())


def equal_width(folder, buckets):
    return {"padding": padding_of(np.arange(1, buckets) * LONGEST // buckets)}


@functools.cache
def _least_steps(buckets):
    """The least steps of `buckets` buckets: every boundary is tried, O(buckets * longest^2)."""
    below = np.concatenate([[0], np.cumsum(np.bincount(lengths(), minlength=LONGEST + 1)[1:])])
    ends = np.arange(LONGEST + 1)
    cost = ends * (below - below[:, None])  # [begin, end]: lengths in (begin, end] padded to end
    cost = np.where(ends[:, None] <= ends, cost, np.iinfo(np.int64).max // 2)
    steps = cost[0]
    for _ in range(buckets - 1):
        steps = (steps[:, None] + cost).min(axis=0)
    return int(steps[-1])


def best_boundaries(folder, buckets):
    return {"padding": 1 - int(lengths().sum()) / _least_steps(buckets)}


def passes(folder, buckets, repeats=50):
    """A pass over the histogram for each bucket: a sum, a product and a minimum."""
    counts = np.bincount(lengths())
    ends = np.arange(len(counts))

    def count():
        for _ in range(repeats):
            for _ in range(buckets):
                np.minimum(np.cumsum(counts) * ends, ends).max()
        return repeats

    return timed(count)


@functools.cache
def _sorted_padding():
    longest = steps = rows = 0
    for length in np.sort(lengths())[::-1].tolist():
        if rows == 0 or (rows + 1) * longest > BUDGET:
            longest, rows = length, 0
        rows += 1
        steps += longest
    return 1 - int(lengths().sum()) / steps


def all_sorted(folder):
    """Batches within the budget of all sequences, sorted: no window, no order left."""
    return {"padding": _sorted_padding()}


@functools.cache
def _packed_padding():
    left, spaces, bins = [0] * (LONGEST + 1), 0, 0  # bins by the space they have; those with any
    for length in np.sort(lengths())[::-1].tolist():
        fits = spaces >> length
        if fits:
            space = length + (fits & -fits).bit_length() - 1
            left[space] -= 1
            spaces ^= (left[space] == 0) << space
        else:
            space, bins = LONGEST, bins + 1
        left[space - length] += 1
        spaces |= 1 << (space - length)
    return 1 - int(lengths().sum()) / (bins * LONGEST)


def best_packed(folder):
    """Best-fit of all sequences, the longest first: every bin is open, no order left."""
    return {"padding": _packed_padding()}


def copied(folder, turns=4):
    """The steps of all sequences, copied twice: into a batch, and into its padded form."""
    tokens = np.concatenate(sequences())
    gathered, padded = np.empty(BUDGET, tokens.dtype), np.empty(BUDGET, tokens.dtype)

    def count():
        for _ in range(turns):
            for at in range(0, len(tokens), BUDGET):
                part = tokens[at : at + BUDGET]
                gathered[: len(part)] = part
                padded[:] = gathered
        return turns * len(lengths())

    return timed(count)


if __name__ == "__main__":
    main(globals())
