# SPDX-License-Identifier: Apache-2.0
"""Coordinator: rules C1 to C9, and the tests of upstream's coordinator_test.py."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback

import pytest
from levada import errors
from levada.train import Coordinator, waiters
from waiting import until

LONG = 60  # seconds that nothing here should ever take


def thread(body, *args, name=None):
    started = threading.Thread(target=body, args=args, name=name, daemon=True)
    started.start()
    return started


def reporter(coord, error, after, form):
    """A thread that reports an error in one of three ways once `after` is set."""

    def body():
        after.wait(LONG)
        if form == "handler":
            with coord.stop_on_exception():
                raise error
        else:
            try:
                raise error
            except Exception as caught:
                coord.request_stop(sys.exc_info() if form == "triple" else caught)

    return thread(body)


FORMS = pytest.mark.parametrize("form", ["triple", "object", "handler"])


@pytest.fixture
def coord():
    return Coordinator()


@pytest.fixture
def sleeper():
    """Makes threads that live until the test ends."""
    end = threading.Event()
    yield lambda name=None: thread(end.wait, LONG, name=name)
    end.set()


def test_a_fresh_one_does_not_stop_and_a_stop_is_seen(coord):
    assert not coord.should_stop()
    assert coord.wait_for_stop(0.01) is False
    coord.request_stop()
    assert coord.should_stop()
    assert coord.wait_for_stop(0.01) is True
    assert coord.wait_for_stop() is True


def test_a_stop_from_another_thread_ends_a_wait(coord):
    begun = threading.Event()
    thread(lambda: begun.wait(LONG) and coord.request_stop())
    begun.set()
    assert coord.wait_for_stop(LONG) is True
    assert coord.should_stop()


@pytest.mark.parametrize("timeout", [0, -1, 1e-9])
def test_a_wait_of_no_time_only_looks(coord, timeout):
    assert coord.wait_for_stop(timeout) is False
    coord.request_stop()
    assert coord.wait_for_stop(timeout) is True


def test_a_wait_may_be_longer_than_the_system_can(coord):
    threading.Timer(0.02, coord.request_stop).start()
    assert coord.wait_for_stop(float("inf")) is True


def test_join_waits_for_the_threads_given(coord):
    threads = [thread(time.sleep, delay) for delay in (0.01, 0.02, 0.01)]
    coord.join(threads)
    assert not any(one.is_alive() for one in threads)
    assert coord.joined


def test_join_waits_for_registered_threads(coord):
    threads = [thread(time.sleep, delay) for delay in (0.01, 0.02, 0.01)]
    for one in threads:
        coord.register_thread(one)
        coord.register_thread(one)
    coord.join()
    assert not any(one.is_alive() for one in threads)


def test_join_waits_for_registered_and_given_threads_together(coord):
    threads = [thread(time.sleep, delay) for delay in (0.03, 0.01, 0.02)]
    coord.register_thread(threads[0])
    coord.join(iter(threads[1:]))
    assert not any(one.is_alive() for one in threads)


def test_join_without_threads_returns_and_marks_it_joined(coord):
    assert coord.joined is False
    coord.join()
    assert coord.joined is True
    assert not coord.should_stop()


def test_a_thread_never_started_does_not_hold_join_up(coord):
    coord.register_thread(threading.Thread(target=time.sleep, args=(LONG,)))
    coord.join()
    coord.clear_stop()
    coord.register_thread(threading.Thread(target=time.sleep, args=(LONG,)))
    coord.request_stop()
    coord.join()


def test_a_thread_that_joins_its_own_group_does_not_wait_for_itself(coord):
    joined = []

    def body():
        coord.register_thread(threading.current_thread())
        coord.join()
        joined.append(coord.joined)

    thread(body).join(LONG)
    assert joined == [True]


@pytest.mark.parametrize("grace", [-1, 0, 1e-10, 0.002, 0.1])
def test_join_names_the_threads_that_outlive_the_grace_period(coord, sleeper, grace):
    threads = [thread(time.sleep, 0.001), sleeper("first"), sleeper("second")]
    coord.request_stop()
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"threads still running: .*first second") as caught:
        coord.join(threads, stop_grace_period_secs=grace)
    assert time.monotonic() - start >= grace
    assert "\n" not in str(caught.value)  # they wait for nothing of levada's
    assert coord.joined


def test_the_grace_period_begins_when_the_stop_comes(coord, sleeper):
    start = time.monotonic()
    threading.Timer(0.2, coord.request_stop).start()
    with pytest.raises(RuntimeError, match="still running"):
        coord.join([sleeper()], stop_grace_period_secs=0.1)
    assert time.monotonic() - start >= 0.3


def test_live_threads_may_be_ignored(coord, sleeper):
    coord.request_stop()
    coord.join([sleeper()], stop_grace_period_secs=0.002, ignore_live_threads=True)
    assert coord.joined


def test_the_grace_period_is_two_minutes_by_default():
    import inspect

    assert inspect.signature(Coordinator.join).parameters["stop_grace_period_secs"].default == 120


def test_a_grace_period_that_is_no_number_is_refused(coord):
    with pytest.raises(ValueError, match="stop_grace_period_secs"):
        coord.join(stop_grace_period_secs=float("nan"))


@FORMS
def test_join_raises_the_first_exception_reported(coord, form):
    begin, second = threading.Event(), threading.Event()
    first_error = RuntimeError("First")
    first = reporter(coord, first_error, begin, form)
    late = reporter(coord, RuntimeError("Too late"), second, form)
    begin.set()
    first.join(LONG)
    second.set()
    with pytest.raises(RuntimeError, match=r"^First$") as caught:
        coord.join([first, late])
    assert caught.value is first_error
    assert [str(error) for error in coord.secondary_errors] == ["Too late"]


@FORMS
def test_the_traceback_is_that_of_the_thread(coord, form):
    go = threading.Event()
    go.set()
    reporter(coord, RuntimeError("First"), go, form).join(LONG)
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            coord.join()
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names.count("body") == 1


def test_every_join_raises_the_same_object(coord):
    coord.request_stop(ValueError("First"))
    raised = []
    for _ in range(2):
        with pytest.raises(ValueError, match="First") as caught:
            coord.join()
        raised.append(caught.value)
    assert raised[0] is raised[1]


def test_two_threads_may_join_at_once(coord):
    seen = []

    def body():
        try:
            coord.join([worker])
        except ValueError as error:
            seen.append(error)

    worker = thread(coord.wait_for_stop)
    joiners = [thread(body) for _ in range(2)]
    error = ValueError("First")
    coord.request_stop(error)
    for joiner in joiners:
        joiner.join(LONG)
    assert seen == [error, error]


def test_an_exception_reported_outside_a_handler_is_kept(coord):
    coord.request_stop(ValueError("made here"))
    assert coord.should_stop()
    with pytest.raises(ValueError, match="made here"):
        coord.join()


def test_an_exception_after_a_clean_stop_is_not_lost(coord):
    coord.request_stop()
    coord.request_stop(errors.OutOfRangeError("end"))
    coord.request_stop(ValueError("real"))
    with pytest.raises(ValueError, match="real"):
        coord.join()


def test_what_the_stop_itself_cancels_is_no_error(coord):
    coord.request_stop()
    with coord.stop_on_exception():
        raise errors.CancelledError("Enqueue operation was cancelled")
    coord.join()


def test_a_cancelled_error_before_the_stop_is_one(coord):
    coord.request_stop(errors.CancelledError("why"))
    with pytest.raises(errors.CancelledError, match="why"):
        coord.join()


def test_an_exception_comes_before_stragglers(coord, sleeper):
    coord.request_stop(ValueError("First"))
    with pytest.raises(ValueError, match="First"):
        coord.join([sleeper()], stop_grace_period_secs=0.002)


@FORMS
def test_the_end_of_the_input_is_a_clean_stop(coord, form):
    go = threading.Event()
    go.set()
    coord.join([reporter(coord, errors.OutOfRangeError("end"), go, form)])
    assert coord.should_stop()
    coord.raise_requested_exception()


@FORMS
def test_other_types_may_mean_a_clean_stop(form):
    coord = Coordinator(clean_stop_exception_types=[ValueError])
    go = threading.Event()
    go.set()
    coord.join([reporter(coord, ValueError("fine"), go, form)])


def test_types_given_replace_the_default():
    coord = Coordinator(clean_stop_exception_types=(ValueError,))
    coord.request_stop(errors.OutOfRangeError("end"))
    with pytest.raises(errors.OutOfRangeError):
        coord.join()


@pytest.mark.parametrize("types", [ValueError, [3], ["ValueError"], [ValueError("an object")]])
def test_types_that_are_none_are_refused(types):
    with pytest.raises(TypeError, match="clean_stop_exception_types"):
        Coordinator(clean_stop_exception_types=types)


@pytest.mark.parametrize("given", [None, 3, "thread", threading.Thread])
def test_only_threads_are_joined(coord, given):
    """Told where the mistake is made: a join that fails later would leave all others running."""
    with pytest.raises(TypeError, match="every thread of join must be a thread, got"):
        coord.register_thread(given)
    with pytest.raises(TypeError, match="every thread of join must be a thread, got"):
        coord.join([given])
    with pytest.raises(TypeError, match="threads must be a list of threads"):
        coord.join(threading.Thread())
    assert not coord.joined
    coord.join()


def test_who_waits_for_a_coordinator_is_listed(coord, sleeper):
    coord.register_thread(sleeper("sleeper"))
    waiting = [
        thread(coord.wait_for_stop, name="stop?"),
        thread(coord.join, None, 0, True, name="end?"),
    ]
    until(lambda: len(rows_of(waiting)) == 2)
    found = {row["thread"]: row for row in rows_of(waiting)}
    assert found["stop?"]["waits_for"] == "stop"
    assert found["end?"]["waits_for"] == "join"
    assert all(row["object"] == "coordinator" and row["seconds"] >= 0 for row in found.values())
    assert not coord.wait_for_stop(0)
    coord.request_stop()
    for one in waiting:
        one.join(LONG)
    assert rows_of(waiting) == []


def rows_of(threads):
    return [row for row in waiters() if row["thread"] in [one.name for one in threads]]


def test_clear_stop_clears_the_exception_too(coord):
    for text in ("First", "Second"):
        coord.request_stop(RuntimeError(text))
        with pytest.raises(RuntimeError, match=text):
            coord.join()
        coord.clear_stop()
        assert not coord.should_stop()
        assert not coord.joined
        coord.raise_requested_exception()


def test_a_thread_that_saw_the_stop_is_not_revived(coord):
    seen = []
    waiter = thread(lambda: seen.append(coord.wait_for_stop()), name="saw it")
    until(lambda: rows_of([waiter]))
    coord.request_stop()
    coord.clear_stop()
    waiter.join(LONG)
    assert seen == [True]


@pytest.mark.parametrize("triple", [False, True])
def test_once_joined_an_exception_is_raised_where_it_is_reported(coord, triple):
    coord.join([])
    with pytest.raises(RuntimeError, match="Too late"):
        try:
            raise RuntimeError("Too late")
        except RuntimeError as error:
            coord.request_stop(sys.exc_info() if triple else error)
    assert not coord.should_stop()
    coord.clear_stop()
    try:
        raise RuntimeError("In time")
    except RuntimeError as error:
        coord.request_stop(sys.exc_info() if triple else error)
    with pytest.raises(RuntimeError, match="In time"):
        coord.join([])


def test_once_joined_a_plain_stop_changes_nothing(coord):
    coord.join()
    coord.request_stop()
    coord.request_stop(errors.OutOfRangeError("end"))
    assert not coord.should_stop()


def test_once_joined_an_object_reported_outside_a_handler_is_raised(coord):
    coord.join()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))


def test_stop_on_exception_swallows_and_records(coord):
    with coord.stop_on_exception():
        pass
    assert not coord.should_stop()
    with coord.stop_on_exception():
        raise KeyboardInterrupt
    assert coord.should_stop()
    with pytest.raises(KeyboardInterrupt):
        coord.join()


def test_stop_on_exception_lets_through_once_joined(coord):
    coord.join()
    with pytest.raises(SystemExit), coord.stop_on_exception():
        raise SystemExit(3)


@pytest.mark.parametrize("what", ["a text", 3, (1, 2), (ValueError, "text", None)])
def test_only_exceptions_can_be_reported(coord, what):
    with pytest.raises(TypeError, match="ex must be an exception"):
        coord.request_stop(what)
    assert not coord.should_stop()


def test_an_empty_triple_is_a_plain_stop(coord):
    coord.request_stop(sys.exc_info())
    coord.join()
    assert coord.should_stop()


def test_raise_requested_exception_leaves_it_in_place(coord):
    coord.raise_requested_exception()
    coord.request_stop(ValueError("First"))
    for _ in range(2):
        with pytest.raises(ValueError, match="First"):
            coord.raise_requested_exception()


def test_the_report_is_logged(coord, caplog):
    with caplog.at_level("INFO", "levada"):
        coord.request_stop(ValueError("First"))
    assert "Error reported to Coordinator: ValueError: First" in caplog.text


def test_a_stop_from_a_signal_handler_can_come_at_any_point():
    """Thousands of signals while the main thread itself is inside the coordinator's methods."""
    code = """if 1:
        import os, signal, threading
        from levada.train import Coordinator
        coord, seen = Coordinator(), 0
        def handler(*_):
            global seen
            seen += 1
            coord.request_stop()
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        while seen < 2000:
            assert coord.wait_for_stop()
            coord.request_stop(ValueError("x"))
            coord.clear_stop()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("done")
    """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize("call", ["wait_for_stop()", "join([worker])", "join([worker, other])"])
def test_ctrl_c_ends_every_wait(call):
    code = f"""if 1:
        import threading, time
        from levada.train import Coordinator
        coord = Coordinator()
        worker = threading.Thread(target=time.sleep, args=({LONG},), daemon=True)
        other = threading.Thread(target=time.sleep, args=({LONG},), daemon=True)
        worker.start(), other.start()
        if "other" in {call!r}:
            coord.request_stop()
        print("waits", flush=True)
        coord.{call}
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=LONG)
    assert "KeyboardInterrupt" in told


@pytest.mark.parametrize("seed", range(20))
def test_random_stops_and_errors_never_hang_nor_lose_the_first(seed):
    draw = random.Random(seed)
    coord = Coordinator()
    reported, lock = [], threading.Lock()

    def body(i, moves):
        with coord.stop_on_exception():
            for move in moves:
                if move < 0.1:
                    with lock:
                        error = ValueError(f"{i}")
                        reported.append(error)
                        coord.request_stop(error)
                elif move < 0.15:
                    coord.request_stop()
                elif move < 0.3:
                    raise errors.OutOfRangeError("end")
                elif coord.wait_for_stop(0.001):
                    return

    threads = []
    for i in range(12):
        threads.append(thread(body, i, [draw.random() for _ in range(10)]))
        coord.register_thread(threads[-1])
    caught = None
    try:
        coord.join(stop_grace_period_secs=LONG)
    except ValueError as error:
        caught = error
    assert not any(one.is_alive() for one in threads)
    assert caught is (reported[0] if reported else None)
