# SPDX-License-Identifier: Apache-2.0
"""Sources of the batchers of levada.train, and input programs as a whole."""

import itertools
import signal
import subprocess
import sys
import threading
import time

import levada as lv
import numpy as np
import pytest
from input_support import OUT, QUIET, fails, runners  # noqa: F401  a fixture
from levada import errors
from levada import train as lt
from waiting import waiting

# -- sources


def test_sources_are_left_alone_until_runners_start():
    def source():
        raise AssertionError

    class Iterable:
        def __iter__(self):
            raise AssertionError

    lt.batch(source, 2), lt.shuffle_batch(Iterable(), 2, 9, 3), lt.batch_join([source], 2)
    stream = lt.batch(source, 2)
    with pytest.raises(errors.DeadlineExceededError):
        stream(timeout=0.01)


def test_queues_and_streams_are_sources(running):
    queue = lt.FIFOQueue(50, [lv.int64, lv.string], shapes=[(), ()], names=["n", "s"])
    queue.enqueue_many({"n": np.arange(20), "s": [str(i) for i in range(20)]})
    queue.close()
    by_queue = lt.batch(queue, 4, num_threads=3)
    slices = lt.slice_input_producer([np.arange(12), np.arange(12) * 2], num_epochs=1)
    by_stream = lt.batch(slices, 4)
    running()
    assert sorted(i for batch in by_queue for i in batch["n"]) == list(range(20))
    found = [*by_stream]
    assert all((b == a * 2).all() for a, b in found) and len(found) == 3


def test_iterables_are_read_by_several_threads(running):
    batches = lt.batch((i for i in range(1000)), 50, num_threads=4)
    running()
    assert sorted(np.concatenate([*batches])) == list(range(1000))


def test_datasets_are_moved_in_blocks_and_one_by_one(running):
    rows = {"b": np.arange(1000), "a": [b"%d" % i for i in range(1000)],
            "t": [np.arange(i % 7) for i in range(1000)]}  # fmt: skip
    ds = lv.from_arrays(rows)
    whole = lt.batch(ds, 64, dynamic_pad=True, num_threads=2, allow_smaller_final_batch=True)
    batched = lt.batch(ds.batch(10), 64, dynamic_pad=True, enqueue_many=True,
                       allow_smaller_final_batch=True)  # fmt: skip
    single = lt.maybe_batch(ds, lambda record: True, 64, dynamic_pad=True,
                            allow_smaller_final_batch=True)  # fmt: skip
    running()
    for stream in (whole, batched, single):
        at = 0
        for batch in stream:
            n = len(batch["b"])
            assert list(batch) == ["a", "b", "t"]
            assert batch["b"].tolist() == list(range(at, at + n))
            assert batch["a"].tolist() == [b"%d" % i for i in range(at, at + n)]
            longest = max(i % 7 for i in range(at, at + n))
            assert batch["t"].tolist() == [[*range(i % 7)] + [0] * (longest - i % 7)
                                           for i in range(at, at + n)]  # fmt: skip
            at += n
        assert at == 1000


@QUIET
@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_a_source_reaches_whoever_waits(threads):
    def source():
        if next(numbers) >= 20:
            raise KeyError("no such word")
        return 1

    numbers = itertools.count()
    fails(lambda: lt.batch(source, 100, num_threads=threads), KeyError, "no such word")
    numbers = itertools.count()
    stream = lt.batch(source, 10, num_threads=threads)
    started = lt.start_queue_runners()
    with pytest.raises(KeyError, match="no such word"):
        for _ in range(50):
            stream(timeout=20)
    for thread in started:
        thread.join(20)


def test_a_source_that_blocks_can_be_stopped(running):
    queue = lt.FIFOQueue(3, [lv.int64], shapes=[()])
    batches = lt.batch(queue, 2)
    coord = running()
    queue.enqueue_many(np.arange(3))
    assert batches().tolist() == [0, 1]
    waiting = []

    def consume():
        with pytest.raises(OUT):
            batches()
        waiting.append("done")

    thread = threading.Thread(target=consume)
    thread.start()
    coord.request_stop()
    queue.close()
    thread.join(20)
    assert waiting == ["done"]


def test_a_dataset_that_waits_for_a_name_can_be_stopped(running):
    names = lt.FIFOQueue(3, [lv.string], shapes=[()])
    records = lt.TFRecordReader().dataset(names)
    stream = lt.batch(records, 2)
    coord = running()
    deadline = time.monotonic() + 20
    while not any(waiter["object"] == names.name for waiter in lt.waiters()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    coord.request_stop()
    with pytest.raises(OUT):
        stream()
    coord.join(stop_grace_period_secs=20)
    names.close()


def test_cancelling_frees_who_waits_for_a_first_example(running):
    stream, found = lt.batch(lambda: 1, 2), []

    def consume():
        try:
            stream()
        except errors.CancelledError as error:
            found.append(error)

    thread = threading.Thread(target=consume)
    thread.start()
    while not found and thread.is_alive():
        stream.queue.cancel()
        time.sleep(0.001)
    thread.join(20)
    assert len(found) == 1
    running()
    assert stream().tolist() == [1, 1]


def test_who_waits_for_a_first_example_is_listed_and_watched():
    stream = lt.batch(lambda: 1, 64, name="late")
    queue = stream.queue
    calls = [
        waiting(queue.dequeue_many, 64),
        waiting(queue.dequeue),
        waiting(queue.dequeue_up_to, 3),
    ]
    rows = {row["thread"]: row for row in lt.waiters() if row["object"] == "late/queue"}
    assert [rows[call.thread.name]["waits_for"] for call in calls] == [
        "dequeue_many(64)", "dequeue(1)", "dequeue_up_to(3)"
    ]  # fmt: skip
    with lt.Watchdog(0.01, cancel=True, report=lambda row: None):
        for call in calls:
            with pytest.raises(errors.CancelledError):
                call.join()
    assert not any(row["object"] == "late/queue" for row in lt.waiters())


def test_arguments_are_checked_before_the_first_example_too(running):
    queue = lt.batch(lambda: 1, 2).queue
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with pytest.raises(errors.InvalidArgumentError, match="-1 < 0"):
            call(-1)
        with pytest.raises(TypeError):
            call(1.5)
        with pytest.raises(ValueError, match="timeout=-1"):
            call(1, timeout=-1)
    none = waiting(queue.dequeue_many, 0)
    queue.close()
    with pytest.raises(OUT):
        none.join()
    with pytest.raises(errors.CancelledError, match="already closed"):
        queue.close()
    queue.close(cancel_pending_enqueues=True)


def test_a_queue_of_a_batcher_is_found_by_its_name(running):
    stream = lt.batch(lambda: 1, 2, name="found")
    (runner,) = stream.queue_runners
    lt.register_op("found/enqueue", runner.enqueue_ops[0])
    copy = lt.QueueRunner.from_proto(runner.to_proto())
    assert copy.queue is stream.queue


def test_a_consumer_may_stop_early(running):
    batches = lt.batch(itertools.count(), 5, num_threads=3, capacity=7)
    coord = running()
    assert len([batches() for _ in range(10)]) == 10
    coord.request_stop()


# -- programs as a whole


def corpus(folder, files=3, each=40):
    """TFRecord files of Examples, record i of file f has f + i % 5 tokens."""
    paths = [str(folder / f"{f}.tfrecord") for f in range(files)]
    for f, path in enumerate(paths):
        with lv.TFRecordWriter(path) as writer:
            for i in range(each):
                tokens = [i] * (f + i % 5)
                writer.write(lv.make_example({"label": 100 * f + i, "tokens": tokens}))
    return paths


ONE = {"label": lv.FixedLenFeature([], lv.int64),
       "tokens": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True)}  # fmt: skip
MANY = {"label": lv.FixedLenFeature([], lv.int64), "tokens": lv.RaggedFeature(lv.int64)}


def by_example(names):
    reader = lt.TFRecordReader()

    def read_and_decode():
        _key, value = reader.read(names)
        return lv.parse_single_example(value, ONE)

    return lt.batch(read_and_decode, 16, dynamic_pad=True, allow_smaller_final_batch=True)


def by_block(names):
    reader = lt.TFRecordReader()

    def read_and_decode():
        _keys, values = reader.read_up_to(names, 25)
        return lv.parse_example(values, MANY)

    return lt.batch(read_and_decode, 16, enqueue_many=True, dynamic_pad=True,
                    allow_smaller_final_batch=True)  # fmt: skip


def by_dataset(names):
    examples = (
        lt.TFRecordReader()
        .dataset(names)
        .parse_example({"label": MANY["label"], "tokens": lv.VarLenFeature(lv.int64)})
    )
    return lt.batch(examples, 16, dynamic_pad=True, allow_smaller_final_batch=True)


@pytest.mark.parametrize("program", [by_example, by_block, by_dataset])
def test_the_input_program_gives_every_example_of_every_epoch(tmp_path, program):
    names = lt.string_input_producer(corpus(tmp_path), num_epochs=2, seed=1)
    next_batch, labels = program(names), []
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    try:
        while not coord.should_stop():
            batch = next_batch()
            assert len(batch["label"]) == 16 or len(labels) == 240 - 240 % 16
            labels += batch["label"].tolist()
            for label, tokens in zip(batch["label"], batch["tokens"], strict=True):
                f, i = divmod(label, 100)
                row = [i] * (f + i % 5)
                assert tokens.tolist() == row + [0] * (batch["tokens"].shape[1] - len(row))
    except OUT:
        pass
    finally:
        coord.request_stop()
        coord.join(threads)
    assert sorted(labels) == sorted([100 * f + i for f in range(3) for i in range(40)] * 2)
    assert next_batch.stats()["dropped_records"] == 0


@QUIET
@pytest.mark.parametrize("program", [by_example, by_block, by_dataset])
def test_a_damaged_file_stops_the_program_with_its_error(tmp_path, program):
    paths = corpus(tmp_path)
    with open(paths[1], "r+b") as file:
        file.seek(500)
        file.write(b"\xff\xff\xff")
    next_batch = program(lt.string_input_producer(paths, num_epochs=1, shuffle=False))
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises(errors.LevadaError):
        while True:
            next_batch(timeout=30)
    with pytest.raises(errors.DataLossError) as info:
        coord.join(threads)
    assert info.value.file == paths[1]


PROGRAM = """
import sys, time
from levada import train as lt
stream = lt.batch(lt.range_input_producer(9), 4, num_threads=2)
never = lt.batch(lt.FIFOQueue(3, ["int64"], shapes=[()]), 4)
coord = lt.Coordinator()
threads = lt.start_queue_runners(coord=coord)
stream()
print("ready", flush=True)
try:
    (never if sys.argv[1] == "wait" else lt.batch(lambda: 1, 3))()
except KeyboardInterrupt:
    never.queue.cancel()
    coord.request_stop()
    print("stopped", flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize("where", ["wait", "first"])
def test_ctrl_c_ends_a_consumer_that_waits(where):
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, where], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (out, child.returncode) == ("stopped\n", 3), err
