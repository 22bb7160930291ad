# SPDX-License-Identifier: Apache-2.0
"""P5: TensorFlow's queues and barrier, driven from Python through a session; one thread each."""

import numpy as np
import tf_common  # noqa: F401  quiet, and on the CPU
from common import BATCH, main, timed
from tensorflow import compat
from tensorflow.python.ops import data_flow_ops

tf = compat.v1
CAPACITY = 1000
LENGTHS = (8, 16, 24, 32)
ROWS = np.arange(BATCH)


def session(graph):
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    return tf.Session(graph=graph, config=config)


def fifo():
    return tf.FIFOQueue(CAPACITY, tf.int64, [()])


def driven(make, limit, batch=BATCH):
    """`make` gives (an op that puts `batch` elements in, its feeds, one that takes them)."""
    with tf.Graph().as_default() as graph, session(graph) as run:
        enqueue, feeds, dequeue, *first = make()
        for op in first:
            run.run(op)

        def count():
            for _ in range(limit // batch):
                for feed in feeds:
                    run.run(enqueue, feed)
                run.run(dequeue)
            return limit // batch * batch

        return timed(count)


def one(folder, limit=10_000):
    """One element in, one out."""

    def make():
        queue, value = fifo(), tf.placeholder(tf.int64, ())
        return queue.enqueue(value), [{value: 7}], queue.dequeue()

    return driven(make, limit, 1)


def many(folder, limit=500_000):
    """64 elements in, 64 out."""

    def make():
        queue, value = fifo(), tf.placeholder(tf.int64, (BATCH,))
        return queue.enqueue_many(value), [{value: ROWS}], queue.dequeue_many(BATCH)

    return driven(make, limit)


def shuffle(folder, limit=500_000):
    """The same through a queue in which 500 elements stay."""

    def make():
        queue = tf.RandomShuffleQueue(CAPACITY, 500, tf.int64, [()], seed=1)
        value = tf.placeholder(tf.int64, (BATCH,))
        first = queue.enqueue_many(tf.range(500, dtype=tf.int64))
        return queue.enqueue_many(value), [{value: ROWS}], queue.dequeue_many(BATCH), first

    return driven(make, limit)


def padding(folder, limit=200_000):
    """16 vectors in at a time, of one of four lengths, a padded batch of 64 out."""

    def make():
        queue = tf.PaddingFIFOQueue(CAPACITY, tf.int64, [(None,)])
        value = tf.placeholder(tf.int64, (BATCH // 4, None))
        feeds = [{value: np.ones((BATCH // 4, n), np.int64)} for n in LENGTHS]
        return queue.enqueue_many(value), feeds, queue.dequeue_many(BATCH)

    return driven(make, limit)


def barrier(folder, limit=200_000):
    """64 keys inserted, 64 taken."""

    def make():
        keeper = data_flow_ops.Barrier(tf.int64, [()])
        keys, value = tf.placeholder(tf.string, (BATCH,)), tf.placeholder(tf.int64, (BATCH,))
        feed = {keys: np.array([f"key {i}" for i in range(BATCH)], object), value: ROWS}
        return keeper.insert_many(0, keys, value), [feed], keeper.take_many(BATCH)

    return driven(make, limit)


def runner(folder, limit=100_000):
    """A queue runner, one element a call, feeds dequeue_many(64)."""
    with tf.Graph().as_default() as graph, session(graph) as run:
        queue = fifo()
        producer = tf.train.QueueRunner(queue, [queue.enqueue(tf.constant(7, tf.int64))])
        dequeue = queue.dequeue_many(BATCH)
        coord = tf.train.Coordinator()
        threads = producer.create_threads(run, coord, daemon=True, start=True)

        def count():
            for _ in range(limit // BATCH):
                run.run(dequeue)
            return limit // BATCH * BATCH

        result = timed(count)
        coord.request_stop()
        coord.join(threads)
        return result


if __name__ == "__main__":
    main(globals())
