# SPDX-License-Identifier: Apache-2.0
"""Packed sequences in Python: views of batches, what attention kernels read, saved positions."""

import subprocess
import sys
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from levada.errors import InvalidArgumentError

ROOT = Path(__file__).resolve().parents[2]
lengths = st.lists(st.integers(0, 30), min_size=1, max_size=60)


def records(sizes, **more):
    """Sequences of these lengths; all values differ."""
    ends = np.cumsum(sizes)
    tokens = [np.arange(end - n, end, dtype=np.int32) for n, end in zip(sizes, ends, strict=True)]
    return lv.from_arrays({"tokens": tokens, "id": np.arange(len(sizes)), **more})


def segments(dataset):
    """(id, tokens) of each segment, in the order of packed records, and the length of each one."""
    found, filled = [], []
    for batch in dataset.batch(4):
        for row in range(batch.num_records):
            sizes = batch["tokens_segment_lengths"][row]
            parts = np.split(batch["tokens"][row], np.cumsum(sizes)[:-1])
            found += [(int(i), p.tolist()) for i, p in zip(batch["id"][row], parts, strict=True)]
            filled.append(int(sizes.sum()))
    return found, filled


@given(lengths, st.integers(30, 70), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_nothing_is_lost_repeated_or_cut(sizes, length, open_bins):
    found, filled = segments(records(sizes).pack(length, open_bins=open_bins))
    ends = [0, *np.cumsum(sizes).tolist()]
    assert sorted(found) == [(i, list(range(*ends[i : i + 2]))) for i in range(len(sizes))]
    assert max(filled) <= length


@given(lengths, st.integers(1, 20), st.sampled_from([{"split": True}, {"too_long": "split"}]))
@settings(max_examples=40, deadline=None)
def test_pieces_make_up_their_sequences(sizes, length, how):
    found, filled = segments(records(sizes).pack(length, **how))
    tokens = sorted(token for _, part in found for token in part)
    assert tokens == list(range(sum(sizes)))
    assert {i for i, _ in found} == set(range(len(sizes)))
    assert max(filled) <= length
    if "split" in how:
        assert [token for _, part in found for token in part] == tokens
        assert all(n == length for n in filled[:-1])


def test_every_cut_resumes():
    ds = records([7, 3, 9, 1, 8, 8, 2, 5, 6, 4] * 5).shuffle(20, seed=1)
    ds = ds.pack(16, open_bins=4).batch(2)
    with iter(ds) as it:
        cuts = [it.save()]
        batches = [b["tokens"].to_list() for b in it if cuts.append(it.save()) is None]
    for n, cut in enumerate(cuts):
        with iter(ds) as it:
            it.restore(cut)
            assert [batch["tokens"].to_list() for batch in it] == batches[n:]


def batch_of(padded):
    ds = records([2, 3, 4, 1]).pack(5, open_bins=2)
    return next(iter(ds.padded_batch(2) if padded else ds.batch(2)))


class TestViews:
    def test_padded(self):
        batch = batch_of(True)
        assert batch.cu_seqlens("tokens").tolist() == [0, 2, 5, 9, 10]
        assert batch.cu_seqlens("tokens").dtype == np.int32
        assert batch.max_seqlen("tokens") == 4
        assert batch.positions("tokens").tolist() == [[0, 1, 0, 1, 2], [0, 1, 2, 3, 0]]
        assert batch.segment_ids("tokens").tolist() == [[1, 1, 2, 2, 2], [1, 1, 1, 1, 2]]
        assert batch.mask("tokens").all()
        assert batch["id"].tolist() == [[0, 1], [2, 3]]

    def test_ragged(self):
        batch = batch_of(False)
        assert batch.cu_seqlens("tokens").tolist() == [0, 2, 5, 9, 10]
        assert batch.positions("tokens").tolist() == [0, 1, 0, 1, 2, 0, 1, 2, 3, 0]
        assert batch.segment_ids("tokens").tolist() == [1, 1, 2, 2, 2, 3, 3, 3, 3, 4]

    def test_columns(self):
        batch = next(iter(records([2, 3]).pack(8, ids=True).padded_batch(1)))
        assert batch["tokens_segment_ids"].tolist() == [[1, 1, 2, 2, 2]]
        assert batch["tokens_positions"].tolist() == [[0, 1, 0, 1, 2]]

    def test_sides(self):
        batch = next(iter(records([2, 3]).batch(2)))
        assert batch.padded("tokens", -1, side="left").tolist() == [[-1, 0, 1], [2, 3, 4]]
        assert batch.padded("tokens", 9).tolist() == [[0, 1, 9], [2, 3, 4]]
        assert batch.padded("tokens", length=2, side="left").tolist() == [[0, 1], [2, 3]]
        assert batch.mask("tokens", side="left").tolist() == [[False, True, True], [True] * 3]
        with pytest.raises(ValueError, match="side='up' must be 'left' or 'right'"):
            batch.padded("tokens", side="up")

    def test_sides_of_strings(self):
        words = lv.Ragged(lv.Bytes(np.frombuffer(b"abc", np.uint8), np.arange(4, dtype=np.int32)),
                          [np.array([0, 1, 3], np.int32)])  # fmt: skip
        assert words.to_padded(b"-", side="left").tolist() == [[b"-", b"a"], [b"b", b"c"]]

    def test_there_and_back(self):
        ds = records([2, 0, 3])
        ragged, padded = next(iter(ds.batch(3))), next(iter(ds.padded_batch(3)))
        assert ragged.ragged("tokens") is ragged["tokens"]
        assert padded.padded("tokens") is padded["tokens"]
        assert padded.ragged("tokens").to_list() == ragged["tokens"].to_list()
        with pytest.raises(ValueError, match="field 'tokens' is padded already"):
            padded.padded("tokens", side="left")
        with pytest.raises(ValueError, match="field 'id' must be a sequence"):
            padded.ragged("id")

    def test_batches_padded_in_front_of_their_values(self):
        ds = records([2, 0, 3])
        ragged = next(iter(ds.batch(3)))
        left = next(iter(ds.padded_batch(3, padding_side="left", padding_values=-1)))
        assert (left["tokens"] == ragged["tokens"].to_padded(-1, side="left")).all()
        assert left.padded("tokens", side="left") is left["tokens"]
        assert left.mask("tokens").tolist() == ragged.mask("tokens", side="left").tolist()
        assert left.ragged("tokens").to_list() == ragged["tokens"].to_list()
        with pytest.raises(ValueError, match="is padded already, in front of its values"):
            left.padded("tokens", 7)
        same = ds.padded_batch(3, padding_side="left").map(lambda b: b, batched=True)
        assert next(iter(same)).mask("tokens").tolist() == left.mask("tokens").tolist()
        parts = ds.padded_batch(3, padding_side="left").unbatch()
        assert [r["tokens"].tolist() for r in parts] == ragged["tokens"].to_list()

    def test_no_copy(self):
        batch = next(iter(records([2, 3]).batch(2)))
        assert batch.cu_seqlens("tokens") is batch["tokens"].offsets
        given = batch.flash_attention("tokens")["input_ids"]
        assert np.shares_memory(given, batch["tokens"].values)


@given(lengths, st.integers(30, 40), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_views_of_packed_batches_do_not_depend_on_the_side_of_their_padding(sizes, length, bins):
    packed = records(sizes).pack(length, open_bins=bins)
    ragged = next(iter(packed.batch(9)))
    flat = {name: getattr(ragged, name)("tokens") for name in ("positions", "segment_ids")}
    starts = np.cumsum([0, *(len(row) for row in ragged["tokens_segment_lengths"].to_list()[:-1])])
    for side in ("left", "right"):
        batch = next(iter(packed.padded_batch(9, padding_side=side, pad_to_multiple=7)))
        mask = batch.mask("tokens")
        assert batch.cu_seqlens("tokens").tolist() == ragged.cu_seqlens("tokens").tolist()
        assert batch.positions("tokens")[mask].tolist() == flat["positions"].tolist()
        ids = batch.segment_ids("tokens")  # from 1 in each row
        assert (ids + starts[:, None])[mask].tolist() == flat["segment_ids"].tolist()
        assert not ids[~mask].any()
        for name, value in ragged.flash_attention("tokens", labels="tokens").items():
            assert np.array_equal(batch.flash_attention("tokens", labels="tokens")[name], value)


@pytest.mark.parametrize("padded", [False, True])
def test_arguments_of_flash_attention(padded):
    given = batch_of(padded).flash_attention("tokens", labels="tokens")
    assert given["input_ids"].tolist() == [list(range(10))]
    assert given["position_ids"].tolist() == [[0, 1, 0, 1, 2, 0, 1, 2, 3, 0]]
    assert given["labels"].tolist() == [[-100, 1, -100, 3, 4, -100, 6, 7, 8, -100]]
    assert given["cu_seq_lens_q"].tolist() == given["cu_seq_lens_k"].tolist() == [0, 2, 5, 9, 10]
    assert given["cu_seq_lens_q"].dtype == np.int32
    assert (given["max_length_q"], given["max_length_k"]) == (4, 4)


class TestErrors:
    def test_too_long(self):
        with pytest.raises(InvalidArgumentError, match="length 9 is longer than length=8"):
            list(records([3, 9]).pack(8))
        it = iter(records([3, 9, 2]).pack(8, too_long="skip"))
        assert [row["tokens"].tolist() for row in it] == [[0, 1, 2, 12, 13]]
        assert it.stats()["dropped_records"] == 1

    def test_uneven(self):
        ds = records([2, 3], mask=[np.ones(2, bool), np.ones(2, bool)])
        with pytest.raises(InvalidArgumentError, match="must have the same length"):
            list(ds.pack(8))
        assert len(list(ds.pack(8, fields="tokens"))) == 1


def test_packed_and_padded_batches_train_alike():
    pytest.importorskip("torch", reason="torch is not installed (ci/requirements-torch.txt)")
    command = [sys.executable, str(ROOT / "examples" / "packed_attention.py")]
    out = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert out.returncode == 0, out.stderr
    padded, packed, flat = (line.split() for line in out.stdout.splitlines())
    assert padded[2] == packed[2] == flat[3]
    assert int(flat[4]) < int(packed[3]) < 0.7 * int(padded[3])


@pytest.mark.parametrize("view", ["positions", "segment_ids", "cu_seqlens"])
def test_a_field_of_one_value_per_record_is_no_sequence(view):
    ds = lv.from_arrays({"n": np.arange(4), "f": np.ones((4, 3))})
    for batched in (ds.batch(4), ds.padded_batch(4)):
        batch = next(iter(batched))
        with pytest.raises(
            InvalidArgumentError, match="'n' must be a sequence, got one value in each record"
        ):
            getattr(batch, view)("n")
        assert len(getattr(batch, view)("f"))
