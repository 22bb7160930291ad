# SPDX-License-Identifier: Apache-2.0
"""Random changes of audio: their formulas in NumPy, and what they draw."""

import levada as lv
import numpy as np
import pytest

needs_soxr = pytest.mark.skipif(
    lv.show_config("dicts")["soxr"] is None, reason="built without libsoxr"
)
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
    ds = ds.with_options(seed=7)
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


@pytest.mark.parametrize(
    "stage", ["gain", "spec_augment", "add_noise", pytest.param("change_speed", marks=needs_soxr)]
)
def test_ranks_threads_and_epochs(stage):
    """Ranks have together what one process has; another epoch has other draws."""
    rng = np.random.default_rng(0)
    records = [{"n": i, "s": rng.normal(size=(12, 3)).astype(np.float32)} for i in range(60)]
    ds = lv.from_records(records)
    options = {
        "gain": {"db": [-9, 9]},
        "spec_augment": {"frequency_masks": 0},
        "add_noise": {"snr": [0, 9]},
        "change_speed": {"range": [0.5, 2]},
    }
    ds = getattr(ds, stage)("s", **options[stage])

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


def power(x):
    return (x.astype(np.float64) ** 2).mean() if x.size else 0.0


def records_of(sounds, noises, dtype):
    return [
        {"a": x, "m": y} for x, y in zip(sounds, noises, strict=True) if x.dtype == y.dtype == dtype
    ]


@pytest.mark.parametrize("channels", [1, 2])
def test_noise_of_a_field_is_the_formula(channels):
    """The noise is a part of its field, or the field repeated, with exactly that power."""
    rng = np.random.default_rng(channels + 5)
    sounds, noises = drawn_sounds(rng, 6400, channels), drawn_sounds(rng, 6400, channels)
    cases = 0
    for dtype in map(np.dtype, DTYPES):
        records = records_of(sounds, noises, dtype)[:300]
        snr = float(rng.uniform(-10, 30))
        ds = lv.from_records(records).add_noise("a", snr, noise="m").with_options(threads=2)
        for before, after in zip(records, ds, strict=True):
            x, m, y = before["a"], before["m"], np.asarray(after["a"])
            cases += 1
            if len(x) == 0 or power(x) == 0 or power(m) == 0:
                assert np.array_equal(x, y)
                continue
            starts = range(max(len(m) - len(x) + 1, 1) if len(m) > len(x) else len(m))
            assert any(
                matches(x, y, np.take(m, np.arange(s, s + len(x)) % len(m), axis=0), snr)
                for s in starts
            )
    assert cases >= 1000


def matches(x, y, noise, snr):
    if power(noise) == 0:
        return np.array_equal(x, y)
    scale = np.sqrt(power(x) / power(noise) / 10 ** (snr / 10))
    want = stored(x.astype(np.float64) + scale * noise.astype(np.float64), x.dtype)
    if x.dtype.kind == "i":
        return np.abs(y.astype(np.int64) - want.astype(np.int64)).max() <= 1
    return np.allclose(y, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())


def test_white_noise_has_the_drawn_ratio_and_is_normal():
    rng = np.random.default_rng(2)
    tone = np.sin(np.arange(5000) / 7) * rng.uniform(0.5, 2)
    ds = lv.from_records([{"a": tone}] * 1000).add_noise("a", [-5, 25]).with_options(seed=9)
    ratios, white = [], []
    for record in ds:
        noise = np.asarray(record["a"]) - tone
        ratios.append(10 * np.log10(power(tone) / power(noise)))
        white.append(noise / np.sqrt(power(noise)))
    uniform(np.clip(ratios, -5, 25), -5, 25)
    white = np.concatenate(white)
    assert abs(white.mean()) < 2e-3
    assert abs((white**3).mean()) < 5e-3
    assert abs((white**4).mean() - 3) < 2e-2
    quantiles = [(-2.326348, 0.01), (-1, 0.158655), (0, 0.5), (1.644854, 0.95), (3, 0.99865)]
    for at, share in quantiles:
        assert abs((white < at).mean() - share) < 6e-4
    spectrum = np.abs(np.fft.rfft(white.reshape(1000, 5000), axis=1)[:, 1:-1]) ** 2
    spectrum = spectrum.mean(axis=0) / 5000
    assert 0.8 < spectrum.min()
    assert spectrum.max() < 1.25


def test_records_without_noise_stay_as_they_are():
    empty = np.zeros((0, 1), np.float32)
    tone = np.ones((4, 1), np.float32)
    pairs = [(tone, empty), (tone, tone * 0), (tone * 0, tone), (empty, tone), (tone, tone)]
    records = [{"a": a, "m": m} for a, m in pairs]
    got = [np.asarray(r["a"]) for r in lv.from_records(records).add_noise("a", 0, noise="m")]
    for (before, _), after in zip(pairs[:4], got[:4], strict=True):
        assert np.array_equal(before, after)
    assert np.array_equal(got[4], tone * 2)


@needs_soxr
def test_change_speed_is_a_resampling():
    rng = np.random.default_rng(4)
    sounds = drawn_sounds(rng, 1000, 1)
    factors = [0.8, 1.0, 1.2345]
    drawn = []
    for _, some in by_dtype(sounds):
        ds = lv.from_records([{"a": x} for x in some]).change_speed("a", factors, quality="MQ")
        for x, y in zip(some, ds.with_options(threads=2), strict=True):
            y = np.asarray(y["a"])
            wants = [
                lv.resample(x, rate=10000, input_rate=round(f * 10000), quality="MQ")
                for f in factors
            ]
            which = [i for i, want in enumerate(wants) if np.array_equal(y, want)]
            assert which
            if len(x) > 50:
                drawn.append(which[0])
    assert min(np.bincount(drawn)) > len(drawn) / 3 - 5 * np.sqrt(len(drawn) * 2 / 9)


@needs_soxr
def test_change_speed_draws_uniformly_from_a_range():
    ds = lv.from_records([{"a": np.zeros(20000, np.float32)}] * 1000)
    ds = ds.change_speed("a", range=[0.8, 1.25], quality="QQ").with_options(threads=2)
    uniform([20000 / len(r["a"]) for r in ds], 0.8 - 1e-4, 1.25 + 1e-4)
