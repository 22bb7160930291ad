# SPDX-License-Identifier: Apache-2.0
"""Receipts of batches and epochs, and replay."""

import levada as lv
import numpy as np
import pytest
from cli_support import levada as run_levada
from command import needs_command
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
)


@pytest.fixture
def files(tmp_path):
    for k in range(4):
        with lv.TFRecordWriter(tmp_path / f"{k}.tfrecord") as writer:
            for i in range(300):
                writer.write(f"{k}.{i}".encode())
    return str(tmp_path / "*.tfrecord")


def _drawn(record, rng):
    return {"x": rng.integers(0, 1000, size=rng.integers(1, 9))}


PIPELINES = {
    "plain": lambda ds: ds.batch(7),
    "shuffled": lambda ds: ds.shuffle(100).batch(16).prefetch(2),
    "random function": lambda ds: ds.map(_drawn, ["record"], rng=True).padded_batch(8),
    "lambda": lambda ds: ds.map(lambda r: {"n": len(r)}, ["record"]).batch(5),
    "repeated": lambda ds: ds.shuffle(50).repeat(2).batch(32),
    "rank": lambda ds: ds.shard(1, 3).shuffle(30).batch(8),
    "blocks": lambda ds: ds.shuffle(50),
}


def _opened(ds, name):
    return ds.blocks() if name == "blocks" else iter(ds)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_batch_is_replayed(files, name, threads):
    ds = PIPELINES[name](lv.tfrecord(files)).with_options(threads=threads)
    it, receipts, states = _opened(ds, name), [], []
    for batch in it:
        receipts.append(batch.receipt())
        states.append(it.save())
    assert len(set(receipts)) == len(receipts)
    for n in range(0, len(receipts), 5):
        assert it.replay(n).receipt() == receipts[n]
        before = states[max(0, n - 3)] if n >= 4 else None
        assert it.replay(n, state=before).receipt() == receipts[n]
    with pytest.raises(OutOfRangeError, match=f"the epoch has {len(receipts)} batches"):
        it.replay(len(receipts))
    with pytest.raises(FailedPreconditionError, match="later than batch 2"):
        it.replay(2, state=states[2])


def test_a_restored_iterator_counts_on(files):
    ds = lv.tfrecord(files).shuffle(100).batch(16).with_options(seed=3)
    whole = [batch.receipt() for batch in ds.iterate(2)]
    it = ds.iterate(2)
    for _ in range(5):
        next(it)
    again = ds.iterate(0)
    again.restore(it.save())
    assert [batch.receipt() for batch in again] == whole[5:]
    assert again.replay(1).receipt() == whole[1]
    assert [batch.receipt() for batch in ds.iterate(1)][:3] != whole[:3]


def test_other_values_have_other_receipts():
    def first(ds):
        return next(iter(ds.batch(3).with_options(seed=1))).receipt()

    base = {"a": [[1, 2], [3], [4]], "b": [1.5, -0.0, 2.0]}
    others = [
        {"a": [[1, 2], [3], [5]], "b": [1.5, -0.0, 2.0]},
        {"a": [[1, 2], [3, 4], []], "b": [1.5, -0.0, 2.0]},
        {"a": [[1], [2, 3], [4]], "b": [1.5, -0.0, 2.0]},
        {"a": [[1, 2], [3], [4]], "b": [1.5, 0.0, 2.0]},
        {"a": [[1, 2], [3], [4]], "c": [1.5, -0.0, 2.0]},
        {"a": [[1, 2], [3], [4]], "b": np.array([1.5, -0.0, 2.0], np.float32)},
        {"b": [1.5, -0.0, 2.0], "a": [[1, 2], [3], [4]]},
    ]
    made = [first(lv.from_arrays(each)) for each in [base, *others]]
    digests = [text[-22:] for text in made]
    assert len(set(digests)) == len(digests)


def test_a_batch_outlives_its_iterator(files):
    ds = lv.tfrecord(files).batch(7)
    with iter(ds) as it:
        batches = [next(it) for _ in range(4)]
        receipts = [batch.receipt() for batch in batches]
    assert [batch.receipt() for batch in batches] == receipts


def test_what_has_no_receipt():
    block = next(iter(lv.range(9).batch(3)))
    with pytest.raises(FailedPreconditionError, match="no iterator returned this batch"):
        lv.Batch(block._block).receipt()
    with pytest.raises(TypeError, match="replay needs batches"):
        iter(lv.range(9)).replay(0)
    states = {"h": lv.FixedLenFeature([2], lv.float32)}
    with_states = lv.from_records([{"x": [1, 2, 3]}] * 4).unroll(
        2, 2, layout="ready", states=states
    )
    with pytest.raises(FailedPreconditionError, match="states of the model, such as 'h'"):
        iter(with_states).replay(0)
    with pytest.raises(InvalidArgumentError, match="n=-1"):
        iter(lv.range(9).batch(2)).replay(-1)


def test_one_receipt_for_an_epoch_of_ranks_and_crashes(files):
    states = []
    for rank in range(3):
        ds = lv.tfrecord(files).shard(rank, 3).shuffle(64).batch(9)
        it = iter(ds)
        for _ in range(4 + rank):
            next(it)
        position = it.save()
        for _ in range(3):  # lost in a crash: they are not in the checkpoint
            next(it)
        it = iter(ds)
        it.restore(position)
        for batch in it:
            assert len(batch)
        states.append(it.save())
    report = lv.check_receipts(lv.tfrecord(files), states)
    assert report["complete"], report
    assert str(report) == "1,200 records of 4 files were delivered: every record once"
    short = lv.check_receipts(lv.tfrecord(files), {"a": states[0], "b": [states[1]], "epoch": 3})
    assert not short["complete"] and short["delivered"] == 800
    assert sum(each["records"] for each in short["differences"]) == -400
    twice = lv.check_receipts(lv.tfrecord(files), lv.merge_receipts(*states), states)
    assert twice["complete"] and twice["epochs"] == 2
    assert not lv.check_receipts(lv.tfrecord(files), states, states, epochs=1)["complete"]


@pytest.mark.parametrize("lost", [1, 3, 40])
def test_lost_and_doubled_records_are_named(files, lost):
    it = iter(lv.tfrecord(files).skip(500).take(lost).batch(10))
    list(it)
    some = it.stats()["receipt"]
    every = iter(lv.tfrecord(files).batch(10))
    list(every)
    report = lv.check_receipts(lv.tfrecord(files), every.stats()["receipt"], some, epochs=1)
    where = {"file": "1.tfrecord", "first": 200, "last": 199 + lost, "records": lost, "all": True}
    assert report["differences"] == [where] and report["named"]
    assert "too often: record" in str(report) and "1.tfrecord" in str(report)


def test_skipped_records_are_accounted_for(files, tmp_path):
    path = tmp_path / "2.tfrecord"
    damaged = bytearray(path.read_bytes())
    damaged[5000] ^= 1
    path.write_bytes(damaged)
    ds = lv.tfrecord(files).with_options(errors="skip")
    it = iter(ds.batch(8))
    list(it)
    report = lv.check_receipts(ds, it.stats()["receipt"])
    assert report["complete"] and report["skipped"] >= 1


def test_states_without_receipts_say_so(files):
    it = iter(lv.tfrecord(files).batch(8))
    with pytest.raises(InvalidArgumentError, match="not an epoch receipt"):
        lv.merge_receipts("lvr1_AAAA")
    with pytest.raises(InvalidArgumentError, match="not an epoch receipt"):
        lv.merge_receipts(it.stats()["receipt"][:-3])
    with pytest.raises(TypeError, match="a receipt must be"):
        lv.merge_receipts(3)
    with pytest.raises(DataLossError):
        lv.merge_receipts(b"nothing")
    with pytest.raises(InvalidArgumentError, match="no receipts or checkpoints to check"):
        lv.merge_receipts({"model": b"weights"}, [])
    both = {"data": it.save(), "model": b"weights", "step": 3}
    assert lv.merge_receipts(both) == it.stats()["receipt"]
    read = {"parts": 2, "epoch": 0, "states": {0: None, 1: it.save()}, "worker": (0, 1)}
    with pytest.raises(FailedPreconditionError, match="read to their ends"):
        lv.merge_receipts([read])


def test_a_receipt_is_small(files):
    it = iter(lv.range(20_000_000).batch(4096))
    for _ in it:
        pass
    assert len(it.stats()["receipt"]) <= 1100
    assert len(it.save()) <= 2000


@needs_command
def test_commands(files, tmp_path):
    def levada(*words, status=0):
        return run_levada(*words, cwd=tmp_path, status=status)

    pipeline, source = "tfrecord:*.tfrecord | shuffle:100 | batch:16", "tfrecord:*.tfrecord"
    levada("run", pipeline, "--seed", "4", "--limit", "9", "--save", "a")
    levada("run", pipeline, "--resume", "a", "--save", "b")
    whole = levada("receipts", "--of", source, "b")
    assert whole.stdout == "1,200 records of 4 files were delivered: every record once\n"
    assert "missing" in levada("receipts", "--of", source, "a", status=1).stdout
    assert levada("receipts", "a").stdout.startswith("lvr1_")
    (tmp_path / "log").write_text("step 7 " + levada("receipts", "b").stdout * 2)
    assert "every record 2 times" in levada("receipts", "--of", source, "log").stdout
    (tmp_path / "empty").write_text("no receipt")
    assert "no receipt" in levada("receipts", "empty", status=1).stderr

    found = levada("replay", pipeline, "--seed", "4", "--batch", "20")
    receipt = found.stdout.split()[-1]
    ds = lv.tfrecord(files).shuffle(100).batch(16).with_options(seed=4)
    assert ds.iterate(0).replay(20).receipt()[-22:] == receipt[-22:]
    again = levada("replay", pipeline, "--seed", "4", "--receipt", receipt, "--state", "a")
    assert "the same values" in again.stdout
    other = levada("replay", pipeline, "--seed", "5", "--receipt", receipt, status=1)
    assert "another seed" in other.stderr
    for words, status in [(["--batch", "900"], 1), ([], 2), (["--receipt", "x"], 2)]:
        levada("replay", pipeline, "--seed", "4", *words, status=status)
