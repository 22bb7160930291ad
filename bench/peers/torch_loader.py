# SPDX-License-Identifier: Apache-2.0
"""P1 with torch's DataLoader (no workers: the fastest setting), upb and buckets of our own."""

import torch
from common import BOUNDARIES, main, timed
from python_proto import bucketed, examples_of_a, pad
from torch.utils.data import DataLoader, IterableDataset


class Buckets(IterableDataset):
    def __init__(self, folder, limit):
        self.folder, self.limit = folder, limit

    def __iter__(self):
        for batch in bucketed(examples_of_a(self.folder, self.limit), BOUNDARIES):
            yield (
                torch.from_numpy(pad([item[0] for item in batch])),
                torch.tensor([item[1] for item in batch]),
            )


def loader(folder, limit=None, workers=0):
    def count():
        n = 0
        for tokens, _ in DataLoader(Buckets(folder, limit), batch_size=None, num_workers=workers):
            n += len(tokens)
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
