# SPDX-License-Identifier: Apache-2.0
"""decode_csv and decode_raw: as functions and as stages of datasets."""

import io
import json

import levada as lv
import numpy as np
import pytest


def test_csv_columns_of_a_dataset_have_the_numbers_of_their_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('1,x,0.5\n2,"a ""b"", c",\n')
    ds = lv.text_lines(str(path)).decode_csv("line", [lv.int64, [""], [7.0]])
    rows = list(ds)
    assert [row["c0"] for row in rows] == [1, 2]
    assert [row["c1"] for row in rows] == ["x", 'a "b", c']
    assert [float(row["c2"]) for row in rows] == [0.5, 7.0]
    assert rows[0]["c2"].dtype == np.float32
    picked = lv.text_lines(str(path)).decode_csv("line", [lv.string], select_cols=[1])
    assert list(picked.spec) == ["c1"]
    named = lv.text_lines(str(path)).decode_csv("line", [[0], lv.string, [0.0]], columns=[*"abc"])
    assert list(named.spec) == ["a", "b", "c"]


def test_a_csv_dataset_reads_back_from_its_text(tmp_path):
    (tmp_path / "a.csv").write_text("1;x\n")
    ds = lv.text_lines(str(tmp_path / "a.csv")).decode_csv(
        "line", [lv.int32, ["-"]], field_delim=";", na_value="NA"
    )
    again = lv.from_text(str(ds))
    assert str(again) == str(ds)
    assert again.first() == {"c0": 1, "c1": "x"}


def test_a_bad_line_is_named_by_its_file_and_record(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1\n2\nthree\n4\n")
    ds = lv.text_lines(str(path)).decode_csv("line", [lv.int32])
    with pytest.raises(lv.errors.InvalidArgumentError, match="is not a valid int32: three"):
        list(ds)
    it = iter(ds.with_options(errors="skip"))
    assert [row["c0"] for row in it] == [1, 2, 4]
    assert it.stats()["skipped_records"] == 1


def test_errors_of_the_function_name_the_record_and_the_key():
    with pytest.raises(lv.errors.InvalidArgumentError, match=r"\n  record 1 key") as caught:
        lv.decode_csv(["1", "x"], [lv.int32], key="file:7")
    assert caught.value.record == 1
    assert caught.value.key == "file:7"


@pytest.mark.parametrize("delim", ["", ",,", "é"])
def test_a_delimiter_is_one_character(delim):
    with pytest.raises(ValueError, match="should be only 1 char"):
        lv.decode_csv(["1"], [lv.int32], field_delim=delim)


def test_numbers_are_rounded_as_python_does():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << 64, 20_000, dtype=np.uint64).view(np.float64)
    values = values[np.isfinite(values)]
    texts = [repr(float(value)) for value in values]
    texts += [f"{value:.3f}" for value in rng.normal(size=2000) * 1e3]
    texts += [
        "16777217",
        "33554433e-1",
        "1e22",
        "1e23",
        "9007199254740993",
        "1e-400",
        "1e400",
        "4.",
    ]
    [doubles] = lv.decode_csv(texts, [lv.float64])
    np.testing.assert_array_equal(doubles, [float(text) for text in texts])
    [floats] = lv.decode_csv(texts, [lv.float32])
    with np.errstate(over="ignore"):
        exact = [np.float32(text) for text in texts]
    np.testing.assert_array_equal(floats, exact)


def test_raw_rows_of_a_dataset_are_ragged_or_of_one_length(tmp_path):
    rows = [np.arange(n, dtype=">i2").tobytes() for n in (3, 1, 0)]
    spec = {"a": lv.string, "b": lv.int64}
    ds = lv.from_records([{"a": row, "b": i} for i, row in enumerate(rows)], spec=spec)
    got = list(ds.decode_raw("a", "int16", little_endian=False))
    assert [row["a"].tolist() for row in got] == [[0, 1, 2], [0], []]
    assert [row["b"] for row in got] == [0, 1, 2]
    got = list(ds.decode_raw("a", lv.int16, little_endian=False, fixed_length=4, out="x"))
    assert [row["x"].tolist() for row in got] == [[0, 1], [0, 0], [0, 0]]
    assert sorted(got[0]) == ["b", "x"]


def test_a_string_that_does_not_fit_the_dtype_is_a_bad_record():
    ds = lv.from_records([{"a": b"1234"}, {"a": b"12345"}, {"a": b"12"}])
    it = iter(ds.decode_raw("a", "int16").with_options(errors="skip"))
    assert [row["a"].size for row in it] == [2, 1]
    assert it.stats()["skipped_records"] == 1
    with pytest.raises(lv.errors.InvalidArgumentError, match="not a multiple of 2"):
        lv.decode_raw(b"123", lv.int16)


def test_lengths_that_cannot_be_are_refused_when_written():
    ds = lv.from_records([{"a": b"1234"}])
    for length in (0, -2, 3, 1 << 62):
        with pytest.raises(ValueError, match="fixed_length"):
            ds.decode_raw("a", "int16", fixed_length=length)


needs_json = pytest.mark.skipif(
    lv.show_config("dicts")["simdjson"] is None, reason="built without simdjson"
)


@needs_json
def test_decode_json_reads_fields_of_every_row():
    fields = {"id": lv.int64, "tokens": [lv.int64], "name": lv.string}
    rows = [b'{"id": 1, "tokens": [5, 6], "name": "a"}', b'{"id": 2, "name": "caf\\u00e9"}']
    one = lv.decode_json(rows[0], fields)
    assert one["id"] == 1
    assert one["tokens"].tolist() == [5, 6]
    assert one["name"] == b"a"
    both = lv.decode_json(rows, fields)
    assert both["id"].tolist() == [1, 2]
    assert both["tokens"].to_list() == [[5, 6], []]
    assert both["name"].to_list() == [b"a", "café".encode()]
    ds = lv.from_records([{"n": i, "record": row} for i, row in enumerate(rows)])
    got = list(ds.decode_json("record", fields))
    assert [int(r["id"]) for r in got] == [1, 2]
    assert [int(r["n"]) for r in got] == [0, 1]
    with pytest.raises(lv.errors.InvalidArgumentError, match="record 1") as caught:
        lv.decode_json([rows[0], b"{}"], fields, key="file:7")
    assert caught.value.key == "file:7"


@needs_json
def test_decode_json_agrees_with_jsonl_and_json(tmp_path):
    rng = np.random.default_rng(1)
    rows = [{"a": float(x), "b": rng.integers(-9, 9, 3).tolist()} for x in rng.normal(size=300)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = {"a": lv.float64, "b": [lv.int32]}
    decoded = list(lv.text_lines(str(path)).decode_json("line", fields))
    read = list(lv.jsonl(str(path), fields=fields))
    for row, x, y in zip(rows, decoded, read, strict=True):
        assert row["a"] == x["a"] == y["a"]
        assert row["b"] == x["b"].tolist() == y["b"].tolist()


def saved(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


ARRAYS = [
    np.arange(24, dtype=np.int16).reshape(2, 3, 4),
    np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)),
    np.arange(6, dtype=">u4").reshape(3, 2),
    np.asfortranarray(np.arange(6).reshape(3, 2)).astype(">c16", order="F"),
    np.array([True, False]),
    np.array(7.5),
    np.zeros((3, 0, 2), np.int8),
    np.zeros((1, 1, 1, 1, 1, 1, 1, 2), np.uint64),
    np.arange(5, dtype=np.float16)[::2],
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_decode_npy_is_numpy_load(array, version):
    got = lv.decode_npy(saved(array, version))
    assert got.shape == array.shape
    assert got.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(got, array)


def test_decode_npy_of_a_dataset_has_ragged_and_fixed_sizes():
    arrays = [np.arange(n * 4, dtype=np.float32).reshape(n, 4) for n in (3, 0, 2)]
    ds = lv.from_records([{"mel": saved(a), "n": i} for i, a in enumerate(arrays)])
    got = ds.decode_npy("mel", lv.float32, shape=[-1, 4])
    for record, array in zip(got, arrays, strict=True):
        assert np.array_equal(record["mel"], array)
    assert got.padded_batch(3).first()["mel"].shape == (3, 3, 4)
    deep = list(ds.decode_npy("mel", lv.float32, shape=[-1, -1]))
    assert deep[0]["mel"].to_list() == arrays[0].tolist()
    with pytest.raises(lv.errors.InvalidArgumentError, match="dimension 1 is 4, expected 5"):
        ds.decode_npy("mel", lv.float32, shape=[-1, 5]).first()


def test_decode_npy_refuses_what_numpy_would_run_or_guess():
    objects = io.BytesIO()
    np.save(objects, np.array([{}], object), allow_pickle=True)
    with pytest.raises(lv.errors.InvalidArgumentError, match="not supported") as caught:
        lv.decode_npy(objects.getvalue(), key="file:7")
    assert caught.value.key == "file:7"
    for array in (np.zeros(2, "U3"), np.zeros(2, "M8[s]"), np.zeros(2, [("a", "i2")])):
        with pytest.raises(lv.errors.InvalidArgumentError):
            lv.decode_npy(saved(array))
    whole = saved(np.arange(4))
    for n in range(len(whole)):
        with pytest.raises(lv.errors.LevadaError):
            lv.decode_npy(whole[:n])
    octal = whole.replace(b"(4,), } ", b"(04,), }")
    for bad in (whole[:7] + b"\x01" + whole[8:], octal):
        for read in (lambda b: np.load(io.BytesIO(b)), lv.decode_npy):
            with pytest.raises((ValueError, lv.errors.LevadaError)):
                read(bad)
