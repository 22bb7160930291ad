# SPDX-License-Identifier: Apache-2.0
"""map without a spec: fixed shapes stay fixed; a Ragged in place of an array says what to do."""

import levada as lv
import numpy as np
import pytest
from levada.errors import LevadaError

SHAPES = {"ids": (5,), "image": (4, 3, 2)}
HOW = {
    "record": {},
    "batched": {"batched": True},
    "workers": {"workers": 2},
    "processes": {"processes": True},
}


def images(n=20):
    arrays = {name: np.arange(n * np.prod(s)).reshape(n, *s) for name, s in SHAPES.items()}
    spec = {name: lv.FixedLenFeature(shape, lv.int64) for name, shape in SHAPES.items()}
    records = [{name: arrays[name][i] for name in arrays} for i in range(n)]
    return lv.from_records(records, spec=spec)


def halved(record):
    return {name: record[name] / 2 for name in SHAPES}


def shortened(record):
    return {"ids": record["ids"][: 2 + int(record["ids"][0]) % 2]}


def late(record):
    return {"ids": record["ids"][: 5 if record["ids"][0] < 50 else 4]}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("block_rows", [1, 4, 256])
def test_a_shape_that_a_function_keeps_is_fixed(how, block_rows):
    if how == "processes" and block_rows != 4:
        pytest.skip("once is enough for processes")
    ds = images().map(halved, **HOW[how]).with_options(block_rows=block_rows)
    for made in (ds.batch(6), ds.padded_batch(6)):
        batches = [batch.numpy() for batch in made]
        for name, shape in SHAPES.items():
            assert [batch[name].shape for batch in batches] == [(n, *shape) for n in (6, 6, 6, 2)]
            whole = np.concatenate([batch[name] for batch in batches])
            assert np.array_equal(whole, np.arange(whole.size).reshape(whole.shape) / 2)


def test_batches_keep_it_too():
    for batch in images().batch(6).map(halved, batched=True):
        assert batch["image"].shape[1:] == SHAPES["image"]
        assert batch.lengths("ids").tolist() == [5] * len(batch)


def test_other_lengths_are_sequences():
    batch = images().map(shortened).batch(20).first()
    assert isinstance(batch["ids"], lv.Ragged)
    assert set(batch.lengths("ids").tolist()) == {2, 3}


def test_a_shape_that_ends_is_an_error_that_says_spec():
    ds = images().with_options(block_rows=4).map(late)
    with pytest.raises(LevadaError, match="spec="):
        ds.to_list()
    spec = {"ids": lv.VarLenFeature(lv.int64)}
    assert len(images().map(late, spec=spec).to_list()) == 20


@pytest.mark.parametrize("name", ["shape", "ndim", "mean"])
def test_a_ragged_says_how_to_have_an_array(name):
    ragged = images().map(shortened).batch(4).first()["ids"]
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'.*to_padded.*spec="):
        getattr(ragged, name)
    assert not hasattr(ragged, "other")
