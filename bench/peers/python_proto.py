# SPDX-License-Identifier: Apache-2.0
"""Python protobuf (upb) to NumPy: P1 and row 13 on A, P2 on S, P3 on B."""

import bisect

import numpy as np
from common import BATCH, BOUNDARIES, SEQUENCE_BOUNDARIES, files, main, timed
from example_pb import Example, SequenceExample
from python_scan import frames


def pad(rows, shape=(), dtype=np.int64):
    out = np.zeros((len(rows), max(map(len, rows)), *shape), dtype)
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return out


def messages(folder, name, limit, kind=Example):
    for payload, _ in frames(files.path(name, folder), limit):
        yield kind.FromString(bytes(payload))


def examples_of_a(folder, limit):
    for message in messages(folder, "a", limit):
        feature = message.features.feature
        tokens = np.array(feature["tokens"].int64_list.value, np.int64)
        yield tokens, feature["label"].int64_list.value[0]


def bucketed(items, boundaries):
    """Lists of BATCH items of similar length; an item begins with its sequence."""
    buckets = [[] for _ in range(len(boundaries) + 1)]
    for item in items:
        bucket = buckets[bisect.bisect_right(boundaries, len(item[0]))]
        bucket.append(item)
        if len(bucket) == BATCH:
            yield list(bucket)
            bucket.clear()
    yield from filter(None, buckets)


def batched(items, size):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def count_padded(batches):
    n = 0
    for batch in batches:
        tokens = pad([item[0] for item in batch])
        labels = np.array([item[1] for item in batch])
        assert len(tokens) == len(labels)
        n += len(tokens)
    return n


def buckets(folder, limit=None):
    """P1: what one writes without a library."""
    return timed(lambda: count_padded(bucketed(examples_of_a(folder, limit), BOUNDARIES)))


def padded(folder, limit=None, batch=256):
    """Row 13: A in order, padded batches."""
    return timed(lambda: count_padded(batched(examples_of_a(folder, limit), batch)))


def columns(folder, limit=None, batch=256):
    """P3: B as columns."""
    names = [f"f{k:02d}" for k in range(40)]

    def rows():
        for message in messages(folder, "b", limit):
            feature = message.features.feature
            yield [
                feature[n].float_list.value[0] if k % 2 else feature[n].int64_list.value[0]
                for k, n in enumerate(names)
            ]

    def count():
        n = 0
        for part in batched(rows(), batch):
            arrays = {
                name: np.array(column, np.float32 if k % 2 else np.int64)
                for k, (name, column) in enumerate(zip(names, zip(*part, strict=True), strict=True))
            }
            n += len(arrays["f00"])
        return n

    return timed(count)


def sequences(folder, limit=None):
    """P2: S, bucketed and padded."""

    def items():
        for message in messages(folder, "s", limit, SequenceExample):
            lists = message.feature_lists.feature_list
            tokens = [step.int64_list.value[0] for step in lists["tokens"].feature]
            feats = [step.float_list.value for step in lists["feat"].feature]
            yield np.array(tokens, np.int64), np.array(feats, np.float32)

    def count():
        n = 0
        for batch in bucketed(items(), SEQUENCE_BOUNDARIES):
            n += len(pad([item[0] for item in batch]))
            pad([item[1] for item in batch], (16,), np.float32)
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
