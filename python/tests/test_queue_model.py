# SPDX-License-Identifier: Apache-2.0
"""Random histories of calls against a model of a page, and crowds of threads.

Calls are started one after the other, each once the one before has ended or waits in line, so the
model says exactly which of them wait and what each gets.
"""

import collections

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from levada import errors, train
from waiting import Call, until, waiting

CAPACITY = 3


class Model:
    """A FIFO queue by its rules: two lines of calls, of which only the first is ever served."""

    def __init__(self):
        self.held, self.closed = [], False
        self.puts, self.takes = collections.deque(), collections.deque()
        self.results = {}  # number of a call: what it returns, or the class of its error

    def start(self, number, act, values):
        if act == "close now":
            self.closed = True
            self.end_all(self.puts)
            self.results[number] = None
        elif act == "cancel":
            self.end_all(self.puts)
            self.end_all(self.takes)
            self.results[number] = None
        elif act in ("put", "close"):
            self.puts.append([number, act, list(values)])
        elif act == "take up to" or act == "take":
            self.takes.append([number, act, len(values), []])
        self.settle()

    def end_all(self, line):
        back = []
        for call in line:
            self.results[call[0]] = errors.CancelledError
            back += call[3] if call[1].startswith("take") else []
        self.held = back + self.held
        line.clear()

    def settle(self):
        moved = True
        while moved:
            moved = False
            while self.puts and self.serve_put(self.puts[0]):
                self.puts.popleft()
                moved = True
            while self.takes:
                before = len(self.held)
                done = self.serve_take(self.takes[0])
                moved = moved or done or len(self.held) != before
                if not done:
                    break
                self.takes.popleft()

    def serve_put(self, call):
        number, act, values = call
        if act == "close":
            self.results[number] = errors.CancelledError if self.closed else None
            self.closed = True
            return True
        if self.closed and values:
            self.results[number] = errors.CancelledError
            return True
        while values and len(self.held) < CAPACITY:
            self.held.append(values.pop(0))
        if not values:
            self.results[number] = None
        return not values

    def serve_take(self, call):
        number, act, n, got = call
        while self.held and len(got) < n:
            got.append(self.held.pop(0))
        if len(got) == n or (self.closed and act == "take up to" and got):
            self.results[number] = got
            return True
        if self.closed:
            self.held = got + self.held
            self.results[number] = errors.OutOfRangeError
        return self.closed


def begin(queue, act, values):
    if act == "put" and len(values) == 1:
        return Call(queue.enqueue, values[0])
    if act == "put":
        return Call(queue.enqueue_many, [values])
    if act == "take":
        return Call(lambda: queue.dequeue_many(len(values)).tolist())
    if act == "take up to":
        return Call(lambda: queue.dequeue_up_to(len(values)).tolist())
    return Call({"close": queue.close, "cancel": queue.cancel}.get(act, lambda: queue.close(True)))


def outcome(call):
    return call.value if call.error is None else type(call.error)


ACTS = st.sampled_from(["put"] * 6 + ["take"] * 4 + ["take up to", "close", "close now", "cancel"])
HISTORIES = st.lists(st.tuples(ACTS, st.integers(1, 5)), min_size=1, max_size=14)
SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("rows", [True, False], ids=["numbers", "tensors"])
@SETTINGS
@given(history=HISTORIES)
def test_histories_agree_with_the_model(rows, history):
    kind = train.FIFOQueue if rows else train.PaddingFIFOQueue
    queue = kind(CAPACITY, "int64", [()]) if rows else Padded()
    model, calls, value = Model(), [], 0
    for act, n in history:
        values = list(range(value, value + n))
        value += n if act == "put" else 0
        model.start(len(calls), act, values)
        calls.append(begin(queue, act, values))
        ended = set(model.results)
        until(lambda ended=ended: all(not calls[i].thread.is_alive() for i in ended), "an end")
        assert [i for i, call in enumerate(calls) if not call.blocked()] == sorted(ended)
        assert {i: outcome(calls[i]) for i in ended} == model.results
        assert queue.size() == len(model.held) and queue.is_closed() == model.closed
    queue.cancel()
    for call in calls:
        call.thread.join()
    model.start(len(calls), "cancel", [])
    assert queue.size() == len(model.held)
    queue.close(cancel_pending_enqueues=True)
    assert [int(element) for element in queue] == model.held


class Padded:
    """A queue whose elements are tensors inside, with the numbers that the model knows."""

    def __init__(self):
        self.queue = train.PaddingFIFOQueue(CAPACITY, ["int64", "string"], [(None,), ()])

    def enqueue(self, value):
        self.queue.enqueue(([value] * (value % 3), str(value)))

    def enqueue_many(self, values):
        self.queue.enqueue_many(([[value] for value in values[0]], [str(v) for v in values[0]]))

    def _numbers(self, taken):
        return _List(int(word) for word in taken[1])

    def dequeue_many(self, n):
        return self._numbers(self.queue.dequeue_many(n))

    def dequeue_up_to(self, n):
        return self._numbers(self.queue.dequeue_up_to(n))

    def __iter__(self):
        return (int(word) for _, word in self.queue)

    def __getattr__(self, name):
        return getattr(self.queue, name)


class _List(list):
    def tolist(self):
        return list(self)


@pytest.mark.parametrize("kind", ["FIFOQueue", "RandomShuffleQueue", "PriorityQueue"])
@pytest.mark.parametrize("dtype", ["int64", "string"])
def test_crowds_lose_nothing_and_get_nothing_twice(kind, dtype):
    more = {"min_after_dequeue": 2} if kind == "RandomShuffleQueue" else {}
    key = "types" if kind == "PriorityQueue" else "dtypes"
    queue = getattr(train, kind)(7, shapes=[()], **{key: [dtype]}, **more)
    first = [0] if kind == "PriorityQueue" else []
    as_value = str if dtype == "string" else int

    def produce(k):
        for i in range(0, 300, 3):
            queue.enqueue([*first, as_value(1000 * k + i)])
            rows = [as_value(1000 * k + i + 1), as_value(1000 * k + i + 2)]
            queue.enqueue_many([*([first * 2] if first else []), rows])

    def consume(n):
        found = []
        try:
            while True:
                taken = queue.dequeue_up_to(n) if n > 1 else queue.dequeue()
                taken = taken[1] if first else taken
                found += taken.tolist() if n > 1 else [taken]
        except errors.OutOfRangeError:
            return found

    producers = [Call(produce, k) for k in range(4)]
    consumers = [Call(consume, n) for n in (1, 1, 2, 5)]
    for call in producers:
        call.join()
    queue.close()
    found = [int(value) for call in consumers for value in call.join()]
    assert sorted(found) == sorted(1000 * k + i for k in range(4) for i in range(300))


def test_cancelled_and_late_calls_among_a_crowd_lose_nothing():
    queue, stop = train.FIFOQueue(5, "int64", [()]), []

    def produce():
        for i in range(2000):
            while True:
                try:
                    queue.enqueue(i, timeout=0.001)
                    break
                except (errors.CancelledError, errors.DeadlineExceededError):
                    pass

    def consume():
        found = []
        while True:
            try:
                found += queue.dequeue_many(3, timeout=0.0005).tolist()
            except (errors.CancelledError, errors.DeadlineExceededError):
                pass
            except errors.OutOfRangeError:
                return found

    def disturb():
        while not stop:
            queue.cancel()

    consumer, producer, disturber = Call(consume), Call(produce), Call(disturb)
    producer.join()
    stop.append(1)
    disturber.join()
    queue.close()
    found = consumer.join()
    found += [int(value) for value in queue]
    assert found == list(range(2000))


def test_a_hundred_waiting_calls_are_served_in_order():
    queue = train.FIFOQueue(1, "int64", [()])
    calls = [waiting(queue.dequeue) for _ in range(100)]
    queue.enqueue_many([range(100)])
    assert [int(call.join()) for call in calls] == list(range(100))
