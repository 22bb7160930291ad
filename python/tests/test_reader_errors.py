# SPDX-License-Identifier: Apache-2.0
"""Readers of levada.train: files that cannot be opened, and errors behind that."""

import levada as lv
import pytest
from levada import errors
from levada import train as lt

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


def fails(monkeypatch, reader, error, behind):
    """The file "bad" fails after that number of its blocks."""
    really = reader._open

    def blocks(name, rows):
        rest = really(name, rows)
        for _ in range(behind):
            yield next(rest)
        raise error("as the test wants it")

    def opened(name, rows):
        return blocks(name, rows) if name.endswith(b"bad") else really(name, rows)

    monkeypatch.setattr(reader, "_open", opened)


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
    with pytest.raises(errors.InvalidArgumentError, match="folder"):
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
def test_errors_of_opening_are_told_once(tmp_path, monkeypatch, make, n, error):
    bad, good = (file_of(tmp_path / name, b"xy") for name in ("bad", "good"))
    reader, queue = make(), queue_of(bad, bad, good)
    fails(monkeypatch, reader, error, behind=0)
    for _ in range(2):
        with pytest.raises(error):
            took(reader, queue, n)
    assert took(reader, queue, n) == str(good).encode()


@pytest.mark.parametrize("error", [errors.DataLossError, errors.UnavailableError])
@each_call
@each_reader
def test_other_errors_are_told_until_reset(tmp_path, monkeypatch, make, n, error):
    bad, good = (file_of(tmp_path / name, b"xy") for name in ("bad", "good"))
    reader, queue = make(), queue_of(bad, good)
    fails(monkeypatch, reader, error, behind=0)
    for _ in range(3):
        with pytest.raises(error):
            took(reader, queue, n)
    reader.reset()
    assert took(reader, queue, n) == str(good).encode()


@pytest.mark.parametrize("error", [*OF_OPENING, errors.DataLossError])
@each_call
@pytest.mark.parametrize("make", OF_BLOCKS.values(), ids=OF_BLOCKS)
def test_no_error_is_of_opening_once_the_file_was_begun(tmp_path, monkeypatch, make, n, error):
    bad, good = (file_of(tmp_path / name, b"xy") for name in ("bad", "good"))
    reader, queue = make(), queue_of(bad, good)
    fails(monkeypatch, reader, error, behind=1)
    assert took(reader, queue, n) == str(bad).encode()
    for _ in range(3):
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
