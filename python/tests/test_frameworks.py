# SPDX-License-Identifier: Apache-2.0
"""Training frameworks: the programs of docs/distributed.md are killed at step 12 of 20, and
continue after step 10, exactly, also on another number of ranks."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import levada as lv
import pages
import pytest

pytest.importorskip("torch")
from levada.interop.torch import Position

FENCES = list(pages.fences((pages.ROOT / "docs" / "distributed.md").read_text()))
PROGRAMS = {fence.words[2]: fence.code for fence in FENCES if fence.words[1:2] == ["file"]}
STEPS, SAVED, CRASHED = 20, 10, 12
RECORDS, BATCHES, PARTS = 1200, 176, 16  # of an epoch; each part ends with a short batch
LINE = re.compile(r"step (\d+) records (\[[\d, ]*\])")


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with the files that the first snippet of the page writes."""
    folder, before = tmp_path_factory.mktemp("files"), os.getcwd()
    os.chdir(folder)
    try:
        exec(next(fence.code for fence in FENCES if fence.words == ["python"]), {})
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def folder(files, tmp_path):
    """An empty folder but for the data and job.py."""
    for path in files.glob("train-*.jsonl"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "job.py").write_text(PROGRAMS["job.py"])
    return tmp_path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ranks_of(rank, world):
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}


def program(name, *changes):
    """The text of a program of the page with changes (text, other text)."""
    code = PROGRAMS[name]
    for old, new in changes:
        assert code.count(old) == 1
        code = code.replace(old, new)
    return code


def start(code, folder, world, words):
    """The processes of a job, as torchrun starts them; `world` 0: one without torchrun."""
    (folder / "program.py").write_text(code)
    env = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            [sys.executable, "program.py", *map(str, words)], cwd=folder,
            env=env | (ranks_of(rank, world) if world else {}), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for rank in range(world or 1)
    ]  # fmt: skip


def killed_at(ranks, step):
    """What rank 0 printed until then; all ranks are killed."""
    lines = []
    for line in ranks[0].stdout:
        lines.append(line)
        if f"step {step} " in line:
            break
    for each in ranks:
        os.killpg(each.pid, signal.SIGKILL)
    return "".join(lines)


def job(code, folder, world, *words, crash=False):
    """Runs a job; {step: records} of each rank. `crash`: it is killed at step 12."""
    ranks = start(code, folder, world, words)
    try:
        first = killed_at(ranks, CRASHED) if crash else ""
        said = [each.communicate(timeout=180)[0] for each in ranks]
    finally:
        for each in ranks:
            each.kill()
    said[0] = first + said[0]
    want = [-signal.SIGKILL if crash else 0] * len(ranks)
    assert [each.returncode for each in ranks] == want, "".join(said)
    return [{int(step): json.loads(ids) for step, ids in LINE.findall(text)} for text in said]


def unbroken(folder, world, monkeypatch):
    """{step: records} of each rank in one epoch, without a framework."""
    monkeypatch.chdir(folder)
    names = {}
    exec(PROGRAMS["job.py"], names)
    return [
        dict(enumerate((batch["id"].tolist() for batch in lv.torch_dataset(
            names["dataset"](), rank, world, parts=PARTS, equal=False)), 1))
        for rank in range(world)
    ]  # fmt: skip


def until(ranks, last, first=1):
    return [{step: ids for step, ids in each.items() if first <= step <= last} for each in ranks]


def ids_of(ranks):
    return [record for each in ranks for ids in each.values() for record in ids]


def check_crash(code, folder, world, whole, *words):
    """A job that is killed at step 12 continues after step 10, with the same batches."""
    crashed = job(code, folder, world, STEPS, *words, crash=True)
    for each, want in zip(crashed, whole, strict=True):
        assert len(each) >= SAVED and each.items() <= want.items()
    rest = job(code, folder, world, STEPS, *words)
    assert rest == until(whole, STEPS, first=SAVED + 1)


ELASTIC = [
    ("train_dcp.py", "torch"),
    ("train_fsdp.py", "torch"),
    ("train_lightning.py", "lightning"),
    ("train_accelerate.py", "accelerate"),
    ("train_trainer.py", "transformers"),
]


@pytest.mark.parametrize(("name", "library"), ELASTIC)
def test_a_job_resumes_exactly_and_on_another_number_of_ranks(folder, monkeypatch, name, library):
    """Two ranks crash and continue; then one rank reads the rest of the epoch, each record once."""
    pytest.importorskip(library, reason=f"needs {library} (ci/requirements-*.txt)")
    code, whole = program(name), unbroken(folder, 2, monkeypatch)
    assert sorted(ids_of(whole)) == list(range(RECORDS))
    check_crash(code, folder, 2, whole)
    rest = job(code, folder, 1, BATCHES - STEPS)  # the newest checkpoint is that of step 20
    assert sorted(ids_of(until(whole, STEPS)) + ids_of(rest)) == list(range(RECORDS))


def test_a_checkpoint_of_two_ranks_loads_into_three(folder, monkeypatch):
    import levada.dcp
    import torch.distributed.checkpoint as dcp

    whole = unbroken(folder, 2, monkeypatch)
    job(program("train_dcp.py"), folder, 2, SAVED)
    names = {}
    exec(PROGRAMS["job.py"], names)
    rest = []
    for rank in range(3):
        data = lv.torch_dataset(names["dataset"](), rank, 3, parts=PARTS, equal=False)
        dcp.load({"data": levada.dcp.DataState(data)}, checkpoint_id="dcp/10", no_dist=True)
        rest.append(dict(enumerate(batch["id"].tolist() for batch in data)))
    assert sorted(ids_of(until(whole, SAVED)) + ids_of(rest)) == list(range(RECORDS))


LOADER = "DataLoader(data, batch_size=None)"


def test_lightning_with_workers_resumes_exactly(folder, monkeypatch):
    pytest.importorskip("lightning", reason="needs lightning (ci/requirements-doors.txt)")
    code = program("train_lightning.py", (LOADER, LOADER[:-1] + ", num_workers=2)"))
    (whole,) = job(code, folder, 1, STEPS)
    (folder / "lightning" / "last.ckpt").unlink()
    check_crash(code, folder, 1, [whole])


def test_a_loader_that_accelerate_prepared_resumes_exactly_or_is_refused(folder, monkeypatch):
    """One process may prepare it, unless torchrun started it, since accelerate then broadcasts
    batches. With two processes it is refused: test_torch_training.py."""
    pytest.importorskip("accelerate", reason="needs accelerate (ci/requirements-torch.txt)")
    prepared = f"for batch in accelerator.prepare(torch.utils.data.{LOADER}):"
    code = program("train_accelerate.py", ("for batch in data:", prepared))
    check_crash(code, folder, 0, unbroken(folder, 1, monkeypatch))
    (refused,) = start(code, folder, 1, [STEPS])
    said = refused.communicate(timeout=180)[0]
    assert refused.returncode == 1 and "do not pass the loader to accelerator.prepare()" in said


@pytest.mark.parametrize(("world", "workers"), [(2, 0), (2, 2), (1, 4)])
def test_stateful_data_loader_resumes_exactly_with_other_workers(folder, world, workers):
    pytest.importorskip("torchdata", reason="needs torchdata (ci/requirements-torch.txt)")
    code = program("train_stateful.py")
    whole = job(code, folder, world, STEPS, workers)
    (folder / "stateful").rename(folder / "whole")
    check_crash(code, folder, world, whole, workers)
    rest = job(code, folder, 1, BATCHES, 3 - workers // 2)
    assert sorted(ids_of(whole) + ids_of(rest)) == list(range(RECORDS))


def test_two_processes_of_jax_resume_exactly(folder, monkeypatch):
    pytest.importorskip("jax", reason="needs jax (ci/requirements-doors.txt)")
    code = program("train_jax.py")
    whole = job(code, folder, 2, 1000)
    assert sorted(ids_of(whole)) == list(range(RECORDS))
    (folder / "jax").rename(folder / "whole")
    check_crash(code, folder, 2, until(whole, STEPS))


def test_a_rank_without_parts_offers_none():
    """It offered all parts as not begun, which replaced the positions of other ranks."""
    import levada.dcp

    def state(rank):
        data = lv.torch_dataset(lv.range(9), rank, 4, parts=2, equal=False)
        return levada.dcp.DataState(data).state_dict()

    assert set(state(0)) == {"epoch", "parts", "part_00000", "part_00001"}  # before a load
    for rank in (2, 3):
        assert state(rank) == {"epoch": 0, "parts": 2}


def test_torch_loads_states_of_parts_as_weights(tmp_path):
    """Empty bytes, for parts that were not begun, were a global that torch.load refuses."""
    import torch

    data = lv.torch_dataset(lv.range(60).batch(4), parts=5)
    values = iter(data)
    next(values)
    torch.save(data.state_dict(), tmp_path / "state.pt")
    again = lv.torch_dataset(lv.range(60).batch(4), parts=5)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    rest = [batch["value"].tolist() for batch in values]
    assert [batch["value"].tolist() for batch in again] == rest


def test_a_position_belongs_to_a_batch():
    import pickle

    ds = lv.range(60).shuffle(20, seed=3).batch(4)
    whole = [batch["value"].tolist() for batch in ds.iterate(0)]
    batches = list(ds.iterate(0, position=True))
    for i, batch in enumerate(batches):
        it = ds.iterate(0)
        it.restore(batch.position)
        assert [each["value"].tolist() for each in it] == whole[i + 1 :]
    assert next(iter(ds.iterate(0))).position is None
    with pytest.raises(lv.errors.InvalidArgumentError, match="records: add batch"):
        lv.range(3).iterate(position=True)
    for options in ({}, {"parts": 3}, {"transform": lambda b: b["value"].copy()}):
        data = lv.torch_dataset(ds, position=True, **options)
        first = list(data)
        for i, batch in enumerate(first):
            other = lv.torch_dataset(ds, **options)
            other.load_state_dict(pickle.loads(pickle.dumps(data.state_dict(batch))))
            rest = [
                one["value"].tolist() if isinstance(one, dict) else one.tolist() for one in other
            ]
            want = [one["value"] if isinstance(one, dict) else one[0] for one in first[i + 1 :]]
            assert rest == [one.tolist() for one in want]


def test_a_position_passes_what_moves_batches():
    position = Position({"epoch": 0})
    assert position.to("cpu", non_blocking=True) is position
    assert position.pin_memory() is position


def test_the_state_before_and_after_iterations():
    ds = lv.range(20).shuffle(20, seed=1).batch(4)
    data = lv.torch_dataset(ds)

    def values(data):
        return [batch["value"].tolist() for batch in data]

    first = data.state_dict()
    epochs = [values(data), values(data)]
    after = data.state_dict()
    for state, want in ((first, epochs[0]), (after, None)):
        other = lv.torch_dataset(ds)
        other.load_state_dict(state)
        got = values(other)
        assert got == (want or [b["value"].tolist() for b in ds.iterate(2)])
        assert values(other) == [b["value"].tolist() for b in ds.iterate(1 if want else 3)]
    batch = None
    for each in data:
        batch = each
        break
    assert batch["value"].tolist() == next(iter(ds.iterate(2)))["value"].tolist()
    other = lv.torch_dataset(ds)
    other.load_state_dict(data.state_dict())
    assert values(other) == [b["value"].tolist() for b in ds.iterate(2)][1:]


@pytest.mark.parametrize("parts", [None, 4])
def test_states_before_the_first_batch_load_into_any_iteration(parts):
    ds = lv.range(64).batch(4)
    state = lv.torch_dataset(ds, parts=parts).state_dict()
    data = lv.torch_dataset(ds, parts=parts)
    whole = [b["value"].tolist() for b in data]
    data.load_state_dict(state)
    assert [b["value"].tolist() for b in data] == whole


def test_workers_have_the_position():
    from torch.utils.data import DataLoader

    data = lv.torch_dataset(lv.range(64).batch(4))
    for _ in DataLoader(data, batch_size=None, num_workers=2):
        with pytest.raises(lv.errors.FailedPreconditionError, match="position=True"):
            data.state_dict()
    list(data)
    data.state_dict()


def test_a_mesh_gives_the_rank():
    class Mesh:
        mesh_dim_names = ("dp_replicate", "dp_shard", "tp")
        ndim = 3

        def size(self, dim=None):
            return (2, 3, 4)[dim]

        def get_local_rank(self, name):
            return {"dp_replicate": 1, "dp_shard": 2, "tp": 3}[name]

    data = lv.torch_dataset(lv.range(60).batch(2), mesh=Mesh(), equal=False)
    assert data.ranks() == (5, 6)
    Mesh.mesh_dim_names = ("a", "b", "c")
    with pytest.raises(ValueError, match="no data-parallel dimension"):
        lv.torch_dataset(lv.range(60).batch(2), mesh=Mesh())
