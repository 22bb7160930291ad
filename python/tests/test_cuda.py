# SPDX-License-Identifier: Apache-2.0
"""Batches on a GPU: copies, page-locked memory, and the trainers that ask for both."""

import levada as lv
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

KINDS = ["int8", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64", "bool"]


def records(count=64, steps=400):
    draw = np.random.default_rng(5)
    lengths = draw.integers(0, steps, count)
    fields = {kind: [draw.integers(0, 2, n).astype(kind) for n in lengths] for kind in KINDS}
    return lv.from_arrays({**fields, "name": [b"%d" % n for n in lengths]})


def same(tensor, array):
    assert tensor.device.type == "cuda"
    assert np.array_equal(tensor.cpu().numpy(), array)


@pytest.mark.parametrize("non_blocking", [True, False])
def test_padded_batches(non_blocking):
    for batch in records().padded_batch(16):
        moved = batch.to("cuda", non_blocking=non_blocking)
        for kind in KINDS:
            same(moved[kind], batch[kind])
        assert moved["name"] == batch["name"].to_list()


@pytest.mark.parametrize("non_blocking", [True, False])
def test_ragged_batches(non_blocking):
    for batch in records().batch(16):
        moved = batch.to("cuda", non_blocking=non_blocking)
        for kind in KINDS:
            same(moved[kind].values, batch[kind].values)
            same(moved[kind].nested[0], batch[kind].offsets)


def test_page_locked_memory():
    for batch in records().padded_batch(16):
        assert all(batch.pin_memory()[kind].is_pinned() for kind in KINDS)
    for batch in records().batch(16):
        pinned = batch["int64"].pin_memory()
        assert pinned.values.is_pinned() and pinned.nested[0].is_pinned()
        same(pinned.to("cuda").values, batch["int64"].values)


# A copy that is still under way must not see the batches after it, which reuse its memory.
def test_copies_under_way_keep_their_values():
    ds = lv.range(4_000_000).batch(500_000).repeat(4)
    busy = torch.ones(4096, 4096, device="cuda")
    moved = []
    for batch in ds:
        for _ in range(20):
            busy = busy @ busy * 1e-4
        moved.append(batch.pin_memory()["value"].to("cuda", non_blocking=True))
        moved.append(batch.to("cuda")["value"])
    one = [torch.arange(i, i + 500_000) for i in range(0, 4_000_000, 500_000)]
    for tensors in zip(moved[::2], moved[1::2], one * 4, strict=True):
        assert all(torch.equal(tensor.cpu(), tensors[2]) for tensor in tensors[:2])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_that_pins(workers):
    ds = lv.torch_dataset(records().padded_batch(16))
    loader = torch.utils.data.DataLoader(
        ds, batch_size=None, num_workers=workers, pin_memory=True,
        multiprocessing_context="spawn" if workers else None,
    )  # fmt: skip
    seen = 0
    for tensors in loader:
        assert tensors["int64"].is_pinned()
        seen += len(tensors["int64"])
    assert seen == 64


# The kernel for variable lengths attends to one sequence at a time.
def test_attention_of_variable_lengths():
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    heads, width = 4, 64
    (batch,) = records(steps=200).select("int64").batch(64)
    given = batch.flash_attention("int64")
    marks = torch.from_numpy(given["cu_seq_lens_q"]).cuda()
    longest = int(given["max_length_q"])
    torch.manual_seed(1)
    qkv = torch.randn(3, int(marks[-1]), heads, width, device="cuda", dtype=torch.bfloat16)
    made = varlen.varlen_attn(*qkv, marks, marks, longest, longest)
    at = 0
    for length in batch.lengths("int64").tolist():
        q, k, v = (x[at : at + length].transpose(0, 1)[None] for x in qkv)
        alone = torch.nn.functional.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1)
        torch.testing.assert_close(made[at : at + length], alone, rtol=2e-2, atol=2e-2)
        at += length
    assert at == len(batch["int64"].values)


def test_accelerate():
    accelerate = pytest.importorskip("accelerate")
    ds = lv.torch_dataset(records().padded_batch(16), rank=0, world_size=1)
    loader = torch.utils.data.DataLoader(ds, batch_size=None)
    loader = accelerate.Accelerator().prepare_data_loader(loader)
    batches = [batch["int64"] for batch in loader]
    assert all(batch.device.type == "cuda" for batch in batches)
    assert sum(map(len, batches)) == 64


def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))
            self.rows = 0

        def training_step(self, batch):
            assert batch["int64"].device.type == "cuda"
            self.rows += len(batch["int64"])
            return (batch["float32"].mean() - self.weight) ** 2

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    model = Model()
    ds = lv.torch_dataset(records().padded_batch(16), rank=0, world_size=1)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="gpu", devices=1, logger=False, default_root_dir=tmp_path,
        enable_progress_bar=False,
    )  # fmt: skip
    trainer.fit(model, torch.utils.data.DataLoader(ds, batch_size=None, pin_memory=True))
    assert model.rows == 128
