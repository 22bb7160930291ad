# SPDX-License-Identifier: Apache-2.0
"""Replays spec/golden/parse_example.json and parse_sequence_example.json."""

import base64
import json
from pathlib import Path

import levada as lv
import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "spec" / "golden"

# The recorded result is TensorFlow's; levada follows protobuf: the last kind wins, lists of one
# kind are joined. By note: the values, or None for a kind that does not fit.
OPEN = {
    "one Feature with int64_list then float_list (protobuf: float wins)": "float32",
    "one Feature, int64_list twice (protobuf merges: [1,2])": "int64",
    "one Feature, int64_list twice": "int64",
}


def cases(name):
    path = GOLDEN / f"{name}.json"
    if not path.exists():
        reason = f"no golden vectors at {path}"
        return [pytest.param(None, id="missing", marks=pytest.mark.skip(reason=reason))]
    listed = json.loads(path.read_text())["cases"]
    return [pytest.param(case, id=f"{i}-{case['fn']}") for i, case in enumerate(listed)]


def default_of(value, dtype):
    if isinstance(value, list):
        return [default_of(item, dtype) for item in value]
    return value.encode("latin-1") if isinstance(value, str) and dtype == "string" else value


def feature_of(spec):
    kind, dtype = spec["kind"], spec["dtype"]
    default = default_of(spec.get("default"), dtype)
    if kind == "FixedLen":
        return lv.FixedLenFeature(spec["shape"], dtype, default)
    if kind == "VarLen":
        return lv.VarLenFeature(dtype)
    if kind == "FixedLenSequence":
        return lv.FixedLenSequenceFeature(spec["shape"], dtype, spec["allow_missing"], default)
    if kind == "Sparse":
        return lv.SparseFeature(
            spec["index_key"], spec["value_key"], dtype, spec["size"], spec["already_sorted"]
        )
    parts = [
        getattr(lv.RaggedFeature, part["type"])(part.get("key", part.get("length")))
        for part in spec["partitions"]
    ]
    return lv.RaggedFeature(
        dtype, spec["value_key"], parts, spec["row_splits_dtype"], spec["validate"]
    )


def features_of(specs):
    return {name: feature_of(spec) for name, spec in specs.items()}


def check_dense(got, want):
    got = np.asarray(got)
    assert list(got.shape) == want["shape"]
    values = want["values"]
    if want["dtype"] == "string":
        assert got.ravel().tolist() == [value.encode("latin-1") for value in values]
        return
    assert got.dtype == np.dtype(want["dtype"])
    values = [float(value) if isinstance(value, str) else value for value in values]
    np.testing.assert_array_equal(got.ravel(), np.array(values, want["dtype"]))


def check_ragged(got, want):
    values, splits = got
    splits = splits if isinstance(splits, tuple) else (splits,)
    assert [level.tolist() for level in splits] == want["row_splits"]
    assert all(level.dtype == np.dtype(want["row_splits_dtype"]) for level in splits)
    check_dense(values, want["flat_values"])


def check(got, want):
    if "sparse" in want:
        indices, values, shape = got
        assert indices.tolist() == want["sparse"]["indices"]
        assert shape.tolist() == want["sparse"]["dense_shape"]
        check_dense(values, want["sparse"]["values"])
    elif "ragged" in want:
        check_ragged(got, want["ragged"])
    else:
        check_dense(got, want)


def check_all(got, want):
    assert got.keys() == want.keys()
    for name in want:
        check(got[name], want[name])


def call(function, case, *specs):
    strings = [base64.b64decode(text) for text in case["serialized_b64"]]
    single = "single" in case["fn"]
    names = case.get("example_names")
    if names is not None and case["fn"] == "parse_single_sequence_example":
        names = names[0]
    return function(strings[0] if single else strings, *specs, names)


def error_of(case):
    name = case.get("levada") or case.get("error", {}).get("class")
    return name and (getattr(lv.errors, name, None) or {"ValueError": ValueError}[name])


def check_open(case):
    """levada's own result, where TensorFlow and protobuf differ."""
    spec = case["features"]["a"]
    dtype = OPEN[case["note"]]
    if spec["dtype"] != dtype:
        with pytest.raises(lv.errors.InvalidArgumentError):
            call(getattr(lv, case["fn"]), case, features_of(case["features"]))
        return
    got = call(getattr(lv, case["fn"]), case, features_of(case["features"]))["a"]
    values = got[1] if spec["kind"] == "VarLen" else got
    assert len(np.ravel(values)) == (1 if dtype == "float32" else 2)


@pytest.mark.parametrize("case", cases("parse_example"))
def test_parse_example_gives_what_is_recorded(case):
    if "open" in case:
        return check_open(case)
    function, wrong = getattr(lv, case["fn"]), error_of(case)
    if wrong:
        with pytest.raises(wrong):
            call(function, case, features_of(case["features"]))
        return None
    return check_all(call(function, case, features_of(case["features"])), case["outputs"])


@pytest.mark.parametrize("case", cases("parse_sequence_example"))
def test_parse_sequence_example_gives_what_is_recorded(case):
    function, wrong = getattr(lv, case["fn"]), error_of(case)

    def run():
        context = features_of(case["context_features"])
        return call(function, case, context, features_of(case["sequence_features"]))

    if wrong:
        with pytest.raises(wrong):
            run()
        return
    context, sequence, *lengths = run()
    check_all(context, case["outputs"]["context"])
    check_all(sequence, case["outputs"]["sequence"])
    if lengths:
        check_all(lengths[0], case["outputs"]["lengths"])
