# SPDX-License-Identifier: Apache-2.0
"""Arrow's PyCapsule interface: what levada exports and imports, against pyarrow."""

import gc
import json
import random
import threading

import levada as lv
import numpy as np
import pytest
from command import LENGTH
from levada import _levada

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NULLS = {"error": 0, "default": 1, "mask": 2}


def of_arrow(batch, nulls="error", first=0, n=-1):
    schema, array = batch.__arrow_c_array__()
    return lv.Batch(_levada.arrow_import(schema, array, NULLS[nulls], first, n))


# -- drawn types and values


def draw_type(r, depth=0, fixed=False):
    k = r.randrange(13 if depth < 3 else 8)
    if k == 2:
        return r.choice([pa.string(), pa.large_string(), pa.string_view()])
    if k == 3:
        return r.choice([pa.binary(), pa.binary_view(), pa.large_binary(), pa.binary(3)])
    if k == 5:
        return r.choice([pa.uint8(), pa.int16(), pa.uint32(), pa.uint64(), pa.float16()])
    if k == 6:
        index = r.choice([pa.int8(), pa.uint32(), pa.int64()])
        return pa.dictionary(index, r.choice([pa.string(), pa.int32()]))
    if k == 7 and not fixed and depth == 0:
        ends = r.choice([pa.int16(), pa.int32(), pa.int64()])
        return pa.run_end_encoded(ends, r.choice([pa.string(), pa.int64()]))
    if k in (8, 9) and not fixed:
        return r.choice([pa.list_, pa.large_list])(draw_type(r, depth + 1))
    if k == 10:
        return pa.list_(draw_type(r, depth + 1, True), r.randrange(1, 4))
    if k in (11, 12) and not fixed:
        return pa.struct([(f"m{i}", draw_type(r, depth + 1)) for i in range(r.randrange(1, 3))])
    return (pa.int64(), pa.float32(), pa.bool_(), pa.int8(), pa.float64())[k % 5]


def draw(r, t, nulls):
    types = pa.types
    if r.random() < nulls:
        return None
    if types.is_dictionary(t) or types.is_run_end_encoded(t):
        t = t.value_type
    if types.is_struct(t):
        return {f.name: draw(r, f.type, nulls) for f in t}
    if types.is_fixed_size_list(t):
        return [draw(r, t.value_type, nulls) for _ in range(t.list_size)]
    if types.is_list(t) or types.is_large_list(t):
        return [draw(r, t.value_type, nulls) for _ in range(r.randrange(4))]
    if types.is_fixed_size_binary(t):
        return r.randbytes(3)
    if types.is_binary(t) or types.is_large_binary(t) or types.is_binary_view(t):
        return r.randbytes(r.randrange(20))
    if types.is_string(t) or types.is_large_string(t) or types.is_string_view(t):
        return "aé漢😀xyz"[: r.randrange(7)] * r.randrange(4)
    if types.is_boolean(t):
        return r.random() < 0.5
    if types.is_float16(t):
        return np.float16(r.randrange(100))
    return float(np.float32(r.random())) if types.is_floating(t) else r.randrange(100)


class Refused(Exception):
    """A type or a null that levada does not import."""


def zero_of(t):
    types = pa.types
    if types.is_dictionary(t) or types.is_run_end_encoded(t):
        t = t.value_type
    if types.is_fixed_size_list(t):
        return [zero_of(t.value_type) for _ in range(t.list_size)]
    if types.is_struct(t):
        return {f.name: zero_of(f.type) for f in t}
    if types.is_list(t) or types.is_large_list(t):
        return []
    if types.is_boolean(t):
        return False
    if types.is_floating(t) or types.is_integer(t):
        return 0
    text = types.is_string(t) or types.is_large_string(t) or types.is_string_view(t)
    return "" if text else b""


def is_list(t):
    return pa.types.is_list(t) or pa.types.is_large_list(t)


def plain(value, t, nulls):
    """The value that levada has of one of Arrow; structs in lists have dotted names of members."""
    if value is None:
        if nulls == "error":
            raise Refused
        return zero_of(t)
    if pa.types.is_struct(t):
        return {k: plain(value[k], t.field(k).type, nulls) for k in value}
    if is_list(t) or pa.types.is_fixed_size_list(t):
        return [plain(v, t.value_type, nulls) for v in value]
    return value


def check_type(t, depth=0, fixed=False):
    if pa.types.is_struct(t):
        if fixed:
            raise Refused
        for f in t:
            check_type(f.type, depth)
    elif is_list(t):
        if fixed or depth == 4:
            raise Refused
        check_type(t.value_type, depth + 1)
    elif pa.types.is_fixed_size_list(t):
        check_type(t.value_type, depth, True)


def flat(value, name=""):
    """{dotted name: value}, with lists of structs as lists of flat dicts."""
    if isinstance(value, dict):
        parts = {}
        for k, v in value.items():
            parts.update(flat(v, f"{name}.{k}" if name else k))
        return parts
    return {name: inner(value)}


def inner(value):
    if isinstance(value, list):
        return [flat(v) if isinstance(v, dict) else inner(v) for v in value]
    return value


def masks(row, schema, name=""):
    """{name of a field: whether the record has it}."""
    parts = {}
    for f in schema:
        full = f"{name}.{f.name}" if name else f.name
        value = None if row is None else row[f.name]
        if pa.types.is_struct(f.type):
            parts.update(masks(value, f.type, full))
        else:
            parts[full] = value is not None
    return parts


@pytest.mark.parametrize("seed", range(60 * LENGTH))
def test_drawn_arrays(seed):
    r = random.Random(seed)
    types = [draw_type(r) for _ in range(r.randrange(1, 4))]
    nulls, rows = r.choice([0, 0, 0.1, 0.4]), r.choice([0, 1, 5, 40])
    try:
        arrays = [pa.array([draw(r, t, nulls) for _ in range(rows)], t) for t in types]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        pytest.skip("pyarrow does not make this array")
    whole = pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(types))])
    first = r.randrange(rows + 1)
    n = r.randrange(rows - first + 1)
    part = whole.slice(first, n)
    for how in NULLS:
        try:
            for t in types:
                check_type(t)
            want = [
                flat({f.name: plain(row[f.name], f.type, how) for f in part.schema})
                for row in part.to_pylist()
            ]
        except Refused:
            with pytest.raises(lv.errors.InvalidArgumentError):
                of_arrow(part, how)
            continue
        for batch in (of_arrow(part, how), of_arrow(whole, how, first, n)):
            made = batch.to_arrow()
            made.validate(full=True)
            got = made.to_pylist()
            if how == "mask" and n:
                valid = [
                    {k[:-6]: row.pop(k) for k in list(row) if k.endswith("_valid")} for row in got
                ]
                assert [{k: v[k] for k in m} for m, v in zip(
                    [masks(row, part.schema) for row in part.to_pylist()], valid, strict=True
                )] == [masks(row, part.schema) for row in part.to_pylist()]  # fmt: skip
            assert got == want


# -- types that pyarrow does not draw


def test_other_types():
    views = pa.ListViewArray.from_arrays(
        pa.array([2, 0, 1], pa.int32()), pa.array([1, 2, 0], pa.int32()), pa.array([1.0, 2.0, 3.0])
    )
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(18).reshape(3, 2, 3))
    bools = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2], pa.int8()))
    lists = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.uint8()), pa.array([[1], [2, 2]]))
    whole = pa.record_batch(
        {
            "views": views,
            "tensors": tensors,
            "bools": bools,
            "lists": lists,
            "day": pa.array([1, -2, 3], pa.date32()),
            "time": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        }
    )
    for first in range(3):
        batch = of_arrow(whole.slice(first))
        assert [list(v) for v in batch["views"]] == views.to_pylist()[first:]
        np.testing.assert_array_equal(batch["tensors"], np.arange(18).reshape(3, 2, 3)[first:])
        assert batch["bools"].tolist() == [False, True, True][first:]
        assert [list(v) for v in batch["lists"]] == lists.to_pylist()[first:]
        assert batch["day"].tolist() == [1, -2, 3][first:]
        assert batch["time"].tolist() == [1, 2, 3][first:]


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "float16", "bool", "uint64"])
def test_dtypes_go_round(dtype):
    bfloat16 = dtype == "bfloat16"
    kind = pytest.importorskip("ml_dtypes").bfloat16 if bfloat16 else np.dtype(dtype)
    values = np.arange(6).astype(kind).reshape(3, 2)
    batch = lv.from_arrays({"x": values}).batch(3).first()
    made = batch.to_arrow()
    if dtype == "complex64":  # pairs of floats, in Arrow as well
        assert made["x"].to_pylist()[1] == [[2.0, 0.0], [3.0, 0.0]]
        return
    again = of_arrow(made)
    assert np.asarray(again["x"]).tobytes() == values.tobytes()
    assert again["x"].dtype == batch["x"].dtype


# -- export


def test_objects_are_structs(tmp_path):
    rows = [
        {"id": i, "chat": [{"role": "u", "parts": [{"n": k} for k in range(i)]}] * (i % 3)}
        for i in range(9)
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ds = lv.open(path)
    assert pa.table(ds).to_pylist() == rows
    assert pa.table(ds.batch(2)).to_pylist() == rows
    assert of_arrow(ds.batch(9).first().to_arrow()).to_arrow().to_pylist() == rows
    lv.write(ds, tmp_path / "chat.parquet")
    assert lv.open(tmp_path / "chat.parquet").to_list() == ds.to_list()
    assert pa.types.is_struct(
        pq.read_schema(tmp_path / "chat.parquet").field("chat").type.value_type
    )


def test_a_changed_member_of_objects_is_refused(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"m": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}\n')
    batch = lv.open(path).batch(1).first()
    columns = [
        (name, *rest)
        for name, rest in zip(
            ("m.a", "m.b"),
            (
                ("int64", 1, (), np.array([1, 3]), [np.array([0, 2], "i4")], None, b"\1\0\0\0"),
                ("int64", 1, (), np.array([2]), [np.array([0, 1], "i4")], None, b"\1\0\0\0"),
            ),
            strict=True,
        )
    ]
    forged = lv.Batch(_levada.build(1, columns, ()))
    assert batch.to_arrow().num_rows == 1
    with pytest.raises(lv.errors.InvalidArgumentError, match=r"'m\.a' and 'm\.b'"):
        forged.to_arrow()


def test_arrays_outlive_everything():
    batch = lv.range(100).map(lambda r: {"x": np.arange(r["value"])}).batch(100).first()
    made = pa.record_batch(batch)
    column = made["x"]
    del batch, made
    gc.collect()
    assert column.to_pylist()[99] == list(range(99))
    done = []
    thread = threading.Thread(target=lambda c: done.append(len(c)), args=(column,))
    del column
    thread.start()
    thread.join()
    assert done == [100]


# -- streams


def test_streams_are_lazy_and_end_early():
    read = []

    def note(row):
        read.append(int(row["value"]))
        return row

    ds = lv.range(10_000).map(note).batch(10).with_options(threads=1)
    reader = pa.RecordBatchReader.from_stream(ds)
    first = reader.read_next_batch()
    assert first["value"].to_pylist() == list(range(10))
    assert len(read) < 5_000
    del reader
    gc.collect()


def test_a_stream_fails_with_the_text_of_the_error():
    def odd(row):
        if row["value"] == 7:
            raise ValueError("seven is odd")
        return row

    with pytest.raises(OSError, match="seven is odd"):
        pa.table(lv.range(10).map(odd).with_options(block_rows=2))


def test_a_stream_without_blocks_has_the_columns_of_its_dataset():
    ds = lv.from_records([], spec={"x": [lv.int64], "m": [{"a": lv.text}]})
    schema = pa.schema(
        [("x", pa.list_(pa.int64())), ("m", pa.list_(pa.struct([("a", pa.utf8())])))]
    )
    assert pa.schema(ds) == schema
    assert pa.table(ds) == schema.empty_table()
    assert pa.table(iter(ds.batch(2))).schema == schema
    assert pa.schema(lv.from_records([])) == pa.schema([])


def test_a_stream_of_an_iterator_goes_on():
    it = iter(lv.range(10).batch(2))
    next(it)
    assert pa.table(it)["value"].to_pylist() == list(range(2, 10))
    with pytest.raises(TypeError, match="blocks"):
        pa.table(iter(lv.range(10)))


def test_capsules_that_nobody_takes_are_freed():
    batch = lv.range(10).batch(10).first()
    for _ in range(100):
        batch.__arrow_c_array__()
        batch.__arrow_c_schema__()
        lv.range(10).__arrow_c_stream__()
    gc.collect()
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        _levada.arrow_import(batch.__arrow_c_stream__(), batch.__arrow_c_stream__())
