# SPDX-License-Identifier: Apache-2.0
"""A read that fails is not a bad record: it ends every command and every iterator, under every
policy, and nothing is replaced."""

import errno
import gzip
import os
import subprocess
import sys

import levada as lv
import pytest
from command import needs_command
from faults import fault, fired, run

POLICIES = ["fail", "skip", "skip:1000", "skip:0.1%", "skip:100%"]
FILES = ["a.tfrecord", "a.tfrecord.gz", "a.txt"]
SPEC = '{"x":{"kind":"VarLen","dtype":"int64"}}'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """in/, with files of more than one read each."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    feature = b"\x0a\x01x\x12\x13\x1a\x11\x0a\x0f" + bytes(range(15))
    entry = b"\x0a" + bytes([len(feature)]) + feature
    record = b"\x0a" + bytes([len(entry)]) + entry
    with lv.TFRecordWriter(folder / "in" / "a.tfrecord") as writer:
        for _ in range(16_000):
            writer.write(record)
    data = (folder / "in" / "a.tfrecord").read_bytes()
    (folder / "in" / "a.tfrecord.gz").write_bytes(gzip.compress(data, 0))
    (folder / "in" / "a.txt").write_text("".join(f"line {i}\n" for i in range(100_000)))
    return folder


def words_of(command, name, policy):
    source = "text_lines" if name.endswith(".txt") else "tfrecord"
    decode = "" if source == "text_lines" else f" | parse_example:{SPEC}"
    return {
        "convert": ["convert", f"in/{name}", "out/x.tfrecord", "--errors", policy],
        "convert json": ["convert", f"in/{name}", "-", "--to", "jsonl", "--errors", policy],
        "run": ["run", f"{source}:in/{name}{decode}", "--errors", policy],
        "run json": ["run", f"{source}:in/{name}{decode} | batch:64", "--json", "--errors", policy],
        "run one": ["run", f"{source}:in/{name} | shuffle:100", "-t", "1", "--errors", policy],
        "files": ["run", f'files:in/{name} | interleave:({source}:"{{path}}")', "--errors", policy],
        "stats": ["stats", f"tfrecord:in/{name} | parse_example:{SPEC}", "--errors", policy],
        "verify": ["verify", f"in/{name}"],
        "info": ["info", f"in/{name}"],
        "info json": ["info", "--json", f"in/{name}"],
        "head": ["head", "-n", "1000000", f"in/{name}"],
    }[command]


BUDGETED = ["convert", "convert json", "run", "run json", "run one", "files", "stats"]


@needs_command
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", [*BUDGETED, "verify", "info", "info json", "head"])
def test_each_read_that_fails_ends_the_command(shim, made, command, name, stays):
    if command == "stats" and name == "a.txt":
        pytest.skip("lines have no sequences")
    out = made / "out" / "x.tfrecord"
    policies = POLICIES if command in BUDGETED else ["fail"]
    for i, policy in enumerate(policies):
        number, reached = 0, True
        while reached:
            out.write_bytes(b"old")
            words = words_of(command, name, policy)
            env = fault(shim, made, number, errno.EIO, watched="in", reads=True, stays=stays)
            done = run(words, made, env=env)
            reached = fired(made)
            assert done.returncode == (1 if reached else 0), (number, words, done)
            if reached:
                assert b"Input/output error" in done.stderr, (number, done)
                assert out.read_bytes() == b"old"
                assert b"skipped" not in done.stdout
            number += 1 if i == 0 else 3  # the first policy tries each read
        assert number > 1


@needs_command
def test_a_file_that_cannot_be_read_leaves_the_others(shim, made):
    other = made / "more.tfrecord"
    with lv.TFRecordWriter(other) as writer:
        writer.write(b"record")
    for word, told in (("verify", b"1 good record"), ("info", b"more.tfrecord"), ("head", b"more")):
        env = fault(shim, made, 0, errno.EIO, watched="in", reads=True, stays=True)
        done = run([word, "in/a.tfrecord", "more.tfrecord"], made, env=env)
        assert fired(made) and done.returncode == 1
        assert b"Input/output error" in done.stderr and told in done.stdout


PROGRAM = """
import ctypes, errno, os, sys, warnings
import levada as lv
from levada import errors

arm = ctypes.CDLL(os.environ["LD_PRELOAD"]).levada_fault_arm
arm.argtypes = [ctypes.c_longlong, ctypes.c_int]
spec = {"x": lv.VarLenFeature(lv.int64)}

def plain(path):
    return lv.tfrecord(path)

def batches(path):
    return lv.tfrecord(path).shuffle(100, seed=1).parse_example(spec).padded_batch(32)

def pipes(path):
    return lv.files(path).interleave(lv.tfrecord("{path}"))

def count(ds, policy, threads):
    with iter(ds.with_options(errors=policy, threads=threads)) as it:
        for _ in it:
            pass

for path in ("in/a.tfrecord", "in/a.tfrecord.gz"):
    for make in (plain, batches, pipes):
        for policy in ("fail", "skip", "skip:1000", "skip:0.1%", "skip:100%"):
            for threads in (1, 3):
                number, reached = 0, True
                while reached:
                    arm(number, errno.EIO)
                    failed = None
                    try:
                        count(make(path), policy, threads)
                    except errors.UnavailableError as error:
                        failed = error
                    reached = bool(arm(-1, 0))
                    assert (failed is not None) == reached, (path, make, policy, number)
                    assert failed is None or "Input/output error" in str(failed), failed
                    number += 1 if policy == "skip" else 2
                assert number > 1
"""


def test_each_read_that_fails_ends_an_iterator(shim, made):
    env = fault(shim, made, watched="in", reads=True)
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=made, env=env, check=True, timeout=120)


READERS = """
import ctypes, errno, os
import levada as lv
from levada import errors
from levada import train as lt

arm = ctypes.CDLL(os.environ["LD_PRELOAD"]).levada_fault_arm
arm.argtypes = [ctypes.c_longlong, ctypes.c_int]
for name, reader in (("a.tfrecord", lt.TFRecordReader), ("a.txt", lt.TextLineReader)):
    number, reached = 0, True
    while reached:
        queue = lt.FIFOQueue(1, [lv.string], [()])
        queue.enqueue(f"in/{name}")
        queue.close()
        source, failed = reader(), False
        arm(number, errno.EIO)
        try:
            while True:
                source.read(queue)
        except errors.OutOfRangeError:
            pass
        except errors.UnavailableError as error:
            failed = "Input/output error" in str(error)
        reached = bool(arm(-1, 0))
        assert failed == reached, (name, number)
        number += 1
    assert number > 1
"""


def test_each_read_that_fails_ends_a_reader(shim, made):
    env = fault(shim, made, watched="in", reads=True)
    subprocess.run([sys.executable, "-c", READERS], cwd=made, env=env, check=True, timeout=120)


@needs_command
@pytest.mark.parametrize("share", ["skip:0.1%", "skip:49%"])
def test_half_of_a_compressed_file_is_no_small_share(made, share):
    data = (made / "in" / "a.tfrecord.gz").read_bytes()
    (made / "half.tfrecord.gz").write_bytes(data[: len(data) // 2])
    (made / "out" / "x.tfrecord").write_bytes(b"old")
    for words in (
        ["convert", "half.tfrecord.gz", "out/x.tfrecord"],
        ["run", "tfrecord:half.tfrecord.gz"],
        ["run", "tfrecord:half.tfrecord.gz | batch:10"],
        ["run", 'files:half.tfrecord.gz | interleave:(tfrecord:"{path}")'],
    ):
        done = run([*words, "--errors", share], made)
        assert done.returncode == 1, done
        assert b"the number of lost records is unknown" in done.stderr
    assert (made / "out" / "x.tfrecord").read_bytes() == b"old"
    assert os.listdir(made / "out") == ["x.tfrecord"]
