# SPDX-License-Identifier: Apache-2.0
"""Lists of objects of JSON lines, compared with Python's json."""

import json
import pickle
import random

import levada as lv
import pytest
from levada.errors import InvalidArgumentError

CHAT = {"messages": [{"role": lv.text, "content": lv.text}], "id": lv.int64}


def chat(draw, i):
    turns = [
        {"role": draw.choice(["user", "bot"]), "content": draw.choice(["", "hi", "caf\u00e9\n"])}
        for _ in range(draw.randrange(4))
    ]
    return {"messages": turns, "id": i}


def write(path, documents):
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def plain(value):
    """Lists and numbers of Python."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def test_records_have_lists_of_dicts_and_batches_columns(tmp_path):
    draw = random.Random(1)
    documents = [chat(draw, i) for i in range(1000)]
    path = write(tmp_path / "chat.jsonl", documents)
    for ds in (lv.jsonl(path, fields=CHAT), lv.open(path), lv.jsonl(path, fields="auto")):
        assert lv.from_text(str(ds)) == ds
        assert plain(ds.to_list()) == documents
        assert plain(ds.shuffle(100, seed=2).with_options(threads=3).to_list()) != documents
        assert list(ds.spec) == ["messages.role", "messages.content", "id"]
    batch = ds.batch(50).first()
    assert batch.lengths("messages.role").tolist() == [len(d["messages"]) for d in documents[:50]]
    assert batch["messages.role"].values.str() == [
        turn["role"] for document in documents[:50] for turn in document["messages"]
    ]


def test_functions_receive_and_return_lists_of_dicts(tmp_path):
    draw = random.Random(2)
    documents = [chat(draw, i) for i in range(600)]
    ds = lv.jsonl(write(tmp_path / "a.jsonl", documents), fields=CHAT)
    assert plain(ds.map(lambda record: record).to_list()) == documents

    def shout(record):
        return {"m": [{"text": turn["content"].upper()} for turn in record["messages"]]}

    want = [{"m": [{"text": t["content"].upper()} for t in d["messages"]]} for d in documents]
    assert plain(ds.map(shout).to_list()) == want
    talks = ds.filter(lambda record: len(record["messages"]) > 1).to_list()
    assert plain(talks) == [d for d in documents if len(d["messages"]) > 1]
    with pytest.raises(InvalidArgumentError, match="every object must have 'b'"):
        lv.from_records([{"m": [{"a": 1, "b": 2}, {"a": 1}]}]).to_list()


def value_of(draw, form):
    """A value of a drawn form: a dtype, [form], or {name: form}."""
    if isinstance(form, list):
        return [value_of(draw, form[0]) for _ in range(draw.randrange(3))]
    if isinstance(form, dict):
        return {name: value_of(draw, inner) for name, inner in form.items()}
    return draw.choice(
        {"int64": [0, -7, 2**60], "text": ["", "x", "\u20ac\"\\"], "float64": [0.5, -1e300, 3.0],
         "bool": [True, False]}[form]
    )  # fmt: skip


def form_of(draw, lists):
    """A form that columns can hold, with at most `lists` levels of lists."""
    kind = draw.random()
    if lists == 0 or kind < 0.4:
        return draw.choice(["int64", "text", "float64", "bool"])
    if kind < 0.6:
        return [form_of(draw, lists - 1)]
    return [
        {name: form_of(draw, lists - 1) for name in draw.sample("abcdef", draw.randrange(1, 4))}
    ]


def test_drawn_documents_are_read_and_written_back(tmp_path, length):
    draw = random.Random(3)
    for turn in range(150 * length):
        form = {name: form_of(draw, 4) for name in draw.sample("klmnop", draw.randrange(1, 4))}
        documents = [value_of(draw, form) for _ in range(draw.randrange(1, 40))]
        path = write(tmp_path / "in.jsonl", documents)
        ds = lv.jsonl(path, fields=form).with_options(block_rows=draw.choice([1, 7, 256]))
        assert plain(ds.to_list()) == documents, form
        out = tmp_path / f"out{turn}.jsonl"
        lv.write(ds.shuffle(1) if turn % 2 else ds, out)
        assert [json.loads(line) for line in out.read_text().splitlines()] == documents, form


def test_inferred_fields_hold_the_documents(tmp_path, length):
    draw = random.Random(4)
    for _ in range(100 * length):
        form = {name: form_of(draw, 4) for name in draw.sample("klmnop", draw.randrange(1, 4))}
        documents = [value_of(draw, form) for _ in range(200)]
        ds = lv.open(write(tmp_path / "in.jsonl", documents))
        assert plain(ds.to_list()) == documents, (form, str(ds))


def test_missing_and_null(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"m":[{"r":"u"},null,{"r":null,"n":[1]}]}\n{"m":null}\n{}\n{"m":[{"x":1}]}\n')
    member = {"r": {"dtype": lv.text, "default": "?"}, "n": [lv.int64]}
    rows = lv.jsonl(path, fields={"m": [member]}).to_list()
    assert plain(rows) == [
        {"m": [{"r": "u", "n": []}, {"r": "?", "n": []}, {"r": "?", "n": [1]}]},
        {"m": []}, {"m": []}, {"m": [{"r": "?", "n": []}]},
    ]  # fmt: skip
    ds = lv.jsonl(path, fields={"m": [{"r": lv.text}]})
    with pytest.raises(InvalidArgumentError, match=r"'m\.r' is missing in an object of a list"):
        ds.to_list()
    assert len(ds.with_options(errors="skip").to_list()) == 2


def test_any_json_is_text_on_request(tmp_path):
    values = [{"k": [1, None]}, [], "text", 5, 1.5, True, 2**70, {}, [[{"a": "b"}]]]
    path = write(tmp_path / "a.jsonl", [{"x": value} for value in values])
    got = [record["x"] for record in lv.jsonl(path, fields={"x": lv.text})]
    assert [text if text == "text" else json.loads(text) for text in got] == values
    assert [record["x"] for record in lv.open(path)] == got  # of several types


def number(draw):
    """A number as JSON may write it."""
    whole = draw.choice(["0", "7", "120", str(draw.randrange(10**30)), str(draw.randrange(2**63))])
    fraction = draw.choice(["", "", ".0", ".10", f".{draw.randrange(10**25):025}"])
    exponent = draw.choice(["", "", "", "e0", "E+10", "e-400", "e400"])
    return draw.choice(["", "-"]) + whole + fraction + exponent


def tokens(draw, depth):
    """The parts of a document, without and with white space between them."""
    kind = draw.randrange(6 if depth else 3)
    if kind < 2:
        return [number(draw)]
    if kind == 2:
        return [
            draw.choice(['"-1.50"', '"a\\"2.0,"', "true", "null", "NaN", "-Infinity", '"\\\\"'])
        ]
    items = [tokens(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind > 4:
        items = [[f'"1.{i}"', ":", *item] for i, item in enumerate(items)]
    inner = [part for i, item in enumerate(items) for part in ([","] if i else []) + item]
    return ["{", *inner, "}"] if kind > 4 else ["[", *inner, "]"]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_in_text_keep_their_bytes(tmp_path, seed):
    draw = random.Random(seed)
    values = [["[", *tokens(draw, 3), "]"] for _ in range(500)] + [
        [number(draw)] for _ in range(500)
    ]
    path = tmp_path / "a.jsonl"
    lines = [
        '{"n":1.50,"x":' + "".join(part + draw.choice(["", " "]) for part in value) + ',"z":2.0}'
        for value in values
    ]
    path.write_text("\n".join(lines) + "\n")
    fields = {"x": lv.text, "n": lv.float64, "z": lv.text}
    got = lv.jsonl(str(path), fields=fields).to_list()
    assert [record["x"] for record in got] == ["".join(value) for value in values]
    assert {(float(record["n"]), record["z"]) for record in got} == {(1.5, "2.0")}


@pytest.mark.parametrize("name", ["chat", "a.b.chat", "messages2"])
def test_a_list_of_objects_keeps_its_form_under_another_name(tmp_path, name):
    rows = [
        {"messages": [{"role": "u", "parts": [{"n": k} for k in range(i)]}] * (i % 3), "id": i}
        for i in range(9)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ds = lv.open(tmp_path / "in.jsonl").rename({"messages": name})
    lv.write(ds.select([name]), tmp_path / "out.jsonl")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written == [{name: row["messages"]} for row in rows]
    back = ds.rename({name: "messages", "id": "number"})
    assert str(back.select(["messages"]).to_list()) == str(
        lv.open(tmp_path / "in.jsonl").select(["messages"]).to_list()
    )
    assert str(lv.from_text(str(ds)).to_list()) == str(ds.to_list())


def test_lists_of_objects_exchange_their_names(tmp_path):
    row = {"a": [{"x": 1}, {"x": 2}], "b": [{"y": "s"}]}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    ds = lv.open(tmp_path / "in.jsonl").rename({"a": "b", "b": "a"})
    lv.write(ds, tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {"b": row["a"], "a": row["b"]}
    with pytest.raises(lv.errors.InvalidArgumentError, match="unknown field 'c'"):
        lv.open(tmp_path / "in.jsonl").rename({"c": "d"})


def test_members_are_padded_alike_and_unbatch_makes_objects_again(tmp_path):
    rows = [{"id": n, "m": [{"role": "u" * k, "n": k} for k in range(n)]} for n in (2, 0, 3)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = {"id": lv.int64, "m": [{"role": lv.text, "n": lv.int64}]}
    ds = lv.jsonl(str(path), fields=fields)
    batch = ds.padded_batch(3).first()
    assert batch["m.n"].tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 2]]
    assert batch["m.role"].tolist() == [["", "u", ""], ["", "", ""], ["", "u", "uu"]]
    assert batch.lengths("m.n").tolist() == batch.lengths("m.role").tolist() == [2, 0, 3]
    assert [record["m"] for record in ds.padded_batch(2).unbatch()] == [row["m"] for row in rows]


def deep(draw, i):
    def turn():
        parts = [{"t": draw.choice(["", "\u00e9", "ab"]), "k": j} for j in range(draw.randrange(3))]
        return {"role": draw.choice(["user", "bot"]), "parts": parts}

    first = [{"role": "user", "parts": [{"t": "x", "k": 1}]}] if i == 0 else []
    return {"id": i, "messages": first + [turn() for _ in range(draw.randrange(3))]}


def same(record):
    return record


def last(record):
    return {"id": record["id"], "messages": record["messages"][-1:]}


def louder(roles):
    return [role.upper() for role in roles]


def shorter(texts):
    return [[text[:1] for text in turn] for turn in texts]


def sizes(messages, identity):
    return {"id": identity + 1, "n": len(messages)}


FIELDS = {"id": lv.int64, "messages": [{"role": lv.text, "parts": [{"t": lv.text, "k": lv.int64}]}]}


@pytest.mark.parametrize(
    "how", [{}, {"processes": True, "workers": 2}], ids=["threads", "processes"]
)
def test_functions_see_objects_wherever_they_run(tmp_path, how):
    draw = random.Random(11)
    documents = [deep(draw, i) for i in range(700)]
    path = write(tmp_path / "a.jsonl", documents)
    for ds in (lv.jsonl(path, fields=FIELDS), lv.open(path)):
        assert plain(ds.map(same, **how).to_list()) == documents
        assert plain(ds.map(last, **how).to_list()) == [last(each) for each in documents]
        assert plain(ds.map(sizes, ["messages", "id"], **how).select("id", "n").to_list()) == [
            {"id": each["id"] + 1, "n": len(each["messages"])} for each in documents
        ]
        got = ds.map(louder, "messages.role", **how).map(shorter, "messages.parts.t", **how)
        for want in documents:
            for turn in want["messages"]:
                turn["role"] = turn["role"].upper()
                for part in turn["parts"]:
                    part["t"] = part["t"][:1]
        assert plain(got.to_list()) == documents
        lv.write(got, tmp_path / "b.jsonl")
        lines = (tmp_path / "b.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == documents
        documents = [json.loads(line) for line in path.read_text().splitlines()]


def one_role(roles):
    return ["user"]


def test_members_that_do_not_exist_or_do_not_fit_are_named(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"m": [{"r": "a"}, {"r": "b"}], "o": {"x": 1}}])
    ds = lv.open(path)
    assert plain(ds.map(str, "o.x").to_list()) == [{"m": [{"r": "a"}, {"r": "b"}], "o.x": "1"}]
    for name in ("m.q", "m.", "m.r.", "n", ".m", "o"):
        with pytest.raises(InvalidArgumentError, match="unknown field"):
            ds.map(str, name)
    with pytest.raises(InvalidArgumentError, match=r"unknown field 'm'.*available: m.r"):
        ds.map(str, "m", batched=True)
    with pytest.raises(ValueError, match=r"member 'r' must be a list of 2 values, got \['user'\]"):
        ds.map(one_role, "m.r").to_list()


def test_a_pickle_keeps_objects():
    pa = pytest.importorskip("pyarrow")
    rows = [{"m": [{"r": "a"}] * k, "n": k} for k in range(4)]
    ds = lv.from_arrow(pa.Table.from_pylist(rows))
    assert plain(ds.to_list()) == plain(pickle.loads(pickle.dumps(ds)).to_list()) == rows


@pytest.mark.parametrize("depth", range(1, 8))
@pytest.mark.parametrize("objects", [False, True])
def test_lists_of_any_depth_keep_their_json(depth, objects, tmp_path):
    """Up to four levels as lists; beyond that the rest is a string with its JSON."""
    value = 7
    for _ in range(depth):
        value = [{"a": value}] if objects else [value, value]
    rows = [{"x": value, "n": n} for n in range(3)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lv.write(lv.open(tmp_path / "in.jsonl"), tmp_path / "out.jsonl")

    def whole(given):
        if isinstance(given, str):
            return whole(json.loads(given))
        if isinstance(given, list):
            return [whole(each) for each in given]
        return {k: whole(v) for k, v in given.items()} if isinstance(given, dict) else given

    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [whole(row) for row in written] == rows
    assert depth > 4 or written == rows
