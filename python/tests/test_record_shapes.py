# SPDX-License-Identifier: Apache-2.0
"""Drawn pipelines over text, lists of objects and groups, against plain Python: threads, block
sizes, a cut, and a file written and read again."""

import json
import os
import random

import levada as lv
import numpy as np
import pytest

TRIALS = int(os.environ.get("LEVADA_SHAPE_TRIALS", "40"))
WORDS = ["", "hi", "naïve", "日本", 'a "quote"', "x\n"]


def drawn(rng):
    rows, group = [], 0
    for number in range(rng.choice([1, 3, 20, 70])):
        group += rng.random() < 0.3
        rows.append({
            "id": number,
            "group": group,
            "name": rng.choice(WORDS),
            "tokens": [rng.randrange(100) for _ in range(rng.randrange(6))],
            "messages": [
                {"role": rng.choice(["user", "bot"]), "content": rng.choice(WORDS)}
                for _ in range(rng.randrange(4))
            ],
        })  # fmt: skip
    return rows


FIELDS = {
    "id": lv.int64,
    "group": lv.int64,
    "name": lv.text,
    "tokens": [lv.int64],
    "messages": [{"role": lv.text, "content": lv.text}],
}


def keep(rng):
    low = rng.randrange(4)
    return (
        f"filter tokens > {low}",
        lambda ds: ds.filter(f"len(tokens) > {low}"),
        lambda rows: [row for row in rows if len(row["tokens"]) > low],
    )


def keep_text(rng):
    word = rng.choice(["hi", "日本"])
    return (
        f"filter name != {word}",
        lambda ds: ds.filter(lambda row: row["name"] != word),
        lambda rows: [row for row in rows if row["name"] != word],
    )


def columns(rng):
    def add(rows):
        return [{**row, "n": len(row["tokens"]), "odd": row["id"] % 2 == 1} for row in rows]

    return "with_columns", lambda ds: ds.with_columns(n="len(tokens)", odd="id % 2 == 1"), add


def whole(rng):
    def change(row):
        return {**row, "name": row["name"] + "!", "double": row["id"] * 2}

    spec = {**FIELDS, "double": lv.int64}
    return (
        "map",
        lambda ds: ds.map(change, spec=spec),
        lambda rows: [change(row) for row in rows],
    )


def reversed_messages(rng):
    def change(row):
        return {**row, "messages": list(reversed(row["messages"]))}

    return (
        "map messages",
        lambda ds: ds.map(change, spec=FIELDS),
        lambda rows: [change(row) for row in rows],
    )


def cut(rng):
    n, k = rng.randrange(30), rng.randrange(8)
    return f"skip {k} take {n}", lambda ds: ds.skip(k).take(n), lambda rows: rows[k : k + n]


def part(rng):
    share, seed, index = rng.choice([0.3, 0.5]), rng.randrange(5), rng.randrange(2)
    groups = lv.from_arrays({"group": np.arange(200)}).split(
        share, 1 - share, by="group", seed=seed
    )
    inside = {int(row["group"]) for row in groups[index]}
    return (
        f"split {share} {index}",
        lambda ds: ds.split(share, 1 - share, by="group", seed=seed)[index],
        lambda rows: [row for row in rows if row["group"] in inside],
    )


def mixed(rng):
    seed = rng.randrange(9)

    def mix(ds):
        inputs = {"even": ds.filter("id % 2 == 0"), "odd": ds.filter("id % 2 == 1")}
        return lv.mix(inputs, weights={"even": 2, "odd": 1}, seed=seed)

    return "mix", mix, lambda rows: rows


def shuffled(rng):
    n, seed = rng.randrange(1, 40), rng.randrange(9)
    return f"shuffle {n}", lambda ds: ds.shuffle(n, seed=seed), lambda rows: rows


def lists(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def collected(rng):
    n = rng.randrange(1, 6)

    def collect(rows):
        return [lists(rows[i : i + n]) for i in range(0, len(rows), n)]

    return f"batch {n} collect", lambda ds: ds.batch(n).collect(), collect


def windows(rng):
    size, shift = rng.randrange(1, 5), rng.randrange(1, 5)

    def collect(rows):
        return [lists(rows[i : i + size]) for i in range(0, len(rows), shift)]

    return (
        f"window {size} {shift} collect",
        lambda ds: ds.window(size, shift=shift, collect=True),
        collect,
    )


def grouped(rng):
    def group(rows):
        runs = []
        for row in rows:
            if runs and runs[-1][-1]["group"] == row["group"]:
                runs[-1].append(row)
            else:
                runs.append([row])
        return [{**lists(run), "group": run[0]["group"]} for run in runs]

    return "group_by", lambda ds: ds.group_by("group"), group


RECORDS = [keep, keep_text, columns, whole, reversed_messages, part, cut]
ORDERS = [mixed, shuffled]
ENDS = [collected, windows, grouped]


def pipeline(rng):
    """(names, make(dataset), model(rows), whether the order is that of the file)"""
    chosen, has = [], set()
    for _ in range(rng.randrange(4)):
        stage = rng.choice(RECORDS)
        if stage in has or (stage in (whole, reversed_messages) and has & {columns, whole}):
            continue
        has.add(stage)
        chosen.append(stage(rng))
    ordered = True
    if rng.random() < 0.3:
        chosen.append(rng.choice(ORDERS)(rng))
        ordered = False
    elif rng.random() < 0.6:
        chosen.append(rng.choice(ENDS)(rng))

    def make(ds):
        for _, stage, _ in chosen:
            ds = stage(ds)
        return ds

    def model(rows):
        for _, _, step in chosen:
            rows = step(rows)
        return rows

    return [name for name, _, _ in chosen], make, model, ordered


def plain(value):
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return plain(value.tolist())
    return value


def records(ds):
    return [plain(record) for record in ds]


def sorted_if(ordered, rows):
    return rows if ordered else sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("trial", range(TRIALS))
def test_pipelines_are_those_of_plain_python(trial, tmp_path):
    rng = random.Random(trial)
    rows = drawn(rng)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names, make, model, ordered = pipeline(rng)
    ds = make(lv.jsonl(str(path), fields=FIELDS))
    want = sorted_if(ordered, model(rows))

    def settings():
        return {"threads": rng.choice([0, 1, 3]), "block_rows": rng.choice([1, 4, 256]), "seed": 3}

    first = records(ds.with_options(**settings()).iterate(0))
    assert sorted_if(ordered, first) == want, names
    for _ in range(3):
        at = rng.randrange(len(first) + 1)
        it = ds.with_options(**settings()).iterate(0)
        head = [plain(next(it)) for _ in range(at)]
        state = it.save()
        again = ds.with_options(**settings()).iterate(0)
        again.restore(state)
        assert head + records(again) == first, (names, at)
    if first:
        written = tmp_path / "out.jsonl"
        assert lv.write(ds.with_options(**settings()), written) == len(first)
        lines = [json.loads(line) for line in written.read_text().splitlines()]
        assert sorted_if(ordered, lines) == want, names
