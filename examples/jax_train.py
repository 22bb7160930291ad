# SPDX-License-Identifier: Apache-2.0
"""A next-byte model in JAX. Buckets keep the number of shapes, and so of compilations, small.

python examples/jax_train.py FOLDER [STEPS]
"""

from __future__ import annotations

import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import levada as lv


def dataset(folder: str) -> lv.Dataset[lv.Batch]:
    return (
        lv.tfrecord(os.path.join(folder, "train-*.tfrecord.gz"))
        .shuffle(300, seed=7)
        .parse_example({"tokens": lv.VarLenFeature(lv.int64)})
        .repeat()
        .bucket_by_sequence_length(
            "tokens",
            boundaries=[65, 129, 257, 1025],
            batch_sizes=[32, 16, 8, 2, 1],
            pad_to_bucket_boundary=True,  # one shape per bucket
        )
        .with_options(seed=1)
    )


def loss_of(table: Any, tokens: Any, lengths: Any) -> Any:
    """Mean loss of a table of bigrams; positions beyond the length do not count."""
    logits = jax.nn.log_softmax(table[tokens[:, :-1]])
    losses = -jnp.take_along_axis(logits, tokens[:, 1:, None], 2)[..., 0]
    real = jnp.arange(losses.shape[1]) < lengths[:, None] - 1
    return (losses * real).sum() / real.sum()


def main(folder: str, steps: int) -> None:
    if not os.path.exists(os.path.join(folder, "spec.json")):
        lv.samples.write(folder)
    update = jax.jit(jax.value_and_grad(loss_of))
    table = jnp.zeros((256, 256))
    for step, batch in enumerate(dataset(folder).take(steps), 1):
        arrays = batch.jax()
        loss, gradient = update(table, arrays["tokens"], jnp.asarray(batch.lengths("tokens")))
        table = table - 5.0 * gradient
        print(f"step {step} loss {float(loss):.6f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
