# SPDX-License-Identifier: Apache-2.0
"""JSON documents that are lists of objects."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import levada as lv
import pytest
from cli_support import levada
from levada.errors import DataLossError, InvalidArgumentError, LevadaError

LETTERS = 'ab"\\{}[],: \nä😀'
STYLES: dict[str, dict[str, Any]] = {
    "python": {},
    "compact": {"separators": (",", ":")},
    "pretty": {"indent": 2},
    "tabs": {"indent": "\t", "ensure_ascii": False},
}


def objects(n: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "id": i,
            "text": "".join(rng.choices(LETTERS, k=rng.choice([0, 1, 5, 60]))),
            "turns": [{"role": rng.choice("ab"), "n": k} for k in range(rng.randrange(4))],
            "x": [rng.random() for _ in range(rng.randrange(3))],
        }
        for i in range(n)
    ]


def plain(record: Any) -> Any:
    return json.loads(json.dumps(record, default=lambda value: value.tolist()))


def read(ds: Any) -> list[Any]:
    return [plain(record) for record in ds]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_documents_are_those_of_python(tmp_path: Path, style: str, packed: bool) -> None:
    want = objects(3000)
    path = tmp_path / ("a.json.gz" if packed else "a.json")
    text = json.dumps(want, **STYLES[style]).encode()
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    for threads in (1, 3):
        for block_rows in (1, 256):
            ds = lv.open(path).with_options(threads=threads, block_rows=block_rows)
            assert read(ds) == want
    assert str(ds).startswith("json:")
    path.write_bytes(json.dumps({"v": [1], "data": want, "w": {}}, **STYLES[style]).encode())
    assert read(lv.json(path, field="data", fields="auto")) == want
    if "indent" in STYLES[style]:
        with pytest.raises(InvalidArgumentError, match="option field"):
            lv.open(path)


def test_an_element_may_be_large(tmp_path: Path) -> None:
    want = [{"t": "x" * n} for n in (1, 3_000_000, 5, 700_000, 2)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(want, indent=1))
    assert read(lv.open(path)) == want
    ds = lv.json(path, fields={"t": lv.text}).with_options(max_bytes=1_000_000)
    with pytest.raises(LevadaError, match=r"record"):
        ds.to_list()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("field", [None, "data"])
def test_a_document_resumes_at_every_cut(tmp_path: Path, threads: int, field: str | None) -> None:
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for i, file in enumerate(files):
        rows = objects(7, seed=i)
        file.write_text(json.dumps({"a": 1, "data": rows} if field else rows, indent=i or None))
    for block_rows in (1, 4, 256):
        ds = lv.json(files, field=field, fields="auto").shuffle(4, seed=2)
        ds = ds.with_options(threads=threads, block_rows=block_rows)
        whole = read(ds.iterate(epoch=0))
        assert len(whole) == 21
        for cut in range(len(whole) + 1):
            it = ds.iterate(epoch=0)
            head = [plain(next(it)) for _ in range(cut)]
            other = ds.iterate(epoch=0)
            other.restore(it.save())
            assert head + read(other) == whole


def test_a_bad_element_is_one_bad_record(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"i": 1}, {"i": tru}, {"i": "x"}, 5, {"i": 2}]')
    ds = lv.json(path, fields={"i": lv.int64})
    assert read(ds.with_options(errors="skip")) == [{"i": 1}, {"i": 2}]
    with pytest.raises(InvalidArgumentError, match=r"record 1 at byte 9"):
        ds.to_list()


@pytest.mark.parametrize("style", STYLES)
def test_every_cut_of_a_document_is_damage(tmp_path: Path, style: str) -> None:
    text = json.dumps(objects(3), **STYLES[style]).encode()
    path = tmp_path / "a.json"
    fields: Any = {"id": lv.int64}
    for cut in range(1, len(text)):
        path.write_bytes(text[:cut])
        with pytest.raises((DataLossError, InvalidArgumentError)):
            lv.json(path, fields=fields).to_list()
        it = iter(lv.json(path, fields=fields).with_options(errors="skip"))
        found = [int(record["id"]) for record in it]
        assert found == list(range(len(found)))
        stats = it.stats()
        assert stats["skipped_records"] + stats["dropped_records"] > 0


def test_bytes_that_change_never_crash_nor_hide(tmp_path: Path) -> None:
    rng = random.Random(5)
    text = json.dumps(objects(6), indent=1).encode()
    path = tmp_path / "a.json"
    for _ in range(1500):
        data = bytearray(text)
        for _ in range(rng.choice([1, 1, 3])):
            data[rng.randrange(len(data))] = rng.choice(b'"{}[],:\\ \n0a\x00\xff')
        path.write_bytes(data)
        try:
            want = json.loads(data)
        except ValueError:
            want = None
        ds = lv.json(path, fields={"id": {"dtype": lv.int64, "default": -1}})
        ran: Any
        try:
            ran = [int(record["id"]) for record in ds]
        except (DataLossError, InvalidArgumentError):
            ran = None
        if want is None:
            assert ran is None, bytes(data)
        elif ran is not None:
            assert len(ran) == len(want)
        ds.with_options(errors="skip").to_list()


def test_the_command_reads_documents(tmp_path: Path) -> None:
    want = objects(20)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(want, indent=2))
    assert "20 records" in levada("info", path).stdout
    levada("verify", path)
    assert '\\"id\\": 19' in levada("head", "-n", "20", path).stdout
    levada("convert", path, tmp_path / "b.jsonl")
    lines = (tmp_path / "b.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == want
    path.write_text(path.read_text()[:-5])
    levada("verify", path, status=1)


@pytest.mark.parametrize("style", STYLES)
def test_elements_of_other_lists_are_no_records(tmp_path: Path, style: str) -> None:
    path = tmp_path / "a.json"
    want = objects(6)
    other = [{"id": 100 + i, "text": ""} for i in range(6)]
    intact = json.dumps({"data": want, "other": other}, **STYLES[style])
    last = json.dumps(want[-1]["text"], **STYLES[style])
    at = intact.index(last, intact.index('"id": 5' if style != "compact" else '"id":5'))
    quote = intact[: at + len(last) - 1] + intact[at + len(last) :]  # the last element of data
    for text, field in [(intact, "lost"), (quote, "data")]:
        path.write_text(text)
        for threads, block_rows in [(1, 1), (1, 256), (3, 1), (3, 256)]:
            ds = lv.json(path, field=field, fields={"id": lv.int64}, errors="skip")
            it = iter(ds.with_options(threads=threads, block_rows=block_rows))
            ids = [int(r["id"]) for r in it]
            assert ids == list(range(5))[: len(ids)] and it.stats()["skipped_records"] == 1
            assert len(ids) == (0 if field == "lost" else 5)


def test_a_later_list_on_lines_is_not_taken_for_a_compact_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"data":[{"a":1},],"z":[\n{"a":2},\n{"a":6}]}')
    ds = lv.json(path, field="data", fields={"a": lv.int64}).with_options(errors="skip")
    assert [int(record["a"]) for record in ds] == [1]
