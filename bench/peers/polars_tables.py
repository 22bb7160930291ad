# SPDX-License-Identifier: Apache-2.0
"""CSV and lines with Polars, to its columns, with a thread for each core that is allowed."""

import os

import polars as pl
from common import files, main, timed


def csv(folder, name="numbers"):
    path = files.path(name, folder)
    return timed(lambda: len(pl.read_csv(path, has_header=False)), os.path.getsize(path))


def lines(folder):
    """One column, whose delimiter is not in the text."""
    path = files.path("text", folder)
    options = {"has_header": False, "separator": "\x01", "quote_char": None}
    return timed(lambda: len(pl.read_csv(path, **options)), os.path.getsize(path))


if __name__ == "__main__":
    main(globals())
