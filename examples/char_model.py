# SPDX-License-Identifier: Apache-2.0
"""A character model on real text, trained with truncated back-propagation, in NumPy alone.

Each paragraph is a sequence, cut into segments of 16 characters. A GRU, with gradients written by
hand, reads them through `batch_sequences_with_states`: once with the state carried from segment to
segment, and once reset to zero at every segment. Both see the same characters. Run it:

    python examples/char_model.py [TEXT FILE]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np
from levada import train as lt

HIDDEN, UNROLL, BATCH = 64, 16, 16
Params = dict[str, np.ndarray]


def make_params(symbols: int, hidden: int = HIDDEN, seed: int = 7) -> Params:
    """Weights of a GRU (update gate, reset gate, candidate) and of the output layer."""
    rng = np.random.default_rng(seed)

    def draw(rows: int, columns: int) -> np.ndarray:
        return rng.normal(0, rows**-0.5, (rows, columns))

    return {
        "wx": draw(symbols, 3 * hidden), "wh": draw(hidden, 3 * hidden),
        "b": np.zeros(3 * hidden), "wo": draw(hidden, symbols), "bo": np.zeros(symbols),
    }  # fmt: skip


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


def forward(p: Params, x: np.ndarray, y: np.ndarray, h: np.ndarray, real: np.ndarray) -> Any:
    """(sum of losses, last state, what `backward` needs); x, y: [batch, steps], real: a mask."""
    size, tape, loss = h.shape[1], [], 0.0
    for t in range(x.shape[1]):
        gates, inner = p["wx"][x[:, t]] + p["b"], h @ p["wh"]
        z = sigmoid(gates[:, :size] + inner[:, :size])
        r = sigmoid(gates[:, size : 2 * size] + inner[:, size : 2 * size])
        n = np.tanh(gates[:, 2 * size :] + r * inner[:, 2 * size :])
        after = np.where(real[:, t, None], (1 - z) * n + z * h, h)
        logits = after @ p["wo"] + p["bo"]
        logits -= logits.max(1, keepdims=True)
        chance = np.exp(logits)
        chance /= chance.sum(1, keepdims=True)
        loss -= (np.log(chance[np.arange(len(x)), y[:, t]]) * real[:, t]).sum()
        tape.append((h, z, r, n, inner[:, 2 * size :], after, chance))
        h = after
    return loss, h, tape


def backward(p: Params, x: np.ndarray, y: np.ndarray, real: np.ndarray, tape: list[Any]) -> Params:
    """Gradients of the sum of losses. They stop at the beginning of the segment."""
    g = {name: np.zeros_like(value) for name, value in p.items()}
    dh = np.zeros_like(tape[0][0])
    for t in reversed(range(x.shape[1])):
        h, z, r, n, inner_n, after, chance = tape[t]
        mask = real[:, t, None]
        d = chance.copy()
        d[np.arange(len(x)), y[:, t]] -= 1
        d *= mask
        g["wo"] += after.T @ d
        g["bo"] += d.sum(0)
        dh = dh + d @ p["wo"].T
        kept, dh = dh * ~mask, dh * mask
        dz = dh * (h - n) * z * (1 - z)
        dn = dh * (1 - z) * (1 - n * n)
        dr = dn * inner_n * r * (1 - r)
        gates = np.concatenate([dz, dr, dn], 1)
        inner = np.concatenate([dz, dr, dn * r], 1)
        np.add.at(g["wx"], x[:, t], gates)
        g["b"] += gates.sum(0)
        g["wh"] += h.T @ inner
        dh = kept + dh * z + inner @ p["wh"].T
    return g


def largest_gradient_error(seed: int = 3) -> float:
    """The hand-written gradients against finite differences, relative to the largest gradient."""
    rng = np.random.default_rng(seed)
    p = make_params(5, 4, seed)
    x, y = rng.integers(0, 5, (2, 3, 6))
    real = np.arange(6) < np.array([[6], [4], [0]])
    h = rng.normal(size=(3, 4))
    _, _, tape = forward(p, x, y, h, real)
    worst = 0.0
    for name, gradient in backward(p, x, y, real, tape).items():
        for at in np.ndindex(gradient.shape):
            kept, found = p[name][at], []
            for step in (1e-5, -1e-5):
                p[name][at] = kept + step
                found.append(forward(p, x, y, h, real)[0])
            p[name][at] = kept
            difference = (found[0] - found[1]) / 2e-5 - gradient[at]
            worst = max(worst, abs(difference) / max(np.abs(gradient).max(), 1e-6))
    return worst


class Adam:
    """The optimizer, with gradients clipped to a norm of 1."""

    def __init__(self, p: Params, rate: float = 4e-3) -> None:
        self.p, self.rate, self.step = p, rate, 0
        self.first = {name: np.zeros_like(value) for name, value in p.items()}
        self.second = {name: np.zeros_like(value) for name, value in p.items()}

    def update(self, g: Params) -> None:
        self.step += 1
        norm = np.sqrt(sum((value * value).sum() for value in g.values()))
        for name, value in g.items():
            value = value / max(norm, 1.0)
            self.first[name] += 0.1 * (value - self.first[name])
            self.second[name] += 0.001 * (value * value - self.second[name])
            mean = self.first[name] / (1 - 0.9**self.step)
            square = self.second[name] / (1 - 0.999**self.step)
            self.p[name] -= self.rate * mean / (np.sqrt(square) + 1e-8)


def paragraphs(text: str, epochs: int, symbols: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Examples: what the model reads, and the same one character later."""
    parts = [part for part in text.split("\n\n") if len(part) > UNROLL]
    for epoch in range(epochs):
        for i in np.random.default_rng(epoch).permutation(len(parts)):
            codes = np.array([symbols[c] for c in parts[i]], np.int32)
            yield {"key": f"{epoch}/{i}", "x": codes[:-1], "y": codes[1:]}


def train(text: str, carry: bool, steps: int) -> list[float]:
    """Nats per character in each step."""
    symbols = {c: i for i, c in enumerate(sorted(set(text)))}
    p = make_params(len(symbols))
    adam, losses = Adam(p), []
    batches = lt.batch_sequences_with_states(
        paragraphs(text, 1000, symbols), input_key="key", input_sequences=["x", "y"],
        input_context=[], input_length=None, initial_states={"h": np.zeros(HIDDEN)},
        num_unroll=UNROLL, batch_size=BATCH, num_threads=1, capacity=2 * BATCH,
    )  # fmt: skip
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    for batch in batches:
        x, y = batch.sequences["x"], batch.sequences["y"]
        real = np.arange(UNROLL) < batch.length[:, None]
        h = batch.state("h") if carry else np.zeros((batch.batch_size, HIDDEN))
        loss, h, tape = forward(p, x, y, h, real)
        adam.update({k: v / real.sum() for k, v in backward(p, x, y, real, tape).items()})
        batch.save_state("h", h)
        losses.append(loss / real.sum())
        if len(losses) == steps:
            break
    coord.request_stop()
    coord.join(threads)
    lt.clear_collection("queue_runners")
    return losses


def compare(text: str, steps: int, points: int = 10) -> tuple[list[float], list[float]]:
    """Both curves: means of a tenth (1 / points) of the steps each."""
    curves = []
    for carry in (True, False):
        losses = np.array(train(text, carry, steps))
        curves.append([float(part.mean()) for part in np.array_split(losses, points)])
    return curves[0], curves[1]


def picture(carried: list[float], reset: list[float], steps: int) -> str:
    """Both curves over the steps, and how they end."""
    low, high = min(carried + reset), max(carried[1:] + reset[1:])
    grid = [[" "] * len(carried) for _ in range(14)]
    for curve, mark in ((reset, "o"), (carried, "#")):
        for column, loss in enumerate(curve):
            row = round((high - loss) / (high - low) * 13)
            grid[max(row, 0)][column] = mark
    lines = ["loss in nats per character: # with carried state, o reset at every segment"]
    for i, cells in enumerate(grid):
        lines.append(f"{high - i * (high - low) / 13:6.2f} |{''.join(cells).rstrip()}")
    lines.append(f"       +{'-' * len(carried)} {steps} steps")
    ends = (float(np.mean(curve[-len(curve) // 10 :])) for curve in (carried, reset))
    return "\n".join(lines) + "\nat the end: carried {:.3f}, reset {:.3f}".format(*ends)


def main() -> None:
    if len(sys.argv) > 1:
        text = Path(sys.argv[1]).read_text()
    else:
        with tempfile.TemporaryDirectory() as folder:
            lv.samples.write(folder)
            lines = (Path(folder) / "speeches.txt").read_text().splitlines()
        text = "\n\n".join("\n".join(lines[i : i + 8]) for i in range(0, len(lines), 8))
    print(f"gradients: error {largest_gradient_error():.1e} against finite differences")
    steps = 600
    print(picture(*compare(text, steps, 50), steps))


if __name__ == "__main__":
    main()
