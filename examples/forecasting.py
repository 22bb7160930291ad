# SPDX-License-Identifier: Apache-2.0
"""Forecasting: a CSV file of many sensors becomes windows; a linear model predicts the next day.

    python examples/forecasting.py [FOLDER STEPS]

Rows are (time, sensor, value), sorted by sensor, with values missing. `group_by` makes one series
of the rows of a sensor, and `window_steps` cuts it into windows of four days: the model learns the
last day from the three before it. Started again in the same folder, the program continues with the
step after the last checkpoint.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

DAY, PAST, EVERY = 24, 72, 5


def write_series(path: Path) -> None:
    """Series of different lengths: a day, a week, and noise."""
    rng = np.random.default_rng(7)
    with open(path, "w") as file:
        file.write("time,sensor,value\n")
        for sensor in range(30):
            hours = np.arange(rng.integers(100, 400)) + rng.integers(0, 168)
            waves = np.sin(hours * 2 * np.pi / DAY) + 0.5 * np.sin(hours * 2 * np.pi / 168)
            times = np.datetime64("2026-01-01T00", "h") + hours
            for time, value in zip(times, waves + rng.normal(0, 0.1, len(hours)), strict=True):
                shown = "" if rng.random() < 0.01 else f"{value:.3f}"
                file.write(f"{time}:00:00,s{sensor:03},{shown}\n")


def learn(weights: np.ndarray, windows: np.ndarray) -> float:
    """One step of linear regression on [B, PAST + DAY]. Returns the loss."""
    windows = np.nan_to_num(windows)
    inputs = np.concatenate([windows[:, :PAST], np.ones((len(windows), 1))], 1)
    error = inputs @ weights - windows[:, PAST:]
    weights -= 0.01 * inputs.T @ error / len(error)
    return float((error**2).mean())


def batches(path: Path) -> lv.Dataset[lv.Batch]:
    return (
        lv.open(str(path))
        .group_by("sensor")
        .window_steps(PAST + DAY, shift=DAY, drop_remainder=True)
        .shuffle(10_000)
        .repeat()
        .padded_batch(64)
        .with_options(seed=1)
    )


def main(folder: Path, steps: int) -> None:
    if not (folder / "sensors.csv").exists():
        write_series(folder / "sensors.csv")
    path, weights, step = folder / "run.ckpt", np.zeros((PAST + 1, DAY)), 0
    with iter(batches(folder / "sensors.csv")) as it:
        if path.exists():
            saved = lv.load_checkpoint(path)
            it.restore(saved["data"])
            weights, step = pickle.loads(saved["model"])
        while step < steps:
            loss = learn(weights, next(it)["value"])
            step += 1
            print(f"step {step} loss {loss:.6f}", flush=True)
            if step % EVERY == 0:
                lv.save_checkpoint(path, data=it.save(), model=pickle.dumps((weights, step)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        folder, steps = sys.argv[1:] or (made, "30")
        Path(folder).mkdir(exist_ok=True)
        main(Path(folder), int(steps))
