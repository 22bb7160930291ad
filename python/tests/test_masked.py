# SPDX-License-Identifier: Apache-2.0
"""A masked array is refused wherever values come in: nothing in levada knows of masks."""

import levada as lv
import numpy as np
import pytest
from input_support import QUIET, fails, runners  # noqa: F401  a fixture
from levada import train as lt
from levada.train import _input_block


def _mapped(column):
    return list(lv.range(3).batch(3).map(lambda batch: {"x": column}, batched=True))


def _enqueued(make):
    def put(column):
        queue = lt.FIFOQueue(9, ["int64"], [(3,)])
        make(queue)(column[None] if make is _many else column)
        queue.dequeue()

    return put


def _one(queue):
    return queue.enqueue


def _many(queue):
    return queue.enqueue_many


WAYS = {
    "from_arrays": lambda column: lv.from_arrays({"x": column}).first(),
    "from_arrays_rows": lambda column: lv.from_arrays({"x": [column, column]}).first(),
    "from_arrays_text": lambda column: lv.from_arrays({"x": column.astype("U1")}).first(),
    "from_arrays_ragged": lambda column: lv.from_arrays({"x": lv.Ragged(column, [_splits()])}),
    "map_batched": _mapped,
    "padded_values": lambda column: _mapped(lv.Padded(column.reshape(3, 1), [1, 1, 1])),
    "padded_lengths": lambda column: _mapped(lv.Padded(np.ones((3, 3)), column)),
    "make_example": lambda column: lv.make_example({"x": column}),
    "make_example_text": lambda column: lv.make_example({"x": column.astype("U1")}),
    "make_sequence_example": lambda column: lv.make_sequence_example({}, {"x": column}),
    "steps": lambda column: lv.make_sequence_example({}, {"x": [column, column]}),
    "enqueue": _enqueued(_one),
    "enqueue_many": _enqueued(_many),
    "enqueue_text": lambda c: lt.FIFOQueue(9, ["string"], [(3,)]).enqueue(c.astype("U1")),
    "enqueue_any": lambda column: lt.FIFOQueue(9, ["int64"]).enqueue(column),
    "barrier": lambda column: lt.Barrier(["int64"], [()]).insert_many(0, ["a", "b", "c"], column),
    "input_producer": lambda column: lt.input_producer(column),
    "input_producer_text": lambda column: lt.input_producer(column.astype("U1")),
    "rows_beside_ragged": lambda column: _rows(column, lv.Ragged(np.arange(3), [_thirds()])),
    "rows_of_ragged": lambda column: _rows(lv.Ragged(column, [_thirds()])),
    "slices": lambda column: lt.slice_input_producer([column]),
}


def _rows(*columns):
    queue = lt.FIFOQueue(9, ["int64"] * len(columns))
    _input_block.enqueue_rows(queue, list(columns))
    queue.dequeue()


def _thirds():
    return np.array([0, 1, 2, 3], np.int32)


def _splits():
    return np.array([0, 1, 3], np.int32)


@pytest.mark.parametrize("way", WAYS)
def test_masked_values_are_refused(way):
    with pytest.raises((TypeError, ValueError), match="masked"):
        WAYS[way](np.ma.array([1, 2, 3], mask=[False, True, False]))


@pytest.mark.parametrize("way", WAYS)
def test_an_array_without_masked_values_passes(way):
    WAYS[way](np.ma.array([1, 2, 3]))


def test_subclasses_of_arrays_keep_their_values(tmp_path):
    held = np.memmap(tmp_path / "rows", np.int64, "w+", shape=(4, 3))
    held[:] = np.arange(12).reshape(4, 3)
    queue = lt.FIFOQueue(9, ["int64"], [(3,)])
    queue.enqueue(held[1])
    queue.enqueue_many(held)
    assert queue.dequeue().tolist() == [3, 4, 5]
    assert queue.dequeue_many(4).tolist() == held.tolist()
    assert lv.from_arrays({"x": held}).batch(4).first()["x"].to_list() == held.tolist()


@QUIET
def test_rows_that_are_kept_keep_their_masks():
    rows = np.ma.array([1, 2, 3], mask=[False, True, False])
    keep = np.array([True, True, False])
    fails(lambda: lt.maybe_batch([rows], keep, 2, enqueue_many=True), ValueError, "masked")
