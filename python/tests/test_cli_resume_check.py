# SPDX-License-Identifier: Apache-2.0
"""levada resume-check: the batch that it names is the one that run --resume returns."""

import json
import subprocess

import levada as lv
import pytest
from command import LEVADA, needs_command

pytestmark = needs_command
PIPELINE = "text_lines:[a.txt,b.txt] | shuffle:20,seed=3 | batch:8"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {i}\n" for i in range(30)))


def run(*words, status=0):
    done = subprocess.run([LEVADA, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.parametrize("limit", range(9))
def test_the_batch_that_it_names_is_the_next_one(limit):
    run("run", PIPELINE, "-n", str(limit), "--save", "state", "--seed", "1")
    want = run("run", PIPELINE, "--resume", "state", "-n", "1", "--json").stdout
    got = run("resume-check", "state", PIPELINE, "--json").stdout
    assert got == (want or '{"batch":null}\n')
    text = run("resume-check", "state", PIPELINE).stdout.splitlines()
    assert text[0].startswith(f"state fits: {limit} batch")
    if want:
        keys = json.loads(want)["keys"]
        assert text[1].endswith(f"{keys[0]} ... {keys[-1]}")
    else:
        assert text[1] == "next: the end of the epoch"


def test_a_state_of_python_and_one_part_of_several():
    it = iter(lv.from_text(PIPELINE))
    next(it)
    lv.save_checkpoint("ckpt", data=it, model=b"weights")
    keys = next(it).record_keys
    assert json.loads(run("resume-check", "ckpt", PIPELINE, "--json").stdout)["keys"] == keys
    run("resume-check", "ckpt", PIPELINE, "--part", "data")
    assert (
        "not a checkpoint"
        in run("resume-check", "ckpt", PIPELINE, "--part", "model", status=1).stderr
    )


def test_what_does_not_fit_is_said(tmp_path):
    run("run", PIPELINE, "-n", "2", "--save", "state")
    other = PIPELINE.replace("shuffle:20", "shuffle:30")
    assert "was 20 when it was saved" in run("resume-check", "state", other, status=1).stderr
    with open("b.txt", "a") as file:
        file.write("more\n")
    assert "b.txt" in run("resume-check", "state", PIPELINE, status=1).stderr
    assert run("resume-check", "a.txt", PIPELINE, status=1).stderr
    run("resume-check", "state", "nope:3", status=2)
    run("resume-check", "state", status=2)


@pytest.mark.parametrize("command", ["run", "resume-check"])
def test_columns_that_functions_chose_are_passed_over(command):
    it = iter(lv.range(20).map(lambda record: {"x": [int(record["value"])]}).batch(3))
    next(it)
    lv.save_checkpoint("ckpt", data=it)
    words = ["ckpt", "range:20 | batch:3"]
    words = ["run", words[1], "--resume", words[0]] if command == "run" else [command, *words]
    assert 'a stage was "map"' in run(*words, status=1).stderr
    state = it.save()
    for size in (8, 12, 16, 40, len(state) - 1):
        with open("ckpt", "wb") as file:
            file.write(state[:size])
        assert "the checkpoint is corrupt" in run(*words, status=1).stderr
