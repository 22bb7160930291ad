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
    """(name of a field, its value) for all that is not null, and not a list without a value."""
    for name, item in record.items():
        where = f"{path}.{name}" if path else name
        if isinstance(item, dict):
            yield from leaves(item, where)
        elif item is not None and not (isinstance(item, list) and is_bare(item)):
            yield where, item


def is_bare(item):
    """Whether a list has only lists, objects and null in it."""
    if isinstance(item, dict):
        item = list(item.values())
    return all(map(is_bare, item)) if isinstance(item, list) else item is None


def find(record, name):
    """The member of that name, in objects too; None where there is none."""
    if name in record:
        return record[name]
    for at in (i for i, letter in enumerate(name) if letter == "."):
        inner = record.get(name[:at])
        if isinstance(inner, dict):
            return find(inner, name[at + 1 :])
    return None


def plain(got):
    for method in ("to_list", "tolist"):
        if hasattr(got, method):
            return getattr(got, method)()
    return got


def holds(got, item):
    """Values of several types, and integers beyond int64, are their JSON as text."""
    if item is None:
        return is_missing(got)
    if isinstance(got, str):
        return got == item or json.loads(got) == item
    if isinstance(item, list):
        return len(got) == len(item) and all(map(holds, got, item))
    if isinstance(got, dict):
        return all(holds(value, find(item or {}, name)) for name, value in got.items())
    return got == item


def is_missing(got):
    if isinstance(got, dict):
        return all(map(is_missing, got.values()))
    return got in ("", []) or (isinstance(got, float) and math.isnan(got))


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
            for name, _ in leaves(record):
                assert any(f"{name}.".startswith(f"{known}.") for known in row), (name, written)
            for name, got in row.items():
                assert holds(plain(got), find(record, name)), (name, written)
    assert read > 100 * length
