# SPDX-License-Identifier: Apache-2.0
"""Lengths of a field in an index: boundaries, histograms and reports without a pass."""

import json
import random
from functools import partial
from pathlib import Path

import cli_support
import levada as lv
import pytest
from command import needs_command
from levada.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

RECORDS = 3000
SPEC = {"id": lv.FixedLenFeature([], lv.int64), "tokens": lv.VarLenFeature(lv.int64)}
LENGTHS = [random.Random(i).randrange(1, 900) for i in range(RECORDS)]


def write(path, numbers):
    with lv.TFRecordWriter(str(path)) as writer:
        for i in numbers:
            writer.write(lv.make_example({"id": [i], "tokens": list(range(LENGTHS[i]))}))


def records(files, **options):
    return lv.tfrecord(files, **options).parse_example(SPEC).with_options(seed=5, threads=1)


STAGES = str(records("x")).split(" | ", 1)[1]


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "0.tfrecord", range(1100))
    write(tmp_path / "1.tfrecord", range(1100, RECORDS))
    write(tmp_path / "2.tfrecord", range(0))
    pattern = str(tmp_path / "*.tfrecord")
    assert lv.index(pattern, length="tokens", stages=STAGES) == RECORDS
    return pattern


def bucketed(ds, **more):
    return ds.bucket_by_sequence_length("tokens", max_tokens=4096, num_buckets=6, **more)


def best(lengths=LENGTHS, **more):
    return lv.optimal_boundaries(lengths, 6, **more)


def chosen(it):
    return next(line for line in it.explain().splitlines() if "chosen" in line)


def batches(it):
    return [batch["id"].tolist() for batch in it]


def listed(boundaries):
    return f"boundaries=[{','.join(map(str, boundaries))}], from the index"


def test_histograms_and_reports_are_those_of_a_pass(files):
    ds = records(files, index=True)
    assert lv.length_histogram(ds, "tokens") == lv.length_histogram(records(files), "tokens")
    assert lv.length_histogram(ds, "tokens").records == RECORDS
    indexed, passed = (lv.padding_report(d, "tokens") for d in (ds, records(files)))
    assert (indexed.strategies, indexed.quantiles) == (passed.strategies, passed.quantiles)


def test_boundaries_are_the_best_of_all_records_from_the_first_batch(files):
    ds = bucketed(records(files, index=True))
    want = records(files).bucket_by_sequence_length("tokens", boundaries=best(), max_tokens=4096)
    with ds.iterate(0) as it:
        assert listed(best()) in chosen(it)  # before any data is read
        found = batches(it)
    assert found == batches(want.iterate(0))


@pytest.mark.parametrize(
    "change",
    [
        lambda ds: ds.shuffle(100),
        lambda ds: ds.shard(1, 3),
        lambda ds: ds.repeat(2),
        lambda ds: ds.prefetch(),
        lambda ds: ds.skip(5).take(RECORDS),
    ],
)
def test_stages_that_change_no_record_may_be_between(files, change):
    ds = bucketed(change(records(files, index=True)))
    with ds.iterate(0) as it:
        assert listed(best()) in chosen(it)
        assert sum(map(len, batches(it))) > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda f: records(f),
        lambda f: lv.tfrecord(f, index=True).parse_example({"tokens": SPEC["tokens"]}),
        lambda f: records(f, index=True).filter(lambda r: True),
        lambda f: records(f, index=True).select("tokens"),
    ],
)
def test_other_datasets_do_not_use_the_lengths(files, change):
    ds = change(files)
    assert lv.length_histogram(ds, "tokens").records == RECORDS
    with bucketed(ds).iterate(0) as it:
        assert "from the index" not in it.explain()
        assert sum(len(batch["tokens"]) for batch in it) == RECORDS


def test_a_part_of_the_records_has_the_boundaries_of_all_and_its_own_histogram(files):
    ds = records(files, index=True, records=[1000, 1200])
    own = lv.length_histogram(ds, "tokens").expand().tolist()
    assert own == sorted(LENGTHS[1000:1200])
    with bucketed(ds).iterate(0) as it:
        assert listed(best()) in chosen(it)


@pytest.mark.parametrize("too_long", ["skip", "truncate", "alone"])
def test_only_lengths_that_join_batches_count(files, too_long):
    ds = records(files, index=True).bucket_by_sequence_length(
        "tokens", max_tokens=500, num_buckets=6, too_long=too_long
    )
    lengths = [min(n, 500) for n in LENGTHS] if too_long == "truncate" else LENGTHS
    with ds.iterate(0) as it:
        assert listed(best([n for n in lengths if n <= 500])) in chosen(it)
        n = sum(map(len, batches(it)))
    assert n == sum(too_long != "skip" or length <= 500 for length in LENGTHS)


def test_padding_to_the_boundary_has_one_shape_per_bucket(files):
    ds = bucketed(records(files, index=True), pad_to_bucket_boundary=True)
    with ds.iterate(0) as it:
        shapes = {batch["tokens"].shape[1] for batch in it}
        assert len(shapes) == 6 and max(shapes) == max(LENGTHS)


@pytest.mark.parametrize("bounded", [False, True])
def test_a_state_keeps_the_boundaries_without_the_index(files, bounded):
    """At every cut, with the index gone or made of other lengths."""
    indexed = bucketed(records(files, index=True), pad_to_bucket_boundary=bounded)
    with indexed.iterate(0) as it:
        want, states = [], []
        for batch in it:
            want.append(batch["id"].tolist())
            states.append(it.save())
    for path in Path(files).parent.glob("*.lvindex"):
        path.unlink()
    lv.index(files)
    for i in range(0, len(states), max(1, len(states) // 12)):
        with indexed.iterate(0) as it:
            it.restore(states[i])
            assert listed(best())[:20] in chosen(it) and "from the index" in chosen(it)
            assert batches(it) == want[i + 1 :]
    with indexed.iterate(0) as it:
        late = [it.save()]
        other = [next(it)["id"].tolist()]
        late.append(it.save())
        other += batches(it)
    lv.index(files, length="tokens", stages=STAGES)
    for i, state in enumerate(late):  # and the other way: a state that waits for its own choice
        with indexed.iterate(0) as it:
            it.restore(state)
            assert batches(it) == other[i:]


def test_a_state_is_refused_where_other_lengths_would_choose_other_boundaries(tmp_path):
    """Lines that move within a file change neither its size nor its first bytes."""
    path = tmp_path / "a.txt"
    lines = [b"x" * (1 + i * 37 % 90) for i in range(600)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    lv.index(str(path), length="line")
    ds = lv.text_lines(str(path), index=True).with_options(seed=1, threads=1)
    ds = ds.bucket_by_sequence_length("line", batch_sizes=4, num_buckets=4)
    with ds.iterate(0) as it:
        next(it)
        state = it.save()
    ds.iterate(0).restore(state)
    lines[400:] = [b"x" * 1, b"x" * (sum(map(len, lines[400:])) - 1), *[b""] * 198]
    path.write_bytes(b"\n".join(lines) + b"\n")
    lv.index(str(path), length="line")
    with pytest.raises(FailedPreconditionError, match="lengths in the index differ"):
        ds.iterate(0).restore(state)


def test_ranks_have_the_same_boundaries(files):
    ds = bucketed(records(files, index=True))
    seen = []
    for rank in range(3):
        with ds.shard(rank, 3, sync="buckets").iterate(0) as it:
            assert listed(best()) in chosen(it)
            seen.append([(b["tokens"].shape, b["is_padding"], b["id"]) for b in it])
    assert len({tuple(shape for shape, _, _ in rank) for rank in seen}) == 1
    rows = [row for rank in seen for _, *both in rank for row in zip(*both, strict=True)]
    assert sorted(number for pad, number in rows if not pad) == list(range(RECORDS))


def test_what_cannot_be_indexed(files):
    with pytest.raises(InvalidArgumentError, match="not a field; available: id, tokens"):
        lv.index(files, length="token", stages=STAGES)
    with pytest.raises(InvalidArgumentError, match="'take' does not"):
        lv.index(files, length="tokens", stages=f"{STAGES} | take:3")
    with pytest.raises(ValueError, match="stages= needs length="):
        lv.index(files, stages=STAGES)
    with pytest.raises(ValueError, match="check=True"):
        lv.index(files, check=True, length="tokens")
    assert lv.index(files, check=True) == RECORDS  # what failed replaced nothing
    assert lv.length_histogram(records(files, index=True), "tokens").records == RECORDS


def test_a_changed_file_is_an_error_not_an_old_answer(files):
    write(files.replace("*", "1"), range(1100, RECORDS - 1))
    ds = records(files, index=True)
    with pytest.raises(FailedPreconditionError, match="has changed"):
        lv.length_histogram(ds, "tokens")
    with pytest.raises(FailedPreconditionError, match="has changed"):
        batches(bucketed(ds).iterate(0))


def test_no_change_of_an_index_changes_lengths(files):
    path = Path(files.replace("*", "1") + ".lvindex")
    data, drawn = path.read_bytes(), random.Random(3)
    ds = records(files, index=True)
    want = lv.length_histogram(ds, "tokens")
    changed = [bytearray(data) for _ in range(120)]
    for each in changed[:80]:
        each[drawn.randrange(len(each))] ^= 1 << drawn.randrange(8)
    for each in changed[80:]:
        del each[drawn.randrange(len(each)) :]
    swapped = data[:-12288] + data[-8192:-4096] + data[-12288:-8192] + data[-4096:]
    for each in [*changed, swapped, data + data, data[4096:], b""]:
        path.write_bytes(each)
        try:
            assert lv.length_histogram(ds, "tokens") == want
        except (DataLossError, FailedPreconditionError):
            continue


@needs_command
def test_the_command_writes_and_uses_lengths(files, tmp_path):
    levada = partial(cli_support.levada, cwd=tmp_path)
    names = [f"{k}.tfrecord" for k in range(3)]
    lv.index(files)
    passed = levada("stats", f"tfrecord:*.tfrecord | {STAGES}", "--field", "tokens", "--json")
    levada("index", *names, "--length", "tokens", "--stages", STAGES)
    assert levada("index", "--check", *names).stdout.startswith("3,000 records")
    description = f"tfrecord:*.tfrecord,index=true | {STAGES}"
    found = levada("stats", description, "--field", "tokens", "--json")
    assert json.loads(found.stdout) == json.loads(passed.stdout)
    assert "needs --length" in levada("index", *names, "--stages", STAGES, status=2).stderr
    assert "--check" in levada("index", *names, "--check", "--length", "n", status=2).stderr
