# SPDX-License-Identifier: Apache-2.0
"""Speech recognition: recordings and texts of a tar archive become features and letters.

    python examples/speech_recognition.py [FOLDER]

The archive follows WebDataset: `0001.wav` and `0001.txt` are one sample. Batches have log-mel
features [B, T, 80], letters [B, U], and the lengths that a CTC loss needs.
"""

from __future__ import annotations

import io
import struct
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np

RATE = 16_000


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


def letters_of(record: dict[str, Any]) -> dict[str, Any]:
    """Letters from 1 to 26; 0 is the blank of CTC, and the padding."""
    text = np.frombuffer(record.pop("txt"), np.uint8)
    return {**record, "letters": text.astype(np.int32) - ord("a") + 1}


def batches(path: Path) -> lv.Dataset:
    return (
        lv.tar(str(path), fields=["wav", "txt"])
        .shuffle(1000)
        .map(letters_of)
        .decode_wav("wav", channels=1)  # audio: [samples, 1]; resample() changes the rate
        .log_mel("audio", n_mels=80)
        .bucket_by_sequence_length("audio", max_tokens=2000, lookahead=500)
        .with_options(seed=1)
    )


def main(folder: Path) -> None:
    write_archive(folder / "speech.tar")
    ds = batches(folder / "speech.tar")
    first = ds.first()
    features, letters = first["audio"], first["letters"]
    with iter(ds) as it:
        for batch in it:
            frames, characters = batch.lengths("audio"), batch.lengths("letters")
            assert (frames >= characters).all()  # or CTC has no path
        padding = it.stats()["padding_fraction"]
    print(features.dtype, features.shape[2], "bands;", letters.dtype, "letters")
    print("keys such as", first["key"][0].decode(), "·", f"{padding:.0%} padding")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
