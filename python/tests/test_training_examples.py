# SPDX-License-Identifier: Apache-2.0
"""The training examples: killed and started again, they print the losses of an unbroken run."""

import importlib.util
import os
import re
import signal
import subprocess
import sys

import levada as lv
import pytest
from documents import ROOT

STEPS = 12


def missing(*modules):
    return [name for name in modules if importlib.util.find_spec(name) is None]


def needs(*modules):
    return pytest.mark.skipif(bool(missing(*modules)), reason=f"needs {' '.join(modules)}")


def start(name, folder):
    command = [sys.executable, str(ROOT / "examples" / name), str(folder), str(STEPS)]
    pipe = subprocess.PIPE
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=one_thread
    )


def losses(text):
    """{(rank, step): loss as printed}."""
    found = re.findall(r"(?:rank (\d) )?step (\d+) loss (\S+)", text)
    return {(rank, int(step)): loss for rank, step, loss in found}


def whole(name, folder):
    process = start(name, folder)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return losses(out)


def killed(name, folder, step):
    """What a run printed before its processes were killed at that step."""
    process, lines = start(name, folder), []
    for line in process.stdout:
        lines.append(line)
        if f"step {step} " in line:
            break
    os.killpg(process.pid, signal.SIGKILL)
    lines += process.stdout  # it may have run on before the signal came
    process.communicate()
    return losses("".join(lines))


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
