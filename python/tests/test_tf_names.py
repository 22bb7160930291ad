# SPDX-License-Identifier: Apache-2.0
"""Arguments of TensorFlow 1.x that have no effect here, or another name, are accepted."""

import threading

import levada as lv
import numpy as np
import pytest
from levada import train as lt

SPEC = {"x": lv.FixedLenFeature([], lv.int64)}
MESSAGE = lv.make_example({"x": 3})
STEPS = lv.make_sequence_example({"c": 1}, {"s": [1, 2]})
CONTEXT = {"c": lv.FixedLenFeature([], lv.int64)}
SEQUENCES = {"s": lv.FixedLenSequenceFeature([], lv.int64)}


def test_features_and_name_of_the_parsers():
    assert lv.parse_single_example(MESSAGE, features=SPEC, name="parsed")["x"] == 3
    assert lv.parse_example([MESSAGE], features=SPEC, name="parsed")["x"].tolist() == [3]
    for parse in (lv.parse_single_example, lv.parse_example):
        with pytest.raises(TypeError, match="same argument"):
            parse(MESSAGE, SPEC, features=SPEC)
    with pytest.raises(ValueError, match="Missing"):
        lv.parse_single_example(MESSAGE)


def test_context_and_sequences_have_two_names():
    for names in (("context", "sequences"), ("context_features", "sequence_features")):
        given = dict(zip(names, (CONTEXT, SEQUENCES), strict=True))
        context, lists = lv.parse_single_sequence_example(STEPS, **given)
        assert context["c"] == 1 and np.asarray(lists["s"]).tolist() == [1, 2]
        assert lv.parse_sequence_example([STEPS], name="n", **given)[2]["s"].tolist() == [2]
    with pytest.raises(TypeError, match="context= and context_features= are the same"):
        lv.parse_sequence_example([STEPS], CONTEXT, context_features=CONTEXT)


def test_sessions_and_options_are_ignored():
    assert lt.TFRecordReader(options=object()).name
    queue = lt.FIFOQueue(4, [lv.int64])
    runner = lt.QueueRunner(queue, [lambda: queue.enqueue(1)])
    assert len(runner.create_threads(sess=object())) == 1
    assert lt.start_queue_runners(sess=object(), collection="none") == []
    queue.close(cancel_pending_enqueues=True)


def test_float_is_that_of_tensorflow():
    """It is float32 there, and float64 in NumPy."""
    dtypes = ["float", float, "double", np.float64, np.dtype("float64"), lv.float64]
    queue = lt.FIFOQueue(4, dtypes)
    assert [dtype.name for dtype in queue.dtypes] == ["float32"] * 2 + ["float64"] * 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: lt.string_input_producer(["a"]),
        lambda: lt.slice_input_producer([np.arange(3)]),
        lambda: lt.batch([1, 2], 2),
        lambda: lt.shuffle_batch(iter(range(9)), 2, 8, 4),
        lambda: lt.bucket(iter(range(9)), lambda i: 0, 2, 1),
    ],
)
def test_reading_before_the_runners_were_started_is_an_error(make):
    lt.clear_collection("queue_runners")
    stream = make()
    for read in (stream, lambda: next(iter(stream)), lambda: stream(timeout=30)):
        with pytest.raises(lv.errors.FailedPreconditionError, match="start_queue_runners"):
            read()
    with pytest.raises(lv.errors.DeadlineExceededError):
        stream(timeout=0.01)
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    stream()  # nothing was lost
    coord.request_stop()
    coord.join(threads)
    lt.clear_collection("queue_runners")


def test_readers_name_the_call_that_is_missing(tmp_path):
    path = tmp_path / "lines"
    path.write_text("one\n")
    files = lt.string_input_producer([str(path)], num_epochs=1)
    with pytest.raises(lv.errors.FailedPreconditionError, match="start_queue_runners"):
        lt.TextLineReader().read(files)
    lt.clear_collection("queue_runners")


def test_runners_that_start_in_time_are_waited_for():
    lt.clear_collection("queue_runners")
    numbers, coord, threads = lt.range_input_producer(3, 1, shuffle=False), lt.Coordinator(), []
    start = threading.Timer(0.2, lambda: threads.extend(lt.start_queue_runners(coord=coord)))
    start.start()
    assert [int(number) for number in numbers] == [0, 1, 2]
    start.join()
    coord.request_stop()
    coord.join(threads)
    lt.clear_collection("queue_runners")


def test_a_shared_queue_may_be_filled_elsewhere():
    first, second = (lt.range_input_producer(3, 1, shared_name="filled twice") for _ in range(2))
    (thread,) = second.queue_runners[0].create_threads(start=True, daemon=True)
    assert sorted(int(first(timeout=20)) for _ in range(3)) == [0, 1, 2]
    thread.join(20)
    with pytest.raises(lv.errors.OutOfRangeError):
        first()
    lt.clear_collection("queue_runners")
