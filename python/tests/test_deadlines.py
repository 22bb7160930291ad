# SPDX-License-Identifier: Apache-2.0
"""Every call with a timeout returns when it is over, whatever blocks on the other side.

What blocks here does so until the test is over. A function with a `timeout` that has no scenario
below fails the first test.
"""

import inspect
import itertools
import threading

import levada as lv
import numpy as np
import pytest
from levada import train
from waiting import LONG, Call

KINDS = {
    "FIFOQueue": lambda: train.FIFOQueue(2, ["int64"], [[]]),
    "PaddingFIFOQueue": lambda: train.PaddingFIFOQueue(2, ["int64"], [[]]),
    "RandomShuffleQueue": lambda: train.RandomShuffleQueue(2, 0, ["int64"], [[]], seed=1),
    "PriorityQueue": lambda: train.PriorityQueue(2, ["int64"], [[]]),
}
MANY = {"PriorityQueue": ([1, 2, 3], [1, 2, 3])}
ONE = {"PriorityQueue": (1, 1)}


def filled(kind):
    queue = KINDS[kind]()
    queue.enqueue_many(tuple(part[:2] for part in MANY.get(kind, ([1, 2, 3],))))
    return queue


def blocked_close(kind):
    """A close after an enqueue that waits."""
    queue = filled(kind)
    call = Call(queue.enqueue, ONE.get(kind, 1))
    assert call.blocked()
    return lambda timeout: queue.close(timeout=timeout)


def stream(gate):
    """What batch() returned, whose source blocks."""

    def source():
        gate.wait()
        return {"x": np.int64(1)}

    train.clear_collection("queue_runners")
    made = train.batch(source, 2)
    coord = train.Coordinator()
    train.start_queue_runners(coord=coord)
    return made


def saver():
    """A state saver that no thread fills."""
    return train.SequenceQueueingStateSaver(
        lambda: {"key": "a", "x": [1], "n": 1}, 1, 1, "n", "key", ["x"], [], {"h": 0.0}
    )


def queue_scenarios(kind):
    return {
        f"{kind}.enqueue": lambda g: lambda t: filled(kind).enqueue(ONE.get(kind, 1), timeout=t),
        f"{kind}.enqueue_many": lambda g: (
            lambda t: filled(kind).enqueue_many(MANY.get(kind, [[1, 2, 3]]), timeout=t)
        ),
        f"{kind}.dequeue": lambda g: lambda t: KINDS[kind]().dequeue(timeout=t),
        f"{kind}.dequeue_many": lambda g: lambda t: KINDS[kind]().dequeue_many(2, timeout=t),
        f"{kind}.dequeue_up_to": lambda g: lambda t: KINDS[kind]().dequeue_up_to(2, timeout=t),
        f"{kind}.close": lambda g: blocked_close(kind),
    }


SCENARIOS = {
    name: make for kind in KINDS for name, make in queue_scenarios(kind).items()
}  # fmt: skip
SCENARIOS.update(
    {
        "SequenceQueueingStateSaver.next_batch": lambda g: lambda t: saver().next_batch(timeout=t),
        "Barrier.take_many": lambda g: lambda t: train.Barrier(["int64"]).take_many(1, timeout=t),
        "Coordinator.wait_for_stop": lambda g: lambda t: train.Coordinator().wait_for_stop(t),
        "Stream.__call__": lambda g: stream(g),
        "Stream.dequeue": lambda g: stream(g).queue.dequeue,
    }
)
# Those of threads are Python's own; streams have the methods of their queue.
OTHERS = {"LooperThread.join", "QueueBase"}


def calls_with_a_timeout():
    stream_type = type(train.batch(lambda: {"x": 1}, 2))
    classes = [(name, getattr(train, name)) for name in dir(train) if not name.startswith("_")]
    for name, cls in [*classes, ("Stream", stream_type)]:
        for method in dir(cls) if inspect.isclass(cls) else ():
            call = getattr(cls, method)
            if (method.startswith("_") and method != "__call__") or not inspect.isroutine(call):
                continue
            try:
                parameters = inspect.signature(call).parameters
            except ValueError:
                continue
            if "timeout" in parameters:
                yield name, method


def test_every_call_with_a_timeout_has_a_scenario():
    found = {f"{name}.{method}" for name, method in calls_with_a_timeout() if name not in OTHERS}
    assert len(found) > 25
    assert found - OTHERS <= set(SCENARIOS), found - OTHERS - set(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_returns_in_time(name):
    gate = threading.Event()
    try:
        for timeout in (0.02, 0):
            call = Call(SCENARIOS[name](gate), timeout)
            if name == "Coordinator.wait_for_stop":
                assert call.join() is False
                continue
            with pytest.raises(lv.errors.DeadlineExceededError):
                call.join()
    finally:
        gate.set()


def test_an_iterator_is_cancelled_while_its_function_blocks():
    gate, entered = threading.Event(), threading.Event()

    def blocks(record):
        entered.set()
        gate.wait()
        return {"x": 1}

    def records():
        for i in itertools.count():
            entered.set()
            gate.wait()
            yield {"x": i}

    made = [
        lambda: lv.range(9).map(blocks),
        lambda: lv.range(9).map(blocks, pure=False),
        lambda: lv.range(9).filter(blocks),
        lambda: lv.from_records(records),
        lambda: lv.range(9).batch(2).map(blocks, batched=True),
    ]
    try:
        for make, threads in itertools.product(made, (1, 3)):
            it = iter(make().with_options(threads=threads))
            entered.clear()
            call = Call(next, it)
            assert entered.wait(LONG)
            it.cancel()
            with pytest.raises(lv.errors.CancelledError):
                call.join()
            it.close()
    finally:
        gate.set()
