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


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
AUGMENT = {
    "crop": lambda ds: ds.random_resized_crop("image", 224),
    "flip": lambda ds: ds.random_flip("image"),
    "normalize": lambda ds: ds.normalize("image", MEAN, STD, layout="chw"),
    "pad": lambda ds: ds.pad_to("image", 512),
}


def counted(ds, times):
    """Images of a dataset that have pixels."""

    def count():
        n = 0
        with ds.repeat(times).with_options(threads=1, block_rows=16).blocks() as blocks:
            for rows in blocks:
                n += rows.num_records * (rows["image"].size > 0)
        return n

    return timed(count)


def augmented(folder, kind="crop"):
    """A stage on the images of bench/peers/pil_images.py, decoded before."""
    import numpy as np
    import pil_images

    images = np.stack([pil_images.painted(i) for i in range(16)])
    ds = lv.from_arrays({"image": images}).reshape("image", images.shape[1:])
    return counted(AUGMENT[kind](ds), 4)


SOUNDS = {
    "gain": lambda ds, sound: ds.gain("audio", db=[-6, 6]),
    "spec_augment": lambda ds, sound: ds.reshape("audio", [len(sound) // 80, 80]).spec_augment(
        "audio"
    ),
}


def sounds(folder, kind="gain"):
    """A stage on the minute of bench/peers/numpy_mel.py, which is in memory."""
    from numpy_mel import SOUND

    ds = lv.from_arrays({"audio": [SOUND]}).repeat(4)
    ds = SOUNDS[kind](ds, SOUND).with_options(threads=1)

    def count():
        n = 0
        with ds.blocks() as blocks:
            for rows in blocks:
                audio = rows["audio"]
                n += getattr(audio, "values", audio).size
        return n

    return timed(count)


def windows(folder):
    """From files to normalized windows, as bench/peers/torchvision_images.py."""
    import pil_images

    ds = lv.from_arrays({"image": pil_images.encoded("jpeg")})
    ds = ds.decode_jpeg("image", random_resized_crop=224).random_flip("image")
    return counted(AUGMENT["normalize"](ds), 1)


if __name__ == "__main__":
    main(globals())
