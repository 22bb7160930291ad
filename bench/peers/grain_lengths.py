# SPDX-License-Identifier: Apache-2.0
"""Grain: sequences in memory packed by first-fit and best-fit; its shuffled indices."""

import grain
from common import main, timed
from grain import experimental
from lengths import BINS, LONGEST, lengths, padded, sequences

# Its threads for reading slow it down on one core.
INLINE = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
KINDS = {
    "first": experimental.FirstFitPackIterDataset,
    "best": experimental.BestFitPackIterDataset,
}


def packed(folder, kind="first", limit=20_000):
    """Slow: not all sequences are taken."""
    records = grain.MapDataset.source([{"tokens": tokens} for tokens in sequences()[:limit]])
    ds = KINDS[kind](
        records.to_iter_dataset(INLINE), length_struct={"tokens": LONGEST}, num_packing_bins=BINS,
        shuffle_bins=False,
    )  # fmt: skip

    def batches():
        for bins in ds:
            yield int(bins["tokens_segment_ids"].max()), bins["tokens"].size

    return padded(batches, lengths()[:limit])


def shuffled(folder, limit=200_000, of=10_000_000):
    """Indices one by one, as its shuffle asks for them."""
    index = experimental.index_shuffle

    def count():
        for i in range(limit):
            index(i, of - 1, 1, 4)
        return limit

    return timed(count)


if __name__ == "__main__":
    main(globals())
