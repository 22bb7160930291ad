# SPDX-License-Identifier: Apache-2.0
"""``levada convert``, run as users run it."""

import gzip
import json
import os
import subprocess

import levada as lv
import numpy as np
import pytest
from cli_support import levada, made_folder  # noqa: F401  a fixture
from command import needs_command
from wire import frame

pytestmark = needs_command


@pytest.mark.parametrize("end", [".gz", ".zst", ".zz"])
def test_convert_changes_the_compression(folder, end):
    levada("convert", "ten.tfrecord", "a.tfrecord" + end, cwd=folder)
    levada("convert", "a.tfrecord" + end, "b.tfrecord", cwd=folder)
    assert (folder / "b.tfrecord").read_bytes() == (folder / "ten.tfrecord").read_bytes()
    if end == ".gz":
        packed = (folder / "a.tfrecord.gz").read_bytes()
        assert gzip.decompress(packed) == (folder / "ten.tfrecord").read_bytes()


def test_convert_onto_itself_tells_the_size_before(folder):
    before = (folder / "ten.tfrecord.gz").stat().st_size
    (folder / "a.tfrecord").write_bytes((folder / "ten.tfrecord.gz").read_bytes())
    done = levada("convert", "a.tfrecord", "a.tfrecord", cwd=folder)
    after = (folder / "a.tfrecord").stat().st_size
    assert before != after == (folder / "ten.tfrecord").stat().st_size
    assert f" {before} B → {after} B " in done.stdout


def test_convert_text_to_examples_and_json(folder):
    levada("convert", "lines.txt", "lines.tfrecord", "--field", "text", cwd=folder)
    text = levada("convert", "lines.tfrecord", "-", cwd=folder).stdout
    lines = [json.loads(line)["text"] for line in text.splitlines()]
    assert lines == [["one"], ["two"], [""], ["four \u00e9"]]


def test_convert_raw_lines(folder):
    levada("convert", "lines.txt", "lines.tfrecord", "--raw", cwd=folder)
    lines = [b"one", b"two", b"", "four \u00e9".encode()]
    expected = b"".join(map(frame, lines))
    assert (folder / "lines.tfrecord").read_bytes() == expected


def test_convert_json_and_back(folder):
    rows = [
        {"i": [1, -2, 2**62], "f": [0.5, 1.25], "s": ["a\n", {"base64": "/w=="}], "e": []},
        {"context": {"id": [1]}, "sequence": {"t": [[1, 2], [], [3]]}},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text)
    levada("convert", "rows.jsonl", "rows.tfrecord", cwd=folder)
    levada("convert", "rows.tfrecord", "again.jsonl", cwd=folder)
    again = (folder / "again.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in again] == rows


def test_convert_writes_integers_of_all_lengths(folder):
    powers = [10**k + d for k in range(19) for d in (-1, 0, 1)]
    ends = [2**63 - 1, -(2**63), 4_294_967_295, 12_345_678_912_345_678, 100_000_007_000_000_008]
    numbers = ends + powers + [-n for n in powers] + list(range(1100))
    lists = [numbers, numbers[:256], numbers[:257], numbers[:1], []]
    records = [frame(lv.make_example({"n": np.array(part, np.int64)})) for part in lists]
    (folder / "ints.tfrecord").write_bytes(b"".join(records))
    text = levada("convert", "ints.tfrecord", "-", cwd=folder).stdout
    assert text == "".join('{"n":[' + ",".join(map(str, part)) + "]}\n" for part in lists)


def test_convert_keeps_what_json_has_no_number_for(folder):
    nan, inf, less = ({"float": text} for text in ("NaN", "Infinity", "-Infinity"))
    rows = [
        {"a": [nan], "b": [1.5, inf, less, 2.0], "c": ["NaN"]},
        {"context": {}, "sequence": {"t": [[], [nan], [2.0]], "s": [[], ["x"]], "e": [[]]}},
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    levada("convert", "rows.jsonl", "rows.tfrecord", cwd=folder)
    levada("convert", "rows.tfrecord", "again.jsonl", cwd=folder)
    again = (folder / "again.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in again] == rows
    spec = {"a": lv.VarLenFeature(lv.float32), "b": lv.VarLenFeature(lv.float32)}
    row = lv.tfrecord(str(folder / "rows.tfrecord")).take(1).parse_example(spec).first()
    assert np.isnan(row["a"]).tolist() == [True]
    assert row["b"].tolist() == [1.5, np.inf, -np.inf, 2.0]


@pytest.mark.parametrize("dtype", [lv.int64, lv.float32, lv.string])
def test_convert_makes_empty_lists_that_suit_every_dtype(folder, dtype):
    (folder / "rows.jsonl").write_text('{"x":[],"y":[1]}\n')
    levada("convert", "rows.jsonl", "rows.tfrecord", cwd=folder)
    ds = lv.tfrecord(str(folder / "rows.tfrecord")).parse_example({"x": lv.VarLenFeature(dtype)})
    assert ds.first()["x"].tolist() == []


def test_convert_refuses_a_header_of_too_many_names(folder):
    # The most fields that a row may have: comparing all pairs of names took 14 seconds.
    names = ",".join(f"n{i}" for i in range(65536))
    (folder / "wide.csv").write_text(names + "\n")
    done = levada("convert", "wide.csv", "wide.jsonl", cwd=folder, status=2)
    assert "at most 4096 columns" in done.stderr
    assert not (folder / "wide.jsonl").exists()


def test_convert_that_fails_leaves_the_old_file(folder):
    (folder / "out.tfrecord").write_bytes(b"old")
    before = sorted(folder.iterdir())
    done = levada("convert", "bad.tfrecord", "out.tfrecord", cwd=folder, status=1)
    assert "record 3" in done.stderr
    assert (folder / "out.tfrecord").read_bytes() == b"old"
    assert sorted(folder.iterdir()) == before


def test_convert_writes_into_a_pipe_and_leaves_it(folder):
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE) as reader:
        levada("convert", "ten.tfrecord", "pipe", "--to", "tfrecord", cwd=folder)
        assert reader.stdout.read() == (folder / "ten.tfrecord").read_bytes()
    assert (folder / "pipe").is_fifo()


def test_convert_writes_no_text(folder):
    done = levada("convert", "ten.tfrecord", "lines.txt", cwd=folder, status=2)
    assert "lines.txt" in done.stderr


def test_convert_names_a_header_that_is_not_utf8(folder):
    (folder / "odd.csv").write_bytes(b"id,pr\xffx\n1,2\n")
    for out in ("out.tfrecord", "out.jsonl", "out.csv"):
        done = levada("convert", "odd.csv", out, cwd=folder, status=1)
        assert "odd.csv record 0 at byte 0" in done.stderr
        assert "must be UTF-8, got byte 0xff at position 2" in done.stderr
    done = levada("convert", "odd.csv", "out.tfrecord", "--no-header", cwd=folder, status=1)
    assert "must be UTF-8, got byte 0xff at position 2" in done.stderr
