# SPDX-License-Identifier: Apache-2.0
"""Replays spec/golden/decode_csv.json and decode_raw.json."""

import base64
import builtins
import json
from pathlib import Path

import levada as lv
import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "spec" / "golden"
SPECIAL = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def cases(name):
    path = GOLDEN / f"{name}.json"
    if not path.exists():
        reason = f"no golden vectors at {path}"
        return [pytest.param(None, id="missing", marks=pytest.mark.skip(reason=reason))]
    listed = json.loads(path.read_text())["cases"]
    return [pytest.param(case, id=str(i)) for i, case in enumerate(listed)]


def check(got, want):
    assert list(got.shape) == want["shape"]
    values = want["values"]
    if want["dtype"] == "string":
        assert got.ravel().tolist() == [value.encode("latin-1") for value in values]
        return
    assert got.dtype == np.dtype(want["dtype"])
    if want["dtype"].startswith("complex"):
        values = [complex(*map(plain, value)) for value in values]
    values = np.array([plain(value) for value in values], want["dtype"])
    np.testing.assert_array_equal(got.ravel(), values)


def plain(value):
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def expected_error(case):
    """The class, or None where TensorFlow lacks what levada has."""
    name = case["error"]["class"]
    if name == "NotFoundError" and "no kernel" in case.get("note", ""):
        return None
    return getattr(lv.errors, name, None) or getattr(builtins, name)


def default_of(entry):
    dtype = object if entry["dtype"] == "string" else entry["dtype"]
    default = entry["default"]
    if isinstance(default, str) and entry["dtype"] == "string":
        default = default.encode("latin-1")
    return np.array([] if default is None else [plain(default)], dtype)


@pytest.mark.parametrize("case", cases("decode_csv"))
def test_decode_csv(case):
    def run():
        return lv.decode_csv(
            records(case["records"]),
            [default_of(entry) for entry in case["record_defaults"]],
            field_delim=case["field_delim"],
            use_quote_delim=case["use_quote_delim"],
            na_value=case["na_value"],
            select_cols=case["select_cols"],
        )

    if "error" in case:
        with pytest.raises(expected_error(case)):
            run()
        return
    got = run()
    assert len(got) == len(case["outputs"])
    for array, want in zip(got, case["outputs"], strict=True):
        check(array, want)


def records(value):
    return [records(item) for item in value] if isinstance(value, list) else value.encode("latin-1")


@pytest.mark.parametrize("case", cases("decode_raw"))
def test_decode_raw(case):
    strings = np.empty(len(case["input_b64"]), object)
    strings[:] = [base64.b64decode(text) for text in case["input_b64"]]
    strings = strings.reshape(case["input_shape"])

    def run():
        if case["fixed_length"] is None:
            return lv.decode_raw(strings, case["out_type"], case["little_endian"])
        return lv.decode_padded_raw(
            strings, case["fixed_length"], case["out_type"], case["little_endian"]
        )

    if "error" in case and expected_error(case) is not None:
        with pytest.raises(expected_error(case)):
            run()
        return
    got = run()
    if "error" not in case:
        check(got, case["outputs"])
