# SPDX-License-Identifier: Apache-2.0
"""fields=auto of JSON lines: the fields hold every value of the records they were found in."""

import json
import math
import random

import levada as lv
from levada.errors import InvalidArgumentError

NAMES = ["a", "b", "c.d", "c", "d", "é", " x", "a:b", "k,l", "{", "\\", '"q"', "null", "true", "1"]
NUMBERS = [1, -5, 0, 2**53 + 1, 2**62, 2**63, 0.5, -1e300, 1.0]
SCALARS = [*NUMBERS, "", "x", "café\n", True, False, None]


def value(draw, depth=0):
    kind = draw.random()
    if kind < 0.6 or depth == 3:
        return draw.choice(SCALARS)
    if kind < 0.8:
        return [value(draw, depth + 1) for _ in range(draw.randrange(3))]
    return {draw.choice(NAMES): value(draw, depth + 1) for _ in range(draw.randrange(3))}


def records(draw):
    """A few records that mostly have the same fields."""
    first = {name: value(draw) for name in draw.sample(NAMES, draw.randrange(1, 4))}
    return [
        {
            name: usual if draw.random() < 0.8 else value(draw)
            for name, usual in first.items()
            if draw.random() < 0.9
        }
        for _ in range(draw.randrange(1, 5))
    ]


def leaves(record, path=""):
    """(name of a field, its value) for all that is not null."""
    for name, item in record.items():
        where = f"{path}.{name}" if path else name
        if isinstance(item, dict):
            yield from leaves(item, where)
        elif item is not None:
            yield where, item


def plain(got):
    for method in ("to_list", "tolist"):
        if hasattr(got, method):
            return getattr(got, method)()
    return got


def holds(got, item):
    """Fields with integers beyond int64 are strings."""
    if isinstance(item, list):
        return len(got) == len(item) and all(map(holds, got, item))
    if isinstance(got, bytes):
        return got == str(item).encode() and type(item) in (str, int)
    return got == item


def is_missing(got):
    return got in (b"", []) or (isinstance(got, float) and math.isnan(got))


def test_found_fields_hold_all_values(tmp_path, length):
    draw, read = random.Random(2023), 0
    path = tmp_path / "a.jsonl"
    for _ in range(600 * length):
        written = records(draw)
        path.write_text("".join(json.dumps(record) + "\n" for record in written))
        try:
            ds = lv.jsonl(path, fields="auto")
        except InvalidArgumentError:
            continue  # no column holds them
        assert lv.from_text(str(ds)) == ds and lv.from_json(ds.to_json()) == ds
        rows = ds.to_list()
        assert len(rows) == len(written)
        read += 1
        for record, row in zip(written, rows, strict=True):
            wanted = dict(leaves(record))
            assert wanted.keys() <= row.keys()
            for name, got in row.items():
                if name in wanted:
                    assert holds(plain(got), wanted[name]), (name, written)
                else:
                    assert is_missing(plain(got)), (name, written)
    assert read > 100 * length
