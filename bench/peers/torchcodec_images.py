# SPDX-License-Identifier: Apache-2.0
"""JPEG through torchcodec on the CPU: the images of bench/peers/pil_images.py.

Its wheels for PyPI load only beside a torch with CUDA; elsewhere the row does without it.
"""

from common import main, timed
from pil_images import encoded
from torchcodec.decoders import decode_jpeg


def decode(folder):
    files = encoded("jpeg")

    def count():
        for data in files:
            decode_jpeg(data).numpy()
        return len(files)

    return timed(count)


if __name__ == "__main__":
    main(globals())
