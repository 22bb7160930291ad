# SPDX-License-Identifier: Apache-2.0
"""Expressions of with_columns and filter, compared with NumPy."""

import itertools

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError

DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64").split()
OPERATORS = ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">="]
LENGTHS = [3, 0, 5, 1, 0, 40, 2]
GENERATOR = np.random.default_rng(7)


def numbers(dtype, count):
    """Small and large numbers of a dtype, with both signs and zero."""
    kind = np.dtype(dtype)
    if dtype == "bool":
        return GENERATOR.integers(0, 2, count).astype(bool)
    if kind.kind == "f":
        small = np.round(GENERATOR.normal(0, 5, count), 1)
        return np.where(GENERATOR.random(count) < 0.2, 0, small).astype(kind)
    info = np.iinfo(kind)
    low = max(info.min, -(2**52))  # NumPy compares int64 and uint64 exactly, levada as float64
    large = GENERATOR.integers(low, min(info.max, 2**52), count, dtype=np.int64)
    small = GENERATOR.integers(-3 if info.min else 0, 4, count)
    return np.where(GENERATOR.random(count) < 0.5, small, large).astype(kind)


def same(is_, want):
    assert is_.dtype == want.dtype and is_.shape == want.shape
    np.testing.assert_array_equal(is_, want)


def column(ds, name):
    return np.stack([record[name] for record in ds])


def by_numpy(expression, **fields):
    with np.errstate(all="ignore"):
        return np.asarray(eval(expression, {"np": np}, fields))


PAIRS = list(itertools.combinations_with_replacement(DTYPES, 2))


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_dtypes_and_values_of_two_fields_are_those_of_numpy(a, b):
    x, y = numbers(a, 200), numbers(b, 200)
    ds = lv.from_arrays({"x": x, "y": y})
    for op in OPERATORS:
        if a == b == "bool" and op in OPERATORS[:6]:
            with pytest.raises(InvalidArgumentError, match="booleans cannot be computed with"):
                ds.with_columns(z=f"x {op} y")
            continue
        same(column(ds.with_columns(z=f"x {op} y"), "z"), by_numpy(f"x {op} y", x=x, y=y))


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_numbers_of_the_text_are_those_of_python(dtype):
    x = numbers(dtype, 300)
    ds = lv.from_arrays({"x": x})
    for op, number in itertools.product(OPERATORS, ["3", "0", "0.1", "2.5"]):
        for text in (f"x {op} {number}", f"{number} {op} x"):
            same(column(ds.with_columns(z=text), "z"), by_numpy(text, x=x))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float16"])
def test_sequences_are_computed_element_by_element(dtype):
    rows = [numbers(dtype, n) for n in LENGTHS]
    w = np.arange(len(rows), dtype=np.float32)
    ds = lv.from_arrays({"x": rows, "y": rows[::1], "w": w}).shuffle(9, seed=1)
    made = ds.with_columns(
        third="x / 3", double="x + y", weighted="x * w", big="x > 2", mean="x / len(x)"
    )
    texts = {
        "third": "x / 3", "double": "x + x", "weighted": "x * w", "big": "x > 2",
        "mean": "x / np.int64(len(x))",
    }  # fmt: skip
    for record in made:
        for name, text in texts.items():
            same(record[name], by_numpy(text, x=record["x"], w=record["w"]))


def test_fixed_arrays_stay_fixed():
    images = GENERATOR.integers(0, 256, (20, 4, 5, 3)).astype(np.uint8)
    spec = {"image": lv.FixedLenFeature([4, 5, 3], lv.uint8)}
    ds = lv.from_arrays({"image": images}, spec=spec)
    made = ds.with_columns(x="float32(image) / 255 - 0.5")
    assert made.spec["x"].shape == (4, 5, 3) and made.spec["x"].ragged == 0
    same(column(made, "x"), by_numpy("image.astype('f4') / 255 - 0.5", image=images))
    assert made.batch(5).first()["x"].shape == (5, 4, 5, 3)


def test_conditions_combine():
    ds = lv.from_arrays({"n": np.arange(50), "s": [b"ab" * (i % 3) for i in range(50)]})
    n = np.arange(50)
    for text, want in {
        "n < 5 or n > 45": (n < 5) | (n > 45),
        "not (n < 5 or n > 45)": (n >= 5) & (n <= 45),
        "n % 7 == 3 and s": (n % 7 == 3) & (n % 3 > 0),
        "n not in [1, 2] and len(s) == 2": (n != 1) & (n != 2) & (n % 3 == 1),
        "s == 'ab' or s == abab": n % 3 > 0,
        "s in [ab, 'no']": n % 3 == 1,
        "n * 2 > 90": n * 2 > 90,
        "3 <= n": n >= 3,
    }.items():
        assert [int(r["n"]) for r in ds.filter(text)] == n[want].tolist(), text
        assert column(ds.with_columns(z=text), "z").astype(bool).tolist() == want.tolist(), text


def test_functions_and_constants_go_along():
    ds = lv.range(3).with_columns(
        half="value / 2", kind="'web'", twice=lambda r: 2 * r["half"], k=np.int8(3)
    )
    record = ds.to_list()[2]
    assert (record["half"], record["twice"], record["k"]) == (1.0, 2.0, 3)
    assert record["kind"] == "web"


def test_sequences_of_different_lengths_are_bad_records():
    ds = lv.from_arrays({"x": [[1, 2], [3], [4]], "y": [[1, 2], [3, 4], [5]]})
    made = ds.with_columns(z="x + y")
    with pytest.raises(InvalidArgumentError, match="the same length"):
        made.to_list()
    kept = made.with_options(errors="skip").to_list()
    assert [record["z"].tolist() for record in kept] == [[2, 4], [9]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y + 1", "unknown field 'y'"),
        ("value +", "missing at column 8"),
        ("value + 'a'", "unknown field 'a'"),
        ("exp(value)", "only len, abs"),
        ("(value", r"'\)' is missing"),
        ("value == 1 == 2", "the end is missing"),
        ("value/2", "unknown field 'value/2'"),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(InvalidArgumentError, match=message):
        lv.range(3).with_columns(z=text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-a", lambda a, b: -a),
        ("- a", lambda a, b: -a),
        ("--a", lambda a, b: a),
        ("-(a + b)", lambda a, b: -(a + b)),
        ("a * -1", lambda a, b: -a),
        ("-a * -b", lambda a, b: a * b),
        ("a - -b", lambda a, b: a + b),
        ("-abs(-a)", lambda a, b: -abs(a)),
        ("-2 * a", lambda a, b: -2 * a),
        ("-a + -0.5", lambda a, b: -a - 0.5),
    ],
)
def test_a_minus_before_names_and_parentheses(text, wanted):
    a, b = np.array([1, -2, 3]), np.array([5, 7, -9])
    ds = lv.from_arrays({"a": a, "b": b})
    values = [r["x"].item() for r in ds.with_columns(x=text)]
    assert values == wanted(a, b).tolist()
    assert [r["a"].item() for r in ds.filter(f"{text} < 0")] == a[wanted(a, b) < 0].tolist()
    lists = lv.from_arrays({"a": [[1, 2], [3]], "b": [[3, 4], [5]]}).with_columns(x=text)
    one = lists.to_list()[0]
    assert one["x"].tolist() == wanted(np.array([1, 2]), np.array([3, 4])).tolist()
    typed = lv.from_text(
        f'range:3 | with_columns:{{a:value,b:value}} | with_columns:{{x:"{text}"}}'
    )
    n = np.arange(3)
    assert [r["x"].item() for r in typed] == wanted(n, n).tolist()


def test_a_name_that_begins_with_a_minus_stands_in_quotes():
    ds = lv.from_arrays({"-a": [1, 2], "a": [5, 6]})
    assert [r["x"].item() for r in ds.with_columns(x="'-a' * 1")] == [1, 2]
    assert [r["x"].item() for r in ds.with_columns(x="-a")] == [-5, -6]


def test_strings_are_compared_with_fields_and_with_texts():
    rows = [
        {"a": x, "b": y.encode(), "n": 1} for x in ("", "b", "x\u00e9") for y in ("", "b", "xy")
    ]
    ds = lv.from_records(rows)
    for sign in ("==", "!=", "<", "<=", ">", ">="):
        want = [eval(f"x {sign} y", {"x": r["a"].encode(), "y": r["b"]}) for r in rows]
        assert [bool(r["c"]) for r in ds.with_columns(c=f"a {sign} b")] == want
        assert len(ds.filter(f"a {sign} b").to_list()) == sum(want)
    assert (
        len(ds.filter("a == 'b'").to_list()) == len(ds.filter("b == b or a == word").to_list()) / 3
    )
    with pytest.raises(InvalidArgumentError, match="'a' cannot be compared with the value of 'n'"):
        ds.filter("a == n").to_list()
