# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch of every dtype go in and come out again, wherever arrays are accepted."""

import sys

import levada as lv
import numpy as np
import pytest
from levada import train
from levada._batch import Batch
from levada._columns import Columns

torch = pytest.importorskip("torch")

NAMES = (
    "bool int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128"
).split()


def tensor(name, *shape):
    return (torch.arange(int(np.prod(shape))).reshape(shape) % 2).to(getattr(torch, name))


def equal(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_columns_come_back(name):
    spec = {"x": lv.FixedLenFeature([3], name)}
    for made in (None, spec):
        block = Columns(made).batch({"x": tensor(name, 2, 3)}, 2)
        assert [field[1] for field in block.fields()] == [name]
        assert equal(Batch(block).torch()["x"], tensor(name, 2, 3))
    rows = [{"x": row} for row in tensor(name, 2, 3)]
    assert equal(Batch(Columns(spec).block(rows)).torch()["x"], tensor(name, 2, 3))
    back = Batch(Columns().batch({"x": Batch(block)["x"]}, 2))  # what NumPy has of it
    assert equal(back.torch()["x"], tensor(name, 2, 3))


@pytest.mark.parametrize("name", NAMES)
def test_records_and_functions_take_tensors(name):
    rows = [{"x": tensor(name, n)} for n in (3, 2)]
    ds = lv.from_records(rows).map(lambda r: {"x": r["x"], "y": tensor(name, 2)})
    batch = ds.batch(2).first().torch()
    assert equal(batch["x"].values, torch.cat([row["x"] for row in rows]))
    assert equal(batch["y"].values, torch.cat([tensor(name, 2)] * 2))


@pytest.mark.parametrize("name", NAMES)
def test_states_take_tensors(name):
    arrays = {"x": [np.arange(4), np.arange(4)]}
    states = {"h": {"dtype": name, "shape": [2]}}
    it = iter(lv.from_arrays(arrays).unroll(2, 2, layout="ready", states=states))
    batch = next(it)
    first = batch.torch()["h"]
    assert equal(first, torch.zeros(2, 2, dtype=first.dtype))
    assert first.dtype == getattr(torch, name)
    batch.save_state("h", tensor(name, 2, 2))
    batch = next(it)
    assert equal(batch.torch()["h"], tensor(name, 2, 2))
    batch.save_states({"h": batch.state("h")})


def test_numbers_are_not_taken_for_bits():
    if "ml_dtypes" in sys.modules:
        pytest.skip("with ml_dtypes they are converted")
    arrays = {"x": [np.arange(2)]}
    states = {"h": {"dtype": "bfloat16", "shape": []}}
    batch = next(iter(lv.from_arrays(arrays).unroll(2, 1, layout="ready", states=states)))
    for value in ([1.0], np.ones(1, np.float32)):
        with pytest.raises((TypeError, lv.errors.InvalidArgumentError), match="bfloat16"):
            batch.save_state("h", value)


@pytest.mark.parametrize("name", NAMES)
def test_the_state_saver_takes_tensors(name):
    saver = train.SequenceQueueingStateSaver(
        iter([{"k": "a", "x": np.arange(4)}]), 1, 2, None, "k", ["x"], [],
        {"h": tensor(name, 2)}, pad=True,
    )  # fmt: skip
    saver.prefetch_op()
    batch = saver.next_batch(timeout=0)
    assert np.shape(batch.state("h")) == (1, 2)
    batch.save_state("h", tensor(name, 1, 2))
    state = saver.next_batch(timeout=0).state("h")
    assert equal(Batch(Columns().batch({"h": state}, 2)).torch()["h"], tensor(name, 1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_queues_take_tensors(name):
    queue = train.FIFOQueue(2, [name], [(3,)])
    queue.enqueue(tensor(name, 3))
    queue.enqueue_many(tensor(name, 1, 3))
    for made in queue.dequeue_many(2):
        kept = np.asarray(made)
        assert kept.dtype.itemsize == tensor(name, 3).element_size()
