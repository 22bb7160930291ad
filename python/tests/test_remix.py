# SPDX-License-Identifier: Apache-2.0
"""Other mixtures at a restore: inputs that are kept continue, others begin or are gone."""

from __future__ import annotations

import collections
import itertools
import random

import levada as lv
import pytest
from test_forged import BYTES, I64S, Entries

NAMES = ["web", "code", "books", "a name that is longer than paths allow", "zwölf/en"]
SIZE = 60


@pytest.fixture
def files(tmp_path):
    """Lines "web 7" in files of two names for each input."""
    for k, name in enumerate(NAMES):
        for half in range(2):
            rows = range(half * SIZE // 2, (half + 1) * SIZE // 2)
            (tmp_path / f"{k}-{half}.txt").write_text("".join(f"{name} {i}\n" for i in rows))
    return tmp_path


def corpus(folder, name, kind):
    lines = lv.text_lines(str(folder / f"{NAMES.index(name)}-*.txt"), shuffle_files=kind % 2 == 1)
    if kind in (1, 2):
        return lines.shuffle(13)
    if kind == 3:
        return lines.repeat(2).shuffle(5)
    if kind == 4:  # records that cannot be read again
        return lines.batch(3).unbatch()
    if kind == 5:  # records with several origins
        return lv.zip(lines, lv.range(10**6).rename({"value": "n"})).select("line")
    return lines


def mixture(folder, names, weights, downstream, kinds):
    ds = lv.mix(
        {name: corpus(folder, name, kinds[name]) for name in names},
        weights=dict(zip(names, weights, strict=True)),
    )
    for stage in downstream:
        ds = stage(ds)
    return ds


DOWNSTREAM = {
    "batch": [lambda ds: ds.batch(4)],
    "shuffle": [lambda ds: ds.shuffle(17), lambda ds: ds.batch(4)],
    "map": [lambda ds: ds.map(lambda r: {"line": r["line"]}), lambda ds: ds.batch(3)],
    "prefetch": [lambda ds: ds.shuffle(9), lambda ds: ds.batch(3), lambda ds: ds.prefetch(4)],
    "buckets": [
        lambda ds: ds.bucket_by_sequence_length("line", boundaries=[7], batch_sizes=[3, 4])
    ],
    "zip": [
        lambda ds: lv.zip(lv.range(10**6), ds),
        lambda ds: ds.shuffle(9),
        lambda ds: ds.batch(2),
    ],
    "nested": [lambda ds: lv.concat(ds, lv.text_lines("0-0.txt").take(2)), lambda ds: ds.batch(3)],
}


def lines_of(batch):
    return [line.decode() for line in batch["line"]]


def take(it, n):
    found = []
    for _ in range(n):
        batch = next(it, None)
        if batch is None:
            break
        found += lines_of(batch)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_each_record_of_a_kept_input_comes_once(files, seed, monkeypatch):
    """However often the mixture changes, at any batch."""
    monkeypatch.chdir(files)
    draw = random.Random(seed)
    stages = DOWNSTREAM[draw.choice(sorted(DOWNSTREAM))]
    kinds = {name: draw.randrange(6) for name in NAMES}
    state, seen, kept = None, [], set(NAMES)
    for step in range(4):
        names = draw.sample(NAMES, draw.randrange(1, len(NAMES) + 1))
        weights = [draw.choice([0.5, 1, 3]) for _ in names]
        kept &= set(names)
        ds = mixture(files, names, weights, stages, kinds).with_options(
            seed=seed, threads=draw.choice([1, 3]), block_rows=draw.choice([1, 4, 256])
        )
        with ds.iterate() as it:
            if state is not None:
                it.restore(state, mix="keep positions")
            seen += take(it, draw.randrange(12) if step < 3 else 10**6)
            state = it.save()
    counts = collections.Counter(seen)
    for name in kept:
        times = 2 if kinds[name] == 3 else 1
        expected = {f"{name} {i}": times for i in range(SIZE)}
        if stages is DOWNSTREAM["nested"] and name == "web":
            expected["web 0"] += 1
            expected["web 1"] += 1
        found = {line: n for line, n in counts.items() if line.rpartition(" ")[0] == name}
        wrong = {
            k: (found.get(k, 0), expected.get(k, 0))
            for k in {*found, *expected}
            if found.get(k, 0) != expected.get(k, 0)
        }
        assert not wrong, (name, kinds[name], sorted(wrong.items())[:5])


@pytest.mark.parametrize("cut", [0, 1, 7, 30, 61, 100])
def test_shares_of_tokens_are_those_of_the_new_weights_from_there_on(cut):
    """The model: the input with the least tokens for its weight, counted from the change on."""

    def inputs(names):
        return {
            n: lv.range(100 * k, 100 * k + 90).map(lambda r: {"n": r["value"], "k": 1})
            for k, n in enumerate("abcd")
            if n in names
        }

    first = lv.mix(inputs("abc"), weights={"a": 1, "b": 1, "c": 1}, by="k").with_options(
        block_rows=1, threads=3
    )
    second = lv.mix(inputs("dab"), weights={"d": 3, "a": 1, "b": 2}, by="k")
    with first.iterate() as it:
        before = [next(it)["n"] for _ in range(cut)]
        state = it.save()
    with second.iterate() as it:
        it.restore(state, mix="keep positions")
        after = [record["n"] for record in it]
    places = {n: sum(v // 100 == k for v in before) for k, n in enumerate("abcd")}
    order, weights = "abd", {"d": 3, "a": 1, "b": 2}  # in the order of the mapping
    tokens, expected = dict.fromkeys(order, 0), []
    while left := [n for n in order if places[n] < 90]:
        name = min(left, key=lambda n: tokens[n] / weights[n])
        expected.append(100 * "abcd".index(name) + places[name])
        places[name] += 1
        tokens[name] += 1
    assert after == expected


def test_a_restore_with_the_same_mixture_is_the_plain_one(files, monkeypatch):
    monkeypatch.chdir(files)
    ds = mixture(files, NAMES[:3], [1, 2, 3], DOWNSTREAM["shuffle"], dict.fromkeys(NAMES, 1))
    ds = ds.with_options(seed=4, threads=3)
    with ds.iterate() as it:
        take(it, 9)
        state = it.save()
        rest = take(it, 10**6)
    for mix in (None, "keep positions"):
        with ds.iterate() as it:
            it.restore(state, mix=mix)
            assert take(it, 10**6) == rest


def test_a_removed_input_is_logged_and_its_waiting_records_are_returned(files):
    kinds = dict.fromkeys(NAMES, 0)
    both = mixture(files, ["web", "code"], [1, 1], DOWNSTREAM["shuffle"], kinds)
    one = mixture(files, ["web"], [1], DOWNSTREAM["shuffle"], kinds)
    with both.with_options(seed=1).iterate() as it:
        before = take(it, 2)
        state = it.save()
    with one.with_options(seed=1).iterate() as it:
        it.restore(state, mix="keep positions")
        after = [
            (line, key)
            for batch in it
            for line, key in zip(lines_of(batch), batch.record_keys, strict=True)
        ]
        problems = it.stats()["problems"]
        again = it.save()
        it.restore(again)
    problems = str(problems)
    assert "'code' was removed after " in problems
    drawn = int(problems.split("removed after ")[1].split()[0])
    code = [line for line in before if line.startswith("code")]
    code += [line for line, _ in after if line.startswith("code")]
    assert sorted(code) == sorted(f"code {i}" for i in range(drawn))
    for line, key in after:  # the names of files outlive the input
        assert f"{NAMES.index(line.split()[0])}-" in key


def test_what_may_not_differ(files):
    kinds = dict.fromkeys(NAMES, 0)

    def saved(ds):
        with ds.iterate() as it:
            take(it, 2)
            return it.save()

    state = saved(mixture(files, ["web", "code"], [1, 1], DOWNSTREAM["batch"], kinds))
    for other in (
        mixture(files, ["web", "code"], [1, 1], DOWNSTREAM["shuffle"], kinds),
        mixture(files, ["web", "code"], [1, 1], DOWNSTREAM["batch"], {**kinds, "web": 2}),
        lv.mix([corpus(files, "web", 0)]).batch(4),
    ):
        with (
            other.iterate() as it,
            pytest.raises(lv.errors.FailedPreconditionError, match="pipeline"),
        ):
            it.restore(state, mix="keep positions")
    plain = [corpus(files, "web", 0), corpus(files, "code", 0)]
    state = saved(lv.mix(plain, weights=[1, 1]).batch(4))
    with lv.mix(plain, weights=[1, 2]).batch(4).iterate() as it:
        with pytest.raises(lv.errors.FailedPreconditionError, match="weights"):
            it.restore(state, mix="keep positions")
        with pytest.raises(ValueError, match="keep positions"):
            it.restore(state, mix="keep")
    with pytest.raises(lv.errors.FailedPreconditionError, match="pipeline"):
        with lv.mix(plain, weights=[1, 2]).batch(4).iterate() as it:
            it.restore(state)


def test_steps_of_weights_begin_where_the_new_schedule_says():
    def ds(weights):
        inputs = {"a": lv.range(10**6), "b": lv.range(10**6, 2 * 10**6)}
        return lv.mix(inputs, weights=weights, seed=1).with_options(block_rows=1)

    with ds([(0, {"a": 1, "b": 0})]).iterate() as it:
        for _ in range(50):
            next(it)
        state = it.save()
    with ds(
        [(0, {"a": 1, "b": 0}), (40, {"a": 0, "b": 1}), (70, {"a": 1, "b": 0})]
    ).iterate() as it:
        it.restore(state, mix="keep positions")
        values = [next(it)["value"] for _ in range(40)]
        middle = it.save()
        rest = [next(it)["value"] for _ in range(5)]
        it.restore(middle)
        assert [next(it)["value"] for _ in range(5)] == rest
    assert values == [10**6 + i for i in range(20)] + [50 + i for i in range(20)]


def test_names_of_inputs_differ():
    with pytest.raises(ValueError, match="must differ"):
        lv.from_text("mix(range:3; range:3):names=[a, a]")


def double(record):
    return {"value": record["value"] * 2}


def mixed(spec, *names):
    objects = lv.from_random_access(list(range(200, 240)), fields="value", shuffle_records=True)
    inputs = {
        "f": lv.range(40).map(double, spec=spec),
        "m": lv.range(100, 140),
        "o": objects,
        "g": lv.range(300, 340).map(double, spec=spec),
    }
    return lv.mix({n: inputs[n] for n in names}, seed=2).shuffle(7, seed=3).with_options(seed=1)


def test_functions_and_objects():
    """Inputs of Python: those that are gone are made again from what the state says of them."""
    spec = {"value": lv.int64}
    with mixed(spec, "f", "m").iterate() as it:
        seen = [next(it)["value"] for _ in range(11)]
        state = it.save()
    with mixed(spec, "m", "o").iterate() as it:
        it.restore(state, mix="keep positions")
        seen += [next(it)["value"] for _ in range(13)]
        state = it.save()
    with mixed(spec, "o", "f", "m").iterate() as it:
        it.restore(state, mix="keep positions")
        seen += [record["value"] for record in it]
    counts = collections.Counter(int(value) for value in seen)
    assert all(counts[v] == 1 for v in (*range(100, 140), *range(200, 240)))


def test_functions_that_choose_columns():
    """Those of kept inputs keep what they chose; others choose with their first records."""
    with mixed(None, "f", "g").iterate() as it:
        seen = [next(it)["value"] for _ in range(11)]
        state = it.save()
    with mixed(None, "g", "m", "f").iterate() as it:
        it.restore(state, mix="keep positions")
        seen += [record["value"] for record in it]
    assert sorted(map(int, seen)) == [*range(0, 80, 2), *range(100, 140), *range(600, 680, 2)]
    with mixed({"value": lv.int64}, "m", "f").iterate() as it:
        with pytest.raises(lv.errors.FailedPreconditionError, match="another"):
            it.restore(state, mix="keep positions")
    with mixed(None, "m", "o").iterate() as it:
        with pytest.raises(lv.errors.FailedPreconditionError, match="declared in another way"):
            it.restore(state, mix="keep positions")


ODD = [
    "a",
    "a/b",
    "a/0.range",
    "a~1",
    "~",
    "0.mix",
    "/",
    ".",
    "a b",
    "é" * 30,
    "é" * 30 + "x",
    "x" * 24,
]


@pytest.mark.parametrize("seed", range(20))
def test_names_of_any_form_are_told_apart(seed):
    """None is taken for the path of another one, or of a stage below it."""
    draw = random.Random(seed)
    seen, state, kept = [], None, set(ODD)
    for step in range(4):
        names = draw.sample(ODD, draw.randrange(1, len(ODD) + 1))
        kept &= set(names)
        inputs = {
            n: lv.range(100 * ODD.index(n), 100 * ODD.index(n) + 20).shuffle(5) for n in names
        }
        ds = lv.mix(inputs, weights=dict.fromkeys(names, 1)).with_options(seed=seed, block_rows=1)
        with ds.iterate() as it:
            if state is not None:
                it.restore(state, mix="keep positions")
            seen += [int(r["value"]) for r in itertools.islice(it, None if step == 3 else 15)]
            state = it.save()
    counts = collections.Counter(seen)
    for name in kept:
        first = 100 * ODD.index(name)
        assert [counts[v] for v in range(first, first + 20)] == [1] * 20, name


def test_a_state_of_an_older_version_is_refused_by_name(monkeypatch):
    """Its mixtures with names had other paths: nothing below them is there."""
    ds = lv.mix({"a": lv.range(9), "b": lv.range(9)}, seed=1)
    with ds.iterate() as it:
        next(it)
        state = Entries(it.save())
    for path, key in list(state):
        if path.startswith("0.mix"):
            state[path.replace("0.mix/b/0", "1").replace("0.mix", "2.mix"), key] = state.pop(
                (path, key)
            )
    state = state.encode()
    for mix in (None, "keep positions"):
        with (
            ds.iterate() as it,
            pytest.raises(lv.errors.FailedPreconditionError, match="older version"),
        ):
            it.restore(state, mix=mix)


def forged(draw, state):
    """With an entry or two that are gone, or have other numbers or bytes, under a good checksum."""
    entries = Entries(state)
    for _ in range(draw.randrange(1, 3)):
        at = draw.choice(sorted(key for key in entries if key[0] != "dataset"))
        version, kind, data = entries[at]
        data = bytearray(data)
        how = draw.randrange(5)
        if how == 0:
            del entries[at]
        elif how == 1 and data:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        elif how == 2:
            data += data[: draw.randrange(1, 5)]
        elif how == 3:
            del data[draw.randrange(len(data) + 1) :]
        elif kind != BYTES:
            numbers = [draw.choice([-1, 0, 1, 7, 2**31, 2**62, -(2**63)]) for _ in range(4)]
            entries.put(*at, numbers if kind == I64S else numbers[0])
            continue
        if at in entries:
            entries[at] = [version, kind, bytes(data)]
    return entries.encode()


@pytest.mark.parametrize("seed", range(150))
def test_forged_states_are_errors_or_positions(files, seed):
    """And the iterator still works."""
    draw = random.Random(seed)
    stages = DOWNSTREAM[draw.choice(["batch", "shuffle", "prefetch", "buckets"])]
    kinds = {name: draw.randrange(6) for name in NAMES}

    def opened(names):
        weights = [draw.choice([0.5, 1, 3]) for _ in names]
        ds = mixture(files, names, weights, stages, kinds)
        return ds.with_options(seed=seed, threads=draw.choice([1, 3])).iterate()

    with opened(draw.sample(NAMES, 3)) as it:
        take(it, draw.randrange(12))
        state = it.save()
    with opened(draw.sample(NAMES, 3)) as it:
        for _ in range(10):
            try:
                it.restore(forged(draw, state), mix="keep positions")
                for _ in range(300):
                    next(it, None)
            except lv.errors.LevadaError:
                continue
        it.restore(state, mix="keep positions")
        assert all(line.rpartition(" ")[0] in NAMES for line in take(it, 300))


@pytest.mark.parametrize(
    "stages",
    [
        "shard:1,count=2",
        "bucket_by_sequence_length:value,boundaries=[9],batch_sizes=4 | "
        "shard:1,count=2,sync=buckets",
    ],
)
def test_ranks_that_share_a_mixture_cannot_change_it(stages):
    """Each may have drawn another number of records by the old weights."""

    def ds(*weights):
        mixture = lv.mix({"a": lv.range(30), "b": lv.range(30)}, weights=weights, seed=1)
        return lv.from_text(f"{mixture} | {stages}")

    with ds(1, 1).iterate() as it:
        next(it)
        state = it.save()
        it.restore(state, mix="keep positions")  # it is the same mixture
    with ds(1, 2).iterate() as it:
        with pytest.raises(lv.errors.UnimplementedError, match="among ranks"):
            it.restore(state, mix="keep positions")


def test_each_rank_of_divided_inputs_changes_its_own_mixture():
    seen = []
    for rank in range(2):
        inputs = {n: lv.range(100 * k, 100 * k + 40).shard(rank, 2) for k, n in enumerate("abc")}
        first = lv.mix({"a": inputs["a"], "b": inputs["b"]}, seed=1).shuffle(5, seed=1)
        second = lv.mix(inputs, weights={"a": 1, "b": 3, "c": 2}, seed=1).shuffle(5, seed=1)
        with first.with_options(threads=1 + rank).iterate() as it:
            seen += [int(r["value"]) for r in itertools.islice(it, 11)]
            state = it.save()
        with second.iterate() as it:
            it.restore(state, mix="keep positions")
            seen += [int(r["value"]) for r in it]
    assert sorted(seen) == [100 * k + i for k in range(3) for i in range(40)]


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_a_torch_dataset_changes_its_mixture(files, cut):
    pytest.importorskip("torch")

    def data(names):
        inputs = {name: lv.text_lines(str(files / f"{NAMES.index(name)}-*.txt")) for name in names}
        ds = lv.mix(inputs, weights=[1] * len(names), seed=1).shuffle(9, seed=2).batch(4)
        return lv.torch_dataset(ds.with_options(seed=3, block_rows=1), rank=0, world_size=1)

    def lines(batches):
        return [line for batch in batches for line in batch["line"]]

    old, new = data(["web", "code"]), data(["web", "code", "books"])
    it = iter(old)
    seen, state = lines(itertools.islice(it, cut)), old.state_dict()
    new.load_state_dict(state)
    with pytest.raises(lv.errors.FailedPreconditionError, match="another pipeline"):
        next(iter(new))
    new.load_state_dict(state, mix="keep positions")
    seen += lines(new)
    counts = collections.Counter(seen)
    assert len(counts) == 3 * SIZE and set(counts.values()) == {1}
    assert lines(new) and len(lines(new)) == 3 * SIZE  # the next epoch has no state


def test_parts_of_a_torch_dataset_keep_their_mixture(files):
    pytest.importorskip("torch")
    ds = lv.torch_dataset(
        mixture(files, ["web", "code"], [1, 1], [], {"web": 0, "code": 0}), parts=2
    )
    with pytest.raises(
        lv.errors.UnimplementedError, match=r"torch_dataset.parts=. inside of an epoch"
    ):
        ds.load_state_dict(ds.state_dict(), mix="keep positions")
    with pytest.raises(lv.errors.InvalidArgumentError, match="'keep positions' or None"):
        ds.load_state_dict(ds.state_dict(), mix="keep")
