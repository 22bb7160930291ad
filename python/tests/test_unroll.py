# SPDX-License-Identifier: Apache-2.0
"""Segments of long sequences in Python, and the examples that train on them."""

import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from levada.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

ROOT = Path(__file__).resolve().parents[2]
lengths = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def records(sizes, **more):
    """Sequences of these lengths; all values differ, none is 0."""
    ends = np.cumsum(sizes)
    x = [np.arange(end - n, end, dtype=np.int64) + 1 for n, end in zip(sizes, ends, strict=True)]
    return lv.from_arrays({"x": x, "id": np.arange(len(sizes)) + 1, **more})


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(dataset):
    """(key, segment, values, is_first, is_last) of the rows that have a sequence, slot by slot."""
    slots = {}
    for batch in dataset:
        assert (batch["slot"] == np.arange(batch.num_records)).all()
        for i in np.flatnonzero(~batch["is_empty"]):
            n = batch["length"][i]
            assert batch.lengths("x")[i] == n and not batch["x"][i, n:].any()
            row = (int(batch["key"][i]), int(batch["segment"][i]), batch["x"][i, :n].tolist())
            marks = (bool(batch["is_first"][i]), bool(batch["is_last"][i]))
            slots.setdefault(int(i), []).append(row + marks)
    return slots


@given(lengths, st.integers(1, 9), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_each_sequence_keeps_its_row_and_nothing_is_lost(sizes, unroll, slots):
    found = {}
    ds = records(sizes).unroll(unroll, batch_size=slots, key="id", zero_length="segment")
    for row in rows(ds).values():
        open_key = None
        for key, segment, values, is_first, is_last in row:
            assert is_first == (open_key is None) and is_first == (segment == 0)
            assert open_key in (None, key)
            assert segment == len(found.setdefault(key, []))
            found[key].append(values)
            open_key = None if is_last else key
        assert open_key is None
    ends = np.cumsum(sizes)
    for i, (n, end) in enumerate(zip(sizes, ends, strict=True), 1):
        assert [x for part in found[i] for x in part] == list(range(end - n + 1, end + 1))
        assert all(len(part) == unroll for part in found[i][:-1])


@given(lengths, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_batches_are_full_until_the_data_ends(sizes, slots):
    ds = records(sizes).unroll(4, batch_size=slots, zero_length="skip")
    full = [not batch["is_empty"].any() for batch in ds]
    assert full == sorted(full, reverse=True)


@given(lengths, st.integers(0, 12), st.sampled_from([1, 4]), st.sampled_from([1, 4]))
@settings(max_examples=40, deadline=None)
def test_a_state_continues_in_the_middle_of_sequences(sizes, cut, before, after):
    ds = records(sizes).unroll(3, batch_size=2, key="id", burn_in=1, zero_length="segment")

    def contents(it):
        return [{name: batch[name].tolist() for name in batch} for batch in it]

    with iter(ds.with_options(threads=before)) as it:
        for _ in range(cut):
            next(it, None)
        state = it.save()
        rest = contents(it)
    with iter(ds.with_options(threads=after)) as it:
        it.restore(state)
        assert contents(it) == rest


def test_parts_of_the_input_own_their_slots():
    """Each shard has slots and a state of its own: together they have each segment once."""
    ds, found, states = records([5, 9, 2, 7, 3, 11, 4, 6]), [], []
    parts = [ds.shard(i, 4).unroll(2, batch_size=2, key="id") for i in range(4)]
    for part in parts:
        with part.iterate(epoch=0) as it:
            for _, batch in zip(range(2), it, strict=False):
                found += batch["x"][batch["x"] > 0].tolist()
            states.append(it.save())
    for part, state in zip(reversed(parts), reversed(states), strict=True):
        with part.iterate(epoch=0) as it:
            it.restore(state)
            for batch in it:
                found += batch["x"][batch["x"] > 0].tolist()
    assert sorted(found) == list(range(1, 48))
    with parts[0].iterate(epoch=0) as it, pytest.raises(FailedPreconditionError):
        it.restore(states[1])


def test_a_part_has_all_segments_of_its_sequences():
    """Sequences are divided, not batches: else a model would miss the segments of the others."""
    ds, found = records([5, 9, 2, 7, 3, 11, 4, 6]).unroll(2, batch_size=2, key="id"), []
    for part in ds.parts(3):
        with part.iterate(epoch=0) as it:
            for row in rows(it).values():
                last = [mark for *_, mark in row]
                numbers = [segment for _, segment, *_ in row]
                ends = [0, *(i + 1 for i, end in enumerate(last) if end)]
                for a, b in itertools.pairwise(ends):
                    assert numbers[a:b] == list(range(b - a))
                    assert len({key for key, *_ in row[a:b]}) == 1
                    found.append(b - a)
                assert ends[-1] == len(row)
    assert sorted(found) == sorted(-(-n // 2) for n in (5, 9, 2, 7, 3, 11, 4, 6))


def test_a_state_is_small_and_refused_when_damaged():
    ds = records([5000] * 300).unroll(64, batch_size=256)
    with iter(ds) as it:
        next(it)
        state = bytearray(it.save())
    assert len(state) < 16_384
    state[len(state) // 2] ^= 1
    with iter(ds) as it, pytest.raises(DataLossError):
        it.restore(bytes(state))


def test_targets_are_the_next_steps_also_of_the_next_segment():
    batches = list(records([5]).unroll(2, batch_size=1, shift=1))
    assert [b["x"].tolist() for b in batches] == [[[1, 2]], [[3, 4]]]
    assert [b["x_target"].tolist() for b in batches] == [[[2, 3]], [[4, 5]]]


def test_a_segment_repeats_the_burn_in_with_a_mask():
    batches = list(records([6]).unroll(4, batch_size=1, burn_in=2))
    assert [b["x"].tolist() for b in batches] == [[[1, 2, 3, 4]], [[3, 4, 5, 6]]]
    masks = [b["loss_mask"].tolist() for b in batches]
    assert masks == [[[True] * 4], [[False, False, True, True]]]


def test_short_last_segments_are_left_out_and_lost_sequences_counted():
    with iter(records([5, 1, 4]).unroll(3, batch_size=3, min_segment=2)) as it:
        assert [b["length"].tolist() for b in it] == [[3, 3, 0], [2, 0, 0]]
        assert it.stats()["dropped_records"] == 1


def test_statistics_show_the_slots_and_what_was_left_out():
    ds = records([7, 3, 8, 1, 4]).unroll(3, batch_size=3, min_segment=2)
    names = ("slots", "used_slots", "empty_rows", "dropped_steps")

    def numbers(it):
        return tuple(it.stats()["stages"][-1][name] for name in names)

    with iter(ds) as it:
        assert [numbers(it) for _ in it] == [(3, 2, 0, 1), (3, 1, 0, 3), (3, 0, 2, 3)]
        assert it.stats()["dropped_records"] == 1  # of one step
        assert "used_slots 0" in str(it.report())
    with iter(ds) as it:
        next(it)
        state = it.save()
    with iter(ds) as it:
        it.restore(state)
        assert numbers(it) == (3, 2, 0, 1)
        assert [numbers(it) for _ in it] == [(3, 1, 0, 3), (3, 0, 2, 3)]


def test_fixed_columns_and_vectors_per_step_are_sequences_too():
    frames = [np.arange(n * 3, dtype=np.float32).reshape(n, 3) for n in (4, 2)]
    ds = lv.from_arrays({"frames": frames, "label": np.array([7, 8])})
    batches = list(ds.unroll(3, batch_size=2))
    assert batches[0]["frames"].shape == (2, 3, 3)
    assert batches[1]["frames"][0].tolist() == [[9, 10, 11], [0, 0, 0], [0, 0, 0]]
    assert batches[1]["label"].tolist() == [7, 0]
    fixed = lv.from_arrays({"x": np.arange(10).reshape(2, 5)})
    assert [b["x"].tolist() for b in fixed.unroll(4, batch_size=2, sequences=["x"])] == [
        [[0, 1, 2, 3], [5, 6, 7, 8]], [[4, 0, 0, 0], [9, 0, 0, 0]]]  # fmt: skip


def nested(rows):
    """A column whose records have any number of steps, and each step any number of values."""
    steps = [step for row in rows for step in row]
    offsets = [np.cumsum([0, *map(len, level)]).astype(np.int32) for level in (rows, steps)]
    return lv.Ragged(np.array([v for step in steps for v in step], np.int64), offsets)


def segments_of(bags, unroll):
    """{(key, segment): its steps, padded with empty ones} of records of steps."""
    return {
        (key, at // unroll): [*steps[at : at + unroll], *[[]] * (at + unroll - len(steps))]
        for key, steps in enumerate(bags)
        for at in range(0, len(steps), unroll)
    }


@given(
    st.lists(
        st.lists(st.lists(st.integers(1, 99), max_size=4), max_size=9), min_size=1, max_size=9
    ),
    st.integers(1, 4),
    st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_steps_and_context_may_be_ragged(bags, unroll, slots):
    tags = [[key] * (key % 3) for key in range(len(bags))]
    ends = np.cumsum([0, *map(len, tags)]).astype(np.int32)
    values = np.array(list(itertools.chain(*tags)), np.int64)
    ids = np.arange(len(bags))
    fields = {"bag": nested(bags), "tags": lv.Ragged(values, [ends]), "id": ids}
    options = {"sequences": ["bag"], "zero_length": "skip", "batch_size": slots, "key": "id"}
    found, fed = {}, {}
    for batch in lv.from_arrays(fields).unroll(unroll, **options):
        bag, tag = batch["bag"].to_list(), batch["tags"].to_list()
        for i in range(slots):
            assert tag[i] == ([] if batch["is_empty"][i] else tags[batch["key"][i]])
            if not batch["is_empty"][i]:
                found[batch["key"][i], batch["segment"][i]] = bag[i]
            else:
                assert bag[i] == [[]] * unroll
    ready = lv.from_arrays(fields).unroll(
        unroll, layout="ready", states={"h": np.float32}, **options
    )
    for batch in ready:
        keys = [int(key.split(b":")[1]) for key in batch["key"].to_list()]
        assert batch["tags"].to_list() == [tags[key] for key in keys]
        for key, at, steps in zip(keys, batch["sequence"], batch["bag"].to_list(), strict=True):
            fed[key, at] = steps
        batch.save_state("h", batch.state("h"))
    assert found == fed == segments_of(bags, unroll)


def test_fields_that_cannot_be_cut_are_refused():
    with pytest.raises(InvalidArgumentError, match="rename"):
        records([3], slot=np.array([1])).unroll(2, batch_size=1)
    with pytest.raises(InvalidArgumentError, match="burn_in=2"):
        records([3]).unroll(2, batch_size=1, burn_in=2)


def test_text_and_json_describe_it(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("to be or not\n\nto be\n")
    ds = lv.text_lines(str(path)).decode_raw("line", "uint8")
    ds = ds.unroll(4, batch_size=2, shift=1, zero_length="skip", targets=["line"])
    want = [batch["line_target"].tolist() for batch in ds]
    assert "unroll:4,batch_size=2" in str(ds)
    for same in (lv.from_text(str(ds)), lv.from_json(ds.to_json())):
        assert [batch["line_target"].tolist() for batch in same] == want


def test_columns_that_no_one_knew_before_the_first_record():
    ds = records([5, 3, 2]).map(lambda r: {"y": r["x"] * 2, "id": r["id"]})
    batches = list(ds.unroll(4, batch_size=2, key="id"))
    assert [b["y"].tolist() for b in batches] == [
        [[2, 4, 6, 8], [12, 14, 16, 0]], [[10, 0, 0, 0], [18, 20, 0, 0]]]  # fmt: skip
    assert [b["key"].tolist() for b in batches] == [[1, 2], [1, 3]]
    taken = records([5]).map(lambda r: {"y": r["x"], "slot": r["id"]})
    with pytest.raises(InvalidArgumentError, match="'slot' has the name"):
        list(taken.unroll(4, batch_size=2))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("equal", ["pad", "drop"])
def test_ranks_have_equally_many_batches_of_whole_sequences(equal, workers):
    torch = pytest.importorskip("torch")
    sizes = [9, 3, 4, 2, 8, 5, 7, 1, 6, 12]
    ds = records(sizes).unroll(2, batch_size=2, key="id").prefetch(2)
    for world in (1, 2, 3):
        counts, found = set(), {}
        for rank in range(world):
            data = lv.torch_dataset(ds, rank=rank, world_size=world, equal=equal)
            batches = list(torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers))
            counts.add(len(batches))
            for batch in batches:
                assert equal == "pad" or not batch["is_empty"].any()
                for i in torch.nonzero(~batch["is_empty"]).ravel().tolist():
                    place = (rank, int(batch["slot"][i]) if not workers else None)
                    row = (int(batch["segment"][i]), place)
                    found.setdefault(int(batch["key"][i]), []).append(row)
        assert len(counts) == 1
        for key, rows in found.items():
            assert sorted(row[0] for row in rows) == list(range(len(rows)))
            assert len({row[1] for row in rows}) == 1
            assert equal == "drop" or len(rows) == -(-sizes[key - 1] // 2)
        assert equal == "drop" or len(found) == len(sizes)


def test_only_prefetch_may_follow_slots_of_equal_ranks():
    pytest.importorskip("torch")
    ds = records([9, 3]).unroll(2, batch_size=2).rename({"x": "y"})
    with pytest.raises(FailedPreconditionError, match="use parts="):
        list(lv.torch_dataset(ds, rank=0, world_size=2, equal="pad"))


@pytest.mark.filterwarnings("ignore:torch_dataset")
def test_unfinished_sequences_move_between_worlds(tmp_path):
    """8, 3, 5 and 1 ranks, each stopped in the middle of sequences: every segment comes once."""
    for k in range(6):
        with lv.TFRecordWriter(str(tmp_path / f"{k}.tfrecord")) as writer:
            for i in range(k * 20, k * 20 + 20):
                writer.write(lv.make_example({"id": i, "x": list(range(1 + 7 * i % 29))}))
    lv.index(str(tmp_path / "*.tfrecord"))
    spec = {"id": lv.FixedLenFeature([], lv.int64), "x": lv.VarLenFeature(lv.int64)}
    ds = lv.tfrecord(str(tmp_path / "*.tfrecord"), index=True).shuffle(10).parse_example(spec)
    ds = ds.unroll(4, batch_size=3, sequences="x", key="id").with_options(seed=5)

    def run(world, states, cut):
        found, saved = [], []
        for rank in range(world):
            data = lv.torch_dataset(ds, rank, world, parts=12, transform=lambda batch: batch)
            if states:
                data.load_state_dict(states)
            iterator = iter(data)
            for batch in itertools.islice(iterator, cut):
                for i in np.flatnonzero(~batch["is_empty"]):
                    steps = batch["x"][i, : batch["length"][i]].tolist()
                    found.append((int(batch["key"][i]), int(batch["segment"][i]), steps))
            saved.append(iterator.state_dict())
        return found, saved

    pytest.importorskip("torch")
    found, states = [], None
    for world, cut in ((8, 2), (3, 4), (5, 2), (1, None)):
        some, states = run(world, states, cut)
        found += some
    assert sorted(found) == sorted(run(1, None, None)[0])
    assert len(found) == sum(-(-(1 + 7 * i % 29) // 4) for i in range(120))


def test_a_state_space_model_needs_its_state():
    model = example("ssm_model")
    assert model.largest_gradient_error() < 1e-6
    carried, reset = model.compare(120)
    assert carried[-1] < 0.3 * carried[0] and carried[-1] < 0.1 * reset[-1]


def test_a_killed_torch_model_continues_with_its_state(tmp_path):
    """In a process of its own: torch does not run where subinterpreters were made."""
    pytest.importorskip("torch")
    code = (
        "import json, pathlib, sys, torch_slots as example\n"
        "print(json.dumps(example.run(pathlib.Path(sys.argv[1]))))"
    )
    command, folder = [sys.executable, "-c", code, str(tmp_path)], ROOT / "examples"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    curves = json.loads(done.stdout)
    last = {name: np.mean(losses[-40:]) for name, losses in curves.items()}
    assert curves["resumed"] == curves["carried"]
    assert last["carried"] < np.mean(curves["carried"][:40]) - 0.5
    assert last["carried"] < last["reset"] - 0.02


@pytest.mark.parametrize("more", [{}, {"min_segment": 2}])
def test_numbers_count_sequences_that_reach_a_slot(more):
    """Dropped records have no number. The key of an empty row is -1, 0 or b""."""
    sizes = [3, 0, 3, 1 if more else 0, 3]
    names = np.array([b"a", b"b", b"c", b"d", b"e"])
    ds = records(sizes, name=names)
    numbers = list(ds.unroll(3, batch_size=2, zero_length="skip", **more))
    assert [b["key"].tolist() for b in numbers] == [[0, 1], [2, -1]]
    named = list(ds.unroll(3, batch_size=2, zero_length="skip", key="name", min_segment=2))
    assert [b["key"].to_list() for b in named] == [[b"a", b"c"], [b"e", b""]]
    empty = named[-1]
    integers = list(ds.unroll(3, batch_size=2, zero_length="skip", key="id", min_segment=2))
    assert [b["key"].tolist() for b in integers] == [[1, 3], [5, 0]]
    assert [empty[n][1] for n in ("is_empty", "segment", "length", "slot")] == [True, 0, 0, 1]
    assert not empty["is_first"][1] and not empty["is_last"][1]
