# SPDX-License-Identifier: Apache-2.0
"""decode_csv and decode_raw: as functions and as stages of datasets."""

import levada as lv
import numpy as np
import pytest


def test_csv_columns_of_a_dataset_have_the_numbers_of_their_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('1,x,0.5\n2,"a ""b"", c",\n')
    ds = lv.text_lines(str(path)).decode_csv("line", [lv.int64, [""], [7.0]])
    rows = list(ds)
    assert [row["c0"] for row in rows] == [1, 2]
    assert [row["c1"] for row in rows] == [b"x", b'a "b", c']
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
    assert again.first() == {"c0": 1, "c1": b"x"}


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
    with pytest.raises(lv.errors.InvalidArgumentError, match="in record 1") as caught:
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
