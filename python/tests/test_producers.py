# SPDX-License-Identifier: Apache-2.0
"""Producers of levada.train: spec/input_helpers.md sections 1, 3, 4 and 5."""

import itertools
import threading
from collections import Counter

import numpy as np
import pytest
from input_support import QUIET, runners, wait_for  # noqa: F401  a fixture
from levada import errors
from levada import train as lt

# -- match_filenames_once


def test_patterns_find_what_they_match(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"match.{name}").write_text(name)
    (tmp_path / "match.dir").mkdir()

    def found(pattern):
        return [path.decode().rsplit(".", 1)[1] for path in lt.match_filenames_once(pattern)]

    assert found(str(tmp_path / "match.*")) == ["a", "b", "c"]
    assert found(str(tmp_path / "match.?")) == ["a", "b", "c"]
    assert found(str(tmp_path / "match.b")) == ["b"]
    assert found([str(tmp_path / "match.c"), tmp_path / "match.[ac]"]) == ["a", "c"]
    assert found(str(tmp_path / "none*")) == []


def test_files_that_come_later_are_not_seen(tmp_path, running):
    (tmp_path / "a").write_text("")
    names = lt.match_filenames_once(str(tmp_path / "*"))
    (tmp_path / "b").write_text("")
    producer = lt.string_input_producer(names, num_epochs=1)
    running()
    assert list(producer) == [str(tmp_path / "a").encode()]


# -- limit_epochs


def test_no_limit_gives_the_source_itself():
    source = [1, 2]
    assert lt.limit_epochs(source) is source


def test_a_limit_counts_calls():
    love_me = lt.limit_epochs(np.array(b"Love Me"), num_epochs=2)
    assert [love_me(), love_me()] == [b"Love Me"] * 2
    for _ in range(2):
        with pytest.raises(errors.OutOfRangeError, match="Reached limit of 2"):
            love_me()
    with pytest.raises(ValueError, match=r"num_epochs must be > 0 not 0\."):
        lt.limit_epochs(love_me, 0)


def test_a_limit_shared_by_threads_is_exact():
    numbers = itertools.count()
    limited, found = lt.limit_epochs(lambda: next(numbers), 1000), []

    def call():
        try:
            while True:
                found.append(limited())
        except errors.OutOfRangeError:
            pass

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1000))


# -- input_producer

ROWS = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])


def test_rows_come_in_order_epoch_after_epoch(running):
    producer = lt.input_producer(ROWS, num_epochs=2, shuffle=False)
    running()
    assert np.array_equal([producer() for _ in range(6)], [*ROWS, *ROWS])
    for _ in range(2):
        with pytest.raises(errors.OutOfRangeError):
            producer()


def test_rows_of_a_function_need_their_shape(running):
    calls = []

    def rows():
        calls.append(1)
        return ROWS + len(calls)

    producer = lt.input_producer(rows, element_shape=[4], num_epochs=2, shuffle=False)
    assert not calls
    running()
    assert np.array_equal(list(producer), [*(ROWS + 1), *(ROWS + 2)])
    for shape in (None, [None]):
        with pytest.raises(ValueError, match="fully defined shape"):
            lt.input_producer(rows, element_shape=shape)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="element_shape"):
        lt.input_producer(ROWS, element_shape=[5])
    with pytest.raises(ValueError, match="must have rows"):
        lt.input_producer(7)
    with pytest.raises(ValueError, match="num_epochs must be > 0"):
        lt.input_producer(ROWS, num_epochs=-1)
    for wrong in ("abc", [1, 2], np.arange(3)):
        with pytest.raises(TypeError, match="list of strings"):
            lt.string_input_producer(wrong)
    for limit in (-1, 2**31):
        with pytest.raises(ValueError, match=f"limit={limit}"):
            lt.range_input_producer(limit)
    for options in ({"num_epochs": 1.5}, {"seed": "a"}, {"seed": 1.5}):
        with pytest.raises(TypeError):
            lt.input_producer(ROWS, **options)
    with pytest.raises(TypeError):
        lt.range_input_producer(1.5)
    lt.input_producer(ROWS, seed=-1)


def test_a_name_for_the_gauge_makes_one(running):
    plain = lt.input_producer(ROWS, num_epochs=1)
    named = lt.input_producer(ROWS, num_epochs=1, summary_name="full", capacity=6, name="rows")
    assert plain.stats() == {"size": 0}
    running()
    wait_for(named.queue, 3)
    assert named.stats() == {"size": 3, "rows/full": 0.5}


def test_capacity_1_passes_everything_on(running):
    producer = lt.range_input_producer(50, num_epochs=3, shuffle=False, capacity=1)
    running()
    assert [*producer] == [*range(50)] * 3


@QUIET
@pytest.mark.parametrize("make", [
    lambda: lt.input_producer(np.zeros([0, 2])), lambda: lt.range_input_producer(0),
    lambda: lt.slice_input_producer([[]]),
])  # fmt: skip
def test_an_input_without_rows_is_an_error_and_no_spin(make):
    producer, coord = make(), lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(errors.LevadaError):
        producer(timeout=20)
    with pytest.raises(errors.InvalidArgumentError, match="without rows"):
        coord.join(threads)


def test_an_input_without_rows_but_with_epochs_just_ends(running):
    producer = lt.range_input_producer(0, num_epochs=3)
    running()
    assert [*producer] == []


# -- string_input_producer


def test_strings_in_order(running):
    strings = [b"to", b"be", b"or", b"not", b"to", b"be"]
    producer = lt.string_input_producer(strings, num_epochs=3, shuffle=False)
    running()
    assert [*producer] == strings * 3


def test_each_order_comes_as_often_within_epochs(running):
    producer = lt.string_input_producer(["a", "b", "c"], num_epochs=600, seed=271828)
    running()
    found = b"".join(producer)
    orders = Counter(found[at : at + 3] for at in range(0, 1800, 3))
    assert len(found) == 1800
    assert {b"".join(order) for order in itertools.permutations([b"a", b"b", b"c"])} == set(orders)
    assert all(abs(count - 100) <= 40 for count in orders.values())


def test_a_seed_fixes_the_order(running):
    streams = [lt.range_input_producer(30, num_epochs=3, seed=seed) for seed in (5, 5, 6)]
    running()
    a, b, c = (list(map(int, stream)) for stream in streams)
    assert a == b != c
    assert sorted(a) == sorted([*range(30)] * 3) and a[:30] != a[30:60]


def test_no_strings_are_an_error():
    nothing = "string_input_producer requires a non-null input tensor"
    with pytest.raises(ValueError, match=nothing):
        lt.string_input_producer([])
    producer, coord = lt.string_input_producer(lambda: np.array([], object)), lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(errors.LevadaError):
        producer(timeout=20)
    with pytest.raises(errors.InvalidArgumentError, match=nothing):
        coord.join(threads)


@QUIET
def test_without_a_coordinator_the_consumer_gets_the_error():
    producer = lt.string_input_producer(np.array([], object), num_epochs=3)
    threads = lt.start_queue_runners()
    with pytest.raises(errors.InvalidArgumentError, match="non-null"):
        producer(timeout=20)
    for thread in threads:
        thread.join(20)


@pytest.mark.parametrize("make", [
    lambda name: lt.string_input_producer(["a", "b"], shared_name=name),
    lambda name: lt.range_input_producer(2, shared_name=name),
    lambda name: lt.slice_input_producer([[1, 2]], shared_name=name),
    lambda name: lt.input_producer([1, 2], shared_name=name),
])  # fmt: skip
def test_a_shared_name_is_one_queue(make, running, request):
    first, second = make(request.node.name), make(request.node.name)
    running()
    wait_for(first.queue, 32)
    assert second.queue.size() >= 32


def test_consumers_may_begin_while_runners_run(running):
    strings = [b"to", b"be", b"or", b"not", b"to", b"be"]
    producer = lt.string_input_producer(strings, num_epochs=120, shuffle=False)
    running()
    takes = [producer.queue.dequeue if i % 2 else producer for i in range(120)]
    assert [take() for take in takes] == strings * 20


# -- range_input_producer, slice_input_producer


def test_integers_in_order(running):
    producer = lt.range_input_producer(5, num_epochs=3, shuffle=False)
    running()
    found = [*producer]
    assert found == [*range(5)] * 3
    assert all(value.dtype == np.int32 for value in found)


def test_each_order_of_integers_comes_as_often(running):
    producer = lt.range_input_producer(2, num_epochs=200, seed=314159)
    running()
    pairs = Counter(itertools.batched(map(int, producer), 2)) if hasattr(
        itertools, "batched") else Counter(zip(*[map(int, producer)] * 2, strict=True))  # fmt: skip
    assert set(pairs) == {(0, 1), (1, 0)}
    assert all(abs(count - 100) <= 40 for count in pairs.values())


def test_slices_are_at_one_index(running):
    strings, numbers = [b"A", b"Be", b"See"], [[1, 2], [3, 4], [5, 6]]
    producer = lt.slice_input_producer([strings, np.array(numbers)], num_epochs=2, shuffle=False)
    running()
    found = [(text, row.tolist()) for text, row in producer]
    assert found == list(zip(strings, numbers, strict=True)) * 2


def test_slices_are_shuffled_together(running):
    letters, numbers = ["A", "B", "C", "D"], [7, 8, 9, 10]
    producer = lt.slice_input_producer([letters, numbers], num_epochs=1200, seed=161803)
    running()
    found = [(text.decode(), int(number)) for text, number in producer]
    orders = Counter(tuple(found[at : at + 4]) for at in range(0, 4800, 4))
    pairs = zip(letters, numbers, strict=True)
    assert set(orders) == set(itertools.permutations(pairs))
    assert all(abs(count - 50) <= 30 for count in orders.values())


def test_slices_need_arrays_of_one_length():
    with pytest.raises(ValueError, match="Expected at least one tensor in slice_input_producer"):
        lt.slice_input_producer([])
    with pytest.raises(ValueError, match=r"\[3, 2\] rows"):
        lt.slice_input_producer([[1, 2, 3], [1, 2]])


# -- all producers


def test_gauges_have_the_names_of_tensorflow_and_stay_in_bounds(running):
    producers = {
        "input_producer/fraction_of_32_full": lt.string_input_producer(["a"], num_epochs=9),
        "mine/fraction_of_4_full": lt.range_input_producer(
            9, num_epochs=1, capacity=4, name="mine"
        ),
        "input_producer/fraction_of_7_full": lt.slice_input_producer([[1]], capacity=7),
    }
    running()
    for name, producer in producers.items():
        for _ in range(5):
            assert 0 <= producer.stats()[name] <= 1
            producer()


def test_a_producer_is_registered_with_its_runner():
    producer = lt.range_input_producer(3)
    slices = lt.slice_input_producer([[1, 2]])
    found = lt.get_collection("queue_runners")
    assert found == [*producer.queue_runners, *slices.queue_runners]
    assert producer.queue_runners[0].queue is producer.queue
    assert producer.name == producer.queue.name


def test_a_cancel_op_takes_the_place_of_cancelling(running):
    called = []
    producer = lt.range_input_producer(3)

    def cancel():
        called.append(1)
        mine.queue.close(cancel_pending_enqueues=True)

    mine = lt.input_producer(ROWS, cancel_op=cancel)
    coord = running()
    mine()
    producer()
    coord.request_stop()
    for thread in threading.enumerate():
        if thread.name.startswith("QueueRunnerThread"):
            thread.join(20)
    assert called == [1]


def test_a_consumer_may_stop_early(running):
    producer = lt.range_input_producer(1000)
    running()
    assert len([producer() for _ in range(10)]) == 10


def test_a_call_may_have_a_timeout(running):
    producer = lt.range_input_producer(3, num_epochs=1)
    with pytest.raises(errors.DeadlineExceededError):
        producer(timeout=0.01)
    late = lt.input_producer(lambda: ROWS, element_shape=[4], num_epochs=1)
    with pytest.raises(errors.DeadlineExceededError):
        late(timeout=0.01)
    running()
    assert sorted(producer) == [0, 1, 2]
    assert len([*late]) == 3
