# SPDX-License-Identifier: Apache-2.0
"""P2: tf.data on SequenceExamples: the bucket operation, and windows sorted by size."""

from common import BATCH, SEQUENCE_BOUNDARIES, WINDOW, files, main, timed
from tf_common import drain, records, tf, tuned
from tf_example import by_size

CONTEXT = {"id": tf.io.FixedLenFeature([], tf.int64), "name": tf.io.FixedLenFeature([], tf.string)}
STEPS = {
    "tokens": tf.io.FixedLenSequenceFeature([], tf.int64),
    "feat": tf.io.FixedLenSequenceFeature([16], tf.float32),
}


def parse_one(record):
    context, steps = tf.io.parse_single_sequence_example(record, CONTEXT, STEPS)
    return {**context, **steps}


def parse_many(batch):
    context, steps, lengths = tf.io.parse_sequence_example(batch, CONTEXT, STEPS)
    return {**context, **steps, "lengths": lengths["tokens"]}


def recipe(folder, limit=None, threads=1, autotune=True):
    ds = records(files.path("s", folder), limit)
    ds = ds.map(parse_one, num_parallel_calls=threads if threads > 1 else None)
    ds = ds.bucket_by_sequence_length(
        lambda example: tf.shape(example["tokens"])[0],
        SEQUENCE_BOUNDARIES,
        [BATCH] * (len(SEQUENCE_BOUNDARIES) + 1),
    )
    ds = tuned(ds.prefetch(2) if threads > 1 else ds, autotune, threads)
    return timed(lambda: drain(ds, "id"))


def window(folder, limit=None, threads=1, autotune=False):
    parallel = threads if threads > 1 else None
    ds = records(files.path("s", folder), limit).batch(WINDOW).map(by_size)
    ds = ds.rebatch(BATCH).map(parse_many, num_parallel_calls=parallel)
    ds = tuned(ds.prefetch(2) if threads > 1 else ds, autotune, threads)
    return timed(lambda: drain(ds, "id"))


if __name__ == "__main__":
    main(globals())
