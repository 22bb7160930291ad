# SPDX-License-Identifier: Apache-2.0
"""Every file that levada writes: the old one or the complete new one, whatever fails, ends the
program, or happens at the same time; and nothing beside it."""

import errno
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib
from pathlib import Path

import levada as lv
import pytest
from command import LENGTH, LEVADA, needs_command
from faults import fault, fired, run
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
RECORDS = [b"record %d" % i * 20 for i in range(3000)]


@pytest.fixture
def folders(tmp_path):
    """in/, with data, and out/, which is watched."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    with lv.TFRecordWriter(tmp_path / "in" / "a.tfrecord") as writer:
        for record in RECORDS:
            writer.write(record)
    (tmp_path / "in" / "a.txt").write_text("".join(f"line {i}\n" for i in range(5000)))
    return tmp_path


# The commands that write a file: words, whether a complete file has always the same bytes.
COMMANDS = {
    "convert": (["convert", "in/a.tfrecord", "out/x", "--to", "tfrecord"], True),
    "convert gzip": (["convert", "in/a.tfrecord", "out/x", "--to", "tfrecord", "-c", "gzip"], True),
    "convert json": (["convert", "in/a.txt", "out/x", "--to", "jsonl"], True),
    "save": (["run", "range:100 | batch:3", "-n", "4", "--seed", "1", "--save", "out/x"], True),
    "stats": (["run", "range:100 | batch:3", "--stats", "out/x"], False),
    "repair": (["verify", "in/a.tfrecord", "--repair", "out/x"], True),
    "quarantine": (["verify", "in/a.tfrecord", "--quarantine", "out/x"], True),
}


def complete(data, want, same):
    return data == want if same else "records" in json.loads(data)


@needs_command
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
def test_one_call_after_the_other_fails(shim, folders, command, named):
    words, same = COMMANDS[command]
    out = folders / "out" / "x"
    assert run(words, folders).returncode == 0
    want = out.read_bytes()
    for code in (errno.ENOSPC, errno.EIO):
        number, reached = 0, True
        while reached:
            out.write_bytes(b"old")
            out.chmod(0o600)
            done = run(words, folders, env=fault(shim, folders, number, code, named))
            reached = fired(folders)
            data = out.read_bytes()
            assert data == b"old" or complete(data, want, same), (number, done.stderr)
            assert os.listdir(folders / "out") == ["x"]
            assert out.stat().st_mode & 0o777 == 0o600
            assert (done.returncode == 0) != reached, (number, done.stderr)
            assert reached or data != b"old"
            number += 1
        assert number > 5  # the net sees the calls


@needs_command
@pytest.mark.parametrize("command", ["convert", "repair"])
def test_no_input_that_cannot_be_read_replaces_the_output(shim, folders, command):
    """Each read in turn, in each pass over the file."""
    words, _ = COMMANDS[command]
    out = folders / "out" / "x"
    assert run(words, folders).returncode == 0
    want = out.read_bytes()
    number, reached = 0, True
    while reached:
        out.write_bytes(b"old")
        env = fault(shim, folders, number, errno.EIO, watched="in", reads=True)
        done = run(words, folders, env=env)
        reached = fired(folders)
        assert out.read_bytes() in ([b"old", want] if reached else [want]), (number, done.stderr)
        assert reached or done.returncode == 0
        assert b"the good ones are in" not in done.stdout or out.read_bytes() == want
        assert os.listdir(folders / "out") == ["x"]
        number += 1
    assert number > 2


PYTHON_FAULTS = """
import ctypes, errno, os, sys
import levada as lv
from levada import errors

arm = ctypes.CDLL(os.environ["LD_PRELOAD"]).levada_fault_arm
arm.argtypes = [ctypes.c_longlong, ctypes.c_int]
KINDS = (errors.UnavailableError, errors.ResourceExhaustedError)

def checkpoint(path):
    lv.save_checkpoint(path, a=b"new" * 1000)

def records(path):
    with lv.TFRecordWriter(path, "gzip") as writer:
        for i in range(100):
            writer.write(b"record %d" % i * 100)

for save in (checkpoint, records):
    for code in (errno.EIO, errno.ENOSPC):
        number, reached = 0, True
        save("out/x")
        want = open("out/x", "rb").read()
        while reached:
            open("out/x", "wb").write(b"old")
            arm(number, code)
            try:
                save("out/x")
                failed = False
            except KINDS:
                failed = True
            reached = bool(arm(-1, 0))
            data = open("out/x", "rb").read()
            assert failed == reached, (save, number)
            assert data in ((b"old", want) if reached else (want,)), (save, number)
            assert os.listdir("out") == ["x"], os.listdir("out")
            number += 1
        assert number > 5
"""


@pytest.mark.parametrize("named", [False, True])
def test_one_call_after_the_other_fails_in_python(shim, folders, named):
    words = [sys.executable, "-c", PYTHON_FAULTS]
    subprocess.run(words, cwd=folders, env=fault(shim, folders, named=named), check=True)


# Signals.


@needs_command
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("named", [False, True])
def test_a_signal_leaves_the_old_file_or_the_new_one(shim, folders, number, named):
    words, _ = COMMANDS["convert gzip"]
    out = folders / "out" / "x"
    begun = time.monotonic()
    assert run(words, folders).returncode == 0
    whole, want = time.monotonic() - begun, out.read_bytes()
    moments = random.Random(7)
    for _ in range(8 * LENGTH):
        out.write_bytes(b"old")
        with subprocess.Popen(
            [LEVADA, *words],
            cwd=folders,
            env=fault(shim, folders, named=named),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(moments.random() * whole)
            process.send_signal(number)
            process.wait(timeout=30)
        assert out.read_bytes() in (b"old", want)
        assert process.returncode != 0 or out.read_bytes() == want
        assert os.listdir(folders / "out") == ["x"]


@needs_command
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_no_part_of_a_set(folders, number):
    words = [LEVADA, "convert", "in/a.txt", "out/x.jsonl", "--records-per-file", "50"]
    moments, ended = random.Random(9), 0
    for _ in range(8 * LENGTH):
        with subprocess.Popen(words, cwd=folders, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len([*(folders / "out").rglob("*")]) < 10:
                time.sleep(0.0001)
            time.sleep(moments.random() * 0.02)
            process.send_signal(number)
            process.wait(timeout=30)
        names = os.listdir(folders / "out")
        assert len(names) == (0 if process.returncode else 100), names
        ended += process.returncode != 0
        for name in names:
            (folders / "out" / name).unlink()
    assert ended > 0


SAVING = """
import levada as lv
i = 0
while True:
    lv.save_checkpoint("out/x", a=b"%d" % (i % 10) * 100000)
    if i == 0:
        print(flush=True)
    i += 1
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_checkpoint_is_whole_when_its_process_ends(folders, number):
    moments = random.Random(8)
    for _ in range(5 * LENGTH):
        lv.save_checkpoint(folders / "out" / "x", a=b"0")
        words = [sys.executable, "-c", SAVING]
        with subprocess.Popen(
            words, cwd=folders, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            process.stdout.readline()
            time.sleep(moments.random() * 0.05)
            process.send_signal(number)
            process.wait(timeout=30)
        (data,) = lv.load_checkpoint(folders / "out" / "x").values()
        assert data == data[:1] * len(data)
        if number != signal.SIGKILL:
            assert os.listdir(folders / "out") == ["x"]


# Several at once.


def test_many_savers_never_break_a_checkpoint(tmp_path):
    path = tmp_path / "c"
    failures = []

    def save(who):
        try:
            for i in range(60 * LENGTH):
                lv.save_checkpoint(path, who=who * (1000 + i))
        except Exception as error:
            failures.append(error)

    lv.save_checkpoint(path, who=b"z")
    children = []
    for who in (b"p", b"q"):
        child = os.fork()
        if child == 0:
            save(who)
            os._exit(len(failures))
        children.append(child)
    threads = [threading.Thread(target=save, args=[who]) for who in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    loads = 0
    while any(thread.is_alive() for thread in threads) or loads < 100:
        (data,) = lv.load_checkpoint(path).values()
        assert data == data[:1] * len(data)
        loads += 1
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert not failures
    assert os.listdir(tmp_path) == ["c"]


# Links and permissions.


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")
    for name in (f"c.{os.getpid()}.tmp", "c.tmp", "c.part", "linked"):
        (tmp_path / name).symlink_to(victim)
    lv.save_checkpoint(tmp_path / "c", a=b"1")
    with pytest.raises(lv.errors.InvalidArgumentError, match="symbolic link"):
        lv.save_checkpoint(tmp_path / "linked", a=b"1")
    with pytest.raises(lv.errors.InvalidArgumentError, match="symbolic link"):
        lv.TFRecordWriter(tmp_path / "linked")
    assert (tmp_path / "linked").is_symlink() and victim.read_bytes() == b"victim"


@needs_command
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_that_is_planted_for_a_command_is_not_followed(folders, command):
    words, _ = COMMANDS[command]
    victim, out = folders / "victim", folders / "out" / "x"
    victim.write_bytes(b"victim")
    (folders / "out" / "x.part").symlink_to(victim)
    script = 'ln -s "$PWD/victim" "out/x.$$.tmp" && exec "$@"'
    words = ["sh", "-c", script, "sh", LEVADA, *words]
    done = subprocess.run(words, cwd=folders, capture_output=True, check=False)
    assert done.returncode == 0 and out.is_file() and not out.is_symlink()
    out.unlink()
    out.symlink_to(victim)
    done = subprocess.run(words, cwd=folders, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "symbolic link" in done.stderr
    assert out.is_symlink() and victim.read_bytes() == b"victim"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_checkpoint_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "c"
    before = os.umask(0o027)
    try:
        lv.save_checkpoint(path, a=b"1")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(mode)
    lv.save_checkpoint(path, a=b"2")
    assert path.stat().st_mode & 0o777 == mode


# Positions, repairs and lists.


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@needs_command
@pytest.mark.parametrize("size", [0, 1, 4095, 20_000, 100_000])
def test_no_position_is_saved_ahead_of_lost_output(tmp_path, size):
    words = [LEVADA, "run", "range:10000 | batch:4", "--json", "--save", "state"]
    (tmp_path / "state").write_bytes(b"old")
    with (tmp_path / "lines").open("wb") as lines:
        done = subprocess.run(
            words,
            cwd=tmp_path,
            stdout=lines,
            stderr=subprocess.PIPE,
            preexec_fn=limited(size),
            check=False,
        )
    assert done.returncode == 1
    assert b"the checkpoint was not saved" in done.stderr
    assert (tmp_path / "lines").stat().st_size <= size
    assert (tmp_path / "state").read_bytes() == b"old"


@needs_command
def test_a_position_that_is_saved_follows_the_output(tmp_path):
    dataset = "range:1000 | batch:4"
    lines, state = tmp_path / "lines", tmp_path / "state"
    with lines.open("ab") as out:
        words = [LEVADA, "run", dataset, "--json", "--save", state, "-n", "100"]
        subprocess.run(words, stdout=out, check=True)
        words = [LEVADA, "run", dataset, "--json", "--resume", state]
        subprocess.run(words, stdout=out, check=True)
    assert len(lines.read_text().splitlines()) == 250
    state.write_bytes(b"old")
    with Path("/dev/full").open("wb") as full:
        words = [LEVADA, "run", dataset, "--json", "--save", state]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and state.read_bytes() == b"old"


@needs_command
@pytest.mark.parametrize("to", ["tfrecord", "csv", "jsonl", "tar"])
@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_every_format_reports_a_disk_that_is_full(tmp_path, to, packed):
    """Nothing replaces the old file, and no part of the new one stays."""
    draw = random.Random(7)
    rows = [f"{i},{draw.getrandbits(200):x}" for i in range(20_000)]
    (tmp_path / "in.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    out = tmp_path / f"out.{to}{packed}"
    out.write_bytes(b"old")
    whole = [LEVADA, "convert", tmp_path / "in.csv", tmp_path / f"whole.{to}{packed}"]
    subprocess.run(whole, check=True, capture_output=True)
    size = whole[-1].stat().st_size
    for limit in (0, 4096, size // 2, size - 1):
        done = subprocess.run(
            [*whole[:-1], out],
            capture_output=True,
            text=True,
            preexec_fn=lambda limit=limit: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)
            ),
        )
        assert done.returncode == 1
        assert f"cannot write {out}: File too large" in done.stderr
        assert out.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["in.csv", out.name, whole[-1].name]
    full = subprocess.run([*whole[:-1], "/dev/full", "--to", to], capture_output=True, text=True)
    assert full.returncode == 1 and "No space left on device" in full.stderr


@needs_command
def test_no_position_is_saved_where_nobody_reads(tmp_path):
    words = [LEVADA, "run", "range:1000000 | batch:10", "--json", "--save", "state"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert b"the checkpoint was not saved" in process.stderr.read()
        assert process.wait(timeout=30) == 1
    assert not (tmp_path / "state").exists()


@needs_command
@pytest.mark.parametrize("how", ["same", "symbolic", "hard", "folder"])
def test_a_repair_onto_its_input_is_refused(folders, how):
    path = folders / "in" / "a.tfrecord"
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    other = folders / "out" / "a.tfrecord"
    if how == "symbolic":
        other.symlink_to(path)
    if how == "hard":
        other.hardlink_to(path)
    target = {"same": path, "folder": f"{path.parent}/"}.get(how, other)
    done = run(["verify", path, "--repair", target], folders)
    assert done.returncode == 1 and b"must not be the input" in done.stderr
    assert b"the good ones are in" not in done.stdout
    assert path.read_bytes() == data


@needs_command
def test_a_quarantine_list_is_complete_or_stays(folders):
    path, old = folders / "in" / "a.tfrecord", folders / "out" / "list"
    old.write_bytes(b"old")
    done = run(["verify", path, "in/none", "--quarantine", old], folders)
    assert done.returncode == 1 and b"was not written" in done.stderr
    data = path.read_bytes()
    done = run(["verify", path, "--quarantine", path], folders)
    assert done.returncode == 1 and b"would replace the input" in done.stderr
    assert old.read_bytes() == b"old" and path.read_bytes() == data


# Writers.


def test_a_writer_whose_block_raised_leaves_no_file(tmp_path):
    path = tmp_path / "a.tfrecord"
    for before in (None, b"old"):
        if before:
            path.write_bytes(before)
        with pytest.raises(KeyError), lv.TFRecordWriter(path, "gzip") as writer:
            writer.write(b"one")
            writer.flush()
            raise KeyError
        assert (path.read_bytes() if path.exists() else None) == before
        with pytest.raises(lv.errors.FailedPreconditionError, match="discarded"):
            writer.write(b"two")
        writer.discard()
    assert os.listdir(tmp_path) == ["a.tfrecord"]


def test_a_writer_that_is_forgotten_warns_and_leaves_no_file(tmp_path):
    writer = lv.TFRecordWriter(tmp_path / "a.tfrecord")
    writer.write(b"one")
    with pytest.warns(RuntimeWarning, match=r"a\.tfrecord.* was not closed"):
        del writer
    assert os.listdir(tmp_path) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        writer = lv.TFRecordWriter(tmp_path / "b.tfrecord")
        writer.close()
        writer.close()
        writer.discard()
        del writer
        with pytest.raises(lv.errors.NotFoundError):
            lv.TFRecordWriter(tmp_path / "none" / "a")
    assert os.listdir(tmp_path) == ["b.tfrecord"]


def test_a_writer_passes_flushed_records_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with lv.TFRecordWriter(tmp_path / "pipe") as writer:
        writer.write(b"one")
    reader.join()
    assert len(got[0]) == 16 + 3 and (tmp_path / "pipe").is_fifo()


@needs_command
def test_standard_output_has_many_names(folders):
    want = (folders / "in" / "a.tfrecord").read_bytes()
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with (folders / "lines").open("wb") as lines:
            lines.write(b"before ")
            lines.flush()
            words = [LEVADA, "convert", "in/a.tfrecord", name, "--to", "tfrecord"]
            subprocess.run(words, cwd=folders, stdout=lines, check=True)
        assert (folders / "lines").read_bytes().startswith(b"before " + want)


# Checkpoints that are made up.


def made_up(body):
    return b"LVDACKPT" + struct.pack("<II", 1, zlib.crc32(body)) + body


def refused(path, data):
    path.write_bytes(data)
    try:
        parts = lv.load_checkpoint(path)
    except (lv.errors.DataLossError, lv.errors.FailedPreconditionError):
        return
    # What is accepted is what would be written for it.
    body = b"".join(
        struct.pack("<IQ", len(name.encode()), len(part)) + name.encode() + part
        for name, part in parts.items()
    )
    assert data == made_up(body)


HEADS = st.builds(
    lambda n, m: struct.pack("<IQ", n, m),
    st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1)),
    st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)),
)


@settings(max_examples=300 * LENGTH, deadline=None)
@given(pieces=st.lists(st.one_of(HEADS, st.binary(max_size=12), st.just(b"\xff")), max_size=6))
def test_a_checkpoint_that_is_made_up_is_data_loss(tmp_path_factory, pieces):
    refused(tmp_path_factory.getbasetemp() / "made_up", made_up(b"".join(pieces)))


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        struct.pack("<IQ", 5, 0),
        struct.pack("<IQ", 1, 2**63) + b"a",
        struct.pack("<IQ", 1, 0) + b"\xff",
        struct.pack("<IQ", 1, 5) + b"a" + b"1234",
        2 * (struct.pack("<IQ", 1, 1) + b"a" + b"1"),
    ],
)
def test_sizes_and_names_of_parts_are_checked(tmp_path, body):
    path = tmp_path / "c"
    path.write_bytes(made_up(body))
    with pytest.raises(lv.errors.DataLossError) as caught:
        lv.load_checkpoint(path)
    assert caught.value.file == str(path)


def test_each_cut_of_a_checkpoint_is_data_loss(tmp_path):
    path = tmp_path / "c"
    lv.save_checkpoint(path, name=b"some bytes", other=b"x" * 5)
    whole = path.read_bytes()
    ends = (16, 42)  # of the head and the first part: complete, with fewer parts
    for size in range(len(whole)):
        cuts = [whole[:size]]
        if size > 16 and size not in ends:
            cuts.append(made_up(whole[16:size]))
        for data in cuts:
            path.write_bytes(data)
            with pytest.raises(lv.errors.DataLossError):
                lv.load_checkpoint(path)


def test_what_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(lv.errors.InvalidArgumentError, match="a checkpoint must be a regular file"):
        lv.load_checkpoint(tmp_path / "pipe")


def test_a_program_that_forgets_to_close_a_writer_is_told(tmp_path):
    code = (
        "import levada as lv\n"
        "def forget(path): lv.TFRecordWriter(path).write(b'one')\n"
        "forget('a')\n"
        "writer = lv.TFRecordWriter('b')\n"
        "writer.write(b'two')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    for name in ("a", "b"):
        assert f"TFRecordWriter({name!r}) was not closed: its records are dropped" in done.stderr
    assert os.listdir(tmp_path) == []
