# SPDX-License-Identifier: Apache-2.0
"""Lhotse: the batches of DynamicBucketingSampler. It samples: nothing is padded or copied."""

from common import main
from lengths import BUDGET, padded, sequences
from lhotse.cut.text import TextExample
from lhotse.dataset.sampling.base import TokenConstraint
from lhotse.dataset.sampling.dynamic_bucketing import DynamicBucketingSampler


def lookahead(folder, window, buckets=16):
    examples = [TextExample("", tokens) for tokens in sequences()]

    def batches():
        sampler = DynamicBucketingSampler(
            examples, constraint=TokenConstraint(max_tokens=BUDGET), num_buckets=buckets,
            buffer_size=window, num_cuts_for_bins_estimate=window,
        )  # fmt: skip
        for batch in sampler:
            yield len(batch), len(batch) * max(one.num_tokens for one in batch)

    return padded(batches)


if __name__ == "__main__":
    main(globals())
