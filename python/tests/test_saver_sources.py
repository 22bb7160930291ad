# SPDX-License-Identifier: Apache-2.0
"""The state saver over every kind of source: empty values, and saves at every moment."""

import levada as lv
import numpy as np
import pytest
from levada import errors
from levada import train as lt

SPARSE = lt.SparseTensorValue
KEYS = ["a", "b", "c", "d"]


class Again:
    """An iterable that begins again for each iterator."""

    def __iter__(self):
        return iter([{"k": key, "x": np.arange(4)} for key in KEYS])


def dataset():
    return lv.from_arrays({"k": np.array(KEYS, object), "x": [np.arange(4)] * len(KEYS)})


def function():
    examples = iter(Again())
    return lambda: next(examples)


def queue():
    made = lt.FIFOQueue(10, ["string", "int64"], [(), (4,)], names=["k", "x"])
    for example in Again():
        made.enqueue(example)
    made.close()
    return made


SOURCES = {
    "iterable": Again,
    "iterator": lambda: iter(Again()),
    "dataset": dataset,
    "dataset iterator": lambda: iter(dataset()),
    "function": function,
    "queue": queue,
}


def saver(source, unroll=2):
    return lt.SequenceQueueingStateSaver(
        source, 1, unroll, None, "k", ["x"], [], {"h": np.zeros(1)},
        allow_small_batch=True, pad=True,
    )  # fmt: skip


def step(made):
    """(key, number) of the next segment, whose state is saved."""
    batch = made.next_batch(timeout=0)
    batch.save_state("h", batch.state("h"))
    return batch.key[0].decode()[-1], int(batch.sequence[0])


def rest(made):
    try:
        while True:
            made.prefetch_op()
    except errors.OutOfRangeError:
        made.close()
    found = []
    while True:
        try:
            found.append(step(made))
        except errors.OutOfRangeError:
            return found


@pytest.mark.parametrize("moment", range(9))
@pytest.mark.parametrize("data", [None, False, True])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_restored_saver_delivers_exactly_the_rest(kind, data, moment):
    first = saver(SOURCES[kind]())
    seen = []
    for n in range(moment):  # an example is read before each two steps
        if n % 2 == 0:
            first.prefetch_op()
        seen.append(step(first))
    if moment == 0:
        first.prefetch_op()
    if kind in ("function", "queue") and data is not True:
        with pytest.raises(errors.UnimplementedError, match="data=True"):
            first.save(data=data)
        return
    if "dataset" in kind and data is False:
        with pytest.raises(errors.InvalidArgumentError, match="saved position"):
            first.save(data=data)
        return
    state = first.save(data=data)
    source = SOURCES[kind]()
    if kind == "function":  # its user restores its position
        for _ in range(max(1, (moment + 1) // 2)):
            source()
    if kind == "queue":
        for _ in range(max(1, (moment + 1) // 2)):
            source.dequeue()
    again = saver(source)
    again.restore(state)
    assert sorted(seen + rest(again)) == [(key, n) for key in KEYS for n in range(2)]


def sparse(entries, shape, dtype=np.int64):
    """A sparse value whose entries are at random places."""
    places = np.random.default_rng(entries).permutation(int(np.prod(shape)))[:entries]
    indices = np.stack(np.unravel_index(np.sort(places), shape), 1)
    return SPARSE(indices, np.arange(1, entries + 1).astype(dtype), np.array(shape))


def dense(value):
    made = np.zeros(tuple(value.dense_shape), np.asarray(value.values).dtype)
    for at, number in zip(value.indices, value.values, strict=True):
        made[tuple(at)] = number
    return made


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("inner", [(), (3,), (2, 3)])
@pytest.mark.parametrize("counts", [(0,), (0, 0), (2, 0), (0, 2), (0, 3, 0)])
def test_sparse_values_with_and_without_entries(counts, inner, dtype):
    shape = (4, *inner)
    examples = [
        {"k": str(i), "x": sparse(n, shape, dtype), "c": sparse(n, shape, dtype)}
        for i, n in enumerate(counts)
    ]
    made = lt.SequenceQueueingStateSaver(
        iter(examples), 1, 2, None, "k", ["x"], ["c"], {"h": np.zeros(1)},
        allow_small_batch=True, pad=True,
    )  # fmt: skip
    with pytest.raises(errors.OutOfRangeError):
        while True:
            made.prefetch_op()
    made.close()
    for _ in range(2 * len(counts)):
        batch = made.next_batch(timeout=0)
        example = examples[int(batch.key[0].rpartition(b":")[2])]
        first = 2 * int(batch.sequence[0])
        want = dense(example["x"])[first : first + 2]
        assert dense(batch.sequences["x"])[0].tolist() == want.tolist()
        assert dense(batch.context["c"])[0].tolist() == dense(example["c"]).tolist()
        batch.save_state("h", batch.state("h"))


@pytest.mark.parametrize(
    "value",
    [
        SPARSE([], [], [4, 3]),
        SPARSE(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), np.array([4, 3])),
        SPARSE(np.zeros((0, 1), np.int64), np.zeros(0, np.float32), np.array([4, 3])),
    ],
)
def test_an_empty_sparse_value_may_be_written_in_any_way(value):
    made = saver(iter([{"k": "a", "x": value}]))
    made.prefetch_op()
    assert made.next_batch(timeout=0).sequences["x"].dense_shape.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (SPARSE([[0, 1]], [1, 2], [4, 3]), r"2 rows .* 2 columns .* got the shape \[1, 2\]"),
        (SPARSE([[0]], [1], [4, 3]), r"got the shape \[1, 1\]"),
        (SPARSE([[0, 1]], [], [4, 3]), r"0 rows .* got the shape \[1, 2\]"),
        (SPARSE([[9, 1]], [1], [4, 3]), r"must be in \[0, 4\)"),
    ],
)
def test_an_unfit_value_names_field_and_key(value, message):
    fit = {"k": "fit", "x": sparse(2, (4, 3))}
    for examples in ([{"k": "bad", "x": value}], [fit, {"k": "bad", "x": value}]):
        made = saver(iter(examples))
        for _ in examples[1:]:
            made.prefetch_op()
        with pytest.raises(errors.InvalidArgumentError, match=f"'bad'.*'x'.*{message}"):
            made.prefetch_op()
