# SPDX-License-Identifier: Apache-2.0
"""Hostile messages against TensorFlow and protobuf: `make test-oracle` installs them.

levada must agree with both where they agree. Where they differ, the message must belong to a class
that docs/migration.md lists: the reference decoder notes the classes while it reads.
"""

import collections
import importlib.util
import multiprocessing
import os
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hostile import messages
from hostile_cases import (
    CONTEXT,
    EXAMPLE,
    LISTS,
    OTHER,
    arguments,
    expect_example,
    expect_list,
    expected,
    first_of,
    parsed,
    result_of,
)
from wire_reference import PROTOBUF, TENSORFLOW, Feature, Refused, noted

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"
    ),
]
TRIALS = 20_000  # LEVADA_ORACLE_TRIALS=100000 takes ten minutes on a busy core
CRASHED = "TensorFlow crashed"


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    return tf


def serve(pipe):
    """The other process: answers what TensorFlow makes of a message."""
    tf = tensorflow()
    while True:
        pipe.send(by_tensorflow(tf, *pipe.recv()))


class TensorFlow:
    """TensorFlow in a process of its own: some hostile messages end that process."""

    def __init__(self):
        self.crashes = 0
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def read(self, *question):
        try:
            self.pipe.send(question)
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self.crashes += 1
            self.start()
            return CRASHED

    def close(self):
        self.process.kill()
        self.process.join()


@pytest.fixture
def other():
    process = TensorFlow()
    yield process
    process.close()


def array_of(tf, result):
    """A result of TensorFlow as levada's functions return it."""
    if isinstance(result, tf.SparseTensor):
        return result.indices.numpy(), result.values.numpy(), result.dense_shape.numpy()
    if isinstance(result, tf.RaggedTensor):
        return result.flat_values.numpy(), tuple(x.numpy() for x in result.nested_row_splits)
    return result.numpy()


def by_tensorflow(tf, case, message, sequence, batch):
    types = SimpleNamespace(int64=tf.int64, float32=tf.float32, string=tf.string)
    specs = arguments(case, {case.column: case.feature(tf.io, types)}, sequence)
    name = "sequence_example" if sequence else "example" if batch else "single_example"
    name = f"parse_single_{name}" if sequence and not batch else f"parse_{name}"
    try:
        got = getattr(tf.io, name)([message] if batch else message, *specs)
        got = array_of(tf, (got[case.steps] if sequence else got)[case.column])
        return first_of(case, got) if batch else result_of(case, got)
    except (tf.errors.InvalidArgumentError, ValueError, AssertionError):
        return None  # ValueError where it cannot even say what is wrong


def feature_of_message(message):
    kind = {"bytes_list": 1, "float_list": 2, "int64_list": 3, None: 0}[message.WhichOneof("kind")]
    values = [
        [],
        list(message.bytes_list.value),
        [np.float32(value).tobytes() for value in message.float_list.value],
        list(message.int64_list.value),
    ][kind]
    return Feature(kind, values)


def by_protobuf(tf, case, message, sequence):
    from google.protobuf.message import DecodeError

    try:
        if not sequence:
            got = tf.train.Example.FromString(message)
            context, lists = got.features.feature, {}
        else:
            got = tf.train.SequenceExample.FromString(message)
            context, lists = got.context.feature, got.feature_lists.feature_list
        context = {key.encode(): [feature_of_message(f)] for key, f in context.items()}
        lists = {
            key.encode(): [[feature_of_message(f) for f in list_.feature]]
            for key, list_ in lists.items()
        }
        return expect_list(case, lists) if case.steps else expect_example(case, context)
    except (DecodeError, Refused):
        return None


@pytest.mark.parametrize(
    ("sequence", "cases"), [(False, EXAMPLE), (True, [*CONTEXT, *LISTS])], ids=["example", "steps"]
)
def test_hostile_messages_are_read_as_by_tensorflow_and_protobuf(other, sequence, cases, length):
    tf = tensorflow()
    trials = int(os.environ.get("LEVADA_ORACLE_TRIALS", TRIALS)) // 2 * length
    draw, seen = random.Random(2021), collections.Counter()
    for message in messages(draw, trials, sequence):
        case = draw.choice(cases)
        proto = by_protobuf(tf, case, message, sequence)
        want = expected(case, message, sequence)
        notes = set(noted)
        for batch in (False, True):
            got = parsed(case, message, sequence, batch)
            assert got in (want, OTHER), (case, message.hex())
        where = (case, message.hex(), notes)
        assert proto == want or PROTOBUF & notes, ("protobuf", proto, want, *where)
        for batch in (False, True):
            theirs = other.read(case, message, sequence, batch)
            if theirs == CRASHED:
                continue
            seen["same"] += theirs == want
            if theirs == want or (want is None and proto is None):
                continue  # levada and protobuf refuse what TensorFlow does not look at
            assert TENSORFLOW & notes, ("tensorflow", batch, theirs, want, *where)
    assert seen["same"] > trials
    assert other.crashes <= trials // 1000
