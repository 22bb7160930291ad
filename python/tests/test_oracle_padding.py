# SPDX-License-Identifier: Apache-2.0
"""Padded batches and buckets of random records are those of tf.data."""

import importlib.util
import os
import random

import levada as lv
import numpy as np
import padding_model as model
import pytest

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
    ),
]


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow")


def theirs(tf, records):
    steps = records[0]["x"].shape[1:]
    return tf.data.Dataset.from_generator(
        lambda: ({"i": r["i"], "x": r["x"]} for r in records),
        output_signature={
            "i": tf.TensorSpec([], tf.int64), "x": tf.TensorSpec([None, *steps], tf.float32)
        },
    )  # fmt: skip


def expect(ours, want):
    for batch, other in zip(ours, want.as_numpy_iterator(), strict=True):
        assert batch["i"].tolist() == other["i"].tolist()
        np.testing.assert_array_equal(batch["x"], other["x"])


def test_padded_batches(tf, length):
    for seed in range(40 * length):
        draw = random.Random(seed)
        records = model.draw_records(draw, draw.randrange(1, 50))
        size, drop = draw.randrange(1, 9), draw.random() < 0.3
        want = theirs(tf, records).padded_batch(size, drop_remainder=drop)
        ours = lv.from_records(records).select("i", "x").padded_batch(size, drop_remainder=drop)
        expect(ours, want)


def test_buckets(tf, length):
    for seed in range(80 * length):
        records, boundaries, sizes, to_boundary, drop = model.draw_buckets(seed)
        options = {"pad_to_bucket_boundary": to_boundary, "drop_remainder": drop}
        want = theirs(tf, records).bucket_by_sequence_length(
            lambda record: tf.shape(record["x"])[0], boundaries, sizes, **options
        )
        ours = lv.from_records(records).select("i", "x")
        expect(
            ours.bucket_by_sequence_length(
                "x", boundaries=boundaries, batch_sizes=sizes, **options
            ),
            want,
        )
