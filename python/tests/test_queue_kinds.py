# SPDX-License-Identifier: Apache-2.0
"""What is special to each queue, names, sharing and selection: spec/queues.md, Q13 to Q15, sections
7 to 9, and the tests of upstream for the padding, shuffling and priority queues."""

import collections
import gc
import random

import numpy as np
import pytest
from levada import errors, train
from waiting import Call, waiting

OUT, INVALID = errors.OutOfRangeError, errors.InvalidArgumentError

# -- padding ---------------------------------------------------------------------------------------


def ragged(capacity=10):
    return train.PaddingFIFOQueue(capacity, ["int32", "string"], [(None,), (1, None)])


def lengthy(n):
    return [n] * n, [[str(n)] * n]


def test_a_batch_is_padded_to_its_longest_and_a_single_element_is_not():
    for method in ("dequeue_many", "dequeue_up_to"):
        queue = ragged()
        for n in (0, 1, 2, 3, 2, 4):
            queue.enqueue(lengthy(n))
        numbers, words = getattr(queue, method)(5)
        assert numbers.tolist() == [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3], [2, 2, 0]]
        assert words[1].tolist() == [[b"1", b"", b""]] and words.shape == (5, 1, 3)
        number, word = queue.dequeue()
        assert number.tolist() == [4] * 4 and word.tolist() == [[b"4"] * 4]


def test_equal_sizes_need_no_padding():
    queue = train.PaddingFIFOQueue(10, ["float32", "int32"], [(None,), (None, 2)])
    queue.enqueue_many((np.ones((4, 3), np.float32), np.ones((4, 1, 2), np.int32)))
    for method in (queue.dequeue_many, queue.dequeue_up_to):
        first, second = method(2)
        assert first.shape == (2, 3) and second.shape == (2, 1, 2)
        assert first.all() and second.all()


@pytest.mark.parametrize("dtype", ["bool", "float16", "int8", "complex64"])
def test_padding_is_zero_or_false(dtype):
    queue = train.PaddingFIFOQueue(10, dtype, [(None,)])
    queue.enqueue(np.ones(1, dtype))
    queue.enqueue(np.ones(3, dtype))
    assert queue.dequeue_many(2).tolist() == [[1, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("rank", [4, 5, 6])
def test_elements_of_any_rank_are_padded(rank):
    queue = train.PaddingFIFOQueue(10, "int64", [(None,) * rank])
    queue.enqueue(np.ones((1,) * rank, np.int64))
    queue.enqueue(np.ones((2,) * rank, np.int64))
    batch = queue.dequeue_many(2)
    assert batch.shape == (2,) * (rank + 1)
    assert batch[0].sum() == 1 and batch[1].sum() == 2**rank


def test_no_elements_have_unknown_dimensions_of_zero():
    queue = train.PaddingFIFOQueue(10, ["int32", "string"], [(None, 2), (3, None)])
    for method in (queue.dequeue_many, queue.dequeue_up_to):
        numbers, words = method(0)
        assert numbers.shape == (0, 0, 2) and words.shape == (0, 3, 0)


def test_a_padding_queue_wants_shapes_of_a_known_rank():
    with pytest.raises(ValueError, match="When providing partial shapes"):
        train.PaddingFIFOQueue(10, ["int32"], None)
    with pytest.raises(ValueError, match="must have a defined rank"):
        train.PaddingFIFOQueue(10, ["int32", "int32"], [(2,), None])
    # One component: a flat list would be read as one shape, [None] as a vector of any length.
    for flat in ([None], (None,), [3], [2, None]):
        with pytest.raises(ValueError, match="must have a defined rank"):
            train.PaddingFIFOQueue(10, ["int32"], flat)
    queue = train.PaddingFIFOQueue(10, ["int32"], [[None]])
    queue.enqueue_many(np.zeros((2, 3), np.int32))
    assert queue.dequeue_many(2).shape == (2, 3)


def test_sizes_that_do_not_fit_a_partial_shape_are_named():
    queue = train.PaddingFIFOQueue(10, ["int32"], [(None, 3)])
    with pytest.raises(INVALID, match=r"component 0\. Expected \[\?,3\], got \[3,4\]"):
        queue.enqueue(np.zeros((3, 4), np.int32))
    queue = train.PaddingFIFOQueue(10, ["int32", "int32"], [(), (None, 3)])
    with pytest.raises(INVALID, match=r"component 1\. Expected \[2,\?,3\], got \[2,3,4\]"):
        queue.enqueue_many(([1, 2], np.zeros((2, 3, 4), np.int32)))
    assert queue.size() == 0


# -- random shuffle --------------------------------------------------------------------------------


def shuffled(capacity, least, seed=None):
    return train.RandomShuffleQueue(capacity, least, ["int64"], [()], seed=seed)


def test_some_elements_stay_until_the_close():
    queue = shuffled(10, 2)
    queue.enqueue_many([[1, 2, 3, 4]])
    found = [int(queue.dequeue()) for _ in range(2)]
    call = waiting(queue.dequeue)
    queue.close()
    found += [int(call.join()), int(queue.dequeue())]
    assert sorted(found) == [1, 2, 3, 4]
    with pytest.raises(OUT):
        queue.dequeue()


def test_up_to_more_than_may_be_taken_waits_for_the_close():
    queue = shuffled(10, 2)
    queue.enqueue_many([[1, 2, 3, 4]])
    call = waiting(queue.dequeue_up_to, 3)
    queue.close()
    found = call.join().tolist()
    assert len(found) == 3
    assert sorted(found + queue.dequeue_up_to(1).tolist()) == [1, 2, 3, 4]


def test_many_may_be_more_than_fit_beside_those_that_stay():
    queue = shuffled(5, 3)
    call = waiting(queue.dequeue_many, 8)
    queue.enqueue_many([range(11)])
    assert len(set(call.join().tolist())) == 8
    assert queue.size() == 3


@pytest.mark.parametrize(
    ("least", "text"), [(-1, "must be >= 0"), (5, "must be < capacity"), (6, "must be < capacity")]
)
def test_the_number_that_stays_must_make_sense(least, text):
    with pytest.raises(ValueError, match=text):
        shuffled(5, least)


def test_a_seed_fixes_the_order_and_two_differ():
    def order(seed):
        queue = shuffled(100, 0, seed)
        queue.enqueue_many([range(100)])
        return [queue.dequeue_many(5).tolist() for _ in range(4)]

    assert order(1729) == order(1729)
    both = order(1729) + order(87539319)
    assert len({tuple(batch) for batch in both}) == 8
    assert order(None) != order(None)


def test_batches_of_other_sizes_partition_the_elements():
    queue = shuffled(100, 0)
    calls = [Call(queue.dequeue_up_to, n) for n in range(1, 11)]
    queue.enqueue_many([range(100)])
    queue.close()
    found = [value for call in calls for value in call.join().tolist()]
    rest = [int(value) for value in queue]
    assert sorted(found + rest) == list(range(100))


# -- priority --------------------------------------------------------------------------------------


def priority(capacity=-1, types=("int64",), shapes=((),)):
    return train.PriorityQueue(capacity, list(types), shapes=list(shapes))


@pytest.mark.parametrize("take_many", [False, True])
@pytest.mark.parametrize("put_many", [False, True])
def test_the_lowest_comes_first_and_ties_in_the_order_they_came(put_many, take_many):
    queue, draw = priority(), random.Random(5)
    given = [(draw.randint(-5, 4), i) for i in range(1000)]
    if put_many:
        queue.enqueue_many(list(zip(*given, strict=True)))
    else:
        for element in given:
            queue.enqueue(element)
    if take_many:
        found = list(zip(*(part.tolist() for part in queue.dequeue_many(1000)), strict=True))
    else:
        found = [tuple(map(int, queue.dequeue())) for _ in range(1000)]
    assert found == sorted(given)


@pytest.mark.parametrize("many", [False, True])
def test_threads_put_in_any_order_and_one_reads_sorted(many):
    queue = priority(types=["string"])
    given = [(i % 7, str(i)) for i in range(100)]
    if many:
        parts = [list(zip(*given[i : i + 10], strict=True)) for i in range(0, 100, 10)]
        calls = [Call(queue.enqueue_many, part) for part in parts]
    else:
        calls = [Call(queue.enqueue, element) for element in given]
    for call in calls:
        call.join()
    priorities, words = queue.dequeue_many(100)
    assert priorities.tolist() == sorted(priority for priority, _ in given)
    assert {(int(p), w.decode()) for p, w in zip(priorities, words, strict=True)} == set(given)


def test_a_small_capacity_and_many_threads_end_without_loss():
    queue, draw = priority(10), random.Random(6)
    counts = [draw.randint(0, 9) for _ in range(40)]
    puts = [Call(queue.enqueue_many, [[c] * c, [c] * c]) for c in counts]
    takes = [Call(queue.dequeue_many, c) for c in counts]
    found = collections.Counter()
    for call in takes:
        priorities, values = call.join()
        assert priorities.tolist() == sorted(priorities)
        found.update(values.tolist())
    for call in puts:
        call.join()
    assert found == collections.Counter(c for c in counts for _ in range(c))
    assert queue.size() == 0


def test_many_wait_until_all_are_there_so_that_they_are_sorted():
    queue = priority()
    call = waiting(queue.dequeue_many, 3)
    queue.enqueue((3, 3))
    queue.enqueue((2, 2))
    assert queue.size() == 2 and call.blocked()
    queue.enqueue((1, 1))
    assert call.join()[0].tolist() == [1, 2, 3]


def test_more_than_the_capacity_can_not_be_had_in_order():
    queue = priority(3)
    with pytest.raises(INVALID, match="capacity is 3"):
        queue.dequeue_many(4)
    queue.enqueue_many([[2, 1], [0, 0]])
    queue.close()
    assert queue.dequeue_up_to(9)[0].tolist() == [1, 2]
    with pytest.raises(OUT):
        queue.dequeue_up_to(9)


@pytest.mark.parametrize("wrong", [1.5, "a", np.float32(1), np.uint64(2**63), None])
def test_a_priority_that_is_no_integer_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="component 0"):
        priority().enqueue((wrong, 1))


def test_a_narrower_integer_is_a_priority():
    queue = priority()
    queue.enqueue((np.int32(4), 1))
    assert queue.dequeue()[0] == 4


def test_a_priority_that_is_no_scalar_is_named():
    queue = priority()
    with pytest.raises(INVALID, match=r"tuple component 0\. Expected \[\], got \[2\]"):
        queue.enqueue(([1, 2], 1))
    with pytest.raises(INVALID, match=r"tuple component 0\. Expected \[2\], got \[2,2\]"):
        queue.enqueue_many(([[1, 2], [3, 4]], [1, 2]))


def test_a_priority_queue_without_shapes_gives_single_elements():
    queue = train.PriorityQueue(10, ["int64"])
    queue.enqueue((2, [1, 2]))
    queue.enqueue((1, 5))
    assert queue.dequeue() == [1, 5]
    assert queue.dequeue()[1].tolist() == [1, 2]


def test_the_priority_has_a_name_too():
    queue = train.PriorityQueue(10, ["string"], [()], names=["when", "what"])
    queue.enqueue({"what": "b", "when": 2})
    queue.enqueue({"what": "a", "when": 1})
    assert queue.dequeue() == {"when": 1, "what": b"a"}
    with pytest.raises(ValueError, match="List of names must have the same length"):
        train.PriorityQueue(10, ["string"], [()], names=["what"])


# -- names -----------------------------------------------------------------------------------------


def test_named_components_go_in_and_out_as_dicts():
    queue = train.FIFOQueue(5, ["int32", "string"], [(), ()], names=["i", "s"])
    assert queue.names == ["i", "s"]
    queue.enqueue({"s": "a", "i": 1})
    queue.enqueue_many({"i": [2, 3], "s": ["b", "c"]})
    assert queue.dequeue() == {"i": 1, "s": b"a"}
    batch = queue.dequeue_up_to(2)
    assert list(batch) == ["i", "s"] and batch["s"].tolist() == [b"b", b"c"]


def test_one_named_component_is_a_dict_too():
    queue = train.FIFOQueue(5, "int32", [()], names="i")
    queue.enqueue({"i": 1})
    queue.enqueue_many({"i": [2]})
    assert queue.dequeue() == {"i": 1} and queue.dequeue_many(1)["i"].tolist() == [2]


def test_dicts_and_names_go_together():
    plain, named = (train.FIFOQueue(5, ["int32"], [()], names=n) for n in (None, ["i"]))
    for method, value in (("enqueue", 1), ("enqueue_many", [1])):
        with pytest.raises(ValueError, match="must have names to enqueue a dictionary"):
            getattr(plain, method)({"i": value})
        with pytest.raises(ValueError, match="must enqueue a dictionary"):
            getattr(named, method)([value])
        for keys in ({"j": value}, {"i": value, "j": value}, {}):
            with pytest.raises(ValueError, match="do not match names of Queue"):
                getattr(named, method)(keys)
    assert plain.size() == named.size() == 0


@pytest.mark.parametrize(
    ("names", "text"), [(["a"], "same length"), (["a", "a"], "must differ"), (["a"] * 3, "length")]
)
def test_names_must_fit(names, text):
    with pytest.raises(ValueError, match=text):
        train.FIFOQueue(5, ["int32", "int32"], [(), ()], names=names)


# -- sharing and selection -------------------------------------------------------------------------


def shared(name, capacity=10, dtypes=("int64",), shapes=((),)):
    shapes = None if shapes is None else list(shapes)
    return train.FIFOQueue(capacity, list(dtypes), shapes, shared_name=name)


def test_a_shared_name_is_the_same_queue_while_anybody_holds_it():
    first, second = shared("test shared"), shared("test shared")
    first.enqueue(10)
    second.enqueue(20)
    assert first.size() == second.size() == 2
    assert [second.dequeue(), first.dequeue()] == [10, 20]
    first.enqueue(1)
    del first, second
    gc.collect()
    assert shared("test shared").size() == 0


def test_a_shared_queue_must_be_asked_for_as_it_is():
    kept = shared("test unlike")
    for other, text in (
        (lambda: shared("test unlike", 15), "capacity"),
        (lambda: shared("test unlike", dtypes=["int32"]), "component types"),
        (lambda: shared("test unlike", shapes=[(1,)]), "component shapes"),
        (lambda: shared("test unlike", shapes=None), "component shapes"),
        (lambda: shared("test unlike", dtypes=["int64"] * 2, shapes=[(), ()]), "component types"),
    ):
        with pytest.raises(INVALID, match=text):
            other()
    with pytest.raises(INVALID, match="Expected FIFOQueue, found RandomShuffleQueue"):
        train.RandomShuffleQueue(10, 0, ["int64"], [()], shared_name="test unlike")
    assert kept.size() == 0


def test_a_shared_shuffle_compares_its_seed_and_what_stays():
    def make(least, seed):
        return train.RandomShuffleQueue(
            10, least, ["int64"], [()], seed=seed, shared_name="test seeds"
        )

    kept = make(5, 12)
    make(5, None).enqueue(1)
    assert kept.size() == 1
    with pytest.raises(INVALID, match="min_after_dequeue"):
        make(4, 12)
    with pytest.raises(INVALID, match="random seeds"):
        make(5, 13)


def test_shared_padding_queues_need_compatible_shapes():
    def make(shape):
        return train.PaddingFIFOQueue(10, ["int64"], [shape], shared_name="test padded")

    kept = make((None, 2))
    make((3, 2)).enqueue(np.zeros((4, 2), np.int64))  # the first one counts
    make((3, 2)).enqueue([[[1, 2], [3, 4]]])
    assert kept.dequeue_many(2).shape == (2, 4, 2)
    with pytest.raises(INVALID, match=r"Expected \[\?,2\], got \[2,3\]"):
        make((3, 2)).enqueue(np.zeros((2, 3), np.int64))
    with pytest.raises(INVALID, match="component shapes"):
        make((None, 3))


def test_from_list_selects_a_queue():
    queues = [train.FIFOQueue(10, ["float32"], [()]) for _ in range(3)]
    for i, queue in enumerate(queues):
        queue.enqueue(float(i))
    for i in (2, np.int64(0), 1):
        chosen = train.QueueBase.from_list(i, queues)
        assert chosen.dequeue() == float(i) and chosen.name == queues[i].name
    for i in (3, -1):
        with pytest.raises(INVALID, match="is not in"):
            train.QueueBase.from_list(i, queues)


def test_from_list_wants_queues_that_look_alike():
    first = train.FIFOQueue(10, ["float32"], [()])
    named = train.FIFOQueue(10, ["float32"], [()], names=["x"])
    for wrong in (first, [], [first, 1], (first,)):
        with pytest.raises(TypeError, match="list of queues"):
            train.QueueBase.from_list(0, wrong)
    with pytest.raises(TypeError, match="dtypes"):
        train.QueueBase.from_list(0, [first, train.FIFOQueue(10, ["int32"], [()])])
    with pytest.raises(TypeError, match="names"):
        train.QueueBase.from_list(0, [first, named])


@pytest.mark.parametrize(
    ("shapes", "want"),
    [
        ([(1,), (1,)], (1,)),
        ([(1,), (2,)], (None,)),
        ([(1, 2), (1, 3)], (1, None)),
        ([(1, None), (None,)], None),
        ([(1, None), (1, 2)], (1, None)),
    ],
)
def test_from_list_keeps_the_shape_that_all_have(shapes, want):
    queues = [train.PaddingFIFOQueue(10, ["float32"], [shape]) for shape in shapes]
    assert train.QueueBase.from_list(0, queues).shapes == [want]
    both = [train.PaddingFIFOQueue(10, ["float32"] * 2, [shape, ()]) for shape in shapes]
    assert train.QueueBase.from_list(1, both).shapes == [want, ()]


# -- construction ----------------------------------------------------------------------------------


def test_what_was_asked_for_is_recorded():
    queue = train.FIFOQueue(10, ("int32", np.float32, bytes), [(), (1,), (5, 8)], name="recorded")
    assert queue.name == "recorded"
    assert queue.dtypes == ["int32", "float32", "string"]
    assert queue.shapes == [(), (1,), (5, 8)] and queue.names is None
    assert train.FIFOQueue(10, "int32").shapes == [None]
    assert train.FIFOQueue(10, "int32", (2,)).shapes == [(2,)]
    assert train.PriorityQueue(10, ["string"], [()]).dtypes == ["int64", "string"]
    assert "recorded" in repr(queue)


def test_default_names_count_up():
    first, second = (train.FIFOQueue(10, "int32") for _ in range(2))
    assert first.name != second.name
    assert all(queue.name.startswith("fifo_queue") for queue in (first, second))
    assert train.FIFOQueue(10, "int32", name=None).name.startswith("fifo_queue_")
    assert train.Barrier("int32", name=None).name.startswith("barrier")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0, ["int32"]), "capacity=0"),
        ((10, []), "component type"),
        ((10, ["int32", "int32"], [()]), r"len\(shapes\)=1, len\(dtypes\)=2"),
        ((10, ["int32"], [(None,)]), "all shapes must be fully defined"),
        ((10, ["int32"], [(-1,)]), "at least 0"),
    ],
)
def test_constructors_refuse_what_can_not_work(arguments, text):
    with pytest.raises(ValueError, match=text):
        train.FIFOQueue(*arguments)


def test_constructors_refuse_other_types():
    for arguments in ((1.5, ["int32"]), (10, ["nothing"]), (10, ["int32"], 3), (10, None)):
        with pytest.raises(TypeError):
            train.FIFOQueue(*arguments)
    with pytest.raises(TypeError, match="FIFOQueue and similar classes"):
        train.QueueBase()


def test_any_negative_capacity_is_unbounded():
    queue = train.FIFOQueue(-7, ["int64"], [()])
    queue.enqueue_many([range(100_000)], timeout=0)
    assert queue.size() == 100_000


# -- values that do not fit ------------------------------------------------------------------------


def pairs():
    return train.FIFOQueue(10, ["int32", "float32"], [(), (3, 3)])


GOOD = np.zeros((3, 3), np.float32)


@pytest.mark.parametrize("vals", [(1,), (1, GOOD, 2), [1], 1, ()])
def test_too_few_or_too_many_values_are_refused(vals):
    queue = pairs()
    with pytest.raises(ValueError, match="has 2 components, got"):
        queue.enqueue(vals)
    assert queue.size() == 0


def test_shapes_that_do_not_fit_are_named():
    queue = pairs()
    with pytest.raises(INVALID, match=r"component 1\. Expected \[3,3\], got \[3,4\]"):
        queue.enqueue((1, np.zeros((3, 4), np.float32)))
    with pytest.raises(INVALID, match=r"component 1\. Expected \[2,3,3\], got \[2,3,4\]"):
        queue.enqueue_many(([1, 2], np.zeros((2, 3, 4), np.float32)))
    with pytest.raises(INVALID, match=r"component 1\. Expected \[2,3,3\], got \[3,3,3\]"):
        queue.enqueue_many(([1, 2], np.zeros((3, 3, 3), np.float32)))
    with pytest.raises(ValueError, match="Expected"):
        queue.enqueue_many((1, GOOD))
    named = train.FIFOQueue(10, ["int32"], [(2,)], names=["x"])
    with pytest.raises(INVALID, match=r"component 0 'x'\. Expected \[2\], got \[\]"):
        named.enqueue({"x": 1})
    assert queue.size() == named.size() == 0


def test_rows_of_other_numbers_are_named_where_there_are_no_shapes():
    queue = train.FIFOQueue(10, ["int32", "string"])
    with pytest.raises(INVALID, match="Component 1 has 1, and should have 2"):
        queue.enqueue_many(([1, 2], ["a"]))
    with pytest.raises(INVALID, match="Expected"):
        queue.enqueue_many((1, "a"))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int32", 1.0),
        ("int32", "a"),
        ("int32", np.float64(1)),
        ("int32", np.int64(1)),
        ("int32", np.array(1, np.uint32)),
        ("int32", True),
        ("int32", 2**40),
        ("uint8", -1),
        ("bool", 1),
        ("float32", np.float64(1)),
        ("float32", np.int32(1)),
        ("float32", 1j),
        ("float64", np.int64(1)),
        ("string", 1),
        ("string", np.array(1.5)),
        ("string", None),
        ("int64", None),
        ("int64", object()),
    ],
)
def test_a_value_that_would_lose_something_is_a_type_error(dtype, value):
    queue = train.FIFOQueue(10, [dtype], [()])
    with pytest.raises(TypeError, match="component 0"):
        queue.enqueue([value])
    with pytest.raises(TypeError, match="component 0"):
        queue.enqueue_many([[value]] if not hasattr(value, "dtype") else [value.reshape(1)])
    assert queue.size() == 0


@pytest.mark.parametrize(
    ("dtype", "value", "want"),
    [
        ("int64", np.int32(1), 1),
        ("int32", np.uint16(1), 1),
        ("float64", np.float32(0.5), 0.5),
        ("float64", np.int32(3), 3.0),
        ("float32", 0.1, np.float32(0.1)),
        ("float16", 1, 1.0),
        ("complex64", 2.5, 2.5),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int8", -128, -128),
        ("bool", True, True),
        ("string", np.str_("a"), b"a"),
        ("string", np.bytes_(b"a"), b"a"),
        ("string", np.array("ü"), "ü".encode()),
    ],
)
def test_a_value_that_keeps_itself_is_converted(dtype, value, want):
    queue = train.FIFOQueue(10, [dtype], [()])
    queue.enqueue(value)
    assert queue.dequeue() == want


def test_lists_of_unequal_rows_are_refused():
    queue = train.FIFOQueue(10, ["int32"], [(2, 2)])
    with pytest.raises(ValueError, match="component 0"):
        queue.enqueue([[[1, 2], [3]]])


def test_arrays_in_any_layout_are_taken():
    queue = train.FIFOQueue(10, ["int32"], [(3, 2)])
    given = np.arange(6, dtype=np.int32).reshape(2, 3).T
    queue.enqueue(given)
    queue.enqueue(given.astype(">i4"))
    queue.enqueue_many(np.broadcast_to(given, (2, 3, 2)))
    for _ in range(4):
        assert np.array_equal(queue.dequeue(), given)


def test_the_same_rules_hold_without_shapes():
    queue = train.FIFOQueue(10, ["float32", "string"])
    with pytest.raises(TypeError, match="component 0"):
        queue.enqueue((np.zeros(3), "a"))
    with pytest.raises(TypeError, match="component 1"):
        queue.enqueue((1.0, 5))
    queue.enqueue((1.0, ["a", b"\xff"]))
    number, words = queue.dequeue()
    assert number.dtype == np.float32 and words.tolist() == [b"a", b"\xff"]
