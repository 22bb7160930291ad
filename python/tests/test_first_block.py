# SPDX-License-Identifier: Apache-2.0
"""Columns without spec=: the first block in order chooses them, however long it takes."""

import threading
import time

import levada as lv
import pytest
from levada import errors

FIRST = 8  # records of a block


def integers_late(record):
    """Integers in the first block, which is slow; floats in the blocks after it."""
    value = record["value"]
    if value < FIRST:
        time.sleep(0.01)
    return {"x": value if value < FIRST else value + 0.5}


def in_batches(batch):
    values = batch["value"]
    if values[0] > 0:
        return {"x": values + 0.5}
    time.sleep(0.05)
    return {"x": values}


def several(record):
    """No record of the first block."""
    value = record["value"]
    if value < FIRST:
        time.sleep(0.01)
        return []
    if value < 2 * FIRST:
        time.sleep(0.01)
        return [{"x": value}]
    return [{"x": value + 0.5}]


def message(ds, threads):
    with pytest.raises(errors.InvalidArgumentError) as info:
        list(ds.with_options(threads=threads, block_rows=FIRST, errors="skip"))
    return str(info.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda ds: ds.map(integers_late, workers=4),
        lambda ds: ds.map(integers_late, processes=True, workers=2),
        lambda ds: ds.map(in_batches, batched=True, workers=4),
        lambda ds: ds.map(lambda value: integers_late({"value": value})["x"], "value", workers=4),
        lambda ds: ds.flat_map(several, workers=4),
        lambda ds: ds.filter("value >= 8").map(
            lambda r: integers_late({"value": r["value"] - FIRST}), workers=4
        ),
    ],
    ids=["records", "processes", "batched", "field", "flat_map", "filtered"],
)
def test_the_first_block_in_order_chooses_the_columns(make):
    expected = message(make(lv.range(400)), 1)
    assert "expected int64 values, got float64" in expected
    assert {message(make(lv.range(400)), 4) for _ in range(3)} == {expected}


@pytest.mark.parametrize("threads", [1, 4])
def test_a_block_without_a_good_record_chooses_nothing(threads):
    def fn(record):
        value = record["value"]
        if value < FIRST:
            raise ValueError("bad")
        if value < 2 * FIRST:
            time.sleep(0.01)
        return {"x": value if value < 2 * FIRST else str(value)}

    with pytest.raises(errors.InvalidArgumentError, match=r"field 'x'.*\n.*record 16"):
        list(
            lv.range(400)
            .map(fn, workers=4)
            .with_options(threads=threads, block_rows=FIRST, errors="skip")
        )


def test_blocks_after_the_first_run_at_the_same_time():
    together = threading.Barrier(3)

    def fn(record):
        if FIRST <= record["value"] < 4 * FIRST and record["value"] % FIRST == 0:
            together.wait(20)
        return {"x": record["value"]}

    ds = lv.range(400).map(fn, workers=4).with_options(threads=4, block_rows=FIRST)
    assert [record["x"] for record in ds] == list(range(400))


def test_a_declared_function_does_not_wait_for_its_first_block():
    together = threading.Barrier(3)

    def fn(record):
        if record["value"] < 3 * FIRST and record["value"] % FIRST == 0:
            together.wait(20)
        return {"x": record["value"]}

    ds = lv.range(400).map(fn, spec={"x": "int64"}, workers=4)
    assert len(list(ds.with_options(threads=4, block_rows=FIRST))) == 400
