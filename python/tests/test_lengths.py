# SPDX-License-Identifier: Apache-2.0
"""Histograms of lengths, the best boundaries, what padding costs, and stages that use them."""

import itertools
import math

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError

LENGTHS = [3, 9, 3, 1, 30, 9, 3, 14, 0, 2]


def records(lengths=LENGTHS):
    spec = {"x": lv.VarLenFeature("int32"), "n": lv.FixedLenFeature([], "int64"), "s": "string"}
    return lv.from_records(
        [
            {"x": np.full(length, i, np.int32), "n": length, "s": b"a" * length}
            for i, length in enumerate(lengths)
        ],
        spec=spec,
    )


@pytest.mark.parametrize("field", ["x", "n", "s"])
def test_histogram_counts_each_length(field):
    found = lv.length_histogram(records(), field)
    assert found.lengths.tolist() == [0, 1, 2, 3, 9, 14, 30]
    assert found.counts.tolist() == [1, 1, 1, 3, 2, 1, 1]
    assert (found.records, found.tokens) == (10, sum(LENGTHS))
    assert (found.quantile(0), found.quantile(0.5), found.quantile(1)) == (0, 3, 30)
    assert sorted(found.expand().tolist()) == sorted(LENGTHS)
    assert found == lv.LengthHistogram(found.lengths, found.counts)
    assert repr(found) == (
        "LengthHistogram(10 records · min 0 · median 3 · p90 14 · p99 30 · max 30)"
    )


def test_histogram_of_batches_and_of_nothing():
    batches = records().select("x").padded_batch(4)
    assert lv.length_histogram(batches, "x") == lv.length_histogram(records(), "x")
    none = lv.length_histogram(records().take(0), "x")
    assert none.records == 0 and repr(none) == "LengthHistogram(0 records)"
    assert lv.optimal_boundaries(none, 4) == []


def padded(lengths, boundaries):
    """Elements of all records, each padded to the longest of its bucket."""
    buckets = np.searchsorted(boundaries, lengths, side="right")
    return sum(max(n) * len(n) for n in (lengths[buckets == b] for b in set(buckets.tolist())))


def test_boundaries_are_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(20):
        lengths = rng.integers(0, 12, 30)
        cuts = [length + 1 for length in sorted(set(lengths.tolist()))[:-1]]
        for buckets in (1, 2, 3):
            best = min(
                padded(lengths, list(chosen))
                for k in range(buckets)
                for chosen in itertools.combinations(cuts, k)
            )
            assert padded(lengths, lv.optimal_boundaries(lengths, buckets)) == best


def test_boundaries_of_a_dict_and_in_multiples():
    assert lv.optimal_boundaries({1: 100, 5: 1, 90: 3}, 2) == [2]
    assert lv.optimal_boundaries({1: 100, 5: 1, 90: 3}, 8, multiple_of=8) == [6]
    with pytest.raises(ValueError, match="num_buckets=0"):
        lv.optimal_boundaries({1: 1}, 0)
    with pytest.raises(TypeError, match="integers"):
        lv.optimal_boundaries([1.5], 2)


def test_a_histogram_as_boundaries():
    found = lv.length_histogram(records(), "x")
    ds = records().bucket_by_sequence_length("x", boundaries=found, num_buckets=3, max_tokens=90)
    assert "boundaries=[4,15]" in str(ds)
    same = records().bucket_by_sequence_length("x", boundaries=[4, 15], max_tokens=90)
    assert [b["n"].tolist() for b in ds] == [b["n"].tolist() for b in same]


@pytest.mark.parametrize("multiple", [1, 4, 64])
def test_a_histogram_limits_the_number_of_shapes(multiple):
    for seed in range(20):
        lengths = np.random.default_rng(seed).integers(0, 40, 1 + 5 * seed)
        for buckets in (1, 2, 5):
            ds = records(lengths.tolist()).bucket_by_sequence_length(
                "x", boundaries=lv.LengthHistogram(*np.unique(lengths, return_counts=True)),
                num_buckets=buckets, batch_sizes=3, pad_to_bucket_boundary=True,
                pad_to_multiple=multiple,
            )  # fmt: skip
            batches = list(ds)
            shapes = {batch["x"].shape[1] for batch in batches}
            assert len(shapes) <= buckets and all(shape % multiple == 0 for shape in shapes)
            assert sorted(n for b in batches for n in b["n"].tolist()) == sorted(lengths.tolist())


def test_report_has_a_stage_for_each_strategy():
    rng = np.random.default_rng(5)
    lengths = np.clip(np.exp(rng.normal(3, 0.7, 20_000)).astype(int), 1, 300)
    report = lv.padding_report(lengths, max_tokens=2048, boundaries=[20, 40, 80])
    ahead = report["look-ahead of 4,000"]
    ds = lv.from_arrays({"length": lengths}).stage  # the stage runs as it is printed
    text = ahead["stage"]
    assert text == "bucket_by_sequence_length:length,max_tokens=2048,lookahead=4000"
    batches = list(ds("bucket_by_sequence_length", length="length", max_tokens=2048,
                      lookahead=4000).with_options(seed=1))  # fmt: skip
    assert len(batches) == ahead["batches"]
    assert ahead["padding"] < report["16 best buckets"]["padding"]
    assert report["16 best buckets"]["padding"] < report["given boundaries"]["padding"]
    assert "look-ahead of 16,000" in repr(report)
    assert repr(report).endswith(f"recommended: ds.{report.recommended['call']}")
    assert sum(records for _, _, records in report.histogram) == report.records
    assert report.quantiles["median"] == lv.LengthHistogram(
        *np.unique(lengths, return_counts=True)
    ).quantile(0.5)


def test_each_call_of_a_report_runs():
    ds = records([length % 40 for length in range(200)])
    report = lv.padding_report(
        ds, "x", max_tokens=90, batch_size=8, boundaries=[9], num_buckets=3, pack_length=50
    )
    assert report.field == "x" and report["3 best buckets"]["padding"] > 0
    for row in report.strategies:
        made = eval(f"ds.{row['call']}", {"ds": ds})
        assert sum(len(record["n"]) for record in made) == 200
        assert str(made).endswith(row["stage"])
    with pytest.raises(KeyError):
        report["none"]


def test_report_of_a_dataset_and_of_a_histogram():
    by_records = lv.padding_report(records(), "x", max_tokens=60, batch_size=2)
    by_lengths = lv.padding_report(LENGTHS, "x", max_tokens=60, batch_size=2)
    assert by_records.strategies == by_lengths.strategies
    found = lv.length_histogram(records(), "x")
    assert lv.padding_report(found, max_tokens=60).tokens == sum(LENGTHS)
    with pytest.raises(TypeError, match="field"):
        lv.padding_report(records())


def test_costs_of_python_functions():
    rng = np.random.default_rng(6)
    ds = records(rng.integers(1, 50, 400).tolist())
    calls = []

    def cost(length):
        calls.append(length)
        return 10 * length + 5

    made = ds.bucket_by_sequence_length("x", boundaries=[20], max_tokens=2000, cost=cost)
    batches = list(made)
    assert sum(len(b["n"]) for b in batches) == 400
    assert all(len(b["n"]) * (10 * b["x"].shape[1] + 5) <= 2000 for b in batches)
    assert len(calls) == len(set(calls))  # once for each length
    two = ds.bucket_by_sequence_length(
        ["x", "n"], lookahead=100, max_tokens=40_000, cost=lambda x, n: x * n + x
    )
    assert sum(len(b["n"]) for b in two) == 400


def test_costs_are_numbers():
    ds = records([1, 4, 4, 9, 16, 25, 0])

    def sizes(cost, budget=5, **options):
        options = options if "lookahead" in options else {"boundaries": [], **options}
        made = ds.bucket_by_sequence_length("x", max_tokens=budget, cost=cost, **options)
        return [len(batch["n"]) for batch in made]

    assert sizes(lambda n: n**0.5) == [2, 1, 1, 1, 1, 1]  # 2 * 2 <= 5, but 2 * 3 > 5
    assert sizes(lambda n: np.float32(0.5)) == [7]
    assert sizes(lambda n: 0.1, budget=1) == [7]
    for nothing in (0.0, 0):  # counts as 1
        assert sizes(lambda n, nothing=nothing: nothing, budget=3) == [3, 3, 1]
    assert sizes(lambda n: n**0.5, budget=4, too_long="alone") == [2, 1, 1, 1, 1, 1]
    assert sorted(sizes(lambda n: n / 7, lookahead=7)) == [1, 2, 4]  # 25, then 16 and 9
    with pytest.raises(InvalidArgumentError, match=r"length 25 costs 12\.5, more than"):
        sizes(lambda n: n / 2, budget=12)
    for value, shown in {"9": "not str", b"9": "not bytes", None: "returned None"}.items():
        with pytest.raises(TypeError, match=f"lambda.*{shown}"):
            sizes(lambda n, value=value: value)
    for value, shown in {math.nan: "nan", math.inf: "inf", -0.5: "-0.5", 10**400: "inf"}.items():
        with pytest.raises(InvalidArgumentError, match=rf"returned {shown} for a padded length"):
            sizes(lambda n, value=value: value)
    with pytest.raises(InvalidArgumentError, match="returned nan for padded lengths 1, 7; a cost"):
        list(records([1]).map(lambda r: {"x": r["x"], "y": 7}).bucket_by_sequence_length(
            ["x", "y"], max_tokens=9, cost=lambda x, y: math.nan))  # fmt: skip
    with pytest.raises(ValueError, match="max_tokens"):
        sizes(lambda n: n, budget=2**53)


def greedy_windows(lengths, window, budget):
    """Cells and batches of sorted windows; each batch is as large as possible, short ones first."""
    cells = batches = longest = 0
    for at in range(0, len(lengths), window):
        rows = 0
        for length in [*sorted(lengths[at : at + window]), budget + 1]:
            if (rows + 1) * length > budget:
                cells, batches, rows = cells + rows * longest, batches + 1, 0
            rows, longest = rows + 1, length
    return cells, batches


@pytest.mark.parametrize("cost", ["linear", "quadratic"])
@pytest.mark.parametrize("held", [2, 3, 5, 10, 40])
def test_a_window_of_few_batches_pads_less_than_one_cut_greedily(held, cost):
    """`held`: about how many batches a window holds."""
    power, window = {"linear": 1, "quadratic": 2}[cost], 400
    for seed in range(5):
        lengths = 1 + np.random.default_rng(seed).lognormal(2, 0.7, 8000).astype(int)
        costs = (lengths**power).tolist()
        budget = max(sum(costs) * window // len(lengths) // held, *costs)
        ds = lv.from_arrays({"n": lengths}).bucket_by_sequence_length(
            "n", max_tokens=budget, lookahead=window, cost=cost
        )
        ours = [(len(batch["n"]), int(batch["n"].max()) ** power) for batch in ds]
        assert sum(rows for rows, _ in ours) == len(lengths)
        assert all(rows * longest <= budget for rows, longest in ours)
        cells, batches = greedy_windows(costs, window, budget)
        padded = sum(rows * longest for rows, longest in ours)
        assert padded < cells
        if cost == "linear":  # a batch has the price of half a budget
            assert padded + len(ours) * budget / 2 < cells + batches * budget / 2


@pytest.mark.parametrize("options", [
    {"lookahead": 60}, {"num_buckets": 3}, {"boundaries": [10, 20], "cost": "quadratic"},
    {"lookahead": 60, "cost": "quadratic"},
    {"boundaries": [10, 20], "too_long": "alone"}, {"lookahead": 60, "too_long": "truncate"},
])  # fmt: skip
def test_a_saved_iterator_resumes_at_any_batch(options):
    lengths = np.random.default_rng(7).integers(0, 60, 300).tolist()
    budget = 50 if "too_long" in options else 4000 if "cost" in options else 300
    ds = records(lengths).bucket_by_sequence_length("x", max_tokens=budget, **options)
    ds = ds.with_options(seed=1, threads=1)
    whole = [(b["n"].tolist(), b["x"].tolist()) for b in ds.iterate(epoch=0)]
    assert sorted(n for batch, _ in whole for n in batch) == sorted(lengths)
    for cut in range(0, len(whole), 3):
        with ds.iterate(epoch=0) as it:
            for _ in range(cut):
                next(it)
            state = it.save()
        with ds.with_options(threads=4).iterate(epoch=0) as it:
            it.restore(state)
            assert [(b["n"].tolist(), b["x"].tolist()) for b in it] == whole[cut:]


@pytest.mark.parametrize("field", ["x", "s"])
def test_every_strategy_of_a_report_runs_as_it_is_written(field):
    """On records that have other fields, too, of other lengths."""
    ds = lv.zip(records(), records(LENGTHS[::-1]).rename({"x": "y", "n": "m", "s": "t"}))
    report = lv.padding_report(ds, field, max_tokens=40, batch_size=3, pack_length=16)
    for row in report.strategies:
        batches = list(eval(f"ds.with_options(seed=1).{row['call']}", {"ds": ds}))
        if row["strategy"] == "packing":  # records of up to 16 steps, without batches
            assert sum(len(record[field]) for record in batches) == sum(LENGTHS)
            cells = 16 * len(batches)
        else:
            assert len(batches) == row["batches"]
            cells = sum(len(b) * max(b.lengths(field)) for b in batches)
        assert 1 - sum(LENGTHS) / cells == pytest.approx(row["padding"], abs=1e-6)


def test_explain_of_an_iterator_shows_the_chosen_boundaries():
    lengths = np.random.default_rng(3).integers(0, 60, 6000)
    ds = lv.from_arrays({"n": lengths}).bucket_by_sequence_length(
        "n", max_tokens=500, num_buckets=3
    )
    ds = ds.with_options(threads=2, seed=1)
    why = "from the records so far: 'memory' has no index"
    with iter(ds) as it:
        assert f"    chosen  boundaries {why}\n" in it.explain()
        next(it)
        text = it.explain()
        state = it.save()
    with iter(ds) as other:
        other.restore(state)
        next(other)
        assert other.explain() == text
    best = lv.optimal_boundaries(lengths[:4096], 3)
    assert f"    chosen  boundaries={str(best).replace(' ', '')}, {why}\n" in text
    assert text.startswith("0.memory") and "1.bucket_by_sequence_length:n" in text


def test_explain_names_stages_randomness_and_states():
    ds = records().shuffle(5).bucket_by_sequence_length("x", max_tokens=90, lookahead=10)
    text = ds.with_options(threads=2, seed=7).explain()
    assert text.startswith("threads: 2, seed: 7\n0.records:")
    assert "1.shuffle:5\n" in text
    assert "random  order of batches in a window, from seed and epoch" in text
    assert "saved   buffered records, by origin" in text
    assert text.endswith(f"fingerprint: {ds.fingerprint()}\n")
