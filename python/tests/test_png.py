# SPDX-License-Identifier: Apache-2.0
"""Every kind of PNG against a reference in NumPy, and against Pillow where it is installed."""

import io
import itertools
import struct
import zlib

import levada as lv
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    lv.show_config("dicts")["png"] is None, reason="built without libpng"
)
GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16),
          RGBA: (8, 16)}  # fmt: skip
SAMPLES = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
         (1, 0, 2, 1)]  # fmt: skip
HEIGHT, WIDTH = 9, 11
# Chunks that say how colors look: none of them changes a number.
APPEARANCE = {
    "none": [],
    "srgb": [(b"sRGB", b"\0")],
    "gamma": [(b"gAMA", struct.pack(">I", 100000))],
    "bt2020": [
        (b"gAMA", struct.pack(">I", 45455)),
        (b"cHRM", struct.pack(">8I", 31270, 32900, 70000, 30000, 17000, 79700, 13000, 4600)),
    ],
}
KINDS = [
    (color, depth, trns, interlaced)
    for color in DEPTHS
    for depth in DEPTHS[color]
    for trns in ((False, True) if color in (GRAY, RGB, PALETTE) else (False,))
    for interlaced in (False, True)
]


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed(rows, depth):
    """Rows of samples as bytes, each after the filter type 0."""
    lines = []
    for row in rows.reshape(len(rows), -1):
        if depth == 16:
            lines.append(row.astype(">u2").tobytes())
        else:
            bits = (row[:, None] >> np.arange(depth - 1, -1, -1)) & 1
            lines.append(np.packbits(bits.astype(np.uint8).reshape(-1)).tobytes())
    return b"".join(b"\0" + line for line in lines)


class Picture:
    """A PNG, and the RGBA of its pixels in 16 bits."""

    def __init__(self, color, depth, trns, interlaced, chunks=(), same=False):
        draw = np.random.default_rng(color * 100 + depth)
        top = (1 << depth) - 1
        self.depth, self.colored = 8 if color == PALETTE else depth, color not in (GRAY, GRAY_ALPHA)
        pixels = draw.integers(0, top + 1, (HEIGHT, WIDTH, SAMPLES[color]))
        pixels[: HEIGHT // 2, 1::3] = pixels[0, 0]  # the transparent color occurs
        if same:  # 16 bits whose halves are equal lose nothing as 8
            pixels = pixels // 257 * 257
        palette = draw.integers(0, 256, (top + 1 if depth < 8 else 200, 3), np.uint8)
        alphas = draw.integers(0, 256, len(palette) // 2 + 1, np.uint8)
        if color == PALETTE:
            pixels %= len(palette)
        body = list(chunks)
        if color == PALETTE:
            body.append((b"PLTE", palette.tobytes()))
        if trns:
            clear = alphas.tobytes() if color == PALETTE else pixels[0, 0].astype(">u2").tobytes()
            body.append((b"tRNS", clear))
        parts = [packed(pixels, depth)]
        if interlaced:
            passes = [pixels[y::dy, x::dx] for y, x, dy, dx in ADAM7]
            parts = [packed(rows, depth) for rows in passes if rows.size]
        body.append((b"IDAT", zlib.compress(b"".join(parts))))
        header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, color, 0, 0, interlaced)
        chunks = [(b"IHDR", header), *body, (b"IEND", b"")]
        self.data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in chunks)
        self.rgba = np.full((HEIGHT, WIDTH, 4), 65535, np.int64)
        if color == PALETTE:
            self.rgba[..., :3] = palette[pixels[..., 0]].astype(np.int64) * 257
            if trns:
                all_alphas = np.full(len(palette), 255, np.int64)
                all_alphas[: len(alphas)] = alphas
                self.rgba[..., 3] = all_alphas[pixels[..., 0]] * 257
            return
        values = pixels * (65535 // top)
        self.rgba[..., :3] = values[..., :3] if self.colored else values[..., :1]
        if color in (GRAY_ALPHA, RGBA):
            self.rgba[..., 3] = values[..., -1]
        if trns:
            self.rgba[..., 3] = np.where((pixels == pixels[0, 0]).all(-1), 0, 65535)

    def want(self, channels, dtype):
        rgba = self.rgba >> 8 if dtype == "uint8" else self.rgba
        gray = rgba[..., :1]
        if self.colored:
            gray = (rgba[..., :3] @ np.array([19595, 38470, 7471]) + 32768 >> 16)[..., None]
        light = gray if channels <= 2 else rgba[..., :3]
        return light if channels % 2 else np.concatenate([light, rgba[..., 3:]], -1)


@pytest.mark.parametrize("appearance", APPEARANCE)
def test_every_kind_has_the_pixels_of_the_reference(appearance):
    """Color types, depths, tRNS and interlace by channels, dtype and decoder."""
    count = 0
    for color, depth, trns, interlaced in KINDS:
        picture = Picture(color, depth, trns, interlaced, APPEARANCE[appearance])
        for channels, dtype in itertools.product((1, 2, 3, 4), ("uint8", "uint16")):
            made = lv.decode_png(picture.data, channels, dtype)
            what = f"color {color}, {depth} bits, tRNS {trns}, interlaced {interlaced}"
            assert made.dtype == dtype
            assert np.array_equal(made, picture.want(channels, dtype)), (what, channels, dtype)
            if dtype == "uint8":
                assert np.array_equal(lv.decode_image(picture.data, channels), made), what
            count += 1
        for dtype in ("uint8", "uint16"):  # as many channels as the file has
            made = lv.decode_png(picture.data, 0, dtype)
            assert np.array_equal(made, picture.want(made.shape[-1], dtype)), what
    assert count == len(KINDS) * 8


def test_transparent_colors_lose_no_record(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    kinds = [Picture(*kind) for kind in KINDS if kind[2]]
    with lv.TFRecordWriter(path) as writer:
        for picture in kinds:
            writer.write(picture.data)
    for channels in (1, 2, 3, 4):
        ds = lv.tfrecord(path).decode_png("record", channels, "uint16")
        assert sum(1 for _ in ds) == len(kinds)


@pytest.mark.oracle
def test_gray_does_not_depend_on_the_format():
    """Red, green and blue as PNG and as JPEG: the same levels, but for the loss of JPEG."""
    image = pytest.importorskip("PIL.Image")
    if lv.show_config("dicts")["jpeg"] is None:
        pytest.skip("built without libjpeg-turbo")
    for rgb in [(255, 0, 0), (0, 255, 0), (0, 0, 255), (10, 200, 90)]:
        one, two = io.BytesIO(), io.BytesIO()
        image.new("RGB", (16, 16), rgb).save(one, "PNG")
        image.new("RGB", (16, 16), rgb).save(two, "JPEG", quality=100, subsampling=0)
        a, b = (lv.decode_image(f.getvalue(), 1).astype(int) for f in (one, two))
        assert abs(a - b).max() <= 1, rgb


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Palette images")
def test_every_kind_has_the_pixels_of_pillow():
    """All that Pillow reads exactly: it cuts colors of 16 bits, and compares the transparent color
    with pixels that it has scaled.
    """
    image = pytest.importorskip("PIL.Image")
    modes = {1: "L", 3: "RGB", 4: "RGBA"}
    for color, depth, trns, interlaced in KINDS:
        if depth == 16 and color in (GRAY, GRAY_ALPHA):
            continue
        picture = Picture(color, depth, trns, interlaced, APPEARANCE["bt2020"], same=depth == 16)
        for channels, mode in modes.items():
            if channels == 4 and trns and color != PALETTE and depth != 8:
                continue
            opened = image.open(io.BytesIO(picture.data))
            if color == PALETTE and channels == 1:
                opened = opened.convert("RGB")  # else it drops the alpha channel later
            want = np.asarray(opened.convert(mode)).reshape(HEIGHT, WIDTH, channels)
            made = lv.decode_png(picture.data, channels)
            assert np.array_equal(made, want), (color, depth, trns, interlaced, channels)
