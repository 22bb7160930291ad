# SPDX-License-Identifier: Apache-2.0
"""P5: the input program of TensorFlow 1.x, as its queue runners run it."""

from common import BATCH, files, main, timed
from tf_common import tf

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


def run(folder, program, limit, threads):
    graph = tf.Graph()
    with graph.as_default():
        batch = program(v1.train.string_input_producer([files.path("a", folder)], shuffle=False))
        config = v1.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
        )
        with v1.Session(config=config) as session:
            coord = v1.train.Coordinator()
            runners = v1.train.start_queue_runners(session, coord)
            session.run(batch)

            def count():
                n = 0
                while n < limit:
                    n += len(session.run(batch)["label"])
                return n

            result = timed(count)
            coord.request_stop()
            coord.join(runners)
    return result


def classic(folder, limit=20_000, threads=1):
    return run(folder, by_example, limit, threads)


def blocks(folder, limit=40_000, threads=1):
    return run(folder, by_block, limit, threads)


if __name__ == "__main__":
    main(globals())
