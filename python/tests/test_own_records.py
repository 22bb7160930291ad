# SPDX-License-Identifier: Apache-2.0
"""Ranks in step that read only their own records, placed by the lengths of an index."""

import random

import levada as lv
import numpy as np
import pytest
from levada.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

RECORDS = 1500
FIELDS = {
    "id": lv.FixedLenFeature([], lv.int64),
    "tokens": lv.VarLenFeature(lv.int64),
    "labels": lv.VarLenFeature(lv.int64),
    "text": lv.FixedLenFeature([], lv.string),
}
DRAWN = random.Random(4)
LENGTHS = [min(int(DRAWN.lognormvariate(3.2, 0.8)), 255) for _ in range(RECORDS)]
LABELS = [DRAWN.randrange(30) for _ in range(RECORDS)]
BOUNDARIES = [16, 32, 64, 128]


def write(path, numbers):
    with lv.TFRecordWriter(str(path)) as writer:
        for i in numbers:
            tokens = list(range(i, i + LENGTHS[i]))
            fields = {"id": [i], "tokens": tokens, "labels": [7] * LABELS[i], "text": [b"x" * 900]}
            writer.write(lv.make_example(fields))


def records(files, **options):
    options = {"index": True, **options}
    ds = lv.tfrecord(files, **options).with_options(seed=5, threads=1)
    return ds.parse_example(FIELDS).select("id", "tokens", "labels", "text")


STAGES = str(records("x")).split(" | ", 1)[1]


def combined(ds):
    """What `records` makes, of one or several sources."""
    ds = ds.with_options(seed=5, threads=1)
    return ds.parse_example(FIELDS).select("id", "tokens", "labels", "text")


def raw(files, *numbers, **options):
    return lv.tfrecord(files, index=True, records=list(numbers) or None, **options)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    write(folder / "0.tfrecord", range(700))
    write(folder / "1.tfrecord", range(700, RECORDS))
    write(folder / "2.tfrecord", range(0))
    pattern = str(folder / "*.tfrecord")
    lv.index(pattern, length=["tokens", "labels"], stages=STAGES)
    return pattern


def negative(record):
    return {**record, "labels": -record["labels"]}


def doubled(batch):
    return {**{name: batch[name] for name in batch}, "id": 2 * batch["id"]}


SOURCES = {
    "in order": lambda f: records(f),
    "shuffled": lambda f: records(f, shuffle_records=True),
    "range": lambda f: records(f, records=[333, 1200]),
    "part": lambda f: records(f, part=[1, 2], shuffle_records=True),
    "buffer": lambda f: records(f).shuffle(100).prefetch(4),
    "epochs": lambda f: records(f, shuffle_records=True, records=[0, 300]).repeat(3).shuffle(50),
    "taken": lambda f: records(f).skip(100).take(900),
    "taken of a shuffle": lambda f: records(f, shuffle_records=True).skip(7).take(400).repeat(2),
    "mapped": lambda f: records(f).map(negative, keeps_lengths=True).shuffle(70),
    "mapped blocks": lambda f: records(f).take(500).map(doubled, batched=True, keeps_lengths=True),
    "concat": lambda f: combined(lv.concat(raw(f, 0, 40), raw(f, 40, 41), raw(f, 41, 900))),
    "mix": lambda f: combined(
        lv.mix([raw(f, shuffle_records=True), raw(f, 0, 99).repeat(2)], weights=[2, 1], seed=3)
    ).shuffle(70),
    "combined": lambda f: combined(
        lv.concat(
            lv.mix([raw(f, 0, 300), raw(f, 300, 700).skip(7)]).shuffle(20).prefetch(2),
            raw(f, 700, 1100, part=[1, 2]),
        ).take(500)
    ).repeat(2),
    "early shuffle": lambda f: (
        lv.tfrecord(f, index=True)
        .with_options(seed=5, threads=1)
        .shuffle(64)
        .parse_example(FIELDS)
        .select("id", "tokens", "labels", "text")
    ),
}
STRATEGIES = {
    "sizes": {"boundaries": BOUNDARIES, "batch_sizes": [32, 16, 8, 4, 2]},
    "budget": {"boundaries": BOUNDARIES, "max_tokens": 2048},
    "multiple": {"boundaries": BOUNDARIES, "max_tokens": 2048, "pad_to_multiple": 8},
    "chosen": {"max_tokens": 2048, "num_buckets": 5},
    "truncate": {"boundaries": BOUNDARIES, "max_tokens": 128, "too_long": "truncate"},
    "alone": {"boundaries": BOUNDARIES, "max_tokens": 64, "too_long": "alone"},
    "skip": {"boundaries": BOUNDARIES, "max_tokens": 64, "too_long": "skip"},
    "lookahead": {"max_tokens": 2048, "lookahead": 300},
    "lookahead alone": {"max_tokens": 64, "lookahead": 50, "too_long": "alone"},
    "boundary": {"boundaries": [64, 256], "batch_sizes": 4, "pad_to_bucket_boundary": True},
    "ragged": {"boundaries": BOUNDARIES, "batch_sizes": 6, "no_padding": True},
    "pairs": {"length": ["tokens", "labels"], "max_tokens": 2048, "lookahead": 100},
    "2d": {"length": ["tokens", "labels"], "max_tokens": 20000, "boundaries": [(32, 8), (64, 30)],
           "cost": "2d", "too_long": "alone"},
    "dropped": {"boundaries": BOUNDARIES, "batch_sizes": 7, "drop_remainder": True},
}  # fmt: skip


def bucketed(ds, length="tokens", **options):
    return ds.bucket_by_sequence_length(length, **options)


def reading(it):
    return next(line for line in it.explain().splitlines() if line.startswith("    reads"))


def content(batch):
    """All that a batch has, as something to compare."""
    made = []
    for name in batch:
        column = batch[name]
        ragged = isinstance(column, lv.Ragged)
        rows = [list(row) for row in column] if ragged else np.asarray(column).tolist()
        made.append((name, getattr(column, "shape", None), rows))
        if name in ("tokens", "labels"):
            made.append(batch.lengths(name).tolist())
    return made


def everything(ds, own, epoch=0):
    with ds.iterate(epoch) as it:
        assert ("its own records" in reading(it)) == own, reading(it)
        made = [content(batch) for batch in it]
        return made, it.stats()["dropped_records"]


def unindexed(ds):
    """The same dataset where bad records may be skipped, so that each rank reads all of them."""
    return ds.with_options(errors="skip:1")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_batches_are_those_of_ranks_that_read_all_records(files, source, strategy):
    ds = bucketed(SOURCES[source](files), **STRATEGIES[strategy])
    for world in (2, 3):
        for rank in range(world):
            one = ds.shard(rank, world, sync="buckets")
            assert everything(one, True, 1) == everything(unindexed(one), False, 1)


@pytest.mark.parametrize("strategy", ["sizes", "budget", "lookahead", "ragged"])
def test_a_tail_is_dropped_alike(files, strategy):
    ds = bucketed(records(files), **STRATEGIES[strategy])
    for rank in range(3):
        one = ds.shard(rank, 3, equal="drop", sync="buckets")
        assert everything(one, True) == everything(unindexed(one), False)


def test_more_ranks_than_records(files):
    ds = bucketed(records(files, records=[10, 15]), boundaries=BOUNDARIES, batch_sizes=4)
    for rank in range(8):
        one = ds.shard(rank, 8, sync="buckets")
        assert everything(one, True) == everything(unindexed(one), False)


@pytest.mark.parametrize("strategy", ["sizes", "chosen", "alone", "lookahead", "ragged"])
@pytest.mark.parametrize(
    "source", ["in order", "shuffled", "epochs", "taken", "mapped", "concat", "mix", "combined"]
)
def test_each_cut_resumes_with_any_threads(files, source, strategy):
    ds = bucketed(SOURCES[source](files), **STRATEGIES[strategy]).prefetch(3)
    ds = ds.shard(1, 3, sync="buckets")
    whole, _ = everything(ds, True)
    for cut in range(0, len(whole), max(1, len(whole) // 9)):
        threads = (1, 2, 4)[cut % 3]
        with ds.with_options(threads=threads, block_rows=1 + 7 * cut).iterate(0) as one:
            for _ in range(cut):
                next(one)
            state = one.save()
        with ds.with_options(threads=4 // threads).iterate(0) as again:
            again.restore(state)
            assert [content(batch) for batch in again] == whole[cut:]


def read_of(it, stage):
    return next(s["records"] for s in it.stats()["stages"] if s["path"].endswith(stage))


@pytest.mark.parametrize("source", ["shuffled", "mix", "combined"])
def test_a_rank_decodes_its_own_records_only(files, source):
    ds = bucketed(SOURCES[source](files), boundaries=BOUNDARIES, batch_sizes=4)
    records = sum(1 for _ in SOURCES[source](files))
    decoded = []
    for rank in range(8):
        with ds.shard(rank, 8, sync="buckets").iterate(0) as it:
            rows = sum(len(batch["id"]) for batch in it)
            decoded.append(read_of(it, "parse_example"))
            assert decoded[-1] == rows
    assert 0 <= sum(decoded) - records < 5 * 8


def test_damage_in_the_record_of_another_rank_does_not_matter(tmp_path):
    path = tmp_path / "a.tfrecord"
    write(path, range(300))
    lv.index(str(path), length="tokens,labels", stages=STAGES)
    ds = bucketed(records(str(path)), boundaries=BOUNDARIES, batch_sizes=4)
    ranks = [list(ds.shard(r, 4, sync="buckets").iterate(0)) for r in range(4)]
    mine = {rank: {i for b in batches for i in b["id"].tolist()}
            for rank, batches in enumerate(ranks)}  # fmt: skip
    victim = next(i for i in sorted(mine[2]) if all(i not in mine[r] for r in (0, 1, 3)) and i > 50)
    data = bytearray(path.read_bytes())
    at = 0
    for _ in range(victim + 1):
        at = data.index(b"x" * 900, at) + 900
    data[at - 5] ^= 1
    path.write_bytes(data)
    for rank in (0, 1, 3):
        again = list(ds.shard(rank, 4, sync="buckets").iterate(0))
        assert [content(b) for b in again] == [content(b) for b in ranks[rank]]
    with pytest.raises(DataLossError, match="record"):
        list(ds.shard(2, 4, sync="buckets").iterate(0))
    with pytest.raises(DataLossError):  # which ranks that read all do not survive
        list(records(str(path)).iterate(0))


def small(folder, length="tokens,labels", n=200):
    path = folder / "a.tfrecord"
    write(path, range(n))
    lv.index(str(path), length=length, stages=STAGES)
    return str(path)


def reason(ds):
    with ds.shard(0, 2, sync="buckets").iterate(0) as it:
        line = reading(it)
    assert line == reading(ds.shard(0, 2, sync="buckets"))  # also before it runs
    return line


def test_explain_tells_why_a_rank_reads_all_records(tmp_path):
    path = small(tmp_path, length="tokens")
    ds, how = records(path), STRATEGIES["sizes"]
    assert "does not have the lengths of tokens,labels" in reason(bucketed(ds, **how))
    assert "its own records" in reason(bucketed(ds, **how, no_padding=True))
    small(tmp_path)
    assert "its own records" in reason(bucketed(ds, **how))
    assert "'tfrecord' has no index=true" in reason(bucketed(records(path, index=False), **how))
    assert "'filter' does not emit one record for each record" in reason(
        bucketed(ds.filter(lambda r: True), **how)
    )
    assert "columns are not known" in reason(bucketed(ds.map(dict), **how))
    mapped = ds.map(dict, spec=FIELDS)
    assert "'map' may change lengths; set keeps_lengths" in reason(bucketed(mapped, **how))
    kept = ds.map(dict, keeps_lengths=True)
    assert "its own records" in reason(bucketed(kept.skip(3).take(100), **how))
    assert "errors= of 'tfrecord'" in reason(bucketed(records(path, errors="skip"), **how))
    other = lv.tfrecord(path, index=True).parse_example(FIELDS).with_options(seed=5)
    assert "with these stages" in reason(bucketed(other, **how))  # without the select
    rows = [np.arange(3)] * 9
    arrays = lv.from_arrays({"tokens": rows}).with_options(seed=5)
    assert "has no lengths of tokens" in reason(bucketed(arrays, **how))
    with unindexed(bucketed(ds, **how)).shard(0, 2, sync="buckets").iterate(0) as it:
        assert "errors= may skip records" in reading(it)
    both = [records(path), records(path)]
    assert "'select' is upstream of 'concat': only stages downstream can wait" in reason(
        bucketed(lv.concat(*both).with_options(seed=5), **how)
    )
    both = [raw(path), lv.concat(raw(path, 0, 9), lv.tfrecord(path))]
    assert "'tfrecord' has no index=true" in reason(bucketed(combined(lv.mix(both)), **how))
    both = [raw(path), raw(path, errors="skip")]
    assert "errors= of 'tfrecord'" in reason(bucketed(combined(lv.mix(both)), **how))
    zipped = lv.zip(records(path), lv.range(200).rename({"value": "n"})).with_options(seed=5)
    assert "'zip' has no index" in reason(bucketed(zipped, **how))
    write(tmp_path / "b.tfrecord", range(50))
    lv.index(tmp_path / "b.tfrecord")
    both = [raw(path), raw(str(tmp_path / "b.tfrecord"))]
    assert "does not have the lengths of tokens" in reason(bucketed(combined(lv.mix(both)), **how))
    assert "    reads" not in bucketed(ds, **how).explain()


@pytest.mark.parametrize("inputs", [1, 2])
def test_a_state_of_the_other_way_is_refused(tmp_path, inputs):
    path = small(tmp_path)
    ds = combined(lv.concat(*[raw(path)] * inputs)) if inputs > 1 else records(path)
    ds = bucketed(ds, **STRATEGIES["sizes"]).shard(0, 2, sync="buckets")

    def saved():
        with ds.iterate(0) as it:
            next(it)
            return it.save()

    own = saved()
    lv.index(path)
    every = saved()
    with pytest.raises(FailedPreconditionError, match="but this rank reads all"):
        ds.iterate(0).restore(own)
    small(tmp_path)
    with pytest.raises(FailedPreconditionError, match="but this rank reads only its own"):
        ds.iterate(0).restore(every)


def test_a_record_of_another_length_than_indexed_is_an_error(tmp_path):
    """An index of one file beside another one that has the same frames."""
    path = small(tmp_path)
    index = (tmp_path / "a.tfrecord.lvindex").read_bytes()
    with lv.TFRecordWriter(path) as writer:  # records 100 to 199 lose a token, and get a label
        for i in range(200):
            less = i >= 100 and 0 < LABELS[i] and i + LENGTHS[i] < 128
            tokens, labels = list(range(i, i + LENGTHS[i])), [7] * LABELS[i]
            if less:
                tokens, labels = tokens[:-1], [*labels, 7]
            fields = {"id": [i], "tokens": tokens, "labels": labels, "text": [b"x" * 900]}
            writer.write(lv.make_example(fields))
    (tmp_path / "a.tfrecord.lvindex").write_bytes(index)
    ds = bucketed(records(path), boundaries=BOUNDARIES, batch_sizes=4)
    failed = 0
    for rank in range(2):
        try:
            list(ds.shard(rank, 2, sync="buckets").iterate(0))
        except DataLossError as error:
            failed += 1
            assert "in the index" in str(error)
    assert failed


def test_a_file_that_changed_since_it_was_indexed_is_refused(tmp_path):
    path = small(tmp_path)
    write(path, range(199))
    ds = bucketed(records(path), boundaries=BOUNDARIES, batch_sizes=4)
    with pytest.raises(FailedPreconditionError, match="has changed"):
        list(ds.shard(0, 2, sync="buckets").iterate(0))


def test_a_map_that_breaks_its_promise_is_an_error(files):
    def shorter(record):
        return {**record, "tokens": record["tokens"][:-1]}

    ds = bucketed(records(files).map(shorter, keeps_lengths=True), **STRATEGIES["sizes"])
    with pytest.raises(DataLossError, match="'tokens' has length"):
        list(ds.shard(0, 2, sync="buckets").iterate(0))
    with pytest.raises(InvalidArgumentError, match="keeps_lengths"):
        records(files).map(shorter, keeps_lengths=True, pure=False)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_damaged_record_ends_the_batches_before_its_own(tmp_path, threads):
    path = small(tmp_path)
    ds = bucketed(records(path).shuffle(30), boundaries=BOUNDARIES, batch_sizes=4)
    ds = ds.shard(1, 2, sync="buckets").with_options(threads=threads)
    whole = [content(batch) for batch in ds.iterate(0)]
    data = (tmp_path / "a.tfrecord").read_bytes()
    half = data[len(data) // 2 :]
    (tmp_path / "a.tfrecord").write_bytes(data[: -len(half)] + half.replace(b"xx", b"xy"))
    made = []
    with ds.iterate(0) as it:
        for _ in range(2):  # the error is repeated
            with pytest.raises(DataLossError, match="checksum"):
                while True:
                    made.append(content(next(it)))
        assert any(s["path"].endswith(".materialize") for s in it.stats()["stages"])
    assert 0 < len(made) < len(whole)
    assert made == whole[: len(made)]
