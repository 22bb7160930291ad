# SPDX-License-Identifier: Apache-2.0
"""Arrow and Parquet files with pyarrow alone, on one thread."""

import door_files
import pyarrow as pa
import pyarrow.parquet as pq
from common import main, timed
from door_files import BATCH, COUNT


def summed(folder):
    """Each value of the mapped Arrow file once: what touching them costs."""
    path = door_files.path(folder, "arrow")

    def count():
        file, n = pa.ipc.open_file(pa.memory_map(path)), 0
        for k in range(file.num_record_batches):
            batch = file.get_batch(k)
            batch.column(0).values.to_numpy().sum()
            n += batch.num_rows
        return n

    return timed(count)


def row_groups(folder):
    path = door_files.path(folder, "parquet")

    def count():
        n = 0
        for batch in pq.ParquetFile(path).iter_batches(BATCH, use_threads=False):
            batch.column(0).values.to_numpy()
            n += batch.num_rows
        return n

    return timed(count)


def take(folder):
    """Records in random order from a table of one chunk."""
    rows, order = door_files.table(), door_files.order()
    blocks = [pa.array(order[at : at + BATCH]) for at in range(0, COUNT, BATCH)]
    return timed(lambda: sum(rows.take(block).num_rows for block in blocks))


if __name__ == "__main__":
    main(globals())
