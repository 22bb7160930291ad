# SPDX-License-Identifier: Apache-2.0
"""The command on what Python saved: `run --resume`, `ckpt diff`."""

import json
import struct
import zlib

import levada as lv
import pytest
from cli_support import levada
from command import needs_command
from positions import dropping

pytestmark = needs_command


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ten.txt").write_text("".join(f"line {i}\n" for i in range(10)))
    return tmp_path


def keys_of(done):
    return [key for line in done.stdout.splitlines() for key in json.loads(line)["keys"]]


@pytest.mark.parametrize("taken", [0, 1, 7, 10])
def test_resume_goes_on_where_python_stopped(folder, taken):
    text = f"text_lines:{folder}/ten.txt | shuffle:4,seed=1"
    words = ["run", text, "--json", "--seed", 7]
    whole = keys_of(levada(*words))
    it = iter(lv.from_text(text).with_options(seed=7, block_rows=3))
    for _ in range(taken):
        next(it)
    (folder / "state").write_bytes(it.save())
    lv.save_checkpoint(folder / "one", model=b"weights", data=it)
    for name in ["state", "one"]:
        rest = levada(*words, "--resume", name, "--threads", 2, cwd=folder)
        assert keys_of(rest) == whole[taken:]
        # what a run that returns nothing saves is the same position
        levada(*words, "--resume", name, "--limit", 0, "--save", "again", cwd=folder)
        assert keys_of(levada(*words, "--resume", "again", cwd=folder)) == whole[taken:]
    it.restore((folder / "again").read_bytes())
    assert len(list(it)) == 10 - taken


def test_resume_says_what_it_can_not_take(folder):
    words = ["run", "range:10", "--json"]
    it, other = iter(lv.range(10)), iter(lv.range(10))
    next(it)
    lv.save_checkpoint(folder / "two", model=b"weights", a=it, b=other)
    lv.save_checkpoint(folder / "none", model=b"weights")

    def refused(*more):
        return levada(*words, "--resume", *more, cwd=folder, status=1).stderr

    message = "cannot resume from two: it has 2 checkpoints; select one with --part: a, b"
    assert message in refused("two")
    assert "unknown part 'c'; available: model, a, b" in refused("two", "--part", "c")
    assert "not a checkpoint" in refused("two", "--part", "model")
    assert "none of its parts is a checkpoint: model" in refused("none")
    rest = levada(*words, "--resume", "two", "--part", "a", cwd=folder).stdout
    assert json.loads(rest)["records"] == 9
    state = bytearray(dropping(iter(lv.range(10)).save(), 1))
    state[12] += 100
    (folder / "bad").write_bytes(state)
    assert "wrong checksum" in refused("bad")
    state[8:12] = struct.pack("<I", zlib.crc32(state[12:]))
    (folder / "bad").write_bytes(state)
    assert "the dataset ends before the position of the checkpoint" in refused("bad")


def test_ckpt_compares_part_by_part(folder):
    start, other = iter(lv.range(10)).save(), iter(lv.range(20).batch(5))
    one, two = dropping(start, 1), dropping(start, 2)
    lv.save_checkpoint(folder / "a", model=b"old", data=one, more=other, gone=b"")
    (folder / "state").write_bytes(one)
    lv.save_checkpoint(folder / "b", new=b"", more=other, data=two, model=b"newer")

    def diff(*words, status=1):
        done = levada("ckpt", "diff", *words, cwd=folder, status=status)
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    assert diff("a", "a", status=0) == []
    parts = ["part model", "- model 3 B", "+ model 5 B"]
    data = ["part data", "- skip 1 record", "+ skip 2 records"]
    assert diff("a", "b") == [*parts, *data, "- gone 0 B", "+ new 0 B"]
    assert diff("a", "b", "--part", "data") == data
    assert diff("a", "b", "--part", "more", status=0) == []
    assert diff("state", "b", "--part", "data") == data[1:]
    done = levada("ckpt", "diff", "a", "state", cwd=folder, status=1)
    assert "cannot compare a: it has 2 checkpoints" in done.stderr
    text = levada("ckpt", "show", "a", "--part", "more", cwd=folder).stdout
    assert "dataset      range:20 | batch:5\n" in text
    (folder / "a").write_bytes((folder / "a").read_bytes()[:-1])
    done = levada("ckpt", "diff", "a", "b", cwd=folder, status=1)
    assert "cannot read a: the checkpoint is corrupt" in done.stderr


def test_another_shard_is_refused_and_shown(folder):
    texts = [f"range:40 | shard:0,count={count}" for count in (2, 4)]
    for text in texts:
        levada("run", text, "--limit", 1, "--seed", 1, "--save", text[-1], cwd=folder)
    for text in (texts[1], "range:40 | shard:1,count=2", "range:40"):
        done = levada("run", text, "--resume", "2", cwd=folder, status=1)
        assert "the checkpoint was saved from shard 0 of 2, but this is " in done.stderr
    lines = levada("ckpt", "diff", "2", "4", cwd=folder, status=1).stdout.splitlines()
    lines = [line for line in lines if "dataset/" not in line]  # counts of what was received
    assert lines == [f"{sign} dataset      {text}" for sign, text in zip("-+", texts, strict=True)]


@pytest.mark.parametrize("at", [30, -1])
def test_ckpt_refuses_a_damaged_position(folder, at):
    it = iter(lv.range(20).batch(5))
    next(it)
    state = bytearray(it.save())
    (folder / "good").write_bytes(state)
    assert "range:20" in levada("ckpt", "show", "good", cwd=folder).stdout
    state[at] ^= 1
    (folder / "bad").write_bytes(state)
    for words in (["show", "bad"], ["diff", "bad", "good"], ["diff", "good", "bad"]):
        done = levada("ckpt", *words, cwd=folder, status=1)
        assert "bad: the checkpoint is corrupt: wrong checksum" in done.stderr
        assert done.stdout == ""


def mixture(folder, **weights):
    for name in weights:
        (folder / f"{name}.txt").write_text("".join(f"{name} {i}\n" for i in range(30)))
    inputs = "; ".join(f"text_lines:{folder}/{name}.txt" for name in weights)
    names, shares = ",".join(weights), ",".join(map(str, weights.values()))
    return f"mix({inputs}):names=[{names}],weights=[{shares}],seed=3 | shuffle:4,seed=1 | batch:4"


@pytest.mark.parametrize("taken", [0, 1, 7, 99])
def test_a_mixture_changes_at_a_resume(folder, taken):
    before, after = mixture(folder, web=1, code=2), mixture(folder, books=3, web=1)
    words = ["--json", "--seed", 7, "--save", "state"]
    keys = keys_of(levada("run", before, *words, "-n", taken, cwd=folder))
    resume = ["--resume", "state", "--seed", 7, "--json"]
    done = levada("run", after, *resume, cwd=folder, status=1)
    assert "another pipeline" in done.stderr
    words = ["state", after, "--mix", "keep positions", "--json"]
    check = levada("resume-check", *words, cwd=folder).stdout
    done = levada("run", after, *resume, "--mix", "keep positions", "--threads", 3, cwd=folder)
    rest = keys_of(done)
    if taken == 99:  # that epoch is over
        assert rest == [] and json.loads(check) == {"batch": None}
        return
    assert json.loads(check)["keys"] == rest[:4]
    keys += rest
    for name in ["web", "books"]:
        found = [key.rpartition(":")[2] for key in keys if f"{name}.txt" in key]
        assert sorted(map(int, found)) == list(range(30)), name
    code = [key for key in keys if "code.txt" in key]
    assert len(code) == len(set(code)) < 30
    if code:
        assert f"'code' was removed after {len(code)} of its records" in done.stderr


def test_mix_keeps_positions_or_nothing(folder):
    text = mixture(folder, web=1, code=2)
    levada("run", text, "-n", 3, "--save", "state", "--seed", 1, cwd=folder)
    words = ["run", text, "--resume", "state"]
    done = levada(*words, "--mix", "forget", cwd=folder, status=1)
    assert "--mix must be 'keep positions', got 'forget'" in done.stderr
    (folder / "drop").write_bytes(dropping((folder / "state").read_bytes(), 2))
    done = levada(*words[:3], "drop", "--mix", "keep positions", cwd=folder, status=1)
    assert "inside a block" in done.stderr
    for words in (["--mix", "keep positions"], ["--part", "a"]):
        done = levada("run", text, *words, cwd=folder, status=2)
        assert f"{words[0]} needs --resume" in done.stderr


@pytest.mark.parametrize("words", [("--seed", 3), ("--epoch", 1)])
def test_a_resume_refuses_another_seed_or_epoch(tmp_path, words):
    run = ("run", "range:9 | shuffle:4", "--seed", 7)
    levada(*run, "-n", 2, "--save", "s", cwd=tmp_path)
    done = levada(*run[:2], "--resume", "s", *words, "--save", "t", cwd=tmp_path, status=1)
    assert f"{words[0]} {words[1]} differs from the saved value" in done.stderr
    assert not (tmp_path / "t").exists()
    levada(*run, "--resume", "s", "--epoch", 0, cwd=tmp_path)


def test_many_parts_are_compared_by_name(tmp_path):
    parts = {f"p{i}": b"%d" % i for i in range(3000)}
    lv.save_checkpoint(tmp_path / "a", **parts)
    lv.save_checkpoint(tmp_path / "b", **{**parts, "p7": b"other", "new": b"1"}, q=b"")
    lines = levada("ckpt", "diff", "a", "b", cwd=tmp_path, status=1).stdout.splitlines()
    assert "part p7" in lines and any("new" in line for line in lines)
    assert len([line for line in lines if line[0] in "+-"]) == 4  # p7 twice, new, q
    assert levada("ckpt", "diff", "a", "a", cwd=tmp_path).stdout == ""
