# SPDX-License-Identifier: Apache-2.0
"""Every name that can stand in a description can be called, with all of its options."""

import inspect
import json

import levada as lv
import pytest
from levada import _levada

ROWS = [row for row in json.loads(_levada.stages()) if not row.get("plugin")]
# Options under other names or not at all: these are written by hand.
BY_HAND = set(
    "cache call concat filter flat_map group_by_window interleave map memory mix random range "
    "records select shard split with_columns zip".split()
)
# methods that begin with the field
FIELD_FIRST = (
    "audio_info decode_csv decode_flac decode_image decode_jpeg decode_json decode_npy decode_png "
    "decode_raw decode_wav image_info npy_info"
).split()
OPTIONAL = {"boundaries"}  # in Python
# those that shard sets
HIDDEN = {("bucket_by_sequence_length", "ranks"), ("bucket_by_sequence_length", "tail")}


def callable_of(row):
    return getattr(lv if row["inputs"][1] == 0 else lv.Dataset, row["name"])


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r["name"] not in BY_HAND], ids=lambda r: r["name"]
)
def test_options_are_parameters(row):
    parameters = inspect.signature(callable_of(row)).parameters
    shown = [arg for arg in row["args"] if (row["name"], arg["name"]) not in HIDDEN]
    assert {arg["name"] for arg in shown} == set(parameters) - {"self", "collect"}
    for arg in shown:
        default = parameters[arg["name"]].default
        required = arg["required"] and arg["name"] not in OPTIONAL
        required = required or (row["name"] in FIELD_FIRST and arg["name"] == "field")
        assert required == (default is inspect.Parameter.empty)
        if isinstance(arg["default"], list):  # a tuple or the only item, which no caller can change
            default = list(default) if isinstance(default, tuple) else [default]
        assert required or default == arg["default"]
    assert callable_of(row).__doc__


@pytest.mark.parametrize("name", sorted(BY_HAND - {"call", "memory", "random", "records"}))
def test_those_by_hand_are_there(name):
    assert hasattr(lv, name) or hasattr(lv.Dataset, name)


@pytest.mark.parametrize("row", [r for r in ROWS if r["example"]], ids=lambda r: r["name"])
def test_examples_are_descriptions(row):
    if "{c:" in row["example"] or "@" in row["example"]:
        pytest.skip("needs a function or file of the C tests")
    try:
        ds = lv.from_text(row["example"])
    except lv.errors.NotFoundError:
        pytest.skip("names a file")
    assert lv.from_json(ds.to_json()) == ds
