# SPDX-License-Identifier: Apache-2.0
"""Calls that wait, end in time, are cancelled or closed: spec/queues.md, Q1 to Q12."""

import threading
import time

import numpy as np
import pytest
from levada import train
from queue_makers import (
    CANCELLED,
    EVERY,
    LATE,
    ORDERED,
    OUT,
    SCALAR,
    drain,
    fifo,
    numbers,
    shuffle,
)
from waiting import until, waiting

# -- waiting ---------------------------------------------------------------------------------------


@ORDERED
def test_a_consumer_that_came_first_gets_everything_in_order(make):
    queue = numbers(make)
    call = waiting(lambda: [int(queue.dequeue()) for _ in range(3)])
    queue.enqueue_many([[1, 2, 3]])
    assert call.join() == [1, 2, 3]


@EVERY
def test_dequeues_of_many_wait_for_all_of_them(make):
    queue = numbers(make)
    for method in (queue.dequeue_many, queue.dequeue_up_to):
        call = waiting(method, 4)
        queue.enqueue_many([[1, 2, 3]])
        assert call.blocked() and queue.size() == 0
        queue.enqueue(4)
        assert sorted(call.join()) == [1, 2, 3, 4]


@ORDERED
def test_a_full_queue_makes_producers_wait(make):
    queue = numbers(make, 4)
    queue.enqueue_many([[10, 20, 30, 40]])
    one = waiting(queue.enqueue, 50)
    two = waiting(queue.enqueue_many, [[60, 70]])
    assert drain_n(queue, 7) == [10, 20, 30, 40, 50, 60, 70]
    one.join()
    two.join()


def drain_n(queue, n):
    return [int(queue.dequeue()) for _ in range(n)]


@EVERY
def test_nobody_overtakes_a_waiting_dequeue(make):
    queue = numbers(make)
    many = waiting(queue.dequeue_many, 2)
    queue.enqueue(1)
    one = waiting(queue.dequeue)
    assert many.blocked() and one.blocked()
    queue.enqueue(2)
    assert sorted(many.join()) == [1, 2]
    assert one.blocked()
    queue.enqueue(3)
    assert one.join() == 3


@ORDERED
def test_two_enqueues_of_many_never_mix(make):
    queue = numbers(make, 2)
    first = waiting(queue.enqueue_many, [range(0, 6)])
    second = waiting(queue.enqueue_many, [range(10, 16)])
    assert drain_n(queue, 12) == [*range(6), *range(10, 16)]
    first.join()
    second.join()


@EVERY
def test_a_timeout_raises_and_loses_nothing(make):
    queue = numbers(make, 4)
    for timeout in (0, 0.01):
        with pytest.raises(LATE) as caught:
            queue.dequeue(timeout)
        assert isinstance(caught.value, TimeoutError)
    queue.enqueue_many([[1, 2, 3]])
    for method in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises(LATE, match=r"timed out after 0\.010 s"):
            method(4, timeout=0.01)
    assert queue.size() == 3
    queue.enqueue(37)
    with pytest.raises(LATE):
        queue.enqueue(5, timeout=0.01)
    assert sorted(drain_n(queue, 4)) == [1, 2, 3, 37]


@ORDERED
def test_a_late_enqueue_of_many_leaves_a_prefix_and_says_how_long_it_is(make):
    queue = numbers(make, 3)
    with pytest.raises(LATE) as caught:
        queue.enqueue_many([[1, 2, 3, 4, 5]], timeout=0.01)
    assert caught.value.enqueued == 3
    with pytest.raises(LATE) as caught:
        queue.enqueue_many([[6]], timeout=0)
    assert caught.value.enqueued == 0
    assert queue.dequeue_many(3).tolist() == [1, 2, 3]


@EVERY
def test_deadlines_are_kept(make):
    queue = numbers(make)
    began = time.monotonic()
    with pytest.raises(LATE):
        queue.dequeue(timeout=0.05)
    assert 0.05 <= time.monotonic() - began < 10


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_timeouts_that_mean_nothing_are_refused(timeout):
    queue = numbers(fifo)
    with pytest.raises(ValueError, match="timeout="):
        queue.dequeue(timeout)
    with pytest.raises(TypeError):
        queue.dequeue("soon")
    queue.enqueue(1, timeout=float("inf"))
    queue.enqueue(2, timeout=1e300)


@EVERY
def test_cancel_frees_all_who_wait_and_loses_nothing(make):
    queue = numbers(make, 3)
    queue.enqueue_many([[1, 2]])
    taking = waiting(queue.dequeue_many, 5)
    queue.cancel()
    with pytest.raises(CANCELLED, match="Dequeue operation was cancelled"):
        taking.join()
    assert queue.size() == 2 and not queue.is_closed()
    putting = waiting(queue.enqueue_many, [[3, 4]])
    closing = waiting(queue.close)
    queue.cancel()
    with pytest.raises(CANCELLED, match="Enqueue operation was cancelled") as caught:
        putting.join()
    assert caught.value.enqueued == 1
    with pytest.raises(CANCELLED):
        closing.join()
    assert sorted(drain_n(queue, 3)) == [1, 2, 3]
    queue.enqueue(5)


@EVERY
def test_a_byte_limit_holds_back_and_lets_one_large_element_pass(make):
    queue = make(100, ["float64"], [(1000,)], max_bytes=20_000)
    queue.enqueue_many(np.zeros((2, 1000)))
    call = waiting(queue.enqueue, np.ones(1000))
    queue.dequeue()
    call.join()
    small = make(100, ["float64"], [(1000,)], max_bytes=10)
    small.enqueue(np.ones(1000))
    with pytest.raises(LATE):
        small.enqueue(np.ones(1000), timeout=0)
    with pytest.raises(ValueError, match="max_bytes=0"):
        make(100, ["float64"], SCALAR, max_bytes=0)


def test_waiting_threads_are_listed_by_name():
    queue = train.FIFOQueue(2, ["int64"], SCALAR, name="listed")
    call = waiting(queue.dequeue_many, 2)
    (row,) = [row for row in train.waiters() if row["object"] == "listed"]
    assert row["thread"] == call.thread.name
    assert row["waits_for"] == "dequeue_many(2)" and row["seconds"] >= 0
    queue.cancel()
    with pytest.raises(CANCELLED):
        call.join()
    assert not any(row["object"] == "listed" for row in train.waiters())


# -- closing ---------------------------------------------------------------------------------------


@EVERY
def test_a_closed_queue_drains_and_then_is_out_of_range(make):
    queue = numbers(make)
    queue.enqueue_many([[1, 2, 3, 4]])
    assert not queue.is_closed()
    queue.close()
    assert queue.is_closed()
    assert sorted(drain_n(queue, 4)) == [1, 2, 3, 4]
    for call in (queue.dequeue, lambda: queue.dequeue_many(1), lambda: queue.dequeue_up_to(1)):
        with pytest.raises(OUT, match="is closed and has insufficient"):
            call()


@EVERY
@pytest.mark.parametrize("n", [10**9, 10**15, 2**62, 2**63 - 1])
def test_a_closed_queue_refuses_any_number_without_memory_for_it(make, n):
    queue = numbers(make, capacity=-1)
    queue.enqueue_many([[1, 2, 3, 4]])
    queue.close()
    with pytest.raises(OUT, match=rf"requested {n}, current size 4"):
        queue.dequeue_many(n)
    assert sorted(drain_n(queue, 4)) == [1, 2, 3, 4]


@EVERY
def test_iteration_ends_when_the_queue_is_closed_and_empty(make):
    queue = numbers(make)
    queue.enqueue_many([range(5)])
    queue.close()
    assert sorted(drain(queue)) == [0, 1, 2, 3, 4]
    assert drain(queue) == []


@EVERY
def test_a_close_frees_those_who_wait_for_elements(make):
    for method, args in (("dequeue", ()), ("dequeue_many", (4,)), ("dequeue_up_to", (4,))):
        queue = numbers(make)
        call = waiting(getattr(queue, method), *args)
        queue.close()
        with pytest.raises(OUT, match="is closed and has insufficient"):
            call.join()


@EVERY
def test_a_thread_drains_and_then_gets_the_close(make):
    queue = numbers(make)
    queue.enqueue_many([[1, 2, 3, 4]])
    call = waiting(lambda: [drain_n(queue, 4), queue.dequeue()])
    queue.close()
    with pytest.raises(OUT):
        call.join()
    assert queue.size() == 0


@EVERY
def test_a_failed_dequeue_of_many_gives_its_elements_back(make):
    queue = make(4, ["int64", "string"], [(), ()])
    queue.enqueue_many([[1, 2, 3], ["a", "b", "c"]])
    call = waiting(queue.dequeue_many, 4)
    assert queue.size() == 0
    queue.close()
    with pytest.raises(OUT):
        call.join()
    assert queue.size() == 3
    found = [queue.dequeue() for _ in range(3)]
    if make is not shuffle:
        assert found == [[1, b"a"], [2, b"b"], [3, b"c"]]
    assert sorted(map(tuple, found)) == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert queue.size() == 0


@EVERY
def test_up_to_gives_the_remainder_at_the_close(make):
    queue = numbers(make)
    queue.enqueue_many([[1, 2, 3, 4]])
    found = queue.dequeue_up_to(3).tolist()
    call = waiting(queue.dequeue_up_to, 3)
    queue.close()
    rest = call.join()
    assert rest.shape == (1,) and sorted(found + rest.tolist()) == [1, 2, 3, 4]
    assert rest.base is None or rest.base.nbytes < 1000


@EVERY
def test_up_to_any_number_drains_a_closed_queue(make):
    """The arrays for what comes are made before it is known; they must not be what was asked."""
    queue = numbers(make)
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    found = queue.dequeue_up_to(2**60)
    assert sorted(found.tolist()) == [1, 2, 3]
    assert found.base is None
    with pytest.raises(OUT):
        queue.dequeue_up_to(2**60)


def test_up_to_any_number_drains_a_closed_queue_of_strings():
    queue = train.FIFOQueue(9, "string", [()])
    queue.enqueue_many([["a", "b"]])
    queue.close()
    assert queue.dequeue_up_to(2**60).tolist() == [b"a", b"b"]


@EVERY
def test_an_element_too_few_is_left_for_others(make):
    queue = numbers(make, 4)
    queue.enqueue_many([[1, 2, 3, 4]])
    assert len(queue.dequeue_many(3)) == 3
    call = waiting(queue.dequeue_many, 3)
    queue.close()
    with pytest.raises(OUT):
        call.join()
    assert len(queue.dequeue_up_to(3)) == 1


@EVERY
def test_nothing_goes_into_a_closed_queue(make):
    queue = numbers(make)
    queue.close()
    with pytest.raises(CANCELLED, match="is closed"):
        queue.enqueue(1)
    with pytest.raises(CANCELLED, match="is closed") as caught:
        queue.enqueue_many([[1, 2]])
    assert caught.value.enqueued == 0


@ORDERED
@pytest.mark.parametrize("many", [False, True])
def test_a_close_waits_behind_the_enqueues_before_it(make, many):
    queue = numbers(make, 4)
    queue.enqueue_many([[1, 2, 3, 4]])
    put = waiting(*((queue.enqueue_many, [[5]]) if many else (queue.enqueue, 5)))
    close = waiting(queue.close)
    after = waiting(queue.enqueue, 6)
    assert not queue.is_closed()
    assert queue.dequeue() == 1
    put.join()
    close.join()
    with pytest.raises(CANCELLED, match="is closed"):
        after.join()
    assert drain(queue) == [2, 3, 4, 5]


@EVERY
def test_a_cancelling_close_ends_enqueues_and_closes_that_wait(make):
    queue = numbers(make, 2)
    queue.enqueue_many([[1, 2]])
    put, close = waiting(queue.enqueue_many, [[3, 4]]), waiting(queue.close)
    queue.dequeue()
    until(lambda: queue.size() == 2)
    queue.close(cancel_pending_enqueues=True)
    for call in (put, close):
        with pytest.raises(CANCELLED, match="was cancelled"):
            call.join()
    assert put.error.enqueued == 1
    assert len(drain(queue)) == 2  # the prefix stays


@EVERY
def test_closing_twice(make):
    queue = numbers(make)
    queue.close()
    with pytest.raises(CANCELLED, match="already closed"):
        queue.close()
    queue.close(True)
    queue.close(cancel_pending_enqueues=True)


@ORDERED
def test_a_close_that_gave_up_takes_effect_later(make):
    queue = numbers(make, 1)
    queue.enqueue(1)
    put = waiting(queue.enqueue, 2)
    with pytest.raises(LATE):
        queue.close(timeout=0.01)
    assert not queue.is_closed()
    assert queue.dequeue() == 1
    put.join()
    until(queue.is_closed, "the close")
    assert drain(queue) == [2]


@EVERY
def test_a_session_that_ends_frees_every_kind_of_call(make):
    empty, full = numbers(make), numbers(make, 2)
    full.enqueue_many([[1, 2]])
    calls = [
        waiting(empty.dequeue),
        waiting(empty.dequeue_many, 3),
        waiting(full.enqueue, 3),
        waiting(full.enqueue_many, [[3, 4]]),
    ]
    empty.cancel()
    full.cancel()
    for call in calls:
        with pytest.raises(CANCELLED, match="was cancelled"):
            call.join()


def test_methods_may_be_called_from_threads_that_python_did_not_start():
    import ctypes

    queue, done = numbers(fifo), threading.Event()
    callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

    def body(_):
        queue.enqueue(queue.dequeue() + 1)
        done.set()
        return 0

    kept = callback(body)
    thread = ctypes.c_ulong()
    library = ctypes.CDLL(None)
    assert library.pthread_create(ctypes.byref(thread), None, kept, None) == 0
    queue.enqueue(4)
    assert done.wait(30)
    library.pthread_join(thread, None)
    assert queue.dequeue() in (4, 5)
