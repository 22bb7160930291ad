# SPDX-License-Identifier: Apache-2.0
"""Augmentation through torchvision: the images of bench/peers/pil_images.py, on tensors."""

import functools
import io

import numpy as np
import torch
from common import main, timed
from PIL import Image
from pil_images import encoded, painted

if "+cpu" in torch.__version__:  # torchvision's extension wants CUDA; transforms of tensors do not
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
torch.set_num_threads(1)


@functools.cache
def pixels():
    return [torch.from_numpy(painted(i)).permute(2, 0, 1) for i in range(16)]


@functools.cache
def transform(what):
    floats = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return {
        "crop": v2.RandomResizedCrop(224),
        "flip": v2.RandomHorizontalFlip(),
        "normalize": v2.Compose(floats),
        "pad": v2.Pad([6, 68, 6, 69]),
        "all": v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *floats]),
    }[what]


def stage(folder, kind="crop"):
    """One transform of decoded images, to tensors whose values are adjacent."""
    images, one = pixels(), transform(kind)
    return timed(lambda: sum(one(x).contiguous().numel() > 0 for x in images * 4))


def decode(folder):
    """From files to normalized tensors: decoded by Pillow, as ImageFolder does."""
    one, files = transform("all"), encoded("jpeg")

    def count():
        for data in files:
            image = np.array(Image.open(io.BytesIO(data)))
            one(torch.from_numpy(image).permute(2, 0, 1)).contiguous()
        return len(files)

    return timed(count)


if __name__ == "__main__":
    main(globals())
