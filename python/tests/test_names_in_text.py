# SPDX-License-Identifier: Apache-2.0
"""Names of fields in the text of pipelines: every name of one or two letters, and those of marks,
in every place where names stand."""

import itertools
import json
import string

import levada as lv
import pytest

NAMES = [
    *string.ascii_lowercase,
    *map("".join, itertools.product(string.ascii_lowercase, repeat=2)),
]
PLACES = {  # text, and the field that it makes
    "with_columns": 'range:3 | with_columns:{NAME:"value + 1"}',
    "with_columns of a word": "range:3 | with_columns:{NAME:value}",
    "rename": "range:3 | rename:{value:NAME}",
    "rename back": "range:3 | rename:{value:NAME} | rename:{NAME:zzz}",
    "select": "range:3 | rename:{value:NAME} | select:[NAME]",
    "filter": 'range:3 | rename:{value:NAME} | filter:"NAME > 0"',
    "fields": "jsonl:none.jsonl,fields={NAME:int64}",
    "fields of objects": "jsonl:none.jsonl,fields={m:[{NAME:int64}]}",
    "lists in objects": "jsonl:none.jsonl,fields={m:[{NAME:[int64]}]}",
    "record_defaults": "csv:none.csv,record_defaults={NAME:int64}",
    "spec": "tfrecord:none | parse_example:{NAME:{dtype:int64,kind:FixedLen,shape:[]}}",
}
WORDS = {"in", "or", "is", "if"}  # of expressions


@pytest.mark.parametrize("place", PLACES)
def test_every_short_name_is_a_name(place):
    for name in NAMES:
        if name in WORDS and place == "filter":
            continue
        text = PLACES[place].replace("NAME", name)
        ds = lv.from_text(text)
        if place not in ("rename back", "filter"):
            assert any(each.split(".")[-1] == name for each in ds.spec), (text, ds.spec)
        assert lv.from_text(str(ds)).spec == ds.spec
        if "none" not in text:
            assert lv.from_text(str(ds)).to_list() == ds.to_list()


def test_quotes_and_json_say_the_same():
    for name in ("c", "py"):
        for quoted in (name, f'"{name}"'):
            ds = lv.from_text(f'range:2 | with_columns:{{{quoted}: "value + 1"}}')
            assert [int(r[name]) for r in ds] == [1, 2]
        ds = lv.range(2).with_columns(**{name: "value + 1"})
        assert str(lv.from_text(str(ds))) == str(ds)
        stages = [
            {"op": "range", "args": {"count": 2}},
            {"op": "with_columns", "args": {"columns": {name: "value + 1"}}},
        ]
        text = json.dumps({"levada": 1, "stages": stages})
        assert [int(r[name]) for r in lv.from_text(text)] == [1, 2]


def test_functions_that_are_not_known_are_errors_where_functions_stand():
    for text in ("range:3 | map:{c:nope}", "range:3 | filter:{py:nope}"):
        with pytest.raises(lv.errors.LevadaError, match="nope"):
            lv.from_text(text)
