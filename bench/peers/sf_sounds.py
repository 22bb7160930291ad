# SPDX-License-Identifier: Apache-2.0
"""WAV and FLAC of 16 bits through libsndfile, to arrays of float32: the sound of bench/media.c."""

import functools
import io

import numpy as np
import soundfile
from common import main, timed

RATE = 44100


@functools.cache
def encoded(kind):
    i = np.arange(60 * RATE)
    samples = np.rint(16000 * np.sin(i / 20) + 2000 * np.sin(i * 0.7) + i * 7919 % 64)
    file = io.BytesIO()
    soundfile.write(file, samples.astype(np.int16), RATE, format=kind, subtype="PCM_16")
    return file.getvalue()


def decode(folder, kind="WAV"):
    data = encoded(kind)
    return timed(lambda: len(soundfile.read(io.BytesIO(data), dtype="float32")[0]))


if __name__ == "__main__":
    main(globals())
