# SPDX-License-Identifier: Apache-2.0
"""P5: the input program of TensorFlow 1.x, as its queue runners run it, in three forms.

The session of tf_common was the fastest of those that tf_queues lists for each form: 1.2 to 2 times
Session.run with a pool of one thread.
"""

from common import BATCH, files, main, timed
from tf_common import compiled, session, tf

v1 = tf.compat.v1
ONE = {
    "tokens": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def by_example(names):
    """One example at a time."""
    _, record = v1.TFRecordReader().read(names)
    example = tf.io.parse_single_example(record, ONE)
    return v1.train.batch(example, BATCH, capacity=4 * BATCH, dynamic_pad=True)


def by_block(names):
    """Strings in batches, parsed together."""
    _, record = v1.TFRecordReader().read(names)
    records = v1.train.batch([record], BATCH, capacity=4 * BATCH)
    return tf.io.parse_example(records, ONE)


def by_vector(names):
    """Vectors of strings from the reader; 64 at a time is faster than 256."""
    _, records = v1.TFRecordReader().read_up_to(names, BATCH)
    records = v1.train.batch([records], BATCH, capacity=4 * BATCH, enqueue_many=True)
    return tf.io.parse_example(records, ONE)


def run(folder, program, limit):
    with tf.Graph().as_default() as graph:
        batch = program(v1.train.string_input_producer([files.path("a", folder)], shuffle=False))
        with session(graph) as driver:
            coord = v1.train.Coordinator()
            runners = v1.train.start_queue_runners(driver, coord)
            take = compiled(driver, [batch["label"], batch["tokens"]])
            take()

            def count():
                n = 0
                while n < limit:
                    n += len(take()[0])
                return n

            result = timed(count)
            coord.request_stop()
            coord.join(runners)
    return result


def classic(folder, limit=20_000):
    return run(folder, by_example, limit)


def blocks(folder, limit=20_000):
    return run(folder, by_block, limit)


def vectors(folder, limit=100_000):
    return run(folder, by_vector, limit)


if __name__ == "__main__":
    main(globals())
