# SPDX-License-Identifier: Apache-2.0
"""CSV rows with misplaced or open quotes and rows over max_record_bytes, compared with a model of
the documented rules: one result for files, gzip, pipes, numbers of threads and restores."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import re
import threading
from pathlib import Path
from typing import Any

import levada as lv
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:no record was delivered")

csv.field_size_limit(1 << 24)
LIMIT = 1 << 18  # the smallest one
FIELD = rb'(?:"(?:[^"]|"")*"|[^",\r\n]*)'


class Model:
    """The rows of a file that are good, and how many are not."""

    def __init__(self, data: bytes, columns: int, limit: int, tensorflow: bool) -> None:
        self.data, self.columns, self.limit, self.tensorflow = data, columns, limit, tensorflow
        self.row = re.compile(FIELD + (b"," + FIELD) * (columns - 1))
        self.good: list[bytes] = []
        self.bad = 0
        at = 0
        while (at := self.blank(at)) < len(data):
            at = self.read(at)

    def blank(self, at: int) -> int:
        while at < len(self.data) and self.data[at] in b"\r\n":
            at += 1
        return at

    def line_end(self, at: int) -> int:
        found = re.compile(rb"[\r\n]").search(self.data, at)
        return found.start() if found else len(self.data)

    def after(self, at: int) -> int:
        return at + 1 + (self.data[at : at + 2] == b"\r\n")

    def is_row(self, begin: int, end: int) -> bool:
        return end > begin and bool(self.row.fullmatch(self.data, begin, end))

    def end_of(self, begin: int, long: bool) -> tuple[int, bool, bool]:
        """Where the row ends, whether in quotes, and whether they were open at the limit."""
        data, quoted, broken, fields, past, opened = self.data, False, False, 1, begin, None
        for mark in re.compile(rb'["\r\n,]').finditer(data, begin):
            at, byte = mark.start(), mark.group()
            if opened is None and at >= begin + self.limit:
                opened = quoted
            if at < past:
                continue
            if byte == b'"' and not broken:
                following = data[at + 1 : at + 2]
                if not quoted:
                    quoted = at == begin or data[at - 1 : at] == b","
                elif following == b'"':
                    past = at + 2
                elif following in (b",", b"\r", b"\n", b""):
                    quoted = False
                    if opened is None and at + 1 >= begin + self.limit:
                        opened = True
                elif not self.tensorflow:
                    quoted, broken = False, True
            elif byte == b"," and not quoted:
                fields += 1
            elif byte in b"\r\n" and not quoted and self.ends(begin, at, broken, fields, long):
                return at, False, bool(opened)
        return len(data), quoted, quoted if opened is None else opened

    def ends(self, begin: int, at: int, broken: bool, fields: int, long: bool) -> bool:
        if not broken or fields >= self.columns:
            return True
        line = self.after(at)
        end = self.line_end(line)
        if end - line >= self.limit - 2 if long else end - begin > self.limit:
            return False
        return self.is_row(line, end)

    def read(self, begin: int) -> int:
        end, quoted, _ = self.end_of(begin, False)
        following = self.after(end) if end < len(self.data) else end
        if following - begin > self.limit:
            self.bad += 1
            return self.read_long(begin)
        if quoted:
            self.bad += 1
            return self.resync(begin, len(self.data)) or len(self.data)
        if self.is_row(begin, end):
            self.good.append(self.data[begin:end])
        else:
            self.bad += 1
        return following

    def read_long(self, begin: int) -> int:
        end, _, opened = self.end_of(begin, True)
        if opened and self.columns > 1:
            lines = rows = 0
            at = self.line_end(begin)
            while at < begin + self.limit:
                line = self.after(at)
                at = self.line_end(line)
                if at < begin + self.limit:
                    lines += at > line
                    rows += self.is_row(line, at)
            if 2 * rows > lines:
                return self.resync(begin, begin + self.limit)
        return self.after(end) if end < len(self.data) else end

    def resync(self, begin: int, most: int) -> int:
        at = self.line_end(begin)
        while at < most and self.columns > 1:
            line = self.after(at)
            at = self.line_end(line)
            if self.is_row(line, at):
                return line
        return 0


def fields(row: bytes) -> tuple[bytes, ...]:
    """The fields of a good row, as Python's csv reads them."""
    text = io.StringIO(row.decode("latin-1"), newline="")
    (cells,) = csv.reader(text)
    return tuple(cell.encode("latin-1") for cell in cells)


def feed(path: Path, data: bytes) -> threading.Thread:
    os.mkfifo(path)
    thread = threading.Thread(target=path.write_bytes, args=[data])
    thread.start()
    return thread


def rows_of(it: Any) -> list[tuple[bytes, ...]]:
    return [tuple(record.values()) for record in it]


def check(folder: Path, data: bytes, model: Model, cuts: random.Random | None = None) -> None:
    """Reads the data in every way."""
    folder.mkdir()
    (folder / "a.csv").write_bytes(data)
    (folder / "b.csv.gz").write_bytes(gzip.compress(data, 1))
    ways = [("a.csv", 1, 256), ("a.csv", 4, 7), ("b.csv.gz", 2, 256)]
    if cuts:
        ways.append(("pipe.csv", 1, 100))
    want = [fields(row) for row in model.good]
    for name, threads, rows in ways:
        thread = feed(folder / name, data) if name == "pipe.csv" else None
        how: dict[str, Any] = {"record_defaults": [[b""]] * model.columns}
        if model.tensorflow:
            how["misplaced_quotes"] = "tensorflow"
        ds = lv.csv(folder / name, **how).with_options(
            errors="skip", threads=threads, block_rows=rows, max_bytes=model.limit
        )
        with iter(ds) as it:
            assert rows_of(it) == want, (name, threads)
            assert it.stats()["skipped_records"] == model.bad, (name, threads)
        if thread:
            thread.join()
        elif cuts:
            check_cut(ds, want, model.bad, cuts.randint(0, len(want)))


def check_cut(ds: Any, want: list[Any], bad: int, cut: int) -> None:
    it = ds.iterate(0)
    got = [next(it) for _ in range(cut)]
    again = ds.iterate(0)
    again.restore(it.save())
    assert rows_of(got) + rows_of(again) == want
    assert again.stats()["skipped_records"] == bad


@pytest.mark.parametrize("tensorflow", [False, True])
def test_any_quotes_have_the_rows_of_the_model(
    tmp_path: Path, length: int, tensorflow: bool
) -> None:
    draw = random.Random(f"quotes{tensorflow}")
    for turn in range(1500 * length):
        letters = draw.choice(['ab,"\n', 'ab,,"\n\r', 'a,"\n\n\n'])
        text = "".join(draw.choices(letters, k=draw.randint(0, 120)))
        if draw.random() < 0.5:
            text += "".join(f"{i},x\n" for i in range(draw.randint(1, 20)))
        data = text.encode()
        check(tmp_path / str(turn), data, Model(data, draw.randint(2, 3), LIMIT, tensorflow))


def long_file(draw: random.Random) -> bytes:
    """Rows, some of which are long because of their data, or of a quote."""
    parts = []
    for i in range(draw.randint(2, 6)):
        parts += [f'{k},"t ""{k}"""\n' for k in range(draw.choice([1, 30, 3000]))]
        filler = "x" * draw.randint(1, 200_000)
        lines = "some, words\nand more\n" * draw.randint(1, 12_000)
        often = [f"1,{filler * 2}\n", f'{i},"{lines}"\n', f'"x"{filler}\n', f'"x"{filler * 2}y']
        rare = [f'1,"{lines}{filler}"\r\n', f'"{filler}"y,{lines}\n', '1,"a\n', f'1,"{lines}\n']
        parts.append(draw.choice(often * 3 + rare))
    parts.append("last,row" + draw.choice(["", "\n", "\r"]))
    return "".join(parts).encode()


@pytest.mark.parametrize("tensorflow", [False, True])
def test_rows_over_the_limit_are_rejected_alone(
    tmp_path: Path, length: int, tensorflow: bool
) -> None:
    draw = random.Random(f"long{tensorflow}")
    long = 0
    for turn in range(12 * length):
        data = long_file(draw)
        model = Model(data, 2, LIMIT, tensorflow)
        check(tmp_path / str(turn), data, model, draw)
        long += model.bad
    assert long > 12


def test_well_formed_rows_are_those_of_the_csv_module(tmp_path: Path, length: int) -> None:
    """Every row within the limit is read, wherever the long ones are."""
    draw = random.Random(7)
    for turn in range(1000 * length):
        most = 300_000 if turn % 100 == 0 else 40
        text, want = io.StringIO(), []
        writer = csv.writer(text, lineterminator=draw.choice(["\n", "\r\n"]))
        for _ in range(draw.randint(1, 12)):
            cells = [
                "".join(draw.choices('ab ,"\n', k=draw.randint(1, 30)))
                * draw.randint(1, max(1, draw.randint(1, most) // 30))
                for _ in range(3)
            ]
            before = text.tell()
            writer.writerow(cells)
            if text.tell() - before <= LIMIT:
                want.append(tuple(cell.encode() for cell in cells))
        path = tmp_path / "a.csv"
        path.write_bytes(text.getvalue().encode())
        ds = lv.csv(path, record_defaults=["string"] * 3)
        threads = draw.choice([1, 3])
        got = rows_of(ds.with_options(errors="skip", threads=threads, max_bytes=LIMIT))
        assert got == want
        every = csv.reader(io.StringIO(text.getvalue(), newline=""))
        assert rows_of(ds) == [tuple(cell.encode() for cell in row) for row in every]


def test_a_long_row_is_named_with_file_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,a\n2," + b"x" * LIMIT + b"\n3,b\n")
    ds = lv.csv(path, record_defaults=["int64", "string"]).with_options(max_bytes=LIMIT)
    words = r"(?s)longer than max_record_bytes=.*a\.csv.*record 1.*byte 4"
    with pytest.raises(lv.errors.ResourceExhaustedError, match=words):
        ds.to_list()
    with iter(ds.with_options(errors="skip")) as it:
        assert [record["c0"] for record in it] == [1, 3]
        (problem,) = it.stats()["problems"]
        assert (problem["record"], problem["offset"]) == (1, 4)
        assert str(problem["file"]).endswith("a.csv")


def test_a_long_header_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b" + b"x" * (1 << 21) + b"\n3,b\n4,c\n")
    ds = lv.csv(path, header=True, record_defaults=["int64", "string"], columns=["a", "b"])
    got = ds.with_options(errors="skip", max_bytes=LIMIT).to_list()
    assert [record["a"] for record in got] == [3, 4]
