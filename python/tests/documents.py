# SPDX-License-Identifier: Apache-2.0
"""The Python samples of the documentation, and small files for them to read."""

import itertools
import re
import threading
from pathlib import Path

import levada as lv
import numpy as np
from levada import train as lt

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```python ?([a-z ]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def samples(name):
    """(heading, words after ```python, code) of each block of docs/<name>."""
    for section in (ROOT / "docs" / name).read_text().split("\n## "):
        heading = section.split("\n", 1)[0].strip("# `")
        for words, code in _FENCE.findall(section):
            yield heading, words.split(), code


def rows_of(header, pattern):
    """What the pattern finds in a header of C: the rows of a table there."""
    return re.findall(pattern, (ROOT / "include" / "levada" / header).read_text())


def pairs(name):
    """(heading, words, code before, code after)."""
    for (heading, words, before), (_, other, after) in itertools.pairwise(samples(name)):
        if "before" in words and "after" in other:
            yield heading, words, before, after


def make_files(folder):
    """What the samples read: 20 Examples, 7 lines, 6 rows of CSV, 6 numbers."""
    for n in range(2):
        with lv.TFRecordWriter(str(folder / f"{n}.tfrecord")) as writer:
            for i in range(10):
                tokens = list(range(1, i % 7 + 2))
                writer.write(lv.make_example({"label": 10 * n + i, "tokens": tokens}))
    lines = [" ".join("abcdefg"[: i + 1]) for i in range(7)]
    (folder / "lines.txt").write_text("\n".join(["a header", *lines, ""]))
    for name, first in ("first", 0), ("second", 3):
        rows = [f"{i},{i / 2},,{i % 2}" for i in range(first, first + 3)]
        (folder / f"{name}.csv").write_text("\n".join([*rows, ""]))
    (folder / "fixed.bin").write_bytes(np.array([5, 3, 9, 1, 7, 2], "<i4").tobytes())


def run(code, **names):
    """Runs a sample in the current folder; what it passed to step(...), call by call."""
    steps = []
    space = {
        "__name__": "__main__",
        "lv": lv,
        "lt": lt,
        "np": np,
        "threading": threading,
        "step": lambda *a: steps.append(a),
    }
    exec(compile(code, "sample", "exec"), space | names)
    return steps


def plain(steps):
    """Steps as nested lists, with the dtype and shape of every value."""
    arrays = [[np.asarray(value) for value in step] for step in steps]
    return [[(str(a.dtype), a.shape, a.tolist()) for a in step] for step in arrays]


def rows(steps):
    """Rows of all batches, sorted: what there is where the order is not fixed."""
    return sorted(
        [np.asarray(value).tolist() for value in row]
        for step in steps
        for row in zip(*step, strict=True)
    )
