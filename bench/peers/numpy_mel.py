# SPDX-License-Identifier: Apache-2.0
"""Audio in NumPy: random changes, and a log-mel spectrogram, with filters of random weights: their
values take no time."""

import numpy as np
from common import main, timed

SOUND = np.sin(np.arange(60 * 44100) / 20.0).astype(np.float32) * 0.5
WINDOW = np.hanning(401)[:400].astype(np.float32)
FILTERS = np.random.default_rng(0).random((201, 80)).astype(np.float32)


def spectrogram(folder):
    def count():
        padded = np.pad(SOUND, 200, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160] * WINDOW
        power = np.abs(np.fft.rfft(frames)).astype(np.float32) ** 2
        np.log(np.maximum(power @ FILTERS, 1e-10))
        return len(SOUND)

    return timed(count)


def copied(folder):
    """The least that a stage does which changes all samples and keeps its input."""
    return timed(lambda: len(SOUND.copy()))


def gain(folder):
    rng = np.random.default_rng(0)
    return timed(lambda: len(SOUND * np.float32(10 ** (rng.uniform(-6, 6) / 20))))


def white_noise(folder):
    rng = np.random.default_rng(0)

    def count():
        power = np.dot(SOUND, SOUND) / len(SOUND) / 10 ** (rng.uniform(5, 30) / 10)
        noise = rng.standard_normal(len(SOUND), dtype=np.float32)
        return len(SOUND + np.float32(np.sqrt(power)) * noise)

    return timed(count)


def spec_augment(folder):
    rng = np.random.default_rng(0)
    frames = SOUND.reshape(-1, 80)

    def count():
        masked, mean = frames.copy(), frames.mean()
        for axis, most in ((0, 100), (0, 100), (1, 27), (1, 27)):
            width = rng.integers(most + 1)
            first = rng.integers(frames.shape[axis] - width + 1)
            np.moveaxis(masked, axis, 0)[first : first + width] = mean
        return masked.size

    return timed(count)


if __name__ == "__main__":
    main(globals())
