# SPDX-License-Identifier: Apache-2.0
"""SequenceQueueingStateSaver: upstream's tests, and the rules that levada adds."""

import threading

import numpy as np
import pytest
from levada import errors
from levada import train as lt
from waiting import Call, until

OUT = errors.OutOfRangeError


def example(key, steps, length=None, state=0.0):
    return {
        "key": key,
        "length": steps if length is None else length,
        "seq1": np.arange(steps * 2, dtype=np.float32).reshape(steps, 2),
        "seq2": np.arange(steps, dtype=np.int64),
        "context1": np.array([1, 2], np.int32),
        "start": np.full(3, state, np.float32),
    }


def make(source, batch_size=2, num_unroll=2, **more):
    options = {
        "input_length": "length",
        "input_key": "key",
        "input_sequences": ["seq1", "seq2"],
        "input_context": ["context1"],
        "initial_states": {"state1": lambda e: e["start"], "state2": np.int64(7)},
    }
    return lt.SequenceQueueingStateSaver(source, batch_size, num_unroll, **(options | more))


def fill(saver):
    """Prefetches until the source ends, then closes."""
    with pytest.raises(OUT):
        while True:
            saver.prefetch_op()
    saver.close()


def save(batch):
    batch.save_state("state1", batch.state("state1") + 1)
    batch.save_state("state2", batch.state("state2") - 1)


def test_two_simple_steps():
    source = [example("a", 4, 3), example(b"b:c", 4, 3)]
    saver = make(source, state_timeout_secs=float("inf"))  # never logs
    fill(saver)
    batch = saver.next_batch()
    assert list(batch.key) == [b"00000_of_00002:a", b"00000_of_00002:b:c"]
    assert list(batch.next_key) == [b"00001_of_00002:a", b"00001_of_00002:b:c"]
    assert batch.length.tolist() == [2, 2]
    assert batch.length.dtype == np.int32
    assert batch.total_length.tolist() == [3, 3]
    assert batch.insertion_index.tolist() == [-(2**63), -(2**63) + 1]
    assert batch.sequence.tolist() == [0, 0]
    assert batch.sequence_count.tolist() == [2, 2]
    assert batch.batch_size == 2
    assert batch.sequences["seq1"].shape == (2, 2, 2)
    assert batch.sequences["seq2"].tolist() == [[0, 1], [0, 1]]
    assert batch.context["context1"].tolist() == [[1, 2], [1, 2]]
    assert batch.state("state1").tolist() == [[0] * 3] * 2
    assert batch.state("state2").tolist() == [7, 7]
    save(batch)
    batch = saver.next_batch()
    assert list(batch.next_key) == [b"STOP:a", b"STOP:b:c"]
    assert batch.length.tolist() == [1, 1]
    assert batch.sequences["seq2"].tolist() == [[2, 3], [2, 3]]
    assert batch.state("state1").tolist() == [[1] * 3] * 2
    assert batch.state("state2").tolist() == [6, 6]
    save(batch)
    assert saver.barrier.ready_size() == 0
    assert saver.barrier.incomplete_size() == 0
    with pytest.raises(OUT):
        saver.next_batch()


@pytest.mark.parametrize(
    ("more", "kind", "text"),
    [
        ({"capacity": 1}, ValueError, "capacity 1 needs to be >= batch_size 2"),
        ({"capacity": 0}, ValueError, "capacity=0"),
        ({"input_sequences": "seq1"}, TypeError, "must be a dict"),
        ({"input_sequences": []}, ValueError, "input_sequences may not be empty"),
        ({"input_sequences": {1: "seq1"}}, TypeError, "names must be str"),
        ({"input_sequences": {"a:b": "seq1"}}, ValueError, "must not contain a colon"),
        ({"input_context": 7}, TypeError, "must be a dict"),
        ({"initial_states": {}}, ValueError, "initial_states may not be empty"),
        ({"initial_states": ["a"]}, TypeError, "must be a dict"),
        ({"num_unroll": 0}, ValueError, "num_unroll=0"),
        ({"input_length": None}, ValueError, "needs pad=True"),
        ({"zero_length": "drop"}, ValueError, "zero_length='drop' must be one of"),
        ({"batch_size": -1}, ValueError, "batch_size=-1"),
        ({"state_timeout_secs": 0}, ValueError, "state_timeout_secs"),
        ({"state_timeout_secs": float("nan")}, ValueError, "state_timeout_secs"),
    ],
)
def test_arguments_are_checked(more, kind, text):
    with pytest.raises(kind, match=text):
        make([], **more)


@pytest.mark.parametrize(
    ("change", "more", "text"),
    [
        ({}, {"num_unroll": 17}, "should be a multiple of: 17, but saw value: 4"),
        ({"seq2": np.zeros(6)}, {}, "sorted_sequences_seq2 should be: 4, shape received: 6"),
        ({"length": 9}, {}, "Input length should be <= than length from sequences: 9"),
        ({"key": 5}, {}, "input_key must be str or bytes"),
        ({"length": 1.5}, {}, "Rank check failed for input_length"),
        ({"length": np.array([3])}, {}, "Rank check failed for input_length"),
        ({"length": -1}, {"pad": True}, "Input length should be <= than length from .*: -1"),
        ({"length": 2**70}, {}, "Input length should be <= than length from sequences: 11805"),
        ({"seq2": 5}, {}, "Rank check failed for 'seq2': .* shape received: "),
        ({}, {"input_key": "name"}, "no field 'name' in the example; it has 'key', 'length'"),
        ({"seq1": np.zeros((0, 2)), "seq2": np.zeros(0), "length": 0}, {}, "saw value: 0"),
    ],
)
def test_examples_are_checked(change, more, text):
    saver = make([example("a", 4) | change], **more)
    with pytest.raises((ValueError, TypeError), match=text):
        saver.prefetch_op()
    assert saver.size() == 0


def test_later_examples_must_fit_the_first():
    saver = make([example("a", 4), example("b", 4) | {"context1": np.zeros(3, np.int32)}])
    saver.prefetch_op()
    with pytest.raises(
        errors.InvalidArgumentError, match=r"shape should be: \[2\], shape received"
    ):
        saver.prefetch_op()
    assert saver.stats()["live"] == 1


def test_a_tuple_of_three_steps_is_not_sparse():
    steps = ((1, 0), (0, 1), (1, 1))
    saver = make([{"key": "a", "x": steps}], 1, 3, pad=True, input_length=None,
                 input_sequences=["x"], input_context=[], initial_states={"s": 0})  # fmt: skip
    saver.prefetch_op()
    assert saver.next_batch(timeout=20).sequences["x"].tolist() == [[[1, 0], [0, 1], [1, 1]]]


def test_inconsistent_states_are_refused():
    saver = make([example("a", 4)], batch_size=1, check_finite=True)
    saver.prefetch_op()
    batch = saver.next_batch()
    with pytest.raises(KeyError, match="state was not declared: state3"):
        batch.state("state3")
    with pytest.raises(KeyError, match="state was not declared: state3"):
        batch.save_state("state3", 1)
    with pytest.raises(ValueError, match="Rank check failed for state 'state1'"):
        batch.save_state("state1", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"should be: \[1,3\], shape received: \[1,4\]"):
        batch.save_state("state1", np.zeros((1, 4), np.float32))
    with pytest.raises(ValueError, match="Rank check failed for 'state1'"):
        batch.save_state("state1", np.float32(1))
    with pytest.raises(TypeError, match="'state1' of the state saver is float32"):
        batch.save_state("state1", [["a", "b", "c"]])
    with pytest.raises(ValueError, match="is not finite: element 2 of row 0"):
        batch.save_state("state1", np.array([[0, 0, np.nan]], np.float32))
    batch.save_state("state1", [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="already has a value for state 'state1'"):
        batch.save_state("state1", np.zeros((1, 3), np.float32))
    batch.save_state("state2", [3])
    assert saver.next_batch().state("state1").tolist() == [[1, 2, 3]]


def test_variable_batch_size():
    sizes = iter(range(8))
    saver = make([example(f"k{k}", 4) for k in range(16)], batch_size=lambda: next(sizes))
    fill(saver)
    found = []
    for _ in range(8):
        batch = saver.next_batch()
        found.append([index + 2**63 for index in batch.insertion_index.tolist()])
        save(batch)
    assert found == [
        [], [0], [0, 1], [1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7, 8], [6, 7, 8, 9, 10, 11],
        [9, 10, 11, 12, 13, 14, 15],
    ]  # fmt: skip


def test_a_batch_size_above_the_capacity_is_refused_when_it_is_taken():
    saver = make([example("a", 4)], batch_size=lambda: 5, capacity=4)
    saver.prefetch_op()
    with pytest.raises(errors.InvalidArgumentError, match="capacity needs to be >= batch_size"):
        saver.next_batch()


def test_a_live_key_is_refused_and_free_again_later():
    saver = make([example("a", 2), example("a", 2), example("a", 2)], batch_size=1)
    saver.prefetch_op()
    with pytest.raises(errors.AlreadyExistsError, match="already has the key 'a'"):
        saver.prefetch_op()
    saver.next_batch()
    saver.prefetch_op()
    assert saver.stats()["inserted"] == 2
    assert saver.stats()["reserved"] == 0


@pytest.mark.parametrize(("policy", "keys"), [("skip", ["b"]), ("segment", ["a", "b"])])
def test_examples_without_steps(policy, keys):
    empty = example("a", 0) | {"seq1": np.zeros((0, 2), np.float32)}
    saver = make([empty, example("b", 2)], batch_size=1, zero_length=policy)
    fill(saver)
    for key in keys:
        batch = saver.next_batch()
        assert batch.key[0].decode().endswith(":" + key)
        assert batch.sequences["seq1"].shape == (1, 2, 2)
    assert saver.stats()["skipped"] == 2 - len(keys)


def test_the_first_example_has_its_capacity_before_others_reserve():
    saver = make([example("a", 2), example("b", 2)], batch_size=1, capacity=1)
    settle, others = saver._late.settle, []

    def settle_and_yield(*args):
        core = settle(*args)
        others.append(threading.Thread(target=saver.prefetch_op))
        others[0].start()
        while not any(row["object"] == saver.name for row in lt.waiters()):
            assert core.saver.stats()["reserved"] == 1  # ours, while the other one waits for it
        return core

    saver._late.settle = settle_and_yield
    first = threading.Thread(target=saver.prefetch_op, daemon=True)
    first.start()
    assert list(saver.next_batch(timeout=20).key) == [b"00000_of_00001:a"]
    assert list(saver.next_batch(timeout=20).key) == [b"00000_of_00001:b"]
    for thread in (first, *others):
        thread.join()


def test_the_first_batch_waits_for_the_first_example():
    saver = make([example("a", 2)], batch_size=1)
    with pytest.raises(errors.DeadlineExceededError):
        saver.next_batch(timeout=0.01)
    found = []
    thread = threading.Thread(target=lambda: found.append(saver.next_batch(timeout=20)))
    thread.start()
    saver.prefetch_op()
    thread.join()
    assert list(found[0].key) == [b"00000_of_00001:a"]


def test_a_failed_step_is_requeued_or_discarded():
    saver = make([example("a", 4), example("b", 4)], batch_size=1)
    fill(saver)
    with pytest.raises(ZeroDivisionError), saver.next_batch() as batch:
        batch.save_state("state1", batch.state("state1") + 5)
        raise ZeroDivisionError
    with saver.next_batch() as batch:
        assert batch.key[0] == b"00000_of_00002:a"
        assert not batch.state("state1").any()
        save(batch)
    batch = saver.next_batch()
    assert batch.key[0] == b"00001_of_00002:a"
    batch = saver.next_batch()
    batch.discard()
    with pytest.raises(errors.FailedPreconditionError, match="was discarded"):
        batch.requeue()
    assert saver.stats()["discarded"] == 1
    with pytest.raises(OUT):
        saver.next_batch()


def test_a_forgotten_state_is_reported(caplog):
    saver = make([example("a", 4)], batch_size=1, state_timeout_secs=0.05)
    saver.prefetch_op()
    batch = saver.next_batch()
    batch.save_state("state2", [1])
    text = r"state 'state1' of key '00000_of_00002:a' was not saved for 0\."
    with pytest.raises(errors.DeadlineExceededError, match=text):
        saver.next_batch(timeout=0.3)
    assert sum("a call waits for segments" in line for line in caplog.messages) == 1
    (row,) = saver.unsaved()
    assert row["key"] == "00000_of_00002:a"
    assert row["states"] == ["state1"]
    assert not row["abandoned"]
    assert saver.stats()["oldest_unsaved"] > 0.3
    del batch
    saver.close()
    with pytest.raises(errors.FailedPreconditionError, match="and its batch is gone"):
        saver.next_batch()


def cancelled(saver):
    with pytest.raises(errors.CancelledError):
        saver.next_batch()


def test_a_waiting_call_is_listed_with_counts():
    saver = make([example("a", 4)], batch_size=1, name="listed")
    saver.prefetch_op()
    batch = saver.next_batch()
    thread = threading.Thread(target=cancelled, args=(saver,))
    thread.start()
    while not (rows := [row for row in lt.waiters() if row["object"] == "listed"]):
        pass
    assert rows[0]["detail"].startswith("ready 0, incomplete 1, unsaved 1 for")
    while thread.is_alive():
        saver.cancel()
    thread.join()
    batch.discard()


def test_close_with_cancel():
    saver = make([example(k, 4) for k in "abc"], batch_size=1, capacity=2)
    saver.prefetch_op()
    saver.prefetch_op()
    batch = saver.next_batch()
    saver.close(cancel_pending_enqueues=True)
    with pytest.raises(errors.CancelledError, match="no state can be saved"):
        batch.save_state("state1", batch.state("state1"))
    with pytest.raises(errors.CancelledError):
        saver.prefetch_op()
    with pytest.raises(errors.CancelledError):
        batch.requeue()
    batch.discard()
    ready = saver.next_batch()
    assert ready.key[0] == b"00000_of_00002:b"
    ready.requeue()  # it was taken after the close
    assert saver.next_batch().key[0] == b"00000_of_00002:b"
    with pytest.raises(OUT):
        saver.next_batch()


# -- save and restore


def documents():
    return [example(f"k{k}", 2 + 2 * (k % 5)) for k in range(20)]


def run(saver, steps=None):
    """(keys, states) of the batches, with one prefetch thread's worth of examples ahead."""
    found = []
    while steps is None or len(found) < steps:
        try:
            while not saver.is_closed() and (saver.size() < 4 or saver.stats()["awaited"]):
                saver.prefetch_op()
        except OUT:
            saver.close()
        try:
            batch = saver.next_batch(timeout=20)
        except OUT:
            break
        found.append(
            (list(batch.key), batch.state("state1").tolist(), batch.state("state2").tolist())
        )
        save(batch)
    return found


def new_saver(source):
    return make(source, batch_size=3, capacity=4, allow_small_batch=True)


class Positioned:
    """A source with a position."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 20:
            raise StopIteration
        self.at += 1
        return documents()[self.at - 1]

    def save(self):
        return str(self.at).encode()

    def restore(self, state):
        self.at = int(state)


@pytest.mark.parametrize("source", [documents, Positioned])
@pytest.mark.parametrize("cut", [1, 4, 9, 20])
def test_a_restored_saver_continues(source, cut):
    whole = run(new_saver(source()))
    saver = new_saver(source())
    first = run(saver, cut)
    batch = saver.next_batch() if cut < 20 else None  # not saved: it comes again
    state = saver.save()
    del batch
    saver = new_saver(source())
    saver.restore(state)
    assert first + run(saver) == whole
    assert saver.stats()["finished"] == 20


def test_what_cannot_be_saved_or_restored():
    queue = lt.FIFOQueue(3, ["string"], name="q")
    saver = make(documents())
    with pytest.raises(errors.FailedPreconditionError, match="has not had an example"):
        saver.save()
    examples = iter(documents())
    saver = make(lambda: next(examples))
    saver.prefetch_op()
    with pytest.raises(errors.UnimplementedError, match="a function or a queue"):
        saver.save()
    state = saver.save(data=True)
    other = make(documents(), initial_states={"state1": np.zeros(3, np.float32)})
    with pytest.raises(errors.FailedPreconditionError, match="this saver has"):
        other.restore(state)
    other = make(documents(), num_unroll=4)
    with pytest.raises(errors.FailedPreconditionError, match="2 steps in a segment"):
        other.restore(state)
    for damaged in (b"", state[:30], state[:-1], state[:-9] + b"x" + state[-8:], b"x" + state):
        with pytest.raises(errors.DataLossError):
            make(documents()).restore(damaged)
    for at in range(len(state)):
        with pytest.raises(errors.DataLossError):
            make([]).restore(state[:at] + bytes([state[at] ^ 4]) + state[at + 1 :])
    other = make(queue.dequeue)
    other.restore(state)
    assert other.stats()["live"] == 1
    with pytest.raises(errors.FailedPreconditionError, match="examples were inserted"):
        other.restore(state)


def test_a_plain_close_lets_a_waiting_prefetch_in():
    saver = make([example(str(i), 2) for i in range(3)], batch_size=1, capacity=1)
    saver.prefetch_op()
    waiting = Call(saver.prefetch_op)
    until(waiting.is_listed)
    saver.close()
    with pytest.raises(errors.CancelledError):
        saver.prefetch_op()
    keys = []
    for _ in range(2):
        batch = saver.next_batch(timeout=60)
        keys += list(batch.key)
        save(batch)
    waiting.thread.join()
    assert waiting.error is None
    assert keys == [b"00000_of_00001:0", b"00000_of_00001:1"]
    with pytest.raises(OUT):
        saver.next_batch(timeout=0)
