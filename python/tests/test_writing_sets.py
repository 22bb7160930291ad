# SPDX-License-Identifier: Apache-2.0
"""lv.write, lv.csv, lv.jsonl, lv.tar and levada convert, round and round."""

import gzip
import io
import json
import subprocess
import sys
import tarfile

import levada as lv
import numpy as np
import pytest
from command import LEVADA, needs_command
from levada.errors import InvalidArgumentError


def convert(tmp_path, *words):
    command = [LEVADA, "convert", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('name,age,height\nada,36,1.5\n"gr, h",85,\n"a ""b""\nc",1,2\n')
    types = [lv.string, lv.int64, [0.0]]
    return lv.csv(str(path), header=True, record_defaults=types, columns=["name", "age", "height"])


def rows(ds):
    return [{key: record[key] for key in ("name", "age", "height")} for record in ds]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.tar", "a.tfrecord"])
def test_what_is_written_reads_back(tmp_path, name):
    ds = people(tmp_path)
    path = str(tmp_path / name)
    assert lv.write(ds, path) == 3
    if "csv" in name:
        back = lv.csv(
            path,
            header=True,
            record_defaults=[lv.string, lv.int64, lv.float32],
            columns=["name", "age", "height"],
        )
    elif "jsonl" in name:
        if lv.show_config("dicts")["simdjson"] is None:
            pytest.skip("built without simdjson")
        back = lv.jsonl(path, fields={"name": lv.string, "age": lv.int64, "height": lv.float32})
    elif "tar" in name:
        with tarfile.open(path) as archive:
            fields = [m.name.partition(".")[2] for m in archive]
        assert fields[:3] == ["name", "age", "height"]
        return
    else:
        spec = {
            "name": lv.FixedLenFeature([], lv.string),
            "age": lv.FixedLenFeature([], lv.int64),
            "height": lv.FixedLenFeature([], lv.float32),
        }
        back = lv.tfrecord(path).parse_example(spec)
    assert str(rows(back)) == str(rows(ds))


def test_a_failure_leaves_nothing(tmp_path):
    seen = []

    def stop(records):
        seen.append(records)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        lv.write(people(tmp_path), tmp_path / "out.csv", records_per_file=1, progress=stop)
    assert seen == [3]
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_sets_are_numbered(tmp_path):
    lv.write(people(tmp_path), tmp_path / "set-%05d-of-%05d.jsonl", records_per_file=2)
    first, second = sorted(tmp_path.glob("set-*"))
    assert first.name == "set-00000-of-00002.jsonl"
    assert json.loads(second.read_text())["name"] == 'a "b"\nc'


@needs_command
def test_convert_goes_through_all_formats(tmp_path):
    (tmp_path / "a.csv").write_text("name,age\nada,36\ngrace,85\n")
    for source, target in [("a.csv", "b.tar"), ("b.tar", "c.tar.gz"), ("a.csv", "d.jsonl")]:
        convert(tmp_path, source, target)
    with tarfile.open(tmp_path / "c.tar.gz") as archive:
        assert next(m.name for m in archive) == "000000000.name"
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    assert [json.loads(line)["age"] for line in lines] == ["36", "85"]
    convert(tmp_path, "a.csv", "e.csv", "--records-per-file", "1")
    assert (tmp_path / "e-00001-of-00002.csv").read_text() == "name,age\ngrace,85\n"


def test_tar_reads_what_tarfile_writes(tmp_path):
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        names = ["a.txt", "dir/b.x.y", "x" * 90 + ".txt"]
        if kind != tarfile.USTAR_FORMAT:
            names += ["n" * 150 + ".txt", "d" * 120 + "/" + "e" * 130 + ".cls"]
        path = tmp_path / f"{kind}.tar"
        with tarfile.open(path, "w", format=kind) as archive:
            for i, name in enumerate(names):
                info = tarfile.TarInfo(name)
                info.size = i * 300
                archive.addfile(info, io.BytesIO(b"z" * info.size))
        got = [
            (record["key"] + b"." + record["names"][0], len(record["values"][0]))
            for record in lv.tar(str(path))
        ]
        assert got == [(name.encode(), i * 300) for i, name in enumerate(names)]


def refused(tmp_path, *words):
    done = subprocess.run([LEVADA, "convert", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    return done.stderr


@needs_command
@pytest.mark.parametrize("to", ["c.csv", "c.tar"])
def test_bytes_are_not_written_in_place_of_their_fields(tmp_path, to):
    (tmp_path / "b.jsonl").write_text('{"a":[1]}\n{"a":[2]}\n')
    assert "pipeline" in refused(tmp_path, "b.jsonl", to, "--records-per-file", "1")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.jsonl"]


@needs_command
def test_the_last_suffix_is_the_format_and_a_dash_no_file(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"s":"x"}\n')
    convert(tmp_path, "a.jsonl", "a.jsonl.tfrecord")
    assert len(lv.tfrecord(str(tmp_path / "a.jsonl.tfrecord")).to_list()) == 1
    (tmp_path / "o.csv").write_text("x\n1\n")
    assert "standard output" in refused(tmp_path, "o.csv", "-")
    assert not (tmp_path / "-").exists()


def test_one_column_of_a_name_is_an_example(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    lv.write(lv.from_arrays({"x": [b"1", b"2"]}), path)
    spec = {"x": lv.FixedLenFeature([], lv.string)}
    assert [r["x"] for r in lv.tfrecord(path).parse_example(spec)] == [b"1", b"2"]
    lv.write(lv.tfrecord(path), str(tmp_path / "b.tfrecord"))
    assert (tmp_path / "b.tfrecord").read_bytes() == (tmp_path / "a.tfrecord").read_bytes()


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("t", [b"k.x", b"k.y"]),
        ("t", [b"k", b"k"]),
        ("x/y", [b"k"]),
        ("t", [b"/k"]),
        ("t", [b"../k"]),
        ("t", [b"a/../k"]),
        (".", [b""]),
        (".", [b"a/"]),
    ],
)
def test_samples_that_would_be_read_as_others_are_refused(tmp_path, column, keys):
    ds = lv.from_arrays({"key": keys, column: [b"v"] * len(keys)})
    with pytest.raises(InvalidArgumentError, match="tar: "):
        lv.write(ds, str(tmp_path / "a.tar"))
    assert list(tmp_path.iterdir()) == []


def test_names_of_every_kind_go_round_through_tar(tmp_path):
    names = ["a.txt", ".lock", "d/.lock", "d/.two.dots", "d/plain", "d/._b.JPG", "d/b.JPG"]
    names += ["e/b.Jpg", "...", "d/...x", "n" * 5000 + ".TXT", "d" * 6000 + "/.lock"]
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for i, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size = i
            archive.addfile(info, io.BytesIO(b"z" * i))
    lv.write(lv.tar(str(tmp_path / "a.tar")), str(tmp_path / "b.tar"))
    want, got = (lv.tar(str(tmp_path / name)).to_list() for name in ("a.tar", "b.tar"))
    assert repr(want) == repr(got)
    assert len(want) == len(names) - 1  # dot files in one directory are one sample
    with tarfile.open(tmp_path / "b.tar") as archive:
        assert archive.getnames() == names


@needs_command
def test_records_become_sets_of_other_records(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(f'{{"a":[{i}]}}\n' for i in range(5)))
    convert(tmp_path, "a.jsonl", "b.tfrecord.gz", "--records-per-file", "2")
    files = sorted(str(p) for p in tmp_path.glob("b-*"))
    assert len(files) == 3
    spec = {"a": lv.FixedLenFeature([], lv.int64)}
    assert [r["a"] for r in lv.tfrecord(files).parse_example(spec)] == [*range(5)]
    convert(tmp_path, files[2], "c.jsonl.gz")
    assert gzip.decompress((tmp_path / "c.jsonl.gz").read_bytes()) == b'{"a":[4]}\n'


@needs_command
def test_convert_writes_sequence_examples(tmp_path):
    if lv.show_config("dicts")["simdjson"] is None:
        pytest.skip("built without simdjson")
    rows = [{"n": i, "t": [[i], [], [1, 2]], "s": ["a"] * i} for i in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pipe = "jsonl:a.jsonl,fields=auto"
    convert(tmp_path, pipe, "b.tfrecord")
    convert(tmp_path, pipe + " | select:[n,s]", "c.tfrecord", "--to", "sequence_example")
    messages = [lv.make_sequence_example({"n": r["n"]}, {"t": r["t"], "s": r["s"]}) for r in rows]
    assert [r["record"] for r in lv.tfrecord(tmp_path / "b.tfrecord")] == messages
    messages = [lv.make_sequence_example({"n": r["n"]}, {"s": r["s"]}) for r in rows]
    assert [r["record"] for r in lv.tfrecord(tmp_path / "c.tfrecord")] == messages
    assert "pipeline" in refused(tmp_path, "a.jsonl", "d.tfrecord", "--to", "sequence_example")
    assert "--from" in refused(tmp_path, "b.tfrecord", "d.jsonl", "--from", "sequence_example")
    assert not [*tmp_path.glob("d.*")]


@needs_command
@pytest.mark.parametrize("threads", ["1", "3"])
def test_bad_lines_are_skipped_where_that_is_wanted(tmp_path, threads):
    good = [f'{{"a":[{i}]}}' for i in range(3000)]
    lines = good[:]
    for at in (5, 700, 2999):
        lines[at] = '{"a":tru}'
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    words = ["a.jsonl", "b.jsonl", "--threads", threads]
    assert "record 5 " in refused(tmp_path, *words)
    assert not (tmp_path / "b.jsonl").exists()
    convert(tmp_path, *words, "--errors", "skip")
    want = [line for i, line in enumerate(good) if i not in (5, 700, 2999)]
    assert (tmp_path / "b.jsonl").read_text().splitlines() == want
    assert "record 2999 " in refused(tmp_path, *words, "--errors", "skip:2")


@needs_command
@pytest.mark.parametrize(("before", "after"), [(2, 6), (6, 2), (2, 1), (3, 4)])
def test_an_older_set_of_another_size_is_removed(tmp_path, before, after):
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(11)) + "x\n")
    others = ["s-00000-of-00002.txt", "s-1-of-2.csv", "t-00000-of-00003.csv", "s-00000.csv"]
    others += ["s.csv.part-00000", ".levada-1.parts.txt"]  # of the user
    for name in others:
        (tmp_path / name).write_text("mine")
    left = tmp_path / ".levada-0123456789abcdef.parts"  # of a process that was killed
    left.mkdir()
    (left / "00000").write_text("1")
    words = [LEVADA, "convert", "a.csv", "s.csv", "--header", "--records-per-file"]
    counts = [-(-12 // before), -(-12 // after)]
    files = [-(-12 // count) for count in counts]
    convert(tmp_path, *words[2:], str(counts[0]))
    assert len([*tmp_path.glob(f"s-*-of-{files[0]:05}.csv")]) == files[0]
    words.append(str(counts[1]))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    some = "1 file" if files[0] == 1 else f"{files[0]} files"
    assert f"removed {some} of an older set" in done.stderr
    want = [f"s-{i:05}-of-{files[1]:05}.csv" for i in range(files[1])]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*want, "a.csv", *others])
    for name in others:
        assert (tmp_path / name).read_text() == "mine"


@needs_command
def test_processes_that_write_one_set_do_not_mix(tmp_path):
    for name in "cd":
        (tmp_path / f"{name}.csv").write_text("n\n" + f"{name}\n" * 400)
    for _ in range(8):
        words = ["s.csv", "--header", "--records-per-file", "4"]
        commands = [[LEVADA, "convert", f"{name}.csv", *words] for name in "cd"]
        run = [subprocess.Popen(command, cwd=tmp_path) for command in commands]
        assert [process.wait() for process in run] == [0, 0]
        files = [p.read_text() for p in tmp_path.glob("s-*-of-00100.csv")]
        assert len(files) == 100 and len(set(files)) == 1
        assert not [*tmp_path.glob(".levada*")]


WRITER = """
import os, sys, time
import levada as lv
def rows():
    for i in range(100):
        yield {"n": i}
        if i == 50:
            print("half", flush=True)
            sys.stdin.read(1)
lv.write(lv.from_records(rows), "s.jsonl", records_per_file=4)
"""


def test_only_parts_of_processes_that_ended_are_removed(tmp_path):
    def half():
        words = [sys.executable, "-c", WRITER]
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, cwd=tmp_path, stdin=pipe, stdout=pipe)
        assert process.stdout.readline() == b"half\n"
        return process

    killed, alive = half(), half()
    killed.kill()
    killed.wait()
    assert len([*tmp_path.glob(".levada-*.parts")]) == 2
    lv.write(lv.from_arrays({"n": [1, 2]}), tmp_path / "t.jsonl", records_per_file=1)
    assert len([*tmp_path.glob(".levada-*.parts")]) == 1
    alive.communicate(b"x")
    assert alive.returncode == 0
    assert len([*tmp_path.glob("s-*-of-00025.jsonl")]) == 25
    assert not [*tmp_path.glob(".levada*")]


@needs_command
def test_the_header_of_a_csv_file_is_no_assumption(tmp_path):
    (tmp_path / "a.csv").write_text("1,x\n2,y\n")
    assert "--no-header" in refused(tmp_path, "a.csv", "b.jsonl")
    convert(tmp_path, "a.csv", "b.jsonl", "--no-header")
    assert (tmp_path / "b.jsonl").read_text() == '{"c0":"1","c1":"x"}\n{"c0":"2","c1":"y"}\n'
    convert(tmp_path, "a.csv", "b.jsonl", "--header")
    assert (tmp_path / "b.jsonl").read_text() == '{"1":"2","x":"y"}\n'
    (tmp_path / "none.csv").write_text("name,age\n")
    convert(tmp_path, "none.csv", "c.csv")
    assert (tmp_path / "c.csv").read_text() == "name,age\n"
    ds = lv.csv(
        str(tmp_path / "none.csv"),
        header=True,
        record_defaults=[lv.string],
        columns=["name"],
        select_cols=[0],
    )
    assert lv.write(ds, tmp_path / "d.csv") == 0
    assert (tmp_path / "d.csv").read_text() == "name\n"


def test_lines_of_text_are_one_column(tmp_path):
    assert lv.write(lv.from_arrays({"x": [b"one", b""]}), tmp_path / "a.txt") == 2
    assert (tmp_path / "a.txt").read_bytes() == b"one\n\n"
    for bad in ({"x": [b"a\nb"]}, {"x": [b"a\r"]}, {"x": [1]}, {"x": [b""], "y": [b""]}):
        with pytest.raises(InvalidArgumentError, match="text_lines"):
            lv.write(lv.from_arrays(bad), tmp_path / "b.txt")
    assert not (tmp_path / "b.txt").exists()


PEOPLE = 'name,age,height,zip\nada,36,1.5,01000\n"a ""b""",,2,02000\n'


def test_columns_and_types_are_inferred_on_request(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    ds = lv.csv(str(path), infer=True)
    text = str(ds)
    path.write_text("other,1\n")  # the description is fixed
    assert "infer" not in text and text == str(lv.from_text(text))
    path.write_text(PEOPLE)
    first, second = ds.to_list(2)
    assert (first["name"], first["age"], first["height"]) == ("ada", 36, 1.5)
    assert first["zip"] == "01000"
    assert second["name"] == 'a "b"' and second["age"] != second["age"]
    assert str(ds.spec).count("float64") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b\nc,d\n", "header=true"),
        ("a,b\n", "record_defaults"),
        ("1,2\n3\n", "no row has 2 fields, as the first one has; row 2: another number"),
        ('1,2\n3,4"5\n', "row 2: Unquoted fields"),
    ],
)
def test_what_cannot_be_inferred_is_refused(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises((InvalidArgumentError, lv.errors.DataLossError), match=words):
        lv.csv(str(path), infer=True)
    with pytest.raises(InvalidArgumentError, match="cannot be combined"):
        lv.csv(str(path), infer=True, record_defaults=[lv.int64])
    with pytest.raises(lv.errors.NotFoundError):
        lv.csv(str(tmp_path / "none.csv"), infer=True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_errors_of_text_name_the_line(tmp_path, pack):
    path = tmp_path / "a.csv"
    path.write_bytes(pack(b'n,s\n1,"a\nb"\n2,c\nx,d\n' + b"3,e\n" * 1000))
    ds = lv.csv(str(path), header=True, record_defaults=[lv.int32, lv.string])
    with pytest.raises(InvalidArgumentError, match=r"line 5: Field 0 .* \(column 'n', byte 0 of"):
        ds.to_list()
    path.write_bytes(pack(b"1\n" * 70000 + b'"'))
    with pytest.raises(lv.errors.DataLossError, match="line 70001: "):
        lv.csv(str(path), record_defaults=[lv.int32]).to_list()
    if lv.show_config("dicts")["simdjson"] is None:
        return
    path.write_bytes(pack(b'{"a":1}\n\n{"a":1e39}\n'))
    with pytest.raises(InvalidArgumentError, match="line 3: field 'a' is not float32"):
        lv.jsonl(str(path), fields={"a": lv.float32}).to_list()
    assert len(lv.jsonl(str(path), fields={"a": lv.float64}).to_list()) == 2


def test_a_number_beyond_its_dtype_is_no_infinity(tmp_path):
    path = tmp_path / "a.csv"
    for text, dtype in [("1e39", lv.float32), ("-1e39", lv.float32), ("1e400", lv.float64)]:
        path.write_text(text + "\n")
        with pytest.raises(InvalidArgumentError, match="is not a valid"):
            lv.csv(str(path), record_defaults=[dtype]).to_list()
    path.write_text("inf\n-Infinity\n3.4028235e38\n")
    assert len(lv.csv(str(path), record_defaults=[lv.float32]).to_list()) == 3


@needs_command
def test_convert_writes_the_fewest_digits_of_floats(tmp_path):
    random = np.random.default_rng(1)
    edges = [0, -0.0, 1, 10, 99999.99, 999999.94, 1e6, 1e-4, 9.9999e-5, 0.99999994, 16777216]
    values = np.concatenate(
        [
            np.array(edges, np.float32),
            random.random(2000, np.float32),
            random.integers(0, 2**32, 2000, np.uint32).view(np.float32),
            -random.random(2000, np.float32) * np.float32(10) ** random.integers(-5, 8, 2000),
        ]
    ).astype(np.float32)
    values = values[np.isfinite(values)]
    with lv.TFRecordWriter(tmp_path / "floats.tfrecord") as writer:
        writer.write(lv.make_example({"x": values}))
    convert(tmp_path, "floats.tfrecord", "floats.jsonl")
    text = (tmp_path / "floats.jsonl").read_text()
    texts = json.loads(text, parse_float=str)["x"]
    assert all(np.float32(t).tobytes() == x.tobytes() for t, x in zip(texts, values, strict=True))
    for t, x in zip(texts, values, strict=True):
        same = [f"{x:.{n}g}" for n in range(6, 10) if np.float32(f"{x:.{n}g}") == x]
        assert t == (same[0] if set(".e") & set(same[0]) else same[0] + ".0")
