# SPDX-License-Identifier: Apache-2.0
"""What goes in from Python comes out with the same value, or an error says why not."""

import array
import math
import warnings

import levada as lv
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from levada import train as lt
from levada.errors import LevadaError

REFUSED = (TypeError, ValueError, LevadaError)
NUMPY = ["?", "i1", "i4", "i8", "u1", "u2", "u8", "f2", "f4", "f8", ">i4", ">f8", "c8", "c16"]
integers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(
        [2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
    ),
    st.integers(-(2**31), 2**32),
)
numbers = st.one_of(
    integers,
    st.booleans(),
    st.floats(),
    st.sampled_from([0.1, 1e300, 2.0**60, 1j, np.float32(0.1), np.float16(3), np.int8(-1)]),
    st.sampled_from([np.uint64(2**64 - 1), np.int64(2**62 + 1), np.uint8(200), np.bool_(1)]),
)
texts = st.one_of(
    st.binary(max_size=4), st.text(max_size=3), st.sampled_from([b"a\0", "b\0\0", b"\xff", b"", ""])
)
arrays = st.builds(
    lambda dtype, shape, seed: (
        np.random.default_rng(seed).integers(0, 2, shape).astype(dtype)
        * np.array(100).astype(dtype)
        if dtype != "?"
        else np.random.default_rng(seed).integers(0, 2, shape).astype(dtype)
    ),
    st.sampled_from(NUMPY),
    st.sampled_from([(), (0,), (3,), (2, 2), (0, 2), (1, 0)]),
    st.integers(0, 9),
)
lists = st.one_of(
    st.lists(numbers, max_size=4), st.lists(texts, max_size=4), st.lists(integers, max_size=4),
    st.lists(st.lists(integers, min_size=2, max_size=2), max_size=3),
    st.lists(st.one_of(numbers, texts), max_size=3),
)  # fmt: skip
values = st.one_of(numbers, texts, arrays, lists, st.just(None))
columns = st.one_of(
    st.lists(values, min_size=1, max_size=12),
    st.lists(lists, min_size=1, max_size=12),
    st.lists(numbers, min_size=1, max_size=12),
    st.lists(integers, min_size=1, max_size=12),
    st.lists(texts, min_size=1, max_size=12),
    st.lists(arrays, min_size=1, max_size=12),
)


def leaf(value):
    if isinstance(value, str):
        return value.encode()
    return value.item() if isinstance(value, np.generic) else value


def plain(value):
    """Nested lists of Python values."""
    if hasattr(value, "to_list"):
        value = value.to_list()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return leaf(value)


def same(a, b):
    if isinstance(a, list) or isinstance(b, list):
        if not (isinstance(a, list) and isinstance(b, list)):
            return False
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bytes) != isinstance(b, bytes):
        return False
    if isinstance(a, (float, complex)) and a != a:
        return b != b
    if isinstance(a, float) and a == 0 and isinstance(b, float):
        return b == 0 and math.copysign(1, a) == math.copysign(1, b)
    return bool(a == b)  # of integers and floats exact, in Python


def rows_of(ds, field="x"):
    return [plain(row[field]) for row in ds]


def through_batches(ds, field="x"):
    return [plain(value) for batch in ds for value in _rows(batch[field])]


def _rows(column):
    return column.to_list() if hasattr(column, "to_list") else list(column)


WAYS = {
    "a list": lambda c: rows_of(lv.from_records([{"x": v} for v in c])),
    "a generator": lambda c: rows_of(lv.from_records(lambda: ({"x": v} for v in c))),
    "arrays": lambda c: rows_of(lv.from_arrays({"x": c})),
    "map": lambda c: rows_of(lv.range(len(c)).map(lambda r: {"x": c[int(r["value"])]})),
    "map in small blocks": lambda c: rows_of(
        lv.range(len(c)).map(lambda r: {"x": c[int(r["value"])]})
        .with_options(block_rows=2, threads=1)
    ),
    "map of blocks": lambda c: rows_of(
        lv.range(len(c)).map(lambda b: {"x": [c[int(i)] for i in b["value"]]}, batched=True)
    ),
    "batches": lambda c: through_batches(lv.from_records([{"x": v} for v in c]).batch(3)),
    "map of batches": lambda c: through_batches(
        lv.range(len(c)).batch(3).map(lambda b: {"x": [c[int(i)] for i in b["value"]]},
                                      batched=True)
    ),
    "batches again": lambda c: through_batches(
        lv.from_records([{"x": v} for v in c]).batch(3).map(dict, batched=True)
    ),
    "a filter": lambda c: rows_of(lv.from_records([{"x": v} for v in c]).filter(lambda r: True)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_values_come_back_or_are_refused(way, length):
    @settings(max_examples=120 * length, deadline=None, database=None, derandomize=length == 1,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(columns)
    def check(column):
        try:
            got = WAYS[way](column)
        except REFUSED:
            return
        want = [plain(value) for value in column]
        assert same(got, want), (got, want)

    check()


DECLARED = [lv.bool, lv.int8, lv.uint8, lv.int32, lv.uint64, lv.int64, lv.float16, lv.float64]


@pytest.mark.parametrize("dtype", DECLARED, ids=str)
def test_declared_dtypes_hold_the_value_or_refuse_it(dtype, length):
    @settings(max_examples=80 * length, deadline=None, database=None, derandomize=length == 1,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.lists(numbers, min_size=1, max_size=4), st.booleans())
    def check(column, listed):
        kind = lv.VarLenFeature(dtype) if listed else dtype
        given = [[value] for value in column] if listed else column
        try:
            got = rows_of(lv.from_records([{"x": value} for value in given], spec={"x": kind}))
        except REFUSED:
            return
        for before, after in zip(plain(column), plain(got), strict=True):
            after = after[0] if listed else after
            if dtype == lv.float16 and isinstance(before, float) and math.isfinite(before):
                assert after == np.float16(before) and math.isfinite(after)  # rounded, as declared
            else:
                assert same(after, before), (after, before)

    check()


@pytest.mark.parametrize(
    ("records", "spec", "message"),
    [
        ([2**40], lv.int32, "1099511627776 does not fit int32"),
        ([-1], lv.uint8, "-1 does not fit uint8"),
        ([2], lv.bool, "2 does not fit bool"),
        ([2**53 + 1], lv.float64, "does not fit float64"),
        ([1e300], lv.float32, "does not fit float32"),
        ([1.5], lv.int64, "expected int64 values, got float64"),
        ([2**60 + 1, 0.5], None, "among floats"),
        ([[2**60 + 1, 0.5]], None, "among floats"),
        (["a", 1], None, "expected a byte string, got"),
        ([["a", 1]], None, "1 .int. in .* must be a number"),
        ([1, 2.5, "x"], None, "got strings"),
        ([None], None, "must be a number, a byte string or an array"),
        ([np.ma.array([1, 2], mask=[0, 1])], None, "masked"),
        ([np.datetime64("2020-01-01")], None, "datetime64.* is not a dtype"),
        ([np.float32(0.5)] * 9 + [0.1], None, r"0.1 does not fit float32; spec="),
        ([1] * 9 + [2.5], None, "expected int64 values, got float64; spec="),
        ([[]] * 9 + [[1]], None, "int64 values came after empty values alone; spec="),
    ],
)
def test_what_would_change_is_named(records, spec, message):
    source = [{"x": value} for value in records]
    with pytest.raises(REFUSED, match=message):
        list(lv.from_records(lambda: iter(source), spec={"x": spec} if spec else None))


def test_large_floats_of_other_containers_pass():
    for column in (array.array("d", [2.0**60, 1.5]), memoryview(array.array("d", [2.0**60, 1.5]))):
        assert [row["x"] for row in lv.from_arrays({"x": column})] == [2.0**60, 1.5]


def test_integers_and_floats_widen_in_the_first_block():
    got = list(lv.from_records(iter_of([1, 2.5, 3])))
    assert [type(row["x"]) for row in got] == [np.float64] * 3
    assert [row["x"] for row in got] == [1, 2.5, 3]
    got = list(lv.from_records(iter_of([[1], [2.5], [], [3, 4]])))
    assert [row["x"].dtype for row in got] == [np.float64] * 4
    got = list(lv.from_records(iter_of([np.float32(1), 0.1])))
    assert [row["x"] for row in got] == [1, 0.1]


def iter_of(values):
    return lambda: ({"x": value} for value in values)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda r: None, "returned None"),
        (lambda r: {}, "at least one field"),
        (lambda r: {"y": 1} if r["value"] else {"x": 1}, "lacks field|has fields"),
        (lambda r: {"x": 1, "y": 2} if r["value"] > 3 else {"x": 1}, "lacks field|has fields"),
        (lambda r: 5, "not int"),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_functions_that_return_nothing_useful(fn, message, workers):
    with pytest.raises(REFUSED, match=message):
        list(lv.range(10).map(fn, workers=workers))


def test_columns_that_are_none():
    for given_ in ({}, {"x": []}, {"x": [1]}, {"x": None}, {"x": 5}):
        with pytest.raises(REFUSED):
            list(lv.range(10).map(lambda b, g=given_: g, batched=True))
    with pytest.raises(lv.errors.InvalidArgumentError, match="2 records, others have 3"):
        lv.from_arrays({"a": [1, 2, 3], "b": [1, 2]})
    with pytest.raises(lv.errors.InvalidArgumentError, match="at least one field"):
        list(lv.from_records([{}]))


def test_what_a_generator_uses_again_is_copied():
    def records():
        record, buffer, items = {}, np.zeros(2), []
        for i in range(20):
            buffer[:] = i
            items.append(i)
            record.update(x=buffer, y=buffer[:1], i=i, items=items)
            yield record

    for i, row in enumerate(lv.from_records(records)):
        assert row["i"] == i
        assert row["x"].tolist() == [i, i]
        assert row["y"].tolist() == [i]
        assert row["items"].tolist() == list(range(i + 1))

    buffer = np.zeros(2)

    def fill(record):
        buffer[:] = record["value"]
        return {"x": buffer}

    ds = lv.range(20).map(fill).with_options(threads=1)
    assert [row["x"].tolist() for row in ds] == [[i, i] for i in range(20)]


class TestPadded:
    def test_lengths_of_a_function(self):
        def twice(batch):
            x = np.repeat(batch["x"], 2, axis=1)
            return {"x": lv.Padded(x, batch.lengths("x") * 2), "y": lv.Padded(x, [1] * len(x))}

        ds = lv.from_records([{"x": [1]}, {"x": [1, 2]}, {"x": []}]).padded_batch(3)
        batch = ds.map(twice, batched=True).first()
        assert batch.lengths("x").tolist() == [2, 4, 0]
        assert batch.lengths("y").tolist() == [1, 1, 1]
        assert batch.mask("x").tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
        assert [row["x"].tolist() for row in ds.map(twice, batched=True).unbatch()] == [
            [1, 1], [1, 1, 2, 2], []]  # fmt: skip

    def test_the_same_steps_keep_theirs(self):
        records = [{"x": [1]}, {"x": [1, 2]}, {"x": []}]
        ds = lv.from_records(records).padded_batch(3)
        batch = ds.map(lambda b: {"x": b["x"] + 1}, batched=True).first()
        assert batch.lengths("x").tolist() == [1, 2, 0]
        assert batch.mask("x").tolist() == [[True, False], [True, True], [False, False]]

    def test_other_steps_need_lengths(self):
        ds = lv.from_records([{"x": [1]}, {"x": [1, 2]}]).padded_batch(2)
        with pytest.raises(lv.errors.InvalidArgumentError, match="return it with its lengths"):
            list(ds.map(lambda b: {"x": b["x"][:, :1]}, batched=True))
        spec = {"x": lv.VarLenFeature(lv.int64)}
        with pytest.raises(lv.errors.InvalidArgumentError, match=r"levada\.Padded"):
            list(ds.map(lambda b: {"x": b["x"]}, batched=True, spec=spec))

    @pytest.mark.parametrize(
        ("values", "lengths"),
        [([1, 2], [1]), ([[1, 2]], [3]), ([[1, 2]], [-1]), ([[1, 2]], [1.0]), ([[1]], [1, 1])],
    )
    def test_lengths_that_can_not_be(self, values, lengths):
        with pytest.raises(ValueError, match=r"length|shape"):
            lv.Padded(values, lengths)

    def test_per_record_functions_are_refused(self):
        ds = lv.range(10).padded_batch(3)
        for make in (lambda: ds.map(dict), lambda: ds.filter(bool), lambda: ds.filter("value > 2"),
                     lambda: ds.map(dict, pure=False)):  # fmt: skip
            with pytest.raises(lv.errors.InvalidArgumentError, match=r"unbatch\(\)"):
                make()
        assert len(list(ds.unbatch().map(dict))) == 10


def test_examples_hold_their_numbers():
    for value in ([1e300], [-1e39, 1], [2**53 + 1, 0.5], np.array([1e39])):
        with pytest.raises(ValueError, match=r"does not fit float32|among floats"):
            lv.make_example({"x": value})
    record = lv.make_example({"x": [float("inf"), 0.5, 3]})
    got = lv.parse_single_example(record, {"x": lv.FixedLenFeature([3], lv.float32)})["x"]
    assert got.tolist() == [math.inf, 0.5, 3]


class TestQueues:
    """Digits of Python's floats may be lost; no other value changes."""

    @pytest.mark.parametrize("kind", ["one", "array", "many", "barrier"])
    @pytest.mark.parametrize(
        ("value", "dtype"),
        [
            (1e300, lv.float32),
            (-1e39, lv.float32),
            (65520.0, lv.float16),
            (1e300, lv.complex64),
            (2**24 + 1, lv.float32),
            (2**53 + 1, lv.float64),
            (2**24 + 1, lv.complex64),
            (300, lv.int8),
            (-1, lv.uint64),
            (2**63, lv.int64),
        ],
    )
    def test_a_value_that_does_not_fit_is_refused(self, kind, value, dtype):
        queue = lt.FIFOQueue(4, [dtype], [(2,) if kind == "array" else ()])
        barrier = lt.Barrier([dtype], [()])
        with pytest.raises(TypeError, match=r"fit|cannot be converted"):
            if kind == "one":
                queue.enqueue(value)
            elif kind == "array":
                queue.enqueue([[0, value]])
            elif kind == "many":
                queue.enqueue_many([[0, value]])
            else:
                barrier.insert_many(0, ["a", "b"], [0, value])
        assert queue.size() == 0 and barrier.incomplete_size() == 0

    def test_values_that_fit_come_back(self):
        for value in (2**24 + 2, 0.5, math.inf, -math.inf, 3.0000001, 1e-50, 2.0**127):
            queue = lt.FIFOQueue(4, [lv.float32], [()])
            queue.enqueue(value)
            queue.enqueue_many([[value]])
            assert queue.dequeue() == queue.dequeue() == np.float32(value)

    def test_integers_among_floats_keep_their_value(self):
        queue = lt.FIFOQueue(4, [lv.float64], [(2,)])
        with pytest.raises(TypeError, match="among floats"):
            queue.enqueue([[2**53 + 1, 0.5]])
        with pytest.raises(ValueError, match="among floats"):
            lt.input_producer([2**53 + 1, 0.5])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "uint64"])
def test_exact_values_warn_of_nothing(dtype):
    values = np.array([0, 1, 2], dtype)
    big = np.array([np.finfo(dtype).max] if values.dtype.kind in "fc" else [127], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in (values, list(values), values[1], big, [big[0], values[1]]):
            (record,) = lv.range(1).map(lambda _, made=made: {"x": made}).to_list()
            assert record["x"].dtype == dtype and np.array_equal(record["x"], np.asarray(made))
