# SPDX-License-Identifier: Apache-2.0
"""Stages refuse the same columns whether they know them before any data or only with a block."""

import levada as lv
import numpy as np
import pytest
from levada.errors import LevadaError

WORDS = np.array([[b"\x0a\x00", b""], [b"", b"\x0a\x00"], [b"", b""]], object)
COLUMNS = {
    "string": [b"\x0a\x00", b"", b"\x0a\x00"],
    "strings": WORDS,
    "ragged strings": [[b""], [b"", b"\x0a\x00"], []],
    "int": np.arange(3),
    "ints": np.arange(6).reshape(3, 2),
    "matrices": np.arange(12).reshape(3, 2, 2),
    "float": np.array([0.5, 1.5, 2.5], np.float32),
    "floats": np.ones((3, 2), np.float32),
    "bool": np.array([True, False, True]),
    "complex": np.array([1j, 2, 3], np.complex64),
    "ragged ints": [[1], [2, 3], []],
}
STAGES = {
    "parse_example": lambda ds: ds.parse_example({"t": lv.VarLenFeature(lv.int64)}, field="x"),
    "parse_sequence_example": lambda ds: ds.parse_sequence_example(
        {"t": lv.VarLenFeature(lv.int64)}, field="x"
    ),
    "filter": lambda ds: ds.filter("x >= 1"),
    "filter text": lambda ds: ds.filter("x == 'a'"),
    "filter truth": lambda ds: ds.filter("x"),
    "filter length": lambda ds: ds.filter("len(x) > 1"),
    "cast": lambda ds: ds.cast("x", "int8"),
    "cast float": lambda ds: ds.cast("x", "float64"),
    "select": lambda ds: ds.select("x"),
    "select more": lambda ds: ds.select("x", "y"),
    "rename": lambda ds: ds.rename({"x": "y"}),
    "rename twice": lambda ds: ds.enumerate().rename({"x": "index"}),
    "enumerate": lambda ds: ds.rename({"x": "index"}).enumerate(),
    "unbatch": lambda ds: ds.unbatch(),
    "batch": lambda ds: ds.batch(3),
    "padded_batch": lambda ds: ds.padded_batch(3),
    "padded shapes": lambda ds: ds.padded_batch(3, padded_shapes={"x": [4]}),
    "padding value": lambda ds: ds.padded_batch(3, padding_values={"x": 7}),
    "padding other": lambda ds: ds.padded_batch(3, padding_values={"y": 7}),
    "buckets": lambda ds: ds.bucket_by_sequence_length("x", boundaries=[2], batch_sizes=[2, 2]),
    "buckets other": lambda ds: ds.bucket_by_sequence_length(
        "y", boundaries=[2], batch_sizes=[2, 2]
    ),
    "zip": lambda ds: lv.zip([ds, ds.rename({"x": "y"})]),
    "zip same": lambda ds: lv.zip([ds, ds]),
}


def plain(value):
    if hasattr(value, "to_list"):
        value = value.to_list()
    return np.asarray(value).tolist() if isinstance(value, np.ndarray) else value


def outcome(stage, ds):
    """The records, or None where the columns were refused."""
    try:
        return [{name: plain(row[name]) for name in row} for row in stage(ds)]
    except (lv.errors.InvalidArgumentError, ValueError):
        return None


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_open_columns_are_checked_as_known_ones_are(stage):
    for name, column in COLUMNS.items():
        known = lv.from_arrays({"x": column})
        opened = lv.from_arrays({"x": column}).map(lambda batch: {"x": batch["x"]}, batched=True)
        assert opened.spec == {}
        want = outcome(stage, known)
        assert outcome(stage, opened) == want, name


def test_decode_names_the_column_of_many_strings():
    ds = lv.from_arrays({"x": WORDS}).map(lambda row: row)
    ds = ds.parse_example({"t": lv.VarLenFeature(lv.int64)}, field="x")
    with pytest.raises(lv.errors.InvalidArgumentError, match="field 'x' is a sequence of string"):
        list(ds)


def test_a_decoder_keeps_columns_that_were_not_known_before():
    rows = [{"record": lv.make_example({"x": [i]}), "id": i, "s": b"a" * i} for i in range(600)]
    parsed = lv.from_records(rows).parse_example({"x": lv.FixedLenFeature([], lv.int64)})
    for threads in (1, 3):
        got = list(parsed.with_options(threads=threads))
        assert [(row["x"], row["id"], row["s"]) for row in got] == [
            (i, i, b"a" * i) for i in range(600)
        ]
    batch = next(iter(parsed.shuffle(100, seed=1).batch(600)))
    assert sorted(batch) == ["id", "s", "x"]
    assert batch["x"].tolist() == batch["id"].tolist()


def test_each_refusal_of_a_small_file_names_the_file_and_a_remedy(tmp_path):
    """Files without records or fields were refused without their name."""
    cases = {
        "empty.jsonl": ("", "set source="),
        "blank.jsonl": ("\n\n", "set source="),
        "no_fields.jsonl": ("{}\n{}\n", "pass the fields"),
        "empty_list.json": ("[]", "pass the fields"),
        "number.json": ("[ 1, 2]", "the value at byte 2 is not an object; write one object"),
        "scalar.json": ("7", "the value at byte 0 is not an object; write one object"),
        "object.json": ('{\n"a": [{"b": 1}]}', "with the source json and its option field"),
        "strings.csv": ("a,b\nc,d\n", "set header=true, or record_defaults"),
        "key.jsonl": ('{"": 1}\n', "pass the fields"),
    }
    for name, (text, remedy) in cases.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(LevadaError) as error:
            lv.open(str(path))
        assert str(path) in str(error.value) and remedy in str(error.value), name
