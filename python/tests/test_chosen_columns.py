# SPDX-License-Identifier: Apache-2.0
"""Columns that functions without a spec chose: those of a restored pipeline are the very same,
whatever its next records are."""

import json
import zlib

import levada as lv
import numpy as np
import pytest

VALUES = {  # a value of records that have one, and that of the others
    "ints": ([1, 2], []),
    "int32": (np.array([1, 2], np.int32), []),
    "rows": (np.array([[1, 2]], np.int16), []),
    "text": (["a", "b"], []),
    "bytes": ([b"a"], []),
    "objects": ([{"a": 1, "b": "x"}], []),
    "objects in objects": ([{"a": [{"b": 1}]}], []),
    "objects in lists": ([[{"a": 1}]], []),
}
FULL, COUNT = 5, 12  # records with values, and records


def _value(kind, i):
    return VALUES[kind][i >= FULL]


class _Rows:
    """A map-style dataset."""

    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        return {"m": _value(self.kind, i)}


class _Walk:
    """An iterator with a position."""

    def __init__(self, kind):
        self.kind, self.at = kind, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= COUNT:
            raise StopIteration
        self.at += 1
        return {"m": _value(self.kind, self.at - 1)}

    def save(self):
        return str(self.at).encode()

    def restore(self, state):
        self.at = int(state)


def _mapped(record, kind):
    return {"m": _value(kind, int(record["value"]))}


class _Mapped:
    """A function that other processes find."""

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, record):
        return _mapped(record, self.kind)

    def batch(self, batch):
        return {"m": [_value(self.kind, int(i)) for i in batch["value"]]}

    def several(self, record):
        yield _mapped(record, self.kind)
        yield _mapped(record, self.kind)

    def decode(self, data, key):
        return _mapped({"value": data}, self.kind)


_known: set[str] = set()


def _registered(kind):
    name = "chosen_" + kind.replace(" ", "_")

    class Source(_Walk):
        def __init__(self):
            super().__init__(kind)

    if name not in _known:
        lv.register_source(name, Source)
        _known.add(name)
    return lv.source(name)


def _decoder(kind):
    name = "decoded_" + kind.replace(" ", "_")
    if name not in _known:
        lv.register_decoder(name, _Mapped(kind).decode)
        _known.add(name)
    return lv.range(COUNT).map(lambda r: {"value": str(r["value"])}).decode(name, field="value")


WAYS = {
    "map": lambda kind: lv.range(COUNT).map(_Mapped(kind)),
    "map twice": lambda kind: lv.range(COUNT).map(_Mapped(kind)).map(lambda r: {"m": r["m"]}),
    "map of a field": lambda kind: lv.range(COUNT).map(
        lambda i: {"m": _value(kind, int(i))}, fields="value"
    ),
    "map not pure": lambda kind: lv.range(COUNT).map(_Mapped(kind), pure=False),
    "flat_map": lambda kind: lv.range(COUNT).flat_map(_Mapped(kind).several),
    "with_columns": lambda kind: lv.range(COUNT).with_columns(m=lambda r: _mapped(r, kind)["m"]),
    "below a shuffle": lambda kind: lv.range(COUNT).map(_Mapped(kind)).shuffle(3),
    "below take": lambda kind: lv.range(COUNT).map(_Mapped(kind)).take(COUNT),
    "in pipes": lambda kind: lv.range(3).interleave(
        lambda _: lv.range(COUNT).map(_Mapped(kind)), cycle_length=2
    ),
    "repeat": lambda kind: lv.range(COUNT).map(_Mapped(kind)).repeat(2),
    "zip": lambda kind: lv.zip([lv.range(COUNT), lv.range(COUNT).map(_Mapped(kind))]),
    "mix": lambda kind: lv.mix([lv.range(COUNT).map(_Mapped(kind))] * 2, seed=1),
    "list": lambda kind: lv.from_records([{"m": _value(kind, i)} for i in range(COUNT)]),
    "map-style": lambda kind: lv.from_records(_Rows(kind)),
    "iterator": lambda kind: lv.from_records(lambda: _Walk(kind)),
    "random access": lambda kind: lv.from_random_access(_Rows(kind)),
    "registered source": _registered,
    "registered decoder": _decoder,
}


def _shown(value):
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    if hasattr(value, "to_list"):
        return type(value).__name__, str(value.dtype), value.to_list()
    return type(value).__name__, str(getattr(value, "dtype", "")), getattr(value, "tolist", str)()


def _set(ds, threads, rows):
    return ds.with_options(seed=3, threads=threads, block_rows=rows)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_a_restored_pipeline_has_the_columns_of_the_saved_one(way, kind):
    it = iter(_set(WAYS[way](kind), 1, 4))
    states, values = [], []
    for record in it:
        values.append(_shown(record))
        states.append(it.save())
    for threads, rows in (1, 1), (3, 4), (1, 256):
        for at in range(0, len(states), 3):
            again = iter(_set(WAYS[way](kind), threads, rows))
            again.restore(states[at])
            assert [_shown(record) for record in again] == values[at + 1 :], (at, threads, rows)
            epoch = iter(again._dataset)  # the next one chooses no others
            assert _shown(next(epoch)).keys() == _shown(values[0]).keys()


@pytest.mark.parametrize("way", ["batched", "of batches", "processes", "processes of batches"])
def test_functions_of_whole_blocks_keep_their_columns(way):
    def made():
        f = _Mapped("ints")
        return {
            "batched": lambda: lv.range(COUNT).map(f.batch, batched=True),
            "of batches": lambda: lv.range(COUNT).batch(2).map(f.batch, batched=True),
            "processes": lambda: lv.range(COUNT).map(f, processes=True),
            "processes of batches": lambda: (
                lv.range(COUNT).batch(2).map(f.batch, batched=True, processes=True)
            ),
        }[way]().with_options(seed=3, threads=1, block_rows=1)

    it = iter(made())
    next(it)
    for record in it:
        if not len(getattr(record["m"], "values", record["m"])):
            break
    state = it.save()
    rest = [record["m"].dtype for record in it]
    again = iter(made())
    again.restore(state)
    assert [record["m"].dtype for record in again] == rest
    assert set(map(str, rest)) == {"int64"}


class _Given:
    """A function whose results are those of the moment."""

    def __init__(self, value):
        self.value = value

    def __call__(self, record):
        return {"x": self.value}


def test_iterators_that_run_keep_their_columns_when_another_one_is_restored():
    it = iter(lv.range(300).map(_Given(1.5)).with_options(block_rows=1))
    next(it)
    floats = it.save()
    given = _Given(1)
    ds = lv.range(300).map(given).with_options(block_rows=1)
    running = iter(ds)
    assert next(running)["x"].dtype == "int64"
    restored = iter(ds)
    restored.restore(floats)
    assert {str(r["x"].dtype) for r in restored} == {"float64"}
    assert next(running)["x"].dtype == "int64"
    another = iter(ds)  # the newest ones hold from now on
    another.restore(running.save())
    assert {str(r["x"].dtype) for r in another} == {"int64"}


def test_a_failed_restore_leaves_the_columns():
    it = iter(lv.range(COUNT).map(_Given(1.5)))
    next(it)
    state = it.save()
    ds = lv.range(COUNT).map(_Given(1))
    next(iter(ds))
    for wrong in state[:-1] + b"?", state.replace(b"LVDASTAT", b"LVDASTAX"):
        with pytest.raises(lv.errors.DataLossError):
            iter(ds).restore(wrong)
    target = ds._core.options()["fn"]
    assert target.columns.kinds["x"].dtype == "int64"
    longer = lv.range(COUNT + 1).map(_Given(1))
    next(iter(longer))
    with pytest.raises(lv.errors.FailedPreconditionError, match="range: count was 12"):
        iter(longer).restore(state)
    assert longer._core.options()["fn"].columns.kinds["x"].dtype == "int64"
    with pytest.raises(lv.errors.FailedPreconditionError, match="belongs to another pipeline"):
        iter(lv.range(COUNT)).restore(state)


def test_positions_of_older_versions_restore_as_before():
    ds = lv.range(COUNT).map(_Mapped("ints"))
    it = iter(ds)
    next(it)
    old = it.save()
    size = int.from_bytes(old[12:16], "little")
    again = iter(lv.range(COUNT).map(_Mapped("ints")))
    again.restore(old[16 + size :])
    assert [r["m"].tolist() for r in again] == [r["m"].tolist() for r in it]


def test_columns_in_a_position_are_checked():
    it = iter(lv.range(COUNT).map(_Mapped("objects")))
    next(it)
    state = it.save()
    size = int.from_bytes(state[12:16], "little")
    good = json.loads(state[16 : 16 + size])
    for edit in EDITS:
        head = json.dumps(edit(json.loads(json.dumps(good)))).encode()
        body = len(head).to_bytes(4, "little") + head + state[16 + size :]
        forged = state[:8] + zlib.crc32(body).to_bytes(4, "little") + body
        with pytest.raises(lv.errors.DataLossError):
            iter(lv.range(COUNT).map(_Mapped("objects"))).restore(forged)
    for cut in range(9, len(state), 7):
        with pytest.raises(lv.errors.DataLossError):
            iter(lv.range(COUNT).map(_Mapped("objects"))).restore(state[:cut])


def _with(place, value):
    def edit(chosen):
        at = chosen[0]
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value
        return chosen

    return edit


EDITS = [
    lambda _: [],
    lambda _: 7,
    lambda chosen: chosen * 2,
    _with(["fields"], []),
    _with(["fields"], None),
    _with(["fields", "m.a"], ["int65", 1, [], False]),
    _with(["fields", "m.a"], ["int64", 9, [], False]),
    _with(["fields", "m.a"], ["int64", "1", [], False]),
    _with(["fields", "m.a"], ["int64", 1, 5, False]),
    _with(["fields", "m.a"], ["int64"]),
    _with(["members"], 1),
    _with(["members", "m"], [[1]]),
    _with(["marks", "m.a"], [300]),
    _with(["marks", "m.a"], [1]),
    _with(["marks"], "x"),
]
