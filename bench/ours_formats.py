# SPDX-License-Identifier: Apache-2.0
"""P6 to P8: our side of CSV, lines and images from Python."""

import os
import sys

import levada as lv

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [path for path in (HERE, os.path.join(HERE, "peers")) if path not in sys.path]
from common import files, main, timed  # noqa: E402

NUMBERS = [lv.int64] * 5 + [lv.float32] * 8
QUOTED = [lv.int64] + [lv.string] * 4
BLOCK = 2048  # records that are looked through at once


def csv(folder, name="numbers", threads=1):
    """Columns of numbers as arrays; strings stay in the blocks, as they do in tables of Arrow."""
    path = files.path(name, folder)
    columns = NUMBERS if name == "numbers" else QUOTED
    ds = lv.csv(path, record_defaults=columns).with_options(threads=threads, block_rows=BLOCK)
    arrays = [f"c{i}" for i, dtype in enumerate(columns) if dtype is not lv.string]

    def count():
        n = 0
        with ds.blocks() as blocks:
            for rows in blocks:
                for column in arrays:
                    rows[column]
                n += rows.num_records
        return n

    return timed(count, os.path.getsize(path))


def lines(folder, threads=1):
    path = files.path("text", folder)
    ds = lv.text_lines(path).with_options(threads=threads, block_rows=BLOCK)

    def count():
        n = 0
        with ds.blocks() as blocks:
            for rows in blocks:
                n += rows.num_records
        return n

    return timed(count, os.path.getsize(path))


def images(folder, crop=None):
    """The images of bench/peers/pil_images.py, whole or a random window of each, to arrays; their
    files are in memory of the library before, as in bench/peers/mlx_images.py."""
    import pil_images

    files = lv.from_arrays({"image": pil_images.encoded("jpeg")})
    ds = files.decode_jpeg("image", random_crop=crop).with_options(threads=1)

    def count():
        n = 0
        with ds.blocks() as blocks:
            for rows in blocks:
                pixels = rows["image"] if crop else rows["image"].values
                n += rows.num_records * (pixels.size > 0)
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
