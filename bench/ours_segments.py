# SPDX-License-Identifier: Apache-2.0
"""U: segments and their states from Python: 32 rows of 64 steps, two states of 512 floats."""

import itertools
import os
import sys

import levada as lv
import numpy as np
from levada import train as lt

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import main, timed  # noqa: E402
from segments import FIRST, LONG, ROWS, STATES, STEPS, X  # noqa: E402


def made():
    """A saver, and a function that inserts 32 sequences."""
    examples = ({"x": X, "key": str(number)} for number in itertools.count())
    saver = lt.SequenceQueueingStateSaver(
        examples, ROWS, STEPS, lambda example: len(X), "key", ["x"], [], {"h": FIRST, "c": FIRST},
        capacity=ROWS,
    )  # fmt: skip

    def fill():
        for _ in range(ROWS):
            saver.prefetch_op()

    return saver, fill


def hand_over(folder, limit=1000):
    """next_batch, both states, save_state of both; n counts batches. Inserts are not timed."""
    saver, fill = made()
    result = {"n": 0, "seconds": 0.0, "cpu": 0.0}

    def count():
        for _ in range(LONG):
            batch = saver.next_batch()
            batch.state("h"), batch.state("c")
            batch.save_state("h", STATES[0])
            batch.save_state("c", STATES[1])
        return LONG

    for _ in range(max(limit // LONG, 1)):
        fill()
        for name, value in timed(count).items():
            result[name] += value
    return result


def segments(folder, limit=30_000):
    """The whole of it, with inserts and sequences; n counts segments."""
    saver, fill = made()

    def count():
        for _ in range(max(limit // (ROWS * LONG), 1)):
            fill()
            for _ in range(LONG):
                batch = saver.next_batch()
                batch.sequences, batch.state("h"), batch.state("c")
                batch.save_state("h", STATES[0])
                batch.save_state("c", STATES[1])
        return max(limit // (ROWS * LONG), 1) * ROWS * LONG

    return timed(count)


def ready(folder, limit=1000):
    """The layout ready in a pipeline: a batch, both states, save_states of both."""
    steps = [X] * ROWS * max(limit // LONG, 1)
    ds = lv.from_arrays({"x": steps}).unroll(
        STEPS, batch_size=ROWS, layout="ready",
        states={name: {"dtype": "float32", "shape": [512]} for name in "hc"},
    )  # fmt: skip

    def count():
        n = 0
        for batch in ds.with_options(threads=1):
            batch.state("h"), batch.state("c")
            batch.save_states({"h": STATES[0], "c": STATES[1]})
            n += 1
        return n

    return timed(count)


def copies(folder, limit=1000):
    """The limit: two states are copied out and in, nothing else."""

    def count():
        for _ in range(limit):
            for state in STATES:
                np.array(state)
                np.array(state)
        return limit

    return timed(count)


if __name__ == "__main__":
    main(globals())
