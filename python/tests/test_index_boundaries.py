# SPDX-License-Identifier: Apache-2.0
"""Boundaries from indexes: several lengths, costs that are functions, several inputs."""

import random
from pathlib import Path

import levada as lv
import pytest
from levada.errors import FailedPreconditionError

RECORDS = 2000
SPEC = {
    "id": lv.FixedLenFeature([], lv.int64),
    "source": lv.VarLenFeature(lv.int64),
    "target": lv.VarLenFeature(lv.int64),
}
DRAWN = random.Random(6)
SOURCE = [DRAWN.randrange(1, 90) for _ in range(RECORDS)]
TARGET = [max(0, n + DRAWN.randrange(-40, 60)) for n in SOURCE]  # 0: the record has no target
SUMS = [a + b for a, b in zip(SOURCE, TARGET, strict=True)]
BOTH = ["source", "target"]


def write(path, numbers):
    with lv.TFRecordWriter(str(path)) as writer:
        for i in numbers:
            fields = {"id": [i], "source": [1] * SOURCE[i]}
            if TARGET[i]:
                fields["target"] = [2] * TARGET[i]
            writer.write(lv.make_example(fields))


def records(files, **options):
    options = {"index": True, **options}
    return lv.tfrecord(files, **options).parse_example(SPEC).with_options(seed=5, threads=1)


STAGES = str(records("x")).split(" | ", 1)[1]


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "0.tfrecord", range(900))
    write(tmp_path / "1.tfrecord", range(900, RECORDS))
    pattern = str(tmp_path / "*.tfrecord")
    lv.index(pattern, length=BOTH, stages=STAGES)
    return pattern


def chosen(it):
    return next(line for line in it.explain().splitlines() if "chosen" in line)


def listed(boundaries):
    return f"boundaries=[{','.join(map(str, boundaries))}], from the index"


def batches(it):
    return [batch["id"].tolist() for batch in it]


COSTS = {
    "linear": ({"max_tokens": 3000}, lambda a, b: a + b, 3000),
    "quadratic": ({"max_tokens": 90000, "cost": "quadratic"}, lambda a, b: a * a + b * b, 90000),
    "2d": ({"max_tokens": 60000, "cost": "2d"}, lambda a, b: a * b, 60000),
    "skip": ({"max_tokens": 150, "too_long": "skip"}, lambda a, b: a + b, 150),
    "2d alone": ({"max_tokens": 2500, "cost": "2d", "too_long": "alone"}, lambda a, b: a * b, 2500),
    "sizes": ({"batch_sizes": 16}, lambda a, b: 0, 0),
}


@pytest.mark.parametrize("name", COSTS)
def test_boundaries_limit_the_sum_of_several_lengths(files, name):
    options, cost, budget = COSTS[name]
    joined = [a + b for a, b in zip(SOURCE, TARGET, strict=True) if cost(a, b) <= budget]
    best = lv.optimal_boundaries(joined, 6)
    ds = records(files).bucket_by_sequence_length(BOTH, num_buckets=6, **options)
    given = records(files).bucket_by_sequence_length(BOTH, boundaries=best, **options)
    with ds.iterate(0) as it:
        assert listed(best) in chosen(it)  # before any data is read
        assert batches(it) == batches(given.iterate(0))


def test_truncated_lengths_are_the_ones_that_count(files):
    def cut(a, b):
        limit = 40  # both fit in 80
        return min(a, limit) + min(b, limit) if a + b > 80 else a + b

    best = lv.optimal_boundaries([cut(*pair) for pair in zip(SOURCE, TARGET, strict=True)], 6)
    ds = records(files).bucket_by_sequence_length(
        BOTH, num_buckets=6, max_tokens=80, too_long="truncate"
    )
    with ds.iterate(0) as it:
        assert listed(best) in chosen(it)
        assert sum(map(len, batches(it))) == RECORDS


def double(source, target):
    return 2 * (source + target)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_function_is_a_cost_as_any_other(files, threads):
    """It cannot be called before the first record, so the choice waits for that."""
    options = {"num_buckets": 6, "max_tokens": 300, "too_long": "skip"}
    ds = records(files).with_options(threads=threads)
    ds = ds.bucket_by_sequence_length(BOTH, cost=double, **options)
    best = lv.optimal_boundaries([n for n in SUMS if 2 * n <= 300], 6)
    given = records(files).bucket_by_sequence_length(
        BOTH, boundaries=best, max_tokens=150, too_long="skip"
    )
    want = batches(given.iterate(0))
    with ds.iterate(0) as it:
        assert "boundaries from the index, at the first record" in chosen(it)
        states, found = [it.save()], []
        for batch in it:
            found.append(batch["id"].tolist())
            states.append(it.save())
        assert listed(best) in chosen(it)
    assert found == want
    for cut in range(0, len(states), max(1, len(states) // 12)):
        with ds.iterate(0) as it:
            it.restore(states[cut])
            assert batches(it) == want[cut:]


def test_a_choice_that_waits_needs_the_index_after_a_restore(files):
    ds = records(files).bucket_by_sequence_length(BOTH, cost=double, max_tokens=900)
    with ds.iterate(0) as it:
        state = it.save()
        next(it)
        later = it.save()
        rest = batches(it)
    lv.index(files, length="source", stages=STAGES)
    with pytest.raises(FailedPreconditionError, match="lacks the lengths now"):
        ds.iterate(0).restore(state)
    with ds.iterate(0) as it:
        it.restore(later)  # whose boundaries are in it
        assert batches(it) == rest


def test_a_function_that_raises_is_its_error(files):
    def fails(source, target):
        raise KeyError("no such table")

    ds = records(files).bucket_by_sequence_length(BOTH, cost=fails, max_tokens=900)
    for _ in range(2):
        with ds.iterate(0) as it, pytest.raises(KeyError, match="no such table"):
            next(it)


INPUTS = {
    "concat": lambda one, two: lv.concat([one, two]),
    "mix": lambda one, two: lv.mix([one, two], weights=[3, 1]),
    "shuffled": lambda one, two: lv.mix([one.shuffle(40), two.repeat(2)]),
    "nested": lambda one, two: lv.mix([lv.concat([one.take(300), two]), two.skip(2)]).shuffle(9),
}
ALL = {"nested": [*SUMS, *SUMS[900:]]}


@pytest.mark.parametrize("name", INPUTS)
def test_several_inputs_have_the_boundaries_of_all_their_records(files, name):
    one, two = (records(files.replace("*", str(i))) for i in range(2))
    best = lv.optimal_boundaries(ALL.get(name, SUMS), 6)
    ds = INPUTS[name](one, two).bucket_by_sequence_length(BOTH, num_buckets=6, max_tokens=3000)
    with ds.iterate(0) as it:
        assert listed(best) in chosen(it)
        want = batches(it)
    with ds.iterate(0) as it:
        for _ in range(5):
            next(it)
        state = it.save()
    with ds.iterate(0) as it:
        it.restore(state)
        assert batches(it) == want[5:]


def test_stages_after_a_combiner_belong_to_each_input(files):
    one, two = (lv.tfrecord(files.replace("*", str(i)), index=True) for i in range(2))
    ds = lv.concat([one, two]).parse_example(SPEC).bucket_by_sequence_length(
        BOTH, num_buckets=6, max_tokens=3000
    )  # fmt: skip
    with ds.with_options(seed=1).iterate(0) as it:
        assert listed(lv.optimal_boundaries(SUMS, 6)) in chosen(it)


def test_the_inputs_may_have_different_formats(files, tmp_path):
    lines = tmp_path / "a.txt"
    words = ["x" * (i % 50) for i in range(400)]
    lines.write_text("\n".join(words) + "\n")
    lv.index(str(lines), source="text_lines:dtype=string", length="line")
    other = tmp_path / "b.tfrecord"
    with lv.TFRecordWriter(str(other)) as writer:
        for i in range(300):
            writer.write(b"y" * (i % 70))
    lv.index(str(other), length="line", stages='rename:{"record":"line"}')
    one = lv.text_lines(str(lines), dtype=lv.string, index=True)
    two = lv.tfrecord(str(other), index=True).rename({"record": "line"})
    ds = lv.concat([one, two]).bucket_by_sequence_length("line", batch_sizes=8, num_buckets=5)
    best = lv.optimal_boundaries([*map(len, words), *(i % 70 for i in range(300))], 5)
    with ds.with_options(seed=1).iterate(0) as it:
        assert listed(best) in chosen(it)


def reason(ds, length=BOTH):
    with ds.bucket_by_sequence_length(length, max_tokens=3000).iterate(0) as it:
        line = chosen(it)
        assert next(it)
    assert "from the records so far: " in line
    return line.split("so far: ")[1]


def test_explain_says_why_an_index_is_not_used(files):
    ds = records(files)
    assert reason(records(files, index=False)) == "'tfrecord' has no index=true"
    assert reason(ds.map(dict, spec=SPEC)).startswith("'map' may change lengths")
    assert reason(ds.filter(lambda r: True)) == "'filter' does not emit one record for each record"
    assert reason(lv.concat([ds, records(files, index=False)])) == "'tfrecord' has no index=true"
    assert reason(ds.rename({"source": "a", "target": "b"}), ["a", "b"]).startswith(
        "the index does not have the lengths of a,b with these stages"
    )
    zipped = lv.zip(ds.select("source"), ds.select("target"))
    assert reason(zipped) == "'zip' has no index"
    arrays = lv.from_arrays({"source": [1, 2], "target": [3, 4]}).with_options(seed=1)
    assert reason(arrays) == "'memory' has no index"
    Path(files.replace("*", "1") + ".lvindex").unlink()
    lv.index(files.replace("*", "1"), length="source", stages=STAGES)
    assert "lengths of source,target" in reason(ds)
    assert "lengths of source,target" in reason(ds.shuffle(4).take(9))


def test_a_map_that_keeps_lengths_may_be_between(files):
    def negative(record):
        return {**record, "source": -record["source"]}

    best = lv.optimal_boundaries(SUMS, 6)
    for ds in (
        records(files).map(negative, keeps_lengths=True),
        records(files).map(negative, keeps_lengths=True, spec=SPEC),
    ):
        ds = ds.bucket_by_sequence_length(BOTH, num_buckets=6, max_tokens=3000)
        with ds.iterate(0) as it:
            assert listed(best) in chosen(it)
            assert sum(map(len, batches(it))) == RECORDS


def test_a_changed_input_is_an_error(files):
    one, two = (records(files.replace("*", str(i))) for i in range(2))
    ds = lv.concat([one, two]).bucket_by_sequence_length(BOTH, num_buckets=6, max_tokens=3000)
    with ds.iterate(0) as it:
        next(it)
        state = it.save()
    write(files.replace("*", "1"), range(901, RECORDS))
    with pytest.raises(FailedPreconditionError, match="has changed"):
        batches(ds.iterate(0))
    lv.index(files, length=BOTH, stages=STAGES)
    with pytest.raises(FailedPreconditionError, match=r"other lengths|changed|another"):
        ds.iterate(0).restore(state)
