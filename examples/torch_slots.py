# SPDX-License-Identifier: Apache-2.0
"""A character model in PyTorch whose state stays on the device, killed and resumed on the way.

`unroll` keeps each speech in its row of the batch, so the model carries its state tensor from
batch to batch and resets only the rows where `is_first`. Every 20 steps one file is written with
the model, its state and the position in the data. A process that is killed in the middle of the
speeches continues from that file with the same losses, bit for bit. Run it:

    python examples/torch_slots.py [FOLDER]
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import torch
from torch.nn import functional

HIDDEN, UNROLL, SLOTS, STEPS, EVERY, KILLED_AT = 64, 6, 32, 320, 20, 170
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(torch.nn.Module):
    """Predicts the next byte. The initial state is learned, too."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = torch.nn.Embedding(256, 32)
        self.cell = torch.nn.GRU(32, HIDDEN, batch_first=True)
        self.head = torch.nn.Linear(HIDDEN, 256)
        self.start = torch.nn.Parameter(torch.zeros(HIDDEN))

    def forward(
        self, x: torch.Tensor, h: torch.Tensor, is_first: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.where(is_first[:, None], self.start, h)
        y, h = self.cell(self.bytes(x), h[None])
        return self.head(y), h[0]


def dataset(folder: Path) -> lv.Dataset:
    """Long texts of a line each: bytes, and the same one byte later."""
    return (
        lv.text_lines(str(folder / "texts.txt"))
        .shuffle(100, seed=3)
        .repeat()
        .decode_raw("line", "uint8")
        .unroll(UNROLL, batch_size=SLOTS, shift=1, min_segment=UNROLL)
        .take(STEPS)
    )


def save(path: Path, position: bytes, losses: list[float], **parts: Any) -> None:
    """One file, complete or not there: weights, optimizer, state, losses, position in the data."""
    buffer = io.BytesIO()
    torch.save({"losses": losses, **parts}, buffer)
    lv.save_checkpoint(path, model=buffer.getvalue(), data=position)


def train(folder: Path, carry: bool = True, name: str = "", kill_at: int = -1) -> list[float]:
    """Losses of all steps, from the checkpoint `name` on if it exists."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Model().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), 8e-3)
    h = torch.zeros(SLOTS, HIDDEN, device=DEVICE)
    losses: list[float] = []
    path = folder / name
    with dataset(folder).iterate(epoch=0) as batches:
        if name and path.exists():
            parts = lv.load_checkpoint(path)
            saved = torch.load(io.BytesIO(parts["model"]), map_location=DEVICE)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            h, losses = saved["h"], saved["losses"]
            batches.restore(parts["data"])
        for batch in batches:
            is_first = torch.from_numpy(batch["is_first"]) | (not carry)
            x = torch.from_numpy(batch["line"]).to(DEVICE).long()
            y = torch.from_numpy(batch["line_target"]).to(DEVICE).long()
            logits, after = model(x, h, is_first.to(DEVICE))
            h = after.detach()
            loss: Any = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            if name and len(losses) % EVERY == 0:
                state = model.state_dict()
                save(path, batches.save(), losses, model=state, h=h,
                     optimizer=optimizer.state_dict())  # fmt: skip
            if len(losses) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
    return losses


def write_texts(folder: Path) -> None:
    """The sample speeches, eight of them to a line."""
    lv.samples.write(folder)
    lines = (folder / "speeches.txt").read_text().splitlines()
    texts = [" / ".join(lines[i : i + 8]) for i in range(0, len(lines) - 7, 8)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")


def killed_and_resumed(folder: Path) -> list[float]:
    """Losses of a run that another process began, until it was killed."""
    command = [sys.executable, __file__, str(folder), "--killed"]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    return train(folder, name="checkpoint")


def run(folder: Path) -> dict[str, list[float]]:
    write_texts(folder)
    return {
        "carried": train(folder),
        "reset": train(folder, carry=False),
        "resumed": killed_and_resumed(folder),
    }


def mean(losses: list[float]) -> float:
    return sum(losses) / len(losses)


def main() -> None:
    if "--killed" in sys.argv:
        train(Path(sys.argv[1]), name="checkpoint", kill_at=KILLED_AT)
    with tempfile.TemporaryDirectory() as made:
        curves = run(Path(sys.argv[1] if len(sys.argv) > 1 else made))
    print("loss in nats per byte; # carried state, - reset at every segment")
    for at in range(0, STEPS, STEPS // 8):
        a, b = (mean(curves[name][at : at + STEPS // 8]) for name in ("carried", "reset"))
        print(f"step {at + STEPS // 8:4}  {a:.3f} {'#' * int(a * 16)}")
        print(f"           {b:.3f} {'-' * int(b * 16)}")
    print(f"killed at step {KILLED_AT} and resumed: ", end="")
    print("the same losses" if curves["resumed"] == curves["carried"] else "other losses")


if __name__ == "__main__":
    main()
