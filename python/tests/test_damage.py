# SPDX-License-Identifier: Apache-2.0
"""Damaged files: reading in Python and the commands run, verify, info and head agree on each."""

import gzip
import io
import itertools
import json
import logging
import random
import subprocess
import tarfile
import time
import warnings
import zlib
from pathlib import Path

import levada as lv
import pytest
from command import LENGTH, LEVADA, needs_command

TRIALS = 16 * LENGTH
PACK = {"": bytes, ".gz": gzip.compress, ".zz": zlib.compress}


def command(*words, cwd, statuses=(0, 1)):
    done = subprocess.run([LEVADA, *words], cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode in statuses, done.stderr
    return done


def records(path, n):
    with lv.TFRecordWriter(path) as writer:
        for i in range(n):
            writer.write(b"record %d of many" % i)
    return bytearray(Path(path).read_bytes())


def hurt(data, chance):
    """One kind of damage, in place."""
    at = chance.randrange(len(data))
    size = chance.choice([1, 16, 300, 6000])
    kind = chance.randrange(6)
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at : at + size] = bytes([chance.choice(b"\0\xff x")]) * len(data[at : at + size])
    elif kind == 2:
        del data[max(at, 1) :]
    elif kind == 3:
        del data[at : min(at + size, len(data) - 1)]
    elif kind == 4:
        data[:size] = b"x" * len(data[:size])
    else:
        data[-1 - chance.randrange(min(9, len(data)))] ^= 1


def read(path):
    """Good records, skipped ones, and whether reading without a policy fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with iter(lv.tfrecord(str(path)).with_options(errors="skip")) as it:
            good = sum(1 for _ in it)
            skipped = it.stats()["skipped_records"]
    try:
        for _ in lv.tfrecord(str(path)):
            pass
    except lv.errors.DataLossError:
        return good, skipped, True
    return good, skipped, False


@needs_command
@pytest.mark.parametrize("trial", range(TRIALS))
def test_every_way_to_read_a_damaged_file_agrees(trial, tmp_path):
    chance = random.Random(trial)
    suffix = chance.choice(list(PACK))
    path = tmp_path / f"f.tfrecord{suffix}"
    data = bytearray(PACK[suffix](bytes(records(tmp_path / "plain", chance.randint(1, 400)))))
    for _ in range(chance.randint(1, 3)):
        hurt(data, chance)
    path.write_bytes(data)
    good, bad, fails = read(path)
    source = chance.choice([(), ("--source", "tfrecord")])
    verify = command("verify", "--json", *source, path.name, cwd=tmp_path)
    told = json.loads(verify.stdout)
    assert (told["format"], told["good_records"], told["bad_records"]) == ("tfrecord", good, bad)
    assert (verify.returncode == 1) == fails == (bad > 0)
    info = command("info", "--json", *source, path.name, cwd=tmp_path)
    told = json.loads(info.stdout)
    assert (told["format"], told["records"], told["bad_records"]) == ("tfrecord", good, bad)
    assert (info.returncode == 1) == fails
    words = ("run", f"tfrecord:{path.name}", "--errors", "skip", "--stats", "-")
    told = json.loads(command(*words, cwd=tmp_path).stdout)
    assert (told["records"], told["skipped_records"]) == (good, bad)
    assert (command("run", f"tfrecord:{path.name}", cwd=tmp_path).returncode == 1) == fails
    head = command("head", "-n", "100000", "--json", *source, path.name, cwd=tmp_path)
    assert (head.returncode == 1) == fails
    assert len(head.stdout.splitlines()) <= good


def test_a_wrong_checksum_of_a_stream_costs_no_record(tmp_path):
    data = bytearray(gzip.compress(bytes(records(tmp_path / "plain", 100))))
    data[-5] ^= 1
    path = tmp_path / "f.tfrecord.gz"
    path.write_bytes(data)
    assert read(path) == (100, 1, True)
    done = command("verify", "f.tfrecord.gz", "--repair", "out.tfrecord.gz", cwd=tmp_path)
    assert "100 good records" in done.stdout
    assert read(tmp_path / "out.tfrecord.gz") == (100, 0, False)


def test_a_budget_in_percent_refuses_what_it_cannot_count(tmp_path):
    data = gzip.compress(bytes(records(tmp_path / "plain", 16000)))
    (tmp_path / "f.tfrecord.gz").write_bytes(data[: len(data) // 2])
    (tmp_path / "out.tfrecord").write_bytes(b"old")
    words = ("convert", "f.tfrecord.gz", "out.tfrecord", "--errors", "skip:0.1%")
    done = command(*words, cwd=tmp_path, statuses=(1,))
    assert "the number of lost records is unknown" in done.stderr
    assert (tmp_path / "out.tfrecord").read_bytes() == b"old"
    with pytest.raises(lv.errors.DataLossError, match="a budget in percent cannot apply"):
        list(lv.tfrecord(str(tmp_path / "f.tfrecord.gz")).with_options(errors="skip:0.1%"))


def test_both_formats_are_reported_where_name_and_content_differ(tmp_path):
    data = records(tmp_path / "plain", 300)
    data[:5000] = b"\xff" * 5000
    (tmp_path / "f.tfrecord").write_bytes(data)
    for words in (("verify",), ("info",)):
        done = command(*words, "f.tfrecord", cwd=tmp_path, statuses=(1,))
        assert "but" in done.stdout and "first bytes look like text" in done.stdout
    (tmp_path / "f.txt").write_bytes(bytes(records(tmp_path / "plain", 3)))
    done = command("verify", "--source", "tfrecord", "f.txt", cwd=tmp_path, statuses=(0,))
    assert "3 good records" in done.stdout
    done = command("verify", "--source", "range", "f.txt", cwd=tmp_path, statuses=(1,))
    assert "source='range' must be a file format" in done.stderr


def test_an_iterator_that_skipped_everything_says_so(tmp_path, caplog):
    records(tmp_path / "f.tfrecord", 5)
    (tmp_path / "empty").write_bytes(b"")
    ds = lv.tfrecord([str(tmp_path / "f.tfrecord"), str(tmp_path / "empty")])
    ds = ds.parse_example({"x": lv.FixedLenFeature([], lv.int64)}).batch(2)
    reason = "no record was delivered: 5 records were skipped, .*f.tfrecord record 0"
    with caplog.at_level(logging.WARNING, logger="levada"):
        with pytest.warns(RuntimeWarning, match=reason):
            assert list(ds.with_options(errors="skip")) == []
    assert "empty: the file has no records" in caplog.text
    spec = '{"x":{"kind":"FixedLen","shape":[],"dtype":"int64"}}'
    words = ("run", f"tfrecord:f.tfrecord | parse_example:{spec} | batch:2", "--errors", "skip")
    done = command(*words, cwd=tmp_path, statuses=(0,))
    assert "no record was delivered: 5 were skipped, the first one for: " in done.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(lv.tfrecord(str(tmp_path / "f.tfrecord")))) == 5


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("how", ["nothing", "append", "overwrite", "replace"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_that_is_written_to_while_it_is_read_is_named(tmp_path, caplog, pack, how, threads):
    path = tmp_path / "f.txt"
    noise = random.Random(1)
    lines = [b"%d %d\n" % (i, noise.getrandbits(900)) for i in range(9000)]
    old, new = pack(b"".join(lines)), pack(b"".join(reversed(lines)))
    path.write_bytes(old)
    ds = lv.text_lines(str(path)).with_options(threads=threads)
    with caplog.at_level(logging.WARNING, logger="levada"), ds.blocks() as it:
        next(it)
        time.sleep(0.05)  # longer than a tick of the clock of files
        if how == "append":
            with path.open("ab") as file:
                file.write(new)
        elif how == "overwrite":
            with path.open("r+b") as file:
                file.write(new)
        elif how == "replace":
            (tmp_path / "new").write_bytes(new)
            (tmp_path / "new").rename(path)
        try:
            for _ in it:
                pass
        except lv.errors.DataLossError:
            assert how == "overwrite" and pack is gzip.compress
            return
        problems = [p["message"] for p in it.stats()["problems"]]
    wrote = how in ("append", "overwrite")
    assert problems == ["the file was written to while it was read"] * wrote
    assert ("f.txt: the file was written to" in caplog.text) == wrote


@pytest.mark.parametrize("batched", [False, True])
def test_a_loop_that_cannot_ask_for_counts_logs_what_was_skipped(tmp_path, caplog, batched):
    if batched:
        pytest.importorskip("torch")
    data = records(tmp_path / "f.tfrecord", 300)
    ds = lv.tfrecord([str(tmp_path / "f.tfrecord"), str(tmp_path / "missing")])
    ds = (ds.batch(7) if batched else ds).with_options(errors="skip")
    it = iter(ds)
    next(it)
    state = it.save()
    it.close()
    assert caplog.text == ""
    data[-6] ^= 1
    (tmp_path / "f.tfrecord").write_bytes(data)
    resumed = iter(ds)
    resumed.restore(state)
    for run in (ds, lv.torch_dataset(ds, 0, 1, transform=len) if batched else ds, resumed):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="levada"):
            for _ in run:
                pass
        assert caplog.text.count("2 records or files were skipped, the first one for: ") == 1
        assert "f.tfrecord record 299" in caplog.text


@pytest.mark.parametrize("data", [b"\xff" * 5000, b"x" * 5000, b"lines\n" * 900])
def test_names_of_shards_say_the_format(tmp_path, data):
    names = ["a.tfrecord-00000-of-00012", "data_tfrecord-00003-of-00012", "a.tfrecords-1-of-2"]
    for name in names:
        (tmp_path / name).write_bytes(data)
        for word in ("verify", "info", "head"):
            done = command(word, name, cwd=tmp_path, statuses=(1,))
            assert "text" in done.stdout + done.stderr
    for name in ("a.tfrecord.gz-00000-of-00012", "a.tfrecord-00000-of-00012.gz"):
        (tmp_path / name).write_bytes(gzip.compress(data))
        command("verify", name, cwd=tmp_path, statuses=(1,))
    for name in ("tfrecord-00000-of-", "a.tfrecord-x-of-2", "a-of-1", "00000-of-00001"):
        (tmp_path / name).write_bytes(b"line\n")
        command("verify", name, cwd=tmp_path, statuses=(0,))


def test_a_skipped_file_is_named_after_one_that_lost_nothing(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x\ny\n")
    (tmp_path / "empty.txt").write_bytes(b"")
    run = "text_lines:[empty.txt,none.txt,a.txt],errors=skip"
    line = command("run", run, cwd=tmp_path, statuses=(0,)).stderr
    assert "1 record or file was skipped, the first one for: " in line
    assert "none.txt" in line.split("the first one for: ")[1].splitlines()[0]


def test_a_missing_input_is_no_bad_record(tmp_path):
    (tmp_path / "out.tfrecord").write_bytes(b"old")
    for words in ((), ("--from", "tfrecord"), ("--from", "text")):
        words = ("convert", "missing", "out.tfrecord", "--errors", "skip", *words)
        assert "missing" in command(*words, cwd=tmp_path, statuses=(1,)).stderr
        assert (tmp_path / "out.tfrecord").read_bytes() == b"old"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "tfrecord:f.tfrecord"),
        ("run", "tfrecord:[empty,f.tfrecord] | batch:7", "--json"),
        ("run", "tfrecord:f.tfrecord", "--stats", "stats"),
        ("convert", "f.tfrecord", "out.tfrecord"),
        ("convert", "f.tfrecord", "-", "--to", "jsonl"),
        ("bench", "tfrecord:f.tfrecord", "--repeat", "1"),
    ],
)
def test_every_command_says_how_many_records_it_skipped(tmp_path, words):
    data = records(tmp_path / "f.tfrecord", 300)
    data[100] ^= 1
    data[-6] ^= 1
    (tmp_path / "f.tfrecord").write_bytes(data)
    (tmp_path / "empty").write_bytes(b"")
    done = command(*words, "--errors", "skip", cwd=tmp_path, statuses=(0,))
    (line,) = [line for line in done.stderr.splitlines() if "skipped" in line]
    assert "2 records or files were skipped, the first one for: " in line
    assert "f.tfrecord record " in line and "checksum" in line
    assert command(*words, cwd=tmp_path, statuses=(1,)).stderr.count("skipped") == 0


def archive(n):
    """A tar of n samples of two members."""
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for i in range(n):
                for name in ("txt", "cls"):
                    member = tarfile.TarInfo(f"{i:05}.{name}")
                    member.size = 10
                    tar.addfile(member, io.BytesIO(b"%010d" % i))
        return file.getvalue()


def keys(ds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with iter(ds) as it:
            return [row["key"] for row in it], it.stats()["problems"]


@pytest.mark.parametrize("size", [1, 300, 511, 512, 10_000])
@pytest.mark.parametrize("place", [5_000, 229_376 - 700, 229_376, 400_003, 610_000])
def test_samples_of_tar_are_found_again_at_any_byte(tmp_path, place, size):
    data = archive(300)
    path = tmp_path / "a.tar"
    whole = [b"%05d" % i for i in range(300)]
    lost = {whole[place // 2048], whole[place // 2048 - 1]}
    for damaged in (data[:place] + b"y" * size + data[place:], data[:place] + data[place + size :]):
        path.write_bytes(damaged)
        ds = lv.tar(path).with_options(errors="skip", threads=1)
        want = keys(ds)
        gone = lost | {*whole[place // 2048 : (place + size) // 2048 + 2]}
        assert [key for key in want[0] if key not in gone] == [k for k in whole if k not in gone]
        assert len(want[0]) == len(set(want[0])) and len(want[1]) <= 2
        for threads, rows in ((1, 7), (3, 0), (3, 7), (4, 1)):
            assert keys(ds.with_options(threads=threads, block_rows=rows or None)) == want


@pytest.mark.parametrize("format", ["text_lines", "tfrecord"])
@pytest.mark.parametrize("streams", ["gzip", "empty gzip", "zlib"])
def test_a_wrong_checksum_of_a_stream_is_counted_once(tmp_path, format, streams):
    """Records begin in one stream and end in the next; each stream has a wrong checksum."""
    if format == "tfrecord":
        plain = bytes(records(tmp_path / "plain", 6))
    else:
        plain = b"".join(b"line %d\n" % i for i in range(6))[:-1]  # the last line has no end
    n = len(plain)
    cuts = {"gzip": [0, 10, 20, 25, n], "empty gzip": [0, 10, 10, 10, n], "zlib": [0, n]}[streams]
    pack, place = (zlib.compress, -1) if streams == "zlib" else (gzip.compress, -5)
    parts = [bytearray(pack(plain[a:b])) for a, b in itertools.pairwise(cuts)]
    for part in parts:
        part[place] ^= 1
    path = tmp_path / "f"
    path.write_bytes(b"".join(parts))
    read = lv.tfrecord if format == "tfrecord" else lv.text_lines
    ds = read(path).with_options(errors=f"skip:{len(parts)}", threads=1)
    with iter(ds) as it:
        want = list(it)
        assert len(want) == 6 and it.stats()["skipped_records"] == len(parts)
    for cut in range(7):
        for rows in (1, 256):
            with iter(ds.with_options(block_rows=rows)) as it, iter(ds) as other:
                head = [next(it) for _ in range(cut)]
                other.restore(it.save())
                assert head + list(other) == want
                assert other.stats()["skipped_records"] == len(parts), (cut, rows)
