# SPDX-License-Identifier: Apache-2.0
"""examples/speech_recognition.py with WebDataset and torchaudio."""

import io
import itertools
import os
import random
import sys
from pathlib import Path

import numpy as np
import soundfile
import torch
import webdataset as wds
from speech_recognition import BANDS, EVERY, SYMBOLS, learn, write_archive
from torch.nn.utils.rnn import pad_sequence
from torchaudio.transforms import MelSpectrogram


def features_of(wav):
    samples, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
    mel = MelSpectrogram(rate, n_fft=400, hop_length=160, n_mels=BANDS)
    return torch.log(mel(torch.from_numpy(samples)) + 1e-6).T


def letters_of(text):
    return torch.tensor([letter - ord("a") + 1 for letter in text])


def padded(rows):
    """Features, their lengths, letters, their lengths."""
    for column in zip(*rows, strict=True):
        yield pad_sequence(column, batch_first=True).numpy()
        yield np.array([len(value) for value in column])


def batches(path):
    """Batches of similar lengths, of at most 2000 frames with padding."""
    samples = wds.WebDataset(str(path), shardshuffle=False).repeat().to_tuple("wav", "txt")
    samples = iter(samples.shuffle(1000, rng=random.Random(1)).map_tuple(features_of, letters_of))
    while True:
        waiting = sorted(itertools.islice(samples, 500), key=lambda row: len(row[0]))
        made, rows = [], []
        for row in waiting:
            if rows and (len(rows) + 1) * len(row[0]) > 2000:
                made.append(rows)
                rows = []
            rows.append(row)
        made.append(rows)
        random.Random(len(made)).shuffle(made)
        yield from map(padded, made)


def main(folder, steps):
    if not (folder / "speech.tar").exists():
        write_archive(folder / "speech.tar")
    path, weights, step = folder / "peer.npz", np.zeros((BANDS + 1, SYMBOLS)), 0
    if path.exists():
        saved = np.load(path)
        weights, step = saved["weights"], int(saved["step"])
    for batch in itertools.islice(
        batches(folder / "speech.tar"), step, steps
    ):  # reads all before it again
        loss = learn(weights, *batch)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            np.savez(folder / "new.npz", weights=weights, step=step)
            os.replace(folder / "new.npz", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
