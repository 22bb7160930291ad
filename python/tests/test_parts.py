# SPDX-License-Identifier: Apache-2.0
"""Indexes, records by number, and parts that fit any number of ranks."""

import json
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import cli_support
import levada as lv
import pytest
from command import needs_command
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from levada.interop import _parts

RECORDS = 1200


def write(path, first, n):
    with lv.TFRecordWriter(str(path)) as writer:
        for i in range(first, first + n):
            writer.write(lv.make_example({"id": [i], "tokens": list(range(i % 37 + 1))}))


@pytest.fixture
def files(tmp_path):
    for k in range(4):
        write(tmp_path / f"{k}.tfrecord", k * 300, 300)
    return str(tmp_path / "*.tfrecord")


SPEC = {"id": lv.FixedLenFeature([], lv.int64), "tokens": lv.VarLenFeature(lv.int64)}


def records(files, **options):
    return lv.tfrecord(files, **options).parse_example(SPEC).with_options(seed=5, threads=1)


# -- indexes


def test_records_have_numbers_with_an_index(files):
    assert lv.index(files) == RECORDS
    assert lv.index(files, check=True) == RECORDS
    assert lv.index(files.replace("tfrecord", "*")) == RECORDS  # an index is none of the data
    ds = records(files, index=True)
    assert len(ds) == RECORDS
    for i in (0, 299, 300, 1199, -1, -1200):
        assert ds[i]["id"] == i % RECORDS
        assert len(ds[i]["tokens"]) == i % RECORDS % 37 + 1
    assert records(files, index=True, shuffle_records=True)[7]["id"] == 7
    assert records(files, index=True, records=[100, 200])[5]["id"] == 105
    assert len(records(files, index=True, part=[1, 7])) in (171, 172)
    doubled = ds.map(lambda r: {"twice": r["id"] * 2})
    assert doubled[600]["twice"] == 1200
    for i in (RECORDS, -RECORDS - 1):
        with pytest.raises(IndexError, match="of 1200"):
            ds[i]
    assert "1 200" in repr(ds)


def test_numbers_need_an_index_and_records(files):
    with pytest.raises(FailedPreconditionError, match="levada index"):
        records(files, index=True)[0]
    assert repr(records(files, index=True))  # tells nothing of the length
    lv.index(files)
    with pytest.raises(FailedPreconditionError, match="index=True"):
        records(files)[0]
    with pytest.raises(FailedPreconditionError, match="shuffle"):
        records(files, index=True).shuffle(10)[0]
    with pytest.raises(TypeError, match="batches"):
        records(files, index=True).batch(2)[0]
    with pytest.raises(TypeError):
        records(files, index=True)["id"]


def test_what_has_no_index(files, tmp_path):
    with lv.TFRecordWriter(str(tmp_path / "a.gz"), compression="gzip") as writer:
        writer.write(b"x" * 100)
    with pytest.raises(UnimplementedError, match="gzip file cannot be indexed"):
        lv.index(tmp_path / "a.gz")
    damaged = tmp_path / "0.tfrecord"
    data = bytearray(damaged.read_bytes())
    data[50] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(DataLossError):
        lv.index(damaged)
    assert not os.path.exists(f"{damaged}.lvindex")
    with pytest.raises(FileNotFoundError):
        lv.index(str(tmp_path / "nothing*"))
    with pytest.raises(ValueError):
        lv.index([])


def test_a_changed_file_is_refused(files, tmp_path):
    lv.index(files)
    write(tmp_path / "2.tfrecord", 5, 300)
    with pytest.raises(FailedPreconditionError, match="changed since it was indexed"):
        lv.index(files, check=True)
    with pytest.raises(FailedPreconditionError, match="changed since it was indexed"):
        list(records(files, index=True, shuffle_records=True))


def test_shuffled_records_differ_by_epoch_and_not_by_threads(files):
    lv.index(files)
    ds = records(files, index=True, shuffle_records=True)
    one, two = ([r["id"] for r in ds.iterate(epoch)] for epoch in (0, 1))
    assert sorted(one) == sorted(two) == list(range(RECORDS))
    assert one != two
    assert one == [r["id"] for r in ds.with_options(threads=4, block_rows=7).iterate(0)]


@pytest.mark.parametrize("kind", ["tfrecord", "text_lines"])
def test_records_of_many_files_and_sizes_are_read_together(tmp_path, kind):
    """More files than stay open; neighbors, gaps, records larger than a chunk, no last newline."""
    drawn = random.Random(kind)
    wanted = []
    for k in range(21):
        rows = [b"%d.%d" % (k, i) + b"x" * drawn.choice([0, 9, 600, 5000]) for i in range(60)]
        rows[drawn.randrange(60)] += b"y" * drawn.choice([200_000, 225_000, 300_000])
        path = tmp_path / f"{k:02}.data"
        if kind == "tfrecord":
            with lv.TFRecordWriter(str(path)) as writer:
                for row in rows:
                    writer.write(row)
        else:
            path.write_bytes(b"\n".join(rows))
        wanted += rows
    lv.index(str(tmp_path / "*.data"), source=kind)
    source = getattr(lv, kind)
    ds = source(str(tmp_path / "*.data"), index=True, shuffle_records=True)
    field = next(iter(ds.spec))
    wanted = wanted if kind == "tfrecord" else [row.decode() for row in wanted]
    for rows in (7, 256, 1000):
        each = ds.with_options(seed=rows, block_rows=rows, threads=1)
        assert sorted(r[field] for r in each.iterate(1)) == sorted(wanted)
    assert ds[1259][field] == wanted[-1]


def test_a_file_that_changes_between_epochs_is_refused(files, tmp_path):
    lv.index(files)
    ds = records(files, index=True, shuffle_records=True).repeat(2).with_options(block_rows=8)
    iterator = ds.iterate(0)
    for _ in range(20):
        next(iterator)
    replaced = tmp_path / "new"
    write(replaced, 5, 299)
    os.replace(replaced, tmp_path / "1.tfrecord")
    with pytest.raises(FailedPreconditionError, match="changed since it was indexed"):
        list(iterator)


# -- parts

PIPES = {
    "plain": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(50),
    "batch": lambda ds: ds.shuffle(20).batch(7).prefetch(2),
    "buckets": lambda ds: ds.shuffle(30).bucket_by_sequence_length(
        "tokens", boundaries=[8, 16, 24], batch_sizes=[5, 4, 3, 2]
    ),
    "budget": lambda ds: ds.bucket_by_sequence_length("tokens", max_tokens=200, lookahead=50),
    "filter": lambda ds: ds.filter("id >= 0").padded_batch(4),
    "take": lambda ds: ds.take(RECORDS).batch(5),
    "zip": lambda ds: lv.zip(ds, lv.range(RECORDS).rename({"value": "n"})),
    "self": lambda ds: lv.zip(ds, ds.select("id").rename({"id": "n"})).batch(3),
    "mix": lambda ds: lv.mix([ds.filter("id < 500"), ds.filter("id >= 500")], seed=3).batch(6),
    "concat": lambda ds: lv.concat(ds.filter("id < 600"), ds.filter("id >= 600")),
}


def numbers(value):
    return [int(i) for i in value] if hasattr(value, "__len__") else [int(value)]


def ids(values):
    """All of `id`; where there is `n`, each has its own."""
    found = []
    for value in values:
        found += numbers(value["id"])
        if "n" in value:
            assert numbers(value["n"]) == numbers(value["id"])
    return found


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("name", PIPES)
def test_parts_have_each_record_once(files, name, indexed):
    if indexed:
        lv.index(files)
    ds = PIPES[name](records(files, index=indexed)).with_options(seed=5, threads=1)
    for count in (1, 3, 7):
        found = [i for part in ds.parts(count) for i in ids(part.iterate(0))]
        assert sorted(found) == list(range(RECORDS))


def test_a_part_opens_its_own_files_alone(files, tmp_path):
    parts = records(files).batch(9).parts(4)
    (tmp_path / "1.tfrecord").write_bytes(b"no records" * 10)
    assert len(ids(parts[2].iterate(0))) == 300
    with pytest.raises(DataLossError):
        ids(parts[1].iterate(0))


def test_a_bad_number_of_parts_is_refused(files):
    for count in (0, -1, 2**40):
        with pytest.raises(ValueError):
            records(files).parts(count)
    with pytest.raises(TypeError):
        records(files).parts("4")


# -- elastic: 8, then 3, 5 and 1 ranks

torch = pytest.importorskip("torch")


def world(ds, ranks, states, parts=16):
    made = []
    for rank in range(ranks):
        each = lv.torch_dataset(ds, rank, ranks, parts=parts, equal=False)
        if states is not None:
            each.load_state_dict(states)
        made.append(each)
    return made


def batch_ids(batch):
    return tuple(int(i) for i in batch["id"])


@pytest.mark.filterwarnings("ignore:torch_dataset")
@pytest.mark.parametrize("name", ["batch", "buckets", "budget", "mix", "self"])
@pytest.mark.parametrize("indexed", [False, True])
def test_elastic_resume_keeps_every_batch(files, name, indexed):
    if indexed:
        lv.index(files)
    ds = PIPES[name](records(files, index=indexed)).with_options(seed=5, threads=1)
    whole = sorted(batch_ids(b) for part in ds.parts(16) for b in part.iterate(0))
    drawn, seen, states = random.Random(name), [], None
    for ranks in (8, 3, 5, 1):
        readers = [iter(each) for each in world(ds, ranks, states)]
        saved = []
        for reader in readers:
            steps = drawn.randrange(12) if ranks > 1 else -1
            while steps != 0 and (batch := next(reader, None)) is not None:
                seen.append(batch_ids(batch))
                steps -= 1
            saved.append(reader.state_dict())
            for _ in range(drawn.randrange(3)):  # what a killed rank had read after the save
                next(reader, None)
            reader.close()
        states = [{"epoch": 3, "loader": [{"worker": each}]} for each in drawn.sample(saved, ranks)]
    assert sorted(seen) == whole  # the same batches, whatever the ranks


@pytest.mark.filterwarnings("ignore:torch_dataset")
def test_states_that_do_not_fit_are_refused(files):
    ds = records(files).batch(10)
    readers = [iter(each) for each in world(ds, 2, None)]
    for reader in readers:
        next(reader)
    states = [reader.state_dict() for reader in readers]
    again = lv.torch_dataset(ds, 0, 1, parts=16)
    again.load_state_dict(states[:1])
    with pytest.raises(FailedPreconditionError, match="no state has part 1 "):
        iter(again)
    other = lv.torch_dataset(ds, 0, 1, parts=8)
    other.load_state_dict(states)
    with pytest.raises(FailedPreconditionError, match="the checkpoint has 16 parts"):
        iter(other)
    twice = lv.torch_dataset(ds, 0, 1, parts=16)
    next(readers[0])
    twice.load_state_dict([*states, readers[0].state_dict()])
    with pytest.raises(FailedPreconditionError, match="different positions of part 0"):
        iter(twice)
    for damaged in (
        {"parts": 16, "epoch": 0, "states": {99: b""}},
        {"parts": 16, "epoch": 0, "states": [1]},
    ):
        with pytest.raises((InvalidArgumentError, FailedPreconditionError)):
            _parts.merged(damaged, 16)


@pytest.mark.filterwarnings("ignore:torch_dataset")
def test_workers_of_a_loader_read_all_parts(files):
    from torch.utils.data import DataLoader

    ds = records(files).batch(10)
    loader = DataLoader(lv.torch_dataset(ds, 0, 1, parts=7), batch_size=None, num_workers=2)
    for _ in range(2):
        assert sorted(i for b in loader for i in batch_ids(b)) == list(range(RECORDS))


@pytest.mark.filterwarnings("ignore:torch_dataset")
@pytest.mark.parametrize("name", ["batch", "buckets", "budget"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_resumes_parts_exactly(files, name, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is missing")
    ds = PIPES[name](records(files)).with_options(seed=5, threads=1)

    def loader():
        shared = lv.torch_dataset(ds, 0, 1, parts=7)
        return stateful.StatefulDataLoader(shared, batch_size=None, num_workers=workers)

    whole = [batch_ids(batch) for batch in loader()]
    for cut in (1, 6, len(whole) // 2, len(whole) - 1):
        reading = loader()
        iterator = iter(reading)
        seen = [batch_ids(next(iterator)) for _ in range(cut)]
        state = pickle.loads(pickle.dumps(reading.state_dict()))
        del iterator, reading
        again = loader()
        again.load_state_dict(state)
        assert seen + [batch_ids(batch) for batch in again] == whole
        # The same state, for another number of workers.
        other = lv.torch_dataset(ds, 0, 1, parts=7)
        other.load_state_dict(state)
        rest = [batch_ids(batch) for batch in other]
        assert sorted(seen + rest) == sorted(whole)


@pytest.mark.filterwarnings("ignore:torch_dataset")
def test_ranks_of_the_same_world_resume_with_their_own_states(files):
    ds = PIPES["buckets"](records(files)).with_options(seed=5, threads=1)
    whole = sorted(batch_ids(b) for part in ds.parts(16) for b in part.iterate(0))
    readers = [iter(each) for each in world(ds, 3, None)]
    seen = [batch_ids(next(reader)) for reader in readers for _ in range(20)]
    states = [reader.state_dict() for reader in readers]
    for rank, own in enumerate(states):
        second = lv.torch_dataset(ds, rank, 3, parts=16, equal=False)
        second.load_state_dict(own if rank < 2 else states)  # the same parts either way
        seen += [batch_ids(batch) for batch in second]
    assert sorted(seen) == whole


KILLED = """
import os, pickle, sys
import levada as lv
files, rank, ranks, old = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
spec = {"id": lv.FixedLenFeature([], lv.int64), "tokens": lv.VarLenFeature(lv.int64)}
ds = lv.tfrecord(files).parse_example(spec).shuffle(40).bucket_by_sequence_length(
    "tokens", boundaries=[8, 16, 24], batch_sizes=[5, 4, 3, 2]).with_options(seed=5, threads=2)
shared = lv.torch_dataset(ds, rank, ranks, parts=16, equal=False)
if old:
    shared.load_state_dict([pickle.load(open(path, "rb")) for path in old])
reader = iter(shared)
print("begun", flush=True)
for batch in reader:
    print(*map(int, batch["id"]), pickle.dumps(reader.state_dict()).hex(), flush=True)
print("end", pickle.dumps(reader.state_dict()).hex(), flush=True)
"""


def read_until_killed(files, rank, ranks, old, steps):
    """Starts a rank, kills it after `steps` batches; (batches, the state after the last)."""
    command = [sys.executable, "-W", "ignore", "-c", KILLED, files, str(rank), str(ranks), *old]
    seen, state = [], None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            words = line.split()
            if not line.endswith("\n") or words[0] == "begun":
                continue
            state = bytes.fromhex(words[-1])
            if words[0] == "end":
                break
            seen.append(tuple(map(int, words[:-1])))
            steps -= 1
            if steps == 0:
                process.kill()
                break
        process.stdout.close()
    return seen, state


@pytest.mark.filterwarnings("ignore:torch_dataset")
def test_killed_ranks_resume_in_another_world(files, tmp_path):
    seen, old = [], []
    for ranks in (8, 3, 5, 1):

        def run(rank, ranks=ranks, old=tuple(old)):
            steps = 3 + 2 * rank if ranks > 1 else -1
            return read_until_killed(files, rank, ranks, old, steps)

        with ThreadPoolExecutor(ranks) as pool:  # all ranks at the same time
            results = list(pool.map(run, range(ranks)))
        old = [str(tmp_path / f"state-{ranks}-{rank}") for rank in range(ranks)]
        for path, (found, state) in zip(old, results, strict=True):
            seen += found
            Path(path).write_bytes(state)
    assert sorted(i for batch in seen for i in batch) == list(range(RECORDS))


# -- the command


@needs_command
def test_the_command_writes_and_checks_indexes(files, tmp_path):
    levada = partial(cli_support.levada, cwd=tmp_path)
    names = [f"{k}.tfrecord" for k in range(4)]
    assert levada("index", *names).stdout == "1,200 records in 4 files indexed\n"
    lines = levada("index", "--json", *names, "0.tfrecord.lvindex").stdout.splitlines()
    assert [json.loads(line)["records"] for line in lines] == [300] * 4
    assert "1,200 records in 4 files unchanged" in levada("index", "--check", *names).stdout
    ran = levada("run", "tfrecord:*.tfrecord*,index=true,records=[290,310]", "--json").stdout
    keys = [key for line in ran.splitlines() for key in json.loads(line)["keys"]]
    assert keys[9:11] == ["0.tfrecord:299", "1.tfrecord:0"]
    write(tmp_path / "2.tfrecord", 5, 299)
    done = levada("index", "--check", *names, status=1)
    assert "2.tfrecord: the file has changed" in done.stderr
    assert "3 files unchanged since they were indexed · 1 failed" in done.stdout
    done = levada("run", "tfrecord:*.tfrecord,index=true,records=[600,610]", status=1)
    assert "levada index" in done.stderr
    assert "nothing" in levada("index", "nothing", status=1).stderr
    levada("index", status=2)


def test_no_change_of_an_index_changes_records(tmp_path):
    """Each bit of an index and its length: what is read is right, or there is an error."""
    path = tmp_path / "a.tfrecord"
    write(path, 0, 350)
    lv.index(path)
    ds = lv.tfrecord(str(path), index=True, shuffle_records=True)
    ds = ds.parse_example(SPEC).select("id").with_options(seed=5, threads=1)
    want = [r["id"] for r in ds.iterate(0)]
    index = Path(f"{path}.lvindex")
    data = index.read_bytes()
    drawn = random.Random(2)
    changed = [bytearray(data) for _ in range(150)]
    for each in changed[:100]:
        each[drawn.randrange(len(each))] ^= 1 << drawn.randrange(8)
    for each in changed[100:]:
        del each[drawn.randrange(len(each)) :]
    for each in [*changed, data + data, data[4096:], data[:4096] * 2 + data[-4096:], b""]:
        index.write_bytes(each)
        try:
            found = [r["id"] for r in ds.iterate(0)]
        except (DataLossError, FailedPreconditionError):
            continue
        assert found == want


def test_a_check_reads_every_page_of_an_index(files):
    lv.index(files)
    path = Path(files.replace("*", "0") + ".lvindex")
    data = path.read_bytes()
    for at in range(0, len(data), len(data) // 16):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises((DataLossError, FailedPreconditionError)):
            lv.index(files, check=True)
    path.write_bytes(data)
    assert lv.index(files, check=True) == RECORDS
