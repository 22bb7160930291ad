# SPDX-License-Identifier: Apache-2.0
"""levada verify, and files whose format cannot be determined."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import tarfile

import levada as lv
import pytest
from cli_support import PARSED, levada, made_folder  # noqa: F401  a fixture
from command import needs_command

pytestmark = needs_command


def test_verify_good_files(folder):
    done = levada("verify", "ten.tfrecord", "ten.tfrecord.gz", cwd=folder)
    assert "2 of 2 files good" in done.stdout and "20 good records" in done.stdout


def test_verify_finds_damage(folder):
    done = levada("verify", "ten.tfrecord", "bad.tfrecord", cwd=folder, status=1)
    assert "bad.tfrecord" in done.stdout and "record 3" in done.stdout
    assert "1 of 2 files good" in done.stdout


def test_verify_repairs(folder):
    levada("verify", "bad.tfrecord", "--repair", "good/", cwd=folder, status=1)
    levada("verify", "good/bad.tfrecord", cwd=folder)
    text = levada("head", "good/bad.tfrecord", "-n", "20", "--json", cwd=folder).stdout
    rest = PARSED[:3] + PARSED[4:]
    assert [json.loads(line) for line in text.splitlines()] == rest


def test_verify_recommends_a_repair_only_where_it_works(folder):
    advice = "--repair DIR writes the good ones"
    assert advice in levada("verify", "bad.tfrecord", cwd=folder, status=1).stdout
    (folder / "other").mkdir()
    shutil.copy(folder / "bad.tfrecord", folder / "other")
    (folder / "cut.bin").write_bytes(b"\0" * 20)
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 9000)[:-20])
    for words in (["bad.tfrecord", "other/bad.tfrecord"], ["cut.bin"], ["lines.txt.gz"]):
        assert advice not in levada("verify", *words, cwd=folder, status=1).stdout
    levada("verify", "bad.tfrecord", "cut.bin", "--repair", "good/", cwd=folder, status=1)


def test_an_unknown_format_is_reported(folder):
    (folder / "x.bin").write_bytes(bytes(range(200)))
    for command in ("info", "verify"):
        text = levada(command, "x.bin", cwd=folder, status=1).stdout
        assert "x.bin   unknown format" in text and "--source NAME" in text
        done = levada(command, "x.bin", "--json", cwd=folder, status=1)
        assert json.loads(done.stdout)["guessed"] is True
        done = levada(command, "x.bin", "--source", "tfrecord", cwd=folder, status=1)
        assert "unknown format" not in done.stdout
    assert "x.bin   unknown format" in levada("head", "x.bin", cwd=folder, status=1).stderr


UNKNOWN = "   unknown format, read as tfrecord (set another with --source NAME)"
PROVED = "   read as tfrecord, as the checksums in it show ({} NAME chooses another)"


@pytest.mark.parametrize(
    ("name", "content", "source", "note"),
    [
        ("a.bin", "records", "tfrecord", ""),  # the content decides
        ("a.tfrecord-00000-of-00001", "records", "tfrecord", ""),  # the name decides
        ("a.txt", "lines", "text_lines", ""),
        ("a.txt.gz", "packed", "text_lines", ""),
        ("a.txt", "records", "tfrecord", PROVED),  # a checksum overrides the name
        ("a.bin", "noise", "tfrecord", UNKNOWN),
    ],
)
def test_every_command_finds_the_same_format(folder, name, content, source, note):
    contents = {
        "records": (folder / "ten.tfrecord").read_bytes(),
        "lines": b"one\ntwo\n",
        "packed": gzip.compress(b"one\ntwo\n"),
        "noise": bytes(range(200)),
    }
    (folder / name).write_bytes(contents[content])
    status = 1 if content == "noise" else 0
    for command in ("info", "verify"):
        done = levada(command, name, "--json", cwd=folder, status=status)
        assert json.loads(done.stdout)["format"] == source
        done = levada(command, name, cwd=folder, status=status)
        assert name + note.format("--source") in done.stdout or note == ""
        assert ("read as" in done.stdout) == (note != "")
    done = levada("head", name, cwd=folder, status=status)
    told = levada("head", name, "--source", source, cwd=folder, status=status)
    assert told.stdout == done.stdout
    assert name + note.format("--source") in done.stderr or note == ""
    assert ("read as" in done.stderr) == (note != "")
    done = levada("convert", name, "out.tfrecord", cwd=folder, status=2 if status else 0)
    if status:
        assert "unknown format of a.bin; set --from" in done.stderr
    else:
        assert name + note.format("--from") in done.stderr or note == ""
        assert ("read as" in done.stderr) == (note != "")
        kind = source.removesuffix("_lines")
        levada("convert", name, "told.tfrecord", "--from", kind, cwd=folder)
        assert (folder / "told.tfrecord").read_bytes() == (folder / "out.tfrecord").read_bytes()


DOCUMENTS = ["[1, 2]", '[\n["a"]\n]\n', '{\n  "a": 1\n}\n', '{\n "a": [1,\n']
OTHERS = {
    "p.parquet": (b"PAR1" + bytes(200), "a Parquet file", "lv.parquet"),
    "a.arrow": (b"ARROW1\0\0" + bytes(200), "an Arrow file", "lv.arrow"),
    "n.npy": (b"\x93NUMPY\x01\0" + bytes(200), "a NumPy array", "store such files in tar"),
    "b.txt.bz2": (bz2.compress(b"one\ntwo\n"), "bzip2", "bunzip2"),
    "x.txt.xz": (lzma.compress(b"one\ntwo\n"), "xz", "unxz"),
    "l.txt": (b"\x04\x22\x4d\x18" + bytes(20), "LZ4", "unlz4"),
    "sheet.csv": (b"PK\x03\x04" + bytes(200), "a ZIP archive", "unzip"),
}

# What pyarrow, which reads some of them, says; or that it is not installed.
READS = (lv.errors.DataLossError, ImportError)


def answers(folder, name):
    """What each command and lv.open say of a file."""
    yield levada("verify", name, cwd=folder, status=1).stderr
    yield levada("info", name, cwd=folder, status=1).stderr
    yield levada("head", name, cwd=folder, status=1).stderr
    yield levada("index", name, cwd=folder, status=1).stderr
    yield levada("convert", name, "out.jsonl", cwd=folder, status=1).stderr
    with pytest.raises((*READS, lv.errors.InvalidArgumentError)) as caught:
        lv.open(folder / name)
    if not issubclass(caught.type, READS):
        yield str(caught.value)


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_json_document_has_no_records_for_any_command(folder, text):
    (folder / "doc.json").write_text(text)
    for answer in answers(folder, "doc.json"):
        assert "is a JSON document, but not a list of objects" in answer
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_named_with_a_remedy(folder, name):
    content, called, remedy = OTHERS[name]
    (folder / name).write_bytes(content)
    sources = (lv.text_lines, lv.tfrecord, lv.jsonl, lv.csv, lv.tar)
    said = list(answers(folder, name))
    for source in sources:
        with pytest.raises(lv.errors.InvalidArgumentError) as caught:
            source(folder / name).to_list()
        said.append(str(caught.value))
    for answer in said:
        assert called in answer and "which levada does not read" in answer and remedy in answer
    assert lv.text_lines(folder / name, compression="none", dtype=lv.string).to_list()


def test_keys_of_a_tar_that_come_back_are_reported(folder):
    with tarfile.open(folder / "a.tar", "w") as archive:
        for name in ("a.jpg", "b.jpg", "a.json", "b.json"):
            archive.addfile(tarfile.TarInfo(name))
    for command in ("verify", "info", "run"):
        word = "tar:a.tar" if command == "run" else "a.tar"
        told = levada(command, word, cwd=folder).stderr
        assert "2 of its keys are repeated after other samples" in told and "--sort=name" in told
    with pytest.raises(lv.errors.InvalidArgumentError, match="--sort=name"):
        lv.tar(folder / "a.tar", fields=["jpg", "json"]).to_list()


def test_verify_repairs_no_two_files_into_one(folder):
    (folder / "other").mkdir()
    shutil.copy(folder / "bad.tfrecord", folder / "other")
    words = ["bad.tfrecord", "other/bad.tfrecord", "--repair", "good/"]
    done = levada("verify", *words, cwd=folder, status=1)
    assert "have the same name" in done.stderr


def test_verify_repairs_into_files_only(folder):
    os.mkfifo(folder / "pipe")
    done = levada("verify", "bad.tfrecord", "--repair", "pipe", cwd=folder, status=1)
    assert "must be a regular file" in done.stderr
    assert (folder / "pipe").is_fifo()
