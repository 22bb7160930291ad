# SPDX-License-Identifier: Apache-2.0
"""Forecasting: windows of many time series, and a linear model that predicts the next day.

    python examples/forecasting.py [FOLDER]

Each line of the file is a sensor with its hourly values. `window_steps` cuts every series into
windows of four days, and the model learns the last day from the three before it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import levada as lv
import numpy as np

DAY, PAST = 24, 72


def write_series(path: Path) -> None:
    """Series of different lengths: a day, a week, and noise."""
    rng = np.random.default_rng(7)
    with open(path, "w") as file:
        for sensor in range(200):
            hours = np.arange(rng.integers(100, 1000)) + rng.integers(0, 168)
            waves = np.sin(hours * 2 * np.pi / DAY) + 0.5 * np.sin(hours * 2 * np.pi / 168)
            values = waves + rng.normal(0, 0.1, len(hours))
            line = {"sensor": sensor, "values": [round(v, 3) for v in values.tolist()]}
            file.write(json.dumps(line) + "\n")


def batches(path: Path) -> lv.Dataset:
    return (
        lv.jsonl(str(path), fields={"sensor": lv.int64, "values": [lv.float32]})
        .window_steps(PAST + DAY, shift=DAY, drop_remainder=True)
        .shuffle(10_000)
        .padded_batch(256)
        .with_options(seed=1)
    )


def main(folder: Path) -> None:
    write_series(folder / "sensors.jsonl")
    *training, last = batches(folder / "sensors.jsonl")
    windows = np.concatenate([batch["values"] for batch in training])
    weights, *_ = np.linalg.lstsq(windows[:, :PAST], windows[:, PAST:], rcond=None)
    past, future = last["values"][:, :PAST], last["values"][:, PAST:]
    model = np.abs(past @ weights - future).mean()
    naive = np.abs(past[:, -DAY:] - future).mean()  # tomorrow is like today
    print(f"{len(windows):,} windows to learn from, {len(past)} to test")
    print(f"mean error: {model:.2f}, like the day before: {naive:.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
