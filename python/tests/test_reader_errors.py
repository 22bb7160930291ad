# SPDX-License-Identifier: Apache-2.0
"""Readers of levada.train: files that cannot be opened, and errors after that."""

import signal
import threading
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from interrupting import stormed
from levada import errors
from levada import train as lt
from test_plugins import compiled
from waiting import until

OF_BLOCKS = {
    "TFRecordReader": lt.TFRecordReader,
    "TextLineReader": lt.TextLineReader,
    "FixedLengthRecordReader": lambda: lt.FixedLengthRecordReader(18),
}
OF_FILES = {**OF_BLOCKS, "WholeFileReader": lt.WholeFileReader}
OF_OPENING = [errors.NotFoundError, errors.PermissionDeniedError, errors.InvalidArgumentError,
              errors.UnimplementedError]  # fmt: skip

each_reader = pytest.mark.parametrize("make", OF_FILES.values(), ids=OF_FILES)
each_call = pytest.mark.parametrize("n", [None, 1, 5], ids="read of 1 of 5".split(" of "))


def queue_of(*paths):
    queue = lt.FIFOQueue(99, [lv.string], shapes=[()])
    queue.enqueue_many([[p if isinstance(p, bytes) else str(p) for p in paths]])
    queue.close()
    return queue


def file_of(path, *values):
    with lv.TFRecordWriter(str(path)) as writer:
        for value in values:
            writer.write(value)
    return path


def took(reader, queue, n):
    """Name of the file that a call took something of."""
    if n is None:
        found = reader.read(queue)[0]
    else:
        found = reader.read_up_to(queue, n)[0][0]
    return found.rpartition(b":")[0] or found


@pytest.fixture(scope="module")
def opener(tmp_path_factory):
    """Names of an opener that fails: those of files, read again and again up to some byte."""
    lv.load_library(compiled("tests/unit/plugin_faulty.c", tmp_path_factory.mktemp("faulty")))

    def named(path, error, byte=0):
        return f"faulty://{error.code}@{byte}{path}"

    return named


@each_call
@each_reader
def test_a_file_that_cannot_be_opened_is_an_error_once(tmp_path, make, n):
    there = file_of(tmp_path / "there", b"xy")
    bad = {
        tmp_path / "missing": errors.NotFoundError,
        there / "below": errors.NotFoundError,
        tmp_path: errors.InvalidArgumentError,
        "a\0b": errors.InvalidArgumentError,
        tmp_path / ("x" * 300): errors.InvalidArgumentError,
        b"\xff\xfe": (errors.InvalidArgumentError, errors.NotFoundError),
    }
    reader, queue = make(), queue_of(*bad, there, tmp_path)
    for error in bad.values():
        with pytest.raises(error):
            took(reader, queue, n)
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (0, 0)
    assert took(reader, queue, n) == str(there).encode()
    with pytest.raises(errors.InvalidArgumentError, match="directory"):
        while True:
            took(reader, queue, n)
    assert reader.num_work_units_completed() == 1
    with pytest.raises(errors.OutOfRangeError):
        took(reader, queue, n)


@pytest.mark.parametrize("name", OF_BLOCKS)
def test_names_are_utf8_where_a_source_of_levada_reads_the_file(name):
    with pytest.raises(errors.InvalidArgumentError, match="not UTF-8"):
        OF_BLOCKS[name]().read(queue_of(b"\xff\xfe"))


@pytest.mark.parametrize("error", OF_OPENING)
@each_call
@each_reader
def test_errors_of_opening_are_told_once(tmp_path, opener, make, n, error):
    good = file_of(tmp_path / "good", b"xy")
    bad = opener(good, error)
    reader, queue = make(), queue_of(bad, bad, good)
    for _ in range(2):
        with pytest.raises(error):
            took(reader, queue, n)
    assert took(reader, queue, n) == str(good).encode()


@pytest.mark.parametrize("error", [errors.DataLossError, errors.UnavailableError])
@each_call
@each_reader
def test_other_errors_are_told_until_reset(tmp_path, opener, make, n, error):
    good = file_of(tmp_path / "good", b"xy")
    reader, queue = make(), queue_of(opener(good, error), good)
    for _ in range(3):
        with pytest.raises(error):
            took(reader, queue, n)
    reader.reset()
    assert took(reader, queue, n) == str(good).encode()


@pytest.mark.parametrize("error", [*OF_OPENING, errors.DataLossError])
@each_call
@pytest.mark.parametrize("make", OF_BLOCKS.values(), ids=OF_BLOCKS)
def test_no_error_is_of_opening_once_the_file_was_begun(tmp_path, opener, make, n, error):
    good = file_of(tmp_path / "good", b"x\n")
    bad = opener(good, error, 1 << 19)
    reader, queue = make(), queue_of(bad, good)
    assert took(reader, queue, n) == bad.encode()
    with pytest.raises(error):
        while True:
            took(reader, queue, n)
    assert reader.num_records_produced() > 10000
    for _ in range(2):
        with pytest.raises(error):
            took(reader, queue, n)
    reader.reset()
    assert took(reader, queue, n) == str(good).encode()


def test_a_whole_file_that_cannot_be_read_is_told_until_reset(tmp_path):
    """That is a file which is there."""
    loop, good = tmp_path / "loop", file_of(tmp_path / "good", b"xy")
    loop.symlink_to(loop)
    reader, queue = lt.WholeFileReader(), queue_of(loop, good)
    for _ in range(2):
        with pytest.raises(errors.UnavailableError):
            reader.read(queue)
    reader.reset()
    assert reader.read(queue)[0] == str(good).encode()


def test_names_come_from_functions_and_their_errors_go_through():
    given = iter(["a", b"\xff", Path("c"), np.array([b"d"]), 5])
    reader = lt.IdentityReader()
    assert [reader.read(lambda: next(given))[0] for _ in range(4)] == [b"a", b"\xff", b"c", b"d"]
    with pytest.raises(errors.InvalidArgumentError, match="must hold strings, got 5"):
        reader.read(lambda: next(given))
    with pytest.raises(StopIteration):
        reader.read_up_to(lambda: next(given), 3)
    assert reader.num_records_produced() == 4


def test_a_producer_that_failed_is_the_end_of_a_reader():
    queue = lt.FIFOQueue(9, "string", [()])
    queue.enqueue("a")
    queue._producers_failed(ZeroDivisionError("in the producer"))
    queue.close()
    reader = lt.IdentityReader()
    assert reader.read(queue) == (b"a", b"a")
    with pytest.raises(ZeroDivisionError):
        reader.read(queue)


@pytest.mark.parametrize("n", [None, 7])
def test_ctrl_c_loses_neither_records_nor_names(tmp_path, n):
    paths = [file_of(tmp_path / f"{i:03}", *(b"%d" % j for j in range(i % 50))) for i in range(600)]
    queue, reader = lt.FIFOQueue(-1, "string", [()]), lt.TFRecordReader()
    queue.enqueue_many([[str(path) for path in paths]])
    queue.close()

    def take():
        return reader.read(queue) if n is None else reader.read_up_to(queue, n)

    got = stormed(take, errors.OutOfRangeError)
    values = [v for _, v in got] if n is None else [v for _, vs in got for v in vs]
    assert values == [b"%d" % j for i in range(600) for j in range(i % 50)]
    assert reader.num_records_produced() == len(values)
    assert reader.num_work_units_completed() == 600


def test_ctrl_c_ends_a_wait_for_a_turn():
    queue, reader = lt.FIFOQueue(9, "string", [()]), lt.IdentityReader("shared")
    first = threading.Thread(target=reader.read, args=(queue,))
    first.start()
    until(lambda: len(lt.waiters()) > 0)
    for call in (lambda: reader.read(queue), reader.reset, reader.serialize_state):
        threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            call()
    queue.enqueue_many([["a", "b"]])
    first.join(20)
    assert reader.read(queue) == (b"b", b"b")
