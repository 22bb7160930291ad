# SPDX-License-Identifier: Apache-2.0
"""Random pipelines, cut anywhere, resumed in a world that may have changed. Each resume is refused
with a message, or continues exactly: as a run that saw the changed world from its beginning."""

import itertools
import random
from collections import Counter

import levada as lv
import pytest
from levada import errors
from levada.interop.torch import Shared
from wire import crc32c

SPEC = {"tokens": lv.VarLenFeature(lv.int64), "id": lv.FixedLenFeature([], lv.string)}


def plain(value):
    """A record or a batch as values that can be compared."""
    columns = {name: value[name] for name in value}
    for name, column in columns.items():
        if hasattr(column, "to_list"):
            columns[name] = column.to_list()
        elif hasattr(column, "tolist"):
            columns[name] = column.tolist()
    return columns


class World:
    """Files in a folder, and a pipeline over them."""

    def __init__(self, rng, folder):
        self.rng, self.folder, self.files = rng, folder, {}
        for name in "bdfh"[: rng.randint(1, 4)]:
            self.write(name, rng.choice([0, 1, 5, 40, 300]), "old")
        self.names = list(self.files)
        self.shard = rng.choice([(0, 1), (0, 2), (1, 3)])
        self.threads, self.rows = rng.choice([1, 1, 2, 4]), rng.choice([1, 7, 256])
        self.source = rng.choice(["list", "glob", "shuffled", "interleave", "zip", "mix", "concat"])
        size = rng.choice([3, 20, 500])
        stages = [
            lambda ds: ds.shuffle(size),
            lambda ds: ds.repeat(2),
            lambda ds: ds.prefetch(2),
            lambda ds: ds.take(90),
            lambda ds: ds.skip(3),
            lambda ds: ds.parse_example(SPEC).filter("len(tokens) > 0").select("id"),
        ]
        self.stages = rng.sample(stages, rng.randint(0, 4))
        self.sharded = rng.randint(0, len(self.stages))
        raw = not any(stage is stages[-1] for stage in self.stages)
        self.end = rng.choice(["records", "batch", "buckets"] if raw else ["records", "batch"])

    def path(self, name):
        return self.folder / f"{name}.tfrecord"

    def write(self, name, count, word):
        with lv.TFRecordWriter(self.path(name)) as writer:
            for i in range(count):
                text = f"{word} {name} {i:04d}".encode()
                writer.write(lv.make_example({"tokens": list(range(i % 9)), "id": text}))
        self.files[name] = count

    def dataset(self):
        paths = [str(self.path(name)) for name in self.names]
        if self.source == "interleave":
            ds = lv.files(paths).interleave(lv.tfrecord("{path}"), cycle_length=2)
        elif self.source == "glob":
            ds = lv.tfrecord(str(self.folder / "*.tfrecord"))
        elif self.source in ("mix", "concat"):
            parts = [lv.tfrecord(path) for path in paths]
            ds = lv.mix(parts, seed=2) if self.source == "mix" else lv.concat(parts)
        elif self.source == "zip":
            other = lv.tfrecord(paths[::-1]).shuffle(7, seed=4).rename({"record": "second"})
            ds = lv.zip(lv.tfrecord(paths), other).select("record")
        else:
            ds = lv.tfrecord(paths, shuffle_files=self.source == "shuffled")
        for i, stage in enumerate([*self.stages, None]):
            if i == self.sharded and self.shard[1] > 1:
                ds = ds.shard(*self.shard)
            ds = stage(ds) if stage else ds
        if self.end == "batch":
            ds = ds.batch(4)
        if self.end == "buckets":
            ds = ds.parse_example(SPEC).bucket_by_sequence_length(
                "tokens", boundaries=[3, 6], batch_sizes=[4, 3, 2]
            )
        return ds.with_options(seed=5, threads=self.threads, block_rows=self.rows)

    def values(self):
        return [plain(value) for value in self.dataset().iterate(epoch=0)]

    # -- changes: each returns whether there was something to change

    def other_threads(self):
        self.threads = self.rng.choice([1, 2, 3])
        return True

    def other_rows(self):
        self.rows = self.rng.choice([1, 3, 100])
        return True

    def other_rank(self):
        index, count = self.shard
        others = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4)]
        self.shard = self.rng.choice([other for other in others if other != (index, count)])
        return True

    def rewritten(self):
        name = self.rng.choice(self.names)
        self.write(name, self.files[name], "new")
        return self.files[name] > 0

    def shorter(self):
        name = self.rng.choice(self.names)
        self.write(name, max(0, self.files[name] - 1), "old")
        return True

    def longer(self):
        name = self.rng.choice(self.names)
        self.write(name, self.files[name] + 1, "old")
        return True

    def cut_off(self):
        path = self.path(self.rng.choice(self.names))
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - self.rng.randint(1, 9)])
        return len(data) > 0

    def renamed(self):
        i = self.rng.randrange(len(self.names))
        self.path(self.names[i]).rename(self.path("c"))
        self.names[i] = "c"
        return True

    def reordered(self):
        self.names.reverse()
        return len(self.names) > 1 and self.source != "glob"

    def removed(self):
        self.path(self.names.pop()).unlink()
        return bool(self.names)

    def added(self):
        self.names.insert(self.rng.randrange(len(self.names)), "a")
        self.write("a", 7, "new")
        return True


TUNES = ["other_threads", "other_rows"]
CHANGES = ["other_rank", "rewritten", "shorter", "longer", "cut_off", "renamed", "reordered"]
CHANGES += ["removed", "added"]


def resume(world, state):
    """What comes after the state; None where it is refused, which must say why."""
    it = world.dataset().iterate(epoch=0)
    try:
        it.restore(state)
    except errors.FailedPreconditionError as why:
        assert len(str(why)) > 20
        return None
    return it


def whole(world):
    """All values, or None where the files can not be read."""
    try:
        return world.values()
    except errors.LevadaError:
        return None


def check(seed, change, folder):
    rng = random.Random(f"{seed} {change}")
    world = World(rng, folder)
    want, it = world.values(), world.dataset().iterate(epoch=0)
    got = [plain(next(it)) for _ in range(rng.randint(0, len(want)))]
    if rng.random() < 0.5:  # what a resumed run saves is as good
        again, it = it.save(), world.dataset().iterate(epoch=0)
        it.restore(again)
        got += [plain(next(it)) for _ in range(rng.randint(0, len(want) - len(got)))]
    state = it.save()
    if not getattr(world, change)():
        return False
    rest = resume(world, state)
    if change in TUNES:
        assert rest is not None
    if change == "other_rank":
        assert rest is None
    if rest is None:
        return True
    want = whole(world)
    if want is None:  # where the run fails, so does the resumed one: nothing else is delivered
        with pytest.raises(errors.LevadaError):
            list(rest)
    else:
        assert got + [plain(value) for value in rest] == want
    return False


@pytest.mark.parametrize("change", TUNES + CHANGES)
def test_resumes_are_refused_or_exact(change, tmp_path, length):
    refused = 0
    for seed in range(24 * length):
        folder = tmp_path / str(seed)
        folder.mkdir()
        refused += check(seed, change, folder)
    assert (refused > 0) == (change not in TUNES)


def test_other_formats_are_refused(tmp_path):
    world = World(random.Random(1), tmp_path)
    state = world.dataset().iterate(epoch=0).save()
    body = state[:8] + (9).to_bytes(2, "little") + state[10:-4]
    with pytest.raises(errors.FailedPreconditionError, match="checkpoint has format 9"):
        world.dataset().iterate().restore(body + crc32c(body).to_bytes(4, "little"))


# -- early positions, with threads, record by record


def write_text(path, n, word):
    with lv.TFRecordWriter(path) as writer:
        for i in range(n):
            writer.write(b"%s %06d %s" % (word, i, b"x" * 40))


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("taken", [1, 60, 100, 3000])
def test_a_rewritten_file_is_refused(tmp_path, taken, threads, batched):
    path = tmp_path / "a.tfrecord"
    write_text(path, 60_000 if batched else 5000, b"first")
    ds = lv.tfrecord(path).with_options(threads=threads, seed=1)
    ds = ds.batch(20) if batched else ds
    it = iter(ds)
    for _ in range(taken):
        next(it)
    state = it.save()
    write_text(path, 60_000 if batched else 5000, b"other")  # of the same size
    with pytest.raises(errors.FailedPreconditionError, match=r"a\.tfrecord was changed since"):
        iter(ds).restore(state)
    write_text(path, 10, b"first")
    with pytest.raises(errors.FailedPreconditionError, match=r"a\.tfrecord was changed since"):
        iter(ds).restore(state)


# -- ranks


class Ranks:
    """A random pipeline over the numbers 0..n-1, by parts."""

    def __init__(self, rng):
        self.n, size, self.rng = rng.choice([7, 40, 200]), rng.choice([2, 9, 50]), rng
        self.seed = rng.randint(0, 9)
        stages = [
            lambda ds: ds.shuffle(size, seed=3),
            lambda ds: ds.repeat(2),
            lambda ds: ds.prefetch(2),
            lambda ds: ds.filter("value >= 0"),
        ]
        self.stages = rng.sample(stages, rng.randint(1, 3))
        self.place = rng.randint(0, len(self.stages))
        self.end = rng.choice(["records", "batch", "buckets"])
        self.twice = 1 + any(stage is stages[1] for stage in self.stages)
        self.threads = rng.choice([1, 2])

    def dataset(self, index, count):
        ds = lv.range(self.n)
        for i, stage in enumerate([*self.stages, None]):
            if i == self.place:
                ds = ds.shard(index, count)
            ds = stage(ds) if stage else ds
        if self.end == "batch":
            ds = ds.batch(3)
        if self.end == "buckets":
            ds = ds.bucket_by_sequence_length("value", boundaries=[5, 20], batch_sizes=[3, 4, 2])
        return ds.with_options(seed=self.seed, threads=self.threads)

    def numbers(self, values):
        for value in values:
            yield from [int(value["value"])] if self.end == "records" else value["value"].tolist()


def others_refuse(ranks, state, part):
    """All parts of other worlds, and the other parts of this one."""
    for index, count in [(i, n) for n in range(1, 6) for i in range(n)]:
        if (index, count) != part:
            with pytest.raises(errors.FailedPreconditionError, match="any number of ranks"):
                ranks.dataset(index, count).iterate(epoch=0).restore(state)


def one_world(ranks, rng, world):
    """What all ranks return before and after they were saved, each at a place of its own."""
    for part in [(index, world) for index in range(world)]:
        it = ranks.dataset(*part).iterate(epoch=0)
        yield from ranks.numbers(itertools.islice(it, rng.randint(0, 12)))
        state = it.save()
        others_refuse(ranks, state, part)
        it = ranks.dataset(*part).iterate(epoch=0)
        it.restore(state)
        yield from ranks.numbers(it)


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_ranks_lose_nothing_and_repeat_nothing(world, length):
    for seed in range(20 * length):
        rng = random.Random(f"{seed} {world}")
        ranks = Ranks(rng)
        got = Counter(one_world(ranks, rng, world))
        assert got == Counter(list(range(ranks.n)) * ranks.twice)


def test_workers_of_a_loader_resume_their_own_part():
    ds = lv.range(40).shuffle(9, seed=1)
    shared = Shared(ds, 0, 2)
    it = iter(shared)
    for _ in range(5):
        next(it)
    state = shared.state_dict()
    for rank, count in [(1, 2), (0, 4), (0, 1)]:
        other = Shared(ds, rank, count)
        other.load_state_dict(state)
        with pytest.raises(errors.FailedPreconditionError):
            iter(other)


PLAIN = {
    "text_lines": (b"".join(b"%d\n" % i for i in range(100)), {}),
    "fixed_length": (b"".join(b"%4d" % i for i in range(100)), {"record_bytes": 4}),
    "delimited": (b"".join(b"\x04%4d" % i for i in range(100)), {}),
    "csv": (b"".join(b"%d,x\n" % i for i in range(100)), {}),
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("threads", [(1, 2), (2, 1), (4, 1), (1, 4)])
def test_files_without_a_stage_resume_with_any_number_of_threads(tmp_path, name, threads):
    data, options = PLAIN[name]
    (tmp_path / "data").write_bytes(data)
    ds = getattr(lv, name)(str(tmp_path / "data"), **options)
    for block_rows in (7, 256):
        runs = [ds.with_options(seed=1, threads=n, block_rows=block_rows) for n in threads]
        for cut in (0, 1, 7, 50, 99, 100):
            first, then = iter(runs[0]), iter(runs[1])
            read = [str(next(first)) for _ in range(cut)]
            then.restore(first.save())
            read += [str(row) for row in then]
            assert read == [str(row) for row in ds]
