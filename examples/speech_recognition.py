# SPDX-License-Identifier: Apache-2.0
"""Speech: recordings and texts of a tar archive become features and letters; trains, and resumes.

    python examples/speech_recognition.py [FOLDER STEPS]

The archive follows WebDataset: `0001.wav` and `0001.txt` are one sample. Batches have log-mel
features [B, T, 80], letters [B, U], and the lengths that a CTC loss needs. The model here is a line
from the mean of the frames to the number of times that each letter is spoken. Started again in the
same folder, the program continues with the step after the last checkpoint.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np

RATE, BANDS, SYMBOLS, EVERY = 16_000, 80, 27, 5


def wav(samples: np.ndarray) -> bytes:
    """A WAV file of int16 samples with one channel."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE * 2, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def write_archive(path: Path) -> None:
    rng = np.random.default_rng(7)
    with tarfile.open(path, "w") as archive:
        for i in range(60):
            letters = rng.integers(ord("a"), ord("z") + 1, rng.integers(3, 12), dtype=np.uint8)
            tones = [np.sin(np.arange(RATE // 10) * letter / 60) for letter in letters]
            samples = wav(np.concatenate(tones) * 8000)
            for name, data in ((f"{i:04}.wav", samples), (f"{i:04}.txt", letters.tobytes())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def learn(weights: np.ndarray, features: Any, frames: Any, letters: Any, counts: Any) -> float:
    """One step on features [B, T, 80] of `frames` real steps, and letters [B, U]."""
    real = np.arange(features.shape[1]) < frames[:, None]
    mean = (features * real[..., None]).sum(1) / frames[:, None]
    inputs = np.concatenate([mean / 100, np.ones((len(mean), 1))], 1)
    spoken = np.zeros((len(letters), SYMBOLS))
    rows, steps = np.nonzero(np.arange(letters.shape[1]) < counts[:, None])
    np.add.at(spoken, (rows, letters[rows, steps]), 1)
    error = inputs @ weights - spoken
    weights -= 0.01 * inputs.T @ error / len(error)
    return float((error**2).mean())


def letters_of(record: dict[str, Any]) -> dict[str, Any]:
    """Letters from 1 to 26; 0 is the blank of CTC, and the padding."""
    text = np.frombuffer(record.pop("txt"), np.uint8)
    return {**record, "letters": text.astype(np.int32) - ord("a") + 1}


def batches(path: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.tar(str(path), fields=["wav", "txt"])
        .shuffle(1000)
        .repeat()
        .map(letters_of)
        .decode_wav("wav", channels=1)  # audio: [samples, 1]; resample() changes the rate
        .log_mel("audio", n_mels=BANDS)
        .bucket_by_sequence_length("audio", max_tokens=2000, lookahead=500)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "speech.tar").exists():
        write_archive(folder / "speech.tar")
    path, weights, step = folder / "run.ckpt", np.zeros((BANDS + 1, SYMBOLS)), 0
    with iter(batches(folder / "speech.tar")) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            weights, step = pickle.loads(saved["model"])
        while step < steps:
            batch = next(it)
            frames, letters = batch.lengths("audio"), batch.lengths("letters")
            loss = learn(weights, batch["audio"], frames, batch["letters"], letters)
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((weights, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
