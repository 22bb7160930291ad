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
from lengths import BINS, BUDGET, LONGEST, padded, sequences  # noqa: E402


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
