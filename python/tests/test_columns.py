# SPDX-License-Identifier: Apache-2.0
"""Blocks from Python values and back."""

import copy
import gc
import pickle
import weakref

import levada as lv
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from levada._batch import Batch, rows_of
from levada._columns import Columns, Kind, pack_column
from levada._ragged import Bytes, Ragged


def same(a, b):
    if isinstance(a, Ragged):
        return a.to_list() == (b.to_list() if isinstance(b, Ragged) else b)
    return np.array_equal(np.asarray(a), np.asarray(b))


DTYPES = ["int8", "int64", "uint16", "float32", "float64", "bool", "complex64"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_records_come_back(data):
    n = data.draw(st.integers(1, 9))
    dtype = data.draw(st.sampled_from(DTYPES))
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    strings = data.draw(st.lists(st.binary(max_size=9), min_size=n, max_size=n))
    inner = data.draw(st.sampled_from([(), (2,), (3, 2)]))
    rng = np.random.default_rng(0)
    rows = [
        {
            "one": rng.integers(0, 2, ()).astype(dtype),
            "many": rng.integers(0, 2, (length, *inner)).astype(dtype),
            "text": text,
        }
        for length, text in zip(lengths, strings, strict=True)
    ]
    back = rows_of(Columns().block(rows))
    assert len(back) == n
    for before, after in zip(rows, back, strict=True):
        assert list(after) == ["one", "many", "text"]
        assert after["text"] == before["text"]
        assert after["many"].dtype == before["many"].dtype
        assert same(before["one"], after["one"])
        assert same(before["many"], after["many"])


def test_arrays_are_sequences_whatever_their_shapes():
    for rows in ([{"x": [1, 2]}, {"x": [3, 4]}], [{"x": [1]}, {"x": [2, 3]}], [{"x": [1, 2]}]):
        x = Batch(Columns().block(rows))["x"]
        assert isinstance(x, Ragged)
        assert x.dtype == np.int64
        assert x.to_list() == [row["x"] for row in rows]
    columns = Columns()
    for length in (3, 0, 5):
        assert Batch(columns.block([{"x": np.ones((length, 2))}]))["x"].lengths.tolist() == [length]
    with pytest.raises(lv.errors.InvalidArgumentError, match="spec="):
        columns.block([{"x": np.ones((4, 3))}])


def test_a_spec_makes_arrays_fixed():
    columns = Columns({"x": (lv.int64, (2,)), "y": lv.FixedLenFeature([None, 2], lv.float32)})
    batch = Batch(columns.block([{"x": [1, 2], "y": np.ones((3, 2))}] * 4))
    assert batch["x"].tolist() == [[1, 2]] * 4
    assert batch["y"].shape == (4, 3, 2)
    assert Batch(columns.block([{"x": [1, 2], "y": np.ones((5, 2))}]))["y"].shape == (1, 5, 2)


def test_a_list_of_strings_is_ragged_bytes():
    batch = Batch(Columns().block([{"x": ["a", "bc"]}, {"x": []}, {"x": [b"def"]}]))
    assert isinstance(batch["x"].values, Bytes)
    assert batch["x"].to_list() == [[b"a", b"bc"], [], [b"def"]]
    rows = rows_of(batch._block)
    assert rows[0]["x"].dtype == object
    assert rows[0]["x"].tolist() == [b"a", b"bc"]


def test_two_ragged_levels():
    inner = [Batch(Columns().block([{"x": [1]}, {"x": [2, 3]}]))["x"],
             Batch(Columns().block([{"x": [4, 5]}, {"x": []}, {"x": [6]}]))["x"]]  # fmt: skip
    block = Columns().block([{"x": value} for value in inner])
    batch = Batch(block)
    assert batch["x"].to_list() == [[[1], [2, 3]], [[4, 5], [], [6]]]
    assert [row["x"].to_list() for row in rows_of(block)] == [[[1], [2, 3]], [[4, 5], [], [6]]]
    assert len(batch["x"].nested) == 2


def test_the_first_record_fixes_names():
    columns = Columns()
    columns.block([{"a": 1, "b": 2}])
    with pytest.raises(lv.errors.InvalidArgumentError, match="lacks field 'b'; it has a"):
        columns.block([{"a": 1}])
    with pytest.raises(lv.errors.InvalidArgumentError, match="the first had not"):
        columns.block([{"a": 1, "b": 2, "c": 3}])


def test_the_first_record_fixes_dtypes():
    columns = Columns()
    columns.block([{"a": np.int32(1)}])
    assert Batch(columns.block([{"a": 7}]))["a"].dtype == np.int32
    with pytest.raises(lv.errors.InvalidArgumentError, match="does not fit int32"):
        columns.block([{"a": 2**40}])
    with pytest.raises(lv.errors.InvalidArgumentError, match="field 'a'"):
        columns.block([{"a": 1.5}])
    with pytest.raises(lv.errors.InvalidArgumentError, match="string"):
        columns.block([{"a": b"x"}])


def test_a_spec_fixes_everything():
    columns = Columns({"a": lv.float32, "b": (lv.int16, (2,))})
    batch = Batch(columns.block([{"a": 1, "b": [1, 2]}]))
    assert batch["a"].dtype == np.float32
    assert batch["b"].dtype == np.int16
    with pytest.raises(lv.errors.InvalidArgumentError):
        columns.block([{"a": 1, "b": [1, 2, 3]}])


def test_not_a_dict_is_a_type_error():
    with pytest.raises(TypeError, match="a record must be a dict, got int"):
        Columns().block([3])


@pytest.mark.parametrize("marks", ["<i4", "<i8", ">i4"])
@pytest.mark.parametrize(
    "dtype",
    ["?", "i1", "u2", "<i4", ">i4", "u8", "f2", "f4", ">f8", "c8", "c16", "M8[s]", "S3", "O"],
)
def test_rows_of_any_dtype_are_padded(dtype, marks):
    values = np.arange(1, 8).astype("i8").astype(dtype)
    rows = lv.Ragged(values, [np.array([0, 3, 3, 7], marks)])
    empty = b"" if dtype == "O" else np.zeros((), dtype)
    for value in (None, 0):
        padded = rows.to_padded(value)
        assert padded.shape == (3, 4)
        assert padded.dtype == values.dtype
        for row, part in zip(padded, (values[0:3], values[3:3], values[3:7]), strict=True):
            assert row[: len(part)].tolist() == part.tolist()
            fill = value if dtype == "O" and value is not None else empty
            assert all(item == fill for item in row[len(part) :])


def test_offsets_outside_the_values_are_refused():
    for marks in ([0, 9], [-1, 2], [0, 3, 2]):
        with pytest.raises(ValueError, match="offsets must"):
            lv.Ragged(np.arange(3), [np.array(marks, np.int32)]).to_padded()


class TestRagged:
    def ragged(self):
        return Batch(Columns().block([{"x": [1, 2, 3]}, {"x": []}, {"x": [4]}]))["x"]

    def test_parts(self):
        r = self.ragged()
        assert r.values.tolist() == [1, 2, 3, 4]
        assert r.offsets.tolist() == [0, 3, 3, 4]
        assert r.offsets.dtype == np.int32
        assert r.lengths.tolist() == [3, 0, 1]
        assert [row.tolist() for row in r] == [[1, 2, 3], [], [4]]
        assert r[-1].tolist() == [4]
        assert r[1:].to_list() == [[], [4]]
        assert len(r) == 3

    def test_padded(self):
        r = self.ragged()
        assert r.to_padded(-1).tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
        assert r.to_padded(length=2).tolist() == [[1, 2], [0, 0], [4, 0]]
        assert r[1:].to_padded().tolist() == [[0], [4]]

    def test_padded_with_inner_dimensions(self):
        values = np.arange(10, dtype=np.float64).reshape(5, 2)
        r = lv.Ragged(values, (np.array([0, 3, 3, 5], np.int32),))
        padded = r.to_padded(2.5)
        assert padded.shape == (3, 3, 2)
        np.testing.assert_array_equal(padded[0], values[:3])
        np.testing.assert_array_equal(padded[1], np.full((3, 2), 2.5))
        np.testing.assert_array_equal(padded[2, :2], values[3:])
        assert r[1:2].to_padded().shape == (1, 0, 2)
        assert r[0:0].to_padded().shape == (0, 0, 2)

    def test_padded_refuses_offsets_outside_of_the_values(self):
        for marks in ([0, 3, 9], [-1, 2], [4, 2, 5], []):
            with pytest.raises(ValueError, match="offsets must"):
                lv.Ragged(np.arange(5), (np.array(marks, np.int32),))
        strings = lv.Bytes(np.frombuffer(b"abc", np.uint8), np.array([0, 9], np.int32))
        for read in (lambda: strings[0], strings.to_list, lambda: list(strings)):
            with pytest.raises(ValueError, match="offsets must"):
                read()

    def test_sparse(self):
        indices, values, shape = self.ragged().to_sparse()
        assert indices.tolist() == [[0, 0], [0, 1], [0, 2], [2, 0]]
        assert values.tolist() == [1, 2, 3, 4]
        assert shape.tolist() == [3, 3]

    def test_out_of_range(self):
        with pytest.raises(IndexError):
            self.ragged()[3]


class TestBytes:
    def strings(self):
        return Batch(Columns().block([{"x": b"ab"}, {"x": b""}, {"x": b"c\0d"}]))["x"]

    def test_parts(self):
        b = self.strings()
        assert isinstance(b, Bytes)
        assert b.to_list() == [b"ab", b"", b"c\0d"] == list(b)
        assert b.offsets.tolist() == [0, 2, 2, 5]
        assert b.data.dtype == np.uint8
        assert b[2] == b"c\0d"
        assert b[1:].to_list() == [b"", b"c\0d"]
        assert np.asarray(b).dtype == object


class TestBatch:
    def batch(self):
        block = Columns().block([{"x": [1, 2], "y": 1.5}, {"x": [3], "y": 2.5}])
        return Batch(block)

    def test_has_fields_like_a_dict(self):
        batch = self.batch()
        assert list(batch) == ["x", "y"]
        assert len(batch) == 2
        assert "x" in batch and "z" not in batch
        assert dict(batch).keys() == {"x", "y"}
        with pytest.raises(KeyError, match="unknown field 'z'; available: x, y"):
            batch["z"]

    def test_sequences(self):
        batch = self.batch()
        assert batch.num_records == 2
        assert batch.lengths("x").tolist() == [2, 1]
        assert batch.mask("x").tolist() == [[True, True], [True, False]]
        assert batch.cu_seqlens("x").tolist() == [0, 2, 3]
        assert batch.cu_seqlens("x").dtype == np.int32
        assert batch.max_seqlen("x") == 2
        assert batch.positions("x").tolist() == [0, 1, 0]
        assert batch.segment_ids("x").tolist() == [1, 1, 2]

    def test_arrays_share_memory_and_can_be_written(self):
        batch = self.batch()
        y = batch["y"]
        y[0] = 9
        assert batch["y"] is y
        assert np.asarray(batch.column("y"))[0] == 9
        assert np.shares_memory(y, np.asarray(batch.column("y")))

    def test_an_array_keeps_the_memory_alive(self):
        batch = self.batch()
        gone = weakref.ref(batch)
        y = batch["y"]
        del batch
        gc.collect()
        assert gone() is None
        assert y.tolist() == [1.5, 2.5]

    def test_dlpack(self):
        view = self.batch().column("y")
        assert view.__dlpack_device__() == (1, 0)
        array = np.from_dlpack(view)
        assert array.tolist() == [1.5, 2.5]
        del view
        gc.collect()
        assert array.tolist() == [1.5, 2.5]

    def test_dlpack_capsules(self):
        view = self.batch().column("y")
        assert "dltensor" in repr(view.__dlpack__())
        assert "dltensor_versioned" in repr(view.__dlpack__(max_version=(1, 0)))
        with pytest.raises(BufferError):
            view.__dlpack__(copy=True)

    def test_buffer_protocol(self):
        view = memoryview(self.batch().column("y"))
        assert (view.format, view.shape, view.strides) == ("d", (2,), (8,))
        assert not view.readonly


class TestPadded:
    def batch(self):
        data = {"x": [[1, 2], [3]], "s": [[b"a"], [b"b", b"c"]]}
        return lv.from_arrays(data).padded_batch(2, padding_values={"x": -1}).first()

    def test_arrays(self):
        batch = self.batch()
        assert batch["x"].tolist() == [[1, 2], [3, -1]]
        assert batch["s"].dtype == object
        assert batch["s"].tolist() == [[b"a", b""], [b"b", b"c"]]
        assert "padded" in repr(batch)

    def test_sequences(self):
        batch = self.batch()
        assert batch.lengths("x").tolist() == [2, 1]
        assert batch.lengths("x").dtype == np.int32
        assert batch.mask("x").tolist() == [[True, True], [True, False]]
        assert batch.cu_seqlens("x").tolist() == [0, 2, 3]
        assert batch.max_seqlen("x") == 2
        assert batch.positions("x").tolist() == [[0, 1], [0, 0]]
        assert batch.segment_ids("x").tolist() == [[1, 1], [1, 0]]

    @pytest.mark.parametrize("values", [np.arange(5, dtype=np.int32), np.ones((5, 2), np.float32)])
    def test_a_ragged_is_passed_on_without_a_copy(self, values):
        ragged = Ragged(values, [np.array([0, 3, 3, 5], np.int64)])
        _, depth, _, packed, _ = pack_column(Kind(), ragged, batched=True)
        assert depth == 1
        assert np.shares_memory(packed, values)

    def test_other_batches_are_ragged(self):
        batch = lv.from_arrays({"x": [[1, 2], [3]]}).batch(2).first()
        assert isinstance(batch["x"], Ragged)
        assert batch["x"].to_list() == [[1, 2], [3]]


class TestWhatIsNoRecord:
    """Refused by name; nothing is made of it silently."""

    @pytest.mark.parametrize(
        ("records", "message"),
        [
            ([{"a": "x"}, {"a": 1}], "field 'a': expected a byte string, got 1 .int."),
            ([{"a": 1}, {"a": "x"}], "field 'a': expected int64 values, got strings; spec="),
            ([{"a": 1}, None], "a record must be a dict, got NoneType"),
            ([{"a": None}], "field 'a': None .NoneType. must be a number"),
            ([{"a": {"b": 1}}], "field 'a': {'b': 1} .dict. must be a number"),
            ([{"a": [[1], [2, 3]]}], "a Ragged can hold it"),
            ([{"a": 2**70}], "fits neither int64 nor uint64"),
            ([{5: 1}], "the name of a field must be a str, got 5"),
        ],
    )
    def test_in_records(self, records, message):
        with pytest.raises((TypeError, ValueError), match=message):
            list(lv.from_records(records))

    @pytest.mark.parametrize("column", [5, np.array(5), "abc", b"abc", (i for i in range(3))])
    def test_in_columns(self, column):
        with pytest.raises(TypeError, match="field 'a' must be an array or a list"):
            lv.from_arrays({"a": column})

    def test_as_a_whole(self):
        with pytest.raises(TypeError, match="columns go to from_arrays"):
            lv.from_records({"a": [1, 2]})
        with pytest.raises(TypeError, match=r"from_arrays: the columns must be .* got NoneType"):
            lv.from_arrays(None)
        with pytest.raises(TypeError, match=r"spec must be \{field: dtype or feature\}, got"):
            lv.from_records([], spec=["a"])

    def test_rows_of_nothing_are_ragged(self):
        ds = lv.from_records([{"a": []}] * 300 + [{"a": [1.5]}])
        assert [len(record["a"]) for record in ds] == [0] * 300 + [1]


class TestRaggedAsked:
    rows = Ragged(np.arange(6), [np.array([0, 1, 3, 6], np.int32)])

    @pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), 2**70, "a", [1, 2]])
    def test_padding_that_it_can_not_hold(self, value):
        with pytest.raises(ValueError, match="does not fit into int64"):
            self.rows.to_padded(value)

    @pytest.mark.parametrize("value", [-1, np.int8(-1), -1.0])
    def test_padding_that_it_can_hold(self, value):
        assert self.rows.to_padded(value)[0].tolist() == [0, -1, -1]

    def test_lengths(self):
        assert self.rows.to_padded(length=np.int64(2)).tolist() == [[0, 0], [1, 2], [3, 4]]
        with pytest.raises(ValueError, match="length=-1 must be at least 0"):
            self.rows.to_padded(length=-1)

    def test_rows(self):
        assert self.rows[np.int64(-1)].tolist() == [3, 4, 5]
        strings = lv.from_arrays({"s": [b"a", b"bc"]}).batch(2).first()["s"]
        with pytest.raises(IndexError, match="row 3 does not exist"):
            self.rows[3]
        with pytest.raises(IndexError, match="row -3 does not exist"):
            strings[-3]
        for index in ("a", 1.0, [0]):
            with pytest.raises(TypeError, match="indexed by integers and slices, got"):
                self.rows[index]


def test_what_is_no_field_of_a_batch():
    batch = lv.range(2).batch(2).first()
    for name in (0, None, "", "q", "value\0", "\ud800", b"value"):
        with pytest.raises(KeyError, match="available: value"):
            batch[name]
        assert batch.get(name) is None
        assert name not in batch


def test_lengths_are_made_once():
    batch = lv.from_arrays({"x": [[1], [2, 3]], "y": [4, 5]}).padded_batch(2).first()
    for name, lengths in {"x": [1, 2], "y": [1, 1]}.items():
        assert batch.lengths(name).tolist() == lengths
        assert batch.lengths(name) is batch.lengths(name)
    with pytest.raises(KeyError, match="unknown field 'z'"):
        batch.lengths("z")


def test_records_of_columns_of_every_form():
    given = {
        "s": ["a", "", "bcd"],
        "r": [[1], [], [2, 3]],
        "t": [["x"], [], ["", "yz"]],
        "n": [1, 2, 3],
    }
    ds = lv.from_arrays(given)
    for rows in (list(ds), list(ds.shuffle(3, seed=1))):
        found = sorted(rows, key=lambda row: row["n"])
        assert [row["s"] for row in found] == ["a", "", "bcd"]
        assert [row["r"].tolist() for row in found] == given["r"]
        assert [list(row["t"]) for row in found] == [["x"], [], ["", "yz"]]
        assert [row["n"] for row in found] == [1, 2, 3]
        assert {type(row["n"]) for row in found} == {np.int64}


def test_batches_say_how_they_are_pickled():
    batch = lv.range(2).batch(2).first()
    assert copy.copy(batch)["value"] is not None
    with pytest.raises(TypeError, match="pickle its numpy"):
        pickle.dumps(batch)
    ragged = lv.from_arrays({"x": [[1], [2, 3]], "s": ["a", "b"]}).batch(2).first()
    back = pickle.loads(pickle.dumps(ragged.numpy()))
    assert back["x"].to_list() == [[1], [2, 3]]
    assert back["s"].to_list() == [b"a", b"b"]


@pytest.mark.parametrize("block_rows", [1, 4, 256])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rows_and_slices_have_their_values_alone(depth, text, block_rows):
    def nest(level, i):
        if level == 0:
            return b"v%d" % i if text else i
        return [nest(level - 1, 10 * i + k) for k in range((i + level) % 3)]

    def flat(value):
        return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]

    def nested(lists):
        levels, rows = [], lists
        for _ in range(depth):
            levels.append(np.cumsum([0, *map(len, rows)], dtype=np.int32))
            rows = [item for row in rows for item in row]
        if not text:
            return lv.Ragged(np.array(rows, np.int64), levels)
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return lv.Ragged(lv.Bytes(np.frombuffer(b"".join(rows), np.uint8), ends), levels)

    lists = [nest(depth, i) for i in range(12)]
    ragged = nested(lists)
    for first in range(12):
        for last in range(first, 13):
            part = ragged[first:last]
            assert part.to_list() == lists[first:last] and len(part) == last - first
            assert list(part.values) == flat(lists[first:last])
            assert part[:].to_list() == part.to_list()
    ds = lv.range(12).map(lambda b: {"x": ragged[b["value"][0] : b["value"][-1] + 1]}, batched=True)
    rows = [record["x"] for record in ds.with_options(block_rows=block_rows)]
    assert [row.tolist() for row in rows] == lists
    if depth > 1:
        assert [list(row.values) for row in rows] == [flat(value) for value in lists]


WHOLE = {
    "numbers": Ragged(np.arange(6), [np.array([0, 2, 2, 6], np.int32)]),
    "rows": Ragged(np.arange(12.0).reshape(6, 2), [np.array([0, 2, 2, 6], np.int64)]),
    "nested": Ragged(np.arange(5), [np.array([0, 2, 2, 4]), np.array([0, 1, 1, 3, 5])]),
    "texts": Ragged(
        Bytes(np.arange(6, dtype=np.uint8), np.array([0, 2, 2, 6], np.int32)), [np.arange(4)]
    ),
    "text": Bytes(np.arange(6, dtype=np.uint8), np.array([0, 2, 2, 6], np.int32)),
    "part": Ragged(np.arange(9), [np.array([2, 4, 4, 7], np.int32)]),
    "part of text": Bytes(np.arange(9, dtype=np.uint8), np.array([2, 4, 4, 7], np.int32)),
    "part of texts": Ragged(
        Bytes(np.arange(9, dtype=np.uint8), np.array([2, 4, 4, 7, 9], np.int32)),
        [np.array([1, 2, 2, 4])],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("flags", [0, 2])
def test_whole_columns_are_the_same_as_their_rows(name, flags):
    """What is passed on whole is a block of the same columns as what is packed row by row."""
    column = WHOLE[name]
    whole = Batch(Columns().batch({"x": column}, flags))
    rows = Batch(Columns().batch({"x": list(column)}, flags))
    assert [field[:3] for field in whole._block.fields()] == [
        field[:3] for field in rows._block.fields()
    ]
    assert whole["x"].to_list() == rows["x"].to_list() == column.to_list()


def test_a_whole_column_of_another_kind_is_refused():
    columns = Columns()
    columns.batch({"x": WHOLE["numbers"]})
    for name in ("rows", "nested", "texts"):
        with pytest.raises(lv.errors.InvalidArgumentError, match="'x'"):
            columns.batch({"x": WHOLE[name]})
    assert len(columns.batch({"x": WHOLE["part"]}).fields()) == 1
    wrong = Bytes(np.zeros(3, np.uint8), np.array([0, 2, 1, 9]))
    with pytest.raises(lv.errors.InvalidArgumentError, match="offsets must ascend"):
        Columns().batch({"x": wrong})
