# SPDX-License-Identifier: Apache-2.0
"""Images of three encodings from Examples: parse, decode, slice, reshape, batch.

Called with the folder to work in, and a folder of images (*.jpg, *.png); without the second one
it makes small images itself. A raw image is a label byte and 28 x 28 gray pixels, as in MNIST.
"""

import struct
import sys
import zlib
from pathlib import Path

import levada as lv
import numpy as np

SIDE = 28
SPEC = {"image": lv.FixedLenFeature([], lv.string), "name": lv.FixedLenFeature([], lv.string)}


def make_png(pixels: np.ndarray) -> bytes:
    """A PNG of gray pixels, uint8 [height, width]."""
    height, width = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    body = header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def write(path: Path, images: dict[str, bytes]) -> None:
    with lv.TFRecordWriter(str(path)) as writer:
        for name, data in images.items():
            writer.write(lv.make_example({"image": [data], "name": [name.encode()]}))


def compressed(path: Path, channels: int) -> lv.Dataset:
    """The upper left corner of each image; those that are too small or broken are skipped."""
    return (
        lv.tfrecord(str(path))
        .parse_example(SPEC)
        .decode_image("image", channels=channels)
        .slice("image", [0, 0, 0], [SIDE, SIDE, channels])
        .reshape("image", [SIDE * SIDE, channels])
        .with_options(errors="skip")
    )


def raw(path: Path) -> lv.Dataset:
    """Pixels without the byte of the label."""
    return (
        lv.tfrecord(str(path))
        .parse_example(SPEC)
        .decode_raw("image", lv.uint8)
        .slice("image", [1], [SIDE * SIDE])
        .reshape("image", [SIDE, SIDE])
    )


def main(folder: Path, source: Path | None) -> None:
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 256, (5, SIDE, SIDE), np.uint8)
    found = sorted(p for p in source.iterdir() if p.suffix in (".jpg", ".png")) if source else []
    images = {path.name: path.read_bytes() for path in found}
    images = images or {f"{i}.png": make_png(digit) for i, digit in enumerate(digits)}
    write(folder / "images.tfrecord", images)
    labelled = {f"{i}.raw": bytes([i]) + digit.tobytes() for i, digit in enumerate(digits)}
    write(folder / "raw.tfrecord", labelled)
    iterator = iter(compressed(folder / "images.tfrecord", 3).batch(4))
    shapes = [batch["image"].shape for batch in iterator]
    skipped = iterator.stats()["skipped_records"]
    print(f"{sum(shape[0] for shape in shapes)} images, {skipped} skipped, {shapes[0][1:]} each")
    pixels = raw(folder / "raw.tfrecord").batch(5).first()["image"]
    assert np.array_equal(pixels, digits)
    print(f"{len(pixels)} raw images, {pixels.shape[1:]} each")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
