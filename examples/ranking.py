# SPDX-License-Identifier: Apache-2.0
"""Learning to rank: queries with any number of candidates, and a loss over each list.

    python examples/ranking.py [FOLDER STEPS]

A SequenceExample has a query with the candidate that was clicked (its context), and the features
of its candidates (a sequence). Queries with similar numbers of candidates share a batch. A linear
model learns with a softmax over each list; padding takes no part in it. Started again in the same
folder, the program continues with the step after the last checkpoint.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

FEATURES, EVERY = 4, 5


def write_queries(path: Path) -> None:
    rng = np.random.default_rng(7)
    taste = rng.normal(size=FEATURES)
    with lv.TFRecordWriter(str(path)) as writer:
        for query in range(1000):
            items = rng.normal(size=(rng.integers(2, 60), FEATURES)).astype(np.float32)
            clicked = int(np.argmax(items @ taste + rng.gumbel(0, 0.3, len(items))))
            context = {"query": query, "clicked": clicked}
            writer.write(lv.make_sequence_example(context, {"items": items}))


def learn(weights: np.ndarray, items: np.ndarray, real: np.ndarray, clicked: np.ndarray) -> float:
    """One step on candidates [B, N, 4], of which `real` are no padding. Returns the loss."""
    scores = np.where(real, items @ weights, -np.inf)
    chances = np.exp(scores - scores.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    rows = np.arange(len(clicked))
    loss = -np.log(chances[rows, clicked]).mean()
    chances[rows, clicked] -= 1
    weights -= 0.3 * np.einsum("bn,bnf->f", chances, items) / len(clicked)
    return float(loss)


def batches(path: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.tfrecord(str(path))
        .shuffle(10_000)
        .repeat()
        .parse_sequence_example(
            context={"clicked": lv.FixedLenFeature([], lv.int64)},
            sequences={"items": lv.FixedLenSequenceFeature([FEATURES], lv.float32)},
        )
        .bucket_by_sequence_length("items", max_tokens=2048, lookahead=2000)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "queries.tfrecord").exists():
        write_queries(folder / "queries.tfrecord")
    path, weights, step = folder / "run.ckpt", np.zeros(FEATURES), 0
    with iter(batches(folder / "queries.tfrecord")) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            weights, step = pickle.loads(saved["model"])
        while step < steps:
            batch = next(it)
            loss = learn(weights, batch["items"], batch.mask("items"), batch["clicked"])
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((weights, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
