# SPDX-License-Identifier: Apache-2.0
"""D1 to D6: our side of the data of other libraries."""

import os
import sys
import time

import door_files
import levada as lv
from door_files import BATCH, COUNT

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import main, timed  # noqa: E402


def drained(ds, threads=0):
    """Records of the batches."""
    ds = ds.with_options(threads=threads, seed=1)
    return timed(lambda: sum(len(batch) for batch in ds))


def arrow(folder, shuffle=False, threads=0):
    file = door_files.path(folder, "arrow")
    return drained(lv.arrow(file, shuffle_records=shuffle).batch(BATCH), threads)


def parquet(folder, threads=0):
    return drained(lv.parquet(door_files.path(folder, "parquet")).batch(BATCH), threads)


def hugging_face(folder, shuffle=False):
    import datasets

    hf = datasets.Dataset(door_files.table())
    return drained(lv.from_hf(hf, shuffle_records=shuffle).batch(BATCH))


def array(folder):
    """Rows of 64 numbers in random order."""
    import numpy as np

    rows = np.arange(8 * COUNT * 64, dtype=np.int32).reshape(-1, 64)
    return drained(lv.from_random_access(rows, fields="x", shuffle_records=True).batch(BATCH))


def megatron(folder, how="order"):
    file = os.path.join(door_files.path(folder, "megatron"), "a.bin")
    if how == "rows":
        ds = lv.megatron(file)
        return timed(lambda: sum(1 for _ in ds))
    ds = lv.megatron(file, shuffle_records=how == "records")
    return drained((ds.shuffle(10_000) if how == "shuffle" else ds).batch(BATCH))


def mds(folder, how="order"):
    ds = lv.mds(door_files.path(folder, "mds"))
    if how == "rows":
        return timed(lambda: sum(1 for _ in ds))
    return drained(ds.batch(BATCH))


def array_record(folder):
    import numpy as np
    from array_record.python.array_record_data_source import ArrayRecordDataSource

    source = ArrayRecordDataSource([door_files.path(folder, "array_record")])
    offsets = np.zeros(BATCH + 1, np.int32)

    def fetch(numbers):
        rows = [np.frombuffer(row, np.int32) for row in source.__getitems__(numbers.tolist())]
        np.cumsum([len(row) for row in rows], out=offsets[1 : len(rows) + 1])
        values = np.concatenate(rows)
        return {"tokens": lv.Ragged(values, [offsets[: len(rows) + 1].copy()])}

    spec = {"tokens": lv.VarLenFeature(lv.int32)}
    ds = lv.from_random_access(
        source, fetch=fetch, spec=spec, fingerprint="a", shuffle_records=True
    )
    return drained(ds.batch(BATCH))


def fifty_million(folder):
    """The first batch of a random order of 50 million records, and a checkpoint."""
    ds = lv.from_random_access(
        None, fetch=lambda numbers: {"x": numbers}, count=50_000_000, fingerprint="n",
        spec={"x": lv.int64}, shuffle_records=True,
    ).batch(BATCH)  # fmt: skip
    began = time.perf_counter()
    it = iter(ds)
    next(it)
    return {"seconds": time.perf_counter() - began, "size": len(it.save()), "n": 1}


def positions(folder, position=False):
    """Batches of 8,192 tokens for torch, with or without their position."""
    rows = lv.arrow(door_files.path(folder, "arrow"), shuffle_records=True)
    ds = lv.torch_dataset(
        rows.batch(60, drop_remainder=True).with_options(seed=1), position=position
    )
    return timed(lambda: sum(1 for _ in ds))


if __name__ == "__main__":
    main(globals())
