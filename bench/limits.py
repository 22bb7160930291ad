# SPDX-License-Identifier: Apache-2.0
"""Limits of the Python rows: the same loop with nothing but what Python or NumPy must do."""

import collections
import subprocess
import sys
import time

import numpy as np
from common import BATCH, main, timed

LENGTHS = (8, 16, 24, 32)
ROWS = np.arange(BATCH)


def records(folder, parsed, limit=100_000):
    """One object a record: 446 bytes, or a dict of an array of 248 numbers and a number."""
    raw, tokens = bytes(446), np.zeros(248, np.int64)

    def count():
        for i in range(limit):
            if parsed:
                {"tokens": tokens.copy(), "label": np.int64(i)}
            else:
                raw[:-1]
        return limit

    return timed(count)


def one(folder, limit=300_000):
    """A deque without a bound, one in, one out: an array each, as a queue returns."""
    queue = collections.deque()

    def count():
        for i in range(limit):
            queue.append(np.asarray(i))
            queue.popleft()
        return limit

    return timed(count)


def copied(batches, limit):
    """Batches copied in and out."""

    def count():
        for _ in range(limit // BATCH):
            for batch in batches:
                batch.copy()
            np.concatenate(batches)
        return limit // BATCH * BATCH

    return timed(count)


def many(folder, limit=5_000_000):
    return copied([ROWS], limit)


def padding(folder, limit=1_000_000):
    return copied([np.ones((BATCH // 4, LENGTHS[-1]), np.int64) for _ in LENGTHS], limit)


def barrier(folder, limit=500_000):
    """64 keys into a dict and out of it."""
    keys = [f"key {i}" for i in range(BATCH)]

    def count():
        held = {}
        for _ in range(limit // BATCH):
            held.update(zip(keys, ROWS.tolist(), strict=True))
            np.array([held.pop(key) for key in keys])
        return limit // BATCH * BATCH

    return timed(count)


def calls(folder, limit=500_000):
    """A function of Python that is called once an element."""
    done = collections.deque(maxlen=BATCH)

    def count():
        for i in range(limit):
            (lambda: done.append(i))()
        return limit

    return timed(count)


def process(folder, code="pass"):
    """A Python process from its start to its end."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return {"seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    main(globals())
