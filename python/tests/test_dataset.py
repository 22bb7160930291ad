# SPDX-License-Identifier: Apache-2.0
"""Descriptions: text, JSON, equality, options."""

import copy
import os
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
    with pytest.raises(TypeError, match="unknown option 'sed'; did you mean 'seed'"):
        lv.range(10).with_options(sed=1)
    with pytest.raises(TypeError, match="unknown option 'deterministic'"):
        lv.range(10).with_options(deterministic=False)
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


def test_combiners():
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
    assert [row["line"] for row in ds] == ["a1", "b1", "a2", "b2"]


def test_settings_travel_with_copies_and_not_with_descriptions():
    ds = lv.range(10).batch(2)
    free = ds.with_options(threads=3)
    assert free != ds
    assert pickle.loads(pickle.dumps(free)) == free
    assert free.to_json() == ds.to_json()
    assert free.fingerprint() == ds.fingerprint()
    assert lv.from_json(free.to_json()) == ds
    assert lv.from_text(str(free)) == ds


def _plus(record):
    return {"x": record["value"] + 1}


def _is_odd(record):
    return record["x"] % 2 == 1


def _size(record):
    return len(record["x"])


def _three():
    yield from ({"x": i} for i in range(3))


def _with_parts():
    data = {"x": [[1], [2, 3]], "s": ["a", "b"], "y": np.zeros((2, 3), np.float32)}
    more = lv.from_arrays({"z": np.arange(2)})
    return {
        "map": lv.range(5).map(_plus, spec={"x": lv.int32}).with_options(threads=2),
        "filter": lv.range(5).map(_plus, workers=2, pure=False).filter(_is_odd),
        "arrays": lv.zip(lv.from_arrays(data), more).bucket_by_sequence_length(
            _size, boundaries=[2], batch_sizes=1
        ),
        "records": lv.from_records([{"x": 1}]),
        "factory": lv.from_records(_three),
        "pipe": lv.range(2).interleave(lv.from_records(_three).map(_is_odd_of), cycle_length=1),
    }


def _is_odd_of(record):
    return {"odd": record["x"] % 2}


@pytest.mark.parametrize("name", _with_parts())
def test_functions_and_arrays_go_along_in_pickles_and_copies(name):
    ds = _with_parts()[name]
    want = [repr(dict(value)) for value in ds.iterate(epoch=0)]
    assert want
    for other in (pickle.loads(pickle.dumps(ds)), copy.copy(ds), copy.deepcopy(ds)):
        assert [repr(dict(value)) for value in other.iterate(epoch=0)] == want
        assert str(other) == str(ds)
        assert other._settings == ds._settings


def test_a_function_that_has_no_name_is_told_when_it_is_pickled():
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(lv.range(5).map(lambda record: record))


def test_datasets_of_other_functions_or_arrays_are_not_equal():
    assert lv.range(5).map(_plus) == lv.range(5).map(_plus)
    assert lv.range(5).map(_plus) != lv.range(5).map(_is_odd_of)
    assert lv.range(5).map(_plus) != lv.range(5).map(_plus, batched=True)
    ds = lv.from_arrays({"x": [1]})
    assert ds == copy.copy(ds)
    assert ds != lv.from_arrays({"x": [2]})


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"threads": -1}, ValueError, r"threads=-1 must be 0..256"),
        ({"threads": 2**40}, ValueError, r"threads=1099511627776 must be 0..256"),
        ({"threads": 2.5}, TypeError, "threads=2.5 must be an integer"),
        ({"seed": 2**63}, ValueError, "seed=9223372036854775808 must be"),
        ({"seed": "a"}, TypeError, "seed='a' must be an integer"),
        ({"max_bytes": -1}, ValueError, "max_bytes=-1 must be"),
        ({"block_rows": 10**7}, ValueError, r"block_rows=10000000 must be 0..65536"),
        ({"errors": 5}, TypeError, "errors=5 must be a str"),
    ],
)
def test_settings_are_looked_at_where_they_are_given(options, kind, message):
    with pytest.raises(kind, match=message):
        lv.range(5).with_options(**options)
    assert lv.range(5).with_options(threads=np.int64(2), seed=np.uint8(3))._settings == {
        "threads": 2,
        "seed": 3,
    }


def test_the_representation_tells_the_length_where_it_is_known():
    assert repr(lv.range(1204330).batch(100)) == (
        "levada.Dataset  range → batch\n  value    int64[B]\n  batches  12 044"
    )
    assert "records" not in repr(lv.range(10).filter("value > 4"))


def test_what_is_no_feature_is_told():
    for given in (5, lv.int64, "VarLen"):
        with pytest.raises(ValueError, match=r"feature 'x' must be a feature such as"):
            lv.tfrecord("a").parse_example({"x": given})


def test_wrong_arguments_are_named():
    for epoch in (-1, 2**70):
        with pytest.raises(ValueError, match=f"epoch={epoch} must be"):
            lv.range(5).iterate(epoch=epoch)
    with pytest.raises(ValueError, match=f"{2**70} does not fit int64"):
        lv.range(5).take(2**70)
    with pytest.raises(TypeError, match="map: fn must be a function, got NoneType"):
        lv.range(5).map(None)
    with pytest.raises(TypeError, match="zip: every input must be a Dataset, got int"):
        lv.zip(lv.range(5), 5)
    with pytest.raises(TypeError, match="concat: every input must be a Dataset, got int"):
        lv.concat(5)
    with pytest.raises(TypeError, match="a pipeline must be a str, got NoneType"):
        lv.from_text(None)
    assert len(lv.from_json(lv.range(5).to_json().encode())) == 5
    assert [record["value"] for record in lv.mix(lv.range(3))] == [0, 1, 2]


def test_names_of_files_may_be_bytes(tmp_path):
    path = tmp_path / "ä.txt"
    path.write_text("one\n")
    odd = os.fsencode(tmp_path) + b"/b\xff.txt"
    with open(odd, "wb") as file:
        file.write(b"two\n")
    found = [record["path"] for record in lv.files(tmp_path / "ä*")]
    assert [record["line"] for record in lv.text_lines(found)] == ["one"]
    assert [record["line"] for record in lv.text_lines(found[0])] == ["one"]
    for name in (odd, os.fsdecode(odd), [odd]):
        with pytest.raises(ValueError, match="is not UTF-8: a pattern such as"):
            lv.text_lines(name)
    assert [record["line"] for record in lv.text_lines(tmp_path / "b*")] == ["two"]


def test_mix_gives_every_record_the_columns_of_its_first_input():
    a = lv.from_arrays({"x": np.arange(5), "y": np.arange(5) * 10})
    turned = a.map(lambda r: {"y": r["y"], "x": r["x"]})  # known when it runs
    records = list(lv.mix([a, turned], seed=1))
    assert sorted(r["x"] for r in records) == sorted([*range(5)] * 2)
    assert all([*r] == ["x", "y"] and r["y"] == 10 * r["x"] for r in records)
    with pytest.raises(lv.errors.InvalidArgumentError, match="a record lacks field 'x'"):
        list(lv.mix([a, a.map(lambda r: {"y": r["y"]})], seed=1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: lv.from_text("range:3\0 | nothing"),
        lambda: lv.from_arrays({"a\0b": [1]}),
        lambda: lv.from_records([{"a\0b": 1}]).first(),
        lambda: lv.source("range", **{"count\0": 3}),
    ],
)
def test_a_text_is_not_cut_at_a_zero_byte(make):
    with pytest.raises(ValueError, match="zero byte"):
        make()
