# SPDX-License-Identifier: Apache-2.0
"""Every command and lv.open find the same format in a file, and accept or refuse the same files.
An empty file is good for commands, and lv.open cannot know its columns; `convert` takes the suffix
or a checksum alone, because any bytes could be text."""

import json
import subprocess

import levada as lv
import pytest
from cli_support import RECORDS, frame
from command import LEVADA, needs_command
from test_pipes import csv_of, tar_of

pytestmark = needs_command

CONTENTS = {
    "tfrecord": b"".join(map(frame, RECORDS)),
    "text": b"one line\nand another\na third\n",
    "csv": csv_of(3),
    "jsonl": b'{"a": 1}\n{"a": 2}\n',
    "tar": tar_of(5),
    "noise": bytes(range(256)),
}
SUFFIXES = [".tfrecord", ".txt", ".csv", ".tsv", ".jsonl", ".json", ".tar", ".bin", "", ".log"]


def verdicts(folder, name):
    """{who: (format or None, accepted)}"""
    found = {}
    for command in ("verify", "info"):
        words = [LEVADA, command, name, "--json"]
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60)
        answer = json.loads(done.stdout or b"{}")
        kind = None if answer.get("guessed") else answer.get("format")
        found[command] = kind, done.returncode == 0
    for words in (["head", name], ["convert", name, "out.jsonl"]):
        done = subprocess.run([LEVADA, *words], cwd=folder, capture_output=True, timeout=60)
        found[words[0]] = None, done.returncode == 0
    try:
        ds = lv.open(folder / name)
        found["open"] = str(ds).partition(":")[0], sum(1 for _ in ds) >= 0
    except (lv.errors.LevadaError, ValueError) as error:
        found["open"] = str(error)[:100], False
    return found


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_agree(tmp_path, content, suffix):
    name = "a" + suffix
    (tmp_path / name).write_bytes(CONTENTS[content])
    found = verdicts(tmp_path, name)
    if suffix in (".bin", "") and content not in ("tfrecord", "tar"):
        del found["convert"]
    if (suffix, content) in ((".csv", "text"), (".tsv", "text"), (".tsv", "csv")):
        del found["open"]  # which refuses rows that are no table
    formats = {kind for kind, good in found.values() if kind and good}
    accepted = {good for _, good in found.values()}
    assert len(formats) <= 1 and len(accepted) == 1, found


ODD = ["*.txt", "?.txt", "[ab].txt", "{a,b}.txt", "a*\\\\b.txt", "**", "-", "a b.txt", "\\\\*.txt"]


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_was_found_is_one_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for other in ("a.txt", "b.txt", "ab.txt"):
        (tmp_path / other).write_bytes(b"another\n")
    (tmp_path / name).write_bytes(b"mine\n")
    ds = lv.from_arrays({"path": [name.encode()]}).interleave(
        lambda row: lv.text_lines(row["path"])
    )
    assert [row["line"] for row in ds] == ["mine"]
    given = "./-" if name == "-" else name
    for words in (["verify"], ["head", "--json"], ["info", "--json"]):
        line = [LEVADA, *words, "--source", "text_lines", given]
        done = subprocess.run(line, capture_output=True, timeout=60)
        shown = done.stdout.decode()
        assert done.returncode == 0, done.stderr
        assert {"verify": "1 good record\n", "head": "mine", "info": '"records":1,'}[
            words[0]
        ] in shown
    line = [LEVADA, "convert", given, "out.jsonl", "--from", "text"]
    assert subprocess.run(line, timeout=60).returncode == 0
    assert json.loads((tmp_path / "out.jsonl").read_bytes()) == {"line": "mine"}


def test_each_file_of_a_pattern_is_read_once(tmp_path):
    for name in ("*.txt", "a.txt", "[a].txt", "{a,b}.txt"):
        (tmp_path / name).write_text(name + "\n")
    ds = lv.files(str(tmp_path / "*.txt")).interleave(lambda row: lv.text_lines(row["path"]))
    rows = sorted(row["line"] for row in ds)
    assert rows == sorted(["*.txt", "a.txt", "[a].txt", "{a,b}.txt"])
    both = lv.files(str(tmp_path / "a.txt")).interleave(
        lambda row: lv.text_lines(f"{tmp_path}/[ab].txt")
    )
    assert [row["line"] for row in both] == ["a.txt"]
