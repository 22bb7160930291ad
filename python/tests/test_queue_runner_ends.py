# SPDX-License-Identifier: Apache-2.0
"""How threads of a QueueRunner end, and what their consumers see: R2 to R6, R12."""

import functools
import random
import subprocess
import sys
import threading

import pytest
from levada import errors
from levada.train import Coordinator, FIFOQueue, QueueRunner
from runners import CANCELLED, LONG, OUT, QUIET, Counter, bad, run


@pytest.fixture
def queue():
    return FIFOQueue(10, ["int64"], shapes=[()])


@pytest.fixture
def coord():
    coord = Coordinator()
    yield coord
    coord.request_stop()


def ends():
    """How a thread may end: what its function raises, and what consumers then get."""
    return [
        pytest.param(OUT("end"), OUT, id="end of input"),
        pytest.param(StopIteration(), OUT, id="StopIteration"),
        pytest.param(ValueError("bad"), ValueError, id="error"),
        pytest.param(SystemExit(), OUT, id="SystemExit"),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, id="KeyboardInterrupt"),
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
