# SPDX-License-Identifier: Apache-2.0
"""examples/ranking.py with tf.data."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from ranking import EVERY, FEATURES, learn, write_queries

BOUNDARIES = [8, 16, 24, 32, 40, 48, 56]


def parse(record):
    context, sequences = tf.io.parse_single_sequence_example(
        record,
        {"clicked": tf.io.FixedLenFeature([], tf.int64)},
        {"items": tf.io.FixedLenSequenceFeature([FEATURES], tf.float32)},
    )
    return sequences["items"], tf.shape(sequences["items"])[0], context["clicked"]


def batches(path):
    return (
        tf.data.TFRecordDataset(str(path))
        .shuffle(10_000, seed=1)
        .repeat()
        .map(parse)
        .bucket_by_sequence_length(
            lambda items, length, clicked: length,
            bucket_boundaries=BOUNDARIES,
            bucket_batch_sizes=[2048 // bound for bound in [*BOUNDARIES, 64]],
        )
    )


def main(folder, steps):
    if not (folder / "queries.tfrecord").exists():
        write_queries(folder / "queries.tfrecord")
    it = iter(batches(folder / "queries.tfrecord"))
    weights, step = tf.Variable(np.zeros(FEATURES)), tf.Variable(0)
    checkpoint = tf.train.Checkpoint(weights=weights, step=step, data=it)
    manager = tf.train.CheckpointManager(checkpoint, str(folder / "peer"), max_to_keep=1)
    checkpoint.restore(manager.latest_checkpoint)
    while step < steps:
        items, length, clicked = (value.numpy() for value in next(it))
        real = np.arange(items.shape[1]) < length[:, None]
        values = weights.numpy()
        loss = learn(values, items, real, clicked)
        weights.assign(values)
        step.assign_add(1)
        print(f"step {int(step)} loss {loss:.6f}", flush=True)
        if int(step) % EVERY == 0:
            manager.save()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
