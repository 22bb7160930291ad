# SPDX-License-Identifier: Apache-2.0
"""Hugging Face datasets, from the same table in memory."""

import datasets
import door_files
from common import main, timed
from door_files import BATCH, COUNT


def arrays(folder, limit=10_000):
    """Batches of NumPy arrays in order."""
    hf = datasets.Dataset(door_files.table()).select(range(limit)).with_format("numpy")
    return timed(lambda: sum(len(batch["tokens"]) for batch in hf.iter(BATCH)))


def shuffled(folder):
    """Arrow tables of records in random order."""
    hf, order = datasets.Dataset(door_files.table()).with_format("arrow"), door_files.order()
    blocks = [order[at : at + BATCH].tolist() for at in range(0, COUNT, BATCH)]
    return timed(lambda: sum(hf[block].num_rows for block in blocks))


if __name__ == "__main__":
    main(globals())
