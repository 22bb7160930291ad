# SPDX-License-Identifier: Apache-2.0
"""P5: the input program of TensorFlow 1.x with our queues, in three forms."""

import os
import sys

import levada as lv
from levada import train as lt

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import BATCH, files, main, timed  # noqa: E402

LABEL = lv.FixedLenFeature([], lv.int64)
ONE = {"tokens": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True), "label": LABEL}
MANY = {"tokens": lv.RaggedFeature(lv.int64), "label": LABEL}
COLUMNS = {"tokens": lv.VarLenFeature(lv.int64), "label": LABEL}
BLOCK = 256


def by_example(names):
    """Line for line: a Python call for each example."""
    reader = lt.TFRecordReader()

    def read_and_decode():
        _, record = reader.read(names)
        return lv.parse_single_example(record, ONE)

    return lt.batch(read_and_decode, BATCH, capacity=4 * BATCH, dynamic_pad=True)


def by_block(names):
    """Blocks of records, parsed together; rows go into the queue together."""
    reader = lt.TFRecordReader()

    def read_and_decode():
        _, records = reader.read_up_to(names, BLOCK)
        return lv.parse_example(records, MANY)

    return lt.batch(read_and_decode, BATCH, capacity=4 * BLOCK, enqueue_many=True, dynamic_pad=True)


def by_dataset(names):
    """The reader as a dataset: no Python between the names and the queue."""
    examples = lt.TFRecordReader().dataset(names).parse_example(COLUMNS)
    return lt.batch(examples.with_options(threads=1), BATCH, capacity=4 * BLOCK, dynamic_pad=True)


def run(folder, program, limit):
    lt.clear_collection("queue_runners")
    batch = program(lt.string_input_producer([files.path("a", folder)], shuffle=False))
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    batch()

    def count():
        n = 0
        while n < limit:
            n += len(batch()["label"])
        return n

    result = timed(count)
    coord.request_stop()
    coord.join(threads)
    return result


def examples(folder, limit=100_000):
    return run(folder, by_example, limit)


def blocks(folder, limit=400_000):
    return run(folder, by_block, limit)


def dataset(folder, limit=400_000):
    return run(folder, by_dataset, limit)


if __name__ == "__main__":
    main(globals())
