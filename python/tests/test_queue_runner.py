# SPDX-License-Identifier: Apache-2.0
"""QueueRunner: spec/queue_runner.md, R1 to R13 and the tests of upstream's queue_runner_test.py."""

import functools
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
from levada import errors
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

LONG = 60
OUT, CANCELLED = errors.OutOfRangeError, errors.CancelledError
QUIET = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


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


class Counter:
    """Counts its calls; OutOfRangeError past the limit."""

    def __init__(self, limit, name="count_up_to"):
        self.calls, self.limit, self.__name__ = 0, limit, name

    def __call__(self):
        if self.calls >= self.limit:
            raise OUT(f"reached {self.limit}")
        self.calls += 1


def bad(error=None):
    raise ValueError("bad") if error is None else error


def run(runner, coord=None):
    """Runs all enqueue threads to their end."""
    threads = runner.create_threads(coord=coord, daemon=True, start=True)
    for one in threads:
        if not one.name.endswith("close_on_stop"):
            one.join(LONG)
            assert not one.is_alive()
    return threads


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


def test_an_exception_stops_the_coordinator_and_is_the_one_that_join_raises(queue, coord):
    error = ValueError("bad")
    runner = QueueRunner(queue, [functools.partial(bad, error)])
    threads = runner.create_threads(coord, start=True)
    with pytest.raises(ValueError, match="bad") as caught:
        coord.join(threads)
    assert caught.value is error
    assert runner.exceptions_raised == []


def test_a_stop_frees_a_producer_that_waits_for_room(coord):
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
    while not waiters():
        pass
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


def test_whatever_has_a_name_and_closes_is_a_queue():
    class Saver:
        name, closed = "saver", None

        def close(self, cancel_pending_enqueues=False):
            self.closed = cancel_pending_enqueues

    saver = Saver()
    run(QueueRunner(saver, [Counter(1)]))
    assert saver.closed is False


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


# The end of a thread


def ends():
    """How a thread may end: what its function raises, and what consumers then get."""
    return [
        pytest.param(OUT("end"), OUT, id="end of input"),
        pytest.param(StopIteration(), OUT, id="StopIteration"),
        pytest.param(ValueError("bad"), ValueError, id="error"),
        pytest.param(SystemExit(), OUT, id="SystemExit"),
    ]


@QUIET
@pytest.mark.parametrize(("last", "seen"), ends())
@pytest.mark.parametrize("others", [0, 3])
def test_the_last_thread_closes_the_queue_whatever_ended_it(queue, last, seen, others):
    gate = threading.Event()
    left = [1, 2]

    def final():
        if left:
            queue.enqueue(left.pop(0))
            return
        gate.wait(LONG)
        raise last

    runner = QueueRunner(queue, [*[Counter(3)] * others, final])
    threads = runner.create_threads(daemon=True, start=True)
    for one in threads[:-1]:
        one.join(LONG)
    assert not queue.is_closed()
    gate.set()
    assert [int(queue.dequeue()), int(queue.dequeue())] == [1, 2]
    for _ in range(2):
        with pytest.raises(seen) as caught:
            queue.dequeue()
    assert caught.value is last or seen is OUT
    threads[-1].join(LONG)


@QUIET
def test_an_error_reaches_consumers_even_if_others_end_later(queue):
    error, gate = ValueError("bad"), threading.Event()

    def late():
        gate.wait(LONG)
        raise OUT("end")

    threads = QueueRunner(queue, [functools.partial(bad, error), late]).create_threads(
        daemon=True, start=True
    )
    threads[0].join(LONG)
    assert not queue.is_closed()
    gate.set()
    with pytest.raises(ValueError, match="bad") as caught:
        queue.dequeue()
    assert caught.value is error


@QUIET
def test_an_error_travels_down_a_line_of_queues():
    queues = [FIFOQueue(4, ["int64"], name=f"q{i}") for i in range(3)]
    error = ValueError("bad")

    def copy(a, b):
        return lambda: b.enqueue(a.dequeue())

    ops = [functools.partial(bad, error)], [copy(queues[0], queues[1])], [copy(*queues[1:])]
    threads = []
    for queue, op in zip(queues, ops, strict=True):
        threads += QueueRunner(queue, op).create_threads(daemon=True, start=True)
    with pytest.raises(ValueError, match="bad") as caught:
        queues[-1].dequeue()
    assert caught.value is error
    for one in threads:
        one.join(LONG)


def test_with_a_coordinator_the_error_is_the_same_for_consumers_and_join(queue, coord):
    error = ValueError("bad")
    QueueRunner(queue, [functools.partial(bad, error)]).create_threads(coord, start=True)
    raised = []
    for call in (queue.dequeue, coord.join):
        with pytest.raises(ValueError, match="bad") as caught:
            call()
        raised.append(caught.value)
    assert raised == [error, error]


def test_the_queue_is_closed_when_the_last_thread_leaves_for_a_stop(coord):
    closed = []

    class Plain:
        name = "plain"

        def close(self, cancel_pending_enqueues=False):
            closed.append(cancel_pending_enqueues)

    threads = QueueRunner(Plain(), [coord.wait_for_stop]).create_threads(coord, start=True)
    coord.request_stop()
    coord.join(threads)
    assert sorted(closed) == [False, True]


def test_a_close_op_that_fails_masks_nothing(queue):
    runner = QueueRunner(queue, [Counter(3)], close_op=bad, cancel_op=bad)
    run(runner)
    assert runner.exceptions_raised == []


def test_a_cancel_op_that_fails_does_not_keep_the_others_from_stopping(queue, coord):
    QueueRunner(queue, [coord.wait_for_stop], cancel_op=bad).create_threads(coord, start=True)
    coord.request_stop()
    coord.join(stop_grace_period_secs=LONG)


def test_cancelled_as_a_closed_type_ends_the_thread_quietly(coord):
    queue = FIFOQueue(1, ["int64"])
    runner = QueueRunner(
        queue, [lambda: queue.enqueue(1)], queue_closed_exception_types=(OUT, CANCELLED)
    )
    threads = runner.create_threads(coord, start=True)
    while not queue.size():
        pass
    queue.close(cancel_pending_enqueues=True)
    threads[0].join(LONG)
    assert not coord.should_stop()
    assert int(queue.dequeue()) == 1


def test_a_closed_type_of_the_coordinator_alone_is_a_clean_stop_of_all(queue, coord):
    runner = QueueRunner(
        queue, [lambda: bad(OUT("end"))], queue_closed_exception_types=(CANCELLED,)
    )
    coord.join(runner.create_threads(coord, start=True))
    assert coord.should_stop()


def test_a_clean_stop_is_not_spoilt_by_what_it_cancels(coord):
    """CancelledError and clean types that reach threads after the stop end them quietly."""
    queue = FIFOQueue(1, ["int64"])

    def late_end():
        coord.wait_for_stop()
        raise OUT("end")

    types = (errors.DataLossError,)
    ops = [lambda: queue.enqueue(1), late_end]
    runner = QueueRunner(queue, ops, queue_closed_exception_types=types)
    runner.create_threads(coord, start=True)
    queue.dequeue()
    coord.request_stop()
    coord.join(stop_grace_period_secs=LONG)


def test_a_real_error_after_a_clean_stop_is_raised_by_join(queue, coord):
    def late():
        coord.wait_for_stop()
        raise ValueError("late")

    QueueRunner(queue, [late]).create_threads(coord, start=True)
    coord.request_stop()
    with pytest.raises(ValueError, match="late"):
        coord.join()


@QUIET
def test_an_error_after_join_ends_the_thread_with_it(queue, coord):
    gate, seen = threading.Event(), []
    before = threading.excepthook

    def late():
        gate.wait(LONG)
        raise ValueError("late")

    threads = QueueRunner(queue, [late]).create_threads(coord, daemon=True, start=True)
    coord.request_stop()
    coord.join(stop_grace_period_secs=0, ignore_live_threads=True)
    threading.excepthook = lambda args: seen.append(str(args.exc_value))
    try:
        gate.set()
        threads[0].join(LONG)
    finally:
        threading.excepthook = before
    assert seen == ["late"]


@QUIET
def test_running_again_on_a_closed_queue_is_an_error_unless_it_is_asked_for(queue):
    for types, expected in (((OUT,), [CANCELLED]), ((OUT, CANCELLED), [])):
        ops = [lambda: queue.enqueue(1)]
        if not queue.is_closed():
            queue.close()
        runner = QueueRunner(queue, ops, queue_closed_exception_types=types)
        run(runner)
        assert [type(error) for error in runner.exceptions_raised] == expected


def test_it_runs_again_once_its_threads_have_ended(coord):
    class Refillable:
        name, closed = "refillable", 0

        def close(self, cancel_pending_enqueues=False):
            self.closed += 1

    queue, count = Refillable(), Counter(2)
    runner = QueueRunner(queue, [count])
    run(runner, coord)
    count.limit = 5
    assert len(run(runner, coord)) == 2
    assert (count.calls, queue.closed) == (5, 2)


def test_when_the_system_gives_no_thread_consumers_get_the_error(queue, monkeypatch):
    start = threading.Thread.start

    def start_or_fail(self):
        if self.name.endswith("op1"):
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    op = functools.partial(Counter(2))
    with pytest.raises(RuntimeError, match="can't start new thread"):
        QueueRunner(queue, [op, op]).create_threads(start=True)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        queue.dequeue()


def test_functions_run_at_the_same_time_and_each_exit_counts_once():
    """All threads meet in a barrier, which they could not under a lock."""
    meet = threading.Barrier(8)
    closed = []

    class Plain:
        name = "plain"

        def close(self, cancel_pending_enqueues=False):
            closed.append(cancel_pending_enqueues)

    def op():
        meet.wait(LONG)
        raise OUT("end")

    run(QueueRunner(Plain(), [op] * 8))
    assert closed == [False]


# Many of everything


@QUIET
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("guided", [False, True])
def test_random_ends_never_hang_and_lose_nothing(seed, guided):
    """Pipelines of two queues whose functions end at random, with an error or at their end."""
    draw = random.Random(seed)
    coord = Coordinator() if guided else None
    first, second = (FIFOQueue(draw.choice([1, 3, 20]), ["int64"], shapes=[()]) for _ in range(2))
    made, lock = [], threading.Lock()

    def producer(limit, error):
        left = iter(range(limit))

        def op():
            if next(left, None) is None:
                raise error
            with lock:
                value = len(made)
                made.append(value)
            first.enqueue(value)

        return op

    fails = draw.random() < 0.5
    ends = [OUT("end")] * 3 + [ValueError("bad") if fails else OUT("end")]
    draw.shuffle(ends)
    producers = [producer(draw.randrange(60), error) for error in ends]
    runners = [
        QueueRunner(first, producers),
        QueueRunner(second, [lambda: second.enqueue(first.dequeue())] * draw.randrange(1, 4)),
    ]
    threads = [one for r in runners for one in r.create_threads(coord, daemon=True, start=True)]
    got, caught = [], None
    try:
        while True:
            got.append(int(second.dequeue()))
    except (OUT, ValueError) as error:
        caught = error
    if coord is not None:
        coord.request_stop()
        if fails:
            with pytest.raises(ValueError, match="bad"):
                coord.join(stop_grace_period_secs=LONG)
        else:
            coord.join(stop_grace_period_secs=LONG)
    for one in threads:
        one.join(LONG)
        assert not one.is_alive()
    assert len(set(got)) == len(got)
    if not (guided and fails):  # a stop drops what is on the way
        assert sorted(got) == made
        assert type(caught) is (ValueError if fails else OUT)


@pytest.mark.parametrize("waits", ["queue.dequeue()", "queue.enqueue(1)", "coord.wait_for_stop()"])
def test_the_interpreter_exits_while_daemon_threads_wait(waits):
    code = f"""if 1:
        import threading
        from levada import train as lt
        queue, coord = lt.FIFOQueue(1, ["int64"]), lt.Coordinator()
        full = lt.FIFOQueue(1, ["int64"])
        if {waits!r}.startswith("queue.enqueue"):
            queue.enqueue(0)
        lt.add_queue_runner(lt.QueueRunner(full, [lambda: {waits}] * 4))
        lt.start_queue_runners(coord=coord)
        lt.LooperThread.loop(coord, 0.001, target=lambda: None)
        print("ends", flush=True)
    """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
