# SPDX-License-Identifier: Apache-2.0
"""map: fields keep the types that they had, whatever their shape and wherever the function runs."""

import json
import random

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError

TYPES = [lv.int32, lv.int64, lv.bool, lv.float32, lv.float64, lv.text]


def drawn_entry(draw, lists):
    """An entry of a spec, with up to `lists` levels of lists."""
    kind = draw.randrange(3) if lists else 0
    if kind == 0:
        return draw.choice(TYPES)
    if kind == 1:
        return [drawn_entry(draw, lists - 1)]
    return [{name: drawn_entry(draw, lists - 1) for name in "abc"[: draw.randint(1, 3)]}]


def drawn_value(draw, entry, empty):
    if isinstance(entry, dict):
        return {name: drawn_value(draw, inner, empty) for name, inner in entry.items()}
    if isinstance(entry, list):
        n = 0 if empty else draw.randrange(4)
        return [drawn_value(draw, entry[0], draw.random() < 0.3) for _ in range(n)]
    if entry is lv.text:
        return draw.choice(["", "\u00e9", "abc"])
    if entry is lv.bool:
        return draw.random() < 0.5
    return draw.randrange(200) if "int" in entry.name else draw.randrange(9) / 2


def drawn(seed, path):
    """(dataset, its documents, its spec); lists are empty at first, and some of them always."""
    draw = random.Random(seed)
    spec = {"id": lv.int32, **{f"f{i}": drawn_entry(draw, 3) for i in range(4)}}
    always = draw.choice(["f0", "f1"])
    late = draw.choice([0, 9, 300])
    documents = [
        {
            "id": i,
            **{f: drawn_value(draw, spec[f], i < late or f == always) for f in list(spec)[1:]},
        }
        for i in range(400)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return lv.jsonl(str(path), fields=spec), documents, spec


def plain(value):
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    return plain(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else value


def columns_of(ds):
    """{column: (dtype, levels)} of a dataset, as Arrow sees it."""
    pa = pytest.importorskip("pyarrow")
    return {field.name: str(field.type) for field in pa.table(ds.batch(1000).first()).schema}


def one_more(value):
    return value + 1


def same(*values):
    return values if len(values) > 1 else values[0]


def whole(record):
    return {**record, "id": record["id"] + 1}


def whole_again(record):
    """The record of numbers, lists and dicts of Python."""
    return {**plain(record), "id": plain(record["id"]) + 1}


def again(value):
    return plain(value)


def end(value):
    return list(value)[1:]


HOW = {
    "threads": {},
    "workers": {"workers": 2},
    "processes": {"processes": True, "workers": 2},
    "impure": {"pure": False},
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", range(6))
def test_fields_keep_their_types(tmp_path, seed, how):
    ds, documents, spec = drawn(seed, tmp_path / "a.jsonl")
    types = columns_of(ds)
    want = [{**each, "id": each["id"] + 1} for each in documents]
    for made in (
        ds.map(one_more, "id", **HOW[how]),
        ds.map(whole, **HOW[how]),
        ds.map(whole_again, **HOW[how]),
    ):
        assert plain(made.to_list()) == want
        assert columns_of(made) == types
    lv.write(made, tmp_path / "b.jsonl")
    lines = (tmp_path / "b.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == want
    for name in spec:
        for fn in (same, again) if how == "threads" else (again,):
            made = ds.map(fn, name, **HOW[how])
            assert plain(made.to_list()) == documents
            assert columns_of(made) == types
        if isinstance(spec[name], list):
            made = ds.map(end, name, **HOW[how])
            assert plain(made.to_list()) == [{**each, name: each[name][1:]} for each in documents]
            assert columns_of(made) == types


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_columns_that_a_batched_function_does_not_receive_stay(tmp_path, seed, processes):
    ds, documents, _ = drawn(seed, tmp_path / "a.jsonl")
    made = ds.batch(7).map(one_more, "id", batched=True, processes=processes)
    assert columns_of(made.unbatch()) == columns_of(ds)
    want = [{**each, "id": each["id"] + 1} for each in documents]
    assert plain(made.unbatch().to_list()) == want


@pytest.mark.parametrize("cut", [1, 300, 399])
@pytest.mark.parametrize("seed", [0, 3])
def test_fields_keep_their_types_after_a_restore(tmp_path, seed, cut):
    ds, documents, _ = drawn(seed, tmp_path / "a.jsonl")
    for made in (ds.map(one_more, "id"), ds.map(whole_again)):
        first = iter(made)
        for _ in range(cut):
            next(first)
        second = iter(made)
        second.restore(first.save())
        assert plain(list(second)) == [{**each, "id": each["id"] + 1} for each in documents[cut:]]


def test_members_are_returned_beside_those_that_are_not_passed(tmp_path):
    rows = [
        {"m": [{"r": "a", "w": 0.5, "p": [{"k": 1}] * k} for k in range(n % 4)]} for n in range(9)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ds = lv.jsonl(
        str(tmp_path / "a.jsonl"),
        fields={"m": [{"r": lv.text, "w": lv.float32, "p": [{"k": lv.int32}]}]},
    ).with_options(threads=1)
    got = ds.map(lambda parts: [part[:1] for part in parts], "m.p")
    assert columns_of(got) == columns_of(ds)
    assert plain(got.to_list()) == [
        {"m": [{**turn, "p": turn["p"][:1]} for turn in row["m"]]} for row in rows
    ]
    counts = ds.map(lambda parts: [len(part) for part in parts], "m.p")
    assert plain(counts.to_list()) == [
        {"m": [{**turn, "p": len(turn["p"])} for turn in row["m"]]} for row in rows
    ]
    names = ds.batch(3).map(lambda r: r, "m.r", batched=True).unbatch()
    assert plain(names.to_list()) == rows

    def all_in_the_last(roles):
        return lv.Ragged(roles.values, [np.array([0, 0, 0, len(roles.values)], np.int32)])

    with pytest.raises(InvalidArgumentError, match=r"member 'm\.r'.*the lengths that it had"):
        ds.batch(3).map(all_in_the_last, "m.r", batched=True).to_list()


def test_what_a_function_returns_is_inferred_where_it_does_not_fit():
    ds = lv.from_records(
        [{"a": 1, "b": 0.5, "c": "x", "d": b"x"} for _ in range(3)],
        spec={"a": lv.int32, "b": lv.float32, "c": lv.text, "d": lv.string},
    )

    def dtype(fn, name):
        made = ds.map(fn, name)
        return str(
            pytest.importorskip("pyarrow").table(made.batch(3).first()).schema.field(name).type
        )

    assert dtype(lambda a: int(a) + 1, "a") == "int32"
    assert dtype(lambda a: 2**40, "a") == "int64"
    assert dtype(lambda a: a / 2, "a") == "double"
    assert dtype(lambda a: "s", "a") == "string"
    assert dtype(lambda b: 0.1, "b") == "float"
    assert dtype(lambda b: 1, "b") == "float"
    assert dtype(lambda b: np.float64(0.1), "b") == "double"
    assert dtype(lambda b: [0.1], "b").startswith("list")
    assert dtype(lambda c: c.encode(), "c") == "binary"
    assert dtype(lambda d: d.decode(), "d") == "string"


def test_errors_name_field_record_and_remedy(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": i, "x": [i]}) + "\n" for i in range(600)))
    ds = lv.open(path)

    def late(x):
        return x if len(x) and x[0] < 500 else ["s"]

    with pytest.raises(Exception, match=r"field 'x'.*expected int64.*spec=") as caught:
        ds.map(late, "x").to_list()
    assert (caught.value.file, caught.value.record) == (str(path), 500)


def test_fields_that_some_calls_return_stay_in_the_others():
    ds = lv.range(600).with_columns(other="value * 2")

    def some(value):
        return {"other": 7} if value == 400 else {"value": value + 1}

    want = [
        {"value": i, "other": 7} if i == 400 else {"value": i + 1, "other": 2 * i}
        for i in range(600)
    ]
    assert plain(ds.map(some, "value").to_list()) == want

    def new(value):
        return {"new": 1} if value < 300 else {"newer": 2}

    with pytest.raises(InvalidArgumentError, match="'newer', which the first records had not"):
        ds.map(new, "value").to_list()


def test_a_spec_may_declare_only_what_the_function_returns(tmp_path):
    ds, documents, _ = drawn(1, tmp_path / "a.jsonl")
    made = ds.map(lambda i: {"n": i, "id": i}, "id", spec={"n": lv.int16, "id": lv.int64})
    assert columns_of(made) == {**columns_of(ds), "id": "int64", "n": "int16"}
    assert plain(made.to_list()) == [{**each, "n": each["id"]} for each in documents]


def test_a_function_may_use_its_lists_of_dicts_again():
    turn, turns = {"n": 0}, []

    def reuse(value):
        turn["n"] = int(value["value"])
        turns[:] = [turn]
        return {"m": turns}

    assert plain(lv.range(5).map(reuse).to_list()) == [{"m": [{"n": i}]} for i in range(5)]
