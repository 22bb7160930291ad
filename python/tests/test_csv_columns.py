# SPDX-License-Identifier: Apache-2.0
"""CSV files whose headers have the columns in other orders, or other columns, compared with
csv.DictReader of Python."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path
from typing import Any

import levada as lv
import pytest
from levada.errors import InvalidArgumentError

NAMES = ["id", "price", "name", "größe", "a b", 'q"q', "x,y", "line\nend", "C"]
DEFAULTS = {"int64": -7, "float64": 0.25, "string": "none"}


def entry(draw: random.Random, dtype: str) -> Any:
    return {"dtype": dtype, "default": DEFAULTS[dtype]} if draw.random() < 0.6 else dtype


def cell(draw: random.Random, dtype: str, required: bool) -> str:
    if not required and draw.random() < 0.2:
        return ""
    if dtype == "string":
        return "".join(draw.choices('ab,"\n é', k=draw.randint(1, 6)))
    return str(draw.randint(-99, 99)) if dtype == "int64" else str(draw.random())


def is_required(entry: Any) -> bool:
    return not isinstance(entry, dict)


def dtype_of(entry: Any) -> str:
    return entry if is_required(entry) else entry["dtype"]


def header_of(draw: random.Random, columns: dict[str, Any], other: bool) -> list[str]:
    names = list(columns)
    if draw.random() < 0.7:
        draw.shuffle(names)
    if other:
        lacks = [n for n in names if not is_required(columns[n]) and draw.random() < 0.3]
        names = [n for n in names if n not in lacks] or names
        for i in range(draw.choice([0, 0, 1, 3])):
            names.insert(draw.randint(0, len(names)), f"extra{i}")
    return names


def write(draw: random.Random, path: Path, header: list[str], columns: dict[str, Any]) -> str:
    text = io.StringIO()
    end = draw.choice(["\n", "\r\n"])
    how: Any = draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    writer = csv.writer(text, lineterminator=end, quoting=how)
    writer.writerow(header)
    for _ in range(draw.choice([0, 1, 5, 40])):
        writer.writerow(
            [
                cell(draw, dtype_of(columns[name]), is_required(columns[name]))
                if name in columns
                else cell(draw, "string", True)
                for name in header
            ]
        )
        text.write(end * draw.choice([0, 0, 0, 1]))
    data = draw.choice([b"", b"\xef\xbb\xbf"]) + text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return text.getvalue()


def wanted(text: str, columns: dict[str, Any]) -> list[tuple[Any, ...]]:
    got = []
    for row in csv.DictReader(io.StringIO(text, newline="")):
        values: list[Any] = []
        for name, one in columns.items():
            field = row.get(name) or ""
            if field == "" and not is_required(one):
                field = str(one["default"])
            dtype = dtype_of(one)
            values.append(field.encode() if dtype == "string" else float(field))
        got.append(tuple(values))
    return got


def rows(records: Any) -> list[tuple[Any, ...]]:
    return [tuple(v if isinstance(v, bytes) else float(v) for v in r.values()) for r in records]


def drawn(draw: random.Random, folder: Path, other: bool) -> tuple[Any, list[Any], list[str]]:
    names = draw.sample(NAMES, draw.randint(1, 5))
    columns = {name: entry(draw, draw.choice(list(DEFAULTS))) for name in names}
    paths, want = [], []
    for i in range(draw.randint(1, 4)):
        path = folder / f"{i}.csv{draw.choice(['', '', '.gz'])}"
        want.append(wanted(write(draw, path, header_of(draw, columns, other), columns), columns))
        paths.append(str(path))
    return columns, want, paths


@pytest.mark.parametrize("other", [False, True])
def test_columns_are_matched_by_name(tmp_path: Path, length: int, other: bool) -> None:
    draw = random.Random(41 + other)
    for turn in range(80 * length):
        folder = tmp_path / str(turn)
        folder.mkdir()
        columns, parts, paths = drawn(draw, folder, other)
        want = [row for part in parts for row in part]
        how: dict[str, Any] = {"header": True, "record_defaults": columns}
        if other:
            how["header_columns"] = "any"
        ds = lv.csv(paths, **how)
        columns = {name: columns[name] for name in ds.spec}  # in the order of the first file
        want = [row for path in paths for row in wanted(text_of(Path(path)), columns)]
        assert lv.from_text(str(ds)) == ds
        for threads, size in (1, 256), (4, 3):
            assert rows(ds.with_options(threads=threads, block_rows=size)) == want
        check_restores(draw, ds.with_options(threads=draw.choice([1, 4]), block_rows=2), want)
        shuffled = ds.shuffle(16, seed=turn)
        check_restores(draw, shuffled, rows(shuffled.iterate(0)))
        ranks = [rows(ds.shard(rank, 2)) for rank in range(2)]
        assert ranks == [want[0::2], want[1::2]]
        if not any(path.endswith(".gz") for path in paths):
            check_index(draw, paths, how, want)


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")


def check_restores(draw: random.Random, ds: Any, want: list[Any]) -> None:
    cut = draw.randint(0, len(want))
    it = ds.iterate(0)
    got = [next(it) for _ in range(cut)]
    state = it.save()
    again = ds.iterate(0)
    again.restore(state)
    assert rows(got) + rows(again) == want


def check_index(draw: random.Random, paths: list[str], how: Any, want: list[Any]) -> None:
    source = f"csv:header=true,header_columns={how.get('header_columns', 'all')}"
    for path in paths:
        lv.index(path, source=source)
    indexed = lv.csv(paths, index=True, **how)
    assert rows(indexed[i] for i in range(len(indexed))) == want
    parts = draw.randint(1, 4)
    got = []
    for part in range(parts):
        got += rows(lv.csv(paths, index=True, part=[part, parts], **how))
    assert got == want
    shuffled = lv.csv(paths, index=True, shuffle_records=True, **how)
    assert sorted(rows(shuffled)) == sorted(want)
    shuffled = shuffled.with_options(threads=4, seed=5)
    check_restores(draw, shuffled, rows(shuffled.iterate(0)))


def test_open_and_infer_match_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,price\n1,10\n")
    (tmp_path / "b.csv").write_text('price,id\n20,2\n"30",3\n')
    pattern = str(tmp_path / "*.csv")
    for ds in (lv.open(pattern), lv.csv(pattern, infer=True)):
        assert rows(ds) == [(1, 10), (2, 20), (3, 30)]
    ds = lv.files(pattern).interleave(
        lv.csv("{path}", header=True, record_defaults={"id": "int64", "price": "int64"}),
        cycle_length=2,
    )
    assert sorted(rows(ds.repeat(2))) == sorted([(1, 10), (2, 20), (3, 30)] * 2)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_file_that_does_not_fit_is_skipped_as_a_whole(tmp_path: Path, threads: int) -> None:
    good = "id,price\n" + "".join(f"{i},{i}\n" for i in range(300))
    (tmp_path / "a.csv").write_text(good)
    (tmp_path / "b.csv").write_text("id,cost\n" + "7,7\n" * 500)
    (tmp_path / "c.csv").write_text("price,id\n5,1000\n")
    ds = lv.csv(str(tmp_path / "*.csv"), infer=True).with_options(threads=threads)
    with pytest.raises(InvalidArgumentError, match=r"column 'price'(.|\n)*b\.csv record 0"):
        ds.to_list()
    it = iter(ds.with_options(errors="skip"))
    want = [(i, i) for i in range(300)] + [(1000, 5)]
    assert rows(it) == want
    assert it.stats()["skipped_records"] == 500
    first = str(it.stats()["problems"][0])
    assert "b.csv" in first and "'price'" in first
    (tmp_path / "b.csv").write_text("id,cost\n")  # nothing is lost
    assert rows(ds) == want


ANY: dict[str, Any] = {"id": "int64", "price": {"dtype": "float64", "default": -1.0}}


def test_any_header_may_lack_columns_with_a_default(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"

    def read(text: str, **options: Any) -> list[tuple[Any, ...]]:
        path.write_bytes(text.encode())
        options = {"header": True, "record_defaults": ANY, "header_columns": "any", **options}
        return rows(lv.csv(path, **options))

    assert read("id\n1\n2\n") == [(1, -1), (2, -1)]
    assert read('tax,id,"price"\r"a\rb",1,2\r') == [(1, 2)]
    assert read("price,x,x,id\n0.5,1,2,3\n,,,4\n") == [(0.5, 3)[::-1], (4, -1)]
    for text, words in [
        ("price\n1\n", "'id', which has no default"),
        ("id,id\n1,2\n", "two columns of the header are named 'id'"),
        ("id,tax\n1\n", "Expect 2 fields but have 1"),
        ("id,tax\n1,2,3\n", "Expect 2 fields but have more"),
        ('id,tax\n1,"2"3\n', r"escaped by another quote \(field 1, byte 4 of the row\)"),
        ('id,"tax"x\n1,2\n', "the header: Quote inside"),
        ("", None),
        ("id,tax\n", None),
    ]:
        if words is None:
            assert read(text) == []
            continue
        with pytest.raises(InvalidArgumentError, match=words):
            read(text)
    with pytest.raises(InvalidArgumentError, match="'tax', which record_defaults lacks"):
        read("id,price,tax\n1,2,3\n", header_columns="all")
    with pytest.raises(InvalidArgumentError, match="header_columns=any reads its default"):
        read("id\n1\n", header_columns="all")


def test_other_columns_need_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,tax\n1,2\n")
    wrong: list[dict[str, Any]] = [
        {"record_defaults": ANY},
        {"header": True, "record_defaults": ["int64", "int64"], "columns": ["a", "b"]},
    ]
    for options in wrong:
        with pytest.raises(InvalidArgumentError, match="header_columns=any needs header"):
            lv.csv(tmp_path / "a.csv", header_columns="any", **options)
    ds = lv.csv(tmp_path / "a.csv", infer=True, header_columns="any")
    assert rows(ds) == [(1, 2)]
    (tmp_path / "b.csv").write_text("tax\n3\n")
    ds = lv.csv(
        str(tmp_path / "?.csv"), header=True, header_columns="any", record_defaults=[[0], [0]]
    )
    assert rows(ds) == [(1, 2), (0, 3)]


def test_a_name_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,pr\xffx\n1,2\n")
    words = r"column 1 of the header .* UTF-8, got the bytes 70 72 ff 78: (.|\n)*a\.csv"
    for find in (
        lambda: lv.open(path),
        lambda: lv.csv(path, infer=True),
        lambda: lv.csv(path, header=True, record_defaults=["int64", "int64"]),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            find()
    how: dict[str, Any] = {"header": True, "record_defaults": {"id": "int64"}}
    assert rows(lv.csv(path, header_columns="any", **how)) == [(1,)]
    with pytest.raises(InvalidArgumentError, match="which record_defaults lacks"):
        lv.csv(path, **how).to_list()


def test_selected_columns_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,id,price\n9,1,10\n")
    (tmp_path / "b.csv").write_text("x,price,id\n9,20,2\n")
    defaults = {"id": "int64", "price": "int64"}
    how: dict[str, Any] = {"header": True, "record_defaults": defaults, "select_cols": [1, 2]}
    assert rows(lv.csv(tmp_path / "a.csv", **how)) == [(1, 10)]
    with pytest.raises(InvalidArgumentError, match=r"omit select_cols(.|\n)*b\.csv"):
        lv.csv([tmp_path / "a.csv", tmp_path / "b.csv"], **how).to_list()


def test_many_columns_and_long_headers(tmp_path: Path) -> None:
    names = [f"column_{i}_{'x' * 40}" for i in range(4096)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(map(str, range(4096))))
    back = ",".join(reversed(names)) + "\n" + ",".join(map(str, reversed(range(4096))))
    (tmp_path / "b.csv").write_text(back)
    ds = lv.csv([tmp_path / "a.csv", tmp_path / "b.csv"], infer=True)
    assert rows(ds) == [tuple(range(4096))] * 2
    (tmp_path / "b.csv").write_text(",".join([*names, "more"]) + "\n1\n")
    with pytest.raises(InvalidArgumentError, match="at most 4096 columns"):
        ds.to_list()


def test_a_header_is_compared_after_a_restore(tmp_path: Path) -> None:
    """The file has another header then, and is not recognized as another one: it has one size."""
    path = tmp_path / "a.csv"
    path.write_text("id,price\n" + "1,2\n" * 3000)
    ds = lv.csv(path, header=True, record_defaults=ANY).with_options(threads=1, block_rows=8)
    it = iter(ds)
    for _ in range(2000):
        next(it)
    state = it.save()
    path.write_text("id,prize\n" + "1,2\n" * 3000)
    again = iter(ds)
    with pytest.raises(lv.errors.LevadaError):
        again.restore(state)
        next(again)
