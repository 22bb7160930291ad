# SPDX-License-Identifier: Apache-2.0
"""P5: TensorFlow's queues, barrier and buckets, driven from Python through a session, one core.

What is fastest was tried for each row (k elements a second, best of six turns; HERE: ops run in
the thread that calls; single: so does the executor; compiled: tf_common):

                                     one   many  shuffle  padding  barrier  runner
    Session.run                      2.3    200      182       59       95      23
    Session.run, HERE                3.2    231      188       78       92      61
    make_callable, HERE              4.5    267      301       88      115      66
    compiled                          12    725      659      312      192      31
    compiled, HERE                    38  1,312    1,272      591      208      78
    compiled, HERE, single            43  1,771    1,353      590        -      85

The last one won in each row; the single-threaded executor refuses the barrier, which is a reference
there. Eager calls reached 6, 230, 235 and 100 for the first four.
"""

import numpy as np
from common import BATCH, main, timed
from tensorflow.python.ops import data_flow_ops
from tf_common import compiled, session
from tf_common import tf as tf2

tf = tf2.compat.v1
CAPACITY = 1000
LENGTHS = (8, 16, 24, 32)
ROWS = np.arange(BATCH)


def fifo():
    return tf.FIFOQueue(CAPACITY, tf.int64, [()])


def driven(make, limit, batch=BATCH, **options):
    """`make` returns an op, its placeholders, the values of each call; an op that takes `batch`."""
    with tf.Graph().as_default() as graph, session(graph, **options) as run:
        enqueue, feeds, values, dequeue, *first = make()
        for op in first:
            run.run(op)
        put, take = compiled(run, enqueue, feeds), compiled(run, dequeue)

        def count():
            for _ in range(limit // batch):
                for value in values:
                    put(*value)
                take()
            return limit // batch * batch

        return timed(count)


def one(folder, limit=10_000):
    """One element in, one out."""

    def make():
        queue, value = fifo(), tf.placeholder(tf.int64, ())
        return queue.enqueue(value), [value], [(7,)], queue.dequeue()

    return driven(make, limit, 1)


def many(folder, limit=500_000):
    """64 elements in, 64 out."""

    def make():
        queue, value = fifo(), tf.placeholder(tf.int64, (BATCH,))
        return queue.enqueue_many(value), [value], [(ROWS,)], queue.dequeue_many(BATCH)

    return driven(make, limit)


def shuffle(folder, limit=500_000):
    """The same through a queue in which 500 elements stay."""

    def make():
        queue = tf.RandomShuffleQueue(CAPACITY, 500, tf.int64, [()], seed=1)
        value = tf.placeholder(tf.int64, (BATCH,))
        first = queue.enqueue_many(tf.range(500, dtype=tf.int64))
        return queue.enqueue_many(value), [value], [(ROWS,)], queue.dequeue_many(BATCH), first

    return driven(make, limit)


def padding(folder, limit=200_000):
    """16 vectors in at a time, of one of four lengths, a padded batch of 64 out."""

    def make():
        queue = tf.PaddingFIFOQueue(CAPACITY, tf.int64, [(None,)])
        value = tf.placeholder(tf.int64, (BATCH // 4, None))
        rows = [(np.ones((BATCH // 4, n), np.int64),) for n in LENGTHS]
        return queue.enqueue_many(value), [value], rows, queue.dequeue_many(BATCH)

    return driven(make, limit)


def barrier(folder, limit=200_000):
    """64 keys inserted, 64 taken."""

    def make():
        keeper = data_flow_ops.Barrier(tf.int64, [()])
        keys, value = tf.placeholder(tf.string, (BATCH,)), tf.placeholder(tf.int64, (BATCH,))
        values = (np.array([f"key {i}" for i in range(BATCH)], object), ROWS)
        insert = keeper.insert_many(0, keys, value)
        return insert, [keys, value], [values], keeper.take_many(BATCH)

    return driven(make, limit, executor="")


def runner(folder, limit=100_000):
    """A queue runner, one element a call, feeds dequeue_many(64)."""
    with tf.Graph().as_default() as graph, session(graph) as run:
        queue = fifo()
        producer = tf.train.QueueRunner(queue, [queue.enqueue(tf.constant(7, tf.int64))])
        take = compiled(run, queue.dequeue_many(BATCH))
        coord = tf.train.Coordinator()
        threads = producer.create_threads(run, coord, daemon=True, start=True)

        def count():
            for _ in range(limit // BATCH):
                take()
            return limit // BATCH * BATCH

        result = timed(count)
        coord.request_stop()
        coord.join(threads)
        return result


BOUNDARIES = [20, 40, 60, 80]


def bucket_queues():
    """Queues and runners as contrib/training/python/training/bucket_ops.py has them; a batch."""
    length = tf.random.uniform((), 1, 100, tf.int32)
    element = [length, tf.ones((length,), tf.int64)]
    types, shapes = [tf.int32, tf.int64], [(), (None,)]
    queues = [tf.PaddingFIFOQueue(32, types, shapes) for _ in range(len(BOUNDARIES) + 1)]
    top = tf.PaddingFIFOQueue(32, [tf.int32, *types], [(), *((None, *s) for s in shapes)])
    which = tf.reduce_sum(tf.cast(length >= tf.constant(BOUNDARIES), tf.int32))
    enqueues = [
        tf.cond(tf.equal(which, i), lambda q=q: q.enqueue(element), tf.no_op)
        for i, q in enumerate(queues)
    ]
    batches = [top.enqueue([tf.constant(i), *q.dequeue_many(BATCH)]) for i, q in enumerate(queues)]
    ends = (tf.errors.OutOfRangeError, tf.errors.CancelledError)

    def runner(queue, ops, closed):
        closes = [tf.group(*(q.close(cancel) for q in closed)) for cancel in (False, True)]
        return tf.train.QueueRunner(queue, ops, *closes, queue_closed_exception_types=ends)

    runners = [runner(queues[0], batches, [top]), runner(top, [tf.group(*enqueues)], queues)]
    return runners, top.dequeue()


def buckets(folder, limit=20_000):
    """bucket_by_sequence_length, one element a call, in batches of 64."""
    tf2.compat.v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, session(graph, executor="") as run:
        runners, batch = bucket_queues()
        take = compiled(run, batch)
        coord = tf.train.Coordinator()
        threads = [
            thread
            for runner in runners
            for thread in runner.create_threads(run, coord, daemon=True, start=True)
        ]

        def count():
            return sum(len(take()[1]) for _ in range(limit // BATCH))

        result = timed(count)
        coord.request_stop()
        coord.join(threads)
        return result


if __name__ == "__main__":
    main(globals())
