# SPDX-License-Identifier: Apache-2.0
"""Descriptions: text, JSON, equality, options."""

import copy
import pickle

import levada as lv
import numpy as np
import pytest


def test_text_and_json_come_back():
    ds = lv.range(10).shuffle(4, seed=1).batch(3)
    assert str(ds) == "range:10 | shuffle:4,seed=1 | batch:3"
    assert lv.from_text(str(ds)) == ds
    assert lv.from_json(ds.to_json()) == ds
    assert hash(lv.from_json(ds.to_json())) == hash(ds)
    assert lv.from_text("range:11 | batch:3") != ds


def test_fingerprints_leave_out_what_only_tunes():
    a, b = lv.range(10).batch(2), lv.range(10).batch(2).prefetch(3)
    assert len(a.fingerprint()) == 32
    assert a.fingerprint() == lv.range(10).batch(2).fingerprint()
    assert a.fingerprint() != lv.range(10).batch(3).fingerprint()
    assert isinstance(b.fingerprint(), str)


def test_can_be_pickled_and_copied():
    ds = lv.range(10).batch(3).with_options(seed=4)
    for again in (pickle.loads(pickle.dumps(ds)), copy.deepcopy(ds)):
        assert again == ds
        assert [batch["value"].tolist() for batch in again] == [
            batch["value"].tolist() for batch in ds
        ]


def test_shows_its_columns():
    ds = lv.tfrecord("a.tfrecord").parse_example({"tokens": lv.VarLenFeature(lv.int64)})
    assert repr(ds).split("\n")[0] == "levada.Dataset  tfrecord → parse_example"
    assert "tokens" in repr(ds)
    assert ds.spec["tokens"].dtype == lv.int64
    assert ds.spec["tokens"].shape == (None,)
    assert ds.spec["tokens"].ragged == 1


def test_wrong_options_say_which():
    with pytest.raises(lv.errors.InvalidArgumentError, match="batch_size"):
        lv.range(10).batch(0)
    with pytest.raises(TypeError, match="no option 'sed'"):
        lv.range(10).with_options(sed=1)
    with pytest.raises(TypeError, match="deterministic='no' must be True or False"):
        lv.range(10).with_options(deterministic="no")
    with pytest.raises(TypeError):
        lv.range(10).batch(3, drop=True)
    with pytest.raises(lv.errors.InvalidArgumentError, match="batch"):
        lv.range(10).stage("batsh", batch_size=3)


def test_options_may_be_of_numpy():
    ds = lv.range(np.int32(10)).batch(np.int64(3))
    assert str(ds) == "range:10 | batch:3"
    ds = lv.range(10).bucket_by_sequence_length(
        "value", boundaries=np.array([2, 4]), batch_sizes=(1, 2, np.uint8(3))
    )
    assert "boundaries=[2,4]" in str(ds)


def test_stages_by_name():
    assert lv.range(10).stage("batch", batch_size=3) == lv.range(10).batch(3)
    assert lv.source("range", count=10) == lv.range(10)


def test_first():
    assert lv.range(3).first() == {"value": 0}
    assert lv.range(3).batch(2).first()["value"].tolist() == [0, 1]
    with pytest.raises(lv.errors.OutOfRangeError):
        lv.range(0).first()


@pytest.mark.parametrize(
    ("ds", "n"),
    [
        (lambda: lv.range(10), 10),
        (lambda: lv.range(10).batch(3), 4),
        (lambda: lv.range(10).batch(3, drop_remainder=True), 3),
        (lambda: lv.range(10).take(4).repeat(3), 12),
        (lambda: lv.range(10).skip(4), 6),
        (lambda: lv.range(10).shard(1, 3), 3),
        (lambda: lv.zip(lv.range(10), lv.range(4).rename({"value": "b"})), 4),
        (lambda: lv.from_arrays({"x": [1, 2, 3]}), 3),
    ],
)
def test_lengths_where_they_are_known(ds, n):
    assert len(ds()) == n == sum(1 for _ in ds())


def test_unknown_lengths_are_type_errors():
    with pytest.raises(TypeError, match="not known"):
        len(lv.text_lines("a.txt"))
    with pytest.raises(TypeError, match="not known"):
        len(lv.range(3).repeat())


def test_from_arrays():
    data = {
        "x": np.arange(6, dtype=np.int16).reshape(3, 2),
        "s": [b"a", b"bc", b""],
        "r": [[1], [], [2, 3]],
    }
    rows = list(lv.from_arrays(data))
    assert [row["x"].tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    assert rows[0]["x"].dtype == np.int16
    assert [row["s"] for row in rows] == [b"a", b"bc", b""]
    assert [row["r"].tolist() for row in rows] == [[1], [], [2, 3]]
    with pytest.raises(lv.errors.InvalidArgumentError, match="'b' has 2 records, others have 3"):
        lv.from_arrays({"a": [1, 2, 3], "b": [1, 2]})


def test_arrays_are_not_changed_through_batches():
    source = np.arange(4)
    ds = lv.from_arrays({"x": source})
    for row in ds.batch(4):
        assert row["x"].tolist() == [0, 1, 2, 3]
        if row["x"].flags.writeable:
            row["x"][:] = -1
    assert source.tolist() == [0, 1, 2, 3]
    assert ds.batch(4).first()["x"].tolist() == [0, 1, 2, 3]


def test_joints():
    a, b = lv.range(3), lv.range(10, 13).rename({"value": "b"})
    assert list(lv.zip(a, b)) == [{"value": i, "b": 10 + i} for i in range(3)]
    assert [row["value"] for row in lv.concat(lv.range(2), lv.range(5, 7))] == [0, 1, 5, 6]
    mixed = sorted(
        row["value"] for row in lv.mix([lv.range(3), lv.range(5, 8)], weights=[1, 2], seed=3)
    )
    assert mixed == [0, 1, 2, 5, 6, 7]


def test_interleave(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2\n")
    ds = lv.files(f"{tmp_path}/*.txt").interleave(
        lambda record: lv.text_lines(record["path"]), cycle_length=2
    )
    assert [row["line"] for row in ds] == [b"a1", b"b1", b"a2", b"b2"]


def test_leave_to_change_the_order_changes_nothing():
    ds = lv.range(3000).shuffle(100).map(lambda r: {"value": r["value"] * 2}).batch(7)
    ordered = ds.with_options(seed=3, threads=2)
    want = [batch["value"].tolist() for batch in ordered]
    free = ordered.with_options(deterministic=False)
    assert [batch["value"].tolist() for batch in free] == want
    first, second = iter(ordered.with_options(deterministic=False)), iter(ordered)
    for _ in range(100):
        next(first)
    second.restore(first.save())
    assert [batch["value"].tolist() for batch in second] == want[100:]


def test_settings_travel_with_copies_and_not_with_descriptions():
    ds = lv.range(10).batch(2)
    free = ds.with_options(deterministic=False)
    assert free != ds
    assert pickle.loads(pickle.dumps(free)) == free
    assert free.to_json() == ds.to_json()
    assert free.fingerprint() == ds.fingerprint()
    assert lv.from_json(free.to_json()) == ds
    assert lv.from_text(str(free)) == ds
