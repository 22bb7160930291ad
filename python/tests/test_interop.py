# SPDX-License-Identifier: Apache-2.0
"""Bridges to PyTorch, JAX and Arrow, where they are installed."""

import levada as lv
import numpy as np
import pytest


def data():
    return lv.from_arrays(
        {
            "x": np.arange(8, dtype=np.float32).reshape(4, 2),
            "r": [[1], [2, 3], [], [4]],
            "s": [b"a", b"", b"bc", b"d"],
        },
        spec={
            "x": lv.FixedLenFeature([2], lv.float32),
            "r": lv.VarLenFeature(lv.int64),
            "s": lv.string,
        },
    )


def masked(batch):
    import torch

    return {**batch.torch(), "mask": torch.from_numpy(batch.mask("r"))}


class Made:
    """What a transform makes of a batch: one of several kinds of value."""

    kinds = (list, tuple, dict, set, str, type(None), lambda keys: [keys[0]], lambda keys: [])

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, batch):
        make = self.kinds[self.kind]
        if make is type(None):
            return None
        return make([(key, 1) for key in batch.record_keys])


def triple(record):
    return {"x": record["value"] * 3}


class Tripled:
    """Places the shard itself."""

    def __call__(self, index, count):
        return lv.range(100).shard(index, count).map(triple)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_tensors_share_memory(self, torch):
        batch = data().batch(4).first()
        tensors = batch.torch()
        assert tensors["x"].dtype == torch.float32
        assert tensors["x"].data_ptr() == batch["x"].ctypes.data
        assert tensors["r"].values.tolist() == [1, 2, 3, 4]
        assert tensors["s"] == [b"a", b"", b"bc", b"d"]

    @pytest.mark.parametrize("workers", [0, 2])
    def test_a_loop_under_a_data_loader_can_mask(self, torch, workers):
        ds = lv.torch_dataset(data().padded_batch(2), transform=masked)
        for tensors in torch.utils.data.DataLoader(ds, batch_size=None, num_workers=workers):
            lengths = tensors["mask"].sum(1)
            assert tensors["mask"].shape == tensors["r"].shape
            assert (tensors["r"] != 0).sum(1).tolist() == lengths.tolist()

    @pytest.mark.parametrize("kind", range(len(Made.kinds)))
    def test_whatever_a_transform_makes_stays_one_value(self, kind):
        plain = lv.range(10).batch(4)
        made = [Made(kind)(batch) for batch in plain]
        ds = lv.torch_dataset(plain, 0, 1, transform=Made(kind))
        assert list(ds) == made
        for taken in range(len(made)):
            running = iter(ds)
            assert [next(running) for _ in range(taken)] == made[:taken]
            other = lv.torch_dataset(plain, 0, 1, transform=Made(kind))
            other.load_state_dict(ds.state_dict())
            assert list(other) == made[taken:]

    def test_a_transform_of_records_is_refused(self):
        with pytest.raises(lv.errors.InvalidArgumentError, match="padded_batch"):
            iter(lv.torch_dataset(lv.range(10), 0, 1, transform=dict))

    def test_dlpack(self, torch):
        batch = data().batch(4).first()
        assert torch.from_dlpack(batch.column("x")).tolist() == batch["x"].tolist()

    @pytest.mark.parametrize("workers", [0, 2])
    def test_data_loader(self, torch, workers):
        ds = lv.torch_dataset(lv.range(100))
        loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=workers)
        assert sorted(int(row["value"]) for row in loader) == list(range(100))

    @pytest.mark.parametrize("workers", [0, 1, 2])
    @pytest.mark.parametrize("world", [1, 2])
    @pytest.mark.parametrize("seed", [None, 3])
    def test_workers_and_ranks_read_every_record_once(self, torch, workers, world, seed):
        whole = lv.range(1000).shuffle(100, seed=seed)
        for pipe in (whole, whole.map(triple).filter("x > 20").padded_batch(7)):
            seen = []
            for rank in range(world):
                ds = lv.torch_dataset(pipe, rank=rank, world_size=world)
                loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=workers)
                for row in loader:
                    seen += np.asarray(row["value" if "value" in row else "x"]).ravel().tolist()
            first, step = (0, 1) if pipe is whole else (21, 3)
            assert sorted(seen) == list(range(first, 1000 * step, step))

    def test_workers_take_one_order_where_they_need_one(self, torch):
        ds = lv.torch_dataset(lv.range(1000).shuffle(100).take(300))
        loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=2)
        seen = [int(row["value"]) for row in loader]
        assert len(seen) == len(set(seen)) == 300

    @pytest.mark.parametrize("context", ["fork", "spawn"])
    def test_functions_in_workers(self, torch, context):
        source = lv.range(100)
        list(source.map(triple))  # threads of the parent are there before the fork
        ds = lv.torch_dataset(Tripled())
        loader = torch.utils.data.DataLoader(
            ds, batch_size=None, num_workers=2, multiprocessing_context=context
        )
        assert sorted(int(row["x"]) for row in loader) == list(range(0, 300, 3))

    def test_ranks_share(self, torch):
        parts = [lv.torch_dataset(lv.range(10), rank=r, world_size=3) for r in range(3)]
        seen = [int(row["value"]) for part in parts for row in part]
        assert sorted(seen) == list(range(10))

    def test_goes_on(self, torch):
        ds = lv.torch_dataset(lv.range(10).batch(2), rank=0, world_size=1)
        it = iter(ds)
        next(it)
        state = ds.state_dict()
        other = lv.torch_dataset(lv.range(10).batch(2), rank=0, world_size=1)
        other.load_state_dict(state)
        assert [b["value"].tolist() for b in other] == [[2, 3], [4, 5], [6, 7], [8, 9]]


class TestArrow:
    @pytest.fixture(autouse=True)
    def pyarrow(self):
        return pytest.importorskip("pyarrow")

    def test_record_batches(self, pyarrow):
        batch = data().batch(4).first()
        made = batch.to_arrow()
        assert made.schema.names == ["x", "r", "s"]
        assert made.column("r").to_pylist() == [[1], [2, 3], [], [4]]
        assert made.column("s").to_pylist() == [b"a", b"", b"bc", b"d"]
        assert made.column("x").to_pylist() == batch["x"].tolist()
        assert pyarrow.record_batch(batch).equals(made)


class TestJax:
    def test_arrays(self):
        jax = pytest.importorskip("jax")
        made = data().batch(4).first().jax()
        assert isinstance(made["x"], jax.Array)
        assert made["x"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
