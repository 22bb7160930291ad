# SPDX-License-Identifier: Apache-2.0
"""ds.sampler: record numbers for loaders of map-style datasets."""

import itertools

import levada as lv
import pytest
from levada.errors import FailedPreconditionError


def numbers(**options):
    ds = lv.source("range", count=1000, shuffle_records=True).with_options(seed=5, **options)
    return [[int(row["value"]) for row in ds] for _ in range(3)]


def test_the_order_is_that_of_shuffle_records():
    sampler = lv.range(1000).sampler(seed=5)
    assert [list(sampler) for _ in range(3)] == numbers()
    sampler.set_epoch(1)
    assert list(sampler) == numbers()[1]
    assert list(lv.range(9).sampler(shuffle=False)) == list(range(9))


@pytest.mark.parametrize("world", [1, 2, 7])
@pytest.mark.parametrize("count", [1000, 3, 1, 0])
def test_ranks_have_each_number_once(count, world):
    ds = lv.source("range", count=count)
    ranks = [ds.sampler(rank, world, seed=3) for rank in range(world)]
    for _ in range(2):
        lists = [list(sampler) for sampler in ranks]
        assert [len(sampler) for sampler in ranks] == [len(part) for part in lists]
        assert sorted(itertools.chain(*lists)) == list(range(count))
    for equal in ("drop", "pad"):
        lists = [list(ds.sampler(rank, world, seed=3, equal=equal)) for rank in range(world)]
        assert len({len(part) for part in lists}) == 1
        assert (set() if equal == "drop" else set(range(count))) <= set(itertools.chain(*lists))


@pytest.mark.parametrize("cut", [0, 1, 255, 256, 257, 499, 500])
def test_a_state_continues_at_any_cut(cut):
    ds = lv.range(1000)
    sampler = ds.sampler(1, 2, seed=5)
    epochs = [list(sampler) for _ in range(3)]
    sampler.set_epoch(1)
    it = iter(sampler)
    got = [next(it) for _ in range(cut)]
    again = ds.sampler(1, 2, seed=5)
    again.load_state_dict(sampler.state_dict())
    assert got + list(again) == epochs[1]
    assert list(again) == epochs[2]
    assert got + list(it) == epochs[1]
    again.load_state_dict(sampler.state_dict())  # at the end of an epoch
    assert list(again) == epochs[2]


def test_datasets_without_record_numbers_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    path = str(tmp_path / "a.txt")
    for call in (lambda ds: ds.sampler(), lambda ds: ds[0], len):
        with pytest.raises((lv.errors.FailedPreconditionError, TypeError), match="index=True"):
            call(lv.text_lines(path))
    with pytest.raises(lv.errors.FailedPreconditionError, match="shuffle"):
        lv.range(3).shuffle(2).sampler()
    with pytest.raises(TypeError, match="batches do not"):
        lv.range(3).batch(2).sampler()
    with pytest.raises(lv.errors.InvalidArgumentError, match="below count"):
        lv.range(3).sampler(2, 2)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_continues(tmp_path, workers):
    loaders = pytest.importorskip("torchdata.stateful_dataloader")
    (tmp_path / "a.txt").write_text("".join(f"{i}\n" for i in range(20)))
    lv.index(tmp_path / "a.txt")
    ds = lv.text_lines(str(tmp_path / "a.txt"), index=True)

    def loader():
        given = {"batch_size": 4, "num_workers": workers}
        return loaders.StatefulDataLoader(ds, sampler=ds.sampler(seed=1), **given)

    full = list(loader())
    assert sorted(itertools.chain(*(batch["line"] for batch in full)), key=int) == [
        *map(str, range(20))
    ]
    for cut in (0, 2, 5):
        first, second = loader(), loader()
        it = iter(first)
        got = [next(it) for _ in range(cut)]
        second.load_state_dict(first.state_dict())
        assert got + list(second) == full


def test_equal_ranks_of_parts_of_unknown_length_are_refused_with_a_remedy():
    torch = pytest.importorskip("torch.utils.data")
    assert torch
    for equal in ("drop", "pad"):
        with pytest.raises(FailedPreconditionError, match="pass equal=False and end each epoch"):
            lv.torch_dataset(lv.range(9).filter("value > 3").batch(2), parts=4, equal=equal)
    with pytest.raises(ValueError, match="parts= needs a Dataset"):
        lv.torch_dataset(lambda index, count: lv.range(9), parts=4)


@pytest.mark.parametrize("returned", [-1, 6, 2**62])
def test_a_state_of_more_numbers_is_refused(returned):
    sampler = lv.range(5).sampler(seed=1)
    with pytest.raises(lv.errors.InvalidArgumentError, match="returned="):
        sampler.load_state_dict({"epoch": 3, "returned": returned})
    assert sampler.state_dict() == {"epoch": 0, "returned": 0}
    assert len(list(sampler)) == 5
