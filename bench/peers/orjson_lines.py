# SPDX-License-Identifier: Apache-2.0
"""JSON lines with orjson: the text of each line."""

import orjson
from common import files, main
from stdlib_text import itertools, sized


def texts(folder, limit=40_000):
    def count():
        n = size = 0
        with open(files.path("jsonl", folder), "rb") as lines:
            for line in itertools.islice(lines, limit):
                n += orjson.loads(line)["text"] != ""
                size += len(line)
        return n, size

    return sized(count)


if __name__ == "__main__":
    main(globals())
