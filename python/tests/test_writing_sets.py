# SPDX-License-Identifier: Apache-2.0
"""lv.write, lv.csv, lv.jsonl, lv.tar and levada convert, round and round."""

import io
import json
import subprocess
import tarfile

import levada as lv
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
        lv.write(people(tmp_path), tmp_path / "out.csv", shard_records=1, progress=stop)
    assert seen == [3]
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_sets_are_numbered(tmp_path):
    lv.write(people(tmp_path), tmp_path / "set-%05d-of-%05d.jsonl", shard_records=2)
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
    convert(tmp_path, "a.csv", "e.csv", "--shard-records", "1")
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
@pytest.mark.parametrize("to", ["c.tfrecord", "c.jsonl", "c.csv", "c.tar"])
def test_bytes_are_not_written_in_place_of_their_fields(tmp_path, to):
    (tmp_path / "b.jsonl").write_text('{"a":[1]}\n{"a":[2]}\n')
    assert "description" in refused(tmp_path, "b.jsonl", to, "--shard-records", "1")
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
        ("t", [b"dir/"]),
        ("A", [b"k"]),
        ("x/y", [b"k"]),
    ],
)
def test_samples_that_would_be_read_as_others_are_refused(tmp_path, column, keys):
    ds = lv.from_arrays({"key": keys, column: [b"v"] * len(keys)})
    with pytest.raises(InvalidArgumentError, match="tar: "):
        lv.write(ds, str(tmp_path / "a.tar"))
    assert list(tmp_path.iterdir()) == []
