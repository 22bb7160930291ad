# SPDX-License-Identifier: Apache-2.0
"""CSV and lines with pyarrow, to its columns."""

import os

import pyarrow as pa
from common import files, main, timed
from pyarrow import csv as arrow_csv


def read(path, options=None):
    # Its pool is made for all cores of the machine.
    pa.set_cpu_count(len(os.sched_getaffinity(0)))
    headless = arrow_csv.ReadOptions(autogenerate_column_names=True)

    def count():
        return arrow_csv.read_csv(path, read_options=headless, parse_options=options).num_rows

    return timed(count, os.path.getsize(path))


def csv(folder, name="numbers"):
    return read(files.path(name, folder))


def lines(folder):
    """One column, whose delimiter is not in the text."""
    options = arrow_csv.ParseOptions(delimiter="\x01", quote_char=False)
    return read(files.path("text", folder), options)


if __name__ == "__main__":
    main(globals())
