# SPDX-License-Identifier: Apache-2.0
"""Parts of batches for context-parallel ranks against a reference that cuts lists."""

import levada as lv
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from levada.errors import InvalidArgumentError

rows_of_lengths = st.lists(st.integers(0, 30), min_size=1, max_size=40)


def dataset(sizes, **more):
    ends = np.cumsum(sizes)
    tokens = [
        np.arange(end - n + 1, end + 1, dtype=np.int32) for n, end in zip(sizes, ends, strict=True)
    ]
    return lv.from_arrays({"tokens": tokens, "id": np.arange(len(sizes)), **more})


def reference(sequence, rank, size):
    """(value, position) of each step of the rank; None = padding."""
    steps = [(value, at) for at, value in enumerate(sequence)]
    steps += [None] * (-len(steps) % (2 * size))
    chunk = len(steps) // (2 * size)
    chunks = [steps[i * chunk : (i + 1) * chunk] for i in range(2 * size)]
    return chunks[rank] + chunks[2 * size - 1 - rank]


def sequences(batch):
    """The sequences of each record."""
    found = []
    for row in range(len(batch)):
        values = batch.ragged("tokens")[row]
        sizes = [len(values)]
        if "tokens_segment_lengths" in batch:
            sizes = batch.ragged("tokens_segment_lengths")[row].tolist()
        found.append([part.tolist() for part in np.split(values, np.cumsum(sizes)[:-1])])
    return found


def expect(batch, size, length=None):
    padded = not isinstance(batch["tokens"], lv.Ragged)
    shapes = set()
    for rank in range(size):
        got = batch.context_parallel(rank, size, length=length, value=-7)
        rows, number = [], 0
        for record in sequences(batch):
            steps, number = [], 0 if padded else number
            for sequence in record:
                number += 1
                steps += [
                    (-7, 0, 0) if step is None else (*step, number)
                    for step in reference(sequence, rank, size)
                ]
            rows.append(steps)
        width = length // size if length else max(len(row) for row in rows)
        if padded:
            rows = [row + [(-7, 0, 0)] * (width - len(row)) for row in rows]
        else:
            rows = [step for row in rows for step in row]
        want = np.array(rows, np.int32).reshape(*((len(batch), width) if padded else (-1,)), 3)
        for i, name in enumerate(["tokens", "tokens_positions", "tokens_segment_ids"]):
            np.testing.assert_array_equal(got[name], want[..., i])
            assert got[name].dtype == np.int32
        whole = [-(-len(s) // (2 * size)) * 2 * size for r in sequences(batch) for s in r]
        assert got["tokens_cu_seqlens"].tolist() == [0, *np.cumsum(whole).tolist()]
        shapes.add(got["tokens"].shape)
    assert len(shapes) == 1


@given(rows_of_lengths, st.integers(1, 4), st.integers(1, 5), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_packed_records_are_cut_as_by_the_reference(sizes, size, records, padded, split):
    length = 2 * size * 16
    ds = dataset(sizes).pack(length, multiple_of=2 * size, split=split)
    for batch in ds.padded_batch(records) if padded else ds.batch(records):
        expect(batch, size, length if padded else None)
        expect(batch, size)


@given(rows_of_lengths, st.integers(1, 4), st.integers(1, 5), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_sequences_without_packing_are_cut_as_by_the_reference(sizes, size, n, padded, left):
    ds = dataset(sizes)
    side = "left" if left else "right"
    for batch in ds.padded_batch(n, padding_side=side) if padded else ds.batch(n):
        expect(batch, size)


def test_ranks_together_have_every_value_once_and_equal_work():
    ds = dataset([13, 40, 7, 22, 64]).pack(64, multiple_of=8).padded_batch(4)
    for batch in ds:
        parts = [batch.context_parallel(rank, 4, length=64) for rank in range(4)]
        found = np.concatenate([part["tokens"][part["tokens_segment_ids"] > 0] for part in parts])
        assert sorted(found) == sorted(batch.ragged("tokens").values)
        assert all(part["tokens"].shape == (len(batch), 16) for part in parts)


def test_several_fields_are_cut_alike_and_others_stay():
    tokens = [[1, 2, 3], [4, 5, 6, 7, 8]]
    ds = lv.from_arrays({"x": tokens, "y": [[-v for v in row] for row in tokens], "n": [1.5, 2.5]})
    batch = ds.pack(16, multiple_of=4).padded_batch(1).first()
    part = batch.context_parallel(1, 2, value={"y": -100})
    assert part["x"].tolist() == [[2, 3, 6, 7, 8, 0]]
    real = part["x_segment_ids"] > 0
    assert (part["y"][real] == -part["x"][real]).all()
    assert set(part["y"][~real].tolist()) == {-100}
    assert part["n"].tolist() == batch["n"].tolist()
    only = batch.context_parallel(1, 2, fields="x")
    assert only["y"].shape == batch["y"].shape


def test_vectors_keep_their_dimensions():
    steps = [np.arange(6.0).reshape(3, 2), np.arange(10.0).reshape(5, 2)]
    batch = lv.from_arrays({"f": steps}).padded_batch(2).first()
    part = batch.context_parallel(0, 1)
    assert part["f"].shape == (2, 6, 2)
    assert part["f"][0, :3].tolist() == steps[0].tolist()


def test_what_cannot_be_cut_is_refused():
    batch = dataset([5, 9]).pack(16).padded_batch(2).first()
    for rank, size in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(InvalidArgumentError, match="rank="):
            batch.context_parallel(rank, size)
    with pytest.raises(InvalidArgumentError, match=r"multiple_of=16"):
        batch.context_parallel(0, 8, length=16)
    with pytest.raises(InvalidArgumentError, match="'id' must be a sequence"):
        dataset([1]).batch(1).first().context_parallel(0, 1, fields="id")
    with pytest.raises(InvalidArgumentError, match="must have a sequence"):
        lv.range(3).batch(2).first().context_parallel(0, 1)
    with pytest.raises(KeyError):
        batch.context_parallel(0, 1, fields="nope")
