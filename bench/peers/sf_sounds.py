# SPDX-License-Identifier: Apache-2.0
"""WAV and FLAC of 16 bits through libsndfile, to arrays of float32: the sound of bench/media.c."""

import io

import numpy as np
import soundfile
from common import timed

RATE = 44100
FILES = {}


def encoded(kind):
    i = np.arange(60 * RATE)
    samples = np.rint(16000 * np.sin(i / 20) + 2000 * np.sin(i * 0.7) + i * 7919 % 64)
    file = io.BytesIO()
    soundfile.write(file, samples.astype(np.int16), RATE, format=kind, subtype="PCM_16")
    return file.getvalue()


def decode(kind):
    if kind not in FILES:
        FILES[kind] = encoded(kind)
    return timed(lambda: len(soundfile.read(io.BytesIO(FILES[kind]), dtype="float32")[0]))
