# SPDX-License-Identifier: Apache-2.0
"""Our side of the Python rows: the same work as the peers', with the public interface."""

import os
import sys
import time

import levada as lv
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import BATCH, BOUNDARIES, SEQUENCE_BOUNDARIES, files, timed  # noqa: E402

SEQUENCE = {"tokens": lv.VarLenFeature(lv.int64), "label": lv.FixedLenFeature([], lv.int64)}
SCALARS = {
    f"f{k:02d}": lv.FixedLenFeature([], lv.float32 if k % 2 else lv.int64) for k in range(40)
}
CONTEXT = {"id": lv.FixedLenFeature([], lv.int64), "name": lv.FixedLenFeature([], lv.string)}
STEPS = {
    "tokens": lv.FixedLenSequenceFeature([], lv.int64),
    "feat": lv.FixedLenSequenceFeature([16], lv.float32),
}


def source(folder, name, limit=None):
    ds = lv.tfrecord(files.path(name, folder))
    return ds.take(limit) if limit else ds


def drained(ds, threads=1):
    """Takes every batch, touching its fields as arrays the way a training loop does."""
    ds = ds.with_options(threads=threads)
    if threads > 1:
        ds = ds.prefetch(4)

    def count():
        n = 0
        with iter(ds) as batches:
            for batch in batches:
                for field in batch:
                    batch[field]
                n += batch.num_records
        return n

    return timed(count)


def one_by_one(folder, parsed, limit=100_000):
    """The records of A in a loop, raw or as dicts."""
    ds = source(folder, "a", limit)
    ds = (ds.parse_example(SEQUENCE) if parsed else ds).with_options(threads=1)
    return timed(lambda: sum(1 for _ in ds))


def bucketed(folder, limit=None):
    ds = source(folder, "a", limit).parse_example(SEQUENCE)
    return ds.bucket_by_sequence_length("tokens", boundaries=BOUNDARIES, batch_sizes=BATCH)


def buckets(folder, limit=None, threads=1):
    """P1."""
    return drained(bucketed(folder, limit), threads)


def sequences(folder, limit=None, threads=1):
    """P2."""
    ds = source(folder, "s", limit).parse_sequence_example(context=CONTEXT, sequences=STEPS)
    ds = ds.bucket_by_sequence_length("tokens", boundaries=SEQUENCE_BOUNDARIES, batch_sizes=BATCH)
    return drained(ds, threads)


def columns(folder, limit=None, threads=1):
    """P3."""
    return drained(source(folder, "b", limit).parse_example(SCALARS).batch(256), threads)


def scan(folder, name="plain64", limit=None, block=2048, threads=1):
    """P4: verified records, in blocks."""
    ds = source(folder, name, limit).with_options(threads=threads, block_rows=block)

    def count():
        n = 0
        with ds.blocks() as blocks:
            for records in blocks:
                n += records.num_records
        return n

    return timed(count)


def padded(folder, limit=None, threads=1, batch=256):
    """Row 13: A in order."""
    ds = source(folder, "a", limit).parse_example(SEQUENCE).padded_batch(batch)
    return drained(ds, threads)


def checkpoint(folder, batches=100):
    """P9: `size` saved, `seconds` to save, `restore_seconds` until the next batch."""
    ds = source(folder, "a").shuffle(10_000, seed=7).parse_example(SEQUENCE)
    ds = ds.bucket_by_sequence_length("tokens", boundaries=BOUNDARIES, batch_sizes=BATCH)
    with iter(ds) as iterator:
        for _ in range(batches):
            next(iterator)
        begin = time.perf_counter()
        state = iterator.save()
        seconds = time.perf_counter() - begin
        wanted = next(iterator)["tokens"]
    with iter(ds) as fresh:
        begin = time.perf_counter()
        fresh.restore(state)
        got = next(fresh)["tokens"]
        restored = time.perf_counter() - begin
    if not np.array_equal(wanted, got):
        raise AssertionError("the batch after the restore is another one")
    return {"n": 1, "seconds": seconds, "size": len(state), "restore_seconds": restored}


def pad(folder, limit=None, repeats=4):
    """Row 19: the ragged rows of numpy_pad.py, made ragged by us, padded by us."""
    import numpy_pad

    def make(values, offsets):
        rows = [{"x": row} for row in numpy_pad.rows_of(values, offsets)]
        ds = lv.from_records(rows).bucket_by_sequence_length(
            "x", boundaries=[4096], batch_sizes=BATCH, no_padding=True
        )
        with iter(ds) as batches:
            return next(batches)["x"]

    return numpy_pad.over_batches(make, lambda ragged: ragged.to_padded(0), limit, repeats)


def text_shards(folder, threads, name="text.gz", shards=8, block=4096):
    """Row 4, a set of files: lines as n."""
    ds = lv.text_lines([files.path(name, folder)] * shards).batch(block)
    ds = ds.with_options(threads=threads)

    def count():
        n = 0
        with iter(ds) as blocks:
            for lines in blocks:
                n += lines.num_records
        return n

    return timed(count)
