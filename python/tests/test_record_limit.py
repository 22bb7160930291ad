# SPDX-License-Identifier: Apache-2.0
"""The limit of records: one default and one option for all commands, and the same verdict."""

import gzip
import io
import tarfile

import levada as lv
import pytest
from cli_support import frame, levada
from command import needs_command

LIMIT = 600 * 512  # tar has whole blocks of 512 bytes


def tar(size):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i, length in enumerate((5, size - 512, 7)):
            member = tarfile.TarInfo(f"{i}.txt")
            member.size = length
            archive.addfile(member, io.BytesIO(b"x" * length))
    return out.getvalue()


def sized(length):
    return length.to_bytes(4, "little") + b"x" * length


# name: a file whose second record has N bytes with its header, the source, and the step of N
FILES = {
    "a.tfrecord": (lambda n: b"".join(map(frame, (b"a", b"x" * (n - 16), b"b"))), "tfrecord", 1),
    "a.txt": (lambda n: b"a\n" + b"x" * (n - 1) + b"\nb\n", "text_lines", 1),
    "last.txt": (lambda n: b"a\n" + b"x" * n, "text_lines", 1),
    "a.csv": (
        lambda n: b"1,a\n2," + b"x" * (n - 3) + b"\n3,b\n",
        "csv:record_defaults=[int64,string]",
        1,
    ),
    "a.jsonl": (
        lambda n: b'{"a":"b"}\n{"a":"' + b"x" * (n - 9) + b'"}\n{"a":"c"}\n',
        "jsonl:fields={a:string}",
        1,
    ),
    "a.tar": (tar, "tar:fields=[txt]", 512),
    "a.rec": (
        lambda n: sized(3) + sized(n - 4) + sized(9),
        "framed:header_bytes=4,length_bytes=4",
        1,
    ),
}


def described(source, path):
    name, _, options = source.partition(":")
    return f"{name}:{path}" + ("," + options if options else "")


def commands(source, path, packed):
    text = described(source, path)
    yield ["verify", path, "--source", source]
    yield ["info", path, "--source", source, "--json"]
    yield ["head", path, "--source", source]
    yield ["run", text, "-t", "1"]
    yield ["run", f"{text} | shuffle:5 | batch:2", "-t", "4"]
    yield ["bench", text]
    yield ["convert", text, "out.jsonl" if ":" in source or "text" in source else "out.tfrecord"]
    if not packed:
        yield ["index", path, "--source", source]


@needs_command
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_a_record_has_the_same_verdict_for_every_command(tmp_path, name, packed):
    make, source, step = FILES[name]
    path = name + ".gz" * packed
    for size, status in ((LIMIT, 0), (LIMIT + step, 1)):
        data = make(size)
        (tmp_path / path).write_bytes(gzip.compress(data, 1) if packed else data)
        for words in commands(source, path, packed):
            done = levada(*words, "--max-record-bytes", LIMIT, cwd=tmp_path, status=status)
            if status and words[0] != "info":
                assert f"max_record_bytes={LIMIT}" in done.stderr + done.stdout, words
                assert "--max-record-bytes" in done.stderr + done.stdout, words
            levada(*words, cwd=tmp_path)


@needs_command
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["a.tfrecord", "a.txt", "a.csv", "a.jsonl", "a.tar"])
def test_a_long_record_is_skipped_by_every_command(tmp_path, name, packed):
    make, source, step = FILES[name]
    path = name + ".gz" * packed
    data = make(LIMIT + step)
    (tmp_path / path).write_bytes(gzip.compress(data, 1) if packed else data)
    words = ["run", described(source, path), "--errors", "skip", "--max-record-bytes", LIMIT]
    assert levada(*words, cwd=tmp_path).stdout.startswith("2 records in")
    words = ["verify", path, "--source", source, "--max-record-bytes", LIMIT]
    done = levada(*words, cwd=tmp_path, status=1)
    assert "2 good records · 1 bad record" in done.stdout


@needs_command
def test_fixed_length_names_the_option(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(LIMIT * 2))
    source = f"fixed_length:record_bytes={LIMIT}"
    for words in commands(source, "a.bin", False):
        if words[0] != "convert":
            levada(*words, "--max-record-bytes", LIMIT, cwd=tmp_path)
        done = levada(*words, "--max-record-bytes", LIMIT - 1, cwd=tmp_path, status=1)
        assert "--max-record-bytes" in done.stderr, words


def test_the_default_is_that_of_the_command(tmp_path):
    path = tmp_path / "long.txt"
    with path.open("wb") as file:
        file.truncate((256 << 20) + 1)  # one line of zeros
    assert sum(len(row["line"]) for row in lv.text_lines(str(path))) == (256 << 20) + 1
    assert lv.index(path) == 1
    with pytest.raises(lv.errors.DataLossError, match="max_record_bytes"):
        lv.index(path, max_bytes=1 << 20)


@pytest.mark.parametrize("ending", [b"\n", b""], ids=["ended", "cut"])
@pytest.mark.parametrize("most", [300_000, 5_000_000])
def test_a_record_of_many_chunks_is_skipped_once_by_any_number_of_threads(tmp_path, most, ending):
    """Other threads do not begin inside of it, where its end would be a record."""
    long = b"x" * 12_345_678
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n" * 5 + long + b"\n" + b"b\n" * 1_000_000 + long + ending)
    for threads in (1, 2, 4):
        ds = lv.text_lines(str(path)).batch(4096)
        with iter(ds.with_options(errors="skip", max_bytes=most, threads=threads)) as it:
            found = [line for batch in it for line in batch["line"].tolist()]
            assert it.stats()["skipped_records"] == 2, threads
        assert found == [b"a"] * 5 + [b"b"] * 1_000_000
