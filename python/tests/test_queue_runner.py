# SPDX-License-Identifier: Apache-2.0
"""QueueRunner: construction, threads, collections; the tests of upstream's queue_runner_test.py."""

import functools
import threading
import weakref

import numpy as np
import pytest
from levada.train import (
    Coordinator,
    FIFOQueue,
    GraphKeys,
    QueueRunner,
    add_queue_runner,
    clear_collection,
    get_collection,
    start_queue_runners,
    waiters,
)
from runners import CANCELLED, LONG, OUT, QUIET, Counter, bad, run
from waiting import until


@pytest.fixture(autouse=True)
def empty_collection():
    clear_collection(GraphKeys.QUEUE_RUNNERS)
    yield
    clear_collection(GraphKeys.QUEUE_RUNNERS)


@pytest.fixture
def queue():
    return FIFOQueue(10, ["int64"], shapes=[()])


@pytest.fixture
def coord():
    coord = Coordinator()
    yield coord
    coord.request_stop()


def test_the_function_runs_to_the_end_of_its_input(queue):
    count = Counter(3)
    runner = QueueRunner(queue, [count])
    threads = runner.create_threads()
    assert [one.name for one in threads] == [f"QueueRunnerThread-{queue.name}-count_up_to"]
    for one in threads:
        one.start()
    for one in threads:
        one.join(LONG)
    assert runner.exceptions_raised == []
    assert count.calls == 3
    assert queue.is_closed()


def test_each_function_runs_to_its_own_end(queue):
    few, many = Counter(3), Counter(30)
    runner = QueueRunner(queue, [few, many])
    run(runner)
    assert runner.exceptions_raised == []
    assert (few.calls, many.calls) == (3, 30)


@QUIET
def test_exceptions_are_kept_without_a_coordinator(queue):
    runner = QueueRunner(queue, [bad, bad])
    run(runner)
    assert [type(error) for error in runner.exceptions_raised] == [ValueError, ValueError]


def test_one_queue_is_copied_to_another():
    first = FIFOQueue(10, ["float32"], name="first")
    second = FIFOQueue(10, ["float32"], name="second")
    first.enqueue(10.0)
    first.enqueue(20.0)
    first.close()
    run(QueueRunner(second, [lambda: second.enqueue(first.dequeue())]))
    assert (second.dequeue(), second.dequeue()) == (10.0, 20.0)
    with pytest.raises(OUT, match="is closed"):
        second.dequeue()


def test_nothing_runs_once_the_coordinator_stops(queue, coord):
    coord.request_stop()
    count = Counter(3)
    threads = QueueRunner(queue, [count]).create_threads(coord, start=True)
    coord.join()
    assert sorted(one.name for one in threads) == [
        f"QueueRunnerThread-{queue.name}-close_on_stop",
        f"QueueRunnerThread-{queue.name}-count_up_to",
    ]
    assert not any(one.is_alive() for one in threads)
    assert count.calls == 0
    assert queue.is_closed()


class Limited(Coordinator):
    """Stops by itself after `turns` questions."""

    turns = 3

    def should_stop(self):
        self.turns -= 1
        return self.turns < 0 or super().should_stop()


@pytest.mark.parametrize("kind", ["class", "instance"])
def test_threads_ask_a_should_stop_of_the_user(queue, kind):
    coord = Limited() if kind == "class" else Coordinator()
    if kind == "instance":
        answers = iter([False] * 3 + [True] * 10)
        coord.should_stop = lambda: next(answers)
    count = Counter(10)
    threads = QueueRunner(queue, [count]).create_threads(coord, start=True)
    until(queue.is_closed)
    coord.request_stop()
    coord.join(threads)
    assert count.calls == 3


def test_an_exception_stops_the_coordinator_and_is_the_one_that_join_raises(queue, coord):
    error = ValueError("bad")
    runner = QueueRunner(queue, [functools.partial(bad, error)])
    threads = runner.create_threads(coord, start=True)
    with pytest.raises(ValueError, match="bad") as caught:
        coord.join(threads)
    assert caught.value is error
    assert runner.exceptions_raised == []


def test_a_stop_frees_a_producer_that_waits_for_reserve(coord):
    queue = FIFOQueue(1, ["float32"])
    runner = QueueRunner(queue, [lambda: queue.enqueue(1.0)])
    threads = runner.create_threads(coord, start=True)
    queue.dequeue()
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LONG)
    assert not any(one.is_alive() for one in threads)


def test_what_threads_told_the_coordinator_is_not_kept_twice(queue, coord):
    coord.request_stop()
    coord.clear_stop()
    runner = QueueRunner(queue, [bad])
    run(runner, coord)
    assert runner.exceptions_raised == []
    with pytest.raises(ValueError, match="bad"):
        coord.raise_requested_exception()


def test_a_second_start_is_ignored_while_threads_run(queue, coord):
    runner = QueueRunner(queue, [coord.wait_for_stop])
    assert len(runner.create_threads(coord, start=True)) == 2
    assert runner.create_threads(coord, start=True) == []
    assert runner.create_threads() == []


def test_threads_that_were_never_started_do_not_count(queue):
    count = Counter(3)
    runner = QueueRunner(queue, [count])
    assert len(runner.create_threads()) == 1
    run(runner)
    assert count.calls == 3
    assert queue.is_closed()


@QUIET
def test_exceptions_are_forgotten_when_it_runs_again(queue):
    good = Counter(3)
    runner = QueueRunner(queue, [good, bad])
    for _ in range(2):
        run(runner)
        assert [str(error) for error in runner.exceptions_raised] == ["bad"]


def test_the_name_is_that_of_the_queue():
    queue = FIFOQueue(10, ["float32"], name="scope/queue")
    runner = QueueRunner(queue, [Counter(1)])
    assert runner.name == queue.name
    assert runner.create_threads()[0].name == f"QueueRunnerThread-{queue.name}-count_up_to"
    assert queue.name.startswith("scope/queue")


def test_the_collection_starts_its_runners(queue):
    count = Counter(3)
    runner = QueueRunner(queue, [count])
    add_queue_runner(runner)
    assert get_collection("queue_runners") == [runner]
    for one in start_queue_runners():
        assert one.daemon
        one.join(LONG)
    assert runner.exceptions_raised == []
    assert count.calls == 3


def test_threads_may_be_made_without_being_started(queue, coord):
    add_queue_runner(QueueRunner(queue, [Counter(3)]))
    threads = start_queue_runners(coord=coord, daemon=False, start=False)
    assert [one.is_alive() for one in threads] == [False, False]
    assert not any(one.daemon for one in threads)
    assert set(threads) == set(coord._registered)


def test_a_session_where_the_coordinator_belongs_is_explained(queue):
    for call in (start_queue_runners, QueueRunner(queue, [bad]).create_threads):
        with pytest.raises(TypeError, match=r"tf\.Session"):
            call("NotASession")


def test_collections_are_separate(queue):
    add_queue_runner(QueueRunner(queue, [Counter(3)]), collection="others")
    assert get_collection("queue_runners") == []
    assert len(start_queue_runners(start=False, collection="others")) == 1
    clear_collection("others")
    assert get_collection("others") == []


def test_an_empty_collection_is_warned_of(caplog):
    assert start_queue_runners() == []
    assert "no queue runner" in caplog.text


def test_runners_of_an_input_that_has_ended_are_left_out(queue, coord):
    add_queue_runner(QueueRunner(queue, [lambda: bad(OUT("end"))]))
    for one in start_queue_runners():
        one.join(LONG)
    assert queue.is_closed()
    again = FIFOQueue(10, ["int64"])
    add_queue_runner(QueueRunner(again, [lambda: again.enqueue(1)]))
    assert len(start_queue_runners(coord=coord)) == 2
    assert again.dequeue() == 1


def test_only_runners_are_added():
    with pytest.raises(TypeError, match="QueueRunner"):
        add_queue_runner(print)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_an_array_arrive_with_their_index(threads):
    rows = np.arange(96).reshape(32, 3)
    queue = FIFOQueue(8, ["int64", "int64"], shapes=[(), (3,)])
    numbers, lock = iter(range(1000)), threading.Lock()

    def feed():
        with lock:
            i = next(numbers)
        queue.enqueue([i % 32, rows[i % 32]])

    run_to_the_end = QueueRunner(queue, [feed] * threads)
    started = run_to_the_end.create_threads(start=True, daemon=True)
    seen = []
    with pytest.raises(OUT):
        while True:
            i, row = queue.dequeue()
            assert np.array_equal(row, rows[i])
            seen.append(int(i))
    for one in started:
        one.join(LONG)
    assert sorted(seen) == sorted(i % 32 for i in range(1000))
    assert threads > 1 or seen == [i % 32 for i in range(1000)]


def test_join_says_what_its_stragglers_wait_for(coord):
    """A producer of a queue that no runner owns: nobody cancels it at the stop."""
    owned, other = (FIFOQueue(1, ["int64"], name=name) for name in ("owned", "other"))
    other.enqueue(1)

    def copy_to_the_other():
        other.enqueue(2)

    threads = QueueRunner(owned, [copy_to_the_other]).create_threads(coord, daemon=True, start=True)
    until(lambda: any(row["object"] == other.name for row in waiters()))
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running") as caught:
        coord.join(threads, stop_grace_period_secs=0.05)
    first, *more = str(caught.value).split("\n")
    assert first.endswith(f"still running: {threads[0].name}")
    assert len(more) == 1
    assert more[0].startswith(f"  QueueRunnerThread-{owned.name}")
    assert f" s in '{other.name}': enqueue" in more[0]
    other.cancel()


# Construction


def test_a_queue_and_functions_are_needed(queue):
    for given in ((), (queue,), (queue, []), (None, [bad])):
        with pytest.raises(ValueError, match=r"Must provide queue and enqueue_ops\."):
            QueueRunner(*given)


@pytest.mark.parametrize("types", [(), [OUT], OUT, (ValueError,), (3,), "x", (OUT, KeyError)])
def test_types_are_a_tuple_of_classes_of_levada(queue, types):
    with pytest.raises(TypeError, match="queue_closed_exception_types"):
        QueueRunner(queue, [bad], queue_closed_exception_types=types)


def test_functions_are_functions(queue):
    for ops in (bad, ["enqueue"], [bad, None]):
        with pytest.raises(TypeError, match="function"):
            QueueRunner(queue, ops)
    for op in ("close_op", "cancel_op"):
        with pytest.raises(TypeError, match="function"):
            QueueRunner(queue, [bad], **{op: "close"})


def test_defaults(queue):
    runner = QueueRunner(queue, iter([bad]))
    assert runner.queue is queue
    assert runner.enqueue_ops == [bad]
    assert runner.queue_closed_exception_types == (OUT,)
    assert runner.exceptions_raised == []
    runner.close_op()
    assert queue.is_closed()
    with pytest.raises(CANCELLED):
        runner.close_op()
    runner.cancel_op()


def test_a_runner_that_nobody_holds_lets_its_queue_go():
    queue = FIFOQueue(3, ["int64"], shared_name="let go")
    runner = QueueRunner(queue, [Counter(1)])
    run(runner)
    gone = weakref.ref(queue)
    del queue, runner
    assert gone() is None
    FIFOQueue(4, ["float32"], shared_name="let go")


def test_whatever_has_a_name_and_closes_is_a_queue():
    class Saver:
        name, closed = "saver", None

        def close(self, cancel_pending_enqueues=False):
            self.closed = cancel_pending_enqueues

    saver = Saver()
    run(QueueRunner(saver, [Counter(1)]))
    assert saver.closed is False


def test_what_has_no_name_or_does_not_close_is_no_queue():
    for queue in (5, "q", [FIFOQueue(1, ["int64"])]):
        with pytest.raises(TypeError, match=r"queue must have a name and close\(\)"):
            QueueRunner(queue, [bad])


def test_threads_are_named_by_their_functions(queue):
    def read():
        pass

    runner = QueueRunner(queue, [read, functools.partial(read), queue.size])
    names = [
        one.name.removeprefix(f"QueueRunnerThread-{queue.name}-") for one in runner.create_threads()
    ]
    assert names == ["read", "op1", "size"]


@pytest.mark.parametrize("daemon", [False, True])
def test_daemon_is_for_all_threads(queue, coord, daemon):
    threads = QueueRunner(queue, [bad]).create_threads(coord, daemon=daemon)
    assert [one.daemon for one in threads] == [daemon, daemon]
