# SPDX-License-Identifier: Apache-2.0
"""Padded batches and buckets of random records are those of a model."""

import random

import levada as lv
import numpy as np
import padding_model as model
import pytest

STREAMS = {
    "list": lambda records: lv.from_records(records),
    "generator": lambda records: lv.from_records(lambda: (dict(record) for record in records)),
    "map": lambda records: lv.range(len(records)).map(lambda r: records[int(r["value"])]),
    "arrays": lambda records: lv.from_arrays(
        {name: [record[name] for record in records] for name in records[0]}
    ),
}


def expect(batch, rows, steps=None, multiple=1):
    assert batch["i"].tolist() == [row["i"] for row in rows]
    for name in ("x", "t"):
        array, lengths = model.padded([row[name] for row in rows], steps, multiple)
        assert batch.lengths(name).tolist() == lengths
        assert batch[name].shape[:2] == array.shape[:2]
        assert batch[name].tolist() == array.tolist()
        mask = np.arange(array.shape[1]) < np.array(lengths)[:, None]
        assert batch.mask(name).tolist() == mask.tolist()


@pytest.mark.parametrize("stream", STREAMS)
def test_padded_batches(stream, length):
    for seed in range(30 * length):
        draw = random.Random(f"{stream}{seed}")
        records = model.draw_records(draw, draw.randrange(1, 50))
        size, drop, multiple = draw.randrange(1, 9), draw.random() < 0.3, draw.choice([1, 1, 4])
        options = {"drop_remainder": drop, "pad_to_multiple": multiple}
        ds = STREAMS[stream](records).with_options(threads=draw.choice([1, 3]))
        got = list(ds.padded_batch(size, **options))
        want = model.batches(records, size, drop)
        assert len(got) == len(want), seed
        for batch, rows in zip(got, want, strict=True):
            expect(batch, rows, None, multiple)


@pytest.mark.parametrize("stream", STREAMS)
def test_buckets(stream, length):
    for seed in range(30 * length):
        records, boundaries, sizes, to_boundary, drop = model.draw_buckets(f"{stream}{seed}")
        multiple = (1, 4, 8)[seed % 3]
        ds = STREAMS[stream](records).select("i", "x").bucket_by_sequence_length(
            "x", boundaries=boundaries, batch_sizes=sizes, pad_to_multiple=multiple,
            pad_to_bucket_boundary=to_boundary, drop_remainder=drop
        )  # fmt: skip
        want = list(model.buckets(records, boundaries, sizes, drop))
        got = list(ds)
        assert len(got) == len(want), seed
        for batch, (rows, number) in zip(got, want, strict=True):
            steps = -(-(boundaries[number] - 1) // multiple) * multiple if to_boundary else None
            array, lengths = model.padded([row["x"] for row in rows], steps, multiple)
            assert batch["i"].tolist() == [row["i"] for row in rows], seed
            assert batch["x"].shape[:2] == array.shape[:2], seed
            assert batch["x"].tolist() == array.tolist(), seed
            assert batch.lengths("x").tolist() == lengths, seed


@pytest.mark.parametrize("stage", ["padded_batch", "buckets", "boundary", "window", "group"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_ragged_level_is_padded_to_the_multiple(stage, depth):
    draw, nested, n = random.Random(f"{stage}{depth}"), [], 60
    for _ in range(depth):
        ends = np.cumsum([draw.randrange(1, 8) for _ in range(n)])
        nested.append(np.concatenate([[0], ends]).astype(np.int32))
        n = int(ends[-1])
    rows = lv.Ragged(np.arange(n), nested)
    ds = lv.from_arrays({"i": np.arange(60) % 3, "x": rows})
    bucket = {"boundaries": [9], "batch_sizes": 4, "pad_to_multiple": 3}
    ds = {
        "padded_batch": lambda: ds.padded_batch(4, pad_to_multiple=3),
        "buckets": lambda: ds.bucket_by_sequence_length("x", **bucket),
        "boundary": lambda: ds.bucket_by_sequence_length(
            "x", pad_to_bucket_boundary=True, **bucket
        ),
        "window": lambda: ds.window(4, padded=True, pad_to_multiple=3),
        "group": lambda: ds.group_by_window("i", window_size=4, padded=True, pad_to_multiple=3),
    }[stage]()
    extents = {size for batch in ds for size in batch["x"].shape[1:]}
    assert extents
    assert {size % 3 for size in extents} == {0}


@pytest.mark.parametrize("records", [40, 3000])  # of one block, and of many
@pytest.mark.parametrize("side", ["right", "left"])
def test_large_rows_out_of_order(records, side):
    draw = np.random.default_rng(records)
    lengths = draw.integers(0, 600, records) * (draw.random(records) > 0.1)
    rows = [draw.integers(1, 99, n).astype("int32") for n in lengths]
    ds = lv.from_arrays({"i": np.arange(records), "x": rows}).with_options(threads=1)
    seen = []
    for batch in ds.bucket_by_sequence_length(
        "x", boundaries=[100, 300], batch_sizes=8, padding_side=side
    ):
        steps = batch["x"].shape[1]
        assert steps == max(lengths[batch["i"]])
        for i, row in zip(batch["i"], batch["x"], strict=True):
            seen.append(i)
            pad = (0, steps - lengths[i]) if side == "right" else (steps - lengths[i], 0)
            np.testing.assert_array_equal(row, np.pad(rows[i], pad))
    assert sorted(seen) == list(range(records))


def test_functions_of_padded_batches_keep_lengths(length):
    for seed in range(20 * length):
        draw = random.Random(seed)
        records = model.draw_records(draw, draw.randrange(1, 50))
        spec = draw.choice([None, {"x": lv.FixedLenFeature([None] * records[0]["x"].ndim, "f4"),
                                   "t": lv.FixedLenFeature([None], "i8"), "i": "i8"}])  # fmt: skip
        ds = lv.from_records(records).padded_batch(3).map(
            lambda b: {"x": b["x"].copy(), "t": b["t"] + 0, "i": b["i"]}, batched=True, spec=spec,
            pure=draw.random() < 0.5,
        )  # fmt: skip
        for batch, rows in zip(ds, model.batches(records, 3), strict=True):
            expect(batch, rows)
        back = list(ds.unbatch())
        assert [row["x"].tolist() for row in back] == [row["x"].tolist() for row in records]
        assert [row["t"].tolist() for row in back] == [row["t"] for row in records]


def test_the_odd_record_is_padded_wherever_it_comes():
    for source in (list, lambda records: lambda: iter(records)):
        records = source([{"x": [1, 2, 3]}] * 300 + [{"x": [1, 2, 3, 4, 5]}])
        assert [len(row["x"]) for row in lv.from_records(records)] == [3] * 300 + [5]
        *_, last = lv.from_records(records).padded_batch(301)
        assert last.lengths("x").tolist() == [3] * 300 + [5]
        assert last["x"].shape == (301, 5)


def test_an_empty_batch_of_steps_is_padded_like_any_other():
    records = [{"x": np.zeros((0, 2), np.float32)}] * 2
    batch = lv.from_records(records).padded_batch(2).first()
    assert (batch["x"].shape, batch["x"].dtype) == ((2, 0, 2), np.float32)
    batch = lv.from_records(records).bucket_by_sequence_length(
        "x", boundaries=[4], batch_sizes=[2, 2], pad_to_bucket_boundary=True
    ).first()  # fmt: skip
    assert (batch["x"].shape, batch["x"].dtype) == ((2, 3, 2), np.float32)
    assert batch.lengths("x").tolist() == [0, 0]
    batch = lv.from_records(records).padded_batch(2, padded_shapes={"x": [5, 2]}).first()
    assert batch["x"].shape == (2, 5, 2)
