# SPDX-License-Identifier: Apache-2.0
"""P1 and P3: tf.data on Examples: buckets of sequences, and columns of scalars."""

from common import BATCH, BOUNDARIES, WINDOW, files, main, timed
from tf_common import drain, records, tf, tuned

SEQUENCE = {
    "tokens": tf.io.VarLenFeature(tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
RAGGED = {
    "tokens": tf.io.RaggedFeature(tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
SCALARS = {
    f"f{k:02d}": tf.io.FixedLenFeature([], tf.float32 if k % 2 else tf.int64) for k in range(40)
}


def dense_one(record):
    parsed = tf.io.parse_single_example(record, SEQUENCE)
    parsed["tokens"] = tf.sparse.to_dense(parsed["tokens"])
    return parsed


def dense_many(batch):
    parsed = tf.io.parse_example(batch, SEQUENCE)
    parsed["tokens"] = tf.sparse.to_dense(parsed["tokens"])
    return parsed


def ragged_many(batch):
    parsed = tf.io.parse_example(batch, RAGGED)
    parsed["tokens"] = parsed["tokens"].to_tensor()
    return parsed


def by_size(window):
    return tf.gather(window, tf.argsort(tf.strings.length(window)))


def recipe_dataset(folder, limit=None, threads=1):
    """What the documentation shows: parse one by one, then the bucket operation."""
    ds = records(files.path("a", folder), limit)
    ds = ds.map(dense_one, num_parallel_calls=threads if threads > 1 else None)
    return ds.bucket_by_sequence_length(
        lambda example: tf.shape(example["tokens"])[0],
        BOUNDARIES,
        [BATCH] * (len(BOUNDARIES) + 1),
    )


def recipe(folder, limit=None, threads=1, autotune=True):
    ds = tuned(recipe_dataset(folder, limit, threads), autotune, threads)
    return timed(lambda: drain(ds.prefetch(2) if threads > 1 else ds, "label"))


def window(folder, limit=None, threads=1, autotune=False, ragged=False):
    """The fastest form found: sort windows of serialized strings, then parse batches."""
    parallel = threads if threads > 1 else None
    ds = records(files.path("a", folder), limit).batch(WINDOW).map(by_size)
    ds = ds.rebatch(BATCH).map(ragged_many if ragged else dense_many, num_parallel_calls=parallel)
    ds = tuned(ds.prefetch(2) if threads > 1 else ds, autotune, threads)
    return timed(lambda: drain(ds, "label"))


def columns(folder, limit=None, threads=1, autotune=False):
    """B in batches of 256."""
    parallel = threads if threads > 1 else None
    ds = records(files.path("b", folder), limit).batch(256)
    ds = ds.map(lambda batch: tf.io.parse_example(batch, SCALARS), num_parallel_calls=parallel)
    ds = tuned(ds.prefetch(2) if threads > 1 else ds, autotune, threads)
    return timed(lambda: drain(ds, "f00"))


if __name__ == "__main__":
    main(globals())
