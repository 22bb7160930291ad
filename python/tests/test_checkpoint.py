# SPDX-License-Identifier: Apache-2.0
"""Checkpoint files: whole or not at all."""

import copy
import os
import pickle
import subprocess
import sysconfig

import levada as lv
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from levada import errors
from positions import dropping


class Saved:
    def save(self):
        return b"state"


def test_parts_come_back(tmp_path):
    path = tmp_path / "c"
    lv.save_checkpoint(path, a=b"1", b=b"", it=Saved())
    assert lv.load_checkpoint(path) == {"a": b"1", "b": b"", "it": b"state"}
    assert os.listdir(tmp_path) == ["c"]


def shown(path):
    command = os.path.join(sysconfig.get_path("scripts"), "levada")
    if not os.path.exists(command):
        pytest.skip("the command is not installed")
    return subprocess.run(
        [command, "ckpt", "show", str(path)], capture_output=True, text=True, check=False
    )


def test_the_command_shows_what_python_saved(tmp_path):
    it = iter(lv.range(100).shuffle(10, seed=1))
    for _ in range(7):
        next(it)
    (tmp_path / "state").write_bytes(dropping(it.save(), 7))
    told = shown(tmp_path / "state").stdout
    assert "skip         7 records\n" in told
    assert "dataset      range:100 | shuffle:10,seed=1\n" in told and "0.range/" in told
    lv.save_checkpoint(tmp_path / "c", it=it, other=b"x" * 5)
    lines = shown(tmp_path / "c").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["it", "other"]
    assert "a saved position" in lines[0] and lines[1].endswith("5 B")
    whole = (tmp_path / "c").read_bytes()
    for cut in (17, 30, len(whole) - 1):
        (tmp_path / "c").write_bytes(whole[:cut])
        done = shown(tmp_path / "c")
        assert done.returncode == 1 and "the checkpoint is corrupt" in done.stderr


def test_replaces_the_old_file(tmp_path):
    path = tmp_path / "c"
    lv.save_checkpoint(path, a=b"1")
    lv.save_checkpoint(path, a=b"2")
    assert lv.load_checkpoint(path) == {"a": b"2"}


@settings(max_examples=60, deadline=None)
@example(at=8, bit=0)
@given(at=st.integers(0, 200), bit=st.integers(0, 7))
def test_damage_is_found(tmp_path_factory, at, bit):
    path = tmp_path_factory.mktemp("c") / "c"
    lv.save_checkpoint(path, name=b"some bytes", other=b"x" * 50)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises((lv.errors.DataLossError, lv.errors.FailedPreconditionError)):
        lv.load_checkpoint(path)


@pytest.mark.parametrize("size", [0, 5, 15, 16, 20])
def test_a_cut_file_is_damaged(tmp_path, size):
    path = tmp_path / "c"
    lv.save_checkpoint(path, name=b"some bytes")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(lv.errors.DataLossError):
        lv.load_checkpoint(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(lv.errors.NotFoundError) as caught:
        lv.load_checkpoint(tmp_path / "none")
    assert caught.value.file.endswith("none")


def test_other_parts_are_type_errors(tmp_path):
    with pytest.raises(TypeError, match="part 'a'"):
        lv.save_checkpoint(tmp_path / "c", a=3)
    assert os.listdir(tmp_path) == []


def test_what_is_no_file_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(lv.errors.InvalidArgumentError):
        lv.save_checkpoint(tmp_path / "pipe", a=b"")
    assert (tmp_path / "pipe").is_fifo()


def test_wrong_paths_of_checkpoints_are_named(tmp_path):
    with pytest.raises(errors.NotFoundError, match="its directory does not exist") as caught:
        lv.save_checkpoint(tmp_path / "none" / "c", a=b"")
    assert caught.value.file == str(tmp_path / "none" / "c")
    with pytest.raises(errors.InvalidArgumentError, match="a checkpoint must be a regular file"):
        lv.load_checkpoint(tmp_path)
    with pytest.raises(TypeError):
        lv.load_checkpoint(0)


@pytest.mark.parametrize("state", [None, 5, "abc"])
def test_what_is_no_state_is_named(state):
    it = iter(lv.range(5))
    with pytest.raises(TypeError, match=f"a state must be bytes, got {type(state).__name__}"):
        it.restore(state)
    for wrong in (state, {}, {"levada": state}):
        with pytest.raises(TypeError):
            it.load_state_dict(wrong)
    assert next(it)["value"] == 0


def test_iterators_are_neither_copied_nor_pickled():
    it = iter(lv.range(5))
    for move in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"save\(\) and restore\(\) move it"):
            move(it)


def test_the_last_bits_of_a_function_may_depend_on_the_block():
    """A product of matrices has other last bits where it has another number of rows."""
    w = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    x = np.sin(np.arange(2000 * 64, dtype=np.float32)).reshape(2000, 64)
    ds = lv.from_arrays({"x": x, "i": np.arange(2000)})
    ds = ds.map(lambda b: {"y": b["x"] @ w, "i": b["i"]}, batched=True)
    ds = ds.shuffle(500, seed=1).batch(8).with_options(threads=1)
    with ds.iterate(epoch=0) as it:
        for _ in range(20):
            next(it)
        state = it.save()
        rest = [batch["i"].tolist() for batch in it]
    with ds.iterate(epoch=0) as it:
        it.restore(state)
        assert [batch["i"].tolist() for batch in it] == rest
