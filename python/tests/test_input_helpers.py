# SPDX-License-Identifier: Apache-2.0
"""Batchers of levada.train: spec/input_helpers.md sections 2 to 5."""

import contextlib
import functools
import itertools

import levada as lv
import numpy as np
import pytest
from input_support import OUT, QUIET, counter, fails, runners  # noqa: F401  a fixture
from levada import errors
from levada import train as lt
from levada.train._structure import Fields

# -- structure: T1 to T3, DictHelperTest

STRUCTURES = {
    "bare": (lambda i: i, lambda b: b),
    "list": (lambda i: [i, str(i)], lambda b: b[0]),
    "tuple": (lambda i: (str(i), np.full(2, i)), lambda b: b[1][:, 0]),
    "dict": (lambda i: {"c": i, "s": str(i), 1: [i, i]}, lambda b: b["c"]),
    "list of one": (lambda i: [i], lambda b: b),
    "dict of one": (lambda i: {"c": i}, lambda b: b["c"]),
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_batches_have_the_structure_of_examples(running, structure):
    make, look = STRUCTURES[structure]
    batches = lt.batch((make(i) for i in range(30)), 10)
    assert batches.queue.size() == 0 and batches.stats()["size"] == 0
    running()
    found = [batches() for _ in range(3)]
    assert np.array_equal(np.concatenate([look(batch) for batch in found]), np.arange(30))
    kind = {"list": list, "tuple": tuple, "dict": dict, "dict of one": dict}.get(structure)
    assert type(found[0]) is (kind or np.ndarray)
    for _ in range(2):
        with pytest.raises(OUT):
            batches()


def test_keys_are_ordered_by_their_text(running):
    batches = lt.batch({"z": 1, 1: 42, ("a", "b"): 100}, 1)
    running()
    batch = batches()
    assert list(batch) == [("a", "b"), 1, "z"]
    assert [int(value[0]) for value in batch.values()] == [100, 42, 1]


@QUIET
@pytest.mark.parametrize(
    ("examples", "match"),
    [
        ([{"a": 1, "b": 2}, {"a": 1}], "lacks field 'b'; it has 'a'"),
        ([{"a": 1}, {"a": 1, "b": 2}], "new field 'b'"),
        ([[1, 2], [1, 2, 3]], "a list of 3, the first was a list of the fields 0, 1"),
        ([[1, 2], {"a": 1}], "same structure"),
        ([1, [1]], "the first was one array"),
        ([np.zeros(3), np.zeros(4)], r"Expected \[3\], got \[4\]"),
        ([{"a": 1}, {"a": "x"}], "does not fit the first one"),
        ([[]], "at least one field"),
    ],
)
def test_examples_that_do_not_fit_are_errors(examples, match):
    fails(lambda: lt.batch(iter(examples), 2), errors.InvalidArgumentError, match)


@QUIET
def test_a_field_that_is_no_array_is_named():
    batches = functools.partial(lt.batch, batch_size=1)
    ragged, date = {"a": 1, "b": [[1], [1, 2]]}, {"a": 1, "b": np.datetime64("2020")}
    fails(
        lambda: batches(iter([ragged])),
        errors.InvalidArgumentError,
        "field 'b' of the first example",
    )
    fails(lambda: batches(iter([date])), TypeError, "field 'b' of the first example: .*datetime64")


def test_structures_in_structures_are_type_errors():
    for example in ([1, [2]], [{"a": 1}], (1, (2,))):
        fails(lambda e=example: lt.batch(iter([e]), 1), TypeError, "one inside another")
        with pytest.raises(TypeError, match=r"iter\(examples\) for a list of examples"):
            lt.batch(example, 1)


def test_a_sparse_field_is_told_what_to_use():
    record = lv.make_example({"t": [1, 2]})
    example = lv.parse_single_example(record, {"t": lv.VarLenFeature(lv.int64)})
    fails(lambda: lt.batch(iter([[1, example["t"]]]), 1), TypeError, "RaggedFeature in place of")


def test_wrong_arguments_are_refused_at_once():
    for wrong, match in (
        ([], "Expected at least one tensor in batch"),
        ((), "at least one tensor"),
        ({}, "at least one tensor"),
    ):
        with pytest.raises(ValueError, match=match):
            lt.batch(wrong, 3)
    for join, more in ((lt.batch_join, ()), (lt.shuffle_batch_join, (32, 16))):
        with pytest.raises(ValueError, match="Expected at least one input in"):
            join([], 3, *more)
        with pytest.raises(TypeError, match="sources must be a list"):
            join(lambda: 1, 3, *more)
    for source in (7, "tokens", None, object()):
        with pytest.raises(TypeError, match="a function that returns one example"):
            lt.batch(source, 3)
    for options in ({"batch_size": 0}, {"batch_size": 1, "num_threads": 0},
                    {"batch_size": 1, "capacity": 0}):  # fmt: skip
        with pytest.raises(ValueError):
            lt.batch([1], **options)
    assert not lt.get_collection("queue_runners")


def test_shapes_are_checked_before_anything_runs():
    with pytest.raises(ValueError, match="Cannot infer Tensor's rank"):
        lt.batch([1], 2, shapes=[None])
    with pytest.raises(ValueError, match="All shapes must be fully defined"):
        lt.batch([1], 2, shapes=[[None, 2]])
    fails(lambda: lt.batch([1, 2], 1, shapes=[()]), ValueError, r"len\(shapes\)=1")
    fails(lambda: lt.batch({"a": 1}, 1, shapes={"b": ()}), ValueError, "shapes has the keys")


def test_given_shapes_hold_whatever_comes_first(running):
    rows = [{"b": np.zeros((1, 2)), "a": 1}, {"b": np.zeros((3, 2)), "a": 2}]
    in_order = lt.batch(iter(rows), 2, shapes=[(), (None, 2)], dynamic_pad=True)
    as_dict = lt.batch(iter(rows), 2, shapes={"b": (None, 2), "a": ()}, dynamic_pad=True)
    running()
    assert in_order()["b"].shape == as_dict()["b"].shape == (2, 3, 2)


# -- lists and dicts of fields


def test_a_list_is_one_example_of_several_fields(running):
    """As a list of tensors is: constants repeat, sources are read together."""
    queue = lt.FIFOQueue(4, [lv.int64], shapes=[()])
    queue.enqueue_many([[7, 8, 9]])
    queue.close()
    fields = [itertools.count().__next__, queue, iter("abc"), np.zeros(2), "x"]
    listed, constant = lt.batch(fields, 3), lt.batch((1, "y"), 2)
    named = lt.batch({"a": lt.range_input_producer(4, 1, shuffle=False), "b": 5}, 4)
    joined = lt.batch_join([[1, "p"], [2, "q"]], 4)
    running()
    (found,) = listed
    assert [value.tolist() for value in found] == [
        [0, 1, 2], [7, 8, 9], [b"a", b"b", b"c"], [[0, 0]] * 3, [b"x"] * 3,
    ]  # fmt: skip
    for _ in range(50):  # without an end
        assert [value.tolist() for value in constant()] == [[1, 1], [b"y", b"y"]]
        assert {*zip(*(value.tolist() for value in joined()), strict=True)} <= {
            (1, b"p"), (2, b"q"),
        }  # fmt: skip
    assert {key: value.tolist() for key, value in named().items()} == {
        "a": [0, 1, 2, 3], "b": [5] * 4,
    }  # fmt: skip


def test_fields_of_one_example_belong_together(running):
    """Many threads read the fields of an example, and an error between two of them loses none."""
    fails_once, rest = [errors.CancelledError("for once")], itertools.count()

    def second():
        while fails_once:
            raise fails_once.pop()
        return next(rest)

    pairs = lt.batch([counter(4000), counter(4000)], 10, num_threads=4)
    fields = Fields([itertools.count().__next__, second], "batch")
    with pytest.raises(errors.CancelledError):
        fields()
    assert fields() == [0, 0] and fields() == [1, 1]
    running()
    seen = [(int(a), int(b)) for x, y in pairs for a, b in zip(x, y, strict=True)]
    assert sorted(seen) == [(i, i) for i in range(4000)]


def test_lists_of_fields_go_to_buckets(running):
    f = lt.bucket([counter(12), lambda: np.zeros(2)], lambda e: e[0] % 3, 4, 3)
    running()
    found = {int(which): numbers.tolist() for which, (numbers, _) in f}
    assert found == {i: [*range(i, 12, 3)] for i in range(3)}


def test_a_class_is_not_a_value():
    with pytest.raises(TypeError, match="field 1 is the class int; pass a value"):
        lt.batch([1, int], 2)


# -- batch: T7, T8, T10, BatchTest


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float16, np.bool_, np.complex64])
def test_dtypes_stay_as_they_are(running, dtype):
    batches = lt.batch((np.ones(3, dtype) for _ in range(4)), 2)
    running()
    assert batches().dtype == dtype


def test_rows_of_growing_length_are_padded(running):
    examples = (
        [np.full(i % 7, i, np.int32), np.array([f"{i}"] * (i % 3), "S2")] for i in range(30)
    )
    batches = lt.batch(examples, 10, dynamic_pad=True)
    running()
    for begin in (0, 10, 20):
        numbers, texts = batches()
        for row, i in enumerate(range(begin, begin + 10)):
            assert numbers[row].tolist() == [i] * (i % 7) + [0] * (numbers.shape[1] - i % 7)
            assert texts[row].tolist() == [b"%d" % i] * (i % 3) + [b""] * (2 - i % 3)
    with pytest.raises(OUT):
        batches()


def test_many_at_once_keep_their_order(running):
    examples = ([np.arange(3 * i, 3 * i + 3), np.array([f"s{j}" for j in range(3 * i, 3 * i + 3)])]
                for i in range(20))  # fmt: skip
    batches = lt.batch(examples, 8, enqueue_many=True)
    running()
    found = [*batches]
    assert [len(numbers) for numbers, _ in found] == [8] * 7
    assert np.array_equal(np.concatenate([n for n, _ in found]), np.arange(56))
    assert [t for _, texts in found for t in texts] == [b"s%d" % i for i in range(56)]
    assert batches.stats()["dropped_records"] == 4


def test_ragged_rows_at_once_are_padded_one_by_one(running):
    rows = [list(range(i % 5)) for i in range(64)]
    messages = [lv.make_example({"t": row, "n": i}) for i, row in enumerate(rows)]
    spec = {"t": lv.RaggedFeature(lv.int64), "n": lv.FixedLenFeature([], lv.int64)}
    source = iter([lv.parse_example(messages[i : i + 16], spec) for i in range(0, 64, 16)])
    batches = lt.batch(source, 6, enqueue_many=True, dynamic_pad=True)
    running()
    at = 0
    for batch in batches:
        assert batch["n"].tolist() == list(range(at, at + 6))
        longest = max(len(row) for row in rows[at : at + 6])
        assert batch["t"].tolist() == [r + [0] * (longest - len(r)) for r in rows[at : at + 6]]
        at += 6
    assert at == 60


def test_columns_of_levada_are_rows(running):
    ragged = lv.Ragged(np.arange(10.0).reshape(5, 2), ([0, 2, 2, 5],))
    texts = next(iter(lv.from_arrays({"s": [b"a", b"bb", b""]}).batch(3)))["s"]
    words = lv.Ragged(texts, ([0, 1, 1, 3],))
    batches = lt.batch([ragged, texts, words], 3, enqueue_many=True, dynamic_pad=True)
    running()
    values, strings, rows = batches()
    assert (
        values.shape == (3, 3, 2)
        and values[2].tolist() == np.arange(4.0, 10).reshape(3, 2).tolist()
    )
    assert strings.tolist() == [b"a", b"bb", b""]
    assert rows.tolist() == [[b"a", b""], [b"", b""], [b"bb", b""]]


@QUIET
def test_ragged_rows_need_padding():
    ragged = lv.Ragged(np.arange(5), ([0, 2, 5],))
    source = {"t": ragged}
    fails(lambda: lt.batch(source, 1, enqueue_many=True), ValueError, "dynamic_pad=True pads it")
    fails(lambda: lt.batch([1], 1, enqueue_many=True), ValueError, "with enqueue_many=True it has")


def test_threads_lose_and_double_nothing(running):
    batches = lt.batch(counter(35), 5, num_threads=4)
    running()
    assert sorted(np.concatenate([*batches])) == list(range(35))


def test_threads_deliver_a_smaller_last_batch(running):
    batches = lt.batch(counter(33), 5, num_threads=4, allow_smaller_final_batch=True)
    running()
    found = [*batches]
    assert [len(batch) for batch in found] == [5] * 6 + [3]
    assert sorted(np.concatenate(found)) == list(range(33))


def test_the_last_batch_may_be_smaller(running):
    batches = lt.batch(({"c": i} for i in range(35)), 10, allow_smaller_final_batch=True)
    running()
    assert [len(batch["c"]) for batch in batches] == [10, 10, 10, 5]
    assert batches.stats()["dropped_records"] == 0
    with pytest.raises(OUT):
        batches()


def test_a_remainder_is_left_out_and_counted(running):
    batches = lt.batch(range(35), 10)
    running()
    assert [len(batch) for batch in batches] == [10, 10, 10]
    assert batches.stats()["dropped_records"] == 5


def test_batches_may_be_larger_than_the_queue(running):
    batches = lt.batch(range(100), 25, capacity=3)
    mixed = lt.shuffle_batch(range(100), 25, capacity=4, min_after_dequeue=3, seed=1)
    running()
    assert np.concatenate([*batches]).tolist() == list(range(100))
    assert sorted(np.concatenate([*mixed])) == list(range(100))


def test_a_shared_name_is_one_queue(running):
    sources = [itertools.repeat([i]) for i in range(2)]
    first, second = (lt.batch(s, 4, capacity=4, shared_name="shared_batch") for s in sources)
    running()
    for stream in (first, second):
        seen = set()
        while seen != {0, 1}:
            seen |= set(stream(timeout=20).tolist())
    assert first.name == second.name == "shared_batch"


# -- keep_input: T6


def is_even(example):
    return int(example[0]) % 2 == 0


KEEPS = {
    "function": (lambda i: (i, str(i)), is_even, lambda b: b[0]),
    "field": (lambda i: {"n": i, "even": i % 2 == 0}, "even", lambda b: b["n"]),
    "number": (lambda i: [i, i % 2 == 0], 1, lambda b: b[0]),
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("keep", KEEPS)
def test_examples_are_kept_or_dropped(running, keep, threads):
    make, how, look = KEEPS[keep]
    count = counter(40)
    maybe = lt.maybe_batch(lambda: make(count()), how, 5, num_threads=threads)
    count2 = counter(80)
    mixed = lt.maybe_shuffle_batch(lambda: make(count2()), 5, 32, 16, how, num_threads=threads)
    running()
    found = [look(batch) for batch in maybe]
    assert [len(batch) for batch in found] == [5] * 4
    assert sorted(np.concatenate(found)) == list(range(0, 40, 2))
    assert sorted(np.concatenate([look(b) for b in mixed])) == list(range(0, 80, 2))


@pytest.mark.parametrize("threads", [1, 3])
def test_one_answer_keeps_or_drops_many(running, threads):
    count = counter(16)

    def rows():
        i = count()
        return [np.full(5, i), np.full(5, str(i))]

    def keep(example):
        return example[0][0] % 4 == 0

    maybe = lt.maybe_batch(rows, keep, 5, num_threads=threads, enqueue_many=True)
    joined = lt.maybe_batch_join(
        [iter([[np.full(5, i)] for i in range(16)])], keep, 5, enqueue_many=True
    )
    running()
    numbers = np.concatenate([batch[0] for batch in maybe])
    assert sorted(numbers) == sorted([*range(0, 16, 4)] * 5)
    assert np.concatenate([*joined]).tolist() == [i for i in range(0, 16, 4) for _ in range(5)]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_vector_keeps_and_drops_rows(running, threads):
    count = counter(10)

    def rows():
        i = count()
        values = np.arange(4 * i, 4 * i + 4)
        texts = [b"%d" % value for value in values]
        lengths = lv.Ragged(np.repeat(values, values % 3), np.cumsum([0, *(values % 3)]))
        return {"v": values, "s": texts, "keep": values % 2 == 0}, lengths

    def source():
        fields, _ = rows()
        return fields

    maybe = lt.maybe_batch(source, "keep", 5, num_threads=threads, enqueue_many=True)
    constant = lt.maybe_batch(
        ([np.arange(3 * i, 3 * i + 3)] for i in range(5)), [True, False, True], 2, enqueue_many=True
    )
    running()
    found = [*maybe]
    assert [len(batch["v"]) for batch in found] == [5] * 4
    assert sorted(np.concatenate([batch["v"] for batch in found])) == list(range(0, 40, 2))
    for batch in found:
        assert batch["s"].tolist() == [b"%d" % value for value in batch["v"]]
        assert batch["keep"].all()
    assert np.concatenate([*constant]).tolist() == [0, 2, 3, 5, 6, 8, 9, 11, 12, 14]


def test_ragged_rows_are_kept_in_their_places(running):
    rows = [[[0] * i, [1] * i, [2] * i] for i in range(4)]
    flat = [np.array([value for row in r for value in row], int) for r in rows]
    source = [{"t": lv.Ragged(flat[i], (np.arange(4) * i,)), "n": np.arange(3)} for i in range(4)]
    keep = np.array([False, True, True])
    maybe = lt.maybe_batch(iter(source), keep, 2, enqueue_many=True, dynamic_pad=True)
    running()
    assert [b["t"].tolist() for b in maybe] == [r[1:] for r in rows]


def test_nothing_kept_is_no_empty_batch(running):
    source = iter([[np.arange(3)] for _ in range(5)])
    maybe = lt.maybe_batch(source, lambda e: np.zeros(3, bool), 2, enqueue_many=True,
                           allow_smaller_final_batch=True)  # fmt: skip
    none = lt.maybe_batch(range(10), False, 2, allow_smaller_final_batch=True)
    every = lt.maybe_batch(range(10), None, 5)
    running()
    for stream in (maybe, none):
        with pytest.raises(OUT):
            stream()
    assert np.concatenate([*every]).tolist() == list(range(10))


def test_vectors_need_rows():
    vector = "`keep_input` cannot be a vector when `enqueue_many=False`."
    with pytest.raises(ValueError, match=vector):
        lt.maybe_batch([1], [True, False], 2)
    with pytest.raises(ValueError, match="must be 0 or 1 dimensions"):
        lt.maybe_batch([1], np.ones((2, 2)), 2, enqueue_many=True)
    fails(lambda: lt.maybe_batch([1], lambda e: [True], 2), ValueError, vector)
    fails(lambda: lt.maybe_batch({"a": 1}, "b", 2), ValueError, "no field 'b'.*it has 'a'")
    rows = [np.arange(3)]
    fails(lambda: lt.maybe_batch(rows, lambda e: [1, 0], 2, enqueue_many=True), ValueError, "2 ent")


# -- gauges


def test_gauges_have_the_names_of_tensorflow_and_stay_in_bounds(running):
    streams = {
        "batch/fraction_of_8_full": lt.batch(counter(60), 2, capacity=8),
        "batch_join/fraction_of_32_full": lt.batch_join([counter(60)], 2),
        "mine/fraction_over_3_of_5_full": lt.shuffle_batch(counter(60), 2, 8, 3, name="mine"),
        "shuffle_batch_join/fraction_over_0_of_4_full": lt.shuffle_batch_join(
            [counter(60)], 2, 4, 0),
        "endless/fraction_of_-1_full": lt.batch(counter(60), 2, capacity=-1, name="endless"),
    }  # fmt: skip
    running()
    for name, stream in streams.items():
        for _ in range(20):
            assert 0 <= stream.stats()[name] <= 1
            stream()


# -- closed from outside


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cancel_pending", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: lt.input_producer(np.arange(5)),
        lambda n: lt.string_input_producer(["a", "b"]),
        lambda n: lt.range_input_producer(4),
        lambda n: lt.slice_input_producer([np.arange(4), np.arange(4)]),
        lambda n: lt.batch(itertools.count(), 2, num_threads=n),
        lambda n: lt.batch(itertools.count(), 2, num_threads=n, allow_smaller_final_batch=True),
        lambda n: lt.batch({"x": itertools.count()}["x"], 2, dynamic_pad=True),
        lambda n: lt.batch(lv.range(10**9), 2),
        lambda n: lt.maybe_batch(itertools.count(), True, 2, num_threads=n),
        lambda n: lt.shuffle_batch(itertools.count(), 2, 16, 4, num_threads=n),
        lambda n: lt.maybe_shuffle_batch(itertools.count(), 2, 16, 4, True, num_threads=n),
        lambda n: lt.batch_join([itertools.count() for _ in range(n)], 2),
        lambda n: lt.maybe_batch_join([itertools.count() for _ in range(n)], True, 2),
        lambda n: lt.shuffle_batch_join([itertools.count() for _ in range(n)], 2, 16, 4),
        lambda n: lt.maybe_shuffle_batch_join(
            [itertools.count() for _ in range(n)], 2, 16, 4, True
        ),
    ],
)
def test_a_queue_that_is_closed_ends_its_threads_cleanly(make, cancel_pending, threads):
    lt.clear_collection("queue_runners")
    coord, stream = lt.Coordinator(), make(threads)
    started = lt.start_queue_runners(coord, daemon=True)
    stream(60)
    with contextlib.suppress(errors.DeadlineExceededError):  # in line after enqueues that wait
        stream.queue.close(cancel_pending_enqueues=cancel_pending, timeout=0)
    with pytest.raises(errors.OutOfRangeError):
        while True:
            stream(60)
    assert stream.queue.size() <= 1  # all that fill a batch of two were delivered
    for thread in started:
        if not thread.name.endswith("close_on_stop"):
            thread.join(60)
            assert not thread.is_alive()
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(started, stop_grace_period_secs=60)  # without an error
    lt.clear_collection("queue_runners")
