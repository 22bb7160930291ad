# SPDX-License-Identifier: Apache-2.0
"""Pre-training data: a mixture of two corpora, packed to full rows, resumed at the exact batch.

    python examples/llm_mixture.py [FOLDER STEPS]

Documents of two corpora are drawn with weights 0.7 and 0.3, packed into rows of 512 tokens, and
handed over as the inputs of FlashAttention. The model is a table of bigrams. Started again in the
same folder, the program continues with the step after the last checkpoint.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

TOKENS, EVERY = 200, 5


def write_corpora(folder: Path) -> None:
    """Two files of tokenized documents. Tokens of `web` are below 100, those of `code` above."""
    rng = np.random.default_rng(7)
    for name, low, count in (("web", 0, 350), ("code", TOKENS // 2, 150)):
        with open(folder / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                steps = rng.integers(1, 4, rng.integers(20, 400)).cumsum()
                file.write(json.dumps({"tokens": (low + steps % (TOKENS // 2)).tolist()}) + "\n")


def learn(scores: np.ndarray, tokens: np.ndarray, positions: np.ndarray) -> float:
    """One step on flat rows: each token predicts the next of its document. Returns the loss."""
    inside = positions[1:] > 0
    now, after = tokens[:-1][inside], tokens[1:][inside]
    chances = np.exp(scores[now])
    chances /= chances.sum(1, keepdims=True)
    rows = np.arange(len(now))
    loss = -np.log(chances[rows, after]).mean()
    chances[rows, after] -= 1
    np.subtract.at(scores, now, 20 * chances / len(now))
    return float(loss)


def corpus(path: Path) -> lv.Dataset:
    """Documents without an end, in another order in each epoch."""
    return lv.open(str(path)).shuffle(1000).repeat()


def batches(folder: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.mix(corpus(folder / "web.jsonl"), corpus(folder / "code.jsonl"), weights=[0.7, 0.3])
        .pack(512)
        .batch(8)
        .prefetch(2)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "code.jsonl").exists():
        write_corpora(folder)
    path, scores, step = folder / "run.ckpt", np.zeros((TOKENS, TOKENS)), 0
    with iter(batches(folder)) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            scores, step = pickle.loads(saved["model"])
        while step < steps:
            inputs = next(it).flash_attention("tokens")  # .torch() of each array for PyTorch
            loss = learn(scores, inputs["input_ids"][0], inputs["position_ids"][0])
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((scores, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
