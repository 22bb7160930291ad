# SPDX-License-Identifier: Apache-2.0
"""P11: torch shuffles ten million indices, all at once."""

import torch
from common import main, timed

COUNT = 10_000_000


def shuffled(folder):
    return timed(lambda: len(torch.randperm(COUNT)))


if __name__ == "__main__":
    main(globals())
