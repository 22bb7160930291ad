# SPDX-License-Identifier: Apache-2.0
"""examples/llm_mixture.py with Hugging Face datasets."""

import itertools
import os
import sys
from pathlib import Path

import numpy as np
from datasets import interleave_datasets, load_dataset
from llm_mixture import EVERY, TOKENS, learn, write_corpora


def corpus(path):
    dataset = load_dataset("json", data_files=str(path), split="train", streaming=True)
    return dataset.shuffle(seed=1, buffer_size=1000).repeat(None)


def batches(folder):
    """Flat rows and positions in the documents: 8 packs of at most 512 tokens each."""
    mixed = interleave_datasets(
        [corpus(folder / "web.jsonl"), corpus(folder / "code.jsonl")],
        probabilities=[0.7, 0.3],
        seed=1,
    )
    bins = [[] for _ in range(64)]  # open bins; a document goes into the fullest that has space
    full = []
    for row in mixed:
        size = len(row["tokens"])
        used = [sum(map(len, one)) for one in bins]
        fitting = [i for i in range(64) if used[i] + size <= 512]
        if not fitting:
            fitting = [used.index(max(used))]
            full.append(bins[fitting[0]])
            bins[fitting[0]], used[fitting[0]] = [], 0
        bins[max(fitting, key=used.__getitem__)].append(row["tokens"])
        if len(full) == 8:
            documents = [document for one in full for document in one]
            positions = [np.arange(len(document)) for document in documents]
            yield np.concatenate(documents), np.concatenate(positions)
            full = []


def main(folder, steps):
    if not (folder / "code.jsonl").exists():
        write_corpora(folder)
    path, scores, step = folder / "peer.npz", np.zeros((TOKENS, TOKENS)), 0
    if path.exists():
        saved = np.load(path)
        scores, step = saved["scores"], int(saved["step"])
    for tokens, positions in itertools.islice(
        batches(folder), step, steps
    ):  # reads all before it again
        loss = learn(scores, tokens, positions)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            np.savez(folder / "new.npz", scores=scores, step=step)
            os.replace(folder / "new.npz", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
