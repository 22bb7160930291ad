# SPDX-License-Identifier: Apache-2.0
"""Learning to rank: queries with any number of candidates, and a loss over each list.

    python examples/ranking.py [FOLDER]

A line has a query, the features of its candidates, and the one that was clicked. Queries with
similar numbers of candidates share a batch. A linear model learns with a softmax over each list;
padding takes no part in it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

FEATURES = 4


def write_queries(path: Path) -> None:
    rng = np.random.default_rng(7)
    taste = rng.normal(size=FEATURES)
    with open(path, "w") as file:
        for query in range(2000):
            items = rng.normal(size=(rng.integers(2, 60), FEATURES)).round(3)
            clicked = int(np.argmax(items @ taste + rng.gumbel(0, 0.3, len(items))))
            line = {"query": query, "items": items.tolist(), "clicked": clicked}
            file.write(json.dumps(line) + "\n")


def batches(path: Path) -> lv.Dataset:
    fields = {"query": lv.int64, "items": [[lv.float32]], "clicked": lv.int64}
    return (
        lv.jsonl(str(path), fields=fields)
        .shuffle(10_000)
        .bucket_by_sequence_length("items", max_tokens=2048, lookahead=2000)
        .with_options(seed=1)
    )


def train(ds: lv.Dataset, weights: np.ndarray) -> float:
    """One epoch; returns the share of queries whose clicked candidate has the highest score."""
    right = total = 0
    for batch in ds:
        items, real, clicked = batch["items"], batch.mask("items"), batch["clicked"]
        scores = np.where(real, items @ weights, -np.inf)
        chance = np.exp(scores - scores.max(1, keepdims=True))
        chance /= chance.sum(1, keepdims=True)
        right += int((scores.argmax(1) == clicked).sum())
        total += len(clicked)
        chance[np.arange(len(clicked)), clicked] -= 1
        weights -= 0.3 * np.einsum("bn,bnf->f", chance, items) / len(clicked)
    return right / total


def main(folder: Path) -> None:
    write_queries(folder / "queries.jsonl")
    ds, weights = batches(folder / "queries.jsonl"), np.zeros(FEATURES)
    for epoch in range(3):
        print(f"epoch {epoch}: {train(ds, weights):.0%} of the clicks are ranked first")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
