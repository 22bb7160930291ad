# SPDX-License-Identifier: Apache-2.0
"""P9: what tf.data saves: shuffle(10,000), buckets, after 100 batches."""

import glob
import os
import tempfile
import time

from common import BATCH, BOUNDARIES, files, main
from tf_common import records, tf
from tf_example import dense_one


def shuffled(folder):
    ds = records(files.path("a", folder)).shuffle(10_000, seed=7).map(dense_one)
    return ds.bucket_by_sequence_length(
        lambda example: tf.shape(example["tokens"])[0],
        BOUNDARIES,
        [BATCH] * (len(BOUNDARIES) + 1),
    )


def checkpoint(folder, batches=100):
    """`size` saved, `seconds` to save, `restore_seconds` until the next batch after a restore."""
    iterator = iter(shuffled(folder))
    for _ in range(batches):
        next(iterator)
    with tempfile.TemporaryDirectory() as temporary:
        prefix = os.path.join(temporary, "state")
        saver = tf.train.Checkpoint(iterator=iterator)
        begin = time.perf_counter()
        written = saver.write(prefix)
        seconds = time.perf_counter() - begin
        size = sum(os.path.getsize(part) for part in glob.glob(prefix + "*"))
        fresh = iter(shuffled(folder))
        begin = time.perf_counter()
        tf.train.Checkpoint(iterator=fresh).read(written)
        next(fresh)
        restored = time.perf_counter() - begin
    return {"n": 1, "seconds": seconds, "size": size, "restore_seconds": restored}


if __name__ == "__main__":
    main(globals())
