# SPDX-License-Identifier: Apache-2.0
"""Objects with len() and [number] as sources."""

import collections
import dataclasses
import pickle
import resource
import threading
import time
from typing import ClassVar

import levada as lv
import numpy as np
import pytest


class Numbers:
    """Map-style: record i is {"x": i, "t": i % 5 times i}; notes what it is asked for."""

    def __init__(self, n, broken=()):
        self.n, self.broken, self.asked = n, broken, []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked.append(i)
        if i in self.broken:
            raise ValueError(f"no {i}")
        return {"x": i, "t": [i] * (i % 5)}


class Many(Numbers):
    def __getitems__(self, numbers):
        assert numbers == sorted(set(numbers))
        return [self[i] for i in numbers]


def values(ds):
    return [int(record["x"]) for record in ds]


@pytest.mark.parametrize("kind", [Numbers, Many])
def test_every_record_once(kind):
    ds = lv.from_random_access(kind(1000))
    assert values(ds) == list(range(1000)) and len(ds) == 1000
    assert ds[7]["t"].tolist() == [7, 7] and ds[-1]["x"] == 999
    with pytest.raises(IndexError):
        ds[1000]
    shuffled = lv.from_random_access(kind(1000), shuffle_records=True).with_options(seed=3)
    first, second = values(shuffled), values(shuffled)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second and first != sorted(first)
    assert len(shuffled.parts(3)) == 3
    assert sorted(i for part in shuffled.parts(3) for i in values(part)) == list(range(1000))


@pytest.mark.parametrize("stop", range(0, 40, 7))
def test_resume_is_exact(stop):
    def make():
        ds = lv.from_random_access(Many(400), shuffle_records=True).shuffle(30, seed=1)
        return ds.bucket_by_sequence_length("t", boundaries=[2, 4], batch_sizes=8).with_options(
            seed=5, block_rows=16
        )

    with make().iterate() as it:
        for _ in range(stop):
            next(it)
        state = it.save()
        rest = [batch["x"].tolist() for batch in it]
    with make().iterate() as it:
        it.restore(state)
        assert [batch["x"].tolist() for batch in it] == rest


def test_parts_read_their_own_records():
    obj = Many(100)
    ds = lv.from_random_access(obj, spec={"x": "int64", "t": lv.VarLenFeature("int64")}, name="n")
    obj.asked.clear()
    assert values(ds.parts(4)[1]) == list(range(25, 50))
    assert sorted(set(obj.asked)) == list(range(25, 50))
    assert values(lv.from_random_access(obj, records=(10, 20), part=(1, 2))) == list(range(15, 20))


def test_ranks_in_step_fetch_their_own_records():
    def rank(i, lengths):
        obj = Many(200)
        ds = lv.from_random_access(
            obj,
            spec={"x": "int64", "t": lv.VarLenFeature("int64")},
            fingerprint="n",
            lengths=lengths,
        ).shuffle(20, seed=1)
        ds = ds.bucket_by_sequence_length("t", boundaries=[2, 4], batch_sizes=8)
        ds = ds.shard(i, 2, sync="buckets")
        return [batch["x"].tolist() for batch in ds], obj.asked, ds

    lengths = {"t": np.arange(200) % 5}
    whole, all_asked, _ = rank(0, None)
    own, asked, ds = rank(0, lengths)
    assert own == whole and len(set(all_asked)) == 200 and len(set(asked)) < 120
    assert "its own records" in str(ds.explain())


def test_a_bad_record_is_one_record():
    ds = lv.from_random_access(Many(50, broken={20, 33}), fingerprint="a", name="mine")
    with pytest.raises(ValueError, match="no 20") as raised:
        values(ds)
    assert "mine" in str(raised.value.__notes__) or "mine" in str(raised.value)
    kept = values(ds.with_options(errors="skip"))
    assert kept == [i for i in range(50) if i not in (20, 33)]
    shuffled = lv.from_random_access(
        Many(50, broken={20, 33}), fingerprint="a", shuffle_records=True
    )
    assert sorted(values(shuffled.with_options(errors="skip"))) == kept


@pytest.mark.parametrize("broken", [0, 25, 49])
@pytest.mark.parametrize("spec", [None, {"x": lv.int64, "t": lv.VarLenFeature(lv.int64)}])
def test_records_that_describe_the_object_may_be_bad(broken, spec):
    ds = lv.from_random_access(Numbers(50, {broken}), spec=spec)
    assert values(ds.with_options(errors="skip")) == [i for i in range(50) if i != broken]
    with pytest.raises(ValueError, match=f"no {broken}"):
        list(ds)


@pytest.mark.parametrize("block_rows", [1, 3, 256])
@pytest.mark.parametrize("copy", [lambda ds: ds, lambda ds: pickle.loads(pickle.dumps(ds))])
def test_blocks_without_an_object_have_its_columns(block_rows, copy):
    rows = [{"x": i, "m": [{"a": k, "b": "é" * k} for k in range(i % 3)]} for i in range(12)]
    ds = copy(lv.from_random_access(rows)).with_options(block_rows=block_rows)
    assert ds.to_list() == rows
    assert [list(batch) for batch in ds.batch(1)] == [["x", "m.a", "m.b"]] * len(rows)
    for cut in range(len(rows)):
        it = iter(ds)
        for _ in range(cut):
            next(it)
        other = copy(lv.from_random_access(rows)).with_options(block_rows=block_rows).iterate()
        other.restore(it.save())
        assert list(other) == rows[cut:]


def test_another_object_is_refused():
    with lv.from_random_access(Many(100)).batch(8).iterate() as it:
        next(it)
        state = it.save()
    with lv.from_random_access(Many(100)).batch(8).iterate() as it:
        it.restore(state)
    other = [{"x": i, "t": [0]} for i in range(100)]
    for obj in (Many(90), other):
        with (
            lv.from_random_access(obj, name="Many").batch(8).iterate() as it,
            pytest.raises(lv.errors.FailedPreconditionError),
        ):
            it.restore(state)


def test_kinds_of_rows():
    point = collections.namedtuple("point", "x y")
    data = dataclasses.make_dataclass("data", ["x"])
    assert values(lv.from_random_access([point(1, 2), point(3, 4)])) == [1, 3]
    assert values(lv.from_random_access([data(1), data(3)])) == [1, 3]
    assert values(lv.from_random_access([(1, 2), (3, 4)], fields=("x", "y"))) == [1, 3]
    assert values(lv.from_random_access([1, 3], fields="x")) == [1, 3]
    with pytest.raises(TypeError, match="fields="):
        lv.from_random_access([1, 3])
    with pytest.raises(TypeError, match="count="):
        lv.from_random_access(type("Endless", (), {"__getitem__": lambda self, i: i})())
    with pytest.raises(TypeError, match="fetch="):
        lv.from_random_access(3)


def test_arrays(tmp_path):
    array = np.arange(60, dtype=np.int32).reshape(20, 3)
    np.save(tmp_path / "a.npy", array)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    ds = lv.from_random_access(mapped, fields="x", shuffle_records=True)
    assert list(ds.spec["x"].shape) == [3] and ds[4]["x"].tolist() == [12, 13, 14]
    assert np.sort(np.concatenate([b["x"] for b in ds.batch(7)]), 0).tolist() == array.tolist()
    ds = lv.from_random_access({"x": array, "y": array[:, 0]})
    assert ds[2]["y"] == 6 and ds[2]["x"].tolist() == [6, 7, 8]
    with pytest.raises(lv.errors.InvalidArgumentError, match="19 records"):
        lv.from_random_access({"x": array, "y": array[1:]})


def test_hdf5_and_zarr(tmp_path):
    h5py = pytest.importorskip("h5py")
    zarr = pytest.importorskip("zarr")
    array = np.arange(600, dtype=np.int32).reshape(200, 3)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = array
        words = file.create_dataset("w", 3, h5py.string_dtype())
        words[:] = ["a", "bc", ""]
    stored = zarr.create_array(tmp_path / "a.zarr", data=array, chunks=(16, 3))
    with h5py.File(tmp_path / "a.h5") as file:
        for obj in (file["x"], stored):
            ds = lv.from_random_access(obj, fields="x", shuffle_records=True)
            rows = np.concatenate([batch["x"] for batch in ds.batch(50)])
            assert rows[np.argsort(rows[:, 0])].tolist() == array.tolist()
        ds = lv.from_random_access(file["w"], fields="w")
        assert [bytes(record["w"]) for record in ds] == [b"a", b"bc", b""]


def test_tensors():
    torch = pytest.importorskip("torch")
    ds = lv.from_random_access({"x": torch.arange(6).reshape(3, 2)})
    assert [record["x"].tolist() for record in ds] == [[0, 1], [2, 3], [4, 5]]


def test_fetch():
    def fetch(numbers):
        assert numbers.dtype == np.int64
        return {"x": numbers * 2, "t": lv.Ragged(numbers, [np.arange(len(numbers) + 1)])}

    ds = lv.from_random_access(None, fetch=fetch, count=10, shuffle_records=True)
    assert sorted(values(ds)) == list(range(0, 20, 2))
    with pytest.raises(lv.errors.InvalidArgumentError, match="field 'x': 1 numbers"):
        lv.from_random_access(None, fetch=lambda numbers: {"x": [1, 2]}, count=1)


def test_a_copy_by_pickle():
    ds = pickle.loads(pickle.dumps(lv.from_random_access([{"x": 1}, {"x": 2}])))
    assert values(ds) == [1, 2]


class Endless:
    """50 million records that take no memory."""

    def __len__(self):
        return 50_000_000

    def __getitem__(self, i):
        return {"x": i}


def test_fifty_million_records():
    spec, mark = {"x": lv.int64}, "endless"
    ds = lv.from_random_access(Endless(), spec=spec, fingerprint=mark, shuffle_records=True)
    ds = ds.with_options(seed=1).batch(256)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    with ds.iterate() as it:
        first = next(it)["x"]
        took = time.perf_counter() - began
        seen = np.concatenate([first, *(next(it)["x"] for _ in range(200))])
        state = it.save()
        following = next(it)["x"]
    assert len(np.unique(seen)) == len(seen) and seen.min() < 1_000_000 and seen.max() > 49_000_000
    assert abs(np.corrcoef(seen, np.arange(len(seen)))[0, 1]) < 0.05
    assert len(state) < 2048 and took < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    with ds.iterate() as it:
        it.restore(state)
        assert next(it)["x"].tolist() == following.tolist()


def test_numbers_of_other_sources():
    assert sorted(r["value"] for r in lv.source("range", count=9, shuffle_records=True)) == [
        *range(9)
    ]
    assert [int(r["value"]) for r in lv.range(10).parts(2)[1]] == [5, 6, 7, 8, 9]
    ds = lv.from_arrays({"x": [5, 6, 7]})
    assert ds[1]["x"] == 6 and values(ds.parts(3)[2]) == [7]
    assert lv.range(5).map(lambda r: {"x": r["value"] * 2})[3]["x"] == 6


class Slow:
    """Records that take long, and how many are read at the same time."""

    def __init__(self, n, make):
        self.n, self.make, self.now, self.most = n, make, 0, 0
        self.lock = threading.Lock()

    def __len__(self):
        return self.n

    def __getitems__(self, numbers):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.005)
        with self.lock:
            self.now -= 1
        return [self.make(i) for i in numbers]

    def __getitem__(self, number):
        return self.__getitems__([number])[0]


@pytest.mark.parametrize("workers", [1, 2, 5, 256])
@pytest.mark.parametrize("block_rows", [1, 4, 256])
def test_workers_read_at_the_same_time_and_keep_the_order(workers, block_rows):
    slow = Slow(60, lambda i: {"x": list(range(i % 5)), "s": f"{i}"})
    ds = lv.from_random_access(slow, shuffle_records=True, workers=workers, fingerprint="a")
    ds = ds.with_options(seed=2, block_rows=block_rows)
    one = lv.from_random_access(slow, shuffle_records=True, fingerprint="a")
    expected = one.with_options(seed=2, block_rows=block_rows).to_list()
    assert str(ds.to_list()) == str(expected)
    assert block_rows == 1 or workers == 1 or slow.most > 1
    it = iter(ds)
    for _ in range(17):
        next(it)
    again = iter(one.with_options(seed=2, block_rows=block_rows))
    again.restore(it.save())
    assert str(list(again)) == str(expected[17:])


def test_workers_join_columns_of_every_kind():
    n = 50
    columns = {
        "i": np.arange(n, dtype=np.int16), "f": np.ones((n, 2, 3), np.float32),
        "s": [f"{i}" for i in range(n)], "r": [np.arange(i % 4) for i in range(n)],
    }  # fmt: skip

    def fetch(numbers):
        return {
            name: column[numbers] if hasattr(column, "shape") else [column[i] for i in numbers]
            for name, column in columns.items()
        }

    one, several = (lv.from_random_access(None, fetch=fetch, count=n, workers=w) for w in (1, 4))
    assert str(one.spec) == str(several.spec)
    assert str(one.batch(7).to_list()) == str(several.batch(7).to_list())


def test_a_bad_record_of_one_worker_is_one_bad_record():
    def fetch(numbers):
        if 33 in numbers:
            raise ValueError("bad")
        return {"x": numbers * 2}

    ds = lv.from_random_access(None, fetch=fetch, count=50, workers=4, spec={"x": "int64"})
    it = iter(ds.with_options(errors="skip"))
    assert [row["x"] for row in it] == [2 * i for i in range(50) if i != 33]
    assert it.stats()["skipped_records"] == 1
    for workers in (0, 257):
        with pytest.raises(ValueError, match="workers"):
            lv.from_random_access([1], fields="x", workers=workers)


class Counted(np.ndarray):
    """An array that notes how many numbers each call has."""

    calls: ClassVar[list] = []

    def __getitem__(self, numbers):
        if isinstance(numbers, np.ndarray):
            self.calls.append(len(numbers))
        return np.asarray(super().__getitem__(numbers))


@pytest.mark.parametrize(
    ("row", "options", "most"),
    [(1, {}, 4096), (64, {}, 4096), (1024, {}, 256), (300, {}, 873), (9, {"block_rows": 99}, 99)],
)
def test_small_rows_are_read_by_large_calls(row, options, most):
    array = np.arange(9000 * row, dtype=np.int32).reshape(9000, row).view(Counted)
    ds = lv.from_random_access(array, fields="x", shuffle_records=True)
    it = iter(ds.with_options(seed=5, **options))
    Counted.calls.clear()
    rows = [int(next(it)["x"][0]) for _ in range(5000)]
    state = it.save()
    assert max(Counted.calls) == most
    rest = [int(each["x"][0]) for each in it]
    assert sorted(rows + rest) == list(range(0, 9000 * row, row))
    other = iter(ds.with_options(seed=5, block_rows=7))
    other.restore(state)  # the size of blocks may differ
    assert [int(each["x"][0]) for each in other] == rest
