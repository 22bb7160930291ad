# SPDX-License-Identifier: Apache-2.0
"""Text columns: what has been checked to be UTF-8 is str in records, functions and Arrow."""

import random

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError

WORDS = ["", "a", "caf\u00e9", "\u20ac", "\U0001f600", "\u65e5\u672c"]


def lines(path, *texts):
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    return path


def test_records_and_functions_have_str(tmp_path):
    ds = lv.text_lines(lines(tmp_path / "a", b"x", "caf\u00e9".encode()))
    assert ds.spec["line"].dtype == lv.text and ds.to_list()[1] == {"line": "caf\u00e9"}
    batch = ds.batch(2).first()
    assert batch["line"].to_list() == [b"x", b"caf\xc3\xa9"] and batch["line"].text
    assert batch["line"].str() == batch["line"].items() == ["x", "caf\u00e9"]
    upper = ds.map(lambda record: {"line": record["line"].upper(), "raw": record["line"].encode()})
    assert upper.to_list()[1] == {"line": "CAF\u00c9", "raw": b"caf\xc3\xa9"}
    assert upper.map(lambda batch: dict(batch), batched=True).to_list() == upper.to_list()
    assert ds.filter("line == 'caf\u00e9'").to_list() == [{"line": "caf\u00e9"}]
    assert ds.filter(lambda record: record["line"].isascii()).to_list() == [{"line": "x"}]


def test_what_is_not_utf8_is_a_bad_record(tmp_path):
    path = lines(tmp_path / "a", b"x", b"y\xff", b"z\xe2\x82")
    with pytest.raises(InvalidArgumentError, match="byte 0xff at position 1") as caught:
        lv.text_lines(path).to_list()
    assert caught.value.record == 1 and caught.value.offset == 2 and str(path) in str(caught.value)
    assert lv.text_lines(path).with_options(errors="skip").to_list() == [{"line": "x"}]
    replaced = lv.text_lines(path, invalid="replace").to_list()
    assert [record["line"] for record in replaced] == ["x", "y\ufffd", "z\ufffd\ufffd"]
    raw = lv.text_lines(path, dtype=lv.string).to_list()
    assert [record["line"] for record in raw] == [b"x", b"y\xff", b"z\xe2\x82"]


def test_text_of_examples(tmp_path):
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        writer.write(lv.make_example({"s": "caf\u00e9", "w": ["a", "\u20ac"]}))
        writer.write(lv.make_example({"s": b"ok", "w": [b"x", b"\xff"]}))
    spec = {"s": lv.FixedLenFeature([], lv.text), "w": lv.VarLenFeature(lv.text)}
    ds = lv.tfrecord(path).parse_example(spec)
    first = ds.first()
    assert first["s"] == "caf\u00e9" and first["w"].tolist() == ["a", "\u20ac"]
    with pytest.raises(InvalidArgumentError, match="field 'w' must be UTF-8, got byte 0xff"):
        ds.to_list()
    assert len(ds.with_options(errors="skip").to_list()) == 1
    one = lv.parse_single_example(lv.make_example({"s": "\u20ac", "w": []}), spec)
    assert one["s"] == "\u20ac"


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tfrecord"])
def test_writing_keeps_text(tmp_path, suffix):
    draw = random.Random(5)
    rows = [{"s": draw.choice(WORDS) + draw.choice(WORDS) + "."} for _ in range(500)]
    path = tmp_path / f"a.{suffix}"
    lv.write(lv.from_records(rows), path)
    if suffix == "tfrecord":
        ds = lv.tfrecord(path).parse_example({"s": lv.FixedLenFeature([], lv.text)})
    else:
        ds = lv.open(path) if suffix == "jsonl" else lv.csv(path, header=True, record_defaults=[""])
    assert ds.to_list() == rows


def test_values_of_python_are_text_where_they_are_str():
    ds = lv.from_records([{"t": "a", "b": b"a", "l": ["x", "y"], "m": ["x", b"y"]}])
    record = ds.map(lambda record: record).first()
    assert (record["t"], record["b"]) == ("a", b"a")
    assert record["l"].tolist() == ["x", "y"] and record["m"].tolist() == [b"x", b"y"]
    arrays = lv.from_arrays({"s": np.array(["a", "bc"])}).to_list()
    assert arrays == [{"s": "a"}, {"s": "bc"}]
    with pytest.raises(InvalidArgumentError, match="utf-8"):
        lv.from_records([{"s": b"\xff"}], spec={"s": lv.text}).to_list()


def test_text_survives_states_and_caches(tmp_path):
    path = lines(tmp_path / "a", *(f"{i}\u20ac".encode() for i in range(300)))
    ds = lv.text_lines(path).cache(tmp_path / "cache").shuffle(50, seed=3)
    want = [record["line"] for record in ds.iterate(epoch=0)]
    assert [record["line"] for record in ds.iterate(epoch=0)] == want
    mapped = lv.from_records(lambda: iter([{"s": f"{i}\u20ac"} for i in range(300)])).shuffle(
        50, seed=3
    )
    assert sorted(record["s"] for record in mapped) == sorted(f"{i}\u20ac" for i in range(300))


def test_groups_have_str_keys(tmp_path):
    ds = lv.from_records([{"k": w, "n": i} for i, w in enumerate(["a", "b", "a", "\u20ac"])])
    seen = []

    def reduce(key, batch):
        seen.append(key)
        return {"n": batch["n"]}

    ds.group_by_window("k", reduce, window_size=2).to_list()
    assert sorted(seen) == ["a", "b", "\u20ac"]


def test_text_is_utf8_in_arrow():
    pa = pytest.importorskip("pyarrow")
    columns = {"s": ["caf\u00e9", ""], "b": [b"x", b"\xff"], "l": [["a"], []]}
    made = lv.from_arrays(columns).batch(2).first().to_arrow()
    assert made.schema.types == [pa.utf8(), pa.binary(), pa.list_(pa.utf8())]
    assert made.column("s").to_pylist() == columns["s"]


def drawn_lines(rng):
    """Lines of text, some with bytes that are not UTF-8, with both kinds of line ends."""
    words = ["a", "window ", "naïve ", "日本語", "😀", "é", "\r"]
    broken = [
        b"\xc3",
        b"\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
        b"\xe2\x82",
        b"\xff",
    ]
    lines = []
    for _ in range(int(rng.integers(0, 90))):
        line = "".join(rng.choice(words, int(rng.integers(0, 12)))).encode()
        if rng.random() < rng.choice([0, 0.02, 0.3]):
            at = int(rng.integers(0, len(line) + 1))
            line = line[:at] + broken[int(rng.integers(len(broken)))] + line[at:]
        lines.append(line + (b"\r" if rng.random() < 0.2 else b""))
    return lines


def utf8_error(line):
    """Where Python finds the first byte that is not UTF-8; None if there is none."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


@pytest.mark.filterwarnings("ignore:.*skipped")
def test_drawn_lines_are_those_that_python_decodes(tmp_path, caplog):
    caplog.set_level("ERROR", "levada")
    path = tmp_path / "lines.txt"
    rng = np.random.default_rng(0)
    for case in range(400):
        raw = drawn_lines(rng)
        ended = case % 2 or not raw or not raw[-1] or raw[-1].endswith(b"\r")
        path.write_bytes(b"\n".join(raw) + (b"\n" if ended and raw else b""))
        whole = [line.removesuffix(b"\r") for line in raw]
        good = [line.decode() for line in whole if utf8_error(line) is None]
        bad = [i for i, line in enumerate(whole) if utf8_error(line) is not None]
        rows, threads = int(rng.choice([1, 2, 15, 16, 17, 33, 256])), int(rng.integers(0, 3))
        ds = lv.text_lines(path).with_options(block_rows=rows, threads=threads)
        it = iter(ds.with_options(errors="skip"))
        assert [record["line"] for record in it] == good
        assert it.stats()["skipped_records"] == len(bad)
        mixed = ds.shuffle(7, seed=case).with_options(errors="skip")
        assert sorted(record["line"] for record in mixed) == sorted(good)
        if bad:
            with pytest.raises(lv.errors.InvalidArgumentError) as caught:
                list(ds)
            line = whole[bad[0]]
            at = utf8_error(line)
            assert caught.value.record == bad[0]
            assert str(path) in str(caught.value)
            assert caught.value.offset == sum(len(line) + 1 for line in raw[: bad[0]])
            assert f"0x{line[at]:02x} at position {at} " in str(caught.value)


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("kind", ["one", "list"])
def test_text_of_examples_is_checked_or_replaced(sequence, kind, tmp_path):
    """Bad bytes name file, record and byte; bytes stay bytes."""
    values = [b"h\xc3\xa9", b"a\xffb\xfe", b""]
    spec = {
        "s": lv.FixedLenFeature([], lv.text) if kind == "one" else lv.VarLenFeature(lv.text),
        "b": lv.FixedLenFeature([], lv.string),
    }
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(str(path)) as writer:
        for value in values:
            features = {"s": value, "b": value}
            made = lv.make_sequence_example(features, {}) if sequence else lv.make_example(features)
            writer.write(made)

    def parsed(**options):
        source = lv.tfrecord(path)
        if sequence:
            return source.parse_sequence_example(spec, **options)
        return source.parse_example(spec, **options)

    def text(record):
        return record["s"] if kind == "one" else record["s"].tolist()[0]

    with pytest.raises(InvalidArgumentError, match=r"got byte 0xff at position 1 of") as error:
        parsed().to_list()
    assert "a.tfrecord record 1 at byte" in str(error.value)
    kept = parsed().with_options(errors="skip").to_list()
    assert [text(record) for record in kept] == ["h\xe9", ""]
    replaced = parsed(invalid="replace").to_list()
    assert [text(record) for record in replaced] == ["h\xe9", "a\ufffdb\ufffd", ""]
    assert [record["b"] for record in replaced] == values
