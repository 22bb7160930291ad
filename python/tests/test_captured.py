# SPDX-License-Identifier: Apache-2.0
"""Fingerprints tell functions apart by what they capture, read and were bound to."""

import array
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import logging
import operator
import os
import pathlib
import random
import re
import subprocess
import sys
import uuid

import levada as lv
import levada._contents
import numpy as np
import pytest
from levada import errors


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: object = None


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Named(collections.namedtuple("Named", "a b")):
    pass


class Opaque:
    def __init__(self, value):
        self.value = value


def nested(value, more=0):
    def inner(record):
        return value, more

    return inner


def plus(x):
    return lambda y: y + x


def minus(x):
    return lambda y: y - x


@functools.wraps(plus)
def wrapped(x):
    return x


def strided():
    return np.arange(12).reshape(3, 4)[:, ::2]


# Functions that make values, of which any two are different.
VALUES = [
    *(functools.partial(copy.deepcopy, v) for v in (
        None, True, False, 0, 1, -1, 10**30, 0.0, -0.0, 1.0, float("nan"), float("inf"), 1j, ...,
        "", "1", "a", "A", "a" * 1000, "a" * 1001, b"", b"a", b"a" * 1000, b"b" * 1000, "ö",
        "\ud800", (), (1,), (1, 2), (1, (2,)), ((1,), 2), [], [1], [1, 2], [2, 1], [1,
        [2]], [[1], 2],
        [1.0], list(range(5000)), [*range(4999), 0], {}, {"a": 1}, {"a": 2}, {"b": 1}, {1: "a"},
        {"a": {"b": [1]}}, {"a": {"b": (1,)}}, {str(i): i for i in range(999)},
        {str(i): i for i in range(998)}, set(), {1}, {1, 2}, {"a", "b", "c"}, {"a", "b", "d"},
        {("a", 1), ("b", 2)}, {("a", 2), ("b", 1)}, bytearray(b"a"), bytearray(b"b"),
        range(3), range(4), slice(1), slice(2), Frozen(1), Frozen(2), Frozen(1, [1]), Frozen(1, {}),
        Color.RED, Color.BLUE, Named(1, 2), Named(2, 1), fractions.Fraction(1, 2),
        fractions.Fraction(1, 3), decimal.Decimal("1.0"), decimal.Decimal("1.00"), uuid.UUID(int=1),
        uuid.UUID(int=2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 2),
        datetime.timedelta(1), datetime.timedelta(2), collections.Counter("aab"),
        collections.Counter("abb"), collections.deque([1]), collections.deque([1], 3),
        collections.OrderedDict(a=1), collections.OrderedDict(a=2),
        collections.defaultdict(list, a=1), collections.defaultdict(set, a=1),
        array.array("i", [1]), array.array("i", [2]), array.array("h", [1]),
        pathlib.PurePosixPath("a"), pathlib.PurePosixPath("b"), re.compile("a"), re.compile("b"),
        re.compile("a", re.I), operator.itemgetter("a"), operator.itemgetter("b"),
        operator.attrgetter("a"), operator.methodcaller("a", 1), operator.methodcaller("a", b=1),
    )),
    *(functools.partial(np.array, v, dtype) for v, dtype in (
        ([1, 2], "i8"), ([1, 3], "i8"), ([[1, 2]], "i8"), ([[1], [2]], "i8"), ([1, 2], "i4"),
        ([1, 2], ">i8"), ([1, 2], "u8"), ([1, 2], "f8"), ([1, 2], "M8[s]"), ([1, 2], "M8[ms]"),
        ([], "i8"), ([], "f8"), (["a", "b"], "U1"), (["a", "c"], "U1"), ([b"a"], "S1"),
        (["a", "b"], object), (["a", ["b"]], object), ([(1, 2)], "i4,i4"), ([(1, 3)], "i4,i4"),
        ([(1, 2)], "i4,i8"), (1, "i8"), (2, "i8"), (range(1 << 20), "i4"),
    )),
    lambda: np.int64(1), lambda: np.int32(1), lambda: np.float32(1), lambda: np.str_("1"),
    lambda: np.dtype("i8"), lambda: np.dtype(">i8"), lambda: np.dtype("f8"),
    lambda: np.dtype([("a", "i8")]), strided,
    lambda: np.dtype([("b", "i8")]), lambda: lv.int64, lambda: lv.float32, lambda: np.log,
    lambda: np.exp, lambda: np.sum, lambda: np.random, lambda: np, lambda: len, lambda: max,
    lambda: "a".join, lambda: "b".join, lambda: {"a": 1}.get, lambda: {"a": 2}.get, lambda: int,
    lambda: Frozen, lambda: Color, lambda: Opaque(1), lambda: Opaque, lambda: plus, lambda: minus,
    lambda: wrapped, lambda: plus(1), lambda: plus(2), lambda: minus(1), lambda: plus(plus(1)),
    lambda: plus(plus(2)), lambda: plus(minus(1)), lambda: nested(1), lambda: nested(1, 1),
    lambda: lambda: 1, lambda: lambda: 2, lambda: lambda a=1: a, lambda: lambda a=2: a,
    lambda: functools.partial(plus, 1), lambda: functools.partial(plus, 2),
    lambda: functools.partial(plus, x=1), lambda: functools.partial(minus, 1),
    lambda: functools.lru_cache(plus(3)), lambda: functools.lru_cache(plus(4)),
    lambda: lv.FixedLenFeature([], lv.int64), lambda: lv.FixedLenFeature([1], lv.int64),
    lambda: lv.range(3), lambda: lv.range(4), lambda: logging.getLogger("a"),
    lambda: logging.getLogger("b"),
]  # fmt: skip


def closure(value):
    return lambda record: {"v": str(value)}


def default(value):
    def f(record, more=value):
        return {"v": str(more)}

    return f


def keyword(value):
    def f(record, *, more=value):
        return {"v": str(more)}

    return f


def bound(record, *args, **kwargs):
    return record


def script(text, **variables):
    """A function of a script."""
    variables = {"__name__": "__main__", **variables}
    exec(text, variables)
    return variables["f"]


HAVE = {
    "closure": closure,
    "default": default,
    "keyword": keyword,
    "inner": lambda value: lambda record: [str(value) for _ in "a"],
    "partial": lambda value: functools.partial(bound, value),
    "keywords": lambda value: functools.partial(bound, more=value),
    "nested partial": lambda value: functools.partial(functools.partial(bound, value), 1),
    "callable": lambda value: Frozen(1, value).__eq__,
    "in a list": lambda value: closure([1, {"a": (value,)}]),
    "in a function": lambda value: closure(closure(value)),
    "global": lambda value: script("def f(record): return {'v': V}", V=value),
    "global of a helper": lambda value: script(
        "def g(): return h()\ndef h(): return V\ndef f(record): return {'v': g()}", V=value
    ),
    "global of a comprehension": lambda value: script(
        "def f(record): return {'v': [V for _ in record]}", V=value
    ),
}
NOT_GLOBAL = (type, type(np), type(closure))  # counted by their code, or the key of a cache


def print_of(fn):
    return lv.range(3).map(fn).fingerprint()


@pytest.mark.parametrize("kind", HAVE)
def test_functions_that_differ_in_one_value_have_different_fingerprints(kind):
    seen = {}
    for i, make in enumerate(VALUES):
        if kind.startswith("global") and isinstance(make(), NOT_GLOBAL):
            continue
        fingerprint = print_of(HAVE[kind](make()))
        assert print_of(HAVE[kind](make())) == fingerprint, (i, make())
        assert fingerprint not in seen, (make(), seen[fingerprint])
        seen[fingerprint] = make()
    assert len(seen) > 150


def test_each_stage_with_a_function_has_its_values():
    stages = [
        lambda f: lv.range(3).map(f),
        lambda f: lv.range(3).map(f, batched=True),
        lambda f: lv.range(3).flat_map(f),
        lambda f: lv.range(3).filter(f),
        lambda f: lv.range(3).with_columns(a=f),
        lambda f: lv.range(3).group_by_window(f, window_size=2),
        lambda f: lv.range(3).group_by_window("value", f, window_size=2),
        lambda f: lv.range(3).group_by_window("value", window_size_func=f),
        lambda f: lv.range(3).bucket_by_sequence_length(f, boundaries=[2], batch_sizes=2),
        lambda f: lv.from_records(f),
    ]
    for stage in stages:
        assert stage(closure(1)).fingerprint() == stage(closure(1)).fingerprint()
        assert stage(closure(1)).fingerprint() != stage(closure(2)).fingerprint()
        assert stage(closure([1])).fingerprint() != stage(closure([2])).fingerprint()


def drawn(rng, depth=0):
    """A value of collections and literals."""
    kinds = [
        lambda: rng.choice([None, True, 0, 1, 2, 3.5, -1, 1 << 70]),
        lambda: "".join(rng.choices("ab',(]~#?\n=", k=rng.randrange(80))),
        lambda: rng.randbytes(rng.randrange(9)),
        lambda: np.array([rng.randrange(9) for _ in range(rng.randrange(1, 40))]),
    ]
    inner = [
        lambda: [drawn(rng, depth + 1) for _ in range(rng.randrange(5))],
        lambda: tuple(drawn(rng, depth + 1) for _ in range(rng.randrange(5))),
        lambda: {rng.choice("abcdefgh") + str(i): drawn(rng, depth + 1) for i in range(4)},
        lambda: {str(rng.randrange(99)) for _ in range(rng.randrange(9))},
        lambda: Frozen(rng.randrange(9), drawn(rng, depth + 1)),
    ]
    return rng.choice(kinds + inner * 2 if depth < 3 else kinds)()


def changed(rng, value):
    """The value with a change at one place."""
    if isinstance(value, (list, tuple)) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return type(value)((*value[:at], changed(rng, value[at]), *value[at + 1 :]))
    if isinstance(value, dict):
        key = rng.choice(list(value))
        return {k: changed(rng, v) if k == key else v for k, v in value.items()}
    if isinstance(value, set):
        return value ^ {"50"}
    if isinstance(value, Frozen):
        return Frozen(value.a, changed(rng, value.b)) if rng.random() < 0.5 else Frozen(-1, value.b)
    if isinstance(value, np.ndarray):
        made = value.copy()
        made[rng.randrange(len(made))] += 1
        return made
    if isinstance(value, (list, tuple)):
        return (*value, None) if isinstance(value, tuple) else [*value, None]
    if isinstance(value, (str, bytes)):
        return (
            value + value[:1] if value else value * 0 + type(value)(b"x" if value == b"" else "x")
        )
    return "other" if value is None or isinstance(value, bool) else value + 1


def test_drawn_values_that_differ_at_one_place_are_told_apart():
    rng = random.Random(5)
    for number in range(400):
        value = drawn(rng)
        other = changed(rng, value)
        make = HAVE[rng.choice(list(HAVE))]
        assert print_of(make(value)) == print_of(make(copy.deepcopy(value))), number
        assert print_of(make(value)) != print_of(make(other)), (number, value, other)


def prints():
    makers = [closure, HAVE["in a function"], HAVE["global"]]
    return [print_of(make(value())) for make, value in itertools.product(makers, VALUES)]


def test_fingerprints_are_those_of_other_processes():
    texts = set()
    for seed in ("0", "77"):
        code = "import test_captured; print(*test_captured.prints())"
        env = {**os.environ, "PYTHONHASHSEED": seed, "LEVADA_PAD": "x" * int(seed)}
        env["PYTHONPATH"] = os.path.dirname(__file__)
        run = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        texts.add(run.stdout)
    assert len(texts) == 1
    assert len(texts.pop().split()) == 3 * len(VALUES)


def test_a_state_of_other_values_is_refused_by_name():
    def made(scale):
        return lv.range(9).map(lambda record: {"v": record["value"] * scale}).batch(2)

    with iter(made(2)) as it:
        next(it)
        state = it.save()
    with iter(made(3)) as it, pytest.raises(errors.LevadaError, match="scale=3"):
        it.restore(state)
    with iter(made(2)) as it:
        it.restore(state)
        assert next(it)["v"].tolist() == [4, 6]


def test_what_cannot_be_told_apart_is_named_by_its_type():
    one, two = lv.range(3).map(closure(Opaque(1))), lv.range(3).map(closure(Opaque(2)))
    assert one.fingerprint() == two.fingerprint()
    assert "Opaque()" in str(one) and str(one).endswith('#?"}')
    with pytest.raises(errors.InvalidArgumentError, match="cache file"):
        iter(one.cache("unused"))


def test_variables_that_a_function_assigns_are_its_state():
    def counting():
        n = 0

        def f(record):
            nonlocal n
            n += 1
            return record

        return f

    f = counting()
    before = print_of(f)
    lv.range(3).map(f).to_list()
    assert print_of(f) == before
    f = script("N = 0\ndef f(record):\n  global N\n  N += 1\n  return record")
    before = print_of(f)
    lv.range(3).map(f).to_list()
    assert f.__globals__["N"] == 3 and print_of(f) == before


def test_a_cache_file_depends_on_the_globals_of_a_script(tmp_path):
    def values(scale):
        f = script("def f(record): return {'v': record['value'] * SCALE}", SCALE=scale)
        return [int(record["v"]) for record in lv.range(3).map(f).cache(tmp_path / "cache")]

    assert values(2) == [0, 2, 4]
    assert values(3) == [0, 3, 6]


def test_large_values_cost_no_more_than_the_limit(monkeypatch):
    monkeypatch.setattr(levada._contents, "BYTES", 1 << 20)
    monkeypatch.setattr(levada._contents, "VALUES", 1000)
    big = np.zeros(1 << 19, np.int64)
    other, late = big.copy(), big.copy()
    other[5] = late[-1] = 1
    assert print_of(closure(big)) != print_of(closure(other))
    assert print_of(closure(big)) == print_of(closure(late))
    assert print_of(closure(big)) != print_of(closure(big[:-1]))
    assert "#?" in str(lv.range(3).map(closure(big)))
    assert "#?" not in str(lv.range(3).map(closure(big[: 1 << 17])))
    long = [0] * 5000
    assert print_of(closure(long)) == print_of(closure([0] * 4999 + [1]))
    assert print_of(closure(long)) != print_of(closure([1] + [0] * 4999))
    assert print_of(closure("a" * (2 << 20))) != print_of(closure("a" * (3 << 20)))


def test_values_that_contain_themselves_end():
    loop = [1]
    loop.append(loop)

    def itself(record, n=3):
        return itself(record, n - 1) if n else record

    for value in (loop, itself):
        assert print_of(closure(value)) == print_of(closure(value))
    assert print_of(itself) == print_of(itself)


def test_tensors_are_told_apart():
    torch = pytest.importorskip("torch")
    values = [
        torch.tensor([1, 2]),
        torch.tensor([1, 3]),
        torch.tensor([[1, 2]]),
        torch.tensor([1, 2], dtype=torch.int32),
        torch.tensor([1, 2], dtype=torch.bfloat16),
        torch.tensor([1, 2], dtype=torch.float16),
        torch.arange(6).reshape(2, 3).T,
        torch.arange(6).reshape(3, 2),
        torch.float32,
        torch.float64,
        torch.device("cpu"),
        torch.device("cuda", 1),
        torch.tensor(1),
        torch.tensor([1.0], requires_grad=True),
    ]
    made = [print_of(closure(value)) for value in values]
    assert len(set(made)) == len(made)
    assert made == [print_of(closure(copy.deepcopy(value))) for value in values]


RECORDS = [{"x": [1, 2], "s": "a", "a": np.zeros(2)}, {"x": [3], "s": "b", "a": np.ones(1)}]
SOURCES = {
    "other value": [{**RECORDS[0], "s": "c"}, RECORDS[1]],
    "other array": [RECORDS[0], {**RECORDS[1], "a": np.full(1, 2.0)}],
    "other list": [{**RECORDS[0], "x": [1, 3]}, RECORDS[1]],
    "other order": RECORDS[::-1],
    "fewer": RECORDS[:1],
    "more": RECORDS + RECORDS[:1],
    "tuple": tuple(RECORDS),
}


def restores(one, other):
    it = iter(one)
    next(it)
    again = iter(other)
    try:
        again.restore(it.save())
    except errors.FailedPreconditionError:
        return False
    return True


def test_records_count_by_their_contents(tmp_path):
    same = [lv.from_records([dict(r) for r in RECORDS]) for _ in range(2)]
    assert same[0].fingerprint() == same[1].fingerprint() and restores(*same)
    prints = {same[0].fingerprint()}
    for name, records in SOURCES.items():
        ds = lv.from_records(records)
        assert ds.fingerprint() not in prints, name
        assert not restores(same[0], ds) and not restores(ds, same[0]), name
        prints.add(ds.fingerprint())
        with pytest.raises(errors.InvalidArgumentError, match="does not contain the data"):
            list(ds.cache(str(tmp_path / "cache")))
    opaque = [lv.from_records([{"x": 1, "o": Opaque(i)}]).select("x") for i in range(2)]
    assert opaque[0].fingerprint() == opaque[1].fingerprint()  # by class, which the text says
    assert "#?" in str(opaque[0])


ARRAYS = {"x": np.arange(6).reshape(3, 2), "s": [b"a", b"bc", b""], "r": [[1], [2, 3], []]}
COLUMNS = {
    "value": {"x": ARRAYS["x"] + 1},
    "dtype": {"x": ARRAYS["x"].astype("int32")},
    "shape": {"x": np.arange(6).reshape(3, 1, 2)},
    "bytes": {"s": [b"a", b"b", b"c"]},
    "ragged": {"r": [[1, 2], [3], []]},
    "name": {"y": [1, 2, 3]},
}


def test_arrays_count_by_their_contents():
    same = [lv.from_arrays(dict(ARRAYS)) for _ in range(2)]
    assert same[0].fingerprint() == same[1].fingerprint() and restores(*same)
    prints = {same[0].fingerprint()}
    for name, columns in COLUMNS.items():
        ds = lv.from_arrays({**ARRAYS, **columns})
        assert ds.fingerprint() not in prints, name
        assert not restores(same[0], ds), name
        prints.add(ds.fingerprint())


def test_a_sample_of_many_records_counts():
    many = np.arange(100_000)
    other = many.copy()
    other[[0, -1, 50_000]] += 1
    for make in (
        lambda x: lv.from_arrays({"x": x}),
        lambda x: lv.from_records([{"x": i} for i in x.tolist()]),
    ):
        prints = {make(x).fingerprint() for x in (many, other, many[:-1], many.copy())}
        assert len(prints) == 3
    wide = {"x": np.zeros((300, 1 << 20), "uint8")}
    before = lv.from_arrays(wide).fingerprint()
    wide["x"][0, 7] = 1
    assert lv.from_arrays(wide).fingerprint() != before
