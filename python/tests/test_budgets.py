# SPDX-License-Identifier: Apache-2.0
"""Budgets in percent: a run that is saved and restored anywhere ends as the run that is not."""

import random

import levada as lv
import pytest

SHARES = ["skip:0.1%", "skip:1%", "skip:5%", "skip:12%", "skip:30%", "skip:70%", "skip:100%"]


def damaged(path, chance):
    with lv.TFRecordWriter(path) as writer:
        for i in range(1500):
            writer.write(b"%05d" % i * chance.randint(1, 4))
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 12)):
        at, size = chance.randrange(len(data)), chance.choice([1, 5, 200, 3000, 8000])
        kind = chance.randrange(3)
        if kind == 0:
            data[at] ^= 1
        elif kind == 1:
            data[at : at + size] = b"\xff" * len(data[at : at + size])
        else:
            del data[at : at + size]
    if chance.random() < 0.3:
        data[: chance.randrange(1, 9000)] = b""
    path.write_bytes(data)


def pipe(kind, paths, share, threads):
    ds = lv.tfrecord(paths)
    if kind == "shuffle":
        ds = ds.shuffle(40, seed=3)
    elif kind == "pipes":
        ds = lv.files(paths).interleave(lv.tfrecord("{path}"), cycle_length=2)
    elif kind == "twice":
        ds = ds.repeat(2)
    return ds.batch(16).with_options(errors=share, threads=threads, seed=1)


def take(it, n):
    """Up to n batches, how it ended, and what was counted."""
    seen, end = [], None
    try:
        for _ in range(n):
            seen.append(next(it)["record"].to_list())
    except StopIteration:
        end = "end"
    except lv.errors.DataLossError as error:
        end = str(error)
    return seen, end


def counts(it):
    stats = it.stats()
    return stats["skipped_records"], stats["damaged_bytes"]


def check(kind, paths, share, chance):
    """How the run ended, alike from wherever it is resumed."""
    threads = chance.choice([1, 3])
    with iter(pipe(kind, paths, share, threads)) as it:
        whole, end = take(it, 10**6)
        counted = counts(it)
    most = len(whole)
    for cut in {0, min(1, most), most // 2, most, chance.randint(0, most)}:
        with iter(pipe(kind, paths, share, threads)) as it:
            first, _ = take(it, cut)
            state = it.save()
        with iter(pipe(kind, paths, share, chance.choice([1, 3]))) as it:
            it.restore(state)
            rest, again = take(it, 10**6)
            found = counts(it)
        assert first + rest == whole, (share, cut)
        assert again == end, (share, cut)
        assert end != "end" or found == counted, (share, cut)
    return end


@pytest.mark.filterwarnings("ignore:no record was delivered")
@pytest.mark.parametrize("kind", ["plain", "shuffle", "pipes", "twice"])
@pytest.mark.parametrize("trial", range(6))
def test_a_restored_run_counts_what_was_lost_before(tmp_path, length, kind, trial):
    ends = set()
    for n in range(trial * length, (trial + 1) * length):
        chance = random.Random(n)
        paths = [str(tmp_path / name) for name in "ab"]
        for path in paths:
            damaged(tmp_path / path, chance)
        ends |= {check(kind, paths, share, chance) for share in SHARES}
    assert "end" in ends and len(ends) > 1
