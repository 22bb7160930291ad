#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random access, Arrow and Parquet against a loop over the same object, in one process.

.venv/bin/python bench/doors.py [records]     needs pyarrow; datasets if it is installed
"""

import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import levada as lv
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 256


def best(fn, times=3):
    """The least seconds of a few runs."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        fn()
        took.append(time.perf_counter() - began)
    return min(took)


def row(name, records, peer, own):
    """Microseconds a record of both, and their quotient."""
    a, b = best(peer) / records * 1e6, best(own) / records * 1e6
    print(f"{name:44} peer {a:9.3f} us   levada {b:9.3f} us   {b / a:6.2f} x", flush=True)


def drain(ds):
    for _ in ds:
        pass


def random_access(lists, order):
    n, mapped = len(order), np.arange(len(order) * 64, dtype=np.int32).reshape(-1, 64)
    blocks = [order[at : at + BATCH] for at in range(0, n, BATCH)]
    arrays = lv.from_random_access(mapped, fields="x", shuffle_records=True).batch(BATCH)
    row("NumPy array [n, 64], shuffled", n, lambda: [mapped[b] for b in blocks],
        lambda: drain(arrays))  # fmt: skip
    rows = [{"x": values} for values in lists]
    spec = {"x": lv.VarLenFeature(lv.int32)}
    ds = lv.from_random_access(rows, spec=spec, shuffle_records=True).batch(BATCH)
    row("list of dicts, shuffled", n,
        lambda: [np.concatenate([rows[i]["x"] for i in b]) for b in blocks],
        lambda: drain(ds))  # fmt: skip


class Endless:
    def __len__(self):
        return 50_000_000

    def __getitem__(self, i):
        return {"x": i}


def fifty_million():
    def fetch(numbers):
        return {"x": numbers}

    ds = lv.from_random_access(
        Endless(), fetch=fetch, spec={"x": lv.int64}, fingerprint="n", shuffle_records=True
    ).batch(BATCH)
    began = time.perf_counter()
    it = iter(ds)
    next(it)
    first = time.perf_counter() - began
    began = time.perf_counter()
    for _ in range(1000):
        next(it)
    each = (time.perf_counter() - began) / 1000
    state = len(it.save())
    print(f"50 million records: first batch {first * 1e3:.1f} ms, a batch of {BATCH} "
          f"{each * 1e6:.0f} us, state {state} bytes", flush=True)  # fmt: skip


def files(folder, lists):
    n = len(lists)
    table = pa.table({"x": pa.array(lists, pa.list_(pa.int32()))})
    arrow, parquet = str(folder / "x.arrow"), str(folder / "x.parquet")
    with pa.OSFile(arrow, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    pq.write_table(table, parquet, row_group_size=5000, compression="zstd")

    def touch():
        file = pa.ipc.open_file(pa.memory_map(arrow))
        for k in range(file.num_record_batches):
            file.get_batch(k).column(0).values.to_numpy().sum()

    def groups():
        for batch in pq.ParquetFile(parquet).iter_batches(BATCH, use_threads=False):
            batch.column(0).values.to_numpy()

    row(
        "Arrow file (peer: every value summed)",
        n,
        touch,
        lambda: drain(lv.arrow(arrow).batch(BATCH)),
    )
    row("Parquet (peer: iter_batches, 1 thread)", n, groups,
        lambda: drain(lv.parquet(parquet).batch(BATCH)))  # fmt: skip
    ds = lv.arrow(arrow, shuffle_records=True).batch(BATCH)
    order = np.random.default_rng(0).permutation(n)
    whole = table.combine_chunks()
    row("Arrow file shuffled (peer: Table.take)", n,
        lambda: [whole.take(pa.array(order[at : at + BATCH])) for at in range(0, n, BATCH)],
        lambda: drain(ds))  # fmt: skip


def hugging_face(lists):
    import datasets

    n = len(lists)
    hf = datasets.Dataset(pa.table({"x": pa.array(lists, pa.list_(pa.int32()))}))
    some = min(n, 5000)
    row("datasets with_format('numpy').iter", some,
        lambda: drain(hf.select(range(some)).with_format("numpy").iter(BATCH)),
        lambda: drain(lv.from_hf(hf, records=(0, some)).batch(BATCH)))  # fmt: skip
    order = np.random.default_rng(0).permutation(n)
    arrow = hf.with_format("arrow")
    row("datasets[numbers] as arrow, shuffled", n,
        lambda: [arrow[order[at : at + BATCH].tolist()] for at in range(0, n, BATCH)],
        lambda: drain(lv.from_hf(hf, shuffle_records=True).batch(BATCH)))  # fmt: skip


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    lengths = np.random.default_rng(1).lognormal(4.6, 0.8, n).astype(int).clip(1, 2000)
    values = np.arange(lengths.sum(), dtype=np.int32)
    lists = np.split(values, np.cumsum(lengths)[:-1])
    print(f"{n:,} records, {len(values):,} values", flush=True)
    random_access(lists, np.random.default_rng(0).permutation(n))
    fifty_million()
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder), lists)
    if importlib.util.find_spec("datasets"):
        hugging_face(lists)


if __name__ == "__main__":
    main()
