# SPDX-License-Identifier: Apache-2.0
"""Arrow, Parquet and Hugging Face as sources, and datasets as streams of Arrow."""

import datetime
import decimal
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import levada as lv
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")
pq = pytest.importorskip("pyarrow.parquet")

LISTS = [[1, 2], [], [3]]
DAY = datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC)


def as_lists(value):
    if hasattr(value, "to_list"):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value


def read(array, **options):
    """{field: values} of a column x."""
    ds = lv.from_arrow(pa.RecordBatch.from_arrays([array], ["x"]), **options)
    rows = list(ds)
    return {name: [as_lists(row[name]) for row in rows] for name in ds.spec}


def list_view(kind):
    offsets, sizes = pa.array([0, 0, 2], pa.int32()), pa.array([2, 0, 1], pa.int32())
    made = pa.LargeListViewArray if kind == "large" else pa.ListViewArray
    if kind == "large":
        offsets, sizes = offsets.cast(pa.int64()), sizes.cast(pa.int64())
    return made.from_arrays(offsets, sizes, pa.array([1, 2, 3], pa.int64()))


MAPPING = {
    "list": (pa.array(LISTS, pa.list_(pa.int32())), LISTS),
    "sliced": (pa.array([[9, 9], *LISTS], pa.list_(pa.int32()))[1:], LISTS),
    "large_list": (pa.array(LISTS, pa.large_list(pa.int64())), LISTS),
    "list_view": (list_view("small"), LISTS),
    "large_list_view": (list_view("large"), LISTS),
    "fixed_size_list": (pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2)), [[1, 2], [3, 4]]),
    "sliced fixed": (pa.array([[0, 0], [1, 2]], pa.list_(pa.int8(), 2))[1:], [[1, 2]]),
    "utf8": (pa.array(["a", "", "bc"]), ["a", "", "bc"]),
    "sliced utf8": (pa.array(["zz", "a", "", "bc"])[1:], ["a", "", "bc"]),
    "large_utf8": (pa.array(["a", "bc"], pa.large_string()), ["a", "bc"]),
    "string_view": (pa.array(["a", "longer than twelve bytes"], pa.string_view()),
                    ["a", "longer than twelve bytes"]),
    "binary": (pa.array([b"\xff", b""]), [b"\xff", b""]),
    "binary_view": (pa.array([b"a"], pa.binary_view()), [b"a"]),
    "fixed_size_binary": (pa.array([b"ab", b"cd"], pa.binary(2)), [b"ab", b"cd"]),
    "strings": (pa.array([["a", "bc"], []], pa.list_(pa.string())), [["a", "bc"], []]),
    "bytes in lists": (pa.array([[b"\xff"], []], pa.list_(pa.binary())), [[b"\xff"], []]),
    "dictionary": (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    "run_end": (pc.run_end_encode(pa.array([1, 1, 2])), [1, 1, 2]),
    "bool": (pa.array([True, False, True])[1:], [False, True]),
    "half": (pa.array(np.array([1, 2], np.float16)), [1, 2]),
    "uint64": (pa.array([2**63], pa.uint64()), [2**63]),
    "timestamp": (pa.array([DAY], pa.timestamp("us", "UTC")), [int(DAY.timestamp() * 10**6)]),
    "date32": (pa.array([datetime.date(1970, 1, 3)]), [2]),
    "date64": (pa.array([datetime.date(1970, 1, 3)], pa.date64()), [2 * 86_400_000]),
    "time32": (pa.array([7], pa.time32("s")), [7]),
    "duration": (pa.array([7], pa.duration("ms")), [7]),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPPING)
def test_the_mapping(name):
    array, expected = MAPPING[name]
    assert read(array) == {"x": expected}
    assert read(array.slice(1)) == {"x": expected[1:]}


def test_lists_of_lists():
    array = pa.array([[[1], []], [[2, 3]]], pa.list_(pa.list_(pa.int64())))
    rows = list(lv.from_arrow(pa.table({"x": array})))
    assert [row["x"].to_list() for row in rows] == [[[1], []], [[2, 3]]]


def test_structs():
    array = pa.array([{"a": 1, "b": [1.5]}, {"a": 2, "b": []}])
    assert read(array) == {"x.a": [1, 2], "x.b": [[1.5], []]}


CHATS = [
    [{"role": "user", "n": [1, 2]}, {"role": "größer", "n": []}],
    [],
    [{"role": "", "n": [3]}],
]
LISTS_OF_STRUCTS = {
    "list": pa.array(CHATS),
    "sliced": pa.array([CHATS[0], *CHATS])[1:],
    "large_list": pa.array(CHATS).cast(
        pa.large_list(pa.struct({"role": pa.large_string(), "n": pa.large_list(pa.int64())}))
    ),
}


@pytest.mark.parametrize("name", LISTS_OF_STRUCTS)
def test_lists_of_structs_are_lists_of_dicts(name):
    ds = lv.from_arrow(pa.table({"m": LISTS_OF_STRUCTS[name]}))
    assert [row["m"] for row in ds] == CHATS
    assert [ds[i]["m"] for i in (2, 0)] == [CHATS[2], CHATS[0]]
    assert ds.batch(3).first()["m.role"].values.str() == ["user", "größer", ""]
    assert sorted(len(row["m"]) for row in ds.shuffle(3, seed=1)) == [0, 1, 2]


def test_members_of_structs_in_lists_are_in_the_spec(tmp_path):
    rows = [{"m": [{"a": "p", "b": 1}]}, {"m": []}, {"m": [{"a": "", "b": 2}] * 2}]
    spec = lv.from_arrow(pa.Table.from_pylist(rows)).spec
    assert {name: str(field.dtype) for name, field in spec.items()} == {
        "m.a": "text",
        "m.b": "int64",
    }
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "m.parquet", row_group_size=2)
    ds = lv.parquet(tmp_path / "m.parquet")
    assert list(ds) == rows
    assert list(ds.with_options(threads=2).map(lambda row: row)) == rows
    with ds.iterate() as it:
        first = next(it)
        state = it.save()
    with ds.iterate() as it:
        it.restore(state)
        assert [first, *it] == rows


def test_structs_in_lists_of_lists():
    rows = [{"x": [[{"a": 1, "in": [{"b": "p"}]}], []]}, {"x": [[{"a": 2, "in": []}] * 2]}]
    assert list(lv.from_arrow(pa.Table.from_pylist(rows))) == rows
    array = pa.array([[[[[[{"a": 1}]]]]]])
    with pytest.raises(lv.errors.InvalidArgumentError, match="more than 4 levels of lists"):
        lv.from_arrow(pa.table({"x": array}))


def test_null_lists_of_structs():
    table = pa.table({"m": pa.array([[{"a": "p"}], None, [{"a": "q"}]])})
    rows = [[{"a": "p"}], [], [{"a": "q"}]]
    ds = lv.from_arrow(table, nulls="default")
    assert [row["m"] for row in ds] == rows and ds[1]["m"] == []
    assert [row["m"] for row in lv.from_arrow(table.slice(1), nulls="default")] == rows[1:]
    with pytest.raises(lv.errors.InvalidArgumentError, match="field 'm' is null"):
        list(lv.from_arrow(table))
    skipping = lv.from_arrow(table).with_options(errors="skip")
    assert [row["m"] for row in skipping] == [rows[0], rows[2]]


def test_text_of_files_is_checked(tmp_path):
    marks = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 2, [None, marks, pa.py_buffer(b"a\xff")])
    table = pa.table({"t": bad})
    with (
        pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as f,
    ):
        f.write_table(table)
    ds = lv.arrow(tmp_path / "t.arrow")
    with pytest.raises(lv.errors.InvalidArgumentError, match="'t' must be UTF-8, got byte 0xff"):
        list(ds)
    assert [row["t"] for row in ds.with_options(errors="skip")] == ["a"]


def test_tensors_as_extensions():
    kind = pa.fixed_shape_tensor(pa.int32(), [2, 2])
    array = pa.ExtensionArray.from_storage(kind, pa.array([[1, 2, 3, 4]], pa.list_(pa.int32(), 4)))
    assert read(array) == {"x": [[[1, 2], [3, 4]]]}


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (pa.array([decimal.Decimal("1.5")]), "decimal"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map"),
        (pa.nulls(2), "nulls"),
        (pa.array([[[1], [2, 3]]], pa.list_(pa.list_(pa.int64()), 2)), "fixed_size_list"),
    ],
)
def test_what_is_not_supported(array, what):
    with pytest.raises(lv.errors.InvalidArgumentError, match=f"field 'x'.*{what}"):
        list(lv.from_arrow(pa.table({"x": array, "y": pa.array([0] * len(array))})))
    assert len(list(lv.from_arrow(pa.table({"x": array, "y": [0] * len(array)}), columns="y"))) > 0


NULLS = {
    "int": (pa.array([1, None, 3]), [1, 0, 3]),
    "list": (pa.array([[1], None, [2]]), [[1], [], [2]]),
    "inside": (pa.array([[1, None], [2]]), [[1, 0], [2]]),
    "text": (pa.array(["a", None]), ["a", ""]),
    "bool": (pa.array([True, None]), [True, False]),
    "time": (pa.array([DAY, None], pa.timestamp("s", "UTC")), [int(DAY.timestamp()), 0]),
    "fixed": (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), [[1, 2], [0, 0]]),
    "list_view": (list_view("small").take(pa.array([0, None, 2])), [[1, 2], [], [3]]),
}


@pytest.mark.parametrize("name", NULLS)
def test_nulls(name):
    array, filled = NULLS[name]
    assert read(array, nulls="default") == {"x": filled}
    ds = lv.from_arrow(pa.table({"x": array}))
    with pytest.raises(lv.errors.InvalidArgumentError, match="'x' is null; nulls=default"):
        list(ds)
    good = [value for value, is_null in zip(filled, bad_rows(array), strict=True) if not is_null]
    assert [as_lists(row["x"]) for row in ds.with_options(errors="skip")] == good


def bad_rows(array):
    return [
        value is None or (isinstance(value, list) and None in value) for value in array.to_pylist()
    ]


def rows_table(n=1000):
    lists = [list(range(i % 7)) for i in range(n)]
    return pa.table({"i": pa.array(range(n)), "x": pa.array(lists, pa.list_(pa.int32()))})


def in_files(tmp_path, kind, n=1000, rows=90):
    table = rows_table(n)
    for k, piece in enumerate([table.slice(0, n // 2), table.slice(n // 2)]):
        path = tmp_path / f"{k}.{kind}"
        if kind == "parquet":
            pq.write_table(piece, path, row_group_size=rows, compression="zstd")
        else:
            make = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
            with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
                writer.write_table(piece, max_chunksize=rows)
    return table, (lv.parquet if kind == "parquet" else lv.arrow), tmp_path / f"*.{kind}"


KINDS = ("arrow", "arrows", "parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_files(tmp_path, kind):
    table, source, pattern = in_files(tmp_path, kind)
    ds = source(pattern)
    assert [int(r["i"]) for r in ds] == list(range(1000)) and len(ds) == 1000
    assert ds[503]["x"].tolist() == table["x"][503].as_py()
    assert sorted(int(r["i"]) for r in source(pattern, shuffle_records=True)) == list(range(1000))
    parts = [[int(r["i"]) for r in part] for part in ds.parts(3)]
    assert [i for part in parts for i in part] == list(range(1000))
    assert all(len(part) > 300 for part in parts)
    assert list(source(pattern, columns="x").spec) == ["x"]
    again = pickle.loads(pickle.dumps(ds))
    assert [int(r["i"]) for r in again] == list(range(1000))


@pytest.mark.parametrize("kind", KINDS)
def test_resume_is_exact_and_small(tmp_path, kind):
    _, source, pattern = in_files(tmp_path, kind)

    def make():
        return source(pattern).shuffle(50, seed=1).batch(8).with_options(block_rows=32)

    for stop in (0, 5, 11, 60, 124):
        with make().iterate() as it:
            for _ in range(stop):
                next(it)
            state = it.save()
            rest = [batch["i"].tolist() for batch in it]
        with make().iterate() as it:
            it.restore(state)
            assert [batch["i"].tolist() for batch in it] == rest
        assert len(state) < 2500


@pytest.mark.parametrize("kind", KINDS)
def test_changed_and_damaged_files(tmp_path, kind):
    _, source, pattern = in_files(tmp_path, kind)
    with source(pattern).batch(8).iterate() as it:
        next(it)
        state = it.save()
    first, second = sorted(tmp_path.glob(f"*.{kind}"))
    second.write_bytes(first.read_bytes())
    with source(pattern).batch(8).iterate() as it, pytest.raises(lv.errors.FailedPreconditionError):
        it.restore(state)
    second.write_bytes(first.read_bytes()[:-20] if kind != "arrows" else first.read_bytes()[:-300])
    with pytest.raises(lv.errors.DataLossError, match=second.name):
        source(pattern)
    table = pa.table({"i": [1.5]})
    if kind == "parquet":
        pq.write_table(table, second)
    else:
        with pa.OSFile(str(second), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(lv.errors.FailedPreconditionError, match="different schemas"):
        source(pattern)


@pytest.mark.parametrize("kind", ["arrow", "arrows", "parquet"])
@pytest.mark.parametrize("how", ["replaced", "written to", "copied for another process"])
def test_files_that_change_between_epochs_are_noticed(tmp_path, kind, how):
    _, source, pattern = in_files(tmp_path, kind)
    ds = source(pattern).batch(8)
    rows = len(list(ds))
    _, second = sorted(tmp_path.glob(f"*.{kind}"))
    made = second.read_bytes()
    if how == "written to":
        second.write_bytes(made)
        os.utime(second, (1, 1))
    else:
        (tmp_path / "new").write_bytes(made)
        os.replace(tmp_path / "new", second)
    if how == "copied for another process":
        assert len(list(pickle.loads(pickle.dumps(ds)))) == rows
        second.write_bytes(made[:-200] + bytes(190) + made[-10:])
        ds = pickle.loads(pickle.dumps(ds))
    for read in (list, lambda each: list(each.repeat(2))):
        with pytest.raises(lv.errors.FailedPreconditionError, match="replaced or written") as told:
            read(ds)
        assert second.name in told.value.file or how.startswith("copied")
    if how != "copied for another process":
        assert len(list(source(pattern).batch(8))) == rows


def test_parquet_refuses_a_shuffle_that_decodes_too_much(tmp_path):
    table = pa.table({"x": np.arange(20_000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=20_000)
    with pytest.raises(lv.errors.InvalidArgumentError, match="cache_row_groups"):
        lv.parquet(tmp_path / "a.parquet", shuffle_records=True)
    ds = lv.parquet(tmp_path / "a.parquet", shuffle_records=True, cache_row_groups=2)
    assert len(ds) == 20_000 and ds[19_999]["x"] == 19_999


def test_many_chunks_are_not_joined():
    table = pa.concat_tables([pa.table({"x": [i]}) for i in range(1000)])
    ds = lv.from_random_access(table, shuffle_records=True)
    assert sorted(int(r["x"]) for r in ds) == list(range(1000))


class Exporter:
    """An object with nothing but the protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_other_exporters():
    assert len(lv.from_arrow(Exporter(rows_table(10)))) == 10
    assert len(lv.from_arrow(rows_table(10).to_reader()).to_list()) == 10
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [[1], []], "c": pl.Series(["a", "b"], dtype=pl.Categorical)})
    assert [r["x"].tolist() for r in lv.from_arrow(frame)] == [[1], []]


def test_streams_out():
    ds = lv.from_arrow(rows_table(600))
    table = pa.table(ds)
    table.validate(full=True)
    assert table["i"].to_pylist() == list(range(600))
    assert table["x"].to_pylist() == rows_table(600)["x"].to_pylist()
    padded = pa.table(ds.padded_batch(7))
    assert padded["x"].to_pylist() == rows_table(600)["x"].to_pylist()
    with ds.padded_batch(8).iterate() as it:
        first = next(it)
        assert pa.table(first)["x"].to_pylist() == rows_table(8)["x"].to_pylist()
        assert pa.table(it)["i"].to_pylist() == list(range(8, 600))
    assert pa.schema(ds).names == ["i", "x"]


def test_write_parquet(tmp_path):
    assert lv.write(lv.from_arrow(rows_table()), tmp_path / "out.parquet") == 1000
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == rows_table()["x"].to_pylist()
    assert [int(r["i"]) for r in lv.open(tmp_path / "out.parquet")] == list(range(1000))
    with pytest.raises(ValueError, match="boom"):
        lv.write(lv.range(9).map(lambda r: {"x": boom(r["value"])}), tmp_path / "bad.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def boom(value):
    if value == 5:
        raise ValueError("boom")
    return value


def test_hugging_face_has_chats():
    datasets = pytest.importorskip("datasets")
    hf = datasets.Dataset.from_dict({"m": CHATS})
    assert [row["m"] for row in lv.from_hf(hf)] == CHATS
    chosen = lv.from_hf(hf.select([2, 0, 0]))
    assert [row["m"] for row in chosen] == [CHATS[2], CHATS[0], CHATS[0]]


def test_hugging_face(tmp_path):
    datasets = pytest.importorskip("datasets")
    hf = datasets.Dataset(rows_table(100))
    ds = lv.from_hf(hf)
    assert [int(r["i"]) for r in ds] == list(range(100)) and ds[5]["x"].tolist() == [0, 1, 2, 3, 4]
    chosen = hf.shuffle(seed=1).select(range(10, 40))
    assert [int(r["i"]) for r in lv.from_hf(chosen)] == chosen["i"][:]
    shuffled = lv.from_random_access(chosen, shuffle_records=True)
    assert sorted(int(r["i"]) for r in shuffled) == sorted(chosen["i"][:])
    doubled = hf.with_transform(lambda batch: {"i": [2 * i for i in batch["i"]]})
    assert [int(r["i"]) for r in lv.from_hf(doubled)] == list(range(0, 200, 2))
    assert len(list(lv.from_hf(hf.to_iterable_dataset()))) == 100
    with pytest.raises(TypeError, match="DatasetDict"):
        lv.from_hf(datasets.DatasetDict(train=hf))
    with lv.from_hf(hf).batch(8).iterate() as it:
        state = it.save()
    other = datasets.Dataset(rows_table(100).slice(0, 100).append_column("z", [list(range(100))]))
    with lv.from_hf(other).batch(8).iterate() as it:
        with pytest.raises(lv.errors.FailedPreconditionError):
            it.restore(state)


def test_pyarrow_is_not_imported_before():
    code = "import levada as lv, sys; lv.from_random_access([{'x': 1}])"
    code += "; print('pyarrow' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.parametrize("block_rows", [1, 3, 256])
def test_a_null_next_to_lists_of_objects_rejects_its_record_alone(block_rows):
    deep = [{"p": 1, "q": "é", "r": [{"s": [1, 2]}]}, {"p": 2, "q": "", "r": []}]
    lists = [deep, [], [{"p": 3, "q": None, "r": []}], None, deep[1:]]
    table = pa.table({"i": range(30), "m": lists * 6})
    ds = lv.from_arrow(table).with_options(errors="skip", block_rows=block_rows)
    expected = [{"i": i, "m": lists[i % 5]} for i in range(30) if i % 5 not in (2, 3)]
    assert ds.to_list() == expected


@pytest.fixture(name="groups")
def made_groups(tmp_path):
    """Two files of 5 and 3 row groups with 10 records, which ascend."""
    for name, first, n in (("a", 0, 50), ("b", 50, 30)):
        table = pa.table({"x": list(range(first, first + n)), "y": [[v] for v in range(n)]})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)
    return tmp_path / "*.parquet"


def values(ds):
    return [int(record["x"]) for record in ds.iterate(0)]


def test_row_groups_are_read_in_the_given_order(groups):
    ds = lv.parquet(groups, row_groups=[6, 0])
    want = [*range(60, 70), *range(10)]
    assert values(ds) == want and len(ds) == 20 and int(ds[0]["x"]) == 60
    assert values(lv.parquet(groups, row_groups=[])) == []
    shuffled = lv.parquet(groups, row_groups=[6, 0], shuffle_records=True, cache_row_groups=2)
    assert sorted(values(shuffled)) == sorted(want)
    assert values(lv.parquet(groups, row_groups=[6, 0], part=(1, 2))) == want[10:]
    for bad in ([8], [-1]):
        with pytest.raises(lv.errors.InvalidArgumentError, match="must be 0 to 7"):
            lv.parquet(groups, row_groups=bad)


def test_filters_leave_out_row_groups_by_their_statistics(groups):
    import pyarrow.dataset as pads

    x = pads.field("x")
    for filters in ([("x", ">", 57), ("x", "<", 63)], (x > 57) & (x < 63)):
        assert values(lv.parquet(groups, filters=filters)) == list(range(50, 70))
    assert values(lv.parquet(groups, filters=[("x", "==", 12)], columns="x")) == list(range(10, 20))
    assert values(lv.parquet(groups, filters=[("x", ">", 900)])) == []
    both = lv.parquet(groups, row_groups=[7, 5, 1], filters=[("x", ">", 50)])
    assert values(both) == [*range(70, 80), *range(50, 60)]
    found = lv.parquet(groups, filters=[("x", "==", 12)]).filter("x == 12")
    assert values(found) == [12]
    with pytest.raises(lv.errors.InvalidArgumentError, match="filters"):
        lv.parquet(groups, filters=[("nope", "==", 12)])


def test_a_state_belongs_to_its_row_groups(groups):
    ds = lv.parquet(groups, row_groups=[6, 0]).batch(3)
    it = ds.iterate(0)
    next(it)
    state, rest = it.save(), [batch["x"].tolist() for batch in it]
    again = ds.iterate(0)
    again.restore(state)
    assert [batch["x"].tolist() for batch in again] == rest
    for other in ([0, 6], [6, 1], [6, 0, 1]):
        it = lv.parquet(groups, row_groups=other).batch(3).iterate(0)
        with pytest.raises(lv.errors.FailedPreconditionError):
            it.restore(state)
    everything = lv.parquet(groups).batch(3).iterate(0).save()
    it = lv.parquet(groups, filters=[("x", ">=", 0)]).batch(3).iterate(0)
    it.restore(everything)


def test_a_mask_says_which_values_are_null(tmp_path):
    table = pa.table(
        {
            "x": pa.array([1, None, 3]),
            "s": pa.array(["a", None, ""]),
            "l": pa.array([[1, None], None, []], pa.list_(pa.int32())),
            "p": pa.array([{"a": None, "b": 2}, None, {"a": 5, "b": 6}]),
            "m": pa.array([[{"r": "q"}], None, []]),
        }
    )
    pq.write_table(table, tmp_path / "n.parquet")
    for ds in (
        lv.from_arrow(table, nulls="mask"),
        lv.parquet(tmp_path / "n.parquet", nulls="mask"),
    ):
        records = ds.to_list()
        assert [bool(r["x_valid"]) for r in records] == [True, False, True]
        assert [bool(r["s_valid"]) for r in records] == [True, False, True]
        assert [bool(r["l_valid"]) for r in records] == [True, False, True]
        assert [bool(r["p.a_valid"]) for r in records] == [False, False, True]
        assert [bool(r["p.b_valid"]) for r in records] == [True, False, True]
        assert [bool(r["m.r_valid"]) for r in records] == [True, False, True]
        assert [int(r["x"]) for r in records] == [1, 0, 3]
        assert [r["l"].tolist() for r in records] == [[1, 0], [], []]
        batch = ds.padded_batch(3).first()
        assert batch["x_valid"].dtype == bool and batch["x_valid"].tolist() == [True, False, True]
        assert len(ds) == 3 and bool(ds[1]["x_valid"]) is False
    empty = lv.from_arrow(table.slice(0, 0), nulls="mask")
    assert empty.to_list() == [] and "x_valid" in empty.spec
    with pytest.raises(lv.errors.InvalidArgumentError, match="'mask'"):
        lv.from_arrow(table, nulls="masks")


def damaged_columns():
    """Columns of every form of offsets, damaged in the middle, which pyarrow accepts."""
    from_buffers, far = pa.Array.from_buffers, 1 << 29
    ten, data = pa.array(range(10)), pa.py_buffer(b"x" * 20)

    def numbers(*values, kind=np.int32):
        return pa.py_buffer(np.array(values, kind).tobytes())

    long = numbers(0, 6, far, 18, kind=np.int64)
    strings = from_buffers(pa.utf8(), 3, [None, numbers(0, far, far, 18), data])
    lists = [None, numbers(0, far, 5, 10)]
    views = [None, numbers(0, far, 2), numbers(1, 1, 1)]
    indexes = from_buffers(pa.int32(), 3, [None, numbers(0, -1, 3)])
    return {
        "strings": strings,
        "large strings": from_buffers(pa.large_utf8(), 3, [None, long, data]),
        "lists": from_buffers(pa.list_(pa.int64()), 3, lists, children=[ten]),
        "views of lists": from_buffers(pa.list_view(pa.int64()), 3, views, children=[ten]),
        "lists of strings": from_buffers(
            pa.list_(pa.utf8()), 2, [None, numbers(0, 1, 3)], children=[strings]
        ),
        "a dictionary": pa.DictionaryArray.from_arrays(indexes, pa.array(["a"]), safe=False),
    }


@pytest.mark.parametrize("name", damaged_columns())
@pytest.mark.parametrize("block_rows", [1, 256])
def test_damaged_arrays_are_errors(name, block_rows):
    column = damaged_columns()[name]
    with pytest.raises(lv.errors.DataLossError):
        lv.from_arrow(pa.table({"x": column})).with_options(block_rows=block_rows).to_list()


@pytest.mark.parametrize("name", damaged_columns())
@pytest.mark.parametrize("block_rows", [1, 2, 256])
def test_damaged_arrays_are_errors_in_any_order(name, block_rows):
    column = damaged_columns()[name]
    whole = pa.table({"x": pa.chunked_array([column, column, column])})
    ds = lv.from_arrow(whole, shuffle_records=True).with_options(block_rows=block_rows)
    with pytest.raises(lv.errors.DataLossError):
        ds.to_list()


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", ["arrow", "stream"])
def test_damaged_words_of_files_never_crash(tmp_path, kind, shuffled):
    rng, n = np.random.default_rng(1), 40
    table = pa.table({
        "s": [f"a{'é' * (i % 5)}" for i in range(n)],
        "u": pa.array(["abc" * (i % 3) for i in range(n)], pa.large_utf8()),
        "l": [[[1] * (i % 3)] * (i % 4) for i in range(n)],
        "d": pa.array([f"k{i % 4}" for i in range(n)]).dictionary_encode(),
        "v": pa.array(["x" * (i % 30) for i in range(n)], pa.string_view()),
        "o": [[{"a": i, "b": "q" * i}] * (i % 3) for i in range(n)],
    })  # fmt: skip
    path, words = tmp_path / "x.arrow", [-1, 2**31 - 1, -(2**31), 7, 1000]
    damaged = 0
    for name in table.column_names * 40:
        made = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with made(str(path), table.select([name]).schema) as writer:
            writer.write_table(table.select([name]))
        data = np.frombuffer(path.read_bytes()[: path.stat().st_size // 4 * 4], "<i4").copy()
        data[rng.integers(50, len(data) - 1, 2)] = rng.choice(words, 2)
        rest = path.read_bytes()[len(data) * 4 :]
        path.write_bytes(data.tobytes() + rest)
        try:
            lv.arrow(path, shuffle_records=shuffled).to_list()
        except lv.errors.LevadaError:
            damaged += 1
    assert damaged > 20


# -- memory that is shared


def within(array, buffer):
    return buffer.address <= array.ctypes.data < buffer.address + buffer.size


def shared_table(n=3000):
    texts = [f"text {i}" for i in range(n)]
    return pa.table({
        "n": np.arange(n, dtype=np.int64),
        "x": pa.array([list(range(i % 5)) for i in range(n)], pa.list_(pa.int64())),
        "s": pa.array(texts, pa.utf8()),
        "f": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2 * n, dtype=np.float32)), 2),
        "null": pa.array([None if i == 700 else i for i in range(n)], pa.int64()),
        "flag": pa.array([i % 3 == 0 for i in range(n)], pa.bool_()),
    })  # fmt: skip


def mapped_ranges(path):
    """The addresses at which this process has mapped a file."""
    with open("/proc/self/maps") as maps:
        found = [line.split()[0].split("-") for line in maps if line.rstrip().endswith(path)]
    return [range(int(a, 16), int(b, 16)) for a, b in found]


@pytest.mark.parametrize("block_rows", [7, 256])
def test_blocks_share_the_memory_of_a_mapped_file(tmp_path, block_rows):
    table, path = shared_table(), str(tmp_path / "x.arrow")
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2 * block_rows)
    ds = lv.arrow(path, nulls="default").with_options(threads=1, block_rows=block_rows)
    shared, count = dict.fromkeys(["n", "x", "f", "null", "flag"], 0), 0
    with ds.blocks() as blocks:
        for block in blocks:
            count += 1
            ranges = mapped_ranges(path)
            for name in shared:
                values = getattr(block[name], "values", block[name])
                inside = any(values.ctypes.data in mapped for mapped in ranges)
                assert not (inside and values.flags.writeable)
                shared[name] += inside
    assert shared["n"] == shared["x"] == shared["f"] == count
    assert shared["null"] == count - 1 and shared["flag"] == 0
    assert str(ds.to_list()) == str(lv.from_arrow(table, nulls="default").to_list())


def test_blocks_share_a_table_but_for_the_ends_of_its_arrays():
    table = shared_table()
    values = table.column("n").chunk(0).buffers()[1]
    with lv.from_arrow(table, columns="n").with_options(threads=1).blocks() as blocks:
        shared = [within(block["n"], values) for block in blocks]
    assert shared == [False] + [True] * (len(shared) - 2) + [False]


def test_shared_values_outlive_the_table_and_are_not_written_to():
    table = shared_table()
    want = table.slice(256, 256).to_pydict()
    it = iter(lv.from_arrow(table, columns=["n", "s"]).with_options(threads=1).blocks())
    next(it)
    block = next(it)
    numbers = block["n"]
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 1
    del it, table
    pa.default_memory_pool().release_unused()
    rubbish = [pa.array(np.full(3000, -1)) for _ in range(20)]
    assert numbers.tolist() == want["n"]
    assert [text.decode() for text in block["s"].to_list()] == want["s"]
    del block, rubbish
    assert numbers.tolist() == want["n"]
    batch = lv.from_arrow(shared_table(), columns="n").batch(256).first()
    batch["n"][0] = 7  # a batch has its own memory


@pytest.mark.parametrize("threads", [1, 3])
def test_shuffled_records_of_many_chunks(threads):
    parts = [shared_table(n) for n in (1, 700, 0, 300, 5)]
    table = pa.concat_tables(parts)
    for block_rows in (1, 64, 256):
        ds = lv.from_arrow(table, nulls="default", shuffle_records=True)
        rows = ds.with_options(threads=threads, block_rows=block_rows, seed=3).to_list()
        whole = lv.from_arrow(table, nulls="default").to_list()
        assert sorted(map(str, rows)) == sorted(map(str, whole)) and str(rows) != str(whole)


# -- streams


def stream_of(n=1000, size=300, seen=None):
    schema = pa.schema({"x": pa.int64()})

    def batches():
        for at in range(0, n, size):
            if seen is not None:
                seen.append(at)
            yield pa.record_batch([pa.array(range(at, min(at + size, n)))], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def test_a_reader_is_streamed_once():
    seen = []
    ds = lv.from_arrow(stream_of(seen=seen)).with_options(threads=1)
    assert list(ds.spec) == ["x"] and seen == []
    it = iter(ds)
    assert [next(it)["x"] for _ in range(10)] == list(range(10)) and seen == [0]
    with pytest.raises(lv.errors.UnimplementedError, match="cannot be saved"):
        it.save()
    assert [row["x"] for row in it] == list(range(10, 1000))
    with pytest.raises(lv.errors.FailedPreconditionError, match="can be read only once"):
        ds.to_list()
    begun = lv.from_arrow(stream_of())
    assert begun.first() == {"x": 0}
    with pytest.raises(lv.errors.FailedPreconditionError, match="can be read only once"):
        begun.to_list()
    two = lv.from_arrow(stream_of())
    one, other = iter(two), iter(two)
    assert next(one)["x"] == 0
    with pytest.raises(lv.errors.FailedPreconditionError, match="can be read only once"):
        next(other)
    assert [row["x"] for row in one] == list(range(1, 1000))
    for options in ({"shuffle_records": True}, {"records": (0, 3)}, {"part": (0, 2)}):
        with pytest.raises(lv.errors.InvalidArgumentError, match="read_all"):
            lv.from_arrow(stream_of(), **options)


@pytest.mark.parametrize("cut", [0, 1, 255, 256, 300, 301, 900, 999])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_function_that_returns_a_reader_resumes(cut, threads):
    ds = lv.from_arrow(stream_of).repeat(2).with_options(threads=threads)
    whole = [row["x"] for row in ds]
    assert whole == [*range(1000)] * 2
    it = iter(ds)
    for _ in range(cut):
        next(it)
    state = it.save()
    again = iter(ds)
    again.restore(state)
    assert [row["x"] for row in again] == whole[cut:]
    shorter = iter(lv.from_arrow(lambda: stream_of(max(cut - 300, 0))).repeat(2))
    if cut > 300:
        with pytest.raises(lv.errors.FailedPreconditionError):
            shorter.restore(state)
            list(shorter)


def test_nulls_in_a_stream_are_bad_records():
    batches = [pa.record_batch({"x": pa.array([1, None, 3])}), pa.record_batch({"x": [4, 5]})]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    it = iter(lv.from_arrow(reader).with_options(errors="skip"))
    assert [row["x"] for row in it] == [1, 3, 4, 5]
    assert it.stats()["skipped_records"] == 1


# -- several iterators and processes


def two_files(folder, rows=3000, groups=500):
    for k in range(2):
        table = pa.table({"x": range(k * rows, (k + 1) * rows)})
        pq.write_table(table, folder / f"{k}.parquet", row_group_size=groups)
    return str(folder / "*.parquet")


def test_iterators_of_one_dataset_keep_their_own_row_groups(tmp_path, monkeypatch):
    from levada.interop import _arrow

    loaded = []
    load = _arrow._ParquetFiles.load
    monkeypatch.setattr(
        _arrow._ParquetFiles, "load", lambda self, i: (loaded.append(i), load(self, i))[1]
    )
    ds = lv.parquet(two_files(tmp_path))
    a, b = iter(ds), iter(ds.skip(3000))
    assert [(next(a)["x"], next(b)["x"]) for _ in range(3000)] == [
        (i, i + 3000) for i in range(3000)
    ]
    assert (
        len(loaded) <= 12 + 9
    )  # twelve groups and, after `skip` of the second one, six of them again


def test_threads_read_one_dataset(tmp_path):
    ds = lv.parquet(two_files(tmp_path))
    with ThreadPoolExecutor(6) as pool:
        read = [pool.submit(lambda: [row["x"] for row in ds]) for _ in range(12)]
        assert all(r.result(60) == list(range(6000)) for r in read)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "hdf5", "workers"])
def test_a_child_reads_what_its_parent_began(tmp_path, kind):
    code = f"""
import os, signal, levada as lv, pyarrow as pa, numpy as np
kind, folder = {kind!r}, {str(tmp_path)!r}
table = pa.table({{"x": range(5000)}})
if kind == "parquet":
    lv.write(lv.from_arrow(table), folder + "/x.parquet")
    import pyarrow.parquet as pq
    pq.write_table(table, folder + "/x.parquet", row_group_size=300)
    ds = lv.parquet(folder + "/x.parquet")
elif kind == "arrow":
    with pa.OSFile(folder + "/x.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, 300)
    ds = lv.arrow(folder + "/x.arrow")
elif kind == "hdf5":
    import h5py
    with h5py.File(folder + "/x.h5", "w") as file:
        file["x"] = np.arange(5000)
    ds = lv.from_random_access(h5py.File(folder + "/x.h5")["x"], fields="x")
else:
    ds = lv.from_random_access(np.arange(5000), fields="x", workers=3)
it = iter(ds)
[next(it) for _ in range(400)]
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    ok = [row["x"] for row in ds] == list(range(5000))
    os._exit(0 if ok else 3)
assert os.waitpid(pid, 0)[1] == 0
assert [row["x"] for row in it] == list(range(400, 5000))
"""
    if kind == "hdf5":
        pytest.importorskip("h5py")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_files_in_a_file_system(tmp_path):
    from pyarrow import fs

    pattern = two_files(tmp_path)
    local = lv.parquet(pattern)
    stores = [fs.LocalFileSystem(), fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())]
    for store, files in zip(stores, (pattern, "*.parquet"), strict=True):
        ds = lv.parquet(files, filesystem=store)
        assert [row["x"] for row in ds] == [row["x"] for row in local] and len(ds) == 6000
        it = iter(ds)
        next(it)
        again = iter(lv.parquet(files, filesystem=store))
        again.restore(it.save())
        assert next(again)["x"] == 1
        filtered = lv.parquet(files, filesystem=store, filters=[("x", ">=", 3000)])
        assert [row["x"] for row in filtered] == list(range(3000, 6000))
    with pytest.raises(lv.errors.NotFoundError, match="no file matches"):
        lv.parquet("nothing/*.parquet", filesystem=stores[1])
    with pytest.raises(TypeError, match="file system of pyarrow or fsspec, got int"):
        lv.parquet(pattern, filesystem=3)
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "0.parquet"), "/a/0.parquet")
    assert len(lv.parquet("/a/*.parquet", filesystem=memory)) == 3000


def test_arrow_files_in_a_file_system(tmp_path):
    from pyarrow import fs

    table, store = shared_table(5000), fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    with pa.ipc.new_file(str(tmp_path / "0.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    with pa.ipc.new_stream(str(tmp_path / "1.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=700)
    local = lv.arrow(str(tmp_path / "*.arrow"), nulls="default")
    for shuffled in (False, True):
        options = {"nulls": "default", "shuffle_records": shuffled}
        ds = lv.arrow("*.arrow", filesystem=store, **options).with_options(seed=1)
        assert len(ds) == 10_000 and str(ds[7000]) == str(local[7000])
        whole = ds.to_list()
        assert sorted(map(str, whole)) == sorted(map(str, local.to_list()))
        it = iter(ds)
        for _ in range(777):
            next(it)
        again = iter(pickle.loads(pickle.dumps(ds)))
        again.restore(it.save())
        assert str(list(again)) == str(whole[777:])
    cut = (tmp_path / "0.arrow").read_bytes()[:-9]
    (tmp_path / "0.arrow").write_bytes(cut)
    with pytest.raises(lv.errors.FailedPreconditionError, match="replaced or written"):
        ds.to_list()
    with pytest.raises(lv.errors.DataLossError, match=r"0\.arrow: not a complete Arrow file"):
        lv.arrow("*.arrow", filesystem=store)


def test_explain_has_the_units_of_times():
    table = pa.table({
        "t": pa.array([DAY], pa.timestamp("us", "UTC")),
        "s": pa.array([[{"at": 5, "n": 1}]], pa.list_(pa.struct(
            {"at": pa.time64("ns"), "n": pa.int64()}))),
        "day": pa.array([datetime.date(1970, 1, 3)]),
        "lasts": pa.array([[7]], pa.list_(pa.duration("ms"))),
        "n": [1],
    })  # fmt: skip
    text = lv.from_arrow(table).batch(2).explain()
    for line in (
        "t: int64, us of timestamp[us, tz=UTC] in UTC",
        "s.at: int64, ns of time64[ns]",
        "day: int64, days of date32[day]",
        "lasts: int64, ms of duration[ms]",
    ):
        assert f"    fields  {line}\n" in text
    assert text.count("    fields  ") == 4
