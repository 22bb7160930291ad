# SPDX-License-Identifier: Apache-2.0
"""A language model on compressed JSON lines: read, tokenize, pack, train, resume after a crash.

    python examples/language_model.py [FOLDER STEPS]

Each line of documents.jsonl.gz is {"text": ...}. A token is a byte, and the model is a table of
bigrams. Started again in the same folder, the program continues with the step after the last
checkpoint, and prints the losses of a run that was never interrupted.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np

LENGTH, EVERY = 256, 5


def write_documents(folder: Path) -> None:
    lv.samples.write(folder)  # speeches.txt: one speech per line
    speeches = lv.text_lines(str(folder / "speeches.txt")).rename({"line": "text"})
    lv.write(speeches, folder / "documents.jsonl.gz")


def learn(scores: np.ndarray, tokens: np.ndarray, segments: np.ndarray) -> float:
    """One step on [B, T]: each token predicts the next of its document. Returns the loss."""
    pairs = segments[:, 1:] == segments[:, :-1]
    now, after = tokens[:, :-1][pairs], tokens[:, 1:][pairs]
    chances = np.exp(scores[now])
    chances /= chances.sum(1, keepdims=True)
    rows = np.arange(len(now))
    loss = -np.log(chances[rows, after]).mean()
    chances[rows, after] -= 1
    np.subtract.at(scores, now, 10 * chances / len(now))
    return float(loss)


def tokenize(text: str) -> dict[str, Any]:
    """Bytes as tokens; call your tokenizer here."""
    return {"tokens": np.frombuffer(text.encode(), np.uint8).astype(np.int32)}


def batches(folder: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.open(str(folder / "documents.jsonl.gz"))
        .shuffle(1000)
        .map(tokenize, ["text"])
        .repeat()
        .pack(LENGTH, split=True)
        .padded_batch(8)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "documents.jsonl.gz").exists():
        write_documents(folder)
    path, scores, step = folder / "run.ckpt", np.zeros((256, 256)), 0
    with iter(batches(folder)) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            scores, step = pickle.loads(saved["model"])
        while step < steps:
            batch = next(it)
            loss = learn(scores, batch["tokens"], batch.segment_ids("tokens"))
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((scores, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
