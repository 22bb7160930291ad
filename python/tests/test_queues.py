# SPDX-License-Identifier: Apache-2.0
"""What all queues have in common: spec/queues.md, Q1 to Q12 and the tests of upstream's
fifo_queue_test.py, padding_fifo_queue_test.py and random_shuffle_queue_test.py."""

import gc
import random
import weakref

import numpy as np
import pytest
from levada import errors, train
from queue_makers import (
    EVERY,
    INVALID,
    ORDERED,
    SCALAR,
    fifo,
    numbers,
    shuffle,
)
from waiting import Call, waiting

# -- in and out ------------------------------------------------------------------------------------


@ORDERED
def test_elements_leave_in_the_order_in_which_they_came(make):
    queue = make(10, ["float32"], SCALAR)
    for value in (10.0, 20.0, 30.0):
        queue.enqueue(value)
    assert [queue.dequeue() for _ in range(3)] == [10.0, 20.0, 30.0]


@EVERY
def test_size_counts_what_is_in(make):
    queue = numbers(make)
    assert queue.size() == 0
    queue.enqueue(1)
    assert queue.size() == 1
    assert [queue.size() for _ in range(500)] == [1] * 500
    queue.dequeue()
    assert queue.size() == 0


@EVERY
def test_several_dequeues_give_each_element_once(make):
    queue = numbers(make)
    queue.enqueue_many([[1, 2, 3]])
    assert {int(queue.dequeue()) for _ in range(3)} == {1, 2, 3}


@EVERY
def test_components_stay_together(make):
    queue = make(100, ["int32", "float32", "string"], [(), (2,), ()])
    queue.enqueue((1, [1.0, 1.5], "one"))
    queue.enqueue_many([[2, 3], [[2, 2.5], [3, 3.5]], ["two", b"three"]])
    found = [queue.dequeue()]
    found += list(zip(*queue.dequeue_many(2), strict=True))
    for number, pair, word in found:
        assert pair.tolist() == [number, number + 0.5]
        assert word == {1: b"one", 2: b"two", 3: b"three"}[int(number)]


@EVERY
def test_a_queue_of_one_component_takes_and_gives_bare_values(make):
    queue = make(10, "int64", [(2,)])
    queue.enqueue(np.array([1, 2]))
    queue.enqueue([[1, 2]])
    queue.enqueue_many(np.array([[1, 2]]))
    assert all(queue.dequeue().tolist() == [1, 2] for _ in range(2))
    assert queue.dequeue_many(1).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="stands for the tuple of components"):
        queue.enqueue([1, 2])


@EVERY
def test_scalars_come_out_as_numpy_scalars_and_strings_as_bytes(make):
    queue = make(10, ["int32", "string"], [(), ()])
    queue.enqueue((5, "grün"))
    number, word = queue.dequeue()
    assert type(number) is np.int32
    assert word == "grün".encode()
    queue.enqueue((5, b"a\0"))
    _, words = queue.dequeue_many(1)
    assert words.dtype == object and words.tolist() == [b"a\0"]


@EVERY
def test_values_are_copied_when_enqueue_returns_and_results_belong_to_the_caller(make):
    queue = make(10, ["float64"], [(3,)])
    given = np.zeros(3)
    queue.enqueue(given)
    given[:] = 7
    queue.enqueue(given)
    first, second = (queue.dequeue() for _ in range(2))
    first[0] = 1
    second[0] = 1
    batch = np.ones((2, 3))
    queue.enqueue_many(batch)
    assert queue.dequeue_many(2).flags.writeable


DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128"
).split()


@EVERY
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_keeps_its_values(make, dtype):
    values = np.random.default_rng(1).integers(0, 2, (32, 4, 128)).astype(dtype)
    queue = make(64, [dtype, dtype], [(4, 128), ()])
    queue.enqueue_many([values, values[:, 0, 0]])
    order = {row.tobytes(): i for i, row in enumerate(values)}
    rows, scalars = queue.dequeue_many(30)
    assert rows.dtype == scalars.dtype == dtype and rows.shape == (30, 4, 128)
    assert len({order[row.tobytes()] for row in rows}) == 30
    assert np.array_equal(rows[:, 0, 0], scalars)
    row, scalar = queue.dequeue()
    assert row.tobytes() in order and scalar == row[0, 0] and scalar.dtype == dtype


@EVERY
def test_bfloat16_travels_as_its_bits(make):
    queue = make(10, ["bfloat16", "bfloat16"], [(2,), ()])
    queue.enqueue((np.array([1, 65535], np.uint16), np.uint16(7)))
    pair, scalar = queue.dequeue()
    # with ml_dtypes they are bfloat16, without it uint16
    assert pair.view("u2").tolist() == [1, 65535] and scalar.view("u2") == 7


@EVERY
def test_elements_of_four_dimensions_survive(make):
    element = np.arange(120.0).reshape(2, 3, 4, 5)
    queue = make(10, ["float64"], [(2, 3, 4, 5)])
    queue.enqueue(element)
    assert np.array_equal(queue.dequeue(), element)


@EVERY
def test_large_elements_and_batches_come_whole(make):
    batch = np.random.default_rng(0).random((8, 300, 100))
    queue = make(10, ["float64"], [(300, 100)])
    queue.enqueue_many(batch)
    found = queue.dequeue_many(8)
    assert sorted(found[:, 0, 0]) == sorted(batch[:, 0, 0])
    found[:] = 0
    for element in batch:
        queue.enqueue(element)
    assert sum(queue.dequeue().sum() for _ in range(8)) == pytest.approx(batch.sum())


def test_without_shapes_elements_may_have_any_shape():
    queue = train.FIFOQueue(10, ["int64", "string", "float32"])
    queue.enqueue((1, "a", np.zeros((2, 3), np.float32)))
    queue.enqueue(([1, 2], [["a", "b"]], 1.5))
    queue.enqueue((np.zeros((0, 2), np.int64), np.array([], object), []))
    queue.enqueue((np.arange(9000), [b"x"] * 9000, np.zeros(9000, np.float32)))
    a, b, c = queue.dequeue()
    assert a == 1 and b == b"a" and c.shape == (2, 3)
    a, b, c = queue.dequeue()
    assert a.tolist() == [1, 2] and b.tolist() == [[b"a", b"b"]] and c == np.float32(1.5)
    a, b, c = queue.dequeue()
    assert a.shape == (0, 2) and b.shape == (0,) and c.shape == (0,)
    a, b, c = queue.dequeue()
    a[0] = 5
    assert a.sum() == 9000 * 8999 // 2 + 5 and b.shape == c.shape == (9000,)


def test_two_queues_share_nothing():
    first, second = numbers(fifo), numbers(fifo)
    first.enqueue(1)
    assert second.size() == 0 and first.name != second.name


# -- many ------------------------------------------------------------------------------------------


@ORDERED
def test_many_go_in_and_come_out_in_order(make):
    queue = numbers(make)
    queue.enqueue_many([[0, 1, 2, 3]])
    queue.enqueue_many([range(4, 8)])
    assert queue.size() == 8
    assert queue.dequeue_many(4).tolist() == [0, 1, 2, 3]
    assert queue.dequeue_up_to(4).tolist() == [4, 5, 6, 7]


@EVERY
def test_no_rows_and_no_elements_are_fine_even_on_a_closed_queue(make):
    queue = make(10, ["int64", "float32"], [(2, 3), ()])
    none = [np.zeros((0, 2, 3), np.int64), np.zeros(0, np.float32)]
    queue.enqueue_many(none)
    assert queue.size() == 0
    for _ in range(2):
        for taken in (queue.dequeue_many(0), queue.dequeue_up_to(0)):
            assert [part.shape for part in taken] == [(0, 2, 3), (0,)]
        queue.enqueue((np.zeros((2, 3), np.int64), 1))
    queue.close()
    queue.enqueue_many(none)
    assert queue.dequeue_many(0)[1].shape == (0,)


def test_empty_lists_become_the_dtypes_of_the_queue():
    queue = train.FIFOQueue(10, ["int32", "float32", "string"], [(), (), ()])
    queue.enqueue_many([[], [], []])
    assert queue.size() == 0


@pytest.mark.parametrize("make", [fifo, shuffle])
def test_many_need_shapes(make):
    queue = make(10, ["int64"])
    for _ in range(2):
        for call in (queue.dequeue_many, queue.dequeue_up_to):
            for n in (0, 1):
                with pytest.raises(INVALID, match="specified shapes"):
                    call(n)
        queue.enqueue(1)


@EVERY
def test_a_negative_number_of_elements_is_refused(make):
    queue = numbers(make)
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises(INVALID, match="requested -1 < 0 elements"):
            call(-1)


@EVERY
def test_what_is_no_number_of_elements_is_refused(make):
    queue = numbers(make)
    queue.enqueue_many([[1, 2]])
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        for n in (1.5, None, "2"):
            with pytest.raises(TypeError):
                call(n, timeout=0)
    assert queue.size() == 2


def test_the_number_of_elements_may_come_from_another_queue():
    sizes, queue = fifo(10, ["int32"], SCALAR), numbers(fifo)
    sizes.enqueue_many([[2, 3]])
    queue.enqueue_many([range(5)])
    assert [len(queue.dequeue_many(sizes.dequeue())) for _ in range(2)] == [2, 3]


@ORDERED
def test_more_than_the_capacity_go_in_as_space_appears(make):
    queue = numbers(make, 5)
    call = waiting(queue.enqueue_many, [range(10)])
    for i in range(5):
        assert queue.size() == 5 and call.blocked()
        assert queue.dequeue() == i
    call.join()
    assert queue.dequeue_many(5).tolist() == [5, 6, 7, 8, 9]


@EVERY
def test_more_than_the_capacity_come_out_as_elements_appear(make):
    queue = numbers(make, 2)
    call = waiting(queue.dequeue_many, 4)
    for i in range(4):
        queue.enqueue(i, timeout=0)
    assert sorted(call.join()) == [0, 1, 2, 3]


@ORDERED
def test_any_mixture_of_enqueues_keeps_the_order(make):
    queue, draw = numbers(make), random.Random(3)

    def produce():
        at = 0
        while at < 250:
            n = min(draw.randint(0, 20), 250 - at)
            if draw.random() < 0.5:
                queue.enqueue(at)
                at += 1
            else:
                queue.enqueue_many([range(at, at + n)])
                at += n

    call = Call(produce)
    assert [int(queue.dequeue()) for _ in range(250)] == list(range(250))
    call.join()
    assert queue.size() == 0


@ORDERED
def test_any_mixture_of_dequeues_keeps_the_order(make):
    queue, draw, found = numbers(make), random.Random(4), []
    call = waiting(queue.enqueue_many, [range(250)])
    while len(found) < 250:
        n = min(draw.randint(0, 20), 250 - len(found))
        found += [queue.dequeue()] if draw.random() < 0.5 else queue.dequeue_many(n).tolist()
    call.join()
    assert found == list(range(250))


@EVERY
def test_threads_that_put_one_by_one_lose_nothing(make):
    queue = make(10, ["float32"], SCALAR)
    calls = [Call(queue.enqueue, 10.0 * i) for i in range(10)]
    assert sorted(queue.dequeue() for _ in range(10)) == [10.0 * i for i in range(10)]
    for call in calls:
        call.join()


@EVERY
@pytest.mark.parametrize("method", ["dequeue", "dequeue_many", "dequeue_up_to"])
def test_threads_that_take_get_each_element_once(make, method):
    queue = numbers(make, 100)
    calls = [Call(getattr(queue, method), *([10] * (method != "dequeue"))) for _ in range(10)]
    for i in range(10):
        queue.enqueue_many([range(10 * i, 10 * i + 10)])
    found = np.concatenate([np.atleast_1d(call.join()) for call in calls])
    assert len(set(found.tolist())) == len(found) == (10 if method == "dequeue" else 100)


@EVERY
def test_many_producers_and_consumers_leave_what_was_there(make):
    queue = make(50, ["float32"], SCALAR)
    queue.enqueue_many([[10.0] * 49])
    producers = [Call(lambda: [queue.enqueue(20.0) for _ in range(100)]) for _ in range(10)]
    consumers = [Call(lambda: [queue.dequeue() for _ in range(100)]) for _ in range(10)]
    for call in producers:
        call.join()
    taken = sum(sum(call.join()) for call in consumers)
    assert queue.size() == 49
    assert taken + queue.dequeue_many(49).sum() == 49 * 10.0 + 1000 * 20.0


@EVERY
def test_a_queue_at_its_end_is_nobodys_but_its_holders(make):
    queue = numbers(make)
    queue.close()
    gc.disable()
    try:
        for take, n in ((queue.dequeue, ()), (queue.dequeue_many, (1,))):
            with pytest.raises(errors.OutOfRangeError):
                take(*n)
        gone = weakref.ref(queue)
        del take, queue
        assert gone() is None
    finally:
        gc.enable()
