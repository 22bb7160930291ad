# SPDX-License-Identifier: Apache-2.0
"""mix: when it ends, what weights mean, and what it tells of its inputs."""

import random

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError


def corpus(first, count, longest):
    lengths = np.random.default_rng(first).integers(1, longest, count)
    return lv.from_arrays(
        {"tokens": [np.full(n, first) for n in lengths], "label": np.full(count, first)}
    )


def web_and_code(**options):
    inputs = {"web": corpus(0, 600, 100), "code": corpus(1, 90, 10)}
    return lv.mix(inputs, seed=3, **options)


def counts(ds, epoch=0):
    labels = [int(record["label"]) for record in ds.iterate(epoch)]
    return labels.count(0), labels.count(1)


def test_stop_decides_about_the_end():
    assert counts(web_and_code()) == (600, 90)
    web, code = counts(web_and_code(stop="first_exhausted"))
    assert code == 90 and 50 < web < 150
    web, code = counts(web_and_code(stop="all_read"))
    assert web == 600 and 450 < code < 750
    assert sum(counts(web_and_code(epoch_size=100))) == 100
    assert counts(web_and_code(stop="all_read"), 0) != counts(web_and_code(stop="all_read"), 1)
    with pytest.raises(InvalidArgumentError, match="all_exhausted"):
        web_and_code(stop="first")


def test_weights_can_be_shares_of_tokens():
    ds = web_and_code(weights={"code": 1, "web": 1}, by="tokens", stop="all_read", epoch_size=400)
    tokens = [0, 0]
    for record in ds:
        tokens[int(record["label"])] += len(record["tokens"])
        assert abs(tokens[0] - tokens[1]) <= 100
    batches = lv.mix(corpus(0, 60, 9).batch(2), corpus(1, 60, 90).batch(2), by="tokens")
    shares = [[b["tokens"].values.size, int(b["label"][0])] for b in batches.to_list(30)]
    sums = [sum(n for n, label in shares if label == k) for k in (0, 1)]
    assert abs(sums[0] - sums[1]) <= 180


def test_a_temperature_makes_weights_more_equal():
    web, code = counts(web_and_code(weights=[100, 1], temperature=2, epoch_size=400))
    assert 20 < code < 60 and web + code == 400


def test_stats_count_each_input():
    with iter(web_and_code(weights=[1, 1], epoch_size=50)) as it:
        labels = [int(record["label"]) for record in it]
        stage = next(s for s in it.stats()["stages"] if s["path"].endswith("mix"))
    assert (stage["web"], stage["code"]) == (labels.count(0), labels.count(1))


@pytest.mark.parametrize("stop", ["all_exhausted", "first_exhausted", "all_read"])
@pytest.mark.parametrize("by", ["records", "tokens"])
def test_a_resume_is_exact(stop, by):
    ds = web_and_code(stop=stop, by=by).shuffle(20, seed=1).batch(8)
    whole = [batch["label"].tolist() for batch in ds.iterate(0)]
    for cut in range(0, len(whole), 7):
        with ds.iterate(0) as it:
            for _ in range(cut):
                next(it)
            state = it.save()
        again = ds.with_options(threads=2).iterate(0)
        again.restore(state)
        assert [batch["label"].tolist() for batch in again] == whole[cut:]


def test_names_of_weights_are_those_of_inputs():
    with pytest.raises(ValueError, match="names 'web', and inputs 'web', 'code'"):
        web_and_code(weights={"web": 1})
    with pytest.raises(TypeError, match="need inputs by name"):
        lv.mix(lv.range(3), weights={"web": 1})
    with pytest.raises(InvalidArgumentError, match="'y' is not a field"):
        web_and_code(by="y")


def test_a_field_names_the_source_of_each_record():
    batch = web_and_code(source="source", epoch_size=40).batch(40).first()
    names = [(b"web", b"code")[label] for label in batch["label"].tolist()]
    assert [bytes(name) for name in batch["source"].to_list()] == names
    numbered = lv.mix(corpus(0, 5, 9), corpus(1, 5, 9), source="k", seed=1)
    assert all(record["k"] == record["label"] for record in numbered)
    odd = lv.mix({"it's \\ label": corpus(0, 2, 9)}, source="s").first()
    assert odd["s"] == "it's \\ label"


def origins_of(ds):
    return "".join("ab"[int(record["value"]) >= 1000] for record in ds)


def test_weights_by_step():
    inputs = {"a": lv.range(9), "b": lv.range(1000, 1009)}
    want = "aaabbbbbaaaaaabbbb"
    plain = lv.mix(*inputs.values(), weights=[(0, [1, 0]), (3, [0, 1]), (8, [1, 0]), (14, [0, 1])])
    assert origins_of(plain) == want
    steps = [(0, {"a": 1, "b": 0}), (3, {"b": 1, "a": 0}), (8, (1, 0)), (14, {"a": 0, "b": 1})]
    named = lv.mix(inputs, weights=steps)
    assert origins_of(named) == want
    assert origins_of(lv.from_text(str(named))) == want
    with pytest.raises(TypeError, match="weights by name need"):
        lv.mix(*inputs.values(), weights=steps)
    with pytest.raises(TypeError, match="pairs"):
        lv.mix(inputs, weights=[(0, [1, 0]), 7])
    with pytest.raises(ValueError, match="names"):
        lv.mix(inputs, weights=[(0, {"a": 1})])
    with pytest.raises(InvalidArgumentError, match="step 5 must be 0"):
        lv.mix(inputs, weights=[(5, [1, 0])])


def endless(n, first):
    return lv.range(first, first + n).repeat()


def drawn_mixture(draw):
    """A mixture, and what each input may contribute to an epoch (None = no limit)."""
    inputs, limits = {}, {}
    for i in range(draw.randrange(1, 4)):
        name, n = f"in{i}", draw.randrange(1, 40)
        limits[name] = draw.choice([None, draw.randrange(1, 60)])
        inputs[name] = endless(n, 1000 * i)
        if limits[name] is not None:
            inputs[name] = inputs[name].take(limits[name])
    size = draw.randrange(1, 120)
    weights = {name: draw.choice([1, 2, 0.5]) for name in inputs}
    stop = draw.choice(["all_exhausted", "all_read"])
    return lv.mix(inputs, weights=weights, seed=3, epoch_size=size, stop=stop), limits, size, stop


@pytest.mark.parametrize("trial", range(30))
def test_epochs_and_inputs_have_their_sizes_at_every_cut_and_on_ranks(trial):
    """epoch_size= is the size of an epoch, and take() on an input is the limit of that input."""
    ds, limits, size, stop = drawn_mixture(random.Random(trial))
    whole = [int(record["value"]) for record in ds.iterate(0)]
    most = None if None in limits.values() else sum(limits.values())
    if stop == "all_exhausted":
        assert len(whole) == (size if most is None else min(size, most))
        for i, limit in enumerate(limits.values()):
            assert limit is None or sum(value // 1000 == i for value in whole) <= limit
    else:
        assert len(whole) <= size
    for rows, threads in ((1, 1), (5, 3)):
        other = ds.with_options(block_rows=rows, threads=threads)
        assert [int(record["value"]) for record in other.iterate(0)] == whole
        for cut in range(0, len(whole) + 1, 1 if rows == 5 and trial < 5 else 13):
            with other.iterate(0) as it:
                for _ in range(cut):
                    next(it)
                state = it.save()
            again = ds.iterate(0)
            again.restore(state)
            assert [int(record["value"]) for record in again] == whole[cut:]
    ranks = [[int(r["value"]) for r in ds.shard(k, 3).iterate(0)] for k in range(3)]
    assert sorted(value for rank in ranks for value in rank) == sorted(whole)
