# SPDX-License-Identifier: Apache-2.0
"""Grain as it comes: an ArrayRecord file in random order."""

import door_files
import grain
import numpy as np
from array_record.python.array_record_data_source import ArrayRecordDataSource
from common import main, timed


def array_record(folder):
    source = ArrayRecordDataSource([door_files.path(folder, "array_record")])
    ds = grain.MapDataset.source(source).shuffle(seed=1)
    ds = ds.map(lambda row: np.frombuffer(row, np.int32)).to_iter_dataset()
    batches = ds.batch(door_files.BATCH, batch_fn=lambda rows: rows)
    return timed(lambda: sum(len(batch) for batch in batches))


if __name__ == "__main__":
    main(globals())
