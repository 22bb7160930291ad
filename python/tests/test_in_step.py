# SPDX-License-Identifier: Apache-2.0
"""Ranks in step: shard(rank, world, sync="buckets")."""

import random

import levada as lv
import numpy as np
import pytest
from levada.errors import FailedPreconditionError, InvalidArgumentError

BOUNDARIES = [16, 32, 64, 128]


def dataset(n, seed=1):
    drawn = random.Random(seed)
    lengths = [min(int(drawn.lognormvariate(3.2, 0.8)), 255) for _ in range(n)]
    rows = [np.arange(i, i + length, dtype=np.int64) for i, length in enumerate(lengths)]
    return lv.from_arrays({"id": np.arange(n), "tokens": rows}).with_options(seed=7)


def bucketed(n, epoch_shuffle=True, **options):
    options = {"boundaries": BOUNDARIES, **options}
    ds = dataset(n)
    ds = ds.shuffle(200) if epoch_shuffle else ds
    return ds.bucket_by_sequence_length("tokens", **options)


def bucket_of(batch):
    return int(np.digitize(batch.lengths("tokens").max(), BOUNDARIES))


STRATEGIES = {
    "sizes": {"batch_sizes": [32, 16, 8, 4, 2]},
    "budget": {"max_tokens": 2048},
    "multiple": {"max_tokens": 2048, "pad_to_multiple": 8},
    "truncate": {"max_tokens": 128, "too_long": "truncate"},
    "quadratic": {"max_tokens": 1 << 18, "cost": "quadratic"},
    "chosen": {"max_tokens": 2048, "boundaries": None},
    "alone": {"max_tokens": 64, "too_long": "alone"},
    "alone chosen": {"max_tokens": 64, "too_long": "alone", "boundaries": None},
    "lookahead": {"max_tokens": 2048, "boundaries": None, "lookahead": 500},
    "lookahead sizes": {"batch_sizes": 16, "boundaries": None, "lookahead": 300},
    "lookahead alone": {"max_tokens": 64, "too_long": "alone", "boundaries": None, "lookahead": 2},
    "boundary": {"batch_sizes": 4, "boundaries": [64, 128, 256], "pad_to_bucket_boundary": True},
}


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("name", STRATEGIES)
def test_all_ranks_have_the_same_steps_and_all_records_once(name, world):
    options = STRATEGIES[name]
    ds = bucketed(3000, **options)
    ranks = [list(ds.shard(r, world, sync="buckets").iterate(2)) for r in range(world)]
    assert len({len(batches) for batches in ranks}) == 1
    ids = []
    for step in zip(*ranks, strict=True):
        shapes = {batch["tokens"].shape for batch in step}
        assert len(shapes) == 1, "ranks differ"  # equal work at every step
        rows, steps = shapes.pop()
        if "max_tokens" in options and options.get("cost") is None:
            alone = rows == 1 and options.get("too_long") == "alone"
            assert rows * steps <= options["max_tokens"] or alone
        for batch in step:
            fill = batch["is_padding"]
            assert fill[:-1].sum() == 0  # at most the last row
            assert not batch.lengths("tokens")[fill].any()
            assert not batch.mask("tokens")[fill].any()
            ids += batch["id"][~fill].tolist()
    assert sorted(ids) == list(range(3000))
    filled = sum(b["is_padding"].sum() for batches in ranks for b in batches)
    assert filled <= 18 * (world - 1)  # at the end only: less than a round for each bucket


@pytest.mark.parametrize("tail", ["pad", "drop"])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_a_budget_over_two_lengths_holds_for_the_records_that_stay(world, tail):
    """Full groups keep the records that do not make a round of all ranks."""
    for seed in range(8):
        drawn = random.Random(f"{world}{tail}{seed}")
        pairs = [drawn.choice([(1, 9), (9, 1), (3, 3), (5, 1)]) for _ in range(200)]
        ds = lv.from_arrays({
            "id": np.arange(200), "a": [np.zeros(a, np.int32) for a, _ in pairs],
            "b": [np.zeros(b, np.int32) for _, b in pairs],
        }).with_options(seed=7)  # fmt: skip
        ds = ds.bucket_by_sequence_length(["a", "b"], boundaries=[], max_tokens=40)
        ranks = [
            list(ds.shard(r, world, sync="buckets", equal=tail).iterate(0)) for r in range(world)
        ]
        ids = []
        for step in zip(*ranks, strict=True):
            assert len({(batch["a"].shape, batch["b"].shape) for batch in step}) == 1
            for batch in step:
                (rows, a), (_, b) = batch["a"].shape, batch["b"].shape
                assert rows * (a + b) <= 40, seed
                keep = ~batch["is_padding"] if tail == "pad" else slice(None)
                ids += batch["id"][keep].tolist()
        assert len(set(ids)) == len(ids)
        assert len(ids) == 200 if tail == "pad" else len(ids) > 200 - world


def test_a_step_is_one_bucket_and_follows_seed_and_epoch():
    ds = bucketed(2000, batch_sizes=6)
    made = [[list(ds.shard(r, 4, sync="buckets").iterate(e)) for r in range(4)] for e in (0, 0, 1)]
    for ranks in made:
        for step in zip(*ranks, strict=True):
            full = [b for b in step if not b["is_padding"].any()]
            assert len({bucket_of(batch) for batch in full}) <= 1
    same = [[b["id"].tolist() for rank in ranks for b in rank] for ranks in made]
    assert same[0] == same[1] != same[2]


@pytest.mark.parametrize("name", ["sizes", "budget"])
def test_the_tail_is_dropped_and_counted(name):
    ds = bucketed(1000, **STRATEGIES[name])
    ids, dropped = [], []
    for rank in range(3):
        iterator = ds.shard(rank, 3, equal="drop", sync="buckets").iterate(0)
        batches = list(iterator)
        assert "is_padding" not in batches[0]
        ids.append(np.concatenate([b["id"] for b in batches]).tolist())
        dropped.append(iterator.stats()["dropped_records"])
    assert len({len(each) for each in ids}) == 1
    every = [i for each in ids for i in each]
    assert len(set(every)) == len(every)
    assert len(set(dropped)) == 1
    assert sum(map(len, ids)) + dropped[0] == 1000
    assert dropped[0] <= 2 * 5


@pytest.mark.parametrize(
    "name",
    ["sizes", "budget", "chosen", "alone", "alone chosen", "lookahead", "lookahead alone"],
)
def test_each_cut_resumes_with_any_threads(name):
    ds = bucketed(700, **STRATEGIES[name]).shard(1, 3, sync="buckets").prefetch(2)
    whole = [
        (b["id"].tolist(), b["tokens"].tobytes(), b["is_padding"].tolist()) for b in ds.iterate(0)
    ]
    for cut in range(len(whole)):
        with ds.with_options(threads=1 + cut % 3).iterate(0) as one:
            for _ in range(cut):
                next(one)
            state = one.save()
        again = ds.with_options(threads=3 - cut % 3).iterate(0)
        again.restore(state)
        rest = [(b["id"].tolist(), b["tokens"].tobytes(), b["is_padding"].tolist()) for b in again]
        assert rest == whole[cut:]


def test_more_ranks_than_records():
    ds = bucketed(5, batch_sizes=4)
    ranks = [list(ds.shard(r, 8, sync="buckets").iterate(0)) for r in range(8)]
    assert len({len(batches) for batches in ranks}) == 1
    real = [i for bs in ranks for b in bs for i in b["id"][~b["is_padding"]].tolist()]
    assert sorted(real) == list(range(5))


def test_a_state_of_another_rank_is_refused():
    ds = bucketed(500, batch_sizes=4)
    with ds.shard(0, 2, sync="buckets").iterate(0) as one:
        next(one)
        state = one.save()
    with pytest.raises(FailedPreconditionError):
        ds.shard(1, 2, sync="buckets").iterate(0).restore(state)


def test_what_cannot_be_in_step_is_refused():
    ds = bucketed(100, batch_sizes=4)
    with pytest.raises(ValueError, match="must follow bucket_by_sequence_length, got batch"):
        dataset(10).batch(2).shard(0, 2, sync="buckets")
    with pytest.raises(ValueError, match="sync="):
        ds.shard(0, 2, sync="batches")
    with pytest.raises(ValueError, match="equal="):
        ds.shard(0, 2, equal="x", sync="buckets")
    with pytest.raises(InvalidArgumentError, match="index=2 must be below count=2"):
        ds.shard(2, 2, sync="buckets")
    with pytest.raises(ValueError):
        ds.shard(0, 0, sync="buckets")
    unseeded = ds.with_options(seed=None)
    with pytest.raises(FailedPreconditionError, match="seed"):
        unseeded.shard(0, 2, sync="buckets")
    with pytest.raises(InvalidArgumentError, match="ranks"):
        bucketed(100, boundaries=None, batch_sizes=2, pad_to_bucket_boundary=True).shard(
            0, 2, sync="buckets"
        )


def test_batches_are_divided_between_ranks_once():
    one = bucketed(60, batch_sizes=4).shard(1, 2, sync="buckets")
    with pytest.raises(ValueError, match="are divided between ranks already"):
        one.shard(0, 2, sync="buckets")
    with pytest.raises(ValueError, match="are divided between ranks already"):
        one.prefetch(2).shard(0, 2, sync="buckets")


def test_text_and_json_agree():
    ds = bucketed(50, batch_sizes=4).shard(1, 2, sync="buckets")
    text = "range:50 | bucket_by_sequence_length:value,boundaries=[10,20],batch_sizes=2"
    again = lv.from_text(text + " | shard:1,count=2,sync=buckets")
    assert again == lv.from_text(text + ",ranks=[1,2]")
    assert lv.from_json(again.to_json()) == again
    assert "ranks=[1,2]" in str(again)
    assert (
        lv.range(50)
        .bucket_by_sequence_length("value", boundaries=[10, 20], batch_sizes=2)
        .shard(1, 2, sync="buckets")
        == again
    )
    assert "is_padding" in ds.spec


def as_rows(batch):
    """The rows of a ragged batch, or of a padded one without its padding."""
    rows, lengths = batch["tokens"], batch.lengths("tokens")
    return [list(row[:n]) for row, n in zip(rows, lengths, strict=True)]


@pytest.mark.parametrize("world", [2, 5])
def test_ragged_batches_are_filled_with_empty_rows(world):
    ds = bucketed(501, batch_sizes=6)
    ragged = bucketed(501, batch_sizes=6, no_padding=True)
    for rank in range(world):
        padded = list(ds.shard(rank, world, sync="buckets").iterate(0))
        made = list(ragged.shard(rank, world, sync="buckets").iterate(0))
        assert len(made) == len(padded)
        for a, b in zip(made, padded, strict=True):
            assert a["id"].tolist() == b["id"].tolist()
            assert a["is_padding"].tolist() == b["is_padding"].tolist()
            assert a.lengths("tokens").tolist() == b.lengths("tokens").tolist()
            assert as_rows(a) == as_rows(b)


@pytest.mark.parametrize("length", ["tokens", "n"])
def test_every_ragged_field_is_as_long_on_all_ranks(length):
    drawn = random.Random(3)
    lengths = [drawn.randrange(90) for _ in range(700)]
    columns = {
        "n": np.array(lengths),
        "tokens": [np.arange(n) for n in lengths],
        "other": [np.arange(drawn.randrange(50)) for _ in lengths],
    }
    ds = lv.from_arrays(columns).bucket_by_sequence_length(
        length, boundaries=BOUNDARIES, batch_sizes=5
    )
    ranks = [list(ds.shard(r, 4, sync="buckets").iterate(0)) for r in range(4)]
    for step in zip(*ranks, strict=True):
        assert len({(b["tokens"].shape, b["other"].shape) for b in step}) == 1
        longest = max(b.lengths("other").max() for b in step)
        assert step[0]["other"].shape[1] >= longest


@pytest.mark.parametrize("tail", ["drop", "pad"])
@pytest.mark.parametrize("strategy", [{"boundaries": BOUNDARIES}, {"lookahead": 100}])
def test_a_dropped_remainder_is_counted_in_step(strategy, tail):
    ds = dataset(709).bucket_by_sequence_length(
        "tokens", batch_sizes=4, drop_remainder=True, **strategy
    )
    for rank in range(3):
        iterator = ds.shard(rank, 3, equal=tail, sync="buckets").iterate(0)
        kept = sum(len(b["id"]) for b in iterator)
        assert kept * 3 + iterator.stats()["dropped_records"] == 709


def test_the_padded_tokens_of_eight_ranks_differ_by_less_than_two_percent():
    """All ranks compute the same at a step."""
    for options in ({"max_tokens": 2048}, {"max_tokens": 2048, "boundaries": None,
                                           "lookahead": 1000}):  # fmt: skip
        ds = bucketed(6000, **options)
        ranks = [ds.shard(r, 8, sync="buckets").iterate(0) for r in range(8)]
        seen = []
        for step in zip(*ranks, strict=True):
            sizes = [batch["tokens"].size for batch in step]
            assert max(sizes) <= 1.02 * sum(sizes) / 8
            seen += [i for b in step for i in b["id"][~b["is_padding"]].tolist()]
        assert sorted(seen) == list(range(6000))


@pytest.mark.parametrize("seed", range(6))
def test_random_worlds_are_in_step(seed):
    drawn = random.Random(seed)
    n, world = drawn.randrange(1, 900), drawn.randrange(1, 12)
    budget = drawn.choice([64, 256, 1024])
    strategy = drawn.choice([{"boundaries": BOUNDARIES}, {"lookahead": drawn.randrange(1, 400)},
                             {"num_buckets": drawn.randrange(1, 9)}])  # fmt: skip
    too_long = drawn.choice(["alone", "truncate", "skip"])
    ds = (
        dataset(n, seed)
        .shuffle(50)
        .bucket_by_sequence_length("tokens", max_tokens=budget, too_long=too_long, **strategy)
    )
    one = [ds.with_options(threads=1).shard(r, world, sync="buckets") for r in range(world)]
    ranks = [list(each.iterate(1)) for each in one]
    again = list(one[-1].with_options(threads=4, block_rows=11).iterate(1))
    assert [b["id"].tolist() for b in again] == [b["id"].tolist() for b in ranks[-1]]
    seen = []
    for step in zip(*ranks, strict=True):
        assert len({b["tokens"].shape for b in step}) == 1
        rows, length = step[0]["tokens"].shape
        assert rows * length <= budget or (rows == 1 and too_long == "alone")
        seen += [i for b in step for i in b["id"][~b["is_padding"]].tolist()]
    long = [i for i, row in enumerate(dataset(n, seed)) if len(row["tokens"]) > budget]
    assert sorted(seen) == [i for i in range(n) if too_long != "skip" or i not in long]
