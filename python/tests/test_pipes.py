# SPDX-License-Identifier: Apache-2.0
"""Pipes as input files: /dev/stdin, <(command) and FIFOs."""

import os
import signal
import subprocess
import threading
import time

import levada as lv
import pytest
from cli_support import RECORDS, frame
from command import LEVADA, needs_command
from levada import errors

PLAIN = b"".join(map(frame, RECORDS))
LINES = b"".join(b"line %d\n" % i for i in range(5000))
COMMANDS = [
    "verify {}",
    "info {} --json",
    "head {} --json -n 100",
    "run tfrecord:{}|shuffle:7|repeat:2|batch:3 --json --seed 1",
    "stats tfrecord:{}|parse_example:auto --json --field tokens",
    "convert {} - --from tfrecord --to jsonl",
]


def piped(words, data, cwd, **more):
    return subprocess.run(
        [LEVADA, *words], input=data, cwd=cwd, capture_output=True, timeout=60, **more
    )


@needs_command
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_a_pipe_as_the_file(tmp_path, command):
    (tmp_path / "ten.tfrecord").write_bytes(PLAIN)
    want = piped(command.format("ten.tfrecord").split(), b"", tmp_path)
    got = piped(command.format("/dev/stdin").split(), PLAIN, tmp_path)
    assert (got.returncode, got.stderr) == (want.returncode, want.stderr) == (0, b"")
    assert got.stdout.replace(b"/dev/stdin", b"ten.tfrecord") == want.stdout


@needs_command
def test_a_position_in_a_pipe_is_refused(tmp_path):
    words = ["run", "text_lines:/dev/stdin|batch:10"]
    piped([*words, "--limit", "100", "--save", "pos"], LINES, tmp_path)
    done = piped([*words, "--resume", "pos"], LINES, tmp_path)
    assert done.returncode == 1 and b"it is a pipe, which cannot be resumed" in done.stderr


@needs_command
def test_a_pipe_without_a_writer_ends_by_a_signal(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    words = [LEVADA, "run", "text_lines:pipe"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read() == b""


@needs_command
def test_what_cannot_be_read_from_a_pipe_is_refused(tmp_path):
    done = piped(["index", "/dev/stdin"], PLAIN, tmp_path)
    assert done.returncode == 1 and b"/dev/stdin: it is a pipe" in done.stderr
    done = piped(["head", "/dev/null"], b"", tmp_path)
    assert done.returncode == 1 and b"only files and pipes can be read" in done.stderr
    environ = os.environ | {"TMPDIR": str(tmp_path / "none")}
    done = piped(["verify", "/dev/stdin"], PLAIN, tmp_path, env=environ)
    assert done.returncode == 1 and b"write the pipe to a file, and read that" in done.stderr


@needs_command
def test_two_processes_do_not_divide_a_pipe(tmp_path):
    reader, writer = os.pipe()
    words = [LEVADA, "run", "text_lines:/dev/stdin", "--json"]
    with subprocess.Popen(words, stdin=reader, stdout=subprocess.PIPE) as first:
        os.write(writer, b"a\n")
        time.sleep(0.5)
        done = subprocess.run(words, stdin=reader, capture_output=True, timeout=60)
        assert done.returncode == 1 and b"another process reads this pipe" in done.stderr
        os.close(reader)
        os.write(writer, b"b\n")
        os.close(writer)
        assert b'"records":2' in first.communicate(timeout=60)[0]


def write_later(path, data):
    thread = threading.Thread(target=path.write_bytes, args=(data,))
    thread.start()
    return thread


def test_a_fifo_has_the_same_records_in_each_epoch(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, LINES)
    ds = lv.text_lines(str(path)).shuffle(100).with_options(seed=1, threads=3)
    for _ in range(2):
        assert sorted(row["line"] for row in ds) == sorted(LINES.splitlines())
    thread.join()
    assert not list((tmp_path / "tmp").iterdir())


def test_new_data_in_a_fifo_is_an_error(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, b"old\n")
    assert [row["line"] for row in lv.text_lines(str(path))] == [b"old"]
    thread.join()
    with path.open("r+b", buffering=0) as again:
        again.write(b"new\n")
        with pytest.raises(errors.FailedPreconditionError, match="has new data now"):
            list(lv.text_lines(str(path)))
