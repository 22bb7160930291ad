# SPDX-License-Identifier: Apache-2.0
"""Replays spec/golden/bucket_by_sequence_length.json."""

import json
from pathlib import Path

import levada as lv
import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "spec" / "golden"
ERRORS = {
    "InvalidArgumentError": lv.errors.InvalidArgumentError,
    "DataLossError": lv.errors.DataLossError,
    "ValueError": ValueError,
}

# Without padding batches are ragged: rows of different lengths are no error.
RAGGED = "different shapes"
LAST_BUCKET = "no error: the element goes to the last bucket"


def cases():
    path = GOLDEN / "bucket_by_sequence_length.json"
    if not path.exists():
        reason = f"no golden vectors at {path}"
        return [pytest.param(None, id="missing", marks=pytest.mark.skip(reason=reason))]
    listed = json.loads(path.read_text())["cases"]
    return [pytest.param(case, id=f"{i}-{case['element']}") for i, case in enumerate(listed)]


def matrix(length, width, value):
    """[length, width], where width differs from record to record: a row of rows."""
    values = np.full(length * width, value, np.int32)
    return lv.Ragged(values, [np.arange(length + 1, dtype=np.int32) * width])


def records(case):
    element = case["element"]
    for i, length in enumerate(case["lengths"], 1):
        if element == "scalar":
            yield {"x": np.int32(length)}
        elif element == "matrix":
            yield {"x": matrix(length, i % 3 + 1, i)}
        else:
            record = {"x": np.full(length, i, np.int32)}
            yield {**record, "length": np.int32(length)} if element == "pair" else record


def spec(case):
    fields = {"x": lv.VarLenFeature("int32")}
    if case["element"] == "pair":
        return {**fields, "length": lv.FixedLenFeature([], "int32")}
    if case["element"] == "matrix":
        return None
    return {"x": lv.FixedLenFeature([], "int32")} if case["element"] == "scalar" else fields


def dataset(case):
    shapes, value = case["padded_shapes"], case["padding_value"]
    return lv.from_records(lambda: records(case), spec=spec(case)).bucket_by_sequence_length(
        "x",
        boundaries=case["bucket_boundaries"],
        batch_sizes=case["bucket_batch_sizes"],
        padded_shapes=None if shapes is None else {"x": shapes},
        padding_values=value,
        pad_to_bucket_boundary=case["pad_to_bucket_boundary"],
        no_padding=case["no_padding"],
        drop_remainder=case["drop_remainder"],
    )


def check_component(got, want):
    if isinstance(got, lv.Ragged):
        assert {len(row) for row in got} == {want["shape"][1]}
        got = got.values.reshape(want["shape"])
    assert got.dtype == np.dtype(want["dtype"])
    assert list(got.shape) == want["shape"]
    assert got.ravel().tolist() == want["values"]


def check(batch, want):
    want = want if isinstance(want, list) else [want]
    for name, component in zip(("x", "length"), want, strict=False):
        check_component(batch[name], component)


def expected_error(case):
    """Class of the error that ends the iteration, or None."""
    if case["end"] == "end_of_sequence" or case.get("levada") == LAST_BUCKET:
        return None
    if case.get("note") == RAGGED:
        return None
    return ERRORS[case.get("levada", case["end"]["class"])]


def replay(case, **settings):
    ds = dataset(case).with_options(seed=1, **settings)
    got, want = [], case["batches"]
    error = expected_error(case)
    if error is None:
        got = list(ds)
    else:
        with pytest.raises(error):
            got.extend(ds)
    if case.get("levada") == LAST_BUCKET:
        assert [batch["x"].tolist() for batch in got] == [[1, 2], [2147483647]]
    elif case.get("note") == RAGGED:
        assert [batch["x"].lengths.tolist() for batch in got] == [[4, 3], [5, 6], [1, 2]]
    else:
        assert len(got) == len(want)
        for batch, outputs in zip(got, want, strict=True):
            check(batch, outputs)


@pytest.mark.parametrize("case", cases())
def test_golden_bucket(case):
    negative = any(boundary < 0 for boundary in case["bucket_boundaries"])  # accepted elsewhere
    if negative or "error" in case or str(case.get("levada", "")).startswith("ValueError"):
        with pytest.raises(ValueError):
            dataset(case)
        return
    replay(case, threads=1, block_rows=1)
    replay(case, threads=2)
