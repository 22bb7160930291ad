# SPDX-License-Identifier: Apache-2.0
"""A description that is printed is the same description when it is parsed, whatever its options."""

import json
import random

import levada as lv
import pytest
from levada import _levada

ROWS = [row for row in json.loads(_levada.stages()) if not row.get("plugin")]
TEXTS = [
    "", " ", "a", "a b", "a,b", "a|b", "a;b", "a=b", "a:b", "a)b", "a\\b", "a\nb", "a\tb", "null",
    "true", "1", "1.5", "-", "@x", "{c:x}", "{", "(", "[x]", "#a", "%s", "'", '"', "a'b", 'a"b',
    "nan", "1e5", "drop", "pad", "gzip", "value", "x" * 300, "\x01", "ünï", "\u2028", "😀",
    "a\x85", "\u202e",
]  # fmt: skip
NUMBERS = [1, 2, 0, 5, 1000, -1, 2**31, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.5, 1.0, -0.0, 0.1, 1e-9, 1e22, 1e300, 5e-324]


def value(drawn, depth=0):
    kind = drawn.randrange(8 if depth < 3 else 5)
    if kind >= 5:
        items = [value(drawn, depth + 1) for _ in range(drawn.randrange(4))]
        return items if kind < 7 else {drawn.choice(TEXTS): item for item in items}
    return [None, drawn.random() < 0.5, *map(drawn.choice, (NUMBERS, FLOATS, TEXTS))][kind]


def option(drawn, arg):
    limits = [int(arg[name]) for name in ("min", "max") if arg[name] is not None]
    numbers = NUMBERS + limits
    some = range(drawn.randrange(1, 4))
    return {
        "text": lambda: drawn.choice(TEXTS),
        "texts": lambda: [drawn.choice(TEXTS) for _ in some],
        "int": lambda: drawn.choice(numbers),
        "ints": lambda: [drawn.choice(numbers) for _ in some],
        "size": lambda: drawn.choice([*numbers, "1MiB"]),
        "bool": lambda: drawn.random() < 0.5,
        "float": lambda: drawn.choice(FLOATS),
        "floats": lambda: [drawn.choice(FLOATS) for _ in some],
        "choice": lambda: drawn.choice(arg["choices"]),
        "dtype": lambda: drawn.choice(["int64", "float32", "int8", "bool", "string"]),
        "value": lambda: value(drawn),
    }[arg["type"]]()


def changed(row, drawn):
    """The example of a row with some other options; None where it does not accept them."""
    made = json.loads(lv.from_text(row["example"]).to_json())
    stage = next(stage for stage in made["stages"] if stage["op"] == row["name"])
    args = [arg for arg in row["args"] if arg["type"] not in ("function", "block", "pipe")]
    for arg in drawn.sample(args, min(len(args), drawn.randrange(1, 4))):
        drop = not arg["required"] and drawn.random() < 0.2
        stage["args"][arg["name"]] = arg["default"] if drop else option(drawn, arg)
    try:
        return lv.from_json(json.dumps(made))
    except (lv.errors.LevadaError, ValueError):
        return None


def is_alone(row):
    return row["example"] and "{c:" not in row["example"] and row["family"] != "filter"


@pytest.mark.parametrize("row", list(filter(is_alone, ROWS)), ids=lambda row: row["name"])
def test_printed_text_is_the_same_description(row, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lv.samples.write(".")
    drawn, accepted = random.Random(row["name"]), 0
    try:
        lv.from_text(row["example"])
    except lv.errors.NotFoundError:
        pytest.skip("names a file")
    for _ in range(100):
        ds = changed(row, drawn)
        if ds is None:
            continue
        accepted += 1
        again = lv.from_text(str(ds))
        assert again == ds
        assert str(again) == str(ds)
        assert again.fingerprint() == ds.fingerprint()
        assert lv.from_json(ds.to_json()) == ds
    assert accepted


@pytest.mark.parametrize("equal", ["", ",equal=drop", ",equal=pad"])
def test_ranks_in_step_are_printed_as_options_of_the_buckets(equal):
    text = "range:90 | bucket_by_sequence_length:value,max_tokens=400 | prefetch:3"
    ds = lv.from_text(f"{text} | shard:1,count=3,sync=buckets{equal}")
    assert "ranks=[1,3]" in str(ds) and "shard" not in str(ds)
    assert lv.from_text(str(ds)) == ds
    assert ds == lv.from_text(text).shard(1, 3, equal=equal[7:] or None, sync="buckets")
