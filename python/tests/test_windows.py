# SPDX-License-Identifier: Apache-2.0
"""group_by_window: windows of records with the same key."""

from collections import Counter

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError


def model(keys, size_of):
    """Numbers of the records of each window, in order."""
    windows, done = {}, []
    for i, key in enumerate(keys):
        windows.setdefault(key, []).append(i)
        if len(windows[key]) == size_of(key):
            done.append(windows.pop(key))
    return done + [windows[key] for key in sorted(windows)]


def values(dataset):
    return [batch["value"].tolist() for batch in dataset]


def by_last_digit(record):
    return record["value"] % 10


@pytest.mark.parametrize(("key", "kind"), [(b"a", "bytes"), (0.5, "float"), ("a", "str")])
def test_a_function_that_returns_no_integer_is_named(key, kind):
    def of_record(record):
        return key

    if kind == "float":
        wanted = rf"of_record.* must return an integer, bytes or a str, not {kind}"
        with pytest.raises(TypeError, match=wanted):
            values(lv.range(4).group_by_window(of_record, window_size=2))
    with pytest.raises(TypeError, match=rf"of_record.* must return an integer, not {kind}"):
        values(lv.range(4).bucket_by_sequence_length(of_record, boundaries=[2], batch_sizes=2))


@pytest.mark.parametrize("key", ["value % 10", by_last_digit])
def test_a_key_is_an_expression_or_a_function(key):
    ds = lv.range(95).group_by_window(key, window_size=3)
    assert values(ds) == model([i % 10 for i in range(95)], lambda _: 3)
    assert list(ds.first()) == ["value"]


def test_columns_stay_known_after_a_function_of_the_key():
    spec = {"x": lv.VarLenFeature("int32"), "v": lv.FixedLenFeature([2], "float32"), "s": "string"}
    rows = [{"x": [1] * (i % 3), "v": [i, i], "s": b"a" * i} for i in range(7)]
    ds = lv.from_records(rows, spec=spec)
    made = ds.group_by_window(lambda record: len(record["x"]), window_size=2)
    assert made.spec == ds.group_by_window("len(x)", window_size=2).spec
    assert list(made.spec) == ["x", "v", "s"] and next(iter(made))["v"].shape == (2, 2)
    sized = ds.group_by_window("s", window_size_func=lambda key: 1 + len(key))
    assert list(sized.spec) == ["x", "v", "s"] and len(list(sized)) == 7
    buckets = ds.bucket_by_sequence_length(
        lambda r: len(r["x"]), boundaries=[2], batch_sizes=[2, 2]
    )
    assert list(buckets.spec)[:3] == ["x", "v", "s"]


def test_negative_keys_come_first():
    ds = lv.range(-4, 4).group_by_window("value // 3", window_size=9)
    assert values(ds) == [[-4], [-3, -2, -1], [0, 1, 2], [3]]


def test_the_window_size_may_depend_on_the_key():
    ds = lv.range(50).group_by_window(by_last_digit, window_size_func=lambda key: key + 1)
    assert values(ds) == model([i % 10 for i in range(50)], lambda key: key + 1)


def test_reduce_makes_the_batch():
    ds = lv.range(12).group_by_window(
        lambda record: record["value"] % 3,
        lambda key, batch: {"key": [key] * 2, "sum": np.cumsum(batch["value"])},
        window_size=2,
    )
    found = [(batch["key"].tolist(), batch["sum"].tolist()) for batch in ds]
    firsts = [6 * i + k for i in range(2) for k in range(3)]
    assert found == [([i % 3] * 2, [i, 2 * i + 3]) for i in firsts]


def test_the_length_of_a_sequence():
    rows = [np.arange(n) for n in (1, 5, 2, 6, 1, 7)]
    ds = lv.from_arrays({"x": rows})
    batches = list(ds.group_by_window("len(x) // 4", window_size=3, padded=True))
    assert [batch.lengths("x").tolist() for batch in batches] == [[1, 2, 1], [5, 6, 7]]
    assert batches[0]["x"].shape == (3, 2)


def test_byte_strings_are_keys():
    names = [b"b", b"", b"a\0", b"a", b"b", b"", b"a", b"b"]
    ds = lv.from_arrays({"s": names, "i": range(8)})
    found = [batch["i"].tolist() for batch in ds.group_by_window("s", window_size=2)]
    assert found == [[0, 4], [1, 5], [3, 6], [2], [7]]
    sizes = ds.group_by_window(
        "s",
        lambda key, batch: {"key": [key] * batch.num_records},
        window_size_func=lambda key: 1 + len(key),
    )
    assert [batch["key"].tolist() for batch in sizes] == [
        [b""], [b"b"] * 2, [b""], [b"a"] * 2, [b"a\0"], [b"b"]
    ]  # fmt: skip


# fmt: off
MIXED = [
    b"b", "b", 7, "\u00e4", -(2**63), b"", "", 2**63 - 1, b"\xff", "z", -1, 0, True, np.int8(7)
]
# fmt: on


@pytest.mark.parametrize("spec", [{"i": "int64"}, None])
def test_a_function_returns_ints_bytes_and_str(spec):
    def of_record(record):
        return MIXED[record["i"] % len(MIXED)]

    count = 5 * len(MIXED)
    ds = lv.from_records([{"i": i} for i in range(count)], spec=spec)
    keys = [int(MIXED[i % len(MIXED)]) if hasattr(MIXED[i % len(MIXED)], "__index__")
            else MIXED[i % len(MIXED)] for i in range(count)]  # fmt: skip
    order = {key: (isinstance(key, bytes) + 2 * isinstance(key, str), key) for key in keys}
    want = model([order[key] for key in keys], lambda _: 3)
    made = ds.group_by_window(of_record, window_size=3)
    assert [batch["i"].tolist() for batch in made] == want
    assert list(next(iter(made))) == ["i"]
    seen = []
    sized = ds.group_by_window(
        of_record,
        lambda key, batch: seen.append(key) or {"i": batch["i"]},
        window_size_func=lambda key: 3 if key in order else 0,
    )
    assert [batch["i"].tolist() for batch in sized] == want
    assert Counter(map(repr, seen)) == Counter(repr(keys[window[0]]) for window in want)


@pytest.mark.parametrize(
    "key", ["n", " n", "len(x)", "len( x )//4", "n % 3", "n//2", " len(x) % 3 ", "s", "len(s)"]
)
def test_sizes_and_reduce_know_the_key_of_an_expression(key):
    arrays = {"n": list(range(-20, 40)), "x": [np.arange(i % 9) for i in range(60)],
              "s": [b"a" * (i % 5) for i in range(60)], "i": list(range(60))}  # fmt: skip
    ds = lv.from_arrays(arrays)
    plain = [batch["i"].tolist() for batch in ds.group_by_window(key, window_size=4)]
    seen = {}
    made = ds.group_by_window(
        key,
        lambda value, batch: {"i": batch["i"], "key": [value] * batch.num_records},
        window_size_func=lambda value: seen.setdefault(value, 4),
    )
    batches = list(made)
    assert [batch["i"].tolist() for batch in batches] == plain
    assert {value for batch in batches for value in batch["key"].tolist()} == set(seen)
    sized = ds.group_by_window(key, window_size_func=lambda value: 4)
    assert [batch["i"].tolist() for batch in sized] == plain and list(sized.spec) == list(ds.spec)


def test_keys_that_left_are_forgotten():
    names = [b"%d" % (i // 2) for i in range(20_000)]
    ds = lv.from_arrays({"s": names}).group_by_window("s", window_size=2)
    assert [batch["s"].tolist() for batch in ds] == [[b"%d" % i] * 2 for i in range(10_000)]


def by_name(record):
    return f"n{record['value'] % 5}"


@pytest.mark.parametrize("key", [by_last_digit, by_name, "s"])
def test_every_cut_resumes(key):
    arrays = {"value": range(40), "s": [b"%d" % (i % 7) for i in range(40)]}
    ds = lv.from_arrays(arrays).shuffle(10, seed=1).group_by_window(key, window_size=3)
    with iter(ds) as it:
        cuts = [it.save()]
        rest = [b["value"].tolist() for b in it if cuts.append(it.save()) is None]
    for n, cut in enumerate(cuts):
        with iter(ds) as it:
            it.restore(cut)
            assert [batch["value"].tolist() for batch in it] == rest[n:]


def size_in_words(key):
    return "two"


def test_what_is_refused():
    with pytest.raises(InvalidArgumentError, match="is not a key"):
        lv.range(3).group_by_window("value / 2", window_size=2)
    for sizes in ({}, {"window_size": 2, "window_size_func": lambda key: 2}):
        with pytest.raises(
            InvalidArgumentError, match="exactly one of window_size and window_size_func"
        ):
            lv.range(3).group_by_window("value", **sizes)
    for key, match in [("value / 2", "is not a key"), ("valve % 2", "valve")]:
        with pytest.raises(InvalidArgumentError, match=match):
            lv.range(3).group_by_window(key, window_size_func=lambda key: 1)
    with pytest.raises(OverflowError, match=f"{2**63} of a window must be an integer of 64 bits"):
        list(lv.range(3).group_by_window(lambda record: 2**63, window_size=2))
    ds = lv.range(3).group_by_window("value", window_size_func=size_in_words)
    with pytest.raises(
        TypeError, match=r"size_in_words \(test_windows.py:\d+\) must return an int"
    ):
        list(ds)
    ds = lv.range(3).group_by_window("value", window_size_func=lambda key: 1 - key)
    with pytest.raises(
        InvalidArgumentError, match="window size must be greater than zero, but is 0"
    ):
        list(ds)
