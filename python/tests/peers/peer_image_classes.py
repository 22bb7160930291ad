# SPDX-License-Identifier: Apache-2.0
"""examples/image_classes.py with WebDataset and torchvision."""

import itertools
import os
import random
import sys
from pathlib import Path

import numpy as np
import torch
import webdataset as wds
from image_classes import CLASSES, EVERY, SIDE, learn, write_archive
from torchvision import transforms


def batches(path):
    torch.manual_seed(1)
    augment = transforms.Compose(
        [
            transforms.Resize((SIDE, SIDE)),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize([0.35] * 3, [1] * 3),
        ]
    )
    samples = wds.WebDataset(str(path), shardshuffle=False).repeat()
    samples = samples.shuffle(1000, rng=random.Random(1)).decode("pil").to_tuple("png", "cls")
    for images, labels in samples.map_tuple(augment, int).batched(32):
        yield images.permute(0, 2, 3, 1).numpy(), np.asarray(labels)


def main(folder, steps):
    if not (folder / "images.tar").exists():
        write_archive(folder / "images.tar")
    path, weights, step = folder / "peer.npz", np.zeros((SIDE * SIDE * 3, CLASSES)), 0
    if path.exists():
        saved = np.load(path)
        weights, step = saved["weights"], int(saved["step"])
    for images, labels in itertools.islice(
        batches(folder / "images.tar"), step, steps
    ):  # reads all before it again
        loss = learn(weights, images, labels)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            np.savez(folder / "new.npz", weights=weights, step=step)
            os.replace(folder / "new.npz", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
