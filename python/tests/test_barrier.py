# SPDX-License-Identifier: Apache-2.0
"""Barrier: spec/barrier.md, B1 to B16 and the tests of upstream's barrier_ops_test.py."""

import collections
import gc

import numpy as np
import pytest
from levada import errors, train
from waiting import Call, waiting

OUT, CANCELLED = errors.OutOfRangeError, errors.CancelledError
LATE, INVALID = errors.DeadlineExceededError, errors.InvalidArgumentError
FIRST = -(2**63)


def make(types=("float32", "float32"), shapes=((), ()), **more):
    return train.Barrier(list(types), shapes=list(shapes), **more)


def put(barrier, component, keys, values=None):
    barrier.insert_many(
        component, list(keys), [float(ord(k)) for k in keys] if not values else values
    )


def complete(barrier, keys):
    put(barrier, 0, keys)
    put(barrier, 1, keys)


def take(barrier, n, **more):
    """The keys; their values must belong to them."""
    indices, keys, values = barrier.take_many(n, **more)
    assert len(indices) == len(keys) == len(values[0]) == len(values[1])
    for key, first, second in zip(keys, *values, strict=True):
        assert first == second == ord(key)
    return [key.decode() for key in keys]


def sizes(barrier):
    return barrier.ready_size(), barrier.incomplete_size()


# -- inserting -------------------------------------------------------------------------------------


def test_what_was_asked_for_is_recorded():
    barrier = train.Barrier(["float32", "string"], shapes=[(), (2, 3)], name="recorded")
    assert barrier.name == "recorded" and barrier.types == ["float32", "string"]
    assert barrier.shapes == [(), (2, 3)]
    assert train.Barrier("int64").shapes == [None]
    assert sizes(barrier) == (0, 0)


def test_keys_are_ready_when_all_their_components_are_there():
    barrier = make()
    put(barrier, 0, "abc")
    assert sizes(barrier) == (0, 3)
    put(barrier, 1, "abc")
    assert sizes(barrier) == (3, 0)


def test_values_of_any_dtype_and_shape_come_back_with_their_keys():
    barrier = train.Barrier(["int64", "string", "float32"], shapes=[(2, 2), (), (8,)])
    numbers = np.arange(12).reshape(3, 2, 2)
    rows = np.random.default_rng(0).random((3, 8)).astype(np.float32)
    barrier.insert_many(1, ["a", b"\xff", "ü"], ["x", b"y", "z"])
    barrier.insert_many(2, ["a", b"\xff", "ü"], rows)
    barrier.insert_many(0, np.array(["a", b"\xff", "ü"], object), numbers)
    indices, keys, values = barrier.take_many(3)
    assert indices.dtype == np.int64 and indices.tolist() == [FIRST] * 3
    assert keys.dtype == object and keys.tolist() == [b"a", b"\xff", "ü".encode()]
    assert np.array_equal(values[0], numbers) and values[1].tolist() == [b"x", b"y", b"z"]
    assert np.array_equal(values[2], rows) and values[2].flags.writeable


def test_without_shapes_the_values_of_one_take_are_stacked():
    barrier = train.Barrier(["int64"])
    barrier.insert_many(0, ["a"], [[1, 2]])
    barrier.insert_many(0, ["b"], [[3, 4]])
    assert barrier.take_many(2)[2][0].tolist() == [[1, 2], [3, 4]]
    barrier.insert_many(0, ["c"], [[1, 2]])
    barrier.insert_many(0, ["d"], [[3]])
    with pytest.raises(INVALID, match="have shapes"):
        barrier.take_many(2)
    assert barrier.ready_size() == 2
    assert barrier.take_many(1)[2][0].tolist() == [[1, 2]]


def test_the_order_is_that_of_first_sight_also_within_a_call():
    barrier = make()
    put(barrier, 0, "cab")
    put(barrier, 0, "d")
    put(barrier, 1, "d")
    put(barrier, 1, "bac")
    indices, keys, _ = barrier.take_many(4)
    assert keys.tolist() == [b"c", b"a", b"b", b"d"]
    assert indices.tolist() == [FIRST] * 3 + [FIRST + 1]


def test_the_index_counts_calls_that_brought_a_new_key():
    barrier = make()
    put(barrier, 0, "a")
    put(barrier, 1, "ab")  # one known, one new
    put(barrier, 0, "b")  # only known ones
    complete(barrier, "c")
    indices, keys, _ = barrier.take_many(3)
    assert keys.tolist() == [b"a", b"b", b"c"]
    assert (indices - FIRST).tolist() == [0, 1, 2]


def test_a_key_may_come_again_after_it_was_complete():
    barrier = make()
    complete(barrier, "a")
    put(barrier, 0, "a")
    assert sizes(barrier) == (1, 1)
    assert take(barrier, 1) == ["a"]
    put(barrier, 1, "a")
    assert take(barrier, 1) == ["a"]


@pytest.mark.parametrize(
    ("component", "keys", "values", "text"),
    [
        (2, ["x"], [1.0], "component index 2 is out of range"),
        (-1, ["x"], [1.0], "component index -1 is out of range"),
        (0, ["x", "b"], [1.0, 2.0], "Key b already has a value for component 0"),
        (0, ["x", "x"], [1.0, 2.0], "x"),
        (0, ["x", "y"], [1.0], "1"),
        (0, ["x"], [1.0, 2.0], "1"),
        (0, ["x"], [[1.0]], r"Expected \[1\], got \[1,1\]"),
        (0, ["x"], 1.0, r"Expected \[\?\], got \[\]"),
    ],
)
def test_a_refused_insert_changes_nothing(component, keys, values, text):
    barrier = make()
    put(barrier, 0, "ab")
    put(barrier, 1, "a")
    with pytest.raises(INVALID, match=text):
        barrier.insert_many(component, keys, values)
    assert sizes(barrier) == (1, 1)
    put(barrier, 1, "b")
    complete(barrier, "z")
    indices, keys, _ = barrier.take_many(3)
    assert keys.tolist() == [b"a", b"b", b"z"]
    assert (indices - FIRST).tolist() == [0, 0, 1]


def test_values_and_keys_of_other_types_are_type_errors():
    barrier = make()
    for keys, values in ((["a"], ["x"]), (["a"], np.ones(1)), ([1], [1.0]), ("a", [1.0])):
        with pytest.raises(TypeError):
            barrier.insert_many(0, keys, values)
    with pytest.raises(TypeError):
        barrier.insert_many(0, 5, [1.0])
    assert sizes(barrier) == (0, 0)


def test_values_without_elements_are_refused():
    with pytest.raises(ValueError, match=r"Empty tensors are not supported.*'\(0,\)' at index 1"):
        make(shapes=[(), (0,)])
    barrier = train.Barrier(["float32"])
    with pytest.raises(INVALID, match="Tensors with no elements are not supported"):
        barrier.insert_many(0, ["a"], np.zeros((1, 0), np.float32))
    for types in ([], ["nothing"]):
        with pytest.raises((ValueError, TypeError)):
            train.Barrier(types)


# -- taking ----------------------------------------------------------------------------------------


def test_many_keys_of_many_calls_leave_in_order():
    barrier = make()
    for i in range(10):
        put(barrier, 0, chr(100 + i))
    calls = [Call(put, barrier, 1, chr(100 + i)) for i in range(10)]
    indices, keys, _ = barrier.take_many(10)
    for call in calls:
        call.join()
    assert (indices - FIRST).tolist() == list(range(10))
    assert [ord(key) for key in keys] == list(range(100, 110))


def test_parallel_takes_get_each_key_once():
    barrier = make()
    calls = [Call(barrier.take_many, 1) for _ in range(10)]
    complete(barrier, "abcdefghij")
    found = [call.join() for call in calls]
    assert sorted(keys[0].decode() for _, keys, _ in found) == list("abcdefghij")
    assert {int(indices[0]) for indices, _, _ in found} == {FIRST}


def test_a_take_waits_until_all_of_its_keys_are_there():
    barrier = make()
    call = waiting(take, barrier, 3)
    complete(barrier, "ab")
    assert call.blocked() and barrier.ready_size() == 2
    complete(barrier, "c")
    assert call.join() == ["a", "b", "c"]


def test_nobody_overtakes_a_waiting_take():
    barrier = make()
    first = waiting(take, barrier, 2)
    complete(barrier, "a")
    second = waiting(take, barrier, 1)
    assert second.blocked()
    complete(barrier, "b")
    assert first.join() == ["a", "b"] and second.blocked()
    complete(barrier, "c")
    assert second.join() == ["c"]


def test_a_timeout_takes_nothing():
    barrier = make()
    complete(barrier, "a")
    for timeout in (0, 0.01):
        with pytest.raises(LATE):
            barrier.take_many(2, timeout=timeout)
    assert barrier.ready_size() == 1
    assert take(barrier, 1, timeout=0) == ["a"]
    with pytest.raises(ValueError, match="timeout=-1"):
        barrier.take_many(1, timeout=-1)


def test_cancel_frees_a_waiting_take():
    barrier = make()
    complete(barrier, "a")
    call = waiting(take, barrier, 2)
    barrier.cancel()
    with pytest.raises(CANCELLED):
        call.join()
    assert take(barrier, 1) == ["a"]


def test_takes_of_no_keys_and_of_fewer():
    barrier = make()
    indices, keys, values = barrier.take_many(0)
    assert len(indices) == len(keys) == len(values[0]) == 0
    with pytest.raises(INVALID, match="requested -1 < 0"):
        barrier.take_many(-1)
    barrier.close()
    with pytest.raises(OUT, match=r"requested 0, total size 0"):
        barrier.take_many(0)


def test_threads_insert_and_take_and_every_key_comes_once():
    barrier = train.Barrier(["int64", "string"], shapes=[(), ()])
    keys = [[f"{i} {j}" for j in range(10)] for i in range(100)]
    puts = []
    for i, names in enumerate(keys):
        puts.append(Call(barrier.insert_many, i % 2, names, names if i % 2 else range(10)))
    for i, names in enumerate(keys):
        puts.append(Call(barrier.insert_many, 1 - i % 2, names, range(10) if i % 2 else names))
    takes = [Call(barrier.take_many, 10) for _ in range(100)]
    found, counts = [], collections.Counter()
    for call in takes:
        indices, names, (numbers, words) = call.join()
        assert names.tolist() == words.tolist()
        assert [int(name.split()[1]) for name in names] == numbers.tolist()
        assert indices.tolist() == sorted(indices)
        found += names.tolist()
        counts.update(indices.tolist())
    for call in puts:
        call.join()
    assert sorted(found) == sorted(name.encode() for names in keys for name in names)
    assert counts == {FIRST + i: 10 for i in range(100)}


# -- closing ---------------------------------------------------------------------------------------


def test_a_closed_barrier_lets_its_keys_be_completed_and_no_new_ones_in():
    barrier = make()
    put(barrier, 0, "abc")
    barrier.close()
    with pytest.raises(CANCELLED, match="is closed"):
        put(barrier, 0, "d")
    put(barrier, 1, "abc")
    with pytest.raises(OUT, match="requested 4, total size 3"):
        barrier.take_many(4)
    assert take(barrier, 3) == ["a", "b", "c"]
    with pytest.raises(OUT, match="insufficient"):
        barrier.take_many(1)
    with pytest.raises(CANCELLED, match="is closed"):
        put(barrier, 0, "a")
    barrier.insert_many(0, [], [])  # nothing at all is fine


def test_a_cancelled_barrier_drops_what_is_incomplete():
    barrier = make()
    put(barrier, 0, "abc")
    put(barrier, 1, "ab")
    barrier.close(cancel_pending_enqueues=True)
    for keys in ("a", "c", "z", ""):
        with pytest.raises(CANCELLED, match="is closed"):
            put(barrier, 1, keys)
    with pytest.raises(OUT, match="requested 3, total size 2"):
        barrier.take_many(3)
    assert take(barrier, 2) == ["a", "b"]
    with pytest.raises(OUT):
        barrier.take_many(1)


def test_small_batches_after_the_close():
    barrier = make()
    put(barrier, 0, "abcd")
    put(barrier, 1, "ab")
    barrier.close()
    assert sizes(barrier) == (2, 2)
    assert take(barrier, 3, allow_small_batch=True) == ["a", "b"]
    with pytest.raises(OUT):
        barrier.take_many(1, allow_small_batch=True)  # though two are incomplete
    put(barrier, 1, "c")
    assert take(barrier, 3, allow_small_batch=True) == ["c"]
    barrier.close(True)
    with pytest.raises(CANCELLED):
        barrier.insert_many(0, [], [])


def test_a_small_batch_may_wait_for_what_is_incomplete():
    barrier = make()
    put(barrier, 0, "ab")
    barrier.close()
    call = waiting(take, barrier, 5, allow_small_batch=True, wait_for_incomplete=True)
    put(barrier, 1, "a")
    assert call.blocked()
    put(barrier, 1, "b")
    assert call.join() == ["a", "b"]


def test_small_batches_of_an_open_barrier_are_whole():
    barrier = make()
    complete(barrier, "a")
    call = waiting(take, barrier, 2, allow_small_batch=True)
    complete(barrier, "b")
    assert call.join() == ["a", "b"]


def test_a_small_take_that_waits_gets_what_is_there_at_the_close():
    barrier = make()
    complete(barrier, "ab")
    call = waiting(take, barrier, 5, allow_small_batch=True)
    barrier.close()
    assert call.join() == ["a", "b"]


@pytest.mark.parametrize("cancel", [False, True])
def test_an_empty_closed_barrier_raises_instead_of_giving_nothing(cancel):
    barrier = make()
    barrier.close(cancel)
    with pytest.raises(OUT):
        barrier.take_many(5, allow_small_batch=True)


def test_closing_twice():
    barrier = make()
    barrier.close()
    with pytest.raises(CANCELLED, match="already closed"):
        barrier.close()
    barrier.close(True)  # plain, then cancelling, is fine and returns
    for cancel in (False, True):
        with pytest.raises(CANCELLED, match="already closed"):
            barrier.close(cancel)


def test_takers_that_can_not_be_met_any_more_fail_instead_of_waiting():
    barrier = make()
    complete(barrier, "ab")
    put(barrier, 0, "cd")
    calls = [waiting(take, barrier, 3) for _ in range(2)]
    barrier.close()
    put(barrier, 1, "cd")
    ended = []
    for call in calls:
        call.thread.join(30)
        assert not call.thread.is_alive()
        ended.append(call.value or type(call.error))
    assert ended == [["a", "b", "c"], OUT]
    assert take(barrier, 1) == ["d"]


@pytest.mark.parametrize(
    ("half", "cancel", "served"),
    [(False, False, 25), (False, True, 25), (True, False, 50), (True, True, 0)],
)
def test_takers_get_all_or_nothing_when_it_closes_halfway(half, cancel, served):
    barrier = train.Barrier(["int64", "int64"], shapes=[(), ()])
    names = [[f"{i} {j}" for j in range(10)] for i in range(50)]
    takes = [Call(barrier.take_many, 10) for _ in range(50)]

    def run(jobs):
        for call in [Call(barrier.insert_many, c, names[i], [i] * 10) for i, c in jobs]:
            call.thread.join(30)
            assert call.error is None or type(call.error) is CANCELLED

    if half:
        phases = [[(i, c) for i in range(50)] for c in range(2)]
    else:
        phases = [[(i, c) for i in part for c in range(2)] for part in (range(25), range(25, 50))]
    run(phases[0])
    barrier.close(cancel_pending_enqueues=cancel)
    run(phases[1])
    good = 0
    for call in takes:
        call.thread.join(30)
        assert not call.thread.is_alive()
        assert call.error is None or type(call.error) is OUT
        good += call.error is None and len(call.value[1]) == 10
    assert good == served


# -- sharing ---------------------------------------------------------------------------------------


def test_a_shared_name_is_the_same_barrier_while_anybody_holds_it():
    first, second = (make(shared_name="test shared barrier") for _ in range(2))
    put(first, 0, "a")
    put(second, 1, "a")
    assert take(first, 1) == ["a"]
    with pytest.raises(INVALID, match="component types"):
        make(types=["float32", "int32"], shared_name="test shared barrier")
    with pytest.raises(INVALID, match="component shapes"):
        make(shapes=[(), (1,)], shared_name="test shared barrier")
    put(first, 0, "b")
    del first, second
    gc.collect()
    assert sizes(make(shared_name="test shared barrier")) == (0, 0)


def test_waiting_takes_are_listed():
    barrier = make(name="listed barrier")
    call = waiting(take, barrier, 2)
    (row,) = [row for row in train.waiters() if row["object"] == "listed barrier"]
    assert row["thread"] == call.thread.name and row["waits_for"] == "take_many(2)"
    barrier.close()
    with pytest.raises(OUT):
        call.join()
