# SPDX-License-Identifier: Apache-2.0
"""CSV: dates and times, and dtypes that are declared for some columns."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAT = np.iinfo(np.int64).min


def drawn(rng: random.Random) -> tuple[str, int, int]:
    """A time as text, its microseconds since 1970, and the digits of its fraction."""
    zone = rng.choice([None, 0, 0, 90, -330, 1439, -1439])
    at = datetime(1, 1, 3) + timedelta(seconds=rng.randrange(86400 * 365 * 9996))
    digits = rng.choice([0, 0, 3, 6])
    if digits:
        at = at.replace(microsecond=rng.randrange(10**digits) * 10 ** (6 - digits))
    at = at.replace(tzinfo=timezone(timedelta(minutes=zone or 0)))
    text = at.replace(tzinfo=None).isoformat(
        sep=rng.choice("T "), timespec={0: "seconds", 3: "milliseconds", 6: "microseconds"}[digits]
    )
    if zone is not None:
        sign, minutes = "-" if zone < 0 else "+", abs(zone)
        text += "Z" if zone == 0 else f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    return text, (at - EPOCH) // timedelta(microseconds=1), digits


@pytest.mark.parametrize("quoted", [False, True])
def test_dates_are_those_of_datetime(tmp_path: Path, quoted: bool) -> None:
    rng = random.Random(31)
    times = [drawn(rng) for _ in range(4000)]
    path = tmp_path / "a.csv"
    mark = '"' if quoted else ""
    path.write_text("i,at\n" + "".join(f"{i},{mark}{t[0]}{mark}\n" for i, t in enumerate(times)))
    for unit, ticks in UNITS.items():
        ds = lv.csv(path, dates={"at": unit}).with_options(errors="skip")
        got = {int(r["i"]): int(r["at"]) for r in ds.to_list()}
        want = {
            i: micros * ticks // 10**6
            for i, (_, micros, digits) in enumerate(times)
            if micros * ticks % 10**6 == 0 and abs(micros * ticks // 10**6) < 2**63
        }
        assert got == want
        assert len(want) > 100


def test_a_missing_date_is_nat(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("at,x\n2024-02-29,1\n,2\nNA,3\n")
    ds = lv.csv(path, dates={"at": "ms"}, na_values=["NA"])
    assert [int(r["at"]) for r in ds.to_list()] == [1709164800000, NAT, NAT]
    times = next(iter(ds.batch(3)))["at"].view("datetime64[ms]")
    assert times[0] == np.datetime64("2024-02-29") and np.isnat(times[1:]).all()
    assert lv.from_text(str(ds)) == ds


def test_dates_are_entries_of_record_defaults(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("at\n2024-02-29\n\n''\n1970-01-01T00:00:01\n")
    for entry in ("datetime64[us]", np.dtype("M8[us]"), {"dtype": "datetime64[us]"}):
        ds = lv.csv(path, header=True, record_defaults={"at": entry}, quote_char="'")
        with pytest.raises(InvalidArgumentError, match="required but missing"):
            ds.to_list()
    entry = {"dtype": "datetime64[us]", "default": "1999-12-31T23:59:59.5"}
    ds = lv.csv(path, header=True, record_defaults={"at": entry}, quote_char="'")
    micros = [1709164800 * 10**6, 946684799500000, 10**6]
    assert [int(r["at"]) for r in ds.to_list()] == micros
    lines = lv.from_records([{"line": "2024-02-29"}]).decode_csv("line", record_defaults=[entry])
    assert int(lines.first()["c0"]) == micros[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dates": {"day": "ms"}}, "'day', which the header lacks; available: at, x"),
        ({"dates": {"at": "m"}}, "dates.at must be s, ms, us or ns"),
        ({"dates": {"at": 1}}, "dates.at must be s, ms, us or ns"),
        ({"dates": "at"}, "dates must be a map"),
        ({"dtypes": {"at": "text"}, "dates": {"at": "s"}}, "in dtypes and in dates"),
        ({"dtypes": {"at": "datetime64[h]"}}, r"datetime64\[s\]"),
        (
            {"dtypes": {"at": {"dtype": "datetime64[s]", "default": "soon"}}},
            "'soon' is not a datetime64",
        ),
        ({"dates": {"at": "s"}, "record_defaults": [lv.text]}, "cannot be combined"),
    ],
)
def test_what_cannot_be_declared_is_refused(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("at,x\n2024-02-29,1\n")
    with pytest.raises(InvalidArgumentError, match=words):
        lv.csv(path, **options)


def test_a_bad_date_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,at\n1,2024-02-29\n2,2023-02-29\n3,2024-01-01\n")
    ds = lv.csv(path, dates={"at": "s"})
    with pytest.raises(InvalidArgumentError, match=r"no day of the calendar \(column 'at', byte 2"):
        ds.to_list()
    assert [int(r["x"]) for r in ds.with_options(errors="skip").to_list()] == [1, 3]


def test_some_columns_are_declared_and_others_inferred(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("zip,city,n\n12345,Ulm,1\n23456,Bern,2\n")
    ds = lv.csv(path, dtypes={"zip": lv.text, "n": {"dtype": "float32", "default": 0}})
    assert ds.first() == {"zip": "12345", "city": "Ulm", "n": 1.0}
    path.write_text("a,b\nx,y\n")  # a header that only its declared name shows
    assert lv.csv(path, dtypes={"a": lv.text}).first() == {"a": "x", "b": "y"}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_rows", [1, 4, 256])
def test_dates_resume_at_every_cut(tmp_path: Path, threads: int, block_rows: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text("at\n" + "".join(f"2024-01-{d:02}T0{d % 10}:00\n" for d in range(1, 28)))
    ds = lv.csv(path, dates={"at": "s"}).shuffle(8, seed=1).with_options(threads=threads)
    ds = ds.with_options(block_rows=block_rows)
    whole = [int(r["at"]) for r in ds.iterate(epoch=0)]
    for cut in range(len(whole) + 1):
        it = ds.iterate(epoch=0)
        head = [int(next(it)["at"]) for _ in range(cut)]
        other = ds.iterate(epoch=0)
        other.restore(it.save())
        assert head + [int(r["at"]) for r in other] == whole


def test_a_list_of_dtypes_is_of_all_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,age\nbob,3\n")
    ds = lv.csv(path, header=True, dtypes=[lv.text, lv.float32])
    assert (ds.spec["age"].dtype, ds.first()["name"]) == (lv.float32, "bob")
    with pytest.raises(InvalidArgumentError, match="cannot be combined with record_defaults"):
        lv.csv(path, header=True, dtypes=[lv.text], record_defaults=[lv.text, lv.text])
