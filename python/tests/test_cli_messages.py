# SPDX-License-Identifier: Apache-2.0
"""What the command says."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import levada as lv
import pytest
from cli_support import levada
from command import LEVADA, needs_command

pytestmark = needs_command


def test_version_is_one_line():
    text = levada("--version").stdout
    assert text.startswith("levada 0.") and text.count("\n") == 1


def test_version_and_config_name_the_build(capsys):
    config = lv.show_config(mode="dicts")
    assert config["version"] == lv.__version__
    assert list(config) == (
        "version cpu cpu_detected simd futex debug "
        "curl flac isal jpeg kissfft png simdjson soxr zlib zstd".split()
    )
    text = levada("--version").stdout
    for key in "curl flac isal jpeg kissfft png simdjson soxr zlib zstd".split():
        assert f", {key} {config[key] or 'off'}" in text
    assert f"(cpu {config['cpu']}, " in text
    environ = os.environ | {"LEVADA_CPU": "portable"}
    done = subprocess.run([LEVADA, "--version"], env=environ, capture_output=True, text=True)
    assert "(cpu portable, " in done.stdout
    assert lv.show_config() is None
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(config)
    with pytest.raises(ValueError, match="mode='x'"):
        lv.show_config("x")


def test_one_is_singular():
    assert levada("run", "range:5").stdout.startswith("5 records in 1 block · ")
    assert levada("run", "range:5 | batch:9").stdout.startswith("5 records in 1 batch · ")
    assert levada("run", "range:5 | batch:3").stdout.startswith("5 records in 2 batches · ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--threads", "4294967297"), "--threads 4294967297 must be from 0 to 256"),
        (("--errors", "never"), "errors='never' must be fail, skip"),
    ],
)
def test_settings_out_of_range_are_wrong_usage(words, message):
    assert message in levada("run", "range:1", *words, status=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--errors", "never"), "errors='never' must be fail, skip"),
        (("--compression", "lzma"), "compression='lzma' must be none, gzip"),
        (("--level", "77", "-c", "gzip"), "level=77 must be from"),
    ],
)
def test_settings_of_a_conversion_that_can_not_be_are_wrong_usage(words, message, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    done = levada("convert", "a.txt", "b.tfrecord", *words, status=2, cwd=tmp_path)
    assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]
    levada("convert", "nosuch.txt", "b.tfrecord", status=1, cwd=tmp_path)


def test_a_file_without_records_is_told_once(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    done = levada("head", "empty", cwd=tmp_path)
    assert done.stderr == "levada: empty: the file has no records\n"


@pytest.mark.parametrize("command", ["verify", "info", "run"])
def test_many_files_without_records_are_eight_lines_and_a_count(tmp_path, command):
    names = [f"e{i}.txt" for i in range(1250)]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    words = ["text_lines:e*.txt"] if command == "run" else names
    lines = levada(command, *words, cwd=tmp_path).stderr.splitlines()
    assert len(lines) == 9 and all(": the file has no records" in line for line in lines)
    assert lines[-1] == "levada: the file has no records: 1,242 more messages"


@pytest.mark.parametrize(("threads", "stages"), [(1, []), (2, ["4.batch", "2.prefetch"])])
def test_a_signal_asks_who_waits_for_what(threads, stages):
    pipe = "range:1000000000000 | shuffle:10 | prefetch | skip:3 | batch:10"
    words = [LEVADA, "run", pipe, "--threads", str(threads)]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    first, *rows = err.splitlines()
    busy = "levada: 2 stages with workers" if stages else "levada: everything runs on one thread"
    assert first == busy
    assert [row.split()[0] for row in rows] == stages
    assert all(re.fullmatch(r"  \S+ {2,}\w[\w ]+ {2,}\d+ of \d+ ready", row) for row in rows)


@pytest.mark.parametrize("columns", [80, 240])
def test_the_progress_line_fits_into_the_terminal(tmp_path, columns):
    name = "a_name_that_leaves_little_space_for_anything_else_in_a_line.txt"
    (tmp_path / name).write_text("a line\n" * 1000)
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    words = [LEVADA, "run", f"text_lines:{name} | repeat | batch:10", "--progress"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=end, cwd=tmp_path) as process:
        drawn = b""
        while not re.search(rb"100 %[^\x1b]*\x1b\[K", drawn):  # on a busy machine not the first
            drawn += os.read(terminal, 1 << 16)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    os.close(end)
    os.close(terminal)
    lines = [line.strip("\r") for line in drawn.decode().split("\x1b[K")]
    line = next(line for line in lines if "100 %" in line)
    assert re.search(r"100 %   .*records/s · [\d.]+ .?B/s · slowest: (text_lines|batch)$", line)
    assert len(line) < columns
    assert (name in line) == (columns == 240)
