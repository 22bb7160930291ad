# SPDX-License-Identifier: Apache-2.0
"""Batchers of several sources, and shuffling ones: spec/input_helpers.md sections 3 to 5."""

import time
from collections import Counter

import levada as lv
import numpy as np
import pytest
from input_support import OUT, QUIET, counter, fails, runners  # noqa: F401  a fixture
from levada import train as lt

# -- batch_join: T8


def joined(make, how=lt.batch_join, batch_size=5, more=(), **options):
    a = (make(i, "a") for i in range(70))
    b = (make(i, "b") for i in range(90))
    return how([a, lambda source=b: next(source)], batch_size, *more, **options)


def of(batches, text):
    return [i for n, t in batches for i, s in zip(n, t, strict=True) if s == text]


@pytest.mark.parametrize("as_dict", [False, True])
def test_sources_are_merged_each_in_its_order(running, as_dict):
    keys = ("n", "t")
    make = (lambda *v: dict(zip(keys, v, strict=True))) if as_dict else lambda *v: v
    batches = joined(make)
    running()
    found = [tuple(b.values()) if as_dict else b for b in batches]
    assert [len(numbers) for numbers, _ in found] == [5] * 32
    assert of(found, b"a") == list(range(70)) and of(found, b"b") == list(range(90))
    with pytest.raises(OUT):
        batches()


def test_merged_sources_deliver_a_smaller_last_batch(running):
    batches = joined(lambda *v: v, batch_size=13, allow_smaller_final_batch=True)
    running()
    found = [*batches]
    assert [len(numbers) for numbers, _ in found] == [13] * 12 + [4]
    assert of(found, b"a") == list(range(70)) and of(found, b"b") == list(range(90))


@pytest.mark.parametrize("smaller", [False, True])
def test_merged_sources_are_padded(running, smaller):
    batches = joined(lambda i, t: (np.full(2 + i % 3, i), t), batch_size=9, dynamic_pad=True,
                     allow_smaller_final_batch=smaller)  # fmt: skip
    running()
    found = [*batches]
    assert [len(n) for n, _ in found] == [9] * 17 + [7] * smaller
    for numbers, _ in found:
        for row in numbers:
            size = 2 + row[0] % 3
            assert (row[:size] == row[0]).all() and not row[size:].any()


@QUIET
def test_merged_sources_have_one_structure():
    sources = [{"a": 1, "b": 2}, {"a": 1, "c": 2}]
    for join, more in ((lt.batch_join, ()), (lt.shuffle_batch_join, (9, 2))):
        fails(lambda j=join, m=more: j(sources, 99, *m), ValueError, "must have the same keys")
    fails(lambda: lt.batch_join([[1], ["a"]], 99), ValueError, "does not fit the first")


def test_datasets_of_different_shapes_are_merged(running):
    fixed = lv.from_arrays({"x": np.arange(30).reshape(10, 3)})
    ragged = lv.from_arrays({"x": [np.arange(i + 1) for i in range(10)]})
    batches = lt.batch_join([fixed, ragged], 20, dynamic_pad=True)
    running()
    found = batches()["x"]
    assert found.shape == (20, 10)
    assert Counter(map(int, (found != 0).sum(axis=1))) == Counter(
        [2, *[3] * 9, *range(10)]
    )  # fmt: skip


# -- shuffle_batch: T5


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("smaller", [False, True])
def test_examples_are_mixed_and_none_is_lost(running, threads, smaller):
    count = counter(37 if smaller else 40)
    batches = lt.shuffle_batch(lambda: {"c": count(), "s": "x"}, 10, 32, 16, num_threads=threads,
                               allow_smaller_final_batch=smaller)  # fmt: skip
    running()
    found = [batch["c"] for batch in batches]
    assert [len(batch) for batch in found] == [10] * 3 + [7 if smaller else 10]
    values = np.concatenate(found)
    assert len(set(np.diff(values))) > 1
    assert sorted(values) == list(range(37 if smaller else 40))


def test_mixed_examples_hold_together(running):
    batches = joined(lambda *v: v, lt.shuffle_batch_join, more=(32, 16), seed=4)
    running()
    found = [*batches]
    a, b = of(found, b"a"), of(found, b"b")
    assert a != sorted(a) and sorted(a) == list(range(70)) and sorted(b) == list(range(90))


def test_mixed_sources_deliver_a_smaller_last_batch(running):
    batches = joined(lambda *v: v, lt.maybe_shuffle_batch_join, more=(32, 16, True), batch_size=13,
                     allow_smaller_final_batch=True)  # fmt: skip
    running()
    assert [len(numbers) for numbers, _ in batches] == [13] * 12 + [4]


def test_many_at_once_are_mixed(running):
    rows = [[np.arange(5 * i, 5 * i + 5)] for i in range(8)]
    sources = [iter(rows), iter(rows)]
    batches = lt.maybe_shuffle_batch_join(
        sources, 10, 32, 16, lambda e: e[0] % 2 == 0, enqueue_many=True
    )
    running()
    assert sorted(np.concatenate([*batches])) == sorted([*range(0, 40, 2)] * 2)


def test_a_seed_fixes_the_draws_from_a_queue_that_is_full(running):
    streams = [lt.shuffle_batch(range(60), 20, 61, 30, seed=seed) for seed in (9, 9, 10)]
    running()
    while not all(stream.queue.is_closed() for stream in streams):
        time.sleep(0.001)
    a, b, c = (np.concatenate([*stream]).tolist() for stream in streams)
    assert a == b != c


def test_more_must_fit_than_stays():
    for make in (
        lambda c, m: lt.shuffle_batch([1], 2, c, m),
        lambda c, m: lt.shuffle_batch_join([[1]], 2, c, m),
        lambda c, m: lt.maybe_shuffle_batch([1], 2, c, m, True),
        lambda c, m: lt.maybe_shuffle_batch_join([[1]], 2, c, m, True),
    ):  # fmt: skip
        with pytest.raises(
            ValueError, match="capacity 10 must be bigger than min_after_dequeue 10"
        ):
            make(10, 10)
        with pytest.raises(ValueError, match="min_after_dequeue"):
            make(10, -1)
