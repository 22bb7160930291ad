# SPDX-License-Identifier: Apache-2.0
import levada as lv

ds = (
    lv.tfrecord("train-*.tfrecord.gz")
    .shuffle(10_000, seed=7)
    .parse_example({"tokens": lv.VarLenFeature(lv.int64)})
    .bucket_by_sequence_length("tokens", boundaries=[64, 128, 256, 512], max_tokens=16_384)
    .prefetch(4)
)
tokens = cells = 0
for batch in ds:
    cells += batch["tokens"].size  # a NumPy array [B, T], padded with 0
    tokens += int(batch.lengths("tokens").sum())  # int32 [B]
print(f"Python: {tokens} tokens in {cells} cells")
