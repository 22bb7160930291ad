# SPDX-License-Identifier: Apache-2.0
"""Decoders that are kept from call to call, and strings that lie in a column."""

import threading

import levada as lv
import numpy as np
import pytest
from levada import errors

WORDS = [b"one", b"", b"th\0ree", b"x" * 999]
MESSAGES = [lv.make_example({"n": i, "t": list(range(i)), "s": b"x" * i}) for i in range(5)]


def test_features_that_change_are_seen():
    features = {"n": lv.FixedLenFeature([], lv.int64)}
    assert set(lv.parse_single_example(MESSAGES[3], features)) == {"n"}
    features["t"] = lv.RaggedFeature(lv.int64)
    assert lv.parse_single_example(MESSAGES[3], features)["t"].tolist() == [0, 1, 2]
    features["n"] = lv.FixedLenFeature([1], lv.int32)
    found = lv.parse_single_example(MESSAGES[3], features)["n"]
    assert (found.dtype, found.tolist()) == (np.int32, [3])
    data = {"n": {"kind": "FixedLen", "dtype": "int64", "shape": []}}
    assert lv.parse_single_example(MESSAGES[3], data)["n"] == 3
    data["n"]["dtype"] = "uint8"
    assert lv.parse_single_example(MESSAGES[3], data)["n"].dtype == np.uint8


def test_features_that_change_after_many_calls_are_seen():
    one, two = (lv.FixedLenFeature([], lv.int64, default) for default in (1, 2))
    features = {"x": one, "n": lv.FixedLenFeature([], lv.int64)}
    for _ in range(4):
        assert [*lv.parse_single_example(MESSAGES[3], features).items()] == [("x", 1), ("n", 3)]
    features["x"] = two
    for _ in range(4):
        assert lv.parse_single_example(MESSAGES[3], features) == {"x": 2, "n": 3}
    features["x"] = lv.FixedLenFeature([], lv.int64, 2.0)
    with pytest.raises(TypeError, match=r"2\.0 does not fit into int64"):
        lv.parse_single_example(MESSAGES[3], features)
    features["x"] = features.pop("n")
    with pytest.raises(errors.InvalidArgumentError, match="Feature: x"):
        lv.parse_single_example(MESSAGES[3], features)
    features.clear()
    with pytest.raises(ValueError, match="Missing: features"):
        lv.parse_single_example(MESSAGES[3], features)


def test_arrays_of_one_message_are_nobody_elses():
    features = {"t": lv.RaggedFeature(lv.int64), "n": lv.FixedLenFeature([1, 1], lv.int64)}
    first, second = (lv.parse_single_example(MESSAGES[4], features) for _ in range(2))
    for array in first.values():
        assert array.base is None and array.flags.writeable
        array[...] = 9
    assert second["t"].tolist() == [0, 1, 2, 3] and second["n"].tolist() == [[4]]
    empty = lv.parse_single_example(MESSAGES[0], {"t": lv.RaggedFeature(lv.float32)})["t"]
    assert (empty.shape, empty.dtype) == ((0,), np.float32)


@pytest.mark.parametrize("dtype", [lv.string, lv.int64])
def test_sequences_of_elements_without_values_keep_their_shape(dtype):
    features = {"no": lv.FixedLenSequenceFeature([2, 0], dtype, allow_missing=True)}
    one = lv.parse_single_example(MESSAGES[0], features)["no"]
    again = lv.parse_single_example(bytearray(MESSAGES[0]), features)["no"]
    assert one.shape == again.shape == (0, 2, 0)
    assert lv.parse_example(MESSAGES, features)["no"].shape == (5, 0, 2, 0)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_one_message_has_one_name(kind):
    features = {"n": lv.FixedLenFeature([], lv.int64)}
    for _ in range(3):
        assert lv.parse_single_example(kind(MESSAGES[3]), features, ["name"])["n"] == 3
        with pytest.raises(errors.InvalidArgumentError, match=r"name.shape=\[2\]"):
            lv.parse_single_example(kind(MESSAGES[3]), features, ["name", "other"])


def test_short_memory_for_the_values_of_a_sparse_feature_is_said(monkeypatch):
    empty = np.empty
    refused = []

    def refuse(dims, dtype):
        if dims == (4,) and refused:
            raise MemoryError(refused.pop())
        return empty(dims, dtype)

    monkeypatch.setattr(np, "empty", refuse)
    features = {"t": lv.VarLenFeature(lv.int64), "n": lv.FixedLenFeature([], lv.int64, 77)}
    assert lv.parse_single_example(MESSAGES[4], features)["t"][1].tolist() == [0, 1, 2, 3]
    refused.append("none")
    with pytest.raises(MemoryError, match="none"):
        lv.parse_single_example(MESSAGES[4], features)


def test_long_messages_and_buffers_give_what_short_bytes_give():
    long = list(range(40_000))
    message = lv.make_example({"t": long, "n": 7})
    features = {
        "t": lv.FixedLenSequenceFeature([2], lv.int64, allow_missing=True),
        "n": lv.FixedLenFeature([], lv.int64),
    }
    for given in (message, bytearray(message), np.array(message, object)):
        for _ in range(3):
            found = lv.parse_single_example(given, features)
            assert found["t"].tolist() == np.reshape(long, (-1, 2)).tolist() and found["n"] == 7
    short = lv.make_example({"t": long[:4], "n": 7})
    assert lv.parse_single_example(short, features)["t"].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="must be one byte string"):
        lv.parse_single_example([short], features)


def test_features_made_for_each_call_do_not_mix():
    for i in range(200):
        name, dtype = ("n", lv.int64) if i % 2 else ("t", lv.int64)
        shape = [] if i % 2 else [3]
        found = lv.parse_single_example(MESSAGES[3], {name: lv.FixedLenFeature(shape, dtype)})
        assert found[name].tolist() == (3 if i % 2 else [0, 1, 2])


def test_equal_features_are_one_and_others_are_not():
    from levada import _decoding

    def parse(default, shape=(), dtype=lv.int64):
        features = {"d": lv.FixedLenFeature(list(shape), dtype, default)}
        return lv.parse_single_example(MESSAGES[1], features)["d"]

    parse(1)
    kept = len(_decoding.kept)
    for _ in range(100):
        assert parse(1) == 1
    assert len(_decoding.kept) == kept
    assert parse(2) == 2 and parse([[3]], (1, 1)).shape == (1, 1)
    with pytest.raises(TypeError, match=r"1\.0 does not fit into int64"):
        parse(1.0)
    array = np.array([4])
    assert parse(array, (1,)) == 4
    array[0] = 5
    assert parse(array, (1,)) == 5
    for i in range(100):
        assert parse(i) == i
    assert len(_decoding.kept) <= 33


def same(a, b):
    if isinstance(a, tuple):
        return type(a) is type(b) and all(map(same, a, b))
    return (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())


@pytest.mark.parametrize("features", [
    {"t": lv.RaggedFeature(lv.int64)},
    {"t": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True)},
    {"t": lv.VarLenFeature(lv.int64), "n": lv.FixedLenFeature([], lv.int64)},
    {"n": lv.FixedLenFeature([], lv.int64), "t": lv.VarLenFeature(lv.int64),
     "x": lv.VarLenFeature(lv.float32), "s": lv.VarLenFeature(lv.string)},
    {"s": lv.FixedLenFeature([], lv.string)},
    {"w": lv.FixedLenFeature([2, 2], lv.string),
     "d": lv.FixedLenFeature([3], lv.string, ["", "é", "c"])},
    {"w": lv.FixedLenSequenceFeature([2], lv.string, allow_missing=True)},
    {"w": lv.RaggedFeature(lv.string), "missing": lv.RaggedFeature(lv.string)},
    {"w": lv.VarLenFeature(lv.string), "missing": lv.VarLenFeature(lv.string)},
])  # fmt: skip
def test_the_short_way_and_the_long_one_give_the_same(features):
    for message in (*MESSAGES, *(lv.make_example({"n": i, "s": b"", "w": WORDS}) for i in (7, 8))):
        if any(name in ("w", "d") for name in features) and message in MESSAGES:
            continue
        long = lv.parse_single_example(bytearray(message), features)  # only bytes may be short
        for _ in range(3):
            short = lv.parse_single_example(message, features)
            assert [*short] == [*long]
            assert all(same(short[name], long[name]) for name in features)


def test_plain_features_take_the_short_way():
    from levada import _decoding

    features = {"s": lv.FixedLenFeature([], lv.string), "t": lv.VarLenFeature(lv.int64)}
    for _ in range(2):
        found = lv.parse_single_example(MESSAGES[3], features)
    assert id(features) in _decoding.lones
    found["t"][1][...] = 9
    assert lv.parse_single_example(MESSAGES[3], features)["t"][1].tolist() == [0, 1, 2]


def test_errors_of_a_kept_decoder_do_not_stay():
    features = {"n": lv.FixedLenFeature([], lv.int64)}
    for _ in range(3):
        with pytest.raises(errors.InvalidArgumentError, match="Feature: n"):
            lv.parse_single_example(lv.make_example({"m": 1}), features, key="k")
        assert lv.parse_single_example(MESSAGES[2], features)["n"] == 2


def test_a_column_of_strings_is_parsed_as_its_list():
    column = next(iter(lv.from_arrays({"r": MESSAGES}).batch(5)))["r"]
    features = {"t": lv.RaggedFeature(lv.int64), "s": lv.FixedLenFeature([], lv.string)}
    for part in (column, column[1:4], column[2:2]):
        values, splits = lv.parse_example(part, features)["t"]
        expected, marks = lv.parse_example(list(part), features)["t"]
        assert values.tolist() == expected.tolist() and splits.tolist() == marks.tolist()
        assert [*lv.parse_example(part, features)["s"]] == [m[0] for m in zip(
            lv.parse_example(list(part), features)["s"], strict=True)]  # fmt: skip
    wrong = lv.Bytes(np.zeros(3, np.uint8), np.array([0, 2, 9], np.int32))
    with pytest.raises(ValueError, match="offsets must ascend"):
        lv.parse_example(wrong, features)


def test_threads_share_features():
    features = {"n": lv.FixedLenFeature([], lv.int64), "t": lv.RaggedFeature(lv.int64)}
    found = []

    def parse():
        for i in range(300):
            example = lv.parse_single_example(MESSAGES[i % 5], features)
            found.append(example["n"] == i % 5 and len(example["t"]) == i % 5)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1200 and all(found)


PLAIN_TOKENS = {"tokens": lv.FixedLenFeature([2], lv.int64, [0, 0])}


def made_sequence():
    return lv.make_sequence_example({"id": [7]}, {"tokens": [[1], [2, 3]]})


@pytest.mark.parametrize("features", [{"tokens": lv.VarLenFeature(lv.int64)}, PLAIN_TOKENS])
def test_a_message_of_the_other_type_is_named(features):
    with pytest.raises(lv.errors.InvalidArgumentError, match="use parse_sequence_example"):
        lv.parse_example([made_sequence()] * 4, features)
    with pytest.raises(lv.errors.InvalidArgumentError, match="feature_lists; use"):
        lv.parse_single_example(made_sequence(), features)
    example = lv.make_example({"tokens": [1, 2]})
    with pytest.raises(lv.errors.InvalidArgumentError, match="use parse_example"):
        lv.parse_single_sequence_example(
            example, sequence_features={"tokens": lv.FixedLenSequenceFeature([], lv.int64)}
        )


def test_files_of_the_other_type_are_named(tmp_path):
    path = tmp_path / "sequences.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        for _ in range(3):
            writer.write(made_sequence())
    ds = lv.tfrecord(path).parse_example({"tokens": lv.VarLenFeature(lv.int64)}).batch(2)
    with pytest.raises(lv.errors.InvalidArgumentError, match="use parse_sequence_example") as told:
        list(ds)
    assert "record 0" in str(told.value)
    it = iter(ds.with_options(errors="skip"))
    assert list(it) == []
    assert it.stats()["skipped_records"] == 3


@pytest.mark.parametrize("name", ["base64", "float", "py", "c", "block", "pipe", "map"])
def test_a_feature_may_have_the_name_of_a_mark(name, tmp_path):
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        writer.write(lv.make_example({name: [1, 2]}))
    ds = lv.tfrecord(str(path)).parse_example({name: lv.VarLenFeature(lv.int64)})
    text = f"tfrecord:{path} | parse_example:{{{name}:{{kind:VarLen,dtype:int64}}}}"
    for same in (ds, lv.from_text(text), lv.from_text(str(ds)), lv.from_json(ds.to_json())):
        assert same.to_json() == ds.to_json()
        assert [list(r[name]) for r in same] == [[1, 2]]


def test_names_of_sparse_features_may_be_long():
    names = ["n" * 300 + end for end in ("a", "b")]
    spec = {n: lv.SparseFeature("i", "v", lv.int64, 10) for n in names}
    record = lv.make_example({"i": [3], "v": [5]})
    got = lv.parse_single_example(record, spec)
    assert [*got] == names


def test_an_option_of_a_feature_is_one_word(tmp_path):
    text = 'tfrecord:a | parse_example:{x:{kind:VarLen,dtype:int64,"kind key":5}}'
    with pytest.raises(lv.errors.InvalidArgumentError, match="has no option 'kind key'"):
        lv.from_text(text)
