# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class a status, with the place where it happened."""

import pickle

import levada as lv
import pytest
from documents import rows_of
from levada import errors


def camel(name):
    return "".join(word.capitalize() for word in name[1:].split("_")) + "Error"


def test_there_is_a_class_for_each_status():
    codes = {camel(name): int(value) for name, value in rows_of("error.h", r"X\((\w+), (-\d+), ")}
    assert {name: getattr(errors, name).code for name in errors.__all__} == {
        **codes,
        "LevadaError": errors.UnknownError.code,
    }


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("InvalidArgumentError", ValueError),
        ("DeadlineExceededError", TimeoutError),
        ("NotFoundError", LookupError),
        ("UnimplementedError", NotImplementedError),
    ],
)
def test_some_are_also_classes_of_python(name, base):
    error = errors.from_status(getattr(errors, name).code, "why", None, None, None, None, None)
    assert isinstance(error, base)
    assert isinstance(error, errors.LevadaError)


def test_no_memory_is_a_memory_error():
    error = errors.from_status(-8, "out of memory for a block", None, None, None, None, None)
    assert isinstance(error, MemoryError)
    assert isinstance(error, errors.ResourceExhaustedError)
    error = errors.from_status(-8, "the disk is full", None, None, None, None, None)
    assert not isinstance(error, MemoryError)


def test_says_where():
    error = errors.from_status(-15, "checksum", "0.tfrecord", "a.tfrecord", 96, 3, None)
    assert type(error) is errors.DataLossError
    assert (error.file, error.offset, error.record, error.key) == ("a.tfrecord", 96, 3, None)
    assert str(error).split("\n") == ["checksum", "  0.tfrecord · a.tfrecord record 3 at byte 96"]


def test_unknown_parts_are_none():
    with pytest.raises(errors.InvalidArgumentError) as caught:
        lv.from_text("no_such_stage")
    assert caught.value.file is None
    assert caught.value.record is None
    assert caught.value.message
    assert caught.value.code == -3


def test_can_be_pickled():
    error = errors.DataLossError("why", file="f", record=7)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.file, again.record) == (
        errors.DataLossError,
        "why",
        "f",
        7,
    )


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("nope.tfrecord", errors.NotFoundError, "cannot open it: No such file or directory"),
        (".", errors.InvalidArgumentError, "it is a directory"),
        ("gopher://host/a", errors.UnimplementedError, "no opener for this URL scheme; .*"),
    ],
)
def test_a_file_that_can_not_be_read_is_named_once(path, kind, text):
    with pytest.raises(kind, match=f"^{text}\n  0.tfrecord · {path}$") as caught:
        list(lv.tfrecord(path))
    assert caught.value.file == path


@pytest.mark.parametrize(
    "policy", ["", "never", "skip:", "skip:-1", "skip:x%", "skip:0x1%", "skipped"]
)
def test_a_policy_is_checked_where_it_is_passed(policy):
    with pytest.raises(errors.InvalidArgumentError, match="must be fail, skip"):
        lv.range(3).with_options(errors=policy)
    with pytest.raises(errors.InvalidArgumentError, match="must be fail, skip"):
        lv.text_lines("none.txt", errors=policy)


def test_a_compression_is_checked_where_it_is_passed():
    with pytest.raises(errors.InvalidArgumentError, match="compression='rar' must be auto"):
        lv.tfrecord("none.tfrecord", compression="rar")
    pipe = 'files:x | interleave:(tfrecord:"{path}",compression=rar)'
    with pytest.raises(errors.InvalidArgumentError, match="compression='rar' must be auto"):
        lv.from_text(pipe)
