# SPDX-License-Identifier: Apache-2.0
"""Sentences of every length in batches of similar length: the input program of TensorFlow 1.x.

TensorFlow's program with a Coordinator and start_queue_runners, line for line. Where TensorFlow has
a tensor, levada has a function or the name of a field; where it runs a tensor in a session, a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import levada as lv
from levada import train as lt

SENTENCES = 1000


def read(count: Iterator[int]) -> dict[str, Any]:
    """A source: sentences of 1 to 24 words, with a number for each word."""
    number = next(count)
    return {"number": number, "words": [number + i for i in range(1 + number * 7 % 24)]}


def main() -> None:
    count = iter(range(SENTENCES))
    batch = lt.bucket_by_sequence_length(
        lambda: read(count),
        "words",
        batch_size=32,
        bucket_boundaries=[8, 16],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    sentences = words = places = 0

    # Start input enqueue threads.
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)

    try:
        while not coord.should_stop():
            # Run training steps.
            lengths, outputs = batch()
            sentences += len(lengths)
            words += int(lengths.sum())
            places += outputs["words"].size
    except lv.errors.OutOfRangeError:
        print("Done training: epoch limit reached")
    finally:
        # When done, ask the threads to stop.
        coord.request_stop()

    # Wait for threads to finish.
    coord.join(threads)
    print(f"{sentences} sentences, {words} words, {100 * (1 - words / places):.1f} % padding")


if __name__ == "__main__":
    main()
