# SPDX-License-Identifier: Apache-2.0
"""A small language model in PyTorch, on one process, that can be killed and started again.

    python examples/pytorch_one.py FOLDER [STEPS]

The first run writes sample files into FOLDER. Every 5 steps it saves the model, the optimizer and
the position in the data in one file. Started again, it resumes there: the losses it prints are
those of a run that was never interrupted.
"""

from __future__ import annotations

import os
import sys

import levada as lv
import torch
from torch import nn
from torch.utils.data import DataLoader


def tensors(batch: lv.Batch) -> dict[str, torch.Tensor]:
    """What the loader returns for a batch: tokens [B, T], and a mask that is False in padding."""
    return batch.torch(mask=True)


def dataset(folder: str) -> lv.Dataset[lv.Batch]:
    spec = {"tokens": lv.VarLenFeature(lv.int64)}
    return (
        lv.tfrecord(os.path.join(folder, "train-*.tfrecord.gz"))
        .shuffle(300, seed=7)
        .parse_example(spec)
        .repeat()
        .bucket_by_sequence_length("tokens", boundaries=[64, 128, 256], max_tokens=2048)
        .with_options(seed=1)
    )


class Model(nn.Module):
    """Predicts each byte from the one before it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, 16)
        self.out = nn.Linear(16, 256)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = self.out(self.embed(tokens[:, :-1])).transpose(1, 2)
        losses = nn.functional.cross_entropy(scores, tokens[:, 1:], reduction="none")
        real = mask[:, 1:]
        mean: torch.Tensor = (losses * real).sum() / real.sum()
        return mean


def main(folder: str, steps: int) -> None:
    torch.manual_seed(0)
    if not os.path.exists(os.path.join(folder, "spec.json")):
        lv.samples.write(folder)
    data = lv.torch_dataset(dataset(folder), transform=tensors)
    loader = DataLoader(data, batch_size=None)
    model, step = Model(), 0
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    path = os.path.join(folder, "checkpoint.pt")
    if os.path.exists(path):
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        data.load_state_dict(saved["data"])
        step = saved["step"]
    for batch in loader:
        loss = model(batch["tokens"], batch["tokens_mask"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(f"step {step} loss {loss.item():.6f}", flush=True)
        if step % 5 == 0:
            state = {
                "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "data": data.state_dict(), "step": step,
            }  # fmt: skip
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)  # a crash leaves the old file or the new one
        if step >= steps:
            break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
