# SPDX-License-Identifier: Apache-2.0
"""P5: queues and the barrier from Python, with one core; elements through the queue are counted."""

import itertools
import os
import sys

import levada as lv
import numpy as np
from levada import errors
from levada import train as lt

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import BATCH, main, timed  # noqa: E402

CAPACITY = 1000
LENGTHS = (8, 16, 24, 32)
ROWS = np.arange(BATCH)


def fifo():
    return lt.FIFOQueue(CAPACITY, "int64", [()])


def by_batches(enqueue, dequeue, limit):
    """Batches in and out."""

    def count():
        for _ in range(limit // BATCH):
            enqueue()
            dequeue()
        return limit // BATCH * BATCH

    return timed(count)


def one(folder, limit=300_000):
    """One element in, one out."""
    queue = fifo()

    def count():
        for i in range(limit):
            queue.enqueue(i)
            queue.dequeue()
        return limit

    return timed(count)


def many(folder, limit=5_000_000):
    """64 elements in, 64 out."""
    queue = fifo()
    return by_batches(lambda: queue.enqueue_many(ROWS), lambda: queue.dequeue_many(BATCH), limit)


def shuffle(folder, limit=2_000_000):
    """The same through a queue in which 500 elements stay."""
    queue = lt.RandomShuffleQueue(CAPACITY, 500, "int64", [()], seed=1)
    queue.enqueue_many(np.arange(500))
    return by_batches(lambda: queue.enqueue_many(ROWS), lambda: queue.dequeue_many(BATCH), limit)


def padding(folder, limit=1_000_000):
    """16 vectors in at a time, of one of four lengths, a padded batch of 64 out."""
    queue = lt.PaddingFIFOQueue(CAPACITY, "int64", [(None,)])
    groups = [np.ones((BATCH // 4, n), np.int64) for n in LENGTHS]

    def enqueue():
        for group in groups:
            queue.enqueue_many(group)

    return by_batches(enqueue, lambda: queue.dequeue_many(BATCH), limit)


def barrier(folder, limit=500_000):
    """64 keys inserted, 64 taken."""
    keeper = lt.Barrier("int64", [()])
    keys = [f"key {i}" for i in range(BATCH)]
    return by_batches(
        lambda: keeper.insert_many(0, keys, ROWS), lambda: keeper.take_many(BATCH), limit
    )


def run(queue, enqueue_op):
    """A queue runner feeds dequeue_many(64) until the end."""
    coord = lt.Coordinator()
    threads = lt.QueueRunner(queue, [enqueue_op]).create_threads(coord, daemon=True, start=True)

    def count():
        n = 0
        try:
            while True:
                n += len(queue.dequeue_many(BATCH))
        except errors.OutOfRangeError:
            return n

    result = timed(count)
    coord.request_stop()
    coord.join(threads)
    return result


def runner(folder, limit=5_000_000):
    """The producer is a dataset: no Python for an element."""
    queue = fifo()
    return run(queue, queue.enqueue_from(lv.range(limit).with_options(threads=1)))


def runner_python(folder, limit=500_000):
    """The producer is a function of Python that puts one element in."""
    queue, numbers = fifo(), itertools.count()

    def produce():
        i = next(numbers)
        if i >= limit:
            raise errors.OutOfRangeError("all are in")
        queue.enqueue(i)

    return run(queue, produce)


if __name__ == "__main__":
    main(globals())
