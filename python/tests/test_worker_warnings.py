# SPDX-License-Identifier: Apache-2.0
"""Workers of a DataLoader warn if each of them reads all records, and only then."""

import multiprocessing
import warnings

import levada as lv
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, IterableDataset, get_worker_info  # noqa: E402

ITEMS = [{"a": i} for i in range(8)]


class Plain(IterableDataset):
    """A user's dataset: a worker iterates what `make` returns, and then its own warnings."""

    def __init__(self, make, given=None):
        self.make, self.given = make, given

    def __iter__(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for record in self.make(self.given):
                yield int(next(iter(record.values())))
        yield from (str(w.message) for w in caught if "levada" not in str(w.category))


def mine(items):
    info = get_worker_info()
    return items[info.id :: info.num_workers] if info else items


def whole(ds):
    return ds


def derived(ds):
    return ds.map(dict).shuffle(3, seed=1).with_options(threads=1)


def joined(ds):
    return lv.concat(lv.range(0), ds)


def sharded(ds):
    info = get_worker_info()
    return ds.shard(info.id, info.num_workers) if info else ds


def split_list(_):
    return lv.from_records(mine(ITEMS)).shuffle(3, seed=1)


def split_range(_):
    info = get_worker_info()
    return lv.range(info.id, 8, info.num_workers) if info else lv.range(8)


def split_files(paths):
    return lv.text_lines(mine(paths)).map(number)


def number(record):
    return {"a": int(record["line"])}


WHOLE = {"as it is": whole, "derived": derived, "joined": joined}
DIVIDED = {
    "sharded": (sharded, lv.range(8)),
    "list": (split_list, None),
    "range": (split_range, None),
}


def read(data, workers, start):
    context = multiprocessing.get_context(start) if workers else None
    loader = DataLoader(data, None, num_workers=workers, multiprocessing_context=context, timeout=0)
    found = list(loader)
    return (
        sorted(int(v) for v in found if not isinstance(v, str)),
        [v for v in found if isinstance(v, str)],
    )


@pytest.mark.parametrize(("workers", "start"), [(0, "fork"), (2, "fork"), (2, "spawn")])
def test_a_loop_over_all_records_in_each_worker_warns(workers, start):
    for make in WHOLE.values():
        records, told = read(Plain(make, lv.range(8)), workers, start)
        assert records == sorted([*range(8)] * max(workers, 1))
        assert len(told) == workers and all("reads all records" in text for text in told)


@pytest.mark.parametrize(("workers", "start"), [(0, "fork"), (2, "fork"), (2, "spawn")])
def test_what_the_user_divided_does_not_warn(tmp_path, workers, start):
    paths = [tmp_path / f"{i}.txt" for i in range(8)]
    for i, path in enumerate(paths):
        path.write_text(f"{i}\n")
    for make, given in [*DIVIDED.values(), (split_files, [str(path) for path in paths])]:
        assert read(Plain(make, given), workers, start) == ([*range(8)], [])


def part(index, count):
    return lv.range(8).shard(index, count)


def part_of_list(index, count):
    return lv.from_records(ITEMS[index::count])


def all_of_it(index, count):
    return lv.range(8).shuffle(3, seed=1)


@pytest.mark.parametrize("function", [part, part_of_list, all_of_it])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_function_that_does_not_divide_warns(function, workers):
    loader = DataLoader(lv.torch_dataset(function, equal=False), None, num_workers=workers)
    wrong = function is all_of_it and workers == 2
    with warnings.catch_warnings():  # which workers inherit
        warnings.simplefilter("ignore" if wrong else "error", UserWarning)
        records = [int(next(iter(record.values()))) for record in loader]
    assert sorted(records) == sorted([*range(8)] * (2 if wrong else 1))
    if wrong:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            with pytest.raises(UserWarning, match="same dataset for parts 0 and 1 of 2"):
                list(loader)
