# SPDX-License-Identifier: Apache-2.0
"""Logs of records by step: what they say, how they grow, and what damage and crashes leave."""

import json
import os
import subprocess
import sys
import warnings

import levada as lv
import pytest
from command import LEVADA, needs_command
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {i}\n" for i in range(50)))


def steps(*words, status=0):
    done = subprocess.run(
        [LEVADA, "steps", *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done


def of_step(step):
    return json.loads(steps("log", "--step", str(step), "--json").stdout)["keys"]


def pipelines():
    lines = lv.text_lines(["a.txt", "b.txt"])
    return {
        "files": lines.shuffle(20, seed=1).batch(7),
        "numbers": lv.range(30).batch(4),
        "mix": lv.mix(lines, lv.text_lines("b.txt"), seed=2).batch(9),
        "zip": lv.zip(lv.text_lines("a.txt"), lv.text_lines("b.txt").rename({"line": "m"})).batch(
            6
        ),
        "passes": lv.text_lines("a.txt").repeat(3).batch(11),
    }


@needs_command
@pytest.mark.parametrize("name", ["files", "numbers", "mix", "zip", "passes"])
def test_each_step_has_its_records(name):
    want = {}
    with lv.RecordLog("log") as log:
        for step, batch in enumerate(pipelines()[name]):
            log.add(step, batch)
            want[step] = batch.record_keys
        for step, keys in want.items():
            assert log.keys(step) == keys
        assert log.keys(len(want)) is None
    for step in (0, len(want) - 1):
        assert of_step(step) == want[step]
        assert steps("log", "--step", str(step)).stdout.splitlines() == want[step]
    records = sum(map(len, want.values()))
    lanes = 2 if name == "zip" else 1
    assert os.path.getsize("log") < 8 * lanes * records + 40 * len(want) + 200
    summary = json.loads(steps("log", "--json").stdout)
    assert (summary["steps"], summary["records"], summary["last"]) == (
        len(want), records, len(want) - 1,
    )  # fmt: skip
    assert "does not have step" in steps("log", "--step", "9999", status=1).stderr


@needs_command
def test_a_log_is_continued_and_a_later_entry_counts():
    batches = list(pipelines()["files"])
    for first in (0, 4, 3):
        with lv.RecordLog("log") as log:
            for step in range(first, first + 4):
                log.add(step, batches[step + (first == 3)])
    assert of_step(0) == batches[0].record_keys
    assert of_step(5) == batches[6].record_keys
    assert of_step(7) == batches[7].record_keys
    assert lv.RecordLog("log").keys(5) == batches[6].record_keys
    assert json.loads(steps("log", "--json").stdout)["files"] == 2


@needs_command
def test_a_torn_end_is_named_and_cut():
    batches = list(pipelines()["files"])
    with lv.RecordLog("log") as log:
        for step, batch in enumerate(batches[:3]):
            log.add(step, batch)
    with open("log", "rb") as file:
        whole = file.read()
    with lv.RecordLog("log") as log:
        log.add(3, batches[3])
    with open("log", "rb") as file:
        longer = file.read()
    for size in range(len(whole) + 1, len(longer)):
        with open("log", "wb") as file:
            file.write(longer[:size])
        torn = size - len(whole)
        done = steps("log", "--step", "2", status=1)
        assert done.stdout.splitlines() == batches[2].record_keys
        assert f"the last {torn} bytes, from byte {len(whole)}," in done.stderr
        with pytest.warns(RuntimeWarning, match=f"the last {torn} bytes, from byte {len(whole)},"):
            log = lv.RecordLog("log")
        assert log.keys(3) is None
        log.add(3, batches[3])
        log.close()
        with open("log", "rb") as file:
            assert file.read() == longer


@needs_command
def test_damage_before_the_end_is_an_error():
    with lv.RecordLog("log") as log:
        for step, batch in enumerate(pipelines()["files"]):
            log.add(step, batch)
    with open("log", "rb") as file:
        good = file.read()
    for at in range(0, len(good) // 2, 3):
        bad = bytearray(good)
        bad[at] ^= 4
        with open("log", "wb") as file:
            file.write(bad)
        with pytest.raises(DataLossError):
            lv.RecordLog("log")
        assert steps("log", "--step", "2", status=1).stderr
        with open("log", "rb") as file:
            assert file.read() == bad


def test_a_killed_process_leaves_every_step_that_it_added():
    program = (
        "import levada as lv, os\n"
        "log = lv.RecordLog('log')\n"
        "for step, batch in enumerate(lv.range(100).batch(10)):\n"
        "    log.add(step, batch)\n"
        "    if step == 6: os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = lv.RecordLog("log")
    assert log.keys(6) == [f"0.0:{i}" for i in range(60, 70)]
    assert log.keys(7) is None


def test_a_full_disk_leaves_the_log_as_it_was(monkeypatch):
    batch = pipelines()["files"].first()
    log = lv.RecordLog("log")
    log.add(0, batch)
    size, real = os.path.getsize("log"), os.write

    def full(file, data):
        if len(data) < 60:
            raise OSError(28, "No space left on device")
        return real(file, data[:40])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UnavailableError, match="No space left"):
        log.add(1, batch)
    monkeypatch.setattr(os, "write", real)
    assert os.path.getsize("log") == size
    log.add(1, batch)
    assert log.keys(1) == log.keys(0) == batch.record_keys


def test_what_is_no_log_and_a_second_writer_are_refused():
    with pytest.raises(DataLossError, match="not a record log"):
        lv.RecordLog("a.txt")
    with open("empty", "wb"):
        pass
    lv.RecordLog("empty").close()
    log = lv.RecordLog("log")
    with pytest.raises(FailedPreconditionError, match="another process"):
        lv.RecordLog("log")
    with pytest.raises(InvalidArgumentError, match="step=-1"):
        log.add(-1, lv.range(3).batch(2).first())
    log.close()
    with pytest.raises(FailedPreconditionError, match="closed"):
        log.add(0, lv.range(3).batch(2).first())
