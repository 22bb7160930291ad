# SPDX-License-Identifier: Apache-2.0
"""Images through Pillow, to arrays."""

import functools
import io

import numpy as np
from common import main, timed
from PIL import Image


def painted(number):
    """The photograph of bench/media.c, without its noise of the same numbers."""
    y, x, c = np.mgrid[0:375, 0:500, 0:3]
    v = 128 + 50 * np.sin((x + 7 * number) / (31.0 + c)) * np.cos(y / 23.0)
    v += 25 * np.sin((x + y) / (5.0 + number % 3))
    noise = np.random.default_rng(number).integers(-8, 8, v.shape)
    return (v + noise).astype(np.uint8)


@functools.cache
def encoded(kind):
    files = []
    for number in range(16):
        file = io.BytesIO()
        Image.fromarray(painted(number)).save(file, kind, quality=90)
        files.append(file.getvalue())
    return files


def decode(folder, kind="jpeg"):
    files = encoded(kind)

    def count():
        for data in files:
            np.asarray(Image.open(io.BytesIO(data)))
        return len(files)

    return timed(count)


if __name__ == "__main__":
    main(globals())
