# SPDX-License-Identifier: Apache-2.0
"""``unroll(layout="ready")``: the training loop saves the states of each batch."""

import subprocess
import threading

import levada as lv
import numpy as np
import pytest
from command import LEVADA, needs_command
from hypothesis import given, settings
from hypothesis import strategies as st
from levada.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    LevadaError,
)

STATES = {"h": {"dtype": "float32", "shape": [3]}, "count": np.int64}
lengths = st.lists(st.integers(0, 20), min_size=1, max_size=25)


def records(sizes, **more):
    """Sequences of these lengths; all values differ, none is 0."""
    ends = np.cumsum(sizes)
    x = [np.arange(end - n, end, dtype=np.int64) + 1 for n, end in zip(sizes, ends, strict=True)]
    return lv.from_arrays({"x": x, "id": np.arange(len(sizes)), **more})


def dataset(sizes, batch_size=2, unroll=3, **options):
    ds = records(sizes)
    options = {"key": "id", "zero_length": "skip", "states": STATES} | options
    return ds.unroll(unroll, batch_size=batch_size, layout="ready", **options)


def step(batch):
    """A model: its states sum up what it has seen."""
    sums = batch["x"].sum(axis=1)
    batch.save_state("h", batch.state("h") + sums[:, None].astype(np.float32))
    batch.save_state("count", batch.state("count") + batch["length"])


def train(it, limit=None):
    """What each sequence ends with: {key: (sum, count)}."""
    found = {}
    for done, batch in enumerate(it):
        h, count = batch.state("h"), batch.state("count")
        for i, key in enumerate(batch["key"].to_list()):
            assert (h[i] == h[i, 0]).all()
            assert batch["is_first"][i] == (batch["sequence"][i] == 0)
            if batch["is_first"][i]:
                assert h[i, 0] == 0
            if batch["is_last"][i]:
                name = int(key.split(b":")[1])
                assert name not in found
                total = int(h[i, 0] + batch["x"][i].sum())
                found[name] = total, int(count[i] + batch["length"][i])
        step(batch)
        if limit is not None and done + 1 == limit:
            break
    return found


def expected(sizes):
    ends = np.cumsum(sizes)
    return {
        i: (int(np.arange(end - n, end).sum() + n), n)
        for i, (n, end) in enumerate(zip(sizes, ends, strict=True))
        if n
    }


@given(lengths, st.integers(1, 5), st.integers(0, 4), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_states_travel_from_segment_to_segment(sizes, batch, more, unroll):
    assert train(iter(dataset(sizes, batch, unroll, capacity=batch + more))) == expected(sizes)


@given(lengths, st.integers(0, 12), st.integers(1, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_saved_position_has_the_states(sizes, cut, batch, held):
    """Also while a batch is out: it comes again."""
    ds = dataset(sizes, batch, capacity=2 * batch)
    with iter(ds) as it:
        found = train(it, cut) if cut else {}
        if held:
            next(it, None)
        state = it.save()
    with iter(ds.with_options(threads=3)) as it:
        it.restore(state)
        found |= train(it)
    assert found == expected(sizes)


def test_the_text_of_a_dataset_is_the_dataset():
    ds = dataset([5, 3, 8], capacity=4, check_finite=True)
    text = str(ds)
    assert "layout:ready" in text.replace("=", ":")
    assert "capacity" in text and "check_finite" in text and "float32" in text


def test_a_forgotten_state_is_an_error_that_names_it():
    with iter(dataset([9, 9, 9])) as it:
        batch = next(it)
        batch.save_state("h", batch.state("h"))
        for _ in range(2):
            with pytest.raises(FailedPreconditionError, match="'count' of key '00000_of_00003:0'"):
                next(it)
        batch.save_state("count", batch.state("count"))
        assert next(it)["sequence"].tolist() == [1, 1]


def test_a_step_that_failed_is_tried_again_or_dropped():
    with iter(dataset([4, 4, 4], 1)) as it:
        with pytest.raises(ZeroDivisionError), next(it) as batch:
            batch.save_state("h", batch.state("h") + 7)
            _ = 1 // 0
        again = next(it)
        assert again["key"].to_list() == batch["key"].to_list()
        assert not again.state("h").any()
        with pytest.raises(FailedPreconditionError, match="is not open"):
            batch.save_state("count", batch.state("count"))
        again.discard()
        assert set(train(it)) == {1, 2}
        assert it.stats()["dropped_records"] == 1


def test_next_finishes_batches_of_last_segments():
    ds = dataset([2, 9, 2], 1, capacity=3)
    with iter(ds) as it, iter(ds) as other:
        last = next(it)
        assert last["is_last"].all()
        last.requeue()  # as long as it is the newest
        last = next(it)
        first = next(it)
        assert last["key"][0].endswith(b":0") and first["key"][0].endswith(b":1")
        for answer in (last.requeue, last.discard):
            with pytest.raises(FailedPreconditionError, match="only last segments"):
                answer()
        step(last)  # a save is allowed, and changes nothing
        other.restore(it.save())
        assert set(train(other)) == {1, 2}


def test_states_are_checked():
    with iter(dataset([9, 9], check_finite=True)) as it:
        batch = next(it)
        with pytest.raises(KeyError, match="typo"):
            batch.state("typo")
        with pytest.raises(KeyError, match="batch_number"):
            batch.save_state("batch_number", batch["batch_number"])
        with pytest.raises(InvalidArgumentError, match="shape received"):
            batch.save_state("h", np.zeros((2, 4), np.float32))
        with pytest.raises(InvalidArgumentError, match="float32, got float64"):
            batch.save_state("h", np.zeros((2, 3)))
        with pytest.raises(ValueError, match="not \\(2, "):
            batch.save_state("h", np.zeros((3, 3), np.float32))
        both = {"count": batch.state("count"), "h": batch.state("h") + np.float32("nan")}
        with pytest.raises(InvalidArgumentError, match="'h'"):
            batch.save_states(both)
        both["h"] = batch.state("h")
        batch.save_states(both)  # the first call saved neither
        with pytest.raises(FailedPreconditionError):
            batch.requeue()


def test_a_value_may_change_after_it_was_saved():
    with iter(dataset([9, 9])) as it:
        batch, h = next(it), np.ones((2, 3), np.float32)
        batch.save_states({"h": h, "count": [1, 2]})
        h[:] = 7
        assert (next(it).state("h") == 1).all()


def test_lists_and_tensors_are_states():
    torch = pytest.importorskip("torch")
    with iter(dataset([9, 9])) as it:
        batch = next(it)
        h = torch.ones(2, 3, requires_grad=True) * 2
        batch.save_states({"h": h, "count": torch.tensor([5, 6])})
        after = next(it)
        assert (after.state("h") == 2).all()
        assert after.state("count").tolist() == [5, 6]


def test_a_field_has_the_first_value_of_its_state():
    first = np.arange(6, dtype=np.float32).reshape(2, 3)
    ds = records([4, 4], h=first).unroll(3, batch_size=2, layout="ready", states={"h": STATES["h"]})
    with iter(ds) as it:
        batch = next(it)
        assert (batch.state("h") == first).all()
        batch.save_state("h", batch.state("h") + 1)
        assert (next(it).state("h") == first + 1).all()
    with pytest.raises(InvalidArgumentError, match="the state of this name is int64"):
        records([4, 4], h=first).unroll(3, batch_size=2, layout="ready", states={"h": np.int64})
    states = {"h": {"dtype": "float32", "shape": [4]}}
    ds = records([4, 4], h=first).unroll(3, batch_size=2, layout="ready", states=states)
    with iter(ds) as it, pytest.raises(InvalidArgumentError, match=r"the shape \[4\] of the state"):
        next(it)


def test_repeated_keys_are_refused_or_made_unique():
    ds = records([4, 4], name=np.array([7, 7]))
    options = {"batch_size": 2, "layout": "ready", "key": "name", "states": {"h": np.float32}}
    with iter(ds.unroll(3, **options)) as it, pytest.raises(AlreadyExistsError, match="'7'"):
        next(it)
    with iter(ds.unroll(3, make_keys_unique=True, **options)) as it:
        keys = next(it)["key"].to_list()
        assert len(set(keys)) == 2 and all(key.startswith(b"00000_of_00002:7") for key in keys)


def test_statistics_and_the_report_show_what_waits():
    with iter(dataset([9, 9, 9], capacity=3)) as it:
        batch = next(it)
        row = it.stats()["stages"][-1]
        assert (row["live"], row["unsaved"], row["ready"]) == (2, 2, 0)
        assert row["incomplete"] == 4 and row["unsaved_seconds"] >= 0
        assert "unsaved 2" in str(it.report())
        step(batch)
        row = it.stats()["stages"][-1]
        assert (row["unsaved"], row["ready"], row["unsaved_seconds"]) == (0, 2, None)


def test_memory_is_bounded_by_the_capacity():
    """At most `capacity` sequences are open, however many batches are out."""
    with iter(dataset([9] * 50, capacity=5)) as it:
        out = [next(it) for _ in range(2)]
        with pytest.raises(FailedPreconditionError, match="ready 1"):
            next(it)
        assert it.stats()["stages"][-1]["live"] == 5
        for batch in out:
            step(batch)
        assert len(train(it)) == 50


def test_parts_own_their_sequences_and_states():
    """8 parts saved by some ranks are continued by others, in the middle of sequences."""
    sizes = [7, 3, 12, 9, 1, 4, 15, 6, 8, 2, 11, 5, 10, 13, 14, 16]
    options = {"batch_size": 1, "layout": "ready", "key": "id", "states": STATES}
    parts = [records(sizes).shard(i, 8).unroll(3, **options) for i in range(8)]
    found, states = {}, []
    for part in parts:
        with part.iterate(epoch=0) as it:
            found |= train(it, 2)
            states.append(it.save())
    for part, state in zip(reversed(parts), reversed(states), strict=True):
        with part.iterate(epoch=0) as it:
            it.restore(state)
            found |= train(it)
    assert found == expected(sizes)


def test_unfinished_sequences_and_states_move_between_worlds(tmp_path):
    """8, 3, 5 and 1 readers of the same 12 parts: each segment once, and no state is lost."""
    sizes = [1 + 7 * i % 29 for i in range(90)]
    for k in range(3):
        with lv.TFRecordWriter(str(tmp_path / f"{k}.tfrecord")) as writer:
            for i in range(k * 30, k * 30 + 30):
                writer.write(lv.make_example({"id": i, "x": list(range(i, i + sizes[i]))}))
    lv.index(str(tmp_path / "*.tfrecord"))
    spec = {"id": lv.FixedLenFeature([], lv.int64), "x": lv.VarLenFeature(lv.int64)}
    ds = lv.tfrecord(str(tmp_path / "*.tfrecord"), index=True).shuffle(10).parse_example(spec)
    options = {"sequences": "x", "key": "id", "layout": "ready", "states": STATES}
    ds = ds.unroll(4, batch_size=3, capacity=5, **options).with_options(seed=5)
    states, found, unfinished = {}, {}, 0
    for world, cut in ((8, 1), (3, 2), (5, 1), (1, None)):
        of_ranks = sorted(enumerate(ds.parts(12)), key=lambda one, world=world: one[0] % world)
        for number, part in of_ranks:
            with part.iterate(epoch=0) as it:
                if number in states:
                    it.restore(states[number])
                some = train(it, cut)
                states[number] = it.save()
                unfinished += it.stats()["stages"][-1]["live"]
            assert not set(some) & set(found)
            found |= some
    assert unfinished > 12
    assert found == {i: (sum(range(i, i + n)), n) for i, n in enumerate(sizes)}


def test_threads_may_share_a_lock():
    """Two consumers hold batches at the same time; each saves what it took."""
    lock, found, failed = threading.Lock(), {}, []
    it = iter(dataset([5 + i % 9 for i in range(60)], capacity=8))

    def consume():
        while True:
            with lock:
                try:
                    batch = next(it, None)
                except FailedPreconditionError:
                    continue  # the other one has not saved yet
                if batch is None:
                    return
            sums = batch["x"].sum(axis=1)
            with lock:
                for i, key in enumerate(batch["key"].to_list()):
                    found.setdefault(key, 0)
                    found[key] += int(sums[i])
                step(batch)

    def run():
        try:
            consume()
        except (LevadaError, AssertionError) as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sum(found.values()) == sum(range(1, sum(5 + i % 9 for i in range(60)) + 1))


@needs_command
def test_the_command_reads_it(tmp_path):
    """It saves the states that it received."""
    (tmp_path / "a.txt").write_text("abcdef\nab\nabcde\n")
    text = (
        "text_lines:a.txt | decode_raw:uint8,field=line | "
        "unroll:2,batch_size=2,layout=ready,states={h:float32}"
    )
    for words in (["run", text], ["head", "-n", "9", text]):
        ran = subprocess.run(
            [LEVADA, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("STOP:") == 3


def test_a_batch_is_small_only_where_no_unsaved_batch_brings_more():
    with iter(dataset([6, 3, 3], batch_size=2)) as it:
        first = next(it)  # sequences 0 and 1
        with pytest.raises(FailedPreconditionError, match="saved"):
            next(it)  # sequence 2 alone would be a small batch: 0 may still come
        step(first)
        assert next(it)["sequence"].tolist() == [1, 0]
        assert next(it, None) is None
        assert it.stats()["dropped_records"] == 0
    with iter(dataset([6, 3, 3], batch_size=2, allow_small_batch=False)) as it:
        step(next(it))
        assert next(it)["sequence"].tolist() == [1, 0]
        assert next(it, None) is None
    with iter(dataset([6, 3], batch_size=2, allow_small_batch=False)) as it:
        step(next(it))
        assert next(it, None) is None  # one segment alone: its sequence is dropped and counted
        assert it.stats()["dropped_records"] == 1


def test_numbers_of_sequences_leave_dropped_records_out():
    with iter(dataset([6, 0, 3], batch_size=2, key=None)) as it:
        assert [key.split(b":")[1] for key in next(it)["key"].to_list()] == [b"0", b"1"]
