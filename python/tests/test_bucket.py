# SPDX-License-Identifier: Apache-2.0
"""levada.train.bucket and bucket_by_sequence_length: spec/bucketing.md sections 1, 2 and 4.

The first tests are those of TensorFlow's bucket_ops_test.py, by name.
"""

import itertools
import threading
import time
from collections import Counter

import numpy as np
import pytest
from bucket_support import (
    BOUNDARIES,
    bucket_of,
    check_lengths,
    drain,
    numbered,
    of_lengths,
    rows_of,
)
from input_support import OUT, QUIET, counter, runners, wait_for  # noqa: F401  a fixture
from levada import errors
from levada import train as lt

# -- SingleBucketTest, BucketTest


def test_single_bucket(running):
    f = lt.bucket(numbered(32), lambda _: 0, 32, 2, num_threads=10, dynamic_pad=True)
    running()
    which, outputs = f()
    assert which == 0 and which.dtype == np.int32 and which.shape == ()
    assert outputs[0].shape == (32,) and outputs[2].shape == (32, 3)
    assert outputs[1].shape == (32, 31)
    order = np.argsort(outputs[0])
    expected = np.where(np.arange(31) < np.arange(32)[:, None], np.arange(31), 0)
    assert np.array_equal(outputs[1][order], expected)
    assert outputs[2].tolist() == [[b"s", b"t", b"u"]] * 32
    with pytest.raises(OUT):
        f()


def test_batch_size_per_bucket(running):
    sizes = [5, 10]
    f = lt.bucket(numbered(15 * 4), lambda e: int(e[0]) % 2, sizes, 2, dynamic_pad=True)
    running()
    first = [f() for _ in range(2)]
    for which, outputs in first + drain(f):
        assert len(outputs[0]) == sizes[which]
        assert set(outputs[0] % 2) == {which}
    assert sizes == [5, 10]


def test_even_odd_buckets(running):
    f = lt.bucket(numbered(64), lambda e: e[0] % 2, 32, 2, num_threads=10, dynamic_pad=True)
    running()
    batches = sorted((f() for _ in range(2)), key=lambda batch: batch[0])
    assert [int(which) for which, _ in batches] == [0, 1]
    for which, outputs in batches:
        assert sorted(outputs[0]) == list(range(int(which), 64, 2))
        assert outputs[1].shape == (32, 62 + which)


def test_even_odd_buckets_filter_out_all_odd(running):
    f = lt.bucket(
        numbered(128), lambda e: e[0] % 2, 32, 2, num_threads=10, dynamic_pad=True,
        keep_input=lambda e: e[0] % 2 == 0,
    )  # fmt: skip
    running()
    batches = drain(f)
    assert [int(which) for which, _ in batches] == [0, 0]
    assert rows_of(batches) == list(range(0, 128, 2))
    assert f.stats()["filtered_records"] == 64


def test_fail_on_wrong_bucket_capacities():
    with pytest.raises(ValueError, match=r"must have exactly num_buckets \(2\)"):
        lt.bucket(numbered(1), lambda _: 0, 32, 2, bucket_capacities=[3, 4, 5], dynamic_pad=True)


@pytest.mark.parametrize("threads", [1, 10])
@pytest.mark.parametrize("smaller", [False, True])
@pytest.mark.parametrize("length", ["x", lambda e: len(e["x"])])
def test_bucket_by_sequence_length(running, smaller, threads, length):
    f = lt.bucket_by_sequence_length(
        of_lengths(), length, 8, BOUNDARIES, num_threads=threads, dynamic_pad=True,
        allow_smaller_final_batch=smaller,
    )  # fmt: skip
    running()
    batches = drain(f)
    check_lengths(batches)
    seen = Counter(int(i) for _, outputs in batches for i in outputs["i"])
    assert max(seen.values()) == 1
    stats = f.stats()
    assert stats["records"] == len(seen) and stats["batches"] == len(batches)
    assert stats["dropped_records"] == 500 - len(seen)
    if smaller:
        assert sorted(seen) == list(range(500))
    else:
        assert {len(lengths) for lengths, _ in batches} == {8}
        assert 500 - len(seen) <= 5 * 7


def test_bucket_by_sequence_length_bucket_capacities(running):
    for wrong in ([32, 32, 32, 32], 32):
        with pytest.raises((ValueError, TypeError)):
            lt.bucket_by_sequence_length(
                of_lengths(), "x", 8, BOUNDARIES, bucket_capacities=wrong, dynamic_pad=True
            )
    f = lt.bucket_by_sequence_length(
        of_lengths(), "x", 8, BOUNDARIES, bucket_capacities=[48, 40, 32, 24, 16], dynamic_pad=True,
        allow_smaller_final_batch=True,
    )  # fmt: skip
    running()
    batches = drain(f)
    check_lengths(batches)
    assert sum(len(lengths) for lengths, _ in batches) == 500


def test_bucket_by_sequence_length_shutdown(running):
    f = lt.bucket_by_sequence_length(
        of_lengths(10**9), "x", 8, BOUNDARIES, num_threads=10, dynamic_pad=True
    )
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    assert len(threads) == 10 + 5 + 2
    taken = 0
    while taken < 320:
        taken += len(f()[0])
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=60)


# -- structure and types


def test_structures_come_back(running):
    made = {
        "bare": lambda i: np.full(2, i),
        "list": lambda i: [i, float(i)],
        "tuple": lambda i: (i, str(i)),
        "list of one": lambda i: [i],
        "dict of one": lambda i: {"c": i},
        "dict": lambda i: {"b": i, 1: [i, i]},
    }
    streams = {
        name: lt.bucket(map(make, range(8)), lambda _: 0, 4, 1) for name, make in made.items()
    }
    running()
    for name, f in streams.items():
        outputs = f()[1]
        kind = {"b": np.ndarray, "l": list, "t": tuple, "d": dict}[name[0]]
        assert type(outputs) is kind, name
    assert [len(outputs) for _, outputs in streams["list of one"]] == [1]
    assert list(streams["dict"]()[1]) == [1, "b"]


def test_fields_choose_the_bucket(running):
    by_index = lt.bucket(([i, i % 3] for i in range(30)), 1, 10, 3)
    by_last = lt.bucket(([i, i % 3] for i in range(30)), -1, 10, 3)
    by_name = lt.bucket(({"i": i, "b": np.int64(i % 3)} for i in range(30)), "b", 10, 3)
    running()
    for f in (by_index, by_last, by_name):
        seen = {}
        for which, outputs in f:
            values = outputs["i"] if isinstance(outputs, dict) else outputs[0]
            seen[int(which)] = values.tolist()
        assert seen == {k: list(range(k, 30, 3)) for k in range(3)}


def test_the_length_may_be_a_field_of_its_own(running):
    examples = [{"x": np.arange(n), "n": np.int64(n)} for n in (1, 5, 2, 6)]
    f = lt.bucket_by_sequence_length(iter(examples), "n", 2, [4], dynamic_pad=True)
    g = lt.bucket_by_sequence_length(
        (np.arange(n) for n in (1, 5, 2, 6)), 0, 2, [4], dynamic_pad=True
    )
    running()
    expected = {(1, 2): [[0, 0], [0, 1]], (5, 6): [[0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 5]]}
    assert {tuple(n.tolist()): out["x"].tolist() for n, out in f} == expected
    assert {tuple(n.tolist()): out.tolist() for n, out in g} == expected


def test_other_shapes_need_dynamic_pad():
    coord = lt.Coordinator()
    f = lt.bucket((np.arange(n) for n in (1, 2)), lambda _: 0, 2, 1)
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(errors.InvalidArgumentError, match=r"Expected \[1\], got \[2\]"):
        f(timeout=20)
    with pytest.raises(errors.InvalidArgumentError):
        coord.join(threads)
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        lt.bucket(numbered(1), lambda _: 0, 2, 1, shapes=[(), (None,), (3,)])


@pytest.mark.parametrize(
    ("value", "length"),
    [
        (7, 7),
        (np.int16(7), 7),
        (np.array(7), 7),
        (np.zeros(3), 3),
        (np.zeros((4, 2)), 4),
        ([1.0, 2.0], 2),
        (b"abc", 3),
    ],
)
def test_a_length_is_a_number_or_that_of_the_value(running, value, length):
    f = lt.bucket_by_sequence_length(
        iter([{"x": value}] * 4), "x", 2, [3, 5], shapes=[np.shape(value)]
    )
    running()
    lengths, _ = f(timeout=20)
    assert lengths.tolist() == [length] * 2


@QUIET
@pytest.mark.parametrize("value", [0.5, np.array(0.5)])
def test_a_value_without_a_length_is_refused(value):
    f = lt.bucket_by_sequence_length(iter([{"x": value}] * 4), "x", 2, [3, 5])
    lt.get_collection("queue_runners")
    threads = [t for r in f.queue_runners for t in r.create_threads(daemon=True, start=True)]
    with pytest.raises(errors.InvalidArgumentError, match=r"input_length is .*, not an integer"):
        f(timeout=20)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


# -- keys that fit no bucket: K6


@QUIET
@pytest.mark.parametrize(
    ("key", "match"),
    [
        (lambda i: 5 if i == 40 else 0, r"which_bucket=5 is not in \[0, 2\)"),
        (lambda i: -1 if i == 40 else 0, "which_bucket=-1"),
        (lambda i: 10**30 if i == 40 else 0, "which_bucket=9223372036854775807"),
        (lambda i: 0.5 if i == 40 else 0, "which_bucket is 0.5, not an integer"),
        (lambda i: np.arange(2) if i == 40 else 0, "not an integer"),
    ],
)
def test_unfit_is_an_error_after_the_batches_before_it(running, key, match):
    f = lt.bucket(counter(100), key, 10, 2, capacity=100)
    lt.get_collection("queue_runners")  # without a coordinator nothing else stops them
    threads = [t for r in f.queue_runners for t in r.create_threads(daemon=True, start=True)]
    found = []
    with pytest.raises(errors.InvalidArgumentError, match=match):
        while True:
            found.append(f(timeout=20))
    assert [outputs.tolist() for _, outputs in found] == np.arange(40).reshape(4, 10).tolist()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


@QUIET
def test_a_coordinator_gets_the_same_error():
    f = lt.bucket(counter(100), lambda i: i, 10, 2)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(errors.InvalidArgumentError, match="which_bucket=2"):
        f(timeout=20)
    assert coord.should_stop()
    with pytest.raises(errors.InvalidArgumentError, match="which_bucket=2"):
        coord.join(threads)


@QUIET
@pytest.mark.parametrize("end", [StopIteration(), errors.OutOfRangeError("too far")])
def test_a_key_function_cannot_end_the_input(end):
    def key(i):
        if i == 3:
            raise end
        return 0

    f = lt.bucket(range(9), key, 1, 1)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(RuntimeError, match="the function of an example raised"):
        drain(f)
        f(timeout=20)
    with pytest.raises(RuntimeError):
        coord.join(threads)


@QUIET
def test_a_missing_field_names_those_that_exist():
    f = lt.bucket({"a": 1, "b": 2}, "c", 1, 1)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(
        errors.InvalidArgumentError, match="no field 'c' in the example; it has 'a'"
    ):
        f(timeout=20)
    with pytest.raises(errors.InvalidArgumentError):
        coord.join(threads)


def test_every_length_at_a_boundary(running):
    lengths = [0, 1, 2, 3, 4, 9, 10, 11, -3, 2**31 - 1, -(2**31)]
    f = lt.bucket_by_sequence_length(
        ([n] for n in lengths), lambda e: e[0], 1, BOUNDARIES, capacity=-1
    )
    running()
    expected = Counter({0: 5, 1: 1, 2: 1, 3: 1, 4: 3})
    seen = Counter(bucket_of(int(length)) for (length,), _ in f)
    assert seen == expected
    assert [q.queue.name for q in f.queue_runners] == ["bucket/top_queue", "bucket/bucket_queues"]


# -- order, capacity, end: K7, K10, K11, K12


def test_the_remainders_come_in_the_order_of_the_buckets(running):
    streams = {
        n: lt.bucket(range(n), lambda i: i % 7, 3, 7, allow_smaller_final_batch=True, capacity=2)
        for n in (0, 1, 6, 7, 20, 50)
    }
    running()
    for n, f in streams.items():
        batches = drain(f)
        assert sorted(i for _, outputs in batches for i in outputs) == list(range(n))
        sizes = [len(outputs) for _, outputs in batches]
        assert sizes == sorted(sizes, key=lambda size: size < 3)  # full ones first
        rest = [int(which) for which, outputs in batches if len(outputs) < 3]
        assert rest == sorted(rest)
        for b in range(7):
            mine = [i for which, outputs in batches if which == b for i in outputs]
            assert mine == sorted(mine)


def test_a_batch_may_exceed_every_capacity(running):
    f = lt.bucket(range(100), lambda i: i % 2, 20, 2, capacity=1)
    running()
    assert [len(outputs) for _, outputs in f] == [20] * 4
    assert f.stats()["dropped_records"] == 20


def test_gauges_report_their_own_queue():
    f = lt.bucket(itertools.count(), lambda i: 0, 4, 2, capacity=3, bucket_capacities=[5, 6])
    stats = f.stats()
    names = ["bucket/bucket_queue_0/size", "bucket/bucket_queue_1/size"]
    assert [stats[name] for name in names] == [0, 0]
    assert stats["bucket/top_queue/fraction_of_3_full"] == 0 == f.queue.size()
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    wait_for(f.queue, 3)
    deadline = time.monotonic() + 20
    while f.stats()[names[0]] < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    stats = f.stats()
    assert [stats[name] for name in names] == [5, 0]
    assert stats["bucket/top_queue/fraction_of_3_full"] == 1.0
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    assert f.stats()["dropped_records"] > 0


def test_a_stop_while_everything_is_full(running):
    f = lt.bucket(itertools.count(), lambda i: i % 4, 2, 4, num_threads=3, capacity=1)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    wait_for(f.queue, 1)
    time.sleep(0.05)
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    assert len(drain(f)) == 1


@pytest.mark.parametrize("delay", [0, 0.0005, 0.002, 0.01, 0.03])
@pytest.mark.parametrize("how", ["stop", "close", "cancel"])
def test_ends_at_any_moment(how, delay):
    read = itertools.count()
    f = lt.bucket(
        lambda: next(read), lambda i: i % 3, [1, 3, 5], 3, num_threads=2, capacity=2,
        allow_smaller_final_batch=True,
    )  # fmt: skip
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    seen = []

    def consume():
        while True:
            try:
                seen.extend(f()[1].tolist())
            except errors.CancelledError:  # of this call
                continue
            except (OUT, errors.AbortedError):
                return

    consumer = threading.Thread(target=consume)
    consumer.start()
    time.sleep(delay)
    if how == "close":
        f.queue.close(cancel_pending_enqueues=True)
    elif how == "cancel":
        f.queue.cancel()
    coord.request_stop()
    try:
        coord.join(threads, stop_grace_period_secs=20)
    except errors.AbortedError:
        assert how == "cancel"
    consumer.join(20)
    assert not consumer.is_alive()
    assert len(seen) == len(set(seen))
    stats = f.stats()
    assert stats["records"] == len(seen)
    started = next(read)
    assert stats["records"] + stats["dropped_records"] in range(started - 2, started + 1)


def test_an_empty_or_failing_source_ends_consumers(running):
    empty = lt.bucket(iter([]), lambda _: 0, 2, 3)
    running()
    assert drain(empty) == []

    def fails():
        raise KeyError("no data")

    f = lt.bucket(fails, lambda _: 0, 2, 3)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(KeyError, match="no data"):
        f(timeout=20)
    with pytest.raises(KeyError, match="no data"):
        coord.join(threads)


def test_a_timeout_loses_nothing(running):
    f = lt.bucket(range(4), lambda _: 0, 4, 1)
    for timeout in (0, 0.01):
        with pytest.raises(errors.DeadlineExceededError):
            f(timeout=timeout)
    running()
    assert f()[1].tolist() == [0, 1, 2, 3]


# -- arguments: K1 to K3


@pytest.mark.parametrize(
    ("changes", "kind", "match"),
    [
        ({"batch_size": [1, 2, 3]}, ValueError, "If batch_size is a list it must have num_buckets"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"batch_size": 2.5}, TypeError, "batch_size must be an integer or a list"),
        ({"batch_size": [1, "x"]}, TypeError, "batch_size must be an integer"),
        ({"batch_size": "12"}, TypeError, "batch_size"),
        ({"batch_size": 2**70}, ValueError, "must be within int64"),
        ({"num_buckets": 0}, ValueError, "num_buckets=0"),
        ({"num_buckets": 2**40}, ValueError, "num_buckets=2147483647"),
        ({"num_buckets": None}, TypeError, "num_buckets must be an integer"),
        ({"num_threads": 0}, ValueError, "num_threads=0"),
        ({"capacity": 0}, ValueError, "capacity=0"),
        ({"capacity": -2}, ValueError, "capacity=-2"),
        ({"bucket_capacities": [1]}, ValueError, "must have exactly num_buckets"),
        ({"bucket_capacities": [1, 0]}, ValueError, "bucket_capacities=0"),
        ({"bucket_capacities": 3}, TypeError, "entry for each bucket"),
        ({"source": []}, ValueError, r"Expected at least one tensor in bucket\(\)"),
        ({"source": 5}, TypeError, "the source is 5"),
        ({"keep_input": np.array([True, False])}, ValueError, "cannot be a vector"),
        ({"which_bucket": [1]}, TypeError, "which_bucket is"),
        ({"shapes": [None]}, ValueError, "rank"),
    ],
)
def test_wrong_arguments_raise_at_once(changes, kind, match):
    given = {"source": range(3), "which_bucket": lambda _: 0, "batch_size": 2, "num_buckets": 2}
    with pytest.raises(kind, match=match):
        lt.bucket(**{**given, **changes})
    assert not lt.get_collection("queue_runners")


@pytest.mark.parametrize(
    ("boundaries", "kind", "match"),
    [
        ([], ValueError, "must not be empty"),
        (5, TypeError, "must be a list or tuple, but received: 5"),
        ("12", TypeError, "must be a list or tuple"),
        ([3.5], TypeError, "bucket boundaries must be integers, but saw: 3.5"),
        ([3, None], TypeError, "must be integers, but saw: None"),
        ([-1, 3], ValueError, "bucket boundary -1"),
        ([3, 3], ValueError, "sequential increasing lengths, but saw: 3 before 3"),
        ([5, 3], ValueError, "but saw: 5 before 3"),
        ([2**31], ValueError, "bucket boundary 2147483648"),
    ],
)
def test_wrong_boundaries_raise_at_once(boundaries, kind, match):
    with pytest.raises(kind, match=match):
        lt.bucket_by_sequence_length(range(3), lambda _: 0, 2, boundaries)


def test_integers_come_from_any_iterable(running):
    sizes = np.array([2, 3])
    streams = [
        lt.bucket(range(10), lambda i: i % 2, given, np.int64(2), capacity=np.int8(9))
        for given in (sizes, (2, 3), iter([2, 3]), {2: 0, 3: 0})
    ]
    one = lt.bucket_by_sequence_length(range(4), lambda i: i, np.array(2), np.array([2]))
    running()
    for f in streams:
        assert {(int(w), len(outputs)) for w, outputs in f} == {(0, 2), (1, 3)}
    assert sorted(tuple(n) for n, _ in one) == [(0, 1), (2, 3)]


def test_shared_names(running):
    f = lt.bucket(range(8), lambda i: i % 2, 2, 2, shared_name="together")
    g = lt.bucket(range(8, 16), lambda i: i % 2, 2, 2, shared_name="together")
    assert f.queue.name == "together"
    running()
    seen = [int(i) for _, outputs in f for i in outputs]
    assert len(seen) == len(set(seen)) and set(seen) <= set(range(16))
    assert g.stats()["size"] == 0


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter, lambda sizes: range(4, 5)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_list_of_one_size_is_for_one_bucket(kind, n):
    def make(**options):
        return lt.bucket(iter([[1]]), lambda _: 0, num_buckets=n, **options)

    if n == 1:
        make(batch_size=kind([4]))
        make(batch_size=4, bucket_capacities=kind([4]))
        return
    with pytest.raises(ValueError, match="batch_size must have num_buckets"):
        make(batch_size=kind([4]))
    with pytest.raises(ValueError, match="bucket_capacities"):
        make(batch_size=4, bucket_capacities=kind([4]))
    with pytest.raises(ValueError, match="batch_size must have num_buckets"):
        lt.bucket_by_sequence_length(iter([[1]]), 0, kind([4]), list(range(1, n)))


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter])
def test_sizes_and_capacities_are_any_iterable(kind):
    lt.bucket(
        iter([[1]]), lambda _: 0, batch_size=kind([1, 2]), num_buckets=2,
        bucket_capacities=kind([3, 4]),
    )  # fmt: skip
    for one in (4, np.int32(4), np.array(4)):
        lt.bucket(iter([[1]]), lambda _: 0, batch_size=one, num_buckets=2)
        with pytest.raises(TypeError, match="an entry for each bucket"):
            lt.bucket(iter([[1]]), lambda _: 0, 1, 2, bucket_capacities=one)
