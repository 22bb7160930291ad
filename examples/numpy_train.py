# SPDX-License-Identifier: Apache-2.0
"""A bag-of-bytes classifier in NumPy, with a checkpoint of the model and of the data in one file.

    python examples/numpy_train.py FOLDER [STEPS]

It learns which of the sample speeches are long. Started again, it resumes where it was.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import levada as lv
import numpy as np

EVERY = 5


def dataset(folder: str) -> lv.Dataset[lv.Batch]:
    return (
        lv.tfrecord(os.path.join(folder, "train-*.tfrecord.gz"))
        .shuffle(300, seed=7)
        .parse_example({"tokens": lv.VarLenFeature(lv.int64)})
        .repeat()
        .padded_batch(32)
        .with_options(seed=1)
    )


def loss_and_gradient(weights: np.ndarray[Any, Any], batch: lv.Batch) -> tuple[float, Any]:
    """Logistic regression of "longer than 100 tokens" on how often each byte occurs."""
    tokens, mask, lengths = batch["tokens"], batch.mask("tokens"), batch.lengths("tokens")
    counts = np.zeros((len(batch), 257))
    rows = np.broadcast_to(np.arange(len(batch))[:, None], tokens.shape)
    np.add.at(counts, (rows[mask], tokens[mask]), 1.0)
    counts[:, :256] /= 100
    counts[:, 256] = 1
    target = lengths > 100
    chance = 1 / (1 + np.exp(-np.clip(counts @ weights, -30, 30)))
    loss = -np.log(np.where(target, chance, 1 - chance)).mean()
    return float(loss), counts.T @ (chance - target) / len(batch)


def main(folder: str, steps: int) -> None:
    if not os.path.exists(os.path.join(folder, "spec.json")):
        lv.samples.write(folder)
    path = os.path.join(folder, "numpy.ckpt")
    weights, step = np.zeros(257), 0
    with iter(dataset(folder)) as it:
        if os.path.exists(path):
            saved = lv.load_checkpoint(path)
            weights, step = np.frombuffer(saved["weights"]), int(saved["step"])
            it.restore(saved["data"])
        for batch in it:
            loss, gradient = loss_and_gradient(weights, batch)
            weights = weights - 0.5 * gradient
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                model = {"weights": weights.tobytes(), "step": str(step).encode()}
                lv.save_checkpoint(path, data=it.save(), **model)
            if step >= steps:
                break


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
