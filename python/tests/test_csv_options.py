# SPDX-License-Identifier: Apache-2.0
"""CSV as people have it: marks of missing values, groups of digits, comments, lines before the
header and tabs, compared with Python's csv and with pandas."""

from __future__ import annotations

import csv
import io
import math
import random
from pathlib import Path
from typing import Any

import levada as lv
import pytest
from levada.errors import InvalidArgumentError

DATA = Path(__file__).resolve().parents[3] / "shared/data"
MARKS = ["NA", "null", "-", "-999"]


def rows(ds: Any) -> list[tuple[Any, ...]]:
    return [tuple(record.values()) for record in ds.to_list()]


def test_missing_values_have_several_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("i,x,s\n1,2.5,a\nNA,-,null\n-999,-999,-999\n4,,\n" + '"NA","2","b"\n')
    defaults: Any = {"i": [-1], "x": [0.5], "s": ["none"]}
    ds = lv.csv(path, header=True, record_defaults=defaults, na_values=MARKS)
    none = (-1, 0.5, "none")
    assert rows(ds) == [(1, 2.5, "a"), none, none, (4, 0.5, "none"), (-1, 2.0, "b")]
    assert lv.from_text(str(ds)) == ds
    ds = lv.csv(path, infer=True, na_values=MARKS)
    assert [math.isnan(row[0]) for row in rows(ds)] == [False, True, True, False, True]
    lines = lv.text_lines(path, skip_lines=1)
    ds = lines.decode_csv("line", list(defaults.values()), na_values=MARKS)
    assert rows(ds)[1][-3:] == none


def test_groups_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n"1,234","-12,345.5"\n5,6\n"1,234,567","1e3"\n')
    ds = lv.csv(path, infer=True, thousands=",")
    assert rows(ds) == [(1234, -12345.5), (5, 6.0), (1234567, 1000.0)]
    assert "int64" in str(ds)
    for wrong in (",1", "1,", "1,,2", ",", "1,a"):
        path.write_text(f'a\n"{wrong}"\n')
        with pytest.raises(InvalidArgumentError, match="not a valid int64"):
            lv.csv(path, header=True, record_defaults=["int64"], thousands=",").to_list()
    with pytest.raises(InvalidArgumentError, match="thousands must be one character"):
        lv.csv(path, thousands="5")


def test_lines_before_the_header_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    text = '\ufeffmade by "x,\n\n#no,te\na,b\n#1,"2\n1,2\n\n# "a"b\n#\n3,"#4\n#5"\n#,'
    path.write_text(text)
    how: Any = {"header": True, "record_defaults": ["int64", "string"], "skip_rows": 2}
    ds = lv.csv(path, comment="#", **how)
    assert rows(ds) == [(1, b"2"), (3, b"#4\n#5")]
    assert list(ds.spec) == ["a", "b"]
    assert rows(lv.csv(path, comment="#", infer=True, header=True, skip_rows=2)) == [
        (1, "2"),
        (3, "#4\n#5"),
    ]
    with pytest.raises(InvalidArgumentError, match="comment must be one character"):
        lv.csv(path, comment=",")


def test_tsv_files_have_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tname, given\n1\ta,b\n2\tc\n")
    for ds in (lv.open(tmp_path / "a.tsv"), lv.csv(tmp_path / "a.tsv", infer=True)):
        assert rows(ds) == [(1, "a,b"), (2, "c")]
        assert lv.from_text(str(ds)) == ds
    ds = lv.csv(tmp_path / "a.tsv", header=True, record_defaults=["int64", "string"])
    assert list(ds.spec) == ["id", "name, given"]


def drawn(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """A file and the options with which it is read."""
    delim = draw.choice([",", ";", "\t"])
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delim, lineterminator=draw.choice(["\n", "\r\n"]))
    skip = draw.choice([0, 0, 1, 3])
    for _ in range(skip):
        text.write("".join(draw.choices('ab,";# ', k=draw.randint(0, 9))) + "\n")
    writer.writerow(["i", "x", "s"])
    for _ in range(draw.randint(1, 30)):
        if draw.random() < 0.1:
            text.write("#" + "".join(draw.choices('ab,"; ', k=draw.randint(0, 9))) + "\n")
        number = draw.randint(-(10**6), 10**6)
        writer.writerow(
            [
                draw.choice([*MARKS, f"{number:,}", str(number)]),
                draw.choice([*MARKS, f"{number / 8:,}", repr(number / 7), "1e-3", "inf"]),
                draw.choice([*MARKS, "text", 'a "b"\nc', f"x{delim}y"]),
            ]
        )
    return text.getvalue(), {"field_delim": delim, "skip_rows": skip}


def test_drawn_files_are_read_as_python_and_pandas_read_them(tmp_path: Path, length: int) -> None:
    try:
        import pandas
    except ImportError:
        pandas = None
    draw = random.Random(30)
    for turn in range(200 * length):
        text, how = drawn(draw)
        path = tmp_path / "a.csv"
        path.write_bytes(text.encode())
        ds = lv.csv(
            path, header=True, na_values=MARKS, thousands=",", comment="#",
            record_defaults={"i": [-1], "x": [math.nan], "s": [""]}, **how,
        )  # fmt: skip
        got = rows(ds.with_options(threads=draw.choice([1, 3]), block_rows=draw.choice([1, 256])))
        lines = text.replace("\r\n", "\n").split("\n")[how["skip_rows"] :]
        plain = "\n".join(line for line in lines if not line.startswith("#"))
        table = list(csv.reader(io.StringIO(plain), delimiter=how["field_delim"]))[1:]
        assert [row[2] for row in got] == [
            "" if row[2] in MARKS else row[2] for row in table if row
        ], turn
        if pandas is not None:
            frame = pandas.read_csv(
                io.StringIO(plain), sep=how["field_delim"], thousands=",", na_values=MARKS,
                keep_default_na=False, float_precision="round_trip",
            )  # fmt: skip
            for name, at in (("i", 0), ("x", 1)):
                want = frame[name].fillna(-1 if name == "i" else math.nan)
                assert [float(row[at]) for row in got] == pytest.approx(
                    [float(v) for v in want], nan_ok=True
                ), turn


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")
def test_the_collection_is_read_or_refused_by_name() -> None:
    files = sorted(p for e in ("*.csv", "*.tsv", "*.csv.gz") for p in DATA.rglob(e))
    read = refused = 0
    for path in files:
        try:
            for _ in lv.open(path).with_options(errors="skip"):
                pass
            read += 1
        except lv.errors.LevadaError as error:
            assert path.name in str(error), error
            refused += 1
    assert read + refused == len(files) and read >= refused
