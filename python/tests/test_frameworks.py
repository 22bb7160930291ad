# SPDX-License-Identifier: Apache-2.0
"""Training frameworks: a job of 20 steps that crashes after 12 continues at step 10, exactly."""

import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
from collections import Counter

import levada as lv
import pytest

pytest.importorskip("torch")
from levada.interop.torch import Position

PROGRAM = pathlib.Path(__file__).with_name("frameworks.py")
STEPS, SAVED = 20, 10


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ranks_of(rank, world):
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}


def start(folder, name, run, world, crashes=False, **more):
    """Runs a job; the numbers of the records of each step, by rank."""
    if importlib.util.find_spec(name.partition("_")[0]) is None and not name.startswith("dcp"):
        pytest.skip(f"{name} is not installed")
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", **more}
    if world > 1:
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    words = [sys.executable, str(PROGRAM), name, str(folder), run]
    ranks = [
        subprocess.Popen(
            words,
            env=env if world == 1 else env | ranks_of(rank, world),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for rank in range(world)
    ]
    try:
        said = [process.communicate(timeout=180)[0].decode() for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    codes = [process.returncode for process in ranks]
    assert codes == [1 if crashes else 0] * world, said
    if crashes:
        return None
    return [json.loads((folder / f"{run}-{rank}.json").read_text()) for rank in range(world)]


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("name", ["dcp", "accelerate", "lightning", "transformers"])
def test_a_job_resumes_exactly(tmp_path, name, world):
    if name == "dcp" and world == 1:
        pytest.skip("one process needs no distributed checkpoint")
    full = start(tmp_path, name, "full", world)
    start(tmp_path, name, "crash", world, crashes=True)
    rest = start(tmp_path, name, "resume", world)
    assert [len(steps) for steps in full] == [STEPS] * world
    assert rest == [steps[SAVED:] for steps in full]
    records = [record for steps in full for step in steps for record in step]
    assert len(records) == len(set(records))


def test_lightning_with_workers_resumes_exactly(tmp_path):
    full = start(tmp_path, "lightning", "full", 1, WORKERS="2")
    start(tmp_path, "lightning", "crash", 1, crashes=True, WORKERS="2")
    rest = start(tmp_path, "lightning", "resume", 1, WORKERS="2")
    done = Counter(tuple(step) for step in full[0][:SAVED])
    left = Counter(tuple(step) for step in full[0][SAVED:])
    again = Counter(tuple(step) for step in rest[0])
    assert not done & again  # two workers may take turns in another order
    assert sum((again - left).values()) <= 2


def test_dcp_resumes_with_other_numbers_of_ranks(tmp_path):
    """2 ranks crash, 1 continues: each record once."""
    start(tmp_path, "dcp", "full", 2)
    start(tmp_path, "dcp", "crash", 2, crashes=True)
    before = [
        record
        for rank in range(2)
        for step in json.loads((tmp_path / f"full-{rank}.json").read_text())[:SAVED]
        for record in step
    ]
    for world in (1, 3):
        rest = start(tmp_path, "dcp_elastic", "resume", world)
        after = [record for steps in rest for step in steps for record in step]
        assert sorted(before + after) == list(range(4000))


def test_a_rank_without_parts_offers_none():
    """It offered all parts as not begun, which replaced the positions of other ranks."""
    import levada.dcp

    def state(rank):
        data = lv.torch_dataset(lv.range(9), rank, 4, parts=2, equal=False)
        return levada.dcp.DataState(data).state_dict()

    assert set(state(0)) == {"epoch", "parts", "part_00000", "part_00001"}  # before a load
    for rank in (2, 3):
        assert state(rank) == {"epoch": 0, "parts": 2}


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
