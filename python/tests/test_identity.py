# SPDX-License-Identifier: Apache-2.0
"""Descriptions name everything that records depend on: functions, their arguments, all options."""

import functools
import itertools
import pathlib

import levada as lv
import numpy as np
import pytest
from levada import _levada, errors
from registered import examples

SPEC = {"line": lv.FixedLenFeature([], lv.string)}


class Lines:
    """A source that can be saved."""

    spec = SPEC

    def __init__(self, path="", skip=0, **more):
        self.path, self.at = path, skip

    def __iter__(self):
        return Position(self.path, self.at)


class Position:
    def __init__(self, path, at):
        self.path, self.at = path, at

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 20:
            raise StopIteration
        self.at += 1
        return {"line": f"{self.path}{self.at}".encode()}

    def save(self):
        return b"%d" % self.at

    def restore(self, data):
        self.at = int(data)


def by(value, key, by=1, **more):
    return {"n": len(value) * by}


def same(record):
    return record


def other(record):
    return dict(record)


def drawing(record, generator):
    return record


def more_than(record, least):
    return record["value"] > least


def rows(n):
    return ({"a": i} for i in range(n))


@pytest.fixture(scope="module", autouse=True)
def registered():
    lv.register_source("test_identity_lines", Lines)
    lv.register_decoder("test_identity_by", by)


def source(**options):
    return lv.source("test_identity_lines", **options)


def decoded(field="line", **options):
    return lv.text_lines("a.txt").decode("test_identity_by", field, **options)


def ranged():
    return lv.range(9)


LITERALS = [
    None, True, 1, 1.5, float("nan"), float("-inf"), "1", "a'b", 'a"b', "a,b)|c", "ö\n\x00\ud800",
    b"1", b"\xff", [1], (1,), [], {}, {"a": [1, {"b": b"c"}]}, "None", {1, 2}, 10**30,
]  # fmt: skip
OBJECTS = [
    np.int64(1), np.float32(1), np.arange(3), np.arange(3.0), lv.int64, lv.float32,
    pathlib.Path("a"), same, other, len, functools.partial(more_than, least=1),
    functools.partial(more_than, least=2),
    lv.FixedLenFeature([], lv.int64), lv.FixedLenFeature([1], lv.int64), Lines, frozenset([1]),
]  # fmt: skip
# Functions that make datasets, of which any two are different.
FAMILIES = {
    "source": [functools.partial(source, path=v) for v in LITERALS + OBJECTS]
    + [source, functools.partial(source, skip=1), functools.partial(source, path="A", skip=1)],
    "decoder": [functools.partial(decoded, by=v) for v in LITERALS + OBJECTS]
    + [decoded, functools.partial(decoded, tail=1)],
    "with_columns": [
        functools.partial(lambda v: ranged().with_columns(a=v), v)
        for v in [v for v in LITERALS + OBJECTS if not callable(v) and not isinstance(v, str)]
        + [same, other]
    ]
    + [lambda: ranged().with_columns(b=1), lambda: ranged().with_columns(a=1, b=2)],
    "functions": [
        lambda: ranged().map(same),
        lambda: ranged().map(other),
        lambda: ranged().map(len),
        lambda: ranged().map(same, batched=True),
        lambda: ranged().map(same, pure=False),
        lambda: ranged().map(same, rng=True),
        lambda: ranged().map(same, rng=True, batched=True),
        lambda: ranged().map(same, keeps_lengths=True),
        lambda: ranged().map(same, spec={"value": lv.int64}),
        lambda: ranged().map(same, spec={"value": lv.int32}),
        lambda: ranged().map(same, spec={"value": lv.VarLenFeature(lv.int64)}),
        lambda: ranged().map(functools.partial(more_than, least=1)),
        lambda: ranged().map(functools.partial(more_than, least=2)),
        lambda: ranged().map(functools.partial(more_than, "a", "b")),
        lambda: ranged().flat_map(same),
        lambda: ranged().flat_map(drawing, rng=True),
        lambda: ranged().flat_map(drawing),
        lambda: ranged().filter(same),
        lambda: ranged().filter(other),
        lambda: ranged().filter("value > 1"),
        lambda: ranged().filter("value > 2"),
    ],
    "windows": [
        functools.partial(lambda key, fn, more: ranged().group_by_window(key, fn, **more), *v)
        for v in itertools.product(
            ["value", "value % 2", "value % 3", same, other],
            [None, more_than, by],
            [{"window_size": 2}, {"window_size": 3}, {"window_size_func": same},
             {"window_size_func": other}, {"window_size": 2, "drop_remainder": True}],
        )
    ],
    "buckets": [
        functools.partial(
            lambda key, more: lv.from_records(Lines).bucket_by_sequence_length(key, **more), *v
        )
        for v in itertools.product(
            ["line", same, other],
            [{"boundaries": [3], "batch_sizes": 2}, {"boundaries": [4], "batch_sizes": 2},
             {"boundaries": [3], "max_tokens": 9, "cost": same},
             {"boundaries": [3], "max_tokens": 9, "cost": other},
             {"boundaries": [3], "max_tokens": 9, "cost": "quadratic"}],
        )
    ],
    "records": [
        lambda: lv.from_records(same),
        lambda: lv.from_records(other),
        lambda: lv.from_records(functools.partial(rows, 3)),
        lambda: lv.from_records(functools.partial(rows, 4)),
        lambda: lv.from_records(same, spec={"a": lv.int64}),
        lambda: lv.from_records(same, spec={"b": lv.int64}),
        lambda: lv.range(3),
        lambda: lv.range(4),
        lambda: lv.range(1, 4),
        lambda: lv.range(0, 4, 2),
    ],
    "combiners": [
        lambda: lv.concat(ranged(), ranged()),
        lambda: lv.mix([ranged(), ranged()]),
        lambda: lv.mix([ranged(), ranged()], seed=1),
        lambda: lv.mix([ranged(), ranged()], weights=[1, 2]),
        lambda: lv.mix([ranged(), ranged()], weights=[2, 1]),
        lambda: lv.mix([ranged(), ranged().map(same)]),
        lambda: lv.mix([ranged().map(same), ranged()]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_that_differ_in_one_argument_have_different_fingerprints(family):
    made = [make() for make in FAMILIES[family]]
    prints = [ds.fingerprint() for ds in made]
    texts = {}
    for ds, fingerprint, again in zip(made, prints, FAMILIES[family], strict=True):
        assert again().fingerprint() == fingerprint
        assert texts.setdefault(fingerprint, str(ds)) == str(ds)
    assert len(set(prints)) == len(made), sorted(map(str, made))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_text_of_a_dataset_makes_it_again(family):
    for make in FAMILIES[family]:
        ds = make()
        assert lv.from_text(str(ds)) == ds
        assert lv.from_json(ds.to_json()) == ds


OTHERS = {
    "bool": [True, False],
    "int": [1, 2, 3, 5, 8],
    "bytes": [16, 64, 1024],
    "float": [0.5, 0.25, 8000.0],
    "text": ["a", "b", ";"],
    "texts": [["a"], ["value"], ["a", "b"]],
    "ints": [[1], [2], [1, 2], [0, 2], [1, 3]],
}


def test_each_option_of_each_registered_name_is_in_the_fingerprint():
    """The options of the tables, with the values that a table and a stage accept."""
    tried = 0
    for row, core in examples():
        for arg in row["args"]:
            seen = {core.fingerprint(): core.json()}
            for value in [*(arg["choices"] or []), *OTHERS.get(arg["type"], [])]:
                try:
                    made = _levada.remake(core, tuple(core.inputs()), {arg["name"]: value})
                except errors.LevadaError:
                    continue
                shard = row["name"] == "shard" or arg["name"] in ("part", "files", "pattern")
                if not arg["tuning"] and not shard:
                    assert seen.setdefault(made.fingerprint(), made.json()) == made.json(), arg
                assert _levada.parse(made.text()).json() == made.json()
                tried += 1
    assert tried > 300


def test_a_state_of_another_source_is_refused():
    with iter(source(path="A")) as it:
        next(it)
        state = it.save()
    with (
        iter(source(path="B")) as it,
        pytest.raises(errors.LevadaError, match="path='B'"),
    ):
        it.restore(state)
    with iter(source(path="A")) as it:
        it.restore(state)
        assert next(it)["line"] == b"A2"


def test_registered_names_are_made_again_when_no_dataset_has_them():
    texts = [str(source(path=v)) for v in LITERALS] + [str(decoded(by=v)) for v in LITERALS]
    assert [str(lv.from_text(text)) for text in texts] == texts
    text = str(source(path="made again"))
    assert lv.from_text(text).first() == {"line": b"made again1"}
    with pytest.raises(errors.NotFoundError, match="register_source"):
        lv.from_text("records:{py:\"test_identity_no(path='a')\"}")
    with pytest.raises(errors.NotFoundError, match="TypeError"):
        lv.register_source("test_identity_one", lambda a: Lines(a))
        lv.from_text("records:{py:\"test_identity_one(b='a')\"}")


def function_of(text, **variables):
    """A function of a script, which no module has."""
    variables = {"__name__": "__main__", **variables}
    exec(text, variables)
    return variables["f"]


MULTIPLY = "def f(record):\n    return {'v': record['value'] * 2}\n"
HELPED = "def g(value): return value * 2\n" + MULTIPLY.replace(
    "record['value'] * 2", "g(record['value'])"
)


def test_the_code_of_a_script_is_a_part_of_the_key_of_a_cache_file(tmp_path):
    def values(text):
        ds = lv.range(3).map(function_of(text)).cache(tmp_path / "cache")
        return [int(record["v"]) for record in ds]

    assert values(MULTIPLY) == values("\n\n" + MULTIPLY) == [0, 2, 4]
    assert values(MULTIPLY.replace("2", "3")) == [0, 3, 6]
    assert values(HELPED) == [0, 2, 4]
    assert values(HELPED.replace("2", "3")) == [0, 3, 6]


def test_a_state_outlives_a_change_of_the_code():
    one, two = (lv.range(9).map(function_of(MULTIPLY.replace("2", n))) for n in "23")
    assert one.fingerprint() == two.fingerprint()
    assert one != two
    with iter(one.batch(1)) as it:
        next(it)
        state = it.save()
    with iter(two.batch(1)) as it:
        it.restore(state)
        assert int(next(it)["v"][0]) == 3


def test_what_a_function_captures_is_a_part_of_the_key_of_a_cache_file(tmp_path):
    def made(value):
        return (
            lv.range(3).map(lambda record: {"v": record["value"] * value}).cache(tmp_path / "cache")
        )

    for value in (2, 3, 2):
        assert [int(record["v"]) for record in made(value)] == [0, value, 2 * value]
    for value in ([1], {}, Lines(), np.random.default_rng()):
        with pytest.raises(errors.InvalidArgumentError, match="cache file"):
            iter(made(value))


def test_constants_may_be_cached(tmp_path):
    for value in (1, 2, b"a", 1):
        ds = lv.range(2).with_columns(src=value).cache(tmp_path / "cache")
        assert [record["src"] for record in ds] == [value, value]
