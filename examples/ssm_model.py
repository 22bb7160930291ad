# SPDX-License-Identifier: Apache-2.0
"""A diagonal state-space model on long sequences, with a reset mask inside a chunked scan.

`unroll` cuts sequences of up to 1,000 steps into segments of 32. A sequence keeps its row of the
batch, so the state of a row is carried to the next segment, and reset where a sequence begins. The
target is a slow average of the inputs, which no segment shows by itself. NumPy alone:

    python examples/ssm_model.py
"""

from __future__ import annotations

from typing import Any

import levada as lv
import numpy as np

CHANNELS, UNROLL, CHUNK, SLOTS, DECAY = 16, 32, 8, 16, 0.98
Params = dict[str, np.ndarray]


def make_params(seed: int = 5) -> Params:
    """Decays sigmoid(a) from 0.5 to 0.99, weights of the input (b) and of the output (c)."""
    rng = np.random.default_rng(seed)
    decay = 1 - np.geomspace(0.5, 0.01, CHANNELS)
    return {
        "a": np.log(decay / (1 - decay)),
        "b": rng.normal(0, 0.3, CHANNELS),
        "c": rng.normal(0, 0.3, CHANNELS),
    }


def decays(p: Params, reset: np.ndarray, real: np.ndarray) -> np.ndarray:
    """What each step keeps of the state [B, T, N]: 0 where a sequence begins, 1 in padding."""
    kept = 1 / (1 + np.exp(-p["a"])) * ~reset[:, :, None]
    return np.where(real[:, :, None], kept, 1.0)


def transfer(keep: np.ndarray) -> np.ndarray:
    """[B, K, K, N]: what step t of a chunk has of the input of step s, the decays between them."""
    size = keep.shape[1]
    matrix = np.zeros((len(keep), size, size, keep.shape[2]))
    for t in range(size):
        matrix[:, t, t] = 1
        if t:
            matrix[:, t, :t] = matrix[:, t - 1, :t] * keep[:, t, None]
    return matrix


def scan(keep: np.ndarray, inputs: np.ndarray, h: np.ndarray) -> np.ndarray:
    """All states [B, T, N] of h' = keep * h + input. Steps of a chunk are computed together."""
    states = np.empty_like(inputs)
    for at in range(0, inputs.shape[1], CHUNK):
        part = slice(at, at + CHUNK)
        inside = np.einsum("btsn,bsn->btn", transfer(keep[:, part]), inputs[:, part])
        states[:, part] = inside + np.cumprod(keep[:, part], 1) * h[:, None]
        h = states[:, part][:, -1]
    return states


def forward(
    p: Params, x: np.ndarray, y: np.ndarray, h: np.ndarray, reset: np.ndarray, real: np.ndarray
) -> tuple[float, np.ndarray, Any]:
    """(sum of squared errors, last state, what `backward` needs); x, y, reset, real: [B, T]."""
    keep = decays(p, reset, real)
    states = scan(keep, x[:, :, None] * p["b"] * real[:, :, None], h)
    error = (states @ p["c"] - y) * real
    return (error**2).sum(), states[:, -1], (keep, states, error)


def backward(
    p: Params, x: np.ndarray, h: np.ndarray, reset: np.ndarray, real: np.ndarray, tape: Any
) -> Params:
    """Gradients of the sum. They stop at the beginning of the segment. The same scan, backward."""
    keep, states, error = tape
    inputs = 2 * error[:, :, None] * p["c"]
    later = np.concatenate([keep[:, 1:], np.ones_like(keep[:, :1])], 1)  # what step t + 1 keeps
    dh = scan(later[:, ::-1], inputs[:, ::-1], np.zeros_like(h))[:, ::-1]
    before = np.concatenate([h[:, None], states[:, :-1]], 1)
    decay = 1 / (1 + np.exp(-p["a"]))
    moves = (real & ~reset)[:, :, None] * before * decay * (1 - decay)
    return {
        "a": (dh * moves).sum((0, 1)),
        "b": (dh * (x * real)[:, :, None]).sum((0, 1)),
        "c": (2 * error[:, :, None] * states).sum((0, 1)),
    }


def largest_gradient_error(seed: int = 3) -> float:
    """Gradients against finite differences, relative to the largest; resets inside chunks, too."""
    rng = np.random.default_rng(seed)
    p = make_params(seed)
    x, y = rng.normal(size=(2, 4, 2 * CHUNK))
    reset, h = rng.random(x.shape) < 0.1, rng.normal(size=(4, CHANNELS))
    real = np.arange(2 * CHUNK) < np.array([[16], [9], [3], [0]])
    _, _, tape = forward(p, x, y, h, reset, real)
    worst = 0.0
    for name, gradient in backward(p, x, h, reset, real, tape).items():
        for at in range(CHANNELS):
            kept, found = p[name][at], []
            for step in (1e-5, -1e-5):
                p[name][at] = kept + step
                found.append(forward(p, x, y, h, reset, real)[0])
            p[name][at] = kept
            difference = (found[0] - found[1]) / 2e-5 - gradient[at]
            worst = max(worst, abs(difference) / np.abs(gradient).max())
    return worst


def sequences(count: int = 200, seed: int = 1) -> lv.Dataset:
    """Noise `x`, and `y`: its slow average, of standard deviation 1."""
    rng = np.random.default_rng(seed)
    xs, ys = [], []
    for _ in range(count):
        x, y = rng.normal(size=rng.integers(200, 1000)), 0.0
        ys.append(np.array([y := DECAY * y + (1 - DECAY**2) ** 0.5 * value for value in x]))
        xs.append(x)
    return lv.from_arrays({"x": xs, "y": ys})


def train(carry: bool, steps: int) -> list[float]:
    """Mean squared error in each step."""
    p, losses = make_params(), []
    square = {name: np.zeros(CHANNELS) for name in p}
    h = np.zeros((SLOTS, CHANNELS))
    ds = sequences().shuffle(200, seed=2).repeat().unroll(UNROLL, batch_size=SLOTS)
    for batch in ds.take(steps):
        real = batch.mask("x")
        reset = np.zeros(real.shape, bool)
        reset[:, 0] = batch["is_first"] if carry else True
        start = h
        loss, h, tape = forward(p, batch["x"], batch["y"], start, reset, real)
        for name, gradient in backward(p, batch["x"], start, reset, real, tape).items():
            gradient = gradient / real.sum()
            square[name] = 0.95 * square[name] + 0.05 * gradient**2
            p[name] -= 0.01 * gradient / (np.sqrt(square[name]) + 1e-6)
        losses.append(loss / real.sum())
    return losses


def compare(steps: int) -> tuple[list[float], list[float]]:
    """Both curves: means of a tenth of the steps each."""
    curves = [np.array_split(np.array(train(carry, steps)), 10) for carry in (True, False)]
    carried, reset = ([float(part.mean()) for part in curve] for curve in curves)
    return carried, reset


def main() -> None:
    print(f"gradients: error {largest_gradient_error():.1e} against finite differences")
    steps = 400
    carried, reset = compare(steps)
    print("mean squared error; # carried state, - reset at every segment")
    for i, (a, b) in enumerate(zip(carried, reset, strict=True), 1):
        print(f"step {i * steps // 10:4}  {a:.3f} {'#' * int(a * 50)}")
        print(f"           {b:.3f} {'-' * int(b * 50)}")
    print(f"carried: {carried[-1]:.3f}, reset: {reset[-1]:.3f}")


if __name__ == "__main__":
    main()
