# SPDX-License-Identifier: Apache-2.0
import levada as lv

ds = (
    lv.tfrecord("corpus.tfrecord.gz")
    .shuffle(4096, seed=7)  # raw records are smaller than parsed ones: shuffle before parsing
    .parse_sequence_example(sequence={"tokens": lv.FixedLenSequenceFeature([], lv.int64)})
    .bucket_by_sequence_length("tokens", boundaries=[128, 256, 512, 1024, 2048], max_tokens=131_072)
    .prefetch(4)
)
tokens = cells = 0
for batch in ds:
    cells += batch["tokens"].size  # a NumPy array [B, T], padded with 0
    tokens += int(batch.lengths("tokens").sum())  # int32 [B]
print(f"Python: {tokens} tokens, {100 * (1 - tokens / cells):.1f} % padding")
