# SPDX-License-Identifier: Apache-2.0
"""Random changes of audio: their formulas in NumPy, and what they draw."""

import levada as lv
import numpy as np
import pytest

DTYPES = ["float32", "float64", "int16", "int32"]


def drawn_sounds(rng, n, channels):
    """Sounds of every dtype's range, some of them empty."""
    sounds = []
    for _ in range(n):
        dtype = np.dtype(str(rng.choice(DTYPES)))
        shape = (int(rng.integers(0, 600)), channels)
        if dtype.kind == "i":
            info = np.iinfo(dtype)
            scale = 10.0 ** rng.uniform(0, np.log10(info.max))
            x = np.clip(rng.normal(size=shape) * scale, info.min, info.max).astype(dtype)
        else:
            x = rng.normal(size=shape).astype(dtype)
        sounds.append(x)
    return sounds


def stored(values, dtype):
    """float64 as the stages store it: integers are rounded and clipped, floats are not."""
    if dtype.kind != "i":
        return values.astype(dtype)
    info = np.iinfo(dtype)
    return np.clip(np.rint(values), info.min, info.max).astype(dtype)


def by_dtype(sounds):
    return [(d, [s for s in sounds if s.dtype == d]) for d in map(np.dtype, DTYPES)]


def uniform(draws, low, high):
    """Kolmogorov-Smirnov, far beyond the 0.1 % point."""
    u = np.sort((np.asarray(draws) - low) / (high - low))
    assert u[0] >= -1e-6
    assert u[-1] <= 1 + 1e-6
    gap = np.abs(u - (np.arange(len(u)) + 0.5) / len(u)).max()
    assert gap < 2 / np.sqrt(len(u))


@pytest.mark.parametrize("channels", [1, 2])
def test_gain_is_the_formula(channels):
    rng = np.random.default_rng(channels)
    sounds = drawn_sounds(rng, 1200, channels)
    for dtype, some in by_dtype(sounds):
        db = float(rng.uniform(-40, 40))
        ds = lv.from_records([{"a": s} for s in some])
        got = [np.asarray(r["a"]) for r in ds.gain("a", db).with_options(threads=2)]
        for x, y in zip(some, got, strict=True):
            want = stored(x.astype(np.float64) * 10 ** (db / 20), dtype)
            assert y.dtype == dtype
            if dtype.kind == "i":
                assert np.abs(y.astype(np.int64) - want.astype(np.int64)).max(initial=0) <= 1
            else:
                assert np.allclose(y, want, rtol=1e-6, atol=0)


def test_gain_draws_uniformly():
    ones = [{"a": np.ones(1)}] * 4000
    ds = lv.from_records(ones).gain("a", [-20, 4])
    draws = np.array([20 * np.log10(r["a"][0]) for r in ds.with_options(seed=3)])
    uniform(draws, -20, 4)
    assert np.abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.08
    assert len(np.unique(draws)) == len(draws)


def runs_of(mask):
    """The lengths of the runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return edges[1::2] - edges[::2]


def test_spec_augment_changes_whole_lines_to_the_mean():
    rng = np.random.default_rng(1)
    for case in range(60):
        bands = int(rng.integers(1, 40))
        records = [
            {"s": rng.normal(size=(int(rng.integers(0, 90)), bands)).astype(np.float32)}
            for _ in range(20)
        ]
        options = {
            "time_masks": int(rng.integers(0, 4)),
            "time_width": int(rng.integers(0, 50)),
            "frequency_masks": int(rng.integers(0, 4)),
            "frequency_width": int(rng.integers(0, 50)),
            "time_fraction": float(rng.uniform(0, 1)),
        }
        value = None if case % 2 else -3.0
        ds = lv.from_records(records)
        ds = ds.spec_augment("s", **options, value=value)
        for before, after in zip(records, ds.with_options(seed=case), strict=True):
            x, y = before["s"], np.asarray(after["s"])
            assert x.shape == y.shape
            changed = x != y
            times, freqs = changed.all(axis=1), changed.all(axis=0)
            if x.size == 0:
                continue
            if not freqs.all() and not times.all():
                assert (changed == (times[:, None] | freqs[None, :])).all()
            if changed.any():
                mean = x.mean(dtype=np.float64) if value is None else value
                assert np.allclose(y[changed], mean, rtol=1e-5, atol=1e-6)
            widest = min(options["time_width"], int(options["time_fraction"] * len(x)))
            if not freqs.all():
                assert times.sum() <= options["time_masks"] * widest
                assert len(runs_of(times)) <= options["time_masks"]
            if not times.all():
                assert freqs.sum() <= options["frequency_masks"] * options["frequency_width"]
                assert len(runs_of(freqs)) <= options["frequency_masks"]


def test_spec_augment_draws_widths_and_places_uniformly():
    frames = np.zeros((60, 8), np.float32)
    ds = lv.from_records([{"s": frames}] * 5000)
    ds = ds.spec_augment("s", time_masks=1, time_width=9, frequency_masks=0, value=1.0)
    begins = {width: [] for width in range(10)}
    for record in ds:
        mask = np.asarray(record["s"])[:, 0] == 1
        begins[int(mask.sum())].append(int(mask.argmax()))
    for width, some in begins.items():
        assert 400 < len(some) < 600
        if width:
            assert min(some) < 3
            assert max(some) > 60 - width - 3
            assert max(some) <= 60 - width
            uniform(np.array(some) + 0.5, 0, 61 - width)


@pytest.mark.parametrize("stage", ["gain", "spec_augment"])
def test_ranks_threads_and_epochs(stage):
    """Ranks have together what one process has; another epoch has other draws."""
    rng = np.random.default_rng(0)
    records = [{"n": i, "s": rng.normal(size=(12, 3)).astype(np.float32)} for i in range(60)]
    ds = lv.from_records(records)
    ds = ds.gain("s", [-9, 9]) if stage == "gain" else ds.spec_augment("s", frequency_masks=0)

    def all_of(ds, **options):
        rows = ds.with_options(seed=4, **options)
        return {r["n"]: np.asarray(r["s"]).tobytes() for r in rows}

    whole = all_of(ds)
    assert all_of(ds, threads=3, block_rows=1) == whole
    parts = [all_of(ds.shard(i, 3), threads=2) for i in range(3)]
    assert {n: s for part in parts for n, s in part.items()} == whole
    again = ds.with_options(seed=4).iterate(epoch=1)
    other = {r["n"]: np.asarray(r["s"]).tobytes() for r in again}
    assert sum(s == whole[n] for n, s in other.items()) < 10
