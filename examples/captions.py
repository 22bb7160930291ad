# SPDX-License-Identifier: Apache-2.0
"""Images with captions: decode, resize and batch pictures together with texts of any length.

    python examples/captions.py [FOLDER]

The archive follows WebDataset: `0001.png` and `0001.txt` are one sample. Images become uint8
arrays of one size, captions become tokens, and samples with captions of similar length share a
batch.
"""

from __future__ import annotations

import io
import struct
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np


def png(pixels: np.ndarray) -> bytes:
    """A PNG of uint8 [height, width, 3]."""
    height, width, _ = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


def write_archive(path: Path) -> None:
    rng = np.random.default_rng(7)
    words = "a the small large red blue house boat tree on under near water hill".split()
    with tarfile.open(path, "w") as archive:
        for i in range(100):
            size = rng.integers(40, 120, 2)
            picture = png(rng.integers(0, 256, (*size, 3), np.uint8))
            caption = " ".join(rng.choice(words, rng.integers(3, 30))).encode()
            for name, data in ((f"{i:04}.png", picture), (f"{i:04}.txt", caption)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def tokens_of(record: dict[str, Any]) -> dict[str, Any]:
    """Bytes as tokens; call your tokenizer here."""
    text = np.frombuffer(record.pop("txt"), np.uint8)
    return {**record, "tokens": text.astype(np.int32)}


def batches(path: Path) -> lv.Dataset:
    return (
        lv.tar(str(path), fields=["png", "txt"])
        .shuffle(1000)  # before the images are decoded: small records
        .map(tokens_of)
        .decode_png("png", channels=3)
        .resize_image("png", [64, 64])
        .bucket_by_sequence_length("tokens", max_tokens=2048, lookahead=500)
        .with_options(seed=1)
    )


def main(folder: Path) -> None:
    write_archive(folder / "captions.tar")
    ds = batches(folder / "captions.tar")
    dtype = ds.first()["png"].dtype
    with iter(ds) as it:
        for batch in it:
            assert batch["png"].shape == (len(batch["tokens"]), 64, 64, 3)
        padding = it.stats()["padding_fraction"]
    print(f"{dtype} images of 64 x 64, {padding:.0%} padding of captions")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
