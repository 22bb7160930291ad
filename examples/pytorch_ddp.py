# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training on two processes, with a crash and a resume.

    python examples/pytorch_ddp.py FOLDER [STEPS]             starts both ranks, gloo on the CPU
    torchrun --nproc-per-node 2 examples/pytorch_ddp.py FOLDER [STEPS]

Each rank reads its own half of the records. ``equal="drop"`` means the same number of batches,
so that neither waits for the other at the end. Each rank saves its own position in a file of the
step, and ``last`` names the last step that both have saved: a crash while they save leaves the
checkpoint before it, and both resume at the same step.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

import levada as lv
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

EVERY = 4  # steps between two checkpoints


def dataset(folder: str) -> lv.Dataset[lv.Batch]:
    spec = {"tokens": lv.VarLenFeature(lv.int64), "label": lv.FixedLenFeature([], lv.int64)}
    return (
        lv.tfrecord(os.path.join(folder, "train-*.tfrecord.gz"))
        .shuffle(300, seed=7)
        .parse_example(spec)
        .repeat(2)
        .padded_batch(10)
        .with_options(seed=1)
    )


def tensors(batch: lv.Batch) -> dict[str, torch.Tensor]:
    return batch.torch(mask=True)


class Model(nn.Module):
    """The mean of the embedded tokens, and a line."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        summed = (self.embed(tokens) * mask[..., None]).sum(1)
        value: torch.Tensor = self.out(summed / mask.sum(1, keepdim=True).clamp(min=1))
        return value[:, 0]


def checkpoint(folder: str, step: int, rank: int) -> str:
    return os.path.join(folder, f"step-{step}-rank-{rank}.pt")


def last_step(folder: str) -> int | None:
    """The step of the last checkpoint that every rank has written."""
    path = os.path.join(folder, "last")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return int(file.read())


def set_last_step(folder: str, step: int) -> None:
    path = os.path.join(folder, "last")
    with open(path + ".new", "w") as file:
        file.write(str(step))
    os.replace(path + ".new", path)


def train(folder: str, steps: int) -> None:
    torch.manual_seed(0)
    rank = dist.get_rank()
    data = lv.torch_dataset(dataset(folder), equal="drop", transform=tensors)
    model, step = DistributedDataParallel(Model()), 0
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    if (last := last_step(folder)) is not None:
        saved = torch.load(checkpoint(folder, last, rank), weights_only=True)
        model.load_state_dict(saved["model"])
        data.load_state_dict(saved["data"])
        step = last
    for batch in DataLoader(data, batch_size=None):
        target = batch["tokens"][:, 0].float() / 256
        loss = (model(batch["tokens"], batch["tokens_mask"]) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(f"rank {rank} step {step} loss {loss.item():.6f}\n", end="", flush=True)
        if step % EVERY == 0:
            state = {"model": model.state_dict(), "data": data.state_dict()}
            torch.save(state, checkpoint(folder, step, rank))
            dist.barrier()  # every rank has written its file before any run resumes from them
            if rank == 0:
                set_last_step(folder, step)
        if step >= steps:
            break


def run(rank: int, folder: str, steps: int, port: int) -> None:
    os.environ.update(
        RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    join(folder, steps)


def join(folder: str, steps: int) -> None:
    dist.init_process_group("gloo")
    try:
        train(folder, steps)
    finally:
        dist.destroy_process_group()


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main(folder: str, steps: int) -> None:
    if "RANK" not in os.environ:
        if not os.path.exists(os.path.join(folder, "spec.json")):
            lv.samples.write(folder)
        started = multiprocessing.get_context("spawn")
        port = free_port()
        ranks = [started.Process(target=run, args=(rank, folder, steps, port)) for rank in (0, 1)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
        sys.exit(max(abs(rank.exitcode or 0) for rank in ranks))
    else:
        join(folder, steps)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
