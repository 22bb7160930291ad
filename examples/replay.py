# SPDX-License-Identifier: Apache-2.0
"""Replay in reinforcement learning: actors append episodes to files, the learner reads segments.

    python examples/replay.py [FOLDER]

Each round writes a file of episodes, and trains on segments of the newest files. A segment repeats
the last four steps of the one before it (burn-in), so that a recurrent model can refresh the state
that was stored when the episode was played. `loss_mask` excludes these steps from the loss.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

KEPT, STEPS, BURN_IN, STATE = 3, 16, 4, 8  # files, steps in a segment, repeated steps, state


def play(path: Path, rng: np.random.Generator) -> None:
    """Writes 20 episodes; the file appears when it is complete."""
    with lv.TFRecordWriter(str(path)) as writer:
        for _ in range(20):
            steps = int(rng.integers(10, 100))
            sequences: dict[str, np.ndarray] = {
                "observation": rng.normal(size=(steps, 4)).astype(np.float32),
                "action": rng.integers(0, 3, steps),
                "reward": rng.normal(size=steps).astype(np.float32),
                "state": rng.normal(size=(steps, STATE)).astype(np.float32),
            }
            writer.write(lv.make_sequence_example({}, sequences))


def segments(files: list[Path], seed: int) -> lv.Dataset:
    step = lv.FixedLenSequenceFeature
    return (
        lv.tfrecord([str(file) for file in files], shuffle_files=True)
        .shuffle(1000)
        .parse_sequence_example(
            context={},
            sequences={
                "observation": step([4], lv.float32), "action": step([], lv.int64),
                "reward": step([], lv.float32), "state": step([STATE], lv.float32),
            },
        )
        .unroll(STEPS, batch_size=8, burn_in=BURN_IN)
        .with_options(seed=seed)
    )  # fmt: skip


def main(folder: Path) -> None:
    rng = np.random.default_rng(7)
    for number in range(5):
        play(folder / f"episodes-{number:03}.tfrecord", rng)
        files = sorted(folder.glob("episodes-*.tfrecord"))[-KEPT:]
        batches = learned = repeated = 0
        for batch in segments(files, seed=number):
            start = batch["state"][:, 0]  # the stored state with which each segment begins
            assert start.shape == (8, STATE)
            batches += 1
            learned += int(batch["loss_mask"].sum())
            repeated += int((batch.mask("reward") & ~batch["loss_mask"]).sum())
        print(f"round {number}: {batches} batches, {learned:,} steps", end="")
        print(f" with a loss, {repeated:,} steps of burn-in")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
