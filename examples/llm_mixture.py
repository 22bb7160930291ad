# SPDX-License-Identifier: Apache-2.0
"""Pre-training data: a mixture of two corpora, packed to full rows, resumed at the exact batch.

    python examples/llm_mixture.py [FOLDER]

Documents of two corpora are drawn with weights 0.7 and 0.3, packed into rows of 512 tokens, and
handed over as the inputs of FlashAttention. The program stops after four batches, as a killed job
does, and a second iterator continues with the fifth.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np


def write_corpora(folder: Path) -> None:
    """Two files of tokenized documents. Tokens of `web` are below 1,000, those of `code` above."""
    rng = np.random.default_rng(7)
    for name, low, count in (("web", 0, 700), ("code", 1000, 300)):
        with lv.TFRecordWriter(str(folder / f"{name}.tfrecord")) as writer:
            for _ in range(count):
                tokens = low + rng.integers(0, 1000, rng.integers(20, 400))
                writer.write(lv.make_example({"tokens": tokens}))


def corpus(folder: Path, name: str) -> lv.Dataset:
    """Documents without an end, in another order in each epoch."""
    spec = {"tokens": lv.VarLenFeature(lv.int32)}
    return lv.tfrecord(str(folder / f"{name}.tfrecord")).shuffle(1000).parse_example(spec).repeat()


def batches(folder: Path) -> lv.Dataset:
    return (
        lv.mix(corpus(folder, "web"), corpus(folder, "code"), weights=[0.7, 0.3])
        .pack(512)
        .batch(8)
        .prefetch(2)
        .with_options(seed=1)
    )


def main(folder: Path) -> None:
    write_corpora(folder)
    ds = batches(folder)
    with iter(ds) as it:
        inputs = next(it).flash_attention("tokens")  # .torch() of each array for PyTorch
        for _step in range(3):
            inputs = next(it).flash_attention("tokens")
        lv.save_checkpoint(folder / "data.ckpt", data=it.save())
        expected = next(it)["tokens"].values
    print({name: np.shape(value) for name, value in inputs.items()})
    tokens = inputs["input_ids"]
    print(f"code: {(tokens >= 1000).mean():.0%}, padding: {1 - tokens.size / (8 * 512):.1%}")

    with iter(ds) as it:  # after the crash
        it.restore(lv.load_checkpoint(folder / "data.ckpt")["data"])
        print("the next batch is the same:", np.array_equal(next(it)["tokens"].values, expected))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
