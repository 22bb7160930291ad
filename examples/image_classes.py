# SPDX-License-Identifier: Apache-2.0
"""Classes of images: decode, resize, flip, normalize, train, resume after a crash.

    python examples/image_classes.py [FOLDER STEPS]

The archive follows WebDataset: `0001.png` and `0001.cls` are one sample. The model is a softmax
regression on the pixels. Started again in the same folder, the program continues with the step
after the last checkpoint, with the same order and the same flips.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

import levada as lv
import numpy as np

SIDE, CLASSES, EVERY = 16, 3, 5


def png(pixels: np.ndarray) -> bytes:
    """A PNG of uint8 [height, width, 3]."""
    height, width, _ = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_archive(path: Path) -> None:
    """Images of any size; the class is the color that there is more of."""
    rng = np.random.default_rng(7)
    with tarfile.open(path, "w") as archive:
        for i in range(150):
            label = int(rng.integers(CLASSES))
            pixels = rng.integers(0, 160, (*rng.integers(20, 60, 2), 3), np.uint8)
            pixels[..., label] += 60
            for name, data in ((f"{i:04}.png", png(pixels)), (f"{i:04}.cls", b"%d" % label)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def learn(weights: np.ndarray, images: np.ndarray, labels: np.ndarray) -> float:
    """One step of softmax regression on images [B, SIDE, SIDE, 3]. Returns the loss."""
    inputs = images.reshape(len(images), -1)
    chances = np.exp(inputs @ weights)
    chances /= chances.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(chances[rows, labels]).mean()
    chances[rows, labels] -= 1
    weights -= 0.003 * inputs.T @ chances / len(labels)
    return float(loss)


def batches(path: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.tar(str(path), fields=["png", "cls"])
        .shuffle(1000)  # before the images are decoded: small records
        .repeat()
        .decode_png("png", channels=3)
        .resize_image("png", [SIDE, SIDE])
        .random_flip("png")
        .normalize("png", 0.35)
        .map(int, ["cls"])
        .batch(32)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "images.tar").exists():
        write_archive(folder / "images.tar")
    path, weights, step = folder / "run.ckpt", np.zeros((SIDE * SIDE * 3, CLASSES)), 0
    with iter(batches(folder / "images.tar")) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            weights, step = pickle.loads(saved["model"])
        while step < steps:
            batch = next(it)
            loss = learn(weights, batch["png"], batch["cls"])
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((weights, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
