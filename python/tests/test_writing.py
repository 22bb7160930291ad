# SPDX-License-Identifier: Apache-2.0
"""Records out and in again."""

import levada as lv
import numpy as np
import pytest

RECORDS = [b"", b"a", b"hello" * 100, bytes(range(256))]


@pytest.mark.parametrize("compression", [None, "gzip", "zlib", "zstd"])
def test_records_come_back(tmp_path, compression):
    path = tmp_path / "a.tfrecord"
    try:
        with lv.TFRecordWriter(path, compression) as writer:
            for record in RECORDS:
                writer.write(record)
    except lv.errors.UnimplementedError as error:
        pytest.skip(str(error))
    assert [row["record"] for row in lv.tfrecord(path)] == RECORDS


def test_a_file_appears_when_it_is_closed(tmp_path):
    path = tmp_path / "a.tfrecord"
    writer = lv.TFRecordWriter(path)
    writer.write(b"one")
    writer.flush()
    assert not path.exists()
    writer.close()
    writer.close()
    assert lv.tfrecord(path).first() == {"record": b"one"}
    with pytest.raises(lv.errors.FailedPreconditionError):
        writer.write(b"two")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(lv.errors.NotFoundError):
        lv.TFRecordWriter(tmp_path / "none" / "a")


def test_examples(tmp_path):
    message = lv.make_example(
        {"i": [1, -2], "one": 7, "f": [0.5], "s": "text", "b": [b"x", b""], "n": np.arange(3)}
    )
    spec = {
        "i": lv.VarLenFeature(lv.int64),
        "one": lv.FixedLenFeature([], lv.int64),
        "f": lv.FixedLenFeature([1], lv.float32),
        "s": lv.FixedLenFeature([], lv.string),
        "b": lv.VarLenFeature(lv.string),
        "n": lv.FixedLenFeature([3], lv.int64),
    }
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        writer.write(message)
    row = lv.tfrecord(path).parse_example(spec).first()
    assert row["i"].tolist() == [1, -2]
    assert (row["one"], row["s"], row["b"].tolist()) == (7, b"text", [b"x", b""])
    assert row["f"].tolist() == [0.5]
    assert row["n"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [{"a": [b"x", 1]}, {"a": 1j}, {"a": object()}])
def test_other_values_are_type_errors(value):
    with pytest.raises(TypeError):
        lv.make_example(value)


def test_sequence_examples(tmp_path):
    message = lv.make_sequence_example({"k": "key"}, {"t": [[1], [2, 3]], "s": [[b"a"], []]})
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        writer.write(message)
    row = lv.tfrecord(path).parse_sequence_example(
        context={"k": lv.FixedLenFeature([], lv.string)},
        sequences={"t": lv.VarLenFeature(lv.int64)},
    ).first()  # fmt: skip
    assert row["k"] == b"key"
    assert row["t"].to_list() == [[1], [2, 3]]


@pytest.mark.parametrize("dtype", [lv.int64, lv.float32, lv.string])
def test_an_empty_list_suits_every_dtype(dtype):
    message = lv.make_example({"x": []})
    spec = {"x": lv.FixedLenSequenceFeature([], dtype, allow_missing=True)}
    assert lv.parse_single_example(message, spec)["x"].tolist() == []


@pytest.mark.parametrize(
    ("dtype", "steps"),
    [
        (lv.float32, [[], [1.5], [2]]),
        (lv.string, [[], [b"a"], []]),
        (lv.int64, [[], [3]]),
    ],
)
def test_steps_are_of_one_kind(dtype, steps):
    message = lv.make_sequence_example({}, {"x": steps})
    ds = lv.from_arrays({"record": [message]})
    ds = ds.parse_sequence_example(sequences={"x": lv.RaggedFeature(dtype)})
    assert ds.batch(1).first()["x"].to_list() == [steps]


@pytest.mark.parametrize(
    "steps", [[1.5, 2**53 + 1], [[1.5], [2**53 + 1]], [[1.5], 2**53 + 1], [[1.5, 2**53 + 1]]]
)
def test_integers_among_floats_keep_their_value(steps):
    with pytest.raises(ValueError, match=f"{2**53 + 1} among floats is [^;]*$"):
        lv.make_sequence_example({}, {"x": steps})


def test_steps_of_bytes_and_numbers_are_refused():
    with pytest.raises(TypeError, match=r"'x' must have steps .* got both"):
        lv.make_sequence_example({}, {"x": [[b"a"], [1]]})


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (None, TypeError, "feature 'a': NoneType; integers, floats or bytes"),
        ([None, 1.0], TypeError, "feature 'a': NoneType; integers"),
        ({"b": 1}, TypeError, "feature 'a': dict; integers"),
        (object(), TypeError, "feature 'a': object; integers"),
        (2**70, ValueError, f"feature 'a': {2**70} does not fit int64"),
        ([[1], [2, 3]], ValueError, "feature 'a': the parts of a list must have the same length"),
        ([1, "x"], TypeError, "feature 'a' must have byte strings or numbers, not both: got int"),
    ],
)
def test_what_is_no_feature_is_named(value, kind, message):
    with pytest.raises(kind, match=message):
        lv.make_example({"a": value})
    with pytest.raises(TypeError, match=r"features must be {name: values}, got list"):
        lv.make_example([value])
