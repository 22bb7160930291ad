# SPDX-License-Identifier: Apache-2.0
"""levada.train against TensorFlow's own: `make test-oracle` installs it and runs these."""

import importlib.util
import os
import random

import pytest
from documents import make_files, pairs, plain, rows, run
from levada import errors
from levada.train import GraphKeys, QueueRunner, QueueRunnerDef, clear_collection

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
    ),
]
PAGES = ("migration.md", "../python/tests/tf1_programs.md")
PAIRS = [pair for page in PAGES for pair in pairs(page) if "norun" not in pair[1]]
FIELDS = (
    "queue_name enqueue_op_name close_op_name cancel_op_name queue_closed_exception_types".split()
)


@pytest.fixture(scope="module")
def tf1():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow").compat.v1


@pytest.fixture(scope="module")
def theirs():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return pytest.importorskip("tensorflow.core.protobuf.queue_runner_pb2").QueueRunnerDef


def values_of(message):
    return [
        value if isinstance(value, str) else list(value)
        for value in (getattr(message, field) for field in FIELDS)
    ]


def random_values(seed):
    draw = random.Random(seed)

    def text():
        return "".join(draw.choice("ab/_:0é水\0") for _ in range(draw.choice([0, 1, 7, 200])))

    names = [text() for _ in range(draw.randrange(4))]
    codes = [draw.choice([1, 11, 0, 16, -1, 2**31 - 1]) for _ in range(draw.randrange(4))]
    return text(), names, text(), text(), codes


@pytest.mark.parametrize("seed", range(200))
def test_messages_are_the_same_bytes(theirs, seed):
    values = random_values(seed)
    data = theirs(**dict(zip(FIELDS, values, strict=True))).SerializeToString()
    assert QueueRunnerDef(*values).SerializeToString() == data
    assert values_of(QueueRunnerDef.FromString(data)) == list(values)


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_accepted_or_refused_alike(theirs, seed):
    from google.protobuf.message import DecodeError

    draw = random.Random(seed)
    whole = theirs(**dict(zip(FIELDS, random_values(seed), strict=True))).SerializeToString()
    for _ in range(500):
        data = bytearray(whole[: draw.randrange(len(whole) + 1)] if draw.random() < 0.5 else whole)
        for _ in range(draw.randrange(3) if data else 0):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            expected = values_of(theirs.FromString(bytes(data)))
        except DecodeError:
            expected = None
        try:
            seen = values_of(QueueRunnerDef.FromString(bytes(data)))
        except errors.DataLossError:
            seen = None
        assert seen == expected, bytes(data)


def test_a_runner_of_tensorflow_becomes_one_of_ours(tf1):
    from levada.train import FIFOQueue, register_op

    ours = FIFOQueue(10, ["float32"], shared_name="oracle_queue")
    with tf1.Graph().as_default():
        queue = tf1.FIFOQueue(10, tf1.float32, name="oracle_queue")
        types = (tf1.errors.OutOfRangeError, tf1.errors.CancelledError)
        runner = tf1.train.QueueRunner(
            queue, [queue.enqueue((1.0,))], queue_closed_exception_types=types
        )
        message = runner.to_proto()
        register_op("oracle_queue_enqueue", lambda: ours.enqueue(1.0))
        again = QueueRunner.from_proto(message)
        assert again.queue_closed_exception_types == (errors.OutOfRangeError, errors.CancelledError)
        assert again.queue is ours
        back = again.to_proto()
        back.queue_name = message.queue_name
        assert back.enqueue_op_name == message.enqueue_op_name
        assert back.queue_closed_exception_types == list(message.queue_closed_exception_types)


@pytest.mark.parametrize(
    ("words", "before", "after"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS]
)
def test_programs_before_and_after_do_the_same(tf1, words, before, after, tmp_path, monkeypatch):
    """The pairs of docs/migration.md and of TensorFlow's guides, each run by its own library."""
    from tensorflow.core.protobuf import queue_runner_pb2

    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    clear_collection(GraphKeys.QUEUE_RUNNERS)
    with tf1.Graph().as_default():
        expected = run(before, tf=tf1, queue_runner_pb2=queue_runner_pb2)
    seen = run(after)
    clear_collection(GraphKeys.QUEUE_RUNNERS)
    assert expected
    if "unordered" in words:
        assert rows(seen) == rows(expected)
    else:
        assert plain(seen) == plain(expected)
