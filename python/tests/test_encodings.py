# SPDX-License-Identifier: Apache-2.0
"""Text files in UTF-16, Latin-1 and Windows-1252."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
from pathlib import Path
from typing import Any

import levada as lv
import pytest
from cli_support import levada
from levada.errors import InvalidArgumentError, UnimplementedError

LATIN = "".join(chr(c) for c in range(32, 127)) + "äöüßéèñ£½ÿ"
WIDE = LATIN + "Ω漢字한글€—😀" + "\u2028\ufeff"
CP1252 = LATIN + "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # noqa: RUF001
ENCODINGS = {
    "utf-16": WIDE,
    "utf-16-le": WIDE,
    "utf-16-be": WIDE,
    "latin-1": LATIN,
    "cp1252": CP1252,
}


def words(letters: str, n: int, seed: int = 0) -> list[str]:
    """Lines of up to 200 characters, and a few of many thousands."""
    rng = random.Random(seed)
    sizes = [rng.choice([1, 2, 7, 30, 200]) for _ in range(n)]
    if n > 100:
        sizes[50] = 70_000
    plain = [c for c in letters if c not in '"\\,']
    return ["x" + "".join(rng.choices(plain, k=size)) + "x" for size in sizes]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_is_what_python_decodes(tmp_path: Path, encoding: str, packed: bool) -> None:
    texts = words(ENCODINGS[encoding], 3000)
    name = tmp_path / ("a.txt.gz" if packed else "a.txt")

    def put(text: str) -> None:
        data = text.encode(encoding)
        name.write_bytes(gzip.compress(data, 1) if packed else data)

    put("\n".join(texts) + "\n")
    for threads in (1, 3):
        ds = lv.text_lines(name, encoding=encoding).with_options(threads=threads)
        assert [r["line"] for r in ds.to_list()] == texts
    put("i,text\n" + "".join(f'{i},"{t}"\n' for i, t in enumerate(texts)))
    ds = lv.csv(name, header=True, record_defaults=["int64", "text"], encoding=encoding)
    assert [r["text"] for r in ds.to_list()] == texts
    assert lv.csv(name, infer=True, encoding=encoding).first() == {"i": 0, "text": texts[0]}
    put("".join(json.dumps({"t": t}, ensure_ascii=False) + "\n" for t in texts))
    for fields in ({"t": lv.text}, "auto"):
        ds = lv.jsonl(name, fields=fields, encoding=encoding)
        assert [r["t"] for r in ds.to_list()] == texts


def test_python_names_of_encodings_are_known(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ä\n".encode("latin-1"))
    for word in (
        "latin-1",
        "latin1",
        "Latin_1",
        "ISO-8859-1",
        "iso8859-1",
        "cp1252",
        "windows-1252",
    ):
        assert lv.text_lines(tmp_path / "a.txt", encoding=word).first() == {"line": "ä"}
    for word in ("utf-32", "ascii", "", "latin-11", "x" * 99):
        with pytest.raises(InvalidArgumentError, match="must be utf-8, utf-16"):
            lv.text_lines(tmp_path / "a.txt", encoding=word)
    with pytest.raises(TypeError):
        lv.tfrecord(tmp_path / "a.txt", encoding="latin-1")  # type: ignore[call-arg]


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_is_found(tmp_path: Path, order: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(("\ufeff" + "a,b\n1,ä\n2,😀\n").encode(order))
    ds = lv.open(path)
    assert "encoding=utf-16" in str(ds)
    assert ds.to_list() == [{"a": 1, "b": "ä"}, {"a": 2, "b": "😀"}]
    path = tmp_path / "a.jsonl"
    path.write_bytes(("\ufeff" + '{"a": "ä"}\n').encode(order))
    assert lv.open(path).to_list() == [{"a": "ä"}]
    with pytest.raises(UnimplementedError, match="utf-16 cannot be indexed"):
        lv.index(path)


def test_no_index_is_written_that_the_source_would_refuse(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ä\nb\n".encode("latin-1"))
    with pytest.raises(UnimplementedError, match="latin-1 cannot be indexed"):
        lv.index(path, source="text_lines:encoding=latin-1")
    assert lv.index(path, source="text_lines:encoding=utf-8")


@pytest.mark.parametrize("packed", [False, True])
def test_every_command_finds_a_byte_order_mark(tmp_path: Path, packed: bool) -> None:
    texts = {
        "csv": ("a,b\n1,ä\n", ["csv:header=true", "csv"]),
        "txt": ("ä\n", ["text_lines"]),
        "jsonl": ('{"a": "ä"}\n', ["jsonl", "jsonl:fields=auto,encoding=utf-16"]),
        "json": ('[{"a": "ä"}]', ["json", "json:fields=auto,encoding=utf-16"]),
    }
    for suffix, (text, sources) in texts.items():
        path = tmp_path / f"a.{suffix}{'.gz' if packed else ''}"
        data = text.encode("utf-16")
        path.write_bytes(gzip.compress(data) if packed else data)
        for options in [[], *(["--source", source] for source in sources)]:
            for command in ("verify", "info"):
                assert levada(command, str(path), *options).returncode == 0
            done = levada("head", "--json", str(path), *options)
            assert done.returncode == 0 and "ä" in done.stdout, done.stderr
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    done = levada("convert", str(path), str(tmp_path / "out.jsonl"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {"a": "1", "b": "ä"}


def test_what_is_no_character_is_a_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\0\n\0" + b"\0\xd8b\0\n\0" + b"\0\xdc\n\0" + b"c\0\n\0" + b"d\0\0\xd8")
    ds = lv.text_lines(path, encoding="utf-16-le").with_options(errors="skip")
    assert [r["line"] for r in ds.to_list()] == ["a", "c"]
    path.write_bytes("a\nb\n".encode("utf-16") + b"c")  # half a character
    ds = lv.text_lines(path, encoding="utf-16").with_options(errors="skip")
    assert [r["line"] for r in ds.to_list()] == ["a", "b"]
    with pytest.raises(InvalidArgumentError, match="UTF-8"):
        lv.text_lines(path, encoding="utf-16").to_list()
    path.write_bytes(b"a\n\x81\nb\x80\n")
    ds = lv.text_lines(path, encoding="cp1252").with_options(errors="skip")
    assert [r["line"] for r in ds.to_list()] == ["a", "b€"]


def test_an_encoded_file_has_no_index(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    lv.index(path)
    with pytest.raises(InvalidArgumentError, match="and index cannot be combined"):
        lv.text_lines(path, index=True, encoding="latin-1")
    assert lv.text_lines(path, index=True, encoding="UTF8").to_list() == [{"line": "a"}]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_encoded_files_resume_at_every_cut(tmp_path: Path, encoding: str, threads: int) -> None:
    files = []
    for i in range(3):
        files.append(tmp_path / f"{i}.txt")
        texts = words(ENCODINGS[encoding], 9, seed=i)
        files[-1].write_bytes("".join(f"{t}\n" for t in texts).encode(encoding))
    for block_rows in (1, 4, 256):
        ds = lv.text_lines(files, encoding=encoding).shuffle(5, seed=3)
        ds = ds.with_options(threads=threads, block_rows=block_rows)
        whole = [r["line"] for r in ds.iterate(epoch=0)]
        for cut in range(len(whole) + 1):
            it = ds.iterate(epoch=0)
            head = [next(it)["line"] for _ in range(cut)]
            other = ds.iterate(epoch=0)
            other.restore(it.save())
            assert head + [r["line"] for r in other] == whole


def test_a_pipe_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    texts = words(WIDE, 200)
    data = "".join(f"{t}\n" for t in texts).encode("utf-16")

    def feed() -> None:
        with open(path, "wb", buffering=0) as file:
            at, rng = 0, random.Random(1)
            while at < len(data):
                at += file.write(data[at : at + rng.choice([1, 3, 1000, 40_000])])

    thread = threading.Thread(target=feed)
    thread.start()
    ds: Any = lv.text_lines(path, encoding="utf-16")
    assert [r["line"] for r in ds] == texts
    thread.join()
