# SPDX-License-Identifier: Apache-2.0
"""Rows of an array in random order."""

import numpy as np
from common import main, timed
from door_files import BATCH, COUNT


def array(folder):
    n = 8 * COUNT
    rows, order = (
        np.arange(n * 64, dtype=np.int32).reshape(-1, 64), np.random.default_rng(0).permutation(n)
    )  # fmt: skip
    blocks = [order[at : at + BATCH] for at in range(0, n, BATCH)]
    return timed(lambda: sum(len(rows[block]) for block in blocks))


if __name__ == "__main__":
    main(globals())
