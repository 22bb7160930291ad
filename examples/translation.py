# SPDX-License-Identifier: Apache-2.0
"""Translation: batches whose sources and whose targets have similar lengths.

    python examples/translation.py [FOLDER]

A pair has two lengths, and both are padded. The budget limits the sum of both, so a batch never
exceeds the memory that it is planned for. `cost="2d"` limits the product instead, which is what
a transducer, or attention from target to source, computes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

BOS = 1


def write_pairs(path: Path) -> None:
    """The target is about as long as the source, but not always."""
    rng = np.random.default_rng(7)
    with open(path, "w") as file:
        for _ in range(3000):
            n = int(rng.gamma(2, 12)) + 1
            m = max(1, int(n * rng.normal(1.1, 0.2)))
            pair = {"source": rng.integers(3, 999, n).tolist(), "target": [BOS, *[7] * m]}
            file.write(json.dumps(pair) + "\n")


def batches(path: Path, cost: str, budget: int) -> lv.Dataset:
    return (
        lv.jsonl(str(path), fields={"source": [lv.int32], "target": [lv.int32]})
        .shuffle(10_000)
        .bucket_by_sequence_length(
            ["source", "target"], max_tokens=budget, lookahead=3000, cost=cost
        )
        .with_options(seed=1)
    )


def main(folder: Path) -> None:
    write_pairs(folder / "pairs.jsonl")
    for cost, budget in (("linear", 4096), ("2d", 40_000)):
        cells = tokens = largest = 0
        for batch in batches(folder / "pairs.jsonl", cost, budget):
            source, target = batch["source"], batch["target"]
            decoder_input, labels = target[:, :-1], target[:, 1:]
            assert decoder_input.shape == labels.shape
            cells += source.size + target.size
            tokens += int(batch.lengths("source").sum() + batch.lengths("target").sum())
            rows, n, m = len(source), source.shape[1], target.shape[1]
            largest = max(largest, rows * (n + m) if cost == "linear" else rows * n * m)
        print(f"{cost}: {1 - tokens / cells:.1%} padding, at most {largest:,} of {budget:,}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
