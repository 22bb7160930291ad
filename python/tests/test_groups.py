# SPDX-License-Identifier: Apache-2.0
"""collect and group_by: rows that belong together become one record."""

import itertools

import levada as lv
import numpy as np
import pytest
from levada import _sharing
from levada.errors import InvalidArgumentError, ResourceExhaustedError


def lists(ds, name):
    return [np.asarray(record[name]).tolist() for record in ds]


def test_a_batch_becomes_one_record():
    ds = lv.range(10).batch(4).collect()
    assert lists(ds, "value") == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert ds.spec["value"].ragged == 1 and len(ds) == 3
    padded = ds.padded_batch(2).first()
    assert padded["value"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(ds.shuffle(3, seed=1).to_list()) == 3


def test_windows_of_rows_are_those_of_numpy(tmp_path):
    rows = np.arange(120, dtype=np.float32).reshape(60, 2)
    path = tmp_path / "series.csv"
    np.savetxt(path, rows, delimiter=",", fmt="%g")
    ds = lv.csv(str(path), record_defaults=[0.0, 0.0])
    names = list(ds.spec)
    for size, shift, stride in itertools.product((1, 4, 7), (1, 3, 9), (1, 2)):
        made = ds.window(size, shift=shift, stride=stride, drop_remainder=True, collect=True)
        span = (size - 1) * stride + 1
        want = [rows[i : i + span : stride] for i in range(0, 60 - span + 1, shift)]
        is_ = [np.stack([record[name] for name in names], 1) for record in made]
        assert len(is_) == len(want)
        assert all(np.array_equal(a, b) for a, b in zip(is_, want, strict=True))


def test_rows_of_one_key_become_one_record():
    names = [b"ann"] * 3 + [b"bob"] + [b"ann"] * 300 + [b"", b"", b"cid"]
    ds = lv.from_arrays({"name": names, "x": np.arange(len(names)), "v": np.eye(len(names), 2)})
    made = ds.group_by("name")
    want = [(key, len(list(run))) for key, run in itertools.groupby(names)]
    assert [(record["name"], len(record["x"])) for record in made] == want
    assert np.concatenate([record["x"] for record in made]).tolist() == list(range(len(names)))
    assert made.spec["name"].ragged == 0 and made.spec["x"].ragged == 1
    assert lists(lv.range(7).group_by("value // 3"), "value") == [[0, 1, 2], [3, 4, 5], [6]]


def test_groups_can_be_bucketed_unrolled_and_shuffled():
    keys = np.repeat(np.arange(20), np.arange(1, 21))
    ds = lv.from_arrays({"series": keys, "x": np.arange(len(keys), dtype=np.float32)})
    made = ds.group_by("series").shuffle(20, seed=3)
    batches = list(made.bucket_by_sequence_length("x", boundaries=[8, 16], batch_sizes=4))
    assert sum(len(batch) for batch in batches) == 20
    for batch in batches:
        assert (batch.lengths("x") == batch["series"] + 1).all()
    made = made.map(lambda r: {**r, "series": b"%d" % r["series"]})
    steps = made.unroll(4, 2, key="series", sequences=["x"])
    assert sum(int(batch.lengths("x").sum()) for batch in steps) == len(keys)


@pytest.mark.parametrize("cut", [0, 1, 5, 11])
def test_a_resume_is_exact(cut, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{i // 5},{i}\n" for i in range(300)))
    ds = lv.csv(str(path), record_defaults=[0, 0], columns=["key", "x"])
    ds = ds.group_by("key").shuffle(9, seed=1).batch(4)
    whole = [batch["x"].to_list() for batch in ds.iterate(0)]
    with ds.iterate(0) as it:
        for _ in range(cut):
            next(it)
        state = it.save()
    again = ds.with_options(threads=3).iterate(0)
    again.restore(state)
    assert [batch["x"].to_list() for batch in again] == whole[cut:]


def test_ranks_share_whole_groups():
    ds = lv.range(100).group_by("value // 7")
    want = lists(ds, "value")
    for made in (ds, lv.range(100).batch(7).collect()):
        ranks = [lists(_sharing.share(made, i, 3), "value") for i in range(3)]
        assert sorted(itertools.chain(*ranks)) == want


def test_bounds_and_batches():
    with pytest.raises(ResourceExhaustedError, match="more than max_records=5 consecutive"):
        lv.range(20).group_by("value // 10", max_records=5).to_list()
    with pytest.raises(InvalidArgumentError, match="after batch or window"):
        lv.range(3).collect()
    ds = lv.range(6).group_by_window("value % 2", window_size=3, collect=True)
    assert lists(ds, "value") == [[0, 2, 4], [1, 3, 5]]
