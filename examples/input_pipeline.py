# SPDX-License-Identifier: Apache-2.0
"""The canonical input program of TensorFlow 1.x: names -> reader -> decoder -> queue -> batches.

Usage: input_pipeline.py [FILE.tfrecord ...], of Examples with "label" and "tokens". Without files
it makes some. A dataset does the same in three lines, faster: docs/queues-and-coordinators.md.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import levada as lv
from levada import train as lt

SPEC = {
    "label": lv.FixedLenFeature([], lv.int64),
    "tokens": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True),
}


def read_example(reader: lt.TFRecordReader, filename_queue: Any) -> Any:
    """One example: its label, and its tokens as int64 [n]."""
    _key, record = reader.read(filename_queue)  # waits for a name; OutOfRangeError at the end
    example = lv.parse_single_example(record, SPEC)
    return example["label"], example["tokens"]


def input_pipeline(filenames: list[str], batch_size: int, num_epochs: int) -> Any:
    """A function that returns the next batch: labels [B], and tokens [B, T] padded with 0."""
    filename_queue = lt.string_input_producer(filenames, num_epochs=num_epochs, seed=7)
    reader = lt.TFRecordReader()
    queue = lt.PaddingFIFOQueue(200, ["int64", "int64"], shapes=[(), (None,)])
    enqueue = lambda: queue.enqueue(read_example(reader, filename_queue))  # noqa: E731
    lt.add_queue_runner(lt.QueueRunner(queue, [enqueue] * 2))
    return lambda: queue.dequeue_up_to(batch_size)


def main(filenames: list[str]) -> None:
    next_batch = input_pipeline(filenames, batch_size=32, num_epochs=2)
    examples = tokens = 0
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    try:
        while not coord.should_stop():
            label_batch, token_batch = next_batch()
            examples += len(label_batch)
            tokens += int((token_batch != 0).sum())
    except lv.errors.OutOfRangeError:
        print(f"{examples} examples, {tokens} tokens")
    finally:
        coord.request_stop()
        coord.join(threads)


def make_files(folder: str) -> list[str]:
    """Three files of 50 examples; the i-th has i + 1 tokens."""
    names = [os.path.join(folder, f"{n}.tfrecord") for n in range(3)]
    for n, name in enumerate(names):
        with lv.TFRecordWriter(name) as writer:
            for i in range(50):
                writer.write(lv.make_example({"label": n, "tokens": list(range(1, i + 2))}))
    return names


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(make_files(folder))
