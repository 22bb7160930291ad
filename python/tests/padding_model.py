# SPDX-License-Identifier: Apache-2.0
"""A small model of padded batches and buckets, on lists: what levada must make of records."""

import random

import numpy as np


def draw_records(draw, n):
    """Records with `x` (float32, of steps of two numbers or of none), `t` (int64) and `i`."""
    steps = draw.choice([(), (2,)])
    most = draw.choice([0, 1, 3, 9])
    same = draw.random() < 0.3  # equal lengths, which are no fixed shape
    lengths = [most if same else draw.randrange(most + 1) for _ in range(n)]
    return [
        {
            "i": i,
            "x": np.arange(length * int(np.prod(steps)), dtype=np.float32).reshape(length, *steps),
            "t": [i * 10 + k for k in range(draw.randrange(4))],
        }
        for i, length in enumerate(lengths)
    ]


def padded(rows, steps=None, multiple=1):
    """(array [n, T, ...], lengths) of arrays of different lengths."""
    rows = [np.asarray(row) for row in rows]
    longest = max(len(row) for row in rows)
    longest = -(-longest // multiple) * multiple if steps is None else steps
    inner = next((row.shape[1:] for row in rows if row.shape != (0,)), ())
    out = np.zeros((len(rows), longest, *inner), rows[0].dtype)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row.reshape(len(row), *inner)
    return out, [len(row) for row in rows]


def batches(records, size, drop=False):
    """Lists of records."""
    made = [records[i : i + size] for i in range(0, len(records), size)]
    return [batch for batch in made if len(batch) == size or not drop]


def buckets(records, boundaries, sizes, drop=False):
    """(records, steps of the boundary) of each batch, in the order in which they are full."""
    waiting = [[] for _ in sizes]
    for record in records:
        number = sum(len(record["x"]) >= boundary for boundary in boundaries)
        waiting[number].append(record)
        if len(waiting[number]) == sizes[number]:
            yield waiting[number], number
            waiting[number] = []
    for number, rest in enumerate(waiting):
        if rest and not drop:
            yield rest, number


def draw_buckets(seed):
    """(records, boundaries, sizes, to_boundary, drop) of a trial."""
    draw = random.Random(seed)
    records = draw_records(draw, draw.randrange(1, 40))
    longest = max(len(record["x"]) for record in records)
    boundaries = sorted(draw.sample(range(1, 12), draw.randrange(1, 4)))
    to_boundary = draw.random() < 0.5
    if to_boundary:  # what is longer than the last boundary has none
        boundaries = sorted({*boundaries, longest + 1})
    sizes = [draw.randrange(1, 5) for _ in range(len(boundaries) + 1)]
    return records, boundaries, sizes, to_boundary, draw.random() < 0.3
