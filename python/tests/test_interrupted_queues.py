# SPDX-License-Identifier: Apache-2.0
"""A Ctrl-C while Python hands over what came out of a queue takes nothing with it."""

import levada as lv
import numpy as np
import pytest
from input_support import OUT, runners  # noqa: F401  a fixture
from interrupting import stormed
from levada import train

# One that comes into a finaliser is told by Python, which continues.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
N = 120000


def filled(n=N, components=1):
    queue = train.FIFOQueue(n, ["int64"] * components, [()] * components)
    queue.enqueue_many([np.arange(n)] * components)
    queue.close()
    return queue


TAKES = {
    "dequeue": lambda queue: queue.dequeue,
    "dequeue with a timeout": lambda queue: lambda: queue.dequeue(timeout=1),
    "dequeue_many": lambda queue: lambda: queue.dequeue_many(2),
    "dequeue_up_to": lambda queue: lambda: queue.dequeue_up_to(2, timeout=1),
}


@pytest.mark.parametrize("name", TAKES)
def test_queues_lose_nothing(name):
    got = stormed(TAKES[name](filled()), OUT)
    assert np.array_equal(np.hstack(got), np.arange(N))


def test_strings_lose_nothing():
    queue = train.FIFOQueue(N, ["string", "int64"], [(), ()])
    queue.enqueue_many([[str(i) for i in range(N)], np.arange(N)])
    queue.close()
    got = stormed(lambda: queue.dequeue_many(4), OUT)
    assert np.array_equal(np.hstack([numbers for _, numbers in got]), np.arange(N))
    assert [int(text) for texts, _ in got for text in texts] == list(range(N))


def test_a_loop_over_a_queue_loses_nothing():
    queue = filled()

    def take():
        for value in queue:
            return value
        raise OUT("the end")

    assert np.array_equal(np.hstack(stormed(take, OUT)), np.arange(N))


def test_feeds_lose_and_double_nothing():
    queue = train.FIFOQueue(N, "int64", [()])
    feed = queue.enqueue_from(lv.range(N).with_options(block_rows=8, threads=1))
    feed()  # opens the dataset
    stormed(feed.__call__, OUT)
    assert np.array_equal(queue.dequeue_many(queue.size()), np.arange(N))


def test_barriers_lose_nothing():
    n = N // 4
    barrier = train.Barrier(["int64"], [()])
    barrier.insert_many(0, [str(i) for i in range(n)], np.arange(n))
    barrier.close()
    got = stormed(lambda: barrier.take_many(1)[2][0], OUT)
    assert np.array_equal(np.hstack(got), np.arange(n))


def test_batches_in_their_structure_lose_nothing(running):
    n = N // 4
    stream = train.batch(lv.range(n), 2)
    running()
    got = stormed(stream.__call__, OUT)
    assert np.array_equal(np.hstack([batch["value"] for batch in got]), np.arange(n))


def test_rows_of_arrays_lose_nothing(running):
    n = N // 4
    stream = train.slice_input_producer([np.arange(n), np.arange(n)], num_epochs=1, shuffle=False)
    running()
    got = stormed(stream.__call__, OUT)
    assert np.array_equal(np.array(got), np.stack([np.arange(n)] * 2, axis=1))
