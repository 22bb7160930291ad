# SPDX-License-Identifier: Apache-2.0
"""lv.write of several datasets: one pass over the input of splits, all files renamed together."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import levada as lv
import pytest
from levada.errors import LevadaError

NAMES = ("train", "validation", "test")


def source(tmp_path, n=3000):
    for i in range(2):
        path = tmp_path / f"in-{i}.csv"
        path.write_text("n,user\n" + "".join(f"{k},u{k % 37}\n" for k in range(i * n, i * n + n)))
    return lv.csv(str(tmp_path / "in-*.csv"), header=True, infer=True)


def separately(parts, tmp_path, suffix, **options):
    """The bytes of files that are written one by one, in passes of their own."""
    made = {}
    for name, ds in parts.items():
        lv.write(ds, tmp_path / f"one-{name}.{suffix}", **options)
        for path in tmp_path.glob(f"one-{name}*"):
            made["all" + path.name[3:]] = path.read_bytes()
            path.unlink()
    return made


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "jsonl.gz", "tfrecord", "parquet"])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_pass_writes_the_bytes_of_separate_passes(tmp_path, suffix, threads):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    draw = random.Random(f"{suffix}{threads}")
    for by, options in [("record", {}), ("user", {}), ("user", {"records_per_file": 700})]:
        if suffix == "parquet":
            options = {}
        ds = source(tmp_path).shuffle(100, seed=3).with_columns(twice="n * 2")
        ds = ds.with_options(threads=threads, block_rows=draw.choice([1, 7, 256]))
        parts = ds.split(0.7, 0.2, 0.05, by=by, seed=draw.randrange(99))
        parts = dict(zip(NAMES, parts, strict=True))
        want = separately(parts, tmp_path, suffix, **options)
        again = {name: lv.Dataset(part._core, part._settings) for name, part in parts.items()}
        counts = lv.write(again, tmp_path / f"all-{{split}}.{suffix}", **options)
        got = {path.name: path.read_bytes() for path in tmp_path.glob("all-*")}
        assert got.keys() == want.keys()
        if suffix != "parquet":
            assert got == want
        assert counts == {name: sum(1 for _ in part) for name, part in parts.items()}
        for path in tmp_path.glob("all-*"):
            path.unlink()


def test_the_input_is_read_once_for_all_parts(tmp_path):
    reads = []

    def rows():
        reads.append(None)
        yield from ({"n": i} for i in range(100))

    parts = dict(zip(NAMES, lv.from_records(rows).split(0.5, 0.3, 0.2, by="n"), strict=True))
    counts = lv.write(parts, tmp_path / "{split}.jsonl")
    assert len(reads) == 1 and sum(counts.values()) == 100
    parts["all"] = parts["train"].filter("n < 10")  # its own pass
    parts["same"] = parts["test"]
    counts = lv.write(parts, tmp_path / "{split}.jsonl")
    assert len(reads) <= 5 and counts["same"] == counts["test"]
    assert (tmp_path / "same.jsonl").read_bytes() == (tmp_path / "test.jsonl").read_bytes()


def test_bad_records_and_settings_are_those_of_the_parts(tmp_path):
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(50)) + "x\n")
    ds = lv.csv(str(tmp_path / "a.csv"), header=True, record_defaults=[lv.int64], columns=["n"])
    with pytest.raises(LevadaError, match="line 52"):
        lv.write(dict(zip(NAMES, ds.split(0.5, 0.5), strict=False)), tmp_path / "{split}.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    parts = ds.with_options(errors="skip").split(0.5, 0.5)
    assert (
        sum(lv.write(dict(zip(NAMES, parts, strict=False)), tmp_path / "{split}.csv").values())
        == 50
    )


def test_only_stages_that_need_one_block_are_applied(tmp_path):
    source_of = lv.range(9).shuffle(9, seed=1)
    for made in (source_of.map(lambda record: record), source_of.batch(3), lv.range(9).split(1)[0]):
        it = source_of.blocks(0)
        block = next(it)
        with pytest.raises(lv.errors.InvalidArgumentError, match="must be a PURE stage"):
            it._apply(made._core, block._block)
        it.close()


KILLED = """
import os, signal, sys, levada as lv
at = int(sys.argv[3]) if len(sys.argv) > 3 else None
def kill(records):
    if at and records >= at:
        os.kill(os.getpid(), signal.SIGKILL)
ds = lv.from_records(lambda: ({"n": i, "text": "x" * (i % 97)} for i in range(20000)))
parts = ds.split(0.6, 0.2, 0.2, by="n")
print("go", flush=True)
parts = dict(zip(("train", "validation", "test"), parts))
lv.write(parts, sys.argv[1], progress=kill, **eval(sys.argv[2]))
"""


def clear(tmp_path):
    for path in tmp_path.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)
    for name in NAMES:
        (tmp_path / f"{name}.jsonl").write_bytes(b"old\n")


def new_files(tmp_path):
    files = [p for p in tmp_path.iterdir() if not p.name.startswith(".levada")]
    return {p.name: p.read_bytes() for p in files if p.read_bytes() != b"old\n"}


@pytest.mark.parametrize("options", ["{}", "{'records_per_file': 3000}"])
def test_a_kill_leaves_no_name_before_the_last_record_and_no_part_of_a_file(tmp_path, options):
    draw = random.Random(options)
    words = [sys.executable, "-c", KILLED, str(tmp_path / "{split}.jsonl"), options]
    clear(tmp_path)
    began = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    whole = new_files(tmp_path)
    assert len(whole) >= 3
    for at in [256, 256 * draw.randrange(2, 78), 20000]:  # the last block
        clear(tmp_path)
        done = subprocess.run([*words, str(at)], stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == -signal.SIGKILL and not new_files(tmp_path)
    for _ in range(10):  # also while files are completed and renamed
        clear(tmp_path)
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"go\n"
            time.sleep(draw.random() * took)
            process.send_signal(signal.SIGKILL)
        assert new_files(tmp_path).items() <= whole.items()


def limited(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@pytest.mark.parametrize("suffix", ["jsonl", "csv.gz", "tfrecord", "parquet"])
def test_a_full_disk_leaves_no_new_name(tmp_path, suffix):
    """The largest of the files exceeds the limit, the others are complete by then."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    program = KILLED.replace('"x" * (i % 97)', "str(hash(str(i)))")
    words = [sys.executable, "-c", program, str(tmp_path / f"{{split}}.{suffix}"), "{}"]
    subprocess.run(words, check=True, capture_output=True)
    sizes = sorted(path.stat().st_size for path in tmp_path.iterdir())
    for path in tmp_path.iterdir():
        path.unlink()
    for name in NAMES:
        (tmp_path / f"{name}.{suffix}").write_bytes(b"old\n")
    limit = (sizes[1] + sizes[2]) // 2
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=lambda: limited(limit))
    assert done.returncode != 0 and re.search("File too large|File size|cannot write", done.stderr)
    assert {p.name: p.read_bytes() for p in Path(tmp_path).iterdir()} == {
        f"{name}.{suffix}": b"old\n" for name in NAMES
    }


def test_a_disk_that_is_full_at_the_end_leaves_no_new_name(tmp_path):
    """A small file system is full when the last file is completed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
    program = KILLED.replace("parts = ds", "os.chdir(sys.argv[1])\nparts = ds")
    program = program.replace("sys.argv[1], progress", '"{split}.jsonl", progress')
    shell = f"{' '.join(mount)} && for n in {' '.join(NAMES)}; do echo old > {disk}/$n.jsonl; done"
    shell += f"; {sys.executable} -c '{program}' {disk} '{{}}'; "
    shell += f"echo $? $(ls -A {disk}) $(cat {disk}/*)"
    done = subprocess.run(["unshare", "-m", "sh", "-c", shell], capture_output=True, text=True)
    if "go" not in done.stdout:
        pytest.skip("no file system can be mounted here")
    names = " ".join(sorted(f"{name}.jsonl" for name in NAMES))
    assert done.stdout.splitlines()[-1] == f"1 {names} old old old"
    assert "No space left" in done.stderr


def test_a_name_that_is_a_directory_stops_all(tmp_path):
    parts = dict(zip(NAMES, lv.range(100).split(0.5, 0.3, 0.2), strict=True))

    def block(records):
        (tmp_path / "test.csv").mkdir(exist_ok=True)

    with pytest.raises(LevadaError, match="is a directory"):
        lv.write(parts, tmp_path / "{split}.csv", progress=block)
    assert os.listdir(tmp_path) == ["test.csv"]
