# SPDX-License-Identifier: Apache-2.0
"""examples/forecasting.py with pandas."""

import itertools
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from forecasting import DAY, EVERY, PAST, learn, write_series


def windows_of(series):
    """[windows, PAST + DAY] of a series."""
    values = series.to_numpy(np.float32)
    return np.lib.stride_tricks.sliding_window_view(values, PAST + DAY)[::DAY]


def batches(path):
    frame = pd.read_csv(path, parse_dates=["time"])
    windows = np.concatenate([windows_of(group["value"]) for _, group in frame.groupby("sensor")])
    rest = np.zeros(0, np.int64)
    for epoch in itertools.count():
        order = np.append(rest, np.random.default_rng(epoch).permutation(len(windows)))
        for at in range(0, len(order) - 63, 64):
            yield windows[order[at : at + 64]]
        rest = order[len(order) // 64 * 64 :]


def main(folder, steps):
    if not (folder / "sensors.csv").exists():
        write_series(folder / "sensors.csv")
    path, weights, step = folder / "peer.npz", np.zeros((PAST + 1, DAY)), 0
    if path.exists():
        saved = np.load(path)
        weights, step = saved["weights"], int(saved["step"])
    for windows in itertools.islice(
        batches(folder / "sensors.csv"), step, steps
    ):  # reads all before it again
        loss = learn(weights, windows)
        step += 1
        print(f"step {step} loss {loss:.6f}", flush=True)
        if step % EVERY == 0:
            np.savez(folder / "new.npz", weights=weights, step=step)
            os.replace(folder / "new.npz", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
