# SPDX-License-Identifier: Apache-2.0
"""P11: NumPy shuffles ten million indices, all at once."""

import numpy as np
from common import main, timed

COUNT = 10_000_000


def shuffled(folder):
    return timed(lambda: len(np.random.default_rng(1).permutation(COUNT)))


if __name__ == "__main__":
    main(globals())
