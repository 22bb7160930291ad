# SPDX-License-Identifier: Apache-2.0
"""Rows of Arrow arrays in any order."""

import levada as lv
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")


def nested_arrays(n, rng, nulls):
    """Arrays of n rows whose items are found in different ways."""
    lists = [rng.integers(0, 99, rng.integers(0, 5)).tolist() for _ in range(n)]
    pairs = [[[int(i), i + 1] for i in row] for row in lists]
    if nulls:
        lists = [None if rng.random() < 0.2 else row for row in lists]
        pairs = [None if rng.random() < 0.2 else row for row in pairs]
    ones = [[[k]] for k in range(n)]
    return {
        "list": pa.array(lists, pa.list_(pa.int32())),
        "sliced": pa.array([[1], *lists, [2]], pa.large_list(pa.int16()))[1:-1],
        "floats": pa.array(lists, pa.list_(pa.float64())),
        "flags": pa.array([row and [i > 50 for i in row] for row in lists], pa.list_(pa.bool_())),
        "dates": pa.array(lists, pa.list_(pa.date32())),
        "lists": pa.array(pairs, pa.list_(pa.list_(pa.int64()))),
        "fixed": pa.array(ones, pa.list_(pa.list_(pa.int64(), 1), 1)),
        "pairs": pa.array(pairs, pa.list_(pa.list_(pa.int64(), 2))),
        "one of one": pa.array(ones, pa.list_(pa.list_(pa.int64(), 1))),
        "texts": pa.array([row and [str(i) for i in row] for row in lists], pa.list_(pa.string())),
        "view": pa.array(lists, pa.list_view(pa.int64())),
        "objects": pa.array([row and [{"a": i, "b": [i]} for i in row] for row in lists]),
    }  # fmt: skip


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("block_rows", [1, 7, 256])
def test_scattered_rows_are_those_of_a_read_in_order(block_rows, nulls):
    rng = np.random.default_rng(block_rows)
    made = nested_arrays(500, rng, nulls)
    if nulls:  # of items
        made["items"] = pa.array([[1, None], [None], [2, 3]] * 166 + [[4], []])
    table = pa.table({**made, "n": pa.array(range(500))})
    table = pa.concat_tables([table.slice(0, 199), table.slice(199, 0), table.slice(199)])
    whole = lv.from_arrow(table, nulls="default").to_list()
    for row, expected in zip(whole, table.select(["list", "n"]).to_pylist(), strict=True):
        assert row["list"].tolist() == (expected["list"] or [])
    ds = lv.from_arrow(table, nulls="default", shuffle_records=True)
    rows = ds.with_options(block_rows=block_rows, seed=3).to_list()
    assert [int(row["n"]) for row in rows] != list(range(500))
    assert [str(row) for row in sorted(rows, key=lambda row: row["n"])] == list(map(str, whole))


def test_scattered_lists_are_copied_once():
    table = pa.table({"x": pa.array([[k] * (k % 5) for k in range(2000)], pa.list_(pa.int64()))})
    ds = lv.from_arrow(table, shuffle_records=True).with_options(seed=1)
    for batch in ds.batch(8):
        batch["x"].values[:] = 7  # a batch has its own memory
    assert table["x"][3].as_py() == [3, 3, 3]
