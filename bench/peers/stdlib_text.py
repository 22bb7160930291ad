# SPDX-License-Identifier: Apache-2.0
"""Lines, CSV, JSON and tar with Python's own modules: loops over a part of the files."""

import csv as reader
import itertools
import json as parser
import tarfile

from common import files, main, timed


def sized(count):
    """`count` returns records and bytes."""
    sizes = []

    def drain():
        n, size = count()
        sizes.append(size)
        return n

    result = timed(drain)
    return {**result, "bytes": sizes[0]}


def lines(folder, limit=1_000_000):
    def count():
        n = size = 0
        with open(files.path("text", folder), "rb") as text:
            for line in itertools.islice(text, limit):
                n += 1
                size += len(line)
        return n, size

    return sized(count)


def csv(folder, name="numbers", limit=50_000):
    def count():
        n = 0
        with open(files.path(name, folder), newline="") as text:
            kept = list(itertools.islice(text, limit))
        for _ in reader.reader(kept):
            n += 1
        return n, sum(map(len, kept))

    return sized(count)


def json(folder, limit=20_000):
    """The text of each line."""

    def count():
        n = size = 0
        with open(files.path("jsonl", folder), "rb") as lines:
            for line in itertools.islice(lines, limit):
                n += parser.loads(line)["text"] != ""
                size += len(line)
        return n, size

    return sized(count)


def tar(folder, limit=5_000):
    def count():
        n = size = 0
        with tarfile.open(files.path("tar", folder)) as archive:
            for member in itertools.islice(archive, limit):
                size += 512 + len(archive.extractfile(member).read())
                n += 1
        return n, size

    return sized(count)


if __name__ == "__main__":
    main(globals())
