# SPDX-License-Identifier: Apache-2.0
"""A Ctrl-C anywhere in the package loses nothing that a loop has not got."""

import levada as lv
import numpy as np
import pytest
from interrupting import everywhere
from levada import errors
from levada.interop import torch as interop
from positions import dropping


def plain(value):
    if isinstance(value, dict | lv.Batch):
        return {name: plain(part) for name, part in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def ragged():
    return lv.from_arrays({"x": [[1], [2, 3], [], [4]], "word": ["a", "bc", "", "d"]})


def tripled(record):
    return {"x": record["value"] * 3}


DATASETS = {
    "records": lambda: lv.range(7),
    "records of all kinds": ragged,
    "batches": lambda: lv.range(7).batch(3),
    "padded batches": lambda: ragged().padded_batch(2),
    "shuffled": lambda: lv.range(9).shuffle(4, seed=1).batch(3).prefetch(1),
    "a function": lambda: lv.range(6).map(tripled, spec={"x": "int64"}),
    "a function, in batches": lambda: lv.range(6).map(tripled, spec={"x": "int64"}).batch(2),
    "a source of Python": lambda: lv.from_records([{"x": i} for i in range(5)]).batch(2),
}


def opened(name, blocks=False, rows=4):
    ds = DATASETS[name]().with_options(block_rows=rows, threads=1, seed=3)
    return ds.blocks(epoch=0) if blocks else ds.iterate(epoch=0)


def loses_nothing(make, moved):
    """`moved`: after the interrupt another iterator continues where the state says."""
    expected = [plain(value) for value in make()]
    for interrupt in everywhere(__file__):
        got, it = [], make()
        try:
            with interrupt:
                for value in it:
                    got.append(value)
        except KeyboardInterrupt:
            pass
        if moved and interrupt.came:
            state = it.save()
            it.close()
            it = make()
            it.restore(state)
        assert [plain(value) for value in (*got, *it)] == expected
        it.close()


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("name", DATASETS)
def test_values_are_given_again(name, moved):
    loses_nothing(lambda: opened(name), moved)


@pytest.mark.parametrize("moved", [False, True])
def test_blocks_are_given_again(moved):
    loses_nothing(lambda: opened("records", blocks=True), moved)


@pytest.mark.parametrize("batched", [False, True])
def test_values_for_torch_are_given_again(batched, monkeypatch):
    monkeypatch.setattr(interop, "batch_to_torch", lambda batch: {**batch})
    ds = lv.range(10).with_options(threads=1, block_rows=3)
    ds = ds.batch(2) if batched else ds

    def shared(state=None):
        made = interop.Shared(ds, rank=0, world_size=2)
        if state is not None:
            made.load_state_dict(state)
        return made

    whole = shared()
    expected = [plain(value) for value in whole]
    counted = whole.stats()["records"]
    assert counted == 5
    for interrupt in everywhere(__file__):
        got, one = [], shared()
        it = iter(one)
        try:
            with interrupt:
                for value in it:
                    got.append(value)
        except KeyboardInterrupt:
            pass
        state = one.state_dict()
        rest = [plain(value) for value in it]
        assert [plain(value) for value in got] + rest == expected
        assert one.stats()["records"] == counted or not rest
        # After the end, the state is the beginning of the next epoch.
        want = rest if "levada" in state else expected
        assert [plain(value) for value in shared(state)] == want
        assert "levada" in state or not rest


def test_what_is_given_again_can_be_written():
    for interrupt in everywhere(__file__):
        it = opened("batches")
        try:
            with interrupt:
                next(it)
        except KeyboardInterrupt as error:
            kept = error  # and its frames, which have the block
            batch = next(it)
            assert kept.__traceback__ and batch["value"].flags.writeable
            assert batch["value"].tolist() == [0, 1, 2]


def test_what_comes_back_is_counted_once():
    for interrupt in everywhere(__file__):
        it = opened("batches")
        try:
            with interrupt:
                next(it)
        except KeyboardInterrupt:
            next(it)
        assert it.stats()["records"] == 3


@pytest.mark.parametrize("savable", [True, False])
def test_where_the_position_is_noted_anew(savable):
    """That is before a block, once 4096 records came."""
    n, known = 4100, {"x": "int64"}

    def source():
        return ({"x": i} for i in range(n))

    if savable:
        ds = lv.from_arrays({"x": np.arange(n)})
    else:
        ds = lv.from_records(source, spec=known)
    for interrupt in everywhere(__file__, step=1 if savable else 7):
        it = ds.with_options(threads=1, block_rows=4096).iterate(epoch=0)
        got = [next(it)["x"] for _ in range(4096)]
        try:
            with interrupt:
                got.append(next(it)["x"])
        except KeyboardInterrupt:
            pass
        if savable:
            other = ds.iterate(epoch=0)
            other.restore(it.save())
            assert [row["x"] for row in other] == list(range(len(got), n))
        else:
            with pytest.raises(errors.UnimplementedError):
                it.save()
        assert got + [row["x"] for row in it] == list(range(n))


@pytest.mark.parametrize("cut", [0, 2, 4, 5])
def test_a_restore_happens_or_does_not(cut):
    expected = [plain(value) for value in opened("records")]
    it = opened("records")
    for _ in range(cut):
        next(it)
    state = it.save()
    for interrupt in everywhere(__file__):
        it = opened("records")
        next(it)
        try:
            with interrupt:
                it.restore(state)
        except KeyboardInterrupt:
            pass
        again = it.save()
        rest = [plain(value) for value in it]
        assert rest in (expected[cut:], expected[1:])
        assert interrupt.came or rest == expected[cut:]
        it.restore(again)
        assert [plain(value) for value in it] == rest


@pytest.mark.parametrize("given", [0, 1, 4, 6])
def test_a_save_changes_nothing(given):
    expected = [plain(value) for value in opened("records")]
    for interrupt in everywhere(__file__):
        it = opened("records")
        for _ in range(given):
            next(it)
        try:
            with interrupt:
                it.save()
        except KeyboardInterrupt:
            pass
        assert [plain(value) for value in it] == expected[given:]


def test_a_state_between_the_records_of_a_block_is_one_of_blocks():
    it = opened("records")
    next(it)
    other = opened("records", blocks=True)
    other.restore(it.save())
    assert next(other).num_records == 3
    with pytest.raises(errors.FailedPreconditionError, match="the checkpoint is inside a block"):
        other.restore(dropping(it.save(), 1))
