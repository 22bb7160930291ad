# SPDX-License-Identifier: Apache-2.0
"""Consumers that pause: whatever runs ahead of them waits, and nothing is lost or ends.

In `make test` the processes of map may be idle for less time than the pause. In `make ci-full`
their idle time is the real one, and pauses are longer than every time limit in the package.
"""

import gc
import itertools
import time

import levada as lv
import numpy as np
import pytest
from command import LENGTH
from input_support import runners  # noqa: F401
from levada import _processes, train

PAUSES = (0, 1, 11, 70) if LENGTH > 1 else (2.5,)
ROWS = 240
SMALL = {"block_rows": 8, "seed": 1}


def double(record):
    return {"value": record["value"] * 2}


def records():
    for i in range(ROWS):
        yield {"value": i}


def numbers(**more):
    return lv.range(ROWS).with_options(**SMALL, **more)


def files(folder):
    for i in range(4):
        lines = "".join(f"{i * 60 + n}\n" for n in range(60))
        (folder / f"{i}.txt").write_text(lines)
    return str(folder / "*.txt")


DATASETS = {
    "one thread": lambda _: numbers(threads=1),
    "workers": lambda _: numbers(threads=4).map(double, workers=3),
    "processes": lambda _: numbers(threads=2).map(double, processes=True, workers=2),
    "prefetch": lambda _: numbers(threads=2).shuffle(50).prefetch(4),
    "a generator": lambda _: lv.from_records(records).with_options(**SMALL),
    "files read ahead": lambda folder: lv.text_lines(files(folder)).with_options(
        **SMALL, threads=4
    ),
    "interleave": lambda folder: (
        lv.files(files(folder))
        .interleave(lambda row: lv.text_lines(row["path"]))
        .with_options(**SMALL)
    ),
    "buckets": lambda _: (
        numbers(threads=3).map(double).shuffle(20).batch(7).unbatch().padded_batch(9)
    ),
}


def streams():
    """Streams of queue runners, with the values of an undisturbed run."""
    yield train.batch(train.limit_epochs(iter(range(ROWS)).__next__, ROWS), 5, capacity=20)
    yield train.shuffle_batch(
        train.limit_epochs(iter(range(ROWS)).__next__, ROWS), 5, 40, 20, seed=1
    )


def take(items, n, field=None):
    """The next numbers of an iterator, as one list; all of them if n is None."""
    found = []
    for item in itertools.islice(items, n):
        values = np.asarray(item["line" if "line" in item else "value"] if field is None else item)
        found += [int(value) for value in values.reshape(-1)]
    return found


@pytest.mark.parametrize("pause", PAUSES)
def test_datasets(tmp_path, monkeypatch, pause):
    if LENGTH == 1:
        monkeypatch.setattr(_processes, "_IDLE", 2)
    made = {name: make(tmp_path) for name, make in DATASETS.items()}
    whole = {name: take(ds, None) for name, ds in made.items() if name != "processes"}
    whole["processes"] = list(range(0, 2 * ROWS, 2))
    for epoch in range(2 if LENGTH > 1 else 1):
        running = {name: ds.iterate(0) for name, ds in made.items()}
        got = {name: [] for name in made}
        for n in (0, 20, None):
            time.sleep(pause)
            for name, items in running.items():
                got[name] += take(items, n)
        assert got == whole, epoch


@pytest.mark.parametrize("pause", PAUSES)
def test_queue_runners(running, pause):
    made = list(streams())
    time.sleep(pause)
    running()
    got = [[] for _ in made]
    for n in (0, 20, None):
        time.sleep(pause)
        for values, items in zip(got, made, strict=True):
            values += take(items, n, field="")
    assert [sorted(values) for values in got] == [list(range(ROWS))] * len(made)


@pytest.mark.parametrize("pause", PAUSES)
def test_workers_of_a_loader(monkeypatch, pause):
    torch = pytest.importorskip("torch")
    ds = numbers().map(double).batch(5)
    loader = torch.utils.data.DataLoader(
        lv.torch_dataset(ds), batch_size=None, num_workers=2, persistent_workers=True
    )
    for _ in range(2):
        items, got = iter(loader), []
        for n in (0, 20, None):
            time.sleep(pause)
            got += take(items, n)
        assert sorted(got) == list(range(0, 2 * ROWS, 2))
    del items, loader
    gc.collect()  # ends the threads of the loader
