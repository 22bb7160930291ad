# SPDX-License-Identifier: Apache-2.0
"""examples/language_model.py with Hugging Face datasets."""

import itertools
import os
import sys
from pathlib import Path

import numpy as np
from datasets import load_dataset
from language_model import EVERY, LENGTH, learn, tokenize, write_documents


def batches(folder):
    """Rows of LENGTH tokens, and the number of the document of each token; 8 rows a batch."""
    dataset = load_dataset("json", data_files=str(folder / "documents.jsonl.gz"), split="train")
    dataset = dataset.map(tokenize, input_columns="text").with_format("numpy")
    tokens, numbers, rows, document = [], [], [], 0
    for epoch in itertools.count():
        for row in dataset.shuffle(seed=epoch):
            document += 1
            tokens = np.append(tokens, row["tokens"]).astype(np.int32)
            numbers = np.append(numbers, np.full(len(row["tokens"]), document))
            while len(tokens) >= LENGTH:
                rows.append((tokens[:LENGTH], numbers[:LENGTH]))
                tokens, numbers = tokens[LENGTH:], numbers[LENGTH:]
                if len(rows) == 8:
                    yield [np.stack(column) for column in zip(*rows, strict=True)]
                    rows = []


def main(folder, steps):
    if not (folder / "documents.jsonl.gz").exists():
        write_documents(folder)
    path, scores, step = folder / "peer.npz", np.zeros((256, 256)), 0
    if path.exists():
        saved = np.load(path)
        scores, step = saved["scores"], int(saved["step"])
    for tokens, documents in itertools.islice(
        batches(folder), step, steps
    ):  # reads all before it again
        loss = learn(scores, tokens, documents)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            np.savez(folder / "new.npz", scores=scores, step=step)
            os.replace(folder / "new.npz", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
