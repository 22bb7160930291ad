# SPDX-License-Identifier: Apache-2.0
"""Makes a TFRecord of real text: the functions and classes of Python's standard library.

One SequenceExample for each function and class: its source as tokens (one byte, one token), and
as context the file, the name and the line.

    python make_corpus.py FOLDER        writes corpus.tfrecord and corpus.tfrecord.gz there
"""

import ast
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import levada as lv
import numpy as np

SKIPPED = {"site-packages", "dist-packages", "test", "tests", "__pycache__"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def sources(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.py")):
        if not SKIPPED.intersection(path.relative_to(root).parts):
            yield path


def definitions(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """Name, line and source of every function and class of a file."""
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # bad on purpose, for tools that must refuse it
        return
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            first, last = node.lineno, node.end_lineno or node.lineno
            yield node.name, first, b"".join(lines[first - 1 : last])


def records(root: Path) -> Iterator[bytes]:
    for path in sources(root):
        file = path.relative_to(root).as_posix().encode()
        for name, line, source in definitions(path):
            context = {"file": [file], "name": [name.encode()], "line": [line]}
            yield lv.make_sequence_example(context, {"tokens": np.frombuffer(source, np.uint8)})


def make(folder: Path) -> int:
    """Writes both files; the number of records."""
    root = Path(sysconfig.get_paths()["stdlib"])
    count = 0
    with (
        lv.TFRecordWriter(str(folder / "corpus.tfrecord")) as plain,
        lv.TFRecordWriter(str(folder / "corpus.tfrecord.gz"), compression="gzip") as packed,
    ):
        for record in records(root):
            plain.write(record)
            packed.write(record)
            count += 1
    return count


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    print(f"{make(target)} records in {target}/corpus.tfrecord and corpus.tfrecord.gz")
