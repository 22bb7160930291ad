# SPDX-License-Identifier: Apache-2.0
"""Packed and unpacked batches have the same loss in a model and the same gradients.

The model sees a sequence alone if each value attends only to values of its own segment and
positions restart in each segment. `pack` leaves almost no padding, so the same tokens take far
fewer rows. Runs on a CPU with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import levada as lv
import numpy as np
import torch
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LENGTH = 50, 32, 2, 64


class Model(torch.nn.Module):
    """One layer of causal attention inside segments, which predicts the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.places = torch.nn.Embedding(LENGTH, WIDTH)
        self.project = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Any, positions: Any, mask: Any) -> Any:
        rows, steps = tokens.shape
        x = self.tokens(tokens) + self.places(positions)
        parts = self.project(x).view(rows, steps, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
        return self.head(x + y.transpose(1, 2).reshape(rows, steps, WIDTH))


def block_mask(segments: Any) -> Any:
    """Values attend to earlier values of the same segment."""
    steps = segments.shape[1]
    same = segments[:, :, None] == segments[:, None, :]
    return same & torch.ones(steps, steps, dtype=torch.bool).tril()


def loss_of(model: Model, tokens: Any, positions: Any, segments: Any) -> Any:
    """Sum of the losses of all predictions, and their number."""
    logits = model(tokens, positions, block_mask(segments))
    follows = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] > 0)
    given, wanted = logits[:, :-1][follows], tokens[:, 1:][follows]
    return functional.cross_entropy(given, wanted, reduction="sum"), int(follows.sum())


def padded_loss(model: Model, batch: lv.Batch) -> Any:
    """A padded batch: segment ids and positions are views of it."""
    return loss_of(
        model,
        torch.from_numpy(batch["tokens"]).long(),
        torch.from_numpy(batch.positions("tokens")),
        torch.from_numpy(batch.segment_ids("tokens")),
    )


def flat_loss(model: Model, batch: lv.Batch) -> Any:
    """A ragged batch as one row without padding, as variable-length kernels read it."""
    given = batch.flash_attention("tokens")
    marks = torch.from_numpy(given["cu_seq_lens_q"]).long()
    segments = torch.repeat_interleave(torch.arange(1, len(marks)), marks.diff())[None]
    tokens, positions = (
        torch.from_numpy(given["input_ids"]),
        torch.from_numpy(given["position_ids"]),
    )
    return loss_of(model, tokens.long(), positions, segments)


def run(
    dataset: lv.Dataset[lv.Batch], loss_fn: Callable[[Model, lv.Batch], Any]
) -> tuple[float, Any, int]:
    """(loss per prediction, gradient of the first weight, values in all batches)."""
    torch.manual_seed(0)
    model = Model()
    total, count, values = 0.0, 0, 0
    for batch in dataset:
        loss, predictions = loss_fn(model, batch)
        loss.backward()
        total, count = total + float(loss.detach()), count + predictions
        tokens = batch["tokens"]
        values += len(tokens.values) if isinstance(tokens, lv.Ragged) else tokens.size
    gradient = model.tokens.weight.grad
    assert gradient is not None
    return total / count, gradient / count, values


def main() -> None:
    draw = np.random.default_rng(1)
    lengths = draw.integers(2, LENGTH, 200)
    sequences = [draw.integers(0, VOCABULARY, size, np.int32) for size in lengths]
    records = lv.from_arrays({"tokens": sequences})
    packed = records.pack(LENGTH)
    loss, gradient, values = run(records.padded_batch(8), padded_loss)
    print(f"padded: loss {loss:.5f}, {values} values")
    for name, dataset, loss_fn in (
        ("packed", packed.padded_batch(8), padded_loss),
        ("packed, flat", packed.batch(8), flat_loss),
    ):
        again, same, values = run(dataset, loss_fn)
        print(f"{name}: loss {again:.5f}, {values} values")
        assert abs(again - loss) < 1e-5 * loss
        torch.testing.assert_close(same, gradient, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    main()
