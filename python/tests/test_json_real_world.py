# SPDX-License-Identifier: Apache-2.0
"""JSON as programs write it, compared with Python's json: NaN and Infinity, integers of any size,
lone surrogates, bytes that are not UTF-8, and damage."""

import json
import math
import random
import re

import levada as lv
import numpy as np
import pytest
from levada.errors import DataLossError, InvalidArgumentError

FIELDS = {
    "id": {"dtype": "int64", "default": -1},
    "i": {"dtype": "int32", "default": -1},
    "f": {"dtype": "float64", "default": -1.0},
    "g": {"dtype": "float32", "default": -1.0},
    "s": {"dtype": "string", "default": "none"},
    "b": {"dtype": "bool", "default": False},
    "l": ["float64"],
    "m": [["int64"]],
    "t": ["string"],
}
NUMBERS = ["0", "-0", "7", "-12", "2147483648", "9223372036854775807", "-9223372036854775808"]
NUMBERS += ["9223372036854775808", "18446744073709551615", "18446744073709551616", "1" + "0" * 40]
NUMBERS += ["-9223372036854775809", "-1" + "0" * 400, "1" + "0" * 300, "1" + "0" * 500]
NUMBERS += ["NaN", "Infinity", "-Infinity", "1.5", "-0.0", "1e400", "-1E+999", "1e-400", "1e39"]
BROKEN_NUMBERS = ["-NaN", "nan", "+1", "01", ".5", "1.", "1e", "-", "infinity", "-Inf", "NaN1"]
STRINGS = [b"", b"x", b"caf\xc3\xa9", b"\\u00e9", b"\\ud83d\\ude00", b"\\n\\\\", b"NaN", b"\\u0000"]
STRINGS += [b"\xf0\x9f\x98\x80", b"\\\\ud800", b"9223372036854775808", b"{[,:]}", b'\\"']
HARD_STRINGS = [b"\\ud800", b"\\udfff", b"\\ud83d\\ud83d\\ude00", b"\\ud800\\u0041", b"\\uDBFFx"]
HARD_STRINGS += [b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\x80"]
HARD_STRINGS += [b"\xf0\x9f\x98", b"\xe2\x28\xa1", b"\xc3"]
BROKEN_STRINGS = [b"\t", b"\\x", b"\\u12", b"\\", b"\x01", b'"']


def number(draw):
    return draw.choice(BROKEN_NUMBERS if draw.random() < 0.02 else NUMBERS).encode()


def string(draw):
    parts = [draw.choice(STRINGS) for _ in range(draw.randrange(3))]
    if draw.random() < 0.1:
        parts.insert(0, draw.choice(HARD_STRINGS))
    if draw.random() < 0.01:
        parts.append(draw.choice(BROKEN_STRINGS))
    draw.shuffle(parts)
    return b'"' + b"".join(parts) + b'"'


def listed(parts, draw):
    return b"[" + draw.choice([b",", b" , "]).join(parts) + b"]"


def value(draw, depth=0):
    kind = draw.random()
    if kind < 0.4:
        return number(draw)
    if kind < 0.7:
        return string(draw)
    if kind < 0.8 or depth > 3:
        return draw.choice([b"true", b"false", b"null"])
    if kind < 0.9:
        return listed([value(draw, depth + 1) for _ in range(draw.randrange(3))], draw)
    return members([(string(draw), value(draw, depth + 1)) for _ in range(draw.randrange(3))])


def members(pairs):
    return b"{" + b", ".join(key + b":" + item for key, item in pairs) + b"}"


def usual(draw, name):
    """Mostly a value that the field holds."""
    if draw.random() < 0.05:
        return value(draw)
    one = number if name in "idfgl" else string
    if name == "b":
        return draw.choice([b"true", b"false"])
    if name in "lt":
        return listed([one(draw) for _ in range(draw.randrange(4))], draw)
    if name == "m":
        rows = [[str(draw.randrange(99)).encode()] * draw.randrange(3) for _ in range(2)]
        return listed([listed(row, draw) for row in rows], draw)
    if name in ("id", "i") and draw.random() < 0.9:
        return str(draw.randrange(-99, 99)).encode()
    return one(draw)


def line(draw):
    pairs = [(b'"%s"' % name.encode(), usual(draw, name)) for name in FIELDS if draw.random() < 0.3]
    pairs += [(string(draw), value(draw)) for _ in range(draw.randrange(3)) if draw.random() < 0.5]
    draw.shuffle(pairs)
    text = bytearray(members(pairs))
    if draw.random() < 0.1:
        at = draw.randrange(len(text))
        text[at : at + draw.randrange(2)] = draw.choice(
            [b"", b"]", b"}", b",", b" ", b'"', b"\xff"]
        )
    return bytes(text).strip() or b"{}"


class Number(str):
    """A number as the record has it."""


def surrogates(item):
    if isinstance(item, Number):
        return False
    if isinstance(item, str):
        return re.search("[\ud800-\udfff]", item) is not None
    if isinstance(item, dict):
        return any(surrogates(key) or surrogates(one) for key, one in item.items())
    return isinstance(item, list) and any(map(surrogates, item))


def parsed(text, replace):
    """What Python reads; ValueError where levada must reject the record."""
    text = text.decode("utf-8", "replace" if replace else "strict")
    got = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    if (surrogates(got) and not replace) or not isinstance(got, dict):
        raise ValueError
    return got


def scalar(item, dtype):
    """The value of a column, or ValueError."""
    if dtype == "bool" and isinstance(item, bool):
        return item
    whole = isinstance(item, Number) and re.fullmatch("-?[0-9]+", item)
    if dtype == "string" and whole:
        return item.encode()
    if dtype == "string" and isinstance(item, str) and not isinstance(item, Number):
        return re.sub("[\ud800-\udfff]", "\ufffd", item).encode()
    if dtype in ("int32", "int64") and whole:
        bits = int(dtype[3:]) - 1
        if -(2**bits) <= int(item) < 2**bits:
            return int(item)
    if dtype in ("float32", "float64") and isinstance(item, Number):
        wide = float(int(item) if whole else item)
        got = float(np.float32(wide)) if dtype == "float32" else wide
        if math.isfinite(got) or item[-1] in "Ny":
            return got
    raise ValueError


def column(item, dtype):
    if isinstance(dtype, dict):
        return dtype["default"] if item is None else scalar(item, dtype["dtype"])
    if not isinstance(dtype, list):
        return scalar(item, dtype)
    if item is None:
        return []
    if not isinstance(item, list):
        raise ValueError
    return [nested(one, dtype[0]) for one in item]


def nested(item, dtype):
    if isinstance(dtype, list) and not isinstance(item, list):
        raise ValueError
    return column(item, dtype)


def wanted(text, replace):
    with np.errstate(over="ignore"):
        got = parsed(text, replace)
        return {name: column(got.get(name), dtype) for name, dtype in FIELDS.items()}


def plain(got):
    for method in ("to_list", "tolist"):
        if hasattr(got, method):
            return getattr(got, method)()
    return got


def same(got, want):
    if isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, float):
        return (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    if isinstance(got, bytes):
        return got == (want.encode() if isinstance(want, str) else want)
    return got == want


@pytest.mark.parametrize("replace", [False, True])
def test_reads_what_python_reads(tmp_path, length, replace):
    draw = random.Random(77 + replace)
    lines = [line(draw) for _ in range(3000 * length)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(one + b"\n" for one in lines))
    want = []
    for one in lines:
        try:
            want.append(wanted(one, replace))
        except (ValueError, OverflowError):
            continue
    assert len(lines) // 3 < len(want) < len(lines) * 0.95
    how = "replace" if replace else "error"
    source = lv.jsonl(path, fields=FIELDS, invalid=how)
    decoder = lv.text_lines(path, dtype=lv.string).decode_json("line", FIELDS, invalid=how)
    for ds in (source, decoder):
        for threads in (1, 4):
            rows = [
                {name: plain(item) for name, item in row.items()}
                for row in ds.with_options(errors="skip", threads=threads)
            ]
            assert len(rows) == len(want)
            for row, expected in zip(rows, want, strict=True):
                for name, item in expected.items():
                    assert same(row[name], item), (name, row[name], item)


def test_lines_are_valid_after_replacing(tmp_path, length):
    """Without fields, a line that has nothing to replace is returned byte for byte."""
    draw = random.Random(79)
    lines = [line(draw) for _ in range(1500 * length)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(one + b"\n" for one in lines))
    good = []
    for one in lines:
        try:
            got = json.loads(one.decode("utf-8", "replace"), parse_int=Number)
            good.append((one, got))
        except ValueError:
            continue
    rows = lv.jsonl(path, invalid="replace").with_options(errors="skip")
    for row, (one, got) in zip(rows, good, strict=True):
        text = row["line"]
        replaced = json.loads(text, parse_int=Number)
        assert not surrogates(replaced)
        if b"\\u" not in one and one.decode("utf-8", "replace").encode() == one:
            assert text.encode() == one
        if not surrogates(got):
            assert repr(replaced) == repr(got)


def refused(path, text, fields, **options):
    path.write_bytes(text)
    with pytest.raises(InvalidArgumentError) as caught:
        list(lv.jsonl(path, fields=fields, **options))
    return str(caught.value)


def test_errors_name_what_and_where(tmp_path):
    path = tmp_path / "a.jsonl"
    for text, fields, words in [
        (b'{"a":NaN}', {"a": "int64"}, ["'a' must be int64, got NaN"]),
        (b'{"a":[1,-Infinity]}', {"a": ["int32"]}, ["'a' must be a list of int32, got -Infinity"]),
        (b'{"a":NaN}', {"a": "string"}, ["'a' must be string, got NaN"]),
        (b'{"a":NaN}', {"a": "bool"}, ["'a' must be bool, got NaN"]),
        (b'{"a":9223372036854775808}', {"a": "int64"}, ["'a'", "2**63-1", "9223372036854775808"]),
        (b'{"a":-18446744073709551616}', {"a": "int64"}, ["-2**63", "-18446744073709551616"]),
        (b'{"a":18446744073709551616}', {"a": "int32"}, ["2**31-1", "18446744073709551616"]),
        (b'{"a":1e999}', {"a": "float64"}, ["'a' must be float64, within its range, got 1e999"]),
        (b'{"a":1' + b"0" * 500 + b"}", {"a": "float32"}, ["within its range, got 1000"]),
        (
            b'{"a":{"k":["\\ud800"]}}',
            {"b": "int64"},
            ["key 'a.k', byte 12", "\\ud800 is a lone surrogate"],
        ),
        (b'{"\xc3\xa9":"\\udc00"}', {"b": "int64"}, ["key 'é', byte 7", "\\udc00"]),
        (b'{"a":"x\xff"}', {"b": "int64"}, ["key 'a', byte 7", "0xff", "UTF-8", "invalid=replace"]),
        (b'{"a":1}\r{"a":2}\r', {"a": "int64"}, ["byte 8", "CR", "classic Mac"]),
        (b'{"a":1} {"a":2}', {"a": "int64"}, ["byte 8", "end of the record", "'{'"]),
        (b'{"a":{"b":None}}', {"a": "int64"}, ["key 'a.b', byte 10", "'None'"]),
        (b'{"a":[{"b":1},}', {"a": "int64"}, ["key 'a', byte 14", "'}'"]),
    ]:
        message = refused(path, text + b"\n", fields)
        assert "a.jsonl record 0" in message
        for word in words:
            assert word in message, (text, message)


def test_integers_beyond_int64_are_found_as_text(tmp_path):
    path = tmp_path / "ids.jsonl"
    path.write_text('{"id":18446744073709551616,"x":NaN}\n{"id":-5,"x":1}\n{"x":2}\n')
    for ds in (lv.open(path), lv.jsonl(path, fields="auto")):
        rows = ds.to_list()
        assert [row["id"] for row in rows] == ["18446744073709551616", "-5", ""]
        assert math.isnan(rows[0]["x"]) and rows[1]["x"] == 1.0
    path.write_text('{"id":18446744073709551616}\n{"id":0.5}\n')
    with pytest.raises(InvalidArgumentError, match="'id' mixes floats with integers"):
        lv.jsonl(path, fields="auto")


def test_fields_are_found_in_records_with_replaced_text(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"s":"\xff","x":NaN}\n')
    for ds in (
        lv.jsonl(path, fields="auto", invalid="replace"),
        lv.text_lines(path, dtype="string").decode_json("line", "auto", invalid="replace"),
    ):
        (row,) = ds.to_list()
        assert row["s"] == "\ufffd" and math.isnan(row["x"])
        assert lv.from_text(str(ds)) == ds
    with pytest.raises(DataLossError, match="key 's', byte 6"):
        lv.jsonl(path, fields="auto")
