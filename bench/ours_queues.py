# SPDX-License-Identifier: Apache-2.0
"""P5: queues, barrier and buckets from Python, with one core; elements that went through count."""

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


BOUNDARIES = [20, 40, 60, 80]


def vectors():
    """1,000 vectors of 1 to 99 numbers."""
    return [np.ones(n, np.int64) for n in np.random.default_rng(1).integers(1, 100, 1000)]


def bucketed(source):
    """bucket_by_sequence_length in batches of 64, to the end; elements are counted."""
    lt.clear_collection("queue_runners")
    batch = lt.bucket_by_sequence_length(
        source, "x", BATCH, BOUNDARIES, dynamic_pad=True, allow_smaller_final_batch=True
    )
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    result = timed(lambda: sum(len(lengths) for lengths, _ in batch))
    coord.request_stop()
    coord.join(threads)
    return result


def buckets(folder, limit=2_000_000):
    """The source is a dataset: no Python for an element."""
    rows = vectors()
    ends = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    ds = lv.from_arrays({"x": lv.Ragged(np.concatenate(rows), [ends])})
    return bucketed(ds.repeat(limit // len(rows)).with_options(threads=1))


def buckets_python(folder, limit=200_000):
    """The source is a function of Python that returns one element."""
    examples = itertools.islice(itertools.cycle([{"x": row} for row in vectors()]), limit)
    return bucketed(lambda: next(examples))


if __name__ == "__main__":
    main(globals())
