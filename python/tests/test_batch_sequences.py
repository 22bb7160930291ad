# SPDX-License-Identifier: Apache-2.0
"""batch_sequences_with_states: padding, sparse and ragged fields, threads (upstream's tests)."""

import levada as lv
import numpy as np
import pytest
from input_support import runners  # noqa: F401
from levada import errors
from levada import train as lt

OUT = errors.OutOfRangeError


def sparse(rows, shape):
    """A sparse value of {index: value}."""
    indices = np.array(sorted(rows), np.int64).reshape(len(rows), len(shape))
    return lt.SparseTensorValue(indices, np.array([rows[i] for i in sorted(rows)]), np.array(shape))


def examples(n, steps=4, length=3):
    for i in range(n):
        yield {
            "key": f"key:{i}",
            "length": length,
            "seq1": np.arange(steps * 5, dtype=np.float32).reshape(steps, 5),
            "seq2": np.arange(steps * 8, dtype=np.int64).reshape(steps, 4, 2),
            "seq3": sparse({(t, t % 3): 10 * t + i for t in range(steps)}, (steps, 3)),
            "seq4": lv.Ragged(np.arange(6), ([0, 1, 3, 3, 6],)) if steps == 4 else None,
            "context1": np.array([3, 4], np.int32),
            "context2": sparse({(0, 1): i, (1, 0): 5 + i}, (2, 3)),
        }


def make(source, num_unroll=2, sequences=("seq1", "seq2", "seq3", "seq4"), **more):
    options = {
        "input_key": "key",
        "input_sequences": list(sequences),
        "input_context": ["context1", "context2"],
        "input_length": "length",
        "initial_states": {"state1": np.array([1, 2, 3], np.float32), "state2": np.zeros((1, 2))},
        "batch_size": 2,
    }
    return lt.batch_sequences_with_states(source, num_unroll=num_unroll, **(options | more))


def save(batch):
    batch.save_state("state1", batch.state("state1") + 1)
    batch.save_state("state2", batch.state("state2") - 1)


@pytest.mark.parametrize("pad", [True, False])
def test_basic(running, pad):
    batches = make(examples(2), pad=pad, capacity=2, num_threads=1)
    running()
    batch = batches(timeout=20)
    assert list(batch.key) == [b"00000_of_00002:key:0", b"00000_of_00002:key:1"]
    assert batch.length.tolist() == [2, 2]
    assert batch.sequences["seq1"].tolist() == [[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]] * 2
    found = batch.sequences["seq3"]
    assert found.indices.tolist() == [[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    assert found.values.tolist() == [0, 10, 1, 11]
    assert found.dense_shape.tolist() == [2, 2, 3]
    assert batch.sequences["seq4"].to_list() == [[[0], [1, 2]], [[0], [1, 2]]]
    assert batch.context["context1"].tolist() == [[3, 4]] * 2
    assert batch.context["context2"].indices.tolist() == [
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 1],
        [1, 1, 0],
    ]
    assert batch.context["context2"].values.tolist() == [0, 5, 1, 6]
    assert batch.context["context2"].dense_shape.tolist() == [2, 2, 3]
    save(batch)
    batch = batches(timeout=20)
    assert batch.length.tolist() == [1, 1]
    assert batch.sequences["seq3"].indices.tolist() == [[0, 0, 2], [0, 1, 0], [1, 0, 2], [1, 1, 0]]
    assert batch.sequences["seq4"].to_list() == [[[], [3, 4, 5]], [[], [3, 4, 5]]]
    assert batch.state("state1").tolist() == [[2, 3, 4]] * 2
    save(batch)
    with pytest.raises(OUT):
        batches(timeout=20)
    assert batches.stats()["finished"] == 2
    assert batches.stats()[f"queue/{batches.name}/ready_segment_batches_"] == 0


def test_advanced_padding(running):
    batches = make(examples(2), num_unroll=3, input_length=None, num_threads=1)
    running()
    batch = batches(timeout=20)
    assert batch.total_length.tolist() == [4, 4]
    save(batch)
    batch = batches(timeout=20)
    assert batch.length.tolist() == [1, 1]
    assert batch.sequences["seq1"][0].tolist() == [[15, 16, 17, 18, 19], [0] * 5, [0] * 5]
    assert batch.sequences["seq3"].dense_shape.tolist() == [2, 3, 3]
    assert batch.sequences["seq4"].to_list()[0] == [[3, 4, 5], [], []]
    save(batch)


def test_not_a_multiple_reaches_the_coordinator(running):
    batches = make(examples(2), num_unroll=3, pad=False)
    coord = running()
    text = "should be a multiple of: 3, but saw value: 4. Consider setting pad=True"
    with pytest.raises(errors.InvalidArgumentError, match=text):
        batches(timeout=20)
    with pytest.raises(errors.InvalidArgumentError, match=text):
        coord.join(stop_grace_period_secs=20)
    coord.clear_stop()


def test_a_constant_key_can_be_made_unique(running):
    source = ({**e, "key": "same"} for e in examples(6))
    batches = make(source, make_keys_unique=True, make_keys_unique_seed=1)
    running()
    keys = set()
    for batch in batches:
        keys |= set(batch.key)
        save(batch)
    assert len(keys) == 12
    assert all(b":same0000000" in key for key in keys)


def test_lengths_that_differ(running):
    source = [{**e, "seq2": e["seq2"][:3]} for e in examples(1)]
    batches = make(source)
    coord = running()
    with pytest.raises(errors.InvalidArgumentError, match="All sequence lengths must match"):
        batches(timeout=20)
    with pytest.raises(errors.InvalidArgumentError):
        coord.join(stop_grace_period_secs=20)
    coord.clear_stop()


def test_a_step_is_told_why_the_source_failed(running):
    source = [{"key": "a", "x": np.arange(4)}, {"key": "b", "x": np.arange(0)}]
    batches = lt.batch_sequences_with_states(source, "key", ["x"], [], None, {"s": 0}, 2, 1)
    coord = running()
    batch = batches(timeout=20)
    with pytest.raises(errors.InvalidArgumentError):
        coord.join(stop_grace_period_secs=20)
    coord.clear_stop()
    with pytest.raises(errors.InvalidArgumentError, match="zero_length"):
        batch.save_state("s", [1])


@pytest.mark.parametrize(
    ("value", "filler"),
    [([1, 2], 0), ([1.5, 2.5], 0.0), (["a", "b"], b""), (np.ones((2, 2)), [0.0, 0.0])],
)
def test_padding(running, value, filler):
    source = [{"key": "a", "x": value}]
    batches = lt.batch_sequences_with_states(
        source, "key", ["x"], [], None, {"s": 0}, num_unroll=5, batch_size=1
    )
    running()
    batch = batches(timeout=20)
    assert batch.sequences["x"].shape[:2] == (1, 5)
    assert batch.sequences["x"][0, 2:].tolist() == [filler] * 3
    assert batch.length.tolist() == [2]
    batch.save_state("s", [1])


def test_padding_of_sparse_fields_alone(running):
    source = [
        {"key": "a", "x": sparse({(3, 0): 1.5}, (4, 1)), "y": sparse({(4, 1): 2.5}, (5, 2))},
    ]
    batches = lt.batch_sequences_with_states(
        source, "key", ["x", "y"], [], None, {"s": 0}, num_unroll=4, batch_size=1
    )
    running()
    batch = batches(timeout=20)
    assert batch.sequence_count.tolist() == [2]  # 5 steps
    assert batch.sequences["x"].indices.tolist() == [[0, 3, 0]]
    assert not len(batch.sequences["y"].values)
    batch.save_state("s", [1])
    batch = batches(timeout=20)
    assert not len(batch.sequences["x"].values)
    assert batch.sequences["y"].indices.tolist() == [[0, 0, 1]]
    assert batch.sequences["y"].dense_shape.tolist() == [1, 4, 2]
    batch.save_state("s", [1])


def test_many_threads_get_everything(running):
    batches = make(examples(200), capacity=10, num_threads=5)
    running()
    seen = []
    for batch in batches:
        assert (batch.sequences["seq2"][:, 0, 0, 0] == 16 * batch.sequence).all()
        assert (batch.state("state1")[:, 0] == 1 + batch.sequence).all()
        seen += list(batch.key)
        save(batch)
    assert len(seen) == len(set(seen)) == 400


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="num_unroll must be an int"):
        make([], num_unroll=2.0)
    with pytest.raises(ValueError, match="num_threads=0"):
        make([], num_threads=0)
    with pytest.raises(ValueError, match="needs pad=True"):
        make([], input_length=None, pad=False)
    with pytest.raises(TypeError, match="the source is 'key'"):
        make("key")


def test_a_dataset_is_a_source(running):
    ds = lv.from_records([{"key": f"k{i}", "x": np.arange(i + 1)} for i in range(9)])
    batches = lt.batch_sequences_with_states(
        ds, "key", ["x"], [], None, {"s": np.zeros(2)}, num_unroll=2, batch_size=2, num_threads=2
    )
    running()
    total = 0
    for batch in batches:
        total += int(batch.sequences["x"].sum())
        batch.save_state("s", batch.state("s"))
    assert total == sum(i * (i + 1) // 2 for i in range(9))
