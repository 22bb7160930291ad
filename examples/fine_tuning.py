# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning on prompts and answers: the loss ignores the prompt and the padding.

    python examples/fine_tuning.py [FOLDER]

Each line of the file has the tokens of a prompt and of an answer. `labels` repeats the tokens, with
-100, which the cross entropy of PyTorch ignores, in place of the prompt and in padding.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np

IGNORED = -100


def write_dialogs(path: Path) -> None:
    rng = np.random.default_rng(7)
    with open(path, "w") as file:
        for _ in range(500):
            prompt = rng.integers(1, 1000, rng.integers(5, 200)).tolist()
            answer = rng.integers(1, 1000, rng.integers(5, 300)).tolist()
            file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")


def join(record: dict[str, Any]) -> dict[str, Any]:
    """One sequence, with labels where the model learns."""
    prompt, answer = record["prompt"], record["answer"]
    labels = np.concatenate([np.full(len(prompt), IGNORED), answer])
    return {"tokens": np.concatenate([prompt, answer]), "labels": labels}


def batches(path: Path) -> lv.Dataset:
    return (
        lv.jsonl(str(path), fields={"prompt": [lv.int64], "answer": [lv.int64]})
        .shuffle(10_000)
        .map(join)
        .bucket_by_sequence_length(
            "tokens", max_tokens=8192, lookahead=4000, pad_to_multiple=8,
            padding_values={"tokens": 0, "labels": IGNORED},
        )
        .with_options(seed=1)
    )  # fmt: skip


def main(folder: Path) -> None:
    write_dialogs(folder / "dialogs.jsonl")
    cells = tokens = learned = 0
    with iter(batches(folder / "dialogs.jsonl")) as it:
        for batch in it:
            cells += batch["tokens"].size
            tokens += int(batch.lengths("tokens").sum())
            learned += int((batch["labels"] != IGNORED).sum())
    print(f"{cells:,} cells, {1 - tokens / cells:.1%} padding")
    print(f"{learned:,} labels in {tokens:,} tokens")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
