# SPDX-License-Identifier: Apache-2.0
"""P1 with Grain: records of the file, Python protobuf, and buckets of our own; it has none."""

import grain
from common import BOUNDARIES, files, main, timed
from python_proto import Example, bucketed, np, pad
from python_scan import frames

# Its threads for reading slow it down on one core.
INLINE = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)


def parsed(record):
    feature = Example.FromString(record).features.feature
    tokens = np.array(feature["tokens"].int64_list.value, np.int64)
    return tokens, feature["label"].int64_list.value[0]


def buckets(folder, limit=50_000):
    def count():
        found = [bytes(payload) for payload, _ in frames(files.path("a", folder), limit)]
        examples = grain.MapDataset.source(found).map(parsed).to_iter_dataset(INLINE)
        n = 0
        for batch in bucketed(iter(examples), BOUNDARIES):
            n += len(pad([item[0] for item in batch]))
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
