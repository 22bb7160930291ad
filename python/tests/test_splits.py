# SPDX-License-Identifier: Apache-2.0
"""split: disjoint parts of a dataset, in each epoch and under any order."""

import warnings

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError


@pytest.fixture
def files(tmp_path):
    for k in range(6):
        lines = [f"{k}.{i}" for i in range(200)]
        (tmp_path / f"part-{k}.txt").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "part-*.txt")


def lines(ds, epoch=0):
    with ds.iterate(epoch) as it:
        return {record["line"] for record in it}


ORDERS = {
    "in order": lambda ds: ds,
    "shuffled before": lambda ds: ds.shuffle(300, seed=1),
    "in batches before": lambda ds: ds.batch(7).unbatch(),
    "by a function before": lambda ds: ds.map(lambda record: record),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_are_the_same_in_each_epoch_and_order(files, order, threads):
    plain = lv.text_lines(files).split(0.8, 0.1, 0.1, seed=3)
    ds = ORDERS[order](lv.text_lines(files, shuffle_files=order != "in order"))
    made = ds.with_options(seed=9, threads=threads).split(0.8, 0.1, 0.1, seed=3)
    for epoch in range(2):
        parts = [lines(part, epoch) for part in made]
        assert sum(map(len, parts)) == 1200 and len(set.union(*parts)) == 1200
        assert parts == [lines(part) for part in plain]


def test_ranks_and_parts_of_files_have_their_records_of_the_same_part(files):
    train, held_out = lv.text_lines(files).split(0.5, 0.5)
    want = lines(train)
    assert want | lines(held_out) == lines(lv.text_lines(files))
    for count in (2, 3, 5):
        ranks = [lines(train.shard(i, count)) for i in range(count)]
        assert set.union(*ranks) == want and sum(map(len, ranks)) == len(want)
        parts = [lines(part) for part in train.parts(count)]
        assert set.union(*parts) == want


def test_files_that_are_opened_one_by_one_have_the_same_parts(files):
    want = lines(lv.text_lines(files).split(0.5)[0])
    opened = lv.files(files).shuffle(6, seed=1).interleave(lambda f: lv.text_lines(f["path"]))
    assert lines(opened.split(0.5)[0]) == want


def test_a_new_file_moves_no_record(files, tmp_path):
    before = lines(lv.text_lines(files).split(0.5)[0])
    (tmp_path / "part-00.txt").write_text("new\n" * 3)
    after = lines(lv.text_lines(files).split(0.5)[0])
    assert before == after - {"new"}


def test_a_field_keeps_its_records_together():
    ds = lv.from_arrays({"user": np.arange(900) // 3, "x": np.arange(900)})
    a, b = ds.shuffle(100).split(0.5, 0.5, by="user")
    users = [{int(record["user"]) for record in part} for part in (a, b)]
    assert not users[0] & users[1] and len(users[0] | users[1]) == 300
    assert 100 < len(users[0]) < 200
    names = lv.from_arrays({"user": [b"%d" % (i // 3) for i in range(90)]})
    a, b = ({record["user"] for record in part} for part in names.split(0.5, 0.5, by="user"))
    assert not a & b and len(a | b) == 30


def test_cached_records_are_in_the_same_part(tmp_path):
    ds = lv.range(300).cache(tmp_path / "cache").split(0.4)[0]
    first, second = ([int(r["value"]) for r in ds.iterate(e)] for e in range(2))
    assert first == second == [int(r["value"]) for r in lv.range(300).split(0.4)[0]]


def test_what_is_no_division_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"sum of fractions must be at most 1, got 1\.1"):
        lv.range(3).split(0.9, 0.2)
    with pytest.raises(InvalidArgumentError, match="unknown field 'user'"):
        lv.range(3).split(0.9, by="user")
    assert lv.range(3).split() == ()


def test_taking_after_a_reshuffle_warns_of_the_leak():
    ds = lv.range(9).shuffle(9)
    with pytest.warns(UserWarning, match=r"take returns other records.*shuffle upstream") as seen:
        ds.batch(2).take(1)
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="skip returns other records in each epoch"):
        ds.skip(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lv.range(9).shuffle(9, reshuffle=False).take(2)
        ds.repeat().take(20)
        lv.range(9).take(2).shuffle(9)
        lv.mix(lv.range(9), lv.range(9)).take(5)
