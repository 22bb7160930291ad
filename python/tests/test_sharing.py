# SPDX-License-Identifier: Apache-2.0
"""Parts of a dataset for workers and ranks: every record is in exactly one of them."""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from itertools import chain

import levada as lv
import numpy as np
import pytest
from levada import _levada, _sharing
from levada.errors import FailedPreconditionError
from levada.interop.torch import Shared

COUNTS = [1, 2, 3, 4, 7]
N = 1000


def numbers(values, field="value"):
    """The values of a field, one by one, of records or batches."""
    for value in values:
        yield from np.asarray(value[field]).reshape(-1).tolist()


def parts(ds, count, epoch=0, seed=None, field="value"):
    for index in range(count):
        shared = _sharing.share(ds, index, count, seed)
        yield list(numbers(shared.iterate(epoch=epoch), field))


def assert_divided(ds, count, epoch=0, seed=None, field="value", expected=None):
    """Every record is in exactly one part."""
    given = list(parts(ds, count, epoch, seed, field))
    if expected is None:
        expected = numbers(ds.iterate(epoch=epoch), field)
    assert Counter(chain.from_iterable(given)) == Counter(expected)
    return given


# Stages after which a part is taken: they count, choose or combine records by their place, or
# keep what they have read. A part of what an interleave opens is taken inside its pipe.
AFTER = frozenset("cache collect enumerate group_by interleave shard skip take window zip".split())


def test_it_is_known_of_every_stage_whether_it_runs_on_a_part():
    rows = [row for row in json.loads(_levada.stages()) if not row["plugin"]]
    stages = [row for row in rows if row["family"] in ("stage", "combiner", "decoder")]
    assert {row["name"] for row in stages if "divides" not in row["traits"]} == AFTER


def test_packing_windows_and_groups_are_of_one_part():
    ds = lv.from_arrays({"x": [np.arange(i + 1) for i in range(40)]})
    group = ds.group_by_window("len(x) % 3", window_size=4)
    for name, made in {"pack": ds.pack(64), "window_steps": ds.window_steps(3),
                       "group_by_window": group}.items():  # fmt: skip
        assert text(made).index("| shard:") < text(made).index(f"| {name}:")


def text(ds, count=2, seed=None):
    return str(_sharing.share(ds, 0, count, seed))


def even(record):
    return record["value"] % 2 == 0


def twice(record):
    return {"value": record["value"] * 2}


def pairs(k=1, length=10):
    return lv.from_arrays({"value": np.arange(N), "len": np.arange(N) % length + k})


PIPES = {
    "plain": lambda: lv.range(N),
    "shuffled": lambda: lv.range(N).shuffle(100),
    "shuffled with a seed": lambda: lv.range(N).shuffle(100, seed=3),
    "batched": lambda: lv.range(N).shuffle(100).batch(7),
    "padded": lambda: lv.range(N).shuffle(100, seed=3).padded_batch(7).prefetch(2),
    "bucketed": lambda: (
        pairs()
        .shuffle(100)
        .bucket_by_sequence_length("len", boundaries=[4, 8], batch_sizes=[5, 5, 5])
    ),
    "mapped": lambda: lv.range(N).map(twice).shuffle(50).map(twice, pure=False),
    "filtered": lambda: lv.range(N).filter(even).filter("value > 10").shuffle(50),
    "unbatched": lambda: lv.range(N).batch(7).unbatch().shuffle(9).batch(2),
    "repeated": lambda: lv.range(N).shuffle(100).repeat(3),
    "concatenated": lambda: lv.concat(lv.range(10), lv.range(N).shuffle(9)).shuffle(5),
    "mixed": lambda: lv.mix([lv.range(N), lv.range(50).shuffle(9)], weights=[3, 1]).batch(4),
    "taken": lambda: lv.range(N).take(333).shuffle(50).batch(5),
    "skipped behind a filter": lambda: lv.range(N).filter(even).skip(9).shuffle(50),
    "taken from a seeded shuffle": lambda: lv.range(N).shuffle(100, seed=5).take(333).shuffle(9),
    "a part already": lambda: lv.range(N).shard(1, 3).shuffle(50),
    "batches taken": lambda: lv.range(N).batch(10).take(17),
    "zipped": lambda: lv.zip(lv.range(N), lv.range(N + 5).rename({"value": "x"})).shuffle(20),
    "zipped behind a filter": lambda: lv.zip(
        lv.range(N).filter(even), lv.range(N).rename({"value": "x"})
    ).shuffle(20),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", PIPES)
def test_every_record_is_in_one_part(name, count):
    for epoch in (0, 1):
        assert_divided(PIPES[name](), count, epoch)


def test_numbers_of_records_stay_what_they_were():
    ds = lv.range(50).enumerate()
    whole = {int(r["value"]): int(r["index"]) for r in ds}
    ds = ds.shuffle(10)
    for index in range(3):
        for record in _sharing.share(ds, index, 3):
            assert whole[int(record["value"])] == int(record["index"])


def test_zipped_records_stay_together():
    squares = lv.from_arrays({"y": np.arange(40) ** 2})
    for a in (lv.range(40).map(twice), lv.range(80).filter(even)):
        ds = lv.zip(a, squares)
        given = [r for i in range(3) for r in _sharing.share(ds, i, 3)]
        assert sorted((int(r["value"]), int(r["y"])) for r in given) == [
            (2 * i, i * i) for i in range(40)
        ]


def test_a_zip_that_may_lose_records_is_divided_behind_it():
    fails = lv.zip(lv.range(40), lv.range(40).map(twice).rename({"value": "y"}))
    assert text(fails).startswith("zip(range:40 | shard:0,count=2;")
    assert text(fails.with_options(errors="skip")).endswith("| shard:0,count=2")


class TestPlaces:
    """The shard is the first thing that happens to a record, where that is possible."""

    @pytest.mark.parametrize("name", ["shuffled", "batched", "bucketed", "mapped", "repeated"])
    def test_behind_the_source(self, name):
        assert text(PIPES[name]()).split(" | ")[1] == "shard:0,count=2"

    def test_before_decoding(self):
        spec = {"x": lv.FixedLenFeature([], lv.int64)}
        ds = lv.from_arrays({"record": [lv.make_example({"x": i}) for i in range(20)]})
        ds = ds.shuffle(4).parse_example(spec).batch(3)
        stages = [stage["op"] for stage in _stages(_sharing.share(ds, 0, 2))]
        assert stages == ["memory", "shard", "shuffle", "parse_example", "batch"]
        assert_divided(ds, 3, field="x")

    def test_each_part_calls_its_functions_for_its_records_alone(self):
        seen = []
        ds = lv.range(100).map(lambda r: seen.append(int(r["value"])) or r).batch(10)
        list(_sharing.share(ds, 1, 4))
        assert sorted(seen) == list(range(1, 100, 4))

    def test_batches_are_made_of_the_part(self):
        sizes = [len(b["value"]) for b in _sharing.share(lv.range(100).batch(10), 0, 2)]
        assert sizes == [10] * 5

    def test_in_all_inputs(self):
        ds = lv.concat(lv.range(4), lv.mix([lv.range(5), lv.range(6)]))
        assert text(ds).count("shard") == 3

    def test_behind_what_counts(self):
        assert text(lv.range(9).take(5).shuffle(3)).startswith("range:9 | take:5 | shard:0,count=2")
        assert text(lv.range(9).batch(2).enumerate()).endswith("enumerate | shard:0,count=2")

    def test_one_part_is_the_dataset_itself(self):
        ds = lv.range(9).shuffle(3).take(2)
        assert _sharing.share(ds, 0, 1) is ds

    def test_functions_and_settings_stay(self):
        ds = lv.range(9).map(twice).with_options(threads=1, errors="skip")
        shared = _sharing.share(ds, 1, 3)
        assert shared._settings == ds._settings
        assert list(numbers(shared)) == [2, 8, 14]

    def test_the_fingerprint_is_the_same(self):
        for name in ("shuffled", "bucketed", "concatenated", "zipped"):
            ds = PIPES[name]()
            assert _sharing.share(ds, 1, 3).fingerprint() == ds.fingerprint()


def _stages(ds):
    return json.loads(ds.to_json())["stages"]


DRAWN = {
    "shuffle": lambda: lv.range(N).shuffle(100).take(333),
    "mix": lambda: lv.mix([lv.range(N), lv.range(N)]).skip(300).shuffle(9),
    "shuffle behind a filter": lambda: lv.range(N).shuffle(99).filter(even).enumerate(),
    "shuffle in a zip": lambda: lv.zip(lv.range(N).shuffle(9), lv.range(N).rename({"value": "x"})),
}


class TestSeeds:
    """What runs before the shard does the same in all parts, or is refused."""

    @pytest.mark.parametrize("name", DRAWN)
    def test_missing_ones_are_refused(self, name):
        with pytest.raises(FailedPreconditionError, match="runs before shard"):
            _sharing.share(DRAWN[name](), 0, 2)

    @pytest.mark.parametrize("name", DRAWN)
    def test_one_for_all_parts_divides(self, name):
        ds = DRAWN[name]()
        same = list(numbers(ds.with_options(seed=11).iterate(epoch=1)))
        assert_divided(ds, 3, epoch=1, seed=11, expected=same)
        assert_divided(ds.with_options(seed=11), 3, epoch=1, expected=same)

    def test_the_users_seed_counts(self):
        ds = DRAWN["shuffle"]().with_options(seed=1)
        assert _sharing.share(ds, 0, 2, seed=2)._settings["seed"] == 1

    def test_none_is_needed_behind_the_shard(self):
        assert "seed" not in _sharing.share(lv.range(9).shuffle(3), 0, 2, seed=1)._settings


class TestFiles:
    @pytest.fixture
    def pattern(self, tmp_path):
        number = 0
        for i, lines in enumerate([0, 30, 1, 60, 9]):
            rows = "".join(f"{number + k}\n" for k in range(lines))
            (tmp_path / f"{i}.txt").write_text(rows)
            number += lines
        return str(tmp_path / "*.txt")

    def lines(self, ds, count, seed=None):
        given = [
            int(record["line"])
            for index in range(count)
            for record in _sharing.share(ds, index, count, seed).iterate(epoch=0)
        ]
        assert sorted(given) == list(range(100))

    @pytest.mark.parametrize("count", COUNTS)
    def test_records_of_files(self, pattern, count):
        self.lines(lv.text_lines(pattern).shuffle(20), count)

    @pytest.mark.parametrize("count", COUNTS)
    def test_records_of_batches(self, pattern, count):
        self.lines(lv.text_lines(pattern).shuffle(20).batch(3).unbatch(), count)

    @pytest.mark.parametrize("count", COUNTS)
    def test_shuffled_files_take_one_order(self, pattern, count):
        self.lines(lv.text_lines(pattern, shuffle_files=True).shuffle(20), count, seed=4)

    def test_shuffled_files_without_a_seed_are_refused(self, pattern):
        for ds in (lv.text_lines(pattern, shuffle_files=True), lv.files(pattern, shuffle=True)):
            with pytest.raises(FailedPreconditionError, match="the order of the files of"):
                _sharing.share(ds, 0, 2)

    @pytest.mark.parametrize("count", COUNTS)
    @pytest.mark.parametrize("shuffled", [False, True])
    def test_interleaved_files_are_divided_in_each(self, pattern, count, shuffled):
        def opened(record):
            return lv.text_lines(record["path"])

        ds = lv.files(pattern, shuffle=shuffled).interleave(opened, cycle_length=2)
        assert count == 1 or "shard" in text(ds, count).split(" | interleave")[1]
        self.lines(ds.shuffle(9), count)

    def test_the_pipe_of_an_interleave_may_count(self, pattern):
        def opened(record):
            return lv.text_lines(record["path"]).shuffle(5, seed=3).take(4)

        ds = lv.files(pattern).interleave(opened, cycle_length=2)
        expected = sorted(int(r["line"]) for r in ds.iterate(epoch=0))
        given = [int(r["line"]) for i in range(3) for r in _sharing.share(ds, i, 3)]
        assert sorted(given) == expected
        shuffled = lv.files(pattern, shuffle=True).interleave(opened)
        with pytest.raises(FailedPreconditionError, match="the order of the files of files"):
            _sharing.share(shuffled, 0, 2)


class TestShared:
    """The class of `torch_dataset`, which needs no torch."""

    def rows(self, shared):
        return [int(row["value"]) for row in shared]

    def test_ranks_divide_what_is_shuffled_without_a_seed(self):
        ranks = [Shared(lv.range(N).shuffle(100), rank=r, world_size=3) for r in range(3)]
        for _ in range(2):
            assert sorted(chain.from_iterable(map(self.rows, ranks))) == list(range(N))

    def test_ranks_of_the_environment(self, monkeypatch):
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("WORLD_SIZE", "4")
        assert self.rows(Shared(lv.range(10))) == [1, 5, 9]

    def test_a_shard_of_the_user_is_checked(self):
        drawn = Shared(lambda i, n: lv.range(N).shuffle(100).shard(i, n), rank=0, world_size=2)
        with pytest.raises(FailedPreconditionError, match="shuffle runs before shard"):
            next(iter(drawn))
        free = Shared(lambda i, n: lv.range(N).shard(i, n).shuffle(100), rank=0, world_size=2)
        assert sorted(self.rows(free)) == list(range(0, N, 2))

    @pytest.mark.parametrize("cut", [0, 1, 40, 300])
    def test_each_part_goes_on_by_its_own_state(self, cut):
        made = []
        for rank in range(2):
            shared = Shared(lv.range(N).shuffle(100), rank=rank, world_size=2)
            running = iter(shared)
            made += [int(next(running)["value"]) for _ in range(cut + 1)]
            state = pickle.loads(pickle.dumps(shared.state_dict()))
            rest = list(running)
            other = Shared(lv.range(N).shuffle(100), rank=rank, world_size=2)
            other.load_state_dict(state)
            again = self.rows(other)
            assert again == [int(row["value"]) for row in rest]
            made += again
        assert sorted(made) == list(range(N))

    def test_the_state_of_another_part_is_refused(self):
        shared = Shared(lv.range(N), rank=0, world_size=2)
        running = iter(shared)
        next(running)
        other = Shared(lv.range(N), rank=1, world_size=2)
        other.load_state_dict(shared.state_dict())
        with pytest.raises(FailedPreconditionError, match="part 0 of 2, this is part 1 of 2"):
            next(iter(other))

    def test_epochs_go_on_after_a_state(self):
        ds = lv.range(N).shuffle(100, seed=1)
        shared = Shared(ds, rank=0, world_size=2)
        self.rows(shared)
        running = iter(shared)
        next(running)
        other = Shared(ds, rank=0, world_size=2)
        other.load_state_dict(shared.state_dict())
        self.rows(other)
        third = _sharing.share(ds, 0, 2).iterate(epoch=2)
        assert self.rows(other) == [int(row["value"]) for row in third]


@pytest.mark.parametrize("count", [2, 3])
def test_pipes_that_shuffle_their_files_are_not_divided(tmp_path, count):
    """What order the files of a pipe have depends on how many pipes are open beside it."""
    for p in range(5):
        for k in range(1 + p % 3):
            (tmp_path / f"p{p}_{k}.txt").write_text(
                "".join(f"{100 * p + 10 * k + j}\n" for j in range(1 + (p + k) % 4))
            )
    paths = [str(tmp_path / f"p{p}_").encode() for p in range(5)]
    ds = lv.from_arrays({"path": paths}).interleave(
        lambda record: lv.text_lines(f"{record['path']}*.txt", shuffle_files=True), cycle_length=3
    )
    for epoch in range(4):
        assert_divided(ds.with_options(seed=5), count, epoch, field="line")


def test_a_pickle_tells_workers_that_are_spawned_their_rank(monkeypatch):
    class Group:
        is_available = is_initialized = staticmethod(lambda: True)
        get_rank = staticmethod(lambda: 1)
        get_world_size = staticmethod(lambda: 2)

    monkeypatch.setitem(sys.modules, "torch.distributed", Group)
    told = pickle.dumps(Shared(lv.range(6)))
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    assert pickle.loads(told).part() == (1, 2)


LOADER = """
import os, sys
import levada as lv
from levada.interop.torch import Shared
from levada.interop._epochs import Epochs
epochs = Epochs()
epochs.begin(0, None)
if os.fork() == 0:  # outlives its parent
    os.read(int(sys.argv[1]), 1)
    print(epochs.begin(0, None), flush=True)
    os._exit(0)
os.kill(os.getpid(), 9)
"""


def test_the_counter_of_passes_leaves_nothing_after_a_kill(tmp_path):
    read, write = os.pipe()
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    words = [sys.executable, "-c", LOADER, str(read)]
    with subprocess.Popen(words, env=env, pass_fds=[read], stdout=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == -9
        os.write(write, b"x")
        assert process.stdout.read() == b"1\n"
    os.close(read)
    os.close(write)
    assert not [*tmp_path.iterdir()]
