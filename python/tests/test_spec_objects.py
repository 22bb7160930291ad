# SPDX-License-Identifier: Apache-2.0
"""Lists of objects in ``spec=``: at any depth, in every place that takes one."""

import levada as lv
import pytest

INT, TEXT = lv.int64, lv.text
SPECS = {  # a spec, values that fit it, and one that is empty
    "objects": ([{"a": INT, "b": TEXT}], [[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]], []),
    "numbers in lists": ([[lv.int32]], [[[1, 2], [3]], [[]]], []),
    "objects in objects": ([{"a": [{"b": INT}], "c": INT}], [[{"a": [{"b": 1}], "c": 2}]], []),
    "objects in lists": ([[{"a": INT}]], [[[{"a": 1}], []]], []),
    "lists in objects": ([{"a": [INT]}], [[{"a": [1, 2]}, {"a": []}]], []),
    "features in objects": ([{"a": lv.VarLenFeature(INT)}], [[{"a": [1, 2]}]], []),
    "shapes in objects": ([{"a": (lv.float32, [2])}], [[{"a": [1.0, 2.0]}]], []),
    "four levels": ([{"a": [{"b": [{"c": [INT]}]}]}], [[{"a": [{"b": [{"c": [7]}]}]}]], []),
    "a member dtype": ([{"dtype": {"dtype": INT}, "x": INT}], [[{"dtype": 1, "x": 2}]], []),
    "dots in names": ([{"a.b": INT}], [[{"a.b": 1}]], []),
}


class _Rows(list):
    pass


def _walk(values):
    class Source:
        spec = None

        def __iter__(self):
            return iter({"m": value} for value in values)

    return Source


def _registered(values, spec):
    name = f"objects{id(values)}_{len(str(spec))}"
    cls = _walk(values)
    cls.spec = spec
    lv.register_source(name, cls)
    return lv.source(name)


PLACES = {
    "map": lambda v, s: lv.range(len(v)).map(lambda r: {"m": v[int(r["value"])]}, spec=s),
    "batched map": lambda v, s: lv.range(len(v)).map(
        lambda b: {"m": [v[int(i)] for i in b["value"]]}, batched=True, spec=s
    ),
    "flat_map": lambda v, s: lv.range(len(v)).flat_map(
        lambda r: [{"m": v[int(r["value"])]}], spec=s
    ),
    "call": lambda v, s: lv.range(len(v)).map(
        lambda r: {"m": v[int(r["value"])]}, pure=False, spec=s
    ),
    "from_records": lambda v, s: lv.from_records([{"m": value} for value in v], spec=s),
    "from_arrays": lambda v, s: lv.from_arrays({"m": list(v)}, spec=s),
    "from_random_access": lambda v, s: lv.from_random_access(
        _Rows({"m": value} for value in v), spec=s
    ),
    "source": _registered,
}


def _plain(value):
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if hasattr(value, "to_list"):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value


def _types(batch):
    return {
        name: (str(batch[name].dtype), len(getattr(batch[name], "nested", ()))) for name in batch
    }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("shape", SPECS)
def test_a_spec_declares_lists_of_objects(place, shape):
    entry, values, empty = SPECS[shape]
    spec = {"m": entry}
    # Another number for each place: a text does not tell apart functions with equal values.
    records = [empty, *values, *[empty] * (1 + list(PLACES).index(place))]
    ds = PLACES[place](records, spec).with_options(block_rows=1)
    assert [_plain(r["m"]) for r in ds] == records
    types = [_types(b) for b in ds.blocks()]
    assert all(each == types[0] for each in types), types
    if shape in ("objects", "objects in objects", "lists in objects", "four levels"):
        undeclared = lv.from_records([{"m": v} for v in values]).blocks()
        assert types[0] == _types(next(iter(undeclared)))
    if place != "from_arrays":
        assert str(ds) == str(lv.from_text(str(ds))) and set(ds.spec) == set(types[0])
    assert [_plain(r["m"]) for r in ds.batch(2).unbatch()] == records


@pytest.mark.parametrize("place", PLACES)
def test_values_that_do_not_fit_are_named(place):
    spec = {"m": [{"a": INT}]}
    for wrong in [{"b": 1}], [{"a": "x"}], [3], 7:
        if place == "from_arrays":
            with pytest.raises((TypeError, ValueError), match="m"):
                PLACES[place]([wrong], spec)
            continue
        with pytest.raises((lv.errors.LevadaError, TypeError), match="m"):
            list(PLACES[place]([[{"a": 1}], wrong], spec))


def test_objects_outside_of_lists_are_fields_with_dots():
    ds = lv.range(2).map(
        lambda r: {"m": {"a": int(r["value"]), "x": [{"b": 5}]}},
        spec={"m": {"a": INT, "x": [{"b": INT}]}},
    )
    assert [_plain(r) for r in ds] == [{"m.a": i, "m.x": [{"b": 5}]} for i in range(2)]


@pytest.mark.parametrize(
    "wrong",
    [[], [INT, INT], [[[[[INT]]]]], [{}], {}, [{"a": [[[[INT]]]]}], [{3: INT}], [{"a": "int65"}]],
)
def test_specs_that_say_nothing_are_refused(wrong):
    with pytest.raises((ValueError, TypeError), match=r"m|str|int65"):
        lv.range(1).map(lambda r: r, spec={"m": wrong})


@pytest.mark.parametrize(
    "wrong", ["{m:[]}", "{m:[int64,int64]}", "{m:[[[[[int64]]]]]}", "{m:[{}]}", "{m:[{a:int65}]}"]
)
def test_specs_in_text_are_checked(wrong):
    ds = lv.range(3).map(_plain, spec={"m": [{"a": INT}]})
    assert "spec={m:[{a:" in str(ds)
    text = str(ds).partition("spec=")[0]
    with pytest.raises(lv.errors.InvalidArgumentError, match="m"):
        lv.from_text(f"{text}spec={wrong}")


def test_lists_of_objects_after_empty_ones_say_what_to_declare():
    rows = [{"m": [], "x": 1}] * 300 + [{"m": [{"a": 1, "b": "y"}], "x": 1}]
    text = r"declare it: spec=\{'m': \[\{'a': ..., 'b': ...\}\]\}"
    for ds in lv.from_records(rows), lv.range(301).map(lambda r: rows[int(r["value"])]):
        with pytest.raises(lv.errors.InvalidArgumentError, match=text):
            list(ds)


def test_records_are_told_by_their_fields():
    rows = [{"m": [{"a": 1}], "x": 1}] * 300
    with pytest.raises(lv.errors.InvalidArgumentError, match="lacks field 'm'; it has x"):
        list(lv.from_records([*rows, {"x": 1}]))
    with pytest.raises(lv.errors.InvalidArgumentError, match=r"lacks field 'x'; it has m\s"):
        list(lv.from_records([*rows, {"m": [{"a": 1}]}]))


@pytest.mark.parametrize("spec", [None, {"m": [{"a": INT, "x": [{"b": INT}]}]}])
def test_no_member_of_an_object_is_lost(spec):
    good = {"m": [{"a": 1, "x": [{"b": 1}]}]}
    for wrong in (
        {"m": [{"a": 1, "x": [], "c": 2}]},
        {"m": [{"a": 1, "x": [{"b": 1, "d": 3}]}]},
        {"m": [{"a": 1}]},
    ):
        with pytest.raises(
            lv.errors.InvalidArgumentError, match=r"object (has '[cd]'|must have 'x')"
        ):
            list(lv.from_records([good] * 300 + [wrong], spec=spec))


def test_select_takes_all_members_of_a_list_of_objects():
    spec = {"m": [{"a": INT, "x": [{"b": INT}]}], "mm": INT, "m2": INT}
    rows = [{"m": [{"a": 1, "x": [{"b": 2}]}], "mm": 3, "m2": 4}, {"m": [], "mm": 5, "m2": 6}]
    for ds in (lv.from_records(rows, spec=spec), lv.from_records(rows)):
        for fields in (["m"], ["mm", "m"], ["m", "m2"], ["m.x"]):
            want = [{"m": [{"x": i["x"]} for i in r["m"]]} for r in rows]
            if fields != ["m.x"]:
                want = [{name: row[name] for name in fields} for row in rows]
            assert [_plain(r) for r in ds.select(fields)] == want, fields
            assert [list(r) for r in ds.select(fields)] == [list(r) for r in want]
    with pytest.raises(lv.errors.InvalidArgumentError, match="selected twice"):
        lv.from_records(rows, spec=spec).select(["m", "mm", "m2", "m.a"])
    with pytest.raises(lv.errors.InvalidArgumentError, match="unknown field 'x'"):
        lv.from_records(rows, spec=spec).select(["x"])
