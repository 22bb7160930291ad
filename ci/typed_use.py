# SPDX-License-Identifier: Apache-2.0
"""A user's program as a strict type checker sees it; ci/check runs mypy over it, nobody runs it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import levada as lv
import numpy as np
from levada import errors
from levada import train as lt
from levada.interop.torch import TorchDataset

SPEC = {"tokens": lv.VarLenFeature(lv.int64), "label": lv.FixedLenFeature([], lv.int64)}


def train(path: str, state: bytes | None) -> bytes:
    ds = (
        lv.tfrecord(path)
        .shuffle(1000, seed=3)
        .parse_example(SPEC)
        .filter("len(tokens) > 4")
        .map(lambda record: {"tokens": record["tokens"], "n": len(record["tokens"])})
        .bucket_by_sequence_length("tokens", boundaries=[64, 128], batch_sizes=[8, 4, 2])
        .prefetch(2)
        .with_options(threads=2)
    )
    assert_type(ds, lv.Dataset[lv.Batch])
    assert_type(ds.first(), lv.Batch)
    assert_type(lv.range(3).shuffle(2).to_list(2), list[dict[str, Any]])
    assert_type(ds.unbatch().first(), dict[str, Any])
    with iter(ds) as it:
        assert_type(it, lv.Iterator[lv.Batch])
        if state is not None:
            it.restore(state)
        for batch in it:
            assert_type(batch, lv.Batch)
            see(batch)
        assert_type(it.stats(), dict[str, Any])
        return it.save()


def see(batch: lv.Batch) -> int:
    tokens: np.ndarray[Any, Any] = batch["tokens"]
    assert_type(batch.max_seqlen("tokens"), int)
    assert_type(batch.record_keys, list[str])
    assert_type(batch.numpy(), dict[str, Any])
    ragged: lv.Ragged = batch["ragged"]
    return int(tokens.sum() + batch.lengths("tokens").sum() + ragged.to_padded().sum())


def tensors(batch: lv.Batch) -> dict[str, Any]:
    return batch.torch(lengths=True, ragged="nested")


def load(path: Path, state: Mapping[str, Any]) -> int:
    data = lv.torch_dataset(lv.tfrecord(path).parse_example(SPEC).batch(2), transform=tensors)
    assert_type(data, TorchDataset)
    data.load_state_dict(state)
    return data.part()[0]


def make(path: str) -> Mapping[str, Any]:
    message = lv.make_example({"tokens": [1, 2], "label": 3})
    assert_type(message, bytes)
    with lv.TFRecordWriter(path, "gzip") as writer:
        writer.write(message)
    try:
        return lv.parse_single_example(message, SPEC)
    except errors.InvalidArgumentError as error:
        assert_type(error.record, int | None)
        raise


def threads(path: str) -> int:
    reader = lt.TFRecordReader()
    names = lt.string_input_producer([path], num_epochs=1)
    batch = lt.batch(lambda: reader.read(names)[1], 32)
    coord = lt.Coordinator()
    running = lt.start_queue_runners(coord=coord)
    n = 0
    with coord.stop_on_exception():
        while not coord.should_stop():
            n += len(batch())
    coord.request_stop()
    coord.join(running)
    return n
