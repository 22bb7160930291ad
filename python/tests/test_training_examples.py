# SPDX-License-Identifier: Apache-2.0
"""The training examples: killed and started again, they print the losses of an unbroken run."""

import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import levada as lv
import pytest
from command import LENGTH
from documents import ROOT

STEPS = 12
PROGRAMS = [  # one for each kind of data on docs/cookbook.md
    "language_model.py",
    "speech_recognition.py",
    "forecasting.py",
    "image_classes.py",
    "ranking.py",
    "state_saver.py",
    "llm_mixture.py",
]
PEERS = {
    "language_model.py": "datasets",
    "speech_recognition.py": "webdataset",
    "forecasting.py": "pandas",
    "image_classes.py": "webdataset",
    "ranking.py": "tensorflow",
    "llm_mixture.py": "datasets",
}
LONG, KILLED = 30, 17  # steps of these programs, which save at every 5th


def missing(*modules):
    return [name for name in modules if importlib.util.find_spec(name) is None]


def needs(*modules):
    return pytest.mark.skipif(bool(missing(*modules)), reason=f"needs {' '.join(modules)}")


def start(name, folder, steps=STEPS):
    command = [sys.executable, str(ROOT / "examples" / name), str(folder), str(steps)]
    pipe = subprocess.PIPE
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "examples")}
    env["HF_HOME"] = str(folder / "cache")  # of Hugging Face datasets
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=env
    )


def losses(text):
    """{(rank, step): loss as printed}."""
    found = re.findall(r"(?:rank (\d) )?step (\d+) loss (\S+)", text)
    return {(rank, int(step)): loss for rank, step, loss in found}


def whole(name, folder, steps=STEPS):
    process = start(name, folder, steps)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return losses(out)


def killed(name, folder, step, steps=STEPS):
    """What a run printed before its processes were killed at that step."""
    process, lines = start(name, folder, steps), []
    for line in process.stdout:
        lines.append(line)
        if f"step {step} " in line:
            break
    os.killpg(process.pid, signal.SIGKILL)
    lines += process.stdout  # it may have run on before the signal came
    process.communicate()
    return losses("".join(lines))


def killed_after(name, folder, seconds, steps):
    """What a run printed in that time; it may have ended before."""
    process = start(name, folder, steps)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group exists
    return losses(process.communicate()[0])


def check_resumes(name, tmp_path, ranks=("",), killed_at=9):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        lv.samples.write(tmp_path / folder)
    unbroken = whole(name, tmp_path / "one")
    assert sorted(unbroken) == sorted((r, s) for r in ranks for s in range(1, STEPS + 1))
    before = killed(name, tmp_path / "other", killed_at)
    after = whole(name, tmp_path / "other")
    assert min(step for _, step in after) > 1, "it began anew"
    assert {**before, **after} == unbroken


def check_kills_at_any_moment(name, unbroken, made, folder, seconds):
    """Three kills at drawn moments, and a run to the end: every line is one of the unbroken run."""
    for trial in range(LENGTH):
        moments = [random.uniform(0.1, 1) * seconds for _ in range(3)]
        other = folder / str(trial)
        shutil.copytree(made, other, ignore=shutil.ignore_patterns("*.ckpt"))
        seen = {}
        for moment in moments:
            seen |= killed_after(name, other, moment, LONG)
            assert seen.items() <= unbroken.items(), moments
        seen |= whole(name, other, LONG)
        assert seen == unbroken, moments


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_continues_exactly_after_a_kill(name, tmp_path):
    made, other = tmp_path / "made", tmp_path / "other"
    made.mkdir()
    begun = time.monotonic()
    unbroken = whole(name, made, LONG)
    seconds = time.monotonic() - begun
    assert sorted(step for _, step in unbroken) == list(range(1, LONG + 1))
    first, last = (float(unbroken["", step]) for step in (1, LONG))
    assert last < first, "the model learns"
    shutil.copytree(made, other, ignore=shutil.ignore_patterns("*.ckpt"))
    before = killed(name, other, KILLED, LONG)
    after = whole(name, other, LONG)
    assert min(step for _, step in after) > 1, "it began anew"
    assert before.items() | after.items() == unbroken.items()
    check_kills_at_any_moment(name, unbroken, made, tmp_path, seconds)


@pytest.mark.parametrize(("name", "library"), PEERS.items())
def test_the_program_of_other_libraries_runs(name, library, tmp_path):
    """What docs/cookbook.md compares the lines with; it resumes after step 5."""
    if missing(library):
        pytest.skip(f"needs {library}")
    path = ROOT / "python" / "tests" / "peers" / f"peer_{name}"
    first, more = whole(path, tmp_path, 6), whole(path, tmp_path, 7)
    assert [step for _, step in first] == [1, 2, 3, 4, 5, 6]
    assert [step for _, step in more] == [6, 7]
    assert more["", 6] == first["", 6]


def test_numpy_resumes(tmp_path):
    check_resumes("numpy_train.py", tmp_path)


@needs("torch")
def test_torch_resumes(tmp_path):
    check_resumes("pytorch_one.py", tmp_path)


@needs("torch")
def test_two_ranks_resume(tmp_path):
    check_resumes("pytorch_ddp.py", tmp_path, ("0", "1"))


@needs("jax")
def test_jax_trains(tmp_path):
    lv.samples.write(tmp_path)
    found = whole("jax_train.py", tmp_path)
    assert len(found) == STEPS
    assert min(map(float, list(found.values())[-3:])) < float(found["", 1])
