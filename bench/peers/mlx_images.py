# SPDX-License-Identifier: Apache-2.0
"""JPEG through mlx-data, to arrays: the images of bench/peers/pil_images.py."""

import functools

import mlx.data as dx
import numpy as np
from common import main, timed
from pil_images import encoded


@functools.cache
def files():
    return [{"image": np.frombuffer(data, np.uint8).copy()} for data in encoded("jpeg")]


def decode(folder):
    buffer = dx.buffer_from_vector(files()).load_image("image", from_memory=True)
    return timed(lambda: sum(buffer[i]["image"].shape == (375, 500, 3) for i in range(len(buffer))))


if __name__ == "__main__":
    main(globals())
