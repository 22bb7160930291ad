# SPDX-License-Identifier: Apache-2.0
"""LooperThread: rules L1 to L11, and upstream's LooperTest."""

import threading
import time
import types

import pytest
from levada.train import Coordinator, LooperThread

LONG = 60


@pytest.fixture
def coord():
    coord = Coordinator()
    yield coord
    coord.request_stop()


class Ticks(LooperThread):
    """Notes its hooks; stops after `most` turns."""

    def __init__(self, coord, interval, most, body=lambda _: None):
        super().__init__(coord, interval)
        self.coordinator, self.most, self.body = coord, most, body
        self.hooks, self.times = [], []

    def start_loop(self):
        self.hooks.append("start")

    def run_loop(self):
        self.times.append(time.monotonic())
        self.body(len(self.times))
        if len(self.times) == self.most:
            self.coordinator.request_stop()

    def stop_loop(self):
        self.hooks.append("stop")


def countdown(coord, left, step=1):
    left[0] -= step
    if left[0] <= 0:
        coord.request_stop()


@pytest.mark.parametrize("interval", [None, 0, 0.001])
@pytest.mark.parametrize("form", ["args", "kwargs", "mixed"])
def test_the_target_gets_its_arguments(coord, interval, form):
    left = [3]
    given = {
        "args": {"args": (coord, left)},
        "kwargs": {"kwargs": {"coord": coord, "left": left}},
        "mixed": {"args": [coord], "kwargs": {"left": left, "step": 1}},
    }[form]
    looper = LooperThread.loop(coord, interval, target=countdown, **given)
    coord.join([looper])
    assert left == [0]


def test_it_is_a_daemon_and_registered_before_it_starts(coord):
    looper = LooperThread(coord, 1, target=print)
    assert looper.daemon
    assert looper in coord._registered
    coord.request_stop()
    coord.join()  # never started: nothing to wait for


def test_the_first_call_comes_at_once(coord):
    called = threading.Event()
    LooperThread.loop(coord, LONG, target=called.set)
    assert called.wait(LONG / 2)


def test_a_long_interval_does_not_delay_the_stop(coord):
    called = threading.Event()
    looper = LooperThread.loop(coord, LONG, target=called.set)
    called.wait(LONG)
    coord.request_stop()
    looper.join(LONG / 2)
    assert not looper.is_alive()


class Clock(Coordinator):
    """A coordinator whose waits pass in no time; `now` is the clock of the looper."""

    def __init__(self, monkeypatch, end):
        super().__init__()
        self.now, self.end = 0.0, end
        time_of_ours = types.SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("levada.train._looper.time", time_of_ours)

    def wait_for_stop(self, timeout=None):
        self.now += max(timeout, 0)
        if self.now > self.end:
            self.request_stop()
        return self.should_stop()


def ticks(monkeypatch, interval, end, cost):
    """Times of all calls until `end`, where the n-th takes cost(n) seconds."""
    clock, called = Clock(monkeypatch, end), []

    def tick():
        called.append(clock.now)
        clock.now += cost(len(called))

    LooperThread(clock, interval, target=tick).run()
    return called


def test_ticks_are_due_at_fixed_times_whatever_a_call_takes(monkeypatch):
    called = ticks(monkeypatch, 0.05, 0.52, lambda n: 0.03)
    assert called == pytest.approx([0.05 * i for i in range(11)])


def test_ticks_missed_by_a_slow_call_follow_back_to_back(monkeypatch):
    called = ticks(monkeypatch, 0.05, 0.52, lambda n: 0.26 if n == 2 else 0.001)
    late = [0.31 + 0.001 * i for i in range(5)]
    assert called == pytest.approx([0, 0.05, *late, 0.35, 0.4, 0.45, 0.5])


@pytest.mark.parametrize("interval", [None, 0, -1])
def test_no_interval_means_no_pause(coord, interval):
    looper = Ticks(coord, interval, 1000)
    looper.start()
    looper.join(LONG)
    assert len(looper.times) == 1000


def test_hooks_run_once_around_the_turns(coord):
    looper = Ticks(coord, None, 3)
    looper.start()
    coord.join([looper])
    assert looper.hooks == ["start", "stop"]
    assert len(looper.times) == 3


def test_once_stopped_the_hooks_run_but_no_turn(coord):
    coord.request_stop()
    for interval in (None, 0.001):
        looper = Ticks(coord, interval, 3)
        looper.start()
        looper.join(LONG)
        assert looper.hooks == ["start", "stop"]
        assert looper.times == []


@pytest.mark.parametrize("hook", ["start_loop", "run_loop"])
def test_an_exception_stops_the_group_and_still_runs_stop_loop(coord, hook):
    class Bad(Ticks):
        pass

    def fail(self):
        raise ValueError(hook)

    setattr(Bad, hook, fail)
    sibling = LooperThread.loop(coord, 0.001, target=lambda: None)
    looper = Bad(coord, None, 3)
    looper.start()
    with pytest.raises(ValueError, match=hook):
        coord.join()
    assert looper.hooks[-1:] == ["stop"]
    assert not sibling.is_alive()


def test_an_exception_of_stop_loop_comes_second(coord):
    class Bad(Ticks):
        def run_loop(self):
            raise ValueError("first")

        def stop_loop(self):
            raise KeyError("second")

    Bad(coord, None, 1).start()
    with pytest.raises(ValueError, match="first"):
        coord.join()
    assert [type(error) for error in coord.secondary_errors] == [KeyError]


@pytest.mark.parametrize("what", [None, 1, "coord", object()])
def test_a_coordinator_is_needed(what):
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        LooperThread(what, 1)


@pytest.mark.parametrize("given", [{"args": (1,)}, {"kwargs": {"a": 1}}])
def test_arguments_need_a_target(coord, given):
    with pytest.raises(ValueError, match="target"):
        LooperThread(coord, 1, **given)
    assert LooperThread(coord, 1, args=(), kwargs={}).daemon


def test_a_target_is_a_function(coord):
    with pytest.raises(TypeError, match="target must be a function, got 3"):
        LooperThread(coord, 1, target=3)


def test_an_interval_is_a_number(coord):
    with pytest.raises(ValueError, match="nan"):
        LooperThread(coord, float("nan"))
    with pytest.raises((TypeError, ValueError)):
        LooperThread(coord, "soon")
