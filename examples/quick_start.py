# SPDX-License-Identifier: Apache-2.0
"""Batches of sequences of about equal length, from a TFRecord of SequenceExamples."""

import sys

import levada as lv

path = sys.argv[1] if len(sys.argv) > 1 else "corpus.tfrecord.gz"
ds = (
    lv.tfrecord(path)
    .shuffle(4096, seed=7)  # raw records are smaller than parsed ones: shuffle before parsing
    .parse_sequence_example(sequence={"tokens": lv.FixedLenSequenceFeature([], lv.int64)})
    .bucket_by_sequence_length("tokens", boundaries=[128, 256, 512, 1024, 2048], max_tokens=131_072)
    .prefetch(4)
)
batches = tokens = cells = 0
for batch in ds:
    batches += 1
    cells += batch["tokens"].size  # a NumPy array [B, T], padded with 0
    tokens += int(batch.lengths("tokens").sum())  # int32 [B]
print(f"Python: {batches} batches, {tokens} tokens, {100 * (1 - tokens / cells):.1f} % padding")
