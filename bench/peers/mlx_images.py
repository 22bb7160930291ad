# SPDX-License-Identifier: Apache-2.0
"""JPEG through mlx-data, to arrays: the images of bench/peers/pil_images.py."""

import time

import mlx.data as dx
import numpy as np
from pil_images import encoded

FILES = []


def decode():
    if not FILES:
        FILES.extend({"image": np.frombuffer(data, np.uint8).copy()} for data in encoded("jpeg"))
    buffer = dx.buffer_from_vector(FILES).load_image("image", from_memory=True)
    begin = time.perf_counter()
    n = sum(1 for i in range(len(buffer)) if buffer[i]["image"].shape == (375, 500, 3))
    return {"n": n, "seconds": time.perf_counter() - begin}
