# SPDX-License-Identifier: Apache-2.0
"""Watchdog: waits that are too long are reported, and cancelled where asked to."""

import gc
import logging
import subprocess
import sys
import threading

import pytest
from levada import errors
from levada.train import Barrier, FIFOQueue, Watchdog
from waiting import LONG, Call, until


@pytest.fixture
def queue():
    queue = FIFOQueue(1, ["int64"], shapes=[()])
    yield queue
    queue.cancel()


def seen(*objects):
    """A list, and a report that adds rows of these objects to it: others may wait elsewhere."""
    rows, names = [], [one.name for one in objects]
    return rows, lambda row: rows.append(row) if row["object"] in names else None


def watchdogs():
    return [one for one in threading.enumerate() if one.name == "levada watchdog"]


def test_a_wait_that_is_too_long_is_reported_once_with_its_thread(queue):
    rows, report = seen(queue)
    with Watchdog(0.02, report=report):
        call = Call(queue.dequeue_many, 3)
        until(lambda: rows, "the report")
        other = Call(queue.dequeue)
        until(lambda: len(rows) > 1, "the second report")
    assert [row["thread"] for row in rows] == [call.thread.name, other.thread.name]
    assert [row["object"] for row in rows] == [queue.name] * 2
    assert [row["waits_for"] for row in rows] == ["dequeue_many(3)", "dequeue(1)"]
    assert all(row["seconds"] >= 0.02 and row["cancelled"] is False for row in rows)
    assert call.thread.is_alive()


def test_a_wait_that_is_too_long_is_cancelled_where_asked_to(queue):
    barrier = Barrier(["int64"], shapes=[()])
    rows, report = seen(queue, barrier)
    with Watchdog(0.02, cancel=True, report=report):
        queue.enqueue(1)
        calls = [Call(queue.enqueue, 2), Call(barrier.take_many, 1)]
        for call in calls:
            call.thread.join(LONG)
            assert type(call.error) is errors.CancelledError
        until(lambda: len(rows) == 2, "the reports")
    assert [row["cancelled"] for row in rows] == [True, True]
    assert (int(queue.dequeue()), queue.size()) == (1, 0)


def test_short_waits_are_left_alone(queue):
    rows, report = seen(queue)
    with Watchdog(LONG, cancel=True, report=report):
        call = Call(queue.dequeue)
        until(call.is_listed)
        queue.enqueue(7)
        call.thread.join(LONG)
    assert (int(call.value), rows) == (7, [])


def test_by_default_it_logs(queue, caplog):
    with caplog.at_level(logging.WARNING, "levada"), Watchdog(0.02):
        Call(queue.dequeue)
        until(lambda: queue.name in caplog.text, "the warning")
    assert f" s in '{queue.name}': dequeue(1)" in caplog.text


def test_a_report_that_fails_is_logged_and_the_next_one_comes(queue, caplog):
    rows = []

    def report(row):
        if row["object"] == queue.name:
            rows.append(row)
        raise KeyError("of the report")

    with Watchdog(0.02, report=report):
        Call(queue.dequeue), Call(queue.dequeue)
        until(lambda: len(rows) == 2, "both reports")
    assert "the report of a watchdog failed" in caplog.text


def test_it_ends_when_it_is_closed_or_let_go():
    before = watchdogs()
    closed, let_go = Watchdog(LONG), Watchdog(LONG)
    assert len(watchdogs()) == len(before) + 2
    closed.close()
    closed.close()
    del let_go
    gc.collect()
    until(lambda: watchdogs() == before, "the end of its thread")


def test_its_report_may_close_it(queue):
    made, seen = [], []
    made.append(Watchdog(0.02, report=lambda row: (seen.append(row), made[0].close())))
    Call(queue.dequeue)
    until(lambda: seen and not made[0]._thread.is_alive(), "the end of its thread")


def test_long_names_are_cut_and_still_texts():
    rows, queue = [], FIFOQueue(1, ["int64"], name=60 * "é")
    with Watchdog(0.02, cancel=True, report=rows.append):
        Call(queue.dequeue).thread.join(LONG)
        until(lambda: any(row["object"].startswith(25 * "é") for row in rows), "the report")


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_limit_is_a_positive_number(limit):
    with pytest.raises(ValueError, match="limit"):
        Watchdog(limit)


def test_a_report_is_a_function():
    with pytest.raises(TypeError, match="report"):
        Watchdog(1, report="log")
    with pytest.raises(TypeError):
        Watchdog("soon")


def test_the_interpreter_exits_while_it_watches():
    code = """if 1:
        import threading
        from levada import train as lt
        dog, queue = lt.Watchdog(0.001), lt.FIFOQueue(1, ["int64"])
        threading.Thread(target=queue.dequeue, daemon=True).start()
        print("ends", flush=True)
    """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout) == (0, "ends\n")
