# SPDX-License-Identifier: Apache-2.0
"""Records of a dataset into a queue, a block at a time: QueueBase.enqueue_from."""

import levada as lv
import numpy as np
import pytest
from levada import errors, train
from waiting import Call, waiting

OUT, INVALID = errors.OutOfRangeError, errors.InvalidArgumentError


def records(n=1000):
    return lv.range(n)


def numbers(capacity=-1):
    return train.FIFOQueue(capacity, "int64", [()])


def test_every_call_puts_a_block_in_until_the_end():
    queue = numbers()
    feed = queue.enqueue_from(records())
    sizes = []
    with pytest.raises(OUT, match="the dataset has come to its end"):
        while True:
            feed()
            sizes.append(queue.size())
    assert len(sizes) > 1 and sizes[-1] == 1000
    with pytest.raises(OUT):
        feed()
    assert queue.dequeue_many(1000).tolist() == list(range(1000))


def test_fields_go_by_the_names_of_the_queue():
    dataset = lv.from_arrays(
        {"x": [[1], [2, 3], []], "word": ["a", b"b", "c"], "pair": np.arange(6.0).reshape(3, 2)}
    )
    queue = train.PaddingFIFOQueue(
        10, ["string", "float64", "int64"], [(), (2,), (None,)], names=["word", "pair", "x"]
    )
    queue.enqueue_from(dataset)()
    batch = queue.dequeue_many(3)
    assert batch["word"].tolist() == [b"a", b"b", b"c"]
    assert batch["pair"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert batch["x"].tolist() == [[1, 0], [2, 3], [0, 0]]


def test_without_names_the_order_of_the_fields_counts():
    dataset = lv.from_arrays({"x": np.arange(3), "y": np.arange(3) * 0.5})
    queue = train.FIFOQueue(10, ["int64", "float64"], [(), ()])
    queue.enqueue_from(dataset)()
    assert queue.dequeue_many(3)[1].tolist() == [0, 0.5, 1]


def test_fields_that_are_not_there_are_named():
    queue = train.FIFOQueue(10, ["int64"], [()], names=["x"])
    with pytest.raises(ValueError, match=r"no field \['x'\]; it has \['value'\]"):
        queue.enqueue_from(records())
    with pytest.raises(ValueError, match="has 2 components, the dataset 1 fields"):
        train.FIFOQueue(10, ["int64", "int64"]).enqueue_from(records())
    with pytest.raises(TypeError, match="dataset must be a Dataset, got list"):
        queue.enqueue_from([1, 2])


def test_values_that_do_not_fit_are_named_and_nothing_goes_in():
    queue = train.FIFOQueue(10, "int32", [()])
    with pytest.raises(INVALID, match="Expected int32, got int64 of column 'value'"):
        queue.enqueue_from(records())()
    ragged = lv.from_arrays({"x": [[1, 2], [3]]})
    queue = train.FIFOQueue(10, "int64", [(2,)])
    with pytest.raises(INVALID, match=r"Expected \[2\], got \[1\] in column 'x' of record 1"):
        queue.enqueue_from(ragged)()
    assert queue.size() == 0


def test_the_dataset_is_opened_by_the_first_call():
    calls = []

    def source():
        calls.append(1)
        yield {"value": np.int64(7)}

    dataset = lv.from_records(source).map(lambda record: record)
    opened = len(calls)  # to learn the dtypes
    queue = train.FIFOQueue(10, "int64", [()])
    feed = queue.enqueue_from(dataset)
    assert len(calls) == opened
    feed()
    assert len(calls) > opened and queue.dequeue() == 7


def test_what_an_interrupted_call_did_not_put_in_goes_in_later():
    queue = numbers(100)
    feed = queue.enqueue_from(records(256))
    call = waiting(feed)
    queue.cancel()
    with pytest.raises(errors.CancelledError) as caught:
        call.join()
    assert caught.value.enqueued == 100
    found = queue.dequeue_many(100).tolist()
    call = waiting(feed)
    while len(found) < 256:
        found.append(int(queue.dequeue()))
    call.join()
    assert found == list(range(256))


def test_several_threads_share_one_feed():
    queue = numbers(50)

    def run(feed):
        try:
            while True:
                feed()
        except OUT:
            pass

    feed = queue.enqueue_from(records(5000))
    calls = [Call(run, feed) for _ in range(4)]
    found = sorted(int(queue.dequeue()) for _ in range(5000))
    for call in calls:
        call.join()
    assert found == list(range(5000))


def test_a_queue_runner_feeds_batches_and_the_end_reaches_the_consumer():
    queue = numbers(100)
    train.add_queue_runner(train.QueueRunner(queue, [queue.enqueue_from(records(6400))]), "feeds")
    coord = train.Coordinator()
    threads = train.start_queue_runners(coord=coord, collection="feeds")
    found = []
    with pytest.raises(OUT):
        while True:
            found += queue.dequeue_many(64).tolist()
    coord.request_stop()
    coord.join(threads)
    train.clear_collection("feeds")
    assert found == list(range(6400))
