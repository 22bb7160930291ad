# SPDX-License-Identifier: Apache-2.0
"""CSV: columns by name, rows that are damaged, and what Python's csv module reads."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import levada as lv
import pytest
from levada.errors import InvalidArgumentError

TYPES = {"id": lv.int64, "price": {"dtype": lv.float32, "default": -1}}


def write(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.csv").write_bytes(text.encode())
    return [str(folder / f"{name}.csv") for name in texts]


def rows(ds: Any) -> list[tuple[Any, ...]]:
    return [tuple(record.values()) for record in ds.to_list()]


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    files = write(tmp_path, a="id,price\n1,10\n2,\n", b="id,price\n3,30\n")
    for defaults in (TYPES, list(TYPES.values()), dict(reversed(TYPES.items()))):
        ds = lv.csv(files, header=True, record_defaults=defaults)
        assert ds.to_list() == [
            {"id": 1, "price": 10},
            {"id": 2, "price": -1},
            {"id": 3, "price": 30},
        ]
        assert lv.from_text(str(ds)) == ds
    ds = lv.csv(files, header=True, record_defaults=list(TYPES.values()), columns=["x", "y"])
    assert list(ds.first()) == ["x", "y"]
    ds = lv.csv(files, header=True, record_defaults=["string"], select_cols=[1])
    assert ds.first() == {"price": b"10"}
    ds = lv.csv(files, record_defaults={"a": "string", "b": [""]})
    assert ds.first() == {"a": b"id", "b": "price"}


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("id", "'price' of record_defaults"),
        ("id,price,tax", "'tax'"),
        ("id,cost", "'price'"),
        ("id,id", "two columns of the header are named 'id'"),
        ("id,price,price", "two columns of the header are named 'price'"),
    ],
)
def test_a_file_with_other_columns_is_refused(tmp_path: Path, header: str, words: str) -> None:
    fields = "1," * header.count(",") + "1"
    files = write(tmp_path, a="id,price\n1,10\n", b=f"{header}\n{fields}\n")
    for ds in (
        lv.csv(files, header=True, record_defaults=TYPES),
        lv.csv(files, infer=True),
        lv.open(str(tmp_path / "*.csv")),
    ):
        with pytest.raises(InvalidArgumentError, match=rf"{words}(.|\n)*b\.csv"):
            ds.to_list()
        assert rows(ds.with_options(errors="skip")) == [(1, 10)]


def test_names_of_dtypes_are_dtypes(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a="1,\n")
    with pytest.raises(InvalidArgumentError, match="Field 1 is required"):
        lv.csv(path, record_defaults=["int64", "float32"]).to_list()
    with pytest.raises(InvalidArgumentError, match=r"'float' must be one of"):
        lv.csv(path, record_defaults=["int64", "float"])
    assert rows(lv.csv(path, record_defaults=["int64", ["float32"]])) == [(1, "float32")]
    assert rows(lv.csv(path, record_defaults=["int64", "none"])) == [(1, "none")]
    named = lv.decode_csv([b"1,2.5", b"2,"], {"id": lv.int64, "price": [0.0]})
    assert {k: v.tolist() for k, v in named.items()} == {"id": [1, 2], "price": [2.5, 0.0]}
    with pytest.raises(InvalidArgumentError, match="required"):
        lv.decode_csv([b"2,"], ["int64", "float32"])


def test_a_mark_of_utf8_is_not_part_of_a_name(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a="\ufeffid,price\n1,2\n")
    assert list(lv.csv(path, infer=True).first()) == ["id", "price"]
    assert list(lv.csv(path, header=True, record_defaults=TYPES).first()) == ["id", "price"]
    assert lv.csv(path).first()["fields"][0] == "id"


def test_infer_passes_over_bad_rows(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a='a,b\n1,2\n3\n4,5\n"x"y,6\n7,8.5\n')
    ds = lv.csv(path, infer=True)
    with pytest.raises(InvalidArgumentError, match="line 3: Expect 2 fields but have 1"):
        ds.to_list()
    assert rows(ds.with_options(errors="skip")) == [(1, 2), (4, 5), (7, 8.5)]


def test_more_rows_widen_numbers(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a="a,b\n" + "1,2\n" * 3000 + "1,0.5\n")
    assert "float64" not in str(lv.csv(path, infer=True))
    assert "b:float64" in str(lv.csv(path, infer=True, infer_rows=3001))
    with pytest.raises(InvalidArgumentError, match="infer_rows must be from 1"):
        lv.csv(path, infer=True, infer_rows=0)


def random_table(random_: random.Random, letters: str) -> list[list[str]]:
    width = random_.randint(2, 5)
    return [
        ["".join(random_.choices(letters, k=random_.randint(0, 6))) for _ in range(width)]
        for _ in range(random_.randint(1, 30))
    ]


@pytest.mark.parametrize("quote", ['"', "'", "|"])
def test_tables_are_read_as_the_csv_module_reads_them(tmp_path: Path, quote: str) -> None:
    random_ = random.Random(quote)
    for turn in range(60):
        everywhere = turn % 3 == 0  # Python's writer quotes "\r" only then
        table = random_table(random_, "ab \n,;'\"é" + quote + ("\r" if everywhere else ""))
        how: dict[str, Any] = {"quotechar": quote, "delimiter": ",;"[turn % 2]}
        quoting = csv.QUOTE_ALL if everywhere else csv.QUOTE_MINIMAL
        text = io.StringIO()
        end = random_.choice(["\n", "\r\n"])
        writer = csv.writer(text, lineterminator=end, quoting=quoting, **how)
        for row in table:
            writer.writerow(row)
            text.write(end * random_.choice([0, 0, 0, 1, 2]))
        path = tmp_path / f"{turn}.csv"
        path.write_bytes(text.getvalue().encode())
        read = csv.reader(io.StringIO(text.getvalue(), newline=""), **how)
        assert [row for row in read if row] == table
        how = {"quote_char": quote, "field_delim": how["delimiter"]}
        ragged = lv.csv(str(path), **how).with_options(block_rows=7)
        assert [list(r["fields"]) for r in ragged.to_list()] == table
        typed = lv.csv(str(path), record_defaults=[[""]] * len(table[0]), **how)
        assert [list(row) for row in rows(typed)] == table


def test_a_bad_quote_costs_few_rows_wherever_it_is(tmp_path: Path) -> None:
    random_ = random.Random(5)
    good = [
        f'{i},"t ""{i}""\n,x",{i / 2}\n' if i % 7 == 0 else f"{i},t{i},{i / 2}\n"
        for i in range(200)
    ]
    for bad in ('"x"y,1,2\n', '1,"a "b" c",2\n', '1,"a "b c,2\n', '1,"never,2\n', 'a"b,1,2\n'):
        at = random_.randrange(len(good))
        path = tmp_path / "bad.csv"
        path.write_text("".join(good[:at]) + bad + "".join(good[at:]))
        ds = lv.csv(str(path), record_defaults=["int64", "string", "float64"])
        it = iter(ds.with_options(errors="skip"))
        ids = {int(record["c0"]) for record in it}
        assert ids <= set(range(200)) and len(ids) >= 190, (bad, at)
        assert it.stats()["skipped_records"] > 0
