# SPDX-License-Identifier: Apache-2.0
"""Truncated back-propagation as in TensorFlow 1.x, with states that survive a crash.

    python examples/state_saver.py [FOLDER STEPS]

Recordings of a walk are cut into segments of 16 steps by `batch_sequences_with_states`. The model
predicts the next value from this one and from a state, a decaying mean that is carried from segment
to segment. A checkpoint has the model, the position of the data, and the state of all unfinished
recordings, which TensorFlow loses.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np
from levada import train as lt

UNROLL, BATCH, EVERY = 16, 8, 5


def write_walks(path: Path) -> None:
    rng = np.random.default_rng(7)
    with lv.TFRecordWriter(str(path)) as writer:
        for i in range(60):
            x = np.convolve(rng.normal(size=rng.integers(30, 200)), np.ones(4) / 4)
            writer.write(lv.make_sequence_example({"name": f"walk {i}"}, {"x": x}))


def learn(weights: np.ndarray, x: np.ndarray, real: np.ndarray, mean: np.ndarray) -> Any:
    """One step on a segment [B, T]. Returns the loss, and the decaying means after it."""
    error, gradient = 0.0, np.zeros_like(weights)
    for t in range(x.shape[1] - 1):
        mean = np.where(real[:, t], 0.8 * mean + 0.2 * x[:, t], mean)
        inputs = np.stack([x[:, t], mean, np.ones(len(x))], 1)
        missed = (inputs @ weights - x[:, t + 1]) * real[:, t + 1]
        error, gradient = error + (missed**2).sum(), gradient + inputs.T @ missed
    count = max(int(real[:, 1:].sum()), 1)
    weights -= 0.1 * gradient / count
    return error / count, np.where(real[:, -1], 0.8 * mean + 0.2 * x[:, -1], mean)


def recordings(path: Path) -> lv.Dataset[Any]:
    return (
        lv.tfrecord(str(path))
        .shuffle(100)
        .repeat()
        .parse_sequence_example(
            context={"name": lv.FixedLenFeature([], lv.string)},
            sequences={"x": lv.FixedLenSequenceFeature([], lv.float32)},
        )
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "walks.tfrecord").exists():
        write_walks(folder / "walks.tfrecord")
    batches = lt.batch_sequences_with_states(
        recordings(folder / "walks.tfrecord"), input_key="name", input_sequences=["x"],
        input_context=[], input_length=None, initial_states={"mean": np.zeros((), np.float64)},
        num_unroll=UNROLL, batch_size=BATCH, num_threads=1, capacity=BATCH, make_keys_unique=True,
    )  # fmt: skip
    path, weights, step = folder / "run.ckpt", np.zeros(3), 0
    if path.exists():
        saved = lv.load_checkpoint(path)
        batches.saver.restore(saved["data"])
        weights, step = pickle.loads(saved["model"])
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    while step < steps:
        batch = batches()
        real = np.arange(UNROLL) < batch.length[:, None]
        loss, mean = learn(weights, batch.sequences["x"], real, batch.state("mean"))
        batch.save_state("mean", mean)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            lv.save_checkpoint(path, data=batches.saver.save(), model=pickle.dumps((weights, step)))
    coord.request_stop()
    coord.join(threads)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
