# SPDX-License-Identifier: Apache-2.0
"""The same answers as TensorFlow itself: `make test-oracle` installs it and runs these."""

import gzip
import importlib.util
import os
import random
import zlib

import levada as lv
import numpy as np
import pytest

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
    ),
]
CODECS = [(None, ""), ("gzip", "GZIP"), ("zlib", "ZLIB")]
BOUNDARIES = [4, 8, 15]
SIZES = [5, 3, 4, 2]


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow")


def messages(n, seed=1):
    """Examples with lists of 0 to 20 numbers, and scalars that may be missing."""
    draw = random.Random(seed)
    for i in range(n):
        tokens = [draw.randrange(-(2**40), 2**40) for _ in range(draw.randrange(21))]
        features = {"id": i, "tokens": tokens, "weights": [draw.random() for _ in tokens]}
        features["words"] = [b"%d" % token for token in tokens[:3]]
        if i % 3:
            features["maybe"] = float(i)
        yield lv.make_example(features)


@pytest.fixture(scope="module")
def records():
    return list(messages(200))


@pytest.fixture(scope="module")
def path(records, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("oracle") / "a.tfrecord")
    with lv.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.mark.parametrize(("ours", "theirs"), CODECS)
def test_it_reads_our_files(tf, records, tmp_path, ours, theirs):
    path = str(tmp_path / "a.tfrecord")
    with lv.TFRecordWriter(path, ours) as writer:
        for record in records:
            writer.write(record)
    read = tf.data.TFRecordDataset(path, compression_type=theirs).as_numpy_iterator()
    assert list(read) == records


@pytest.mark.parametrize(("ours", "theirs"), CODECS)
def test_we_read_its_files(tf, records, tmp_path, ours, theirs):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path, theirs) as writer:
        for record in records:
            writer.write(record)
    assert [r["record"] for r in lv.tfrecord(path)] == records
    assert [r["record"] for r in lv.tfrecord(path, compression=ours or "none")] == records


@pytest.mark.parametrize(("ours", "theirs"), CODECS)
def test_records_of_one_length_are_the_same(tf, tmp_path, ours, theirs):
    body = bytes(range(60))
    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[theirs]
    for record in (1, 3, 4, 7, 60, 61):
        for header, footer in ((0, 0), (5, 2), (0, 3), (61, 0)):
            paths = [str(tmp_path / f"{i}") for i in range(2)]
            for path in paths:
                data = b"H" * min(header, 5) + body + b"F" * footer
                (tmp_path / path).write_bytes(pack(data))
            dataset = tf.data.FixedLengthRecordDataset(
                paths, record, header, footer, compression_type=theirs
            )
            expected, why = until_error(dataset.as_numpy_iterator())
            ds = lv.fixed_length(
                paths, record, header_bytes=header, footer_bytes=footer, compression=ours or "none"
            )
            got, error = until_error(row["record"] for row in ds)
            assert (got, error is None) == (expected, why is None)
            if why and "exact multiple" in str(why):  # else the sizes underflow there
                assert type(error).__name__ == type(why).__name__


def until_error(values):
    """What comes, and the error that ends it, or None."""
    got = []
    try:
        got.extend(values)
    except Exception as error:
        return got, error
    return got, None


def test_it_understands_our_examples(tf, records):
    for i, record in enumerate(records):
        features = tf.train.Example.FromString(record).features.feature
        spec = {"tokens": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True)}
        assert features["id"].int64_list.value == [i]
        ours = lv.parse_single_example(record, spec)
        assert list(features["tokens"].int64_list.value) == ours["tokens"].tolist()


def test_features_are_the_same(tf, path):
    theirs = {
        "id": tf.io.FixedLenFeature([], tf.int64),
        "maybe": tf.io.FixedLenFeature([], tf.float32, -1.0),
        "tokens": tf.io.RaggedFeature(tf.int64),
        "weights": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        "words": tf.io.RaggedFeature(tf.string),
    }
    ours = {
        "id": lv.FixedLenFeature([], lv.int64),
        "maybe": lv.FixedLenFeature([], lv.float32, -1.0),
        "tokens": lv.VarLenFeature(lv.int64),
        "weights": lv.FixedLenSequenceFeature([], lv.float32, allow_missing=True),
        "words": lv.VarLenFeature(lv.string),
    }
    expected = tf.data.TFRecordDataset(path).batch(16)
    expected = expected.map(lambda records: tf.io.parse_example(records, theirs))
    batches = list(lv.tfrecord(path).parse_example(ours).batch(16))
    for batch, want in zip(batches, expected, strict=True):
        assert batch["id"].tolist() == want["id"].numpy().tolist()
        assert batch["maybe"].tolist() == want["maybe"].numpy().tolist()
        assert batch["tokens"].to_list() == want["tokens"].to_list()
        assert batch["words"].to_list() == want["words"].to_list()
        padded = batch["weights"].to_padded(0)
        np.testing.assert_array_equal(padded, want["weights"].numpy())


@pytest.mark.parametrize("to_boundary", [False, True])
@pytest.mark.parametrize("drop", [False, True])
def test_buckets_come_in_the_same_order(tf, path, to_boundary, drop):
    feature = {"tokens": tf.io.RaggedFeature(tf.int64), "id": tf.io.FixedLenFeature([], tf.int64)}

    def parse(record):
        parsed = tf.io.parse_single_example(record, feature)
        return {"id": parsed["id"], "tokens": tf.ensure_shape(parsed["tokens"], [None])}

    boundaries = [*BOUNDARIES, 30][: len(SIZES) - 1] if not to_boundary else [4, 8, 30]
    expected = tf.data.TFRecordDataset(path).map(parse).bucket_by_sequence_length(
        lambda record: tf.shape(record["tokens"])[0], boundaries, SIZES,
        pad_to_bucket_boundary=to_boundary, drop_remainder=drop,
    )  # fmt: skip
    spec = {"tokens": lv.VarLenFeature(lv.int64), "id": lv.FixedLenFeature([], lv.int64)}
    ours = lv.tfrecord(path).parse_example(spec).bucket_by_sequence_length(
        "tokens", boundaries=boundaries, batch_sizes=SIZES,
        pad_to_bucket_boundary=to_boundary, drop_remainder=drop
    )  # fmt: skip
    for batch, want in zip(ours, expected.as_numpy_iterator(), strict=True):
        assert batch["id"].tolist() == want["id"].tolist()
        np.testing.assert_array_equal(batch["tokens"], want["tokens"])


def test_sequences_are_the_same(tf):
    draw = random.Random(2)
    records = []
    for i in range(40):
        steps = [[draw.randrange(100) for _ in range(2)] for _ in range(draw.randrange(9))]
        words = [[b"w%d" % k] * draw.randrange(3) for k in range(draw.randrange(5))] + [[b"end"]]
        records.append(lv.make_sequence_example({"n": i}, {"steps": steps, "words": words}))
    context, theirs, _ = tf.io.parse_sequence_example(
        records,
        {"n": tf.io.FixedLenFeature([], tf.int64)},
        {
            "steps": tf.io.FixedLenSequenceFeature([2], tf.int64),
            "words": tf.io.RaggedFeature(tf.string),
        },
    )
    ours = lv.from_arrays({"record": records}).parse_sequence_example(
        context={"n": lv.FixedLenFeature([], lv.int64)},
        sequences={
            "steps": lv.FixedLenSequenceFeature([2], lv.int64),
            "words": lv.RaggedFeature(lv.string),
        },
    )
    batch = ours.batch(len(records)).first()
    assert batch["n"].tolist() == context["n"].numpy().tolist()
    np.testing.assert_array_equal(batch["steps"].to_padded(0), theirs["steps"].numpy())
    assert batch["words"].to_list() == theirs["words"].to_list()
