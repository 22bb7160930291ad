# SPDX-License-Identifier: Apache-2.0
"""Rows 26 and 27 and those on padding: our side, on the sequences of bench/peers/lengths.py."""

import functools
import os
import sys

import levada as lv
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import main, timed  # noqa: E402
from lengths import BINS, BUDGET, LONGEST, lengths, padded, sequences  # noqa: E402


@functools.cache
def records():
    return lv.from_arrays({"tokens": sequences()}).with_options(threads=1)


def drained(ds, count_of=lambda batch: batch.num_records):
    def batches():
        with iter(ds) as batches:
            for batch in batches:
                yield count_of(batch), batch["tokens"].size

    return padded(batches)


def lookahead(folder, window):
    return drained(
        records().bucket_by_sequence_length("tokens", max_tokens=BUDGET, lookahead=window)
    )


def buckets(folder):
    """No boundaries: they are chosen while data flows."""
    return drained(records().bucket_by_sequence_length("tokens", max_tokens=BUDGET))


def packed(folder):
    """Best-fit into bins of LONGEST, then batches of as many bins as a budget holds."""
    ds = records().pack(LONGEST, open_bins=BINS).padded_batch(BUDGET // LONGEST)
    return drained(ds, lambda batch: np.count_nonzero(batch["tokens_segment_lengths"]))


def counted(ds):
    """Takes all batches of a dataset, as rows without a budget are."""

    def count():
        with iter(ds) as batches:
            return sum(batch.num_records for batch in batches)

    return timed(count)


def numbers(count=1_000_000):
    return lv.from_arrays({"n": lengths(count)}).with_options(threads=1)


def grouped(size):
    options = {"boundaries": [64, 128, 256, 512], "batch_sizes": size}
    return numbers().bucket_by_sequence_length("n", **options)


def grouping(folder, size=256):
    """What buckets add to batches of the same number of records: `more` seconds for each record."""
    plain, result = counted(numbers().batch(size)), counted(grouped(size))
    return {**result, "more": (result["cpu"] - plain["cpu"]) / result["n"]}


def small_batches(folder, size=4):
    """Batches so small that what each one takes in Python is most of the time."""
    result = counted(grouped(size))
    return {**result, "batch": result["cpu"] / result["n"] * size}


def chosen(folder, buckets, repeats=20):
    """Boundaries of a histogram: the time of one choice, and the padding of these lengths."""
    import limits_lengths

    histogram = lv.length_histogram(records(), "tokens")
    choose = functools.partial(lv.optimal_boundaries, histogram, buckets)

    def count():
        for _ in range(repeats):
            choose()
        return repeats

    return {**timed(count), "padding": limits_lengths.padding_of(choose())}


if __name__ == "__main__":
    main(globals())
