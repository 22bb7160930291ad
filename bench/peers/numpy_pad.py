# SPDX-License-Identifier: Apache-2.0
"""Row 19: 64 ragged rows to a padded int64 array, with NumPy and with Python lists."""

import itertools

import numpy as np
from common import BATCH, main, timed

BATCHES = 200
REPEATS = 4


def ragged(count=BATCHES):
    """The same `count` batches of ragged rows for everybody: (values, offsets) pairs, 25 MB."""
    rng = np.random.default_rng(19)
    out = []
    for _ in range(count):
        lengths = np.clip(rng.lognormal(5.2, 0.8, BATCH), 1, 2048).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        out.append((rng.integers(0, 50_000, offsets[-1]), offsets))
    return out


def over_batches(make, pad, limit, repeats):
    """Bytes of padded output a second are n / seconds: n counts output bytes."""
    batches = [make(values, offsets) for values, offsets in ragged(limit or BATCHES)]
    for batch in batches[:20]:
        pad(batch)

    def count():
        n = 0
        for _ in range(repeats):
            for batch in batches:
                n += pad(batch).nbytes
        return n

    return timed(count)


def rows_of(values, offsets):
    return [values[a:b] for a, b in itertools.pairwise(offsets)]


def row_loop(folder, limit=None, repeats=REPEATS):
    def pad(rows):
        out = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for k, row in enumerate(rows):
            out[k, : len(row)] = row
        return out

    return over_batches(rows_of, pad, limit, repeats)


def lists(folder, limit=None, repeats=1):
    def pad(rows):
        width = max(map(len, rows))
        return np.array([row + [0] * (width - len(row)) for row in rows], np.int64)

    def make(values, offsets):
        return [row.tolist() for row in rows_of(values, offsets)]

    return over_batches(make, pad, limit or 40, repeats)


if __name__ == "__main__":
    main(globals())
