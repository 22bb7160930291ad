# SPDX-License-Identifier: Apache-2.0
"""Fixed parts with `equal=`: any number of ranks, each with the same number of steps."""

import pickle
import random
import subprocess
import sys

import levada as lv
import pytest
from levada.errors import FailedPreconditionError, InvalidArgumentError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:parts:UserWarning")

BATCHES = {
    "batch": lambda ds, r: ds.batch(r.choice([1, 3, 7]), drop_remainder=r.random() < 0.3),
    "padded": lambda ds, r: ds.padded_batch(r.choice([2, 5])).prefetch(2),
    "shuffled": lambda ds, r: ds.shuffle(r.choice([5, 50]), seed=3).batch(4),
    "repeated": lambda ds, r: ds.repeat(2).enumerate().batch(3),
    "taken": lambda ds, r: ds.take(20).batch(3),
    "records": lambda ds, r: ds.shuffle(9, seed=1),
    "mapped": lambda ds, r: ds.map(lambda row: {"value": row["value"]}).batch(3),
    "joined": lambda ds, r: lv.concat(ds, ds).batch(3),
}


def made(name, rng):
    source = lv.range(rng.choice([0, 1, 3, 17, 60]))
    ds = BATCHES[name](source, rng)
    return ds.with_options(
        seed=5, threads=rng.choice([0, 1, 3]), block_rows=rng.choice([1, 4, 256])
    )


def items(value):
    """What a value has, and whether it is a copy."""
    found = value["value"].tolist()
    copy = value.get("is_padding") if isinstance(value, dict) else None
    numbers = value["enumerate"].tolist() if "enumerate" in value else None
    return repr((found, numbers)), bool(torch.as_tensor(copy).any()) if copy is not None else False


def model(ds, parts, epoch):
    """All batches of all parts."""
    return sorted(items(value)[0] for part in ds.parts(parts) for value in tensors(part, epoch))


def tensors(part, epoch):
    for value in part.iterate(epoch):
        yield value.torch() if hasattr(value, "torch") else value


def ranks(ds, world, states, **options):
    datasets = [lv.torch_dataset(ds, rank, world, **options) for rank in range(world)]
    for each in datasets:
        if states is not None:
            each.load_state_dict(states)
    return datasets


def steps_of(running, most):
    """Values of all ranks in step; whether they ended, all at the same step."""
    found = []
    for _ in range(most):
        step = [next(each, None) for each in running]
        assert len({value is None for value in step}) == 1, "a rank would wait for the others"
        if step[0] is None:
            return found, True
        found += map(items, step)
    return found, False


@pytest.mark.parametrize("equal", ["drop", "pad"])
@pytest.mark.parametrize("name", BATCHES)
def test_any_ranks_read_each_batch_once_in_step(name, equal):
    for trial in range(6):
        rng = random.Random(f"{name} {equal} {trial}")
        ds, parts = made(name, rng), rng.choice([1, 2, 5, 8])
        options = {"parts": parts, "equal": equal}
        seen, states, over, worlds = [], None, False, []
        while not over:
            worlds.append(world := rng.choice([1, 2, 3, 4]))
            running = [iter(each) for each in ranks(ds, world, states, **options)]
            found, over = steps_of(running, rng.choice([0, 1, 2, 5]) if len(worlds) < 4 else 10**6)
            seen += found
            states = [pickle.loads(pickle.dumps(each.state_dict())) for each in running]
            rng.shuffle(states)
        whole, own = model(ds, parts, 0), [text for text, copy in seen if not copy]
        copies = len(seen) - len(own)
        if equal == "pad":
            assert (sorted(own), copies < max(worlds)) == (whole, True)
        else:
            left = list(whole)
            for text in own:
                left.remove(text)  # each batch once
            assert (len(left) < max(worlds), copies) == (True, 0)


@pytest.mark.parametrize("equal", ["drop", "pad"])
def test_each_rank_resumes_at_each_cut_with_its_own_state_or_all(equal):
    ds = lv.range(50).shuffle(20, seed=2).batch(3).with_options(seed=1, threads=1, block_rows=4)
    for world in (2, 3):

        def runs(states=None, world=world):
            return [iter(each) for each in ranks(ds, world, states, parts=5, equal=equal)]

        whole = [[items(value) for value in each] for each in runs()]
        for cut in range(len(whole[0]) + 1):
            running = runs()
            before = [[items(next(each)) for _ in range(cut)] for each in running]
            states = [each.state_dict() for each in running]
            for given in (states, [[state] for state in states]):
                for rank in range(world):
                    state = given if given is states else given[rank]
                    again = lv.torch_dataset(ds, rank, world, parts=5, equal=equal)
                    again.load_state_dict(state)
                    rest = [items(value) for value in again]
                    assert before[rank] + rest == whole[rank], (world, cut, rank)


def test_epochs_differ_and_have_equal_steps():
    ds = lv.range(64).shuffle(64, seed=3).batch(5).with_options(seed=4)
    data = ranks(ds, 3, None, parts=7, equal="drop")
    epochs = []
    for epoch in range(3):
        running = [iter(each) for each in data]
        found, over = steps_of(running, 100)
        dropped = sum(each.stats()["dropped_batches"] for each in running)
        assert over and len(found) + dropped == len(model(ds, 7, epoch))
        epochs.append([text for text, _ in found])
    assert epochs[0] != epochs[1] != epochs[2]


def test_the_number_of_ranks_changes_between_epochs():
    ds = lv.range(100).batch(4).with_options(seed=4)
    states = None
    for epoch, world in enumerate((2, 1, 3)):
        data = ranks(ds, world, states, parts=8, equal="pad")
        found, over = steps_of([iter(each) for each in data], 100)
        assert over and sorted(text for text, copy in found if not copy) == model(ds, 8, epoch)
        states = [each.state_dict() for each in data]  # the beginning of the next epoch
        assert {state["epoch"] for state in states} == {epoch + 1}


@pytest.mark.parametrize("equal", ["drop", "pad"])
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_of_ranks_have_equal_steps(equal, workers):
    from torch.utils.data import DataLoader

    ds = lv.range(100).batch(4)
    found = [
        [items(value) for value in DataLoader(each, batch_size=None, num_workers=workers)]
        for each in ranks(ds, 3, None, parts=4, equal=equal)
    ]
    assert len({len(each) for each in found}) == 1
    own = sorted(text for each in found for text, copy in each if not copy)
    whole = model(ds, 4, 0)
    assert own == whole if equal == "pad" else len(whole) - len(own) < 3 and set(own) < set(whole)


def test_a_stateful_loader_resumes_with_other_ranks_and_workers():
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is missing")
    ds, seen = lv.range(120).batch(4).with_options(seed=1), []

    def loaders(world, workers, states=None):
        data = ranks(ds, world, states, parts=5, equal="drop")
        return [stateful.StatefulDataLoader(each, None, num_workers=workers) for each in data]

    two = loaders(2, 2)
    running = [iter(each) for each in two]
    for _ in range(5):
        seen += [items(next(each))[0] for each in running]
    states = [each.state_dict() for each in two]
    same = loaders(2, 2)
    for each, state in zip(same, states, strict=True):
        each.load_state_dict(state)
    rest = [[items(value) for value in each] for each in running]
    assert [[items(value) for value in each] for each in same] == rest
    found, over = steps_of([iter(each) for each in loaders(3, 0, states)], 100)
    seen += [text for text, _ in found]
    assert over and len(set(seen)) == len(seen) > len(model(ds, 5, 0)) - 3


def test_positions_of_batches_and_of_dcp_fit_other_ranks():
    import levada.dcp
    from levada.interop._positions import Collected

    ds = lv.range(90).batch(4)
    data = ranks(ds, 2, None, parts=6, equal="drop", position=True)
    running, collected, seen = [iter(each) for each in data], [Collected(each) for each in data], []
    assert len(levada.dcp.DataState(data[0]).state_dict()) == 2 + 6  # all keys before a load
    dcp = [levada.dcp.DataState(each) for each in data]
    for step in range(4):
        batches = [next(each) for each in running]
        if step < 3:  # the loop fetches one batch ahead
            seen += [items(batch)[0] for batch in batches]
            for each, state, batch in zip(collected, dcp, batches, strict=True):
                each.note(batch)
                state.note(batch)
    keys = [each.state_dict() for each in dcp]
    assert not keys[0].keys() & keys[1].keys() - {"epoch", "parts"}
    for states in ([each.states() for each in collected], {**keys[0], **keys[1]}):
        again = ranks(ds, 3, None, parts=6, equal="drop")
        for each in again:
            if isinstance(states, dict):
                levada.dcp.DataState(each).load_state_dict(states)
            else:
                each.load_state_dict(states)
        found, over = steps_of([iter(each) for each in again], 100)
        both = seen + [text for text, _ in found]
        assert over and len(set(both)) == len(both) > len(model(ds, 6, 0)) - 3


UNKNOWN = {
    "filter": lambda ds: ds.filter("value > 3").batch(2),
    "unbatch": lambda ds: ds.batch(4).unbatch(),
    "bucket_by_sequence_length": lambda ds: ds.map(lambda r: {"x": [1] * (r["value"] % 5)})
    .bucket_by_sequence_length("x", boundaries=[2], batch_sizes=[2, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_parts_of_unknown_length_are_refused_by_name(name):
    with pytest.raises(FailedPreconditionError, match=f"{name} makes numbers .*; or leave parts="):
        lv.torch_dataset(UNKNOWN[name](lv.range(20)), 0, 2, parts=4, equal="drop")


def test_files_without_an_index_and_skips_are_refused(tmp_path):
    with lv.TFRecordWriter(str(tmp_path / "a.tfrecord")) as out:
        for i in range(20):
            out.write(bytes([i]))
    path = str(tmp_path / "a.tfrecord")
    with pytest.raises(FailedPreconditionError, match="pass index=True to tfrecord"):
        lv.torch_dataset(lv.tfrecord(path).batch(2), 0, 2, parts=4, equal="pad")
    lv.index(path)
    ds = lv.tfrecord(path, index=True).batch(2)
    assert len(list(lv.torch_dataset(ds, 0, 2, parts=4, equal="pad"))) == 6
    for skips in (ds.with_options(errors="skip"),
                  lv.tfrecord(path, index=True, errors="skip").batch(2)):  # fmt: skip
        with pytest.raises(FailedPreconditionError, match="errors= other than"):
            lv.torch_dataset(skips, 0, 2, parts=4, equal="drop")


def test_a_part_that_has_other_batches_than_it_promised_is_an_error(tmp_path, monkeypatch):
    ds = lv.range(20).batch(2)
    for change, text in ((1, "ends before its batch 4"), (-1, "goes on after its batch 2")):
        data = lv.torch_dataset(ds, 0, 1, parts=4, equal="drop")
        data._counts = [n + change for n in data._counts]
        with pytest.raises(FailedPreconditionError, match=text):
            list(data)


def test_states_that_do_not_fit_are_refused():
    ds = lv.range(60).batch(3)
    options = {"parts": 4, "equal": "drop"}
    running = [iter(each) for each in ranks(ds, 2, None, **options)]
    early = [each.state_dict() for each in running]
    for each in running:
        next(each)
    states = [each.state_dict() for each in running]
    corrupt = {**states[0], "pieces": [[9, 0, 1, 0]]}
    for given, world, changed, kind, text in (
        (states[:1], 3, {}, FailedPreconditionError, "no state has worker 1 of 2"),
        ([states[0], early[0], states[1]], 3, {}, FailedPreconditionError, "of worker 0"),
        (states, 2, {"equal": "pad"}, FailedPreconditionError, "equal='drop', but this dataset"),
        (states, 2, {"parts": 5}, FailedPreconditionError, "parts=4, equal='drop', but this"),
        (states, 2, {"equal": False}, FailedPreconditionError, "saved with equal='drop'"),
        ([corrupt], 2, {}, InvalidArgumentError, "corrupt"),
        ([{**states[0], "epoch": 1}, states[1]], 3, {}, FailedPreconditionError, "moments"),
    ):
        data = lv.torch_dataset(ds, 0, world, **{**options, **changed})
        data.load_state_dict(given)
        with pytest.raises(kind, match=text):
            iter(data)
    unequal = iter(lv.torch_dataset(ds, 0, 2, parts=4, equal=False))
    data = lv.torch_dataset(ds, 0, 2, **options)
    data.load_state_dict(unequal.state_dict())
    with pytest.raises(FailedPreconditionError, match="saved without equal="):
        iter(data)


@pytest.mark.parametrize("equal", ["drop", "pad"])
def test_edited_states_are_refused(equal):
    ds = lv.range(60).batch(3)
    options = {"parts": 5, "equal": equal}
    running = [iter(lv.torch_dataset(ds, rank, 2, **options)) for rank in range(2)]
    states = [each.state_dict() for each in running for _ in [next(each)]]
    one = states[0]
    edits = [{"pieces": one["pieces"][:-1]}, {"pieces": one["pieces"][1:]}, {"pieces": []}]
    edits += [{"steps": one["steps"] + more} for more in (-2, 2, 1 << 63)]
    edits += [{"pieces": [*one["pieces"], [4, 0, 2, 0]], "states": dict.fromkeys(range(9), False)}]
    edits += [{"pieces": [[*each[:2], each[2] - 2, each[3]] for each in one["pieces"]]}]
    other = states[1]["pieces"][-1][0]  # a part of the other rank
    edits += [{"pieces": [[other, *each[1:]] for each in one["pieces"]]}]
    edits += [{"steps": one["steps"] + (-1 if equal == "drop" else 1)}, {"states": []}]
    edits += [{"worker": (0, (1 << 63) + 1)}, {"world": 1 << 40}]
    for edit in edits:
        data = lv.torch_dataset(ds, 0, 2, **options)
        data.load_state_dict([{**one, **edit}, states[1]])
        with pytest.raises((InvalidArgumentError, FailedPreconditionError)):
            iter(data)


@pytest.mark.parametrize("options", ["", "parts=3", "parts=3, equal='drop'"])
def test_a_program_may_end_in_the_middle_of_an_epoch(options):
    program = (
        "import levada as lv\n"
        f"running = iter(lv.torch_dataset(lv.range(20).batch(3), 0, 1, {options}))\n"
        "next(running)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
