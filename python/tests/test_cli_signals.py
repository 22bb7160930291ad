# SPDX-License-Identifier: Apache-2.0
"""Every command under signals, with a reader of its output that is slow, stopped or gone."""

import fcntl
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from command import LENGTH, LEVADA, needs_command

pytestmark = needs_command

PIPE = 4096  # bytes; writes wait for the reader
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FILES = [f"file-with-a-long-name-{i:04}.txt" for i in range(40)]
COMMANDS = {  # name: words, and whether their output is the same each time
    "run": (["run", "range:20000 | batch:20", "--json", "--seed", "1"], True),
    "run-saving": (["run", "range:20000 | batch:20", "--json", "--seed=1", "--save=pos"], True),
    "head": (["head", "lines.txt", "--json", "-n", "2000"], True),
    "info": (["info", *FILES, "--json"], True),
    "verify": (["verify", *FILES, "--json"], False),
    "stats": (["stats", "text_lines:lines.txt", "--json"], True),
    "convert": (["convert", "lines.txt", "-", "--to", "jsonl"], True),
    "bench": (["bench", "range:2000 | batch:2", "--json"], False),
    "stages": (["stages", "--json"], True),
    "index": (["index", *FILES, "--check", "--json"], True),
    "ckpt": (["ckpt", "show", "saved"], True),
    "completion": (["completion", "bash"], True),
    "help": (["--help"], True),
}

DIE = ("index", "info", "verify")  # at the first Ctrl-C, as they do not stop themselves


@pytest.fixture(name="folder", scope="module")
def made_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    (folder / "lines.txt").write_text("".join(f"line {i} of them\n" for i in range(3000)))
    for name in FILES:
        (folder / name).write_text("one\ntwo\n")
    subprocess.run([LEVADA, "index", *FILES], cwd=folder, check=True, capture_output=True)
    words = [LEVADA, "run", "range:100 | shuffle:20", "--limit", "1", "--save", "saved"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def handles(process, number):
    """Whether the process has its handler of the signal; False once it has ended."""
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):  # another thread has seen its end
            return False
        caught = [line for line in status.splitlines() if line.startswith("SigCgt:")]
        if not caught:
            return False
        if int(caught[0].split()[1], 16) >> (number - 1) & 1:
            return True
        time.sleep(0.001)
    return False


class Running:
    """A command whose output goes into a small pipe."""

    def __init__(self, words, folder):
        self.reader, end = os.pipe()
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, PIPE)
        with (folder / "messages").open("wb") as messages:
            self.process = subprocess.Popen(
                [LEVADA, *words], cwd=folder, stdout=end, stderr=messages
            )
        os.close(end)
        self.folder = folder

    def storm(self, number, seconds, every=0.001):
        end = time.monotonic() + seconds
        while handles(self.process, number) and time.monotonic() < end:
            self.process.send_signal(number)
            time.sleep(every)

    def read(self, most=None, pause=0):
        parts = []
        while most is None or sum(map(len, parts)) < most:
            part = os.read(self.reader, 1000)
            if not part:
                break
            parts.append(part)
            time.sleep(pause)
        return b"".join(parts)

    def end(self):
        """The exit status and the messages."""
        os.close(self.reader)
        code = self.process.wait(timeout=60)
        return code, (self.folder / "messages").read_text()


def quiet(words, folder):
    return subprocess.run([LEVADA, *words], cwd=folder, capture_output=True, check=True).stdout


def check_same(name, out, folder):
    words, same = COMMANDS[name]
    if same:
        assert out == quiet(words, folder)
    else:
        assert [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_report_signal_loses_nothing(folder, name):
    for _ in range(LENGTH):
        for pause in (0, 0.002):  # a reader that is stopped at first, and a slow one
            running = Running(COMMANDS[name][0], folder)
            storm = threading.Thread(target=running.storm, args=(signal.SIGUSR1, 0.2))
            storm.start()
            if not pause:
                storm.join()
            out = running.read(most=20 * PIPE, pause=pause)
            out += running.read()
            storm.join()
            code, messages = running.end()
            assert code == 0 and "cannot write" not in messages
            check_same(name, out, folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_report_signal_does_not_hide_that_the_reader_is_gone(folder, name):
    running = Running(COMMANDS[name][0], folder)
    storm = threading.Thread(target=running.storm, args=(signal.SIGUSR1, 5))
    storm.start()
    code, messages = running.end()
    storm.join()
    assert code == (1 if name == "run-saving" else 0), messages
    assert "cannot write" not in messages


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_signal_ends_a_command_or_its_output_is_whole(folder, name, number, early):
    """What it wrote is the beginning of its output, in complete lines where it stopped itself."""
    words, same = COMMANDS[name]
    saves = name == "run-saving"
    running = Running(words, folder)
    out = b"" if early else running.read(most=1)
    if handles(running.process, number):
        running.process.send_signal(number)
    out += running.read()
    code, messages = running.end()
    itself = name not in DIE and (number == signal.SIGINT or (saves and number == signal.SIGTERM))
    stops = {128 + number if itself else -number, 0}
    assert code in (stops | {-number, 130} if early else stops)
    if same:
        assert quiet(words, folder).startswith(out)
    if code == 128 + number:
        assert out == b"" or out.endswith(b"\n")
        assert messages == ""
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_although_nobody_reads(folder, number):
    running = Running(COMMANDS["run-saving"][0], folder)
    running.read(most=1)
    running.storm(number, 30, every=0.05)
    code, _ = running.end()
    assert code == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_position_follows_the_output_of_a_slow_reader(folder, number):
    words = COMMANDS["run-saving"][0]
    whole = quiet(words, folder)
    (folder / "pos").unlink()
    running = Running(words, folder)
    first = running.read(most=1)
    time.sleep(0.2)  # it waits in a write
    running.process.send_signal(number)
    time.sleep(0.2)
    first += running.read()
    assert running.end() == (128 + number, "")
    rest = quiet([*words, "--resume=pos"], folder)
    keys = [[json.loads(line)["keys"] for line in part.splitlines()] for part in (first, rest)]
    assert all(keys) and keys[0] + keys[1] == [
        json.loads(line)["keys"] for line in whole.splitlines()
    ]
