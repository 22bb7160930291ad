# SPDX-License-Identifier: Apache-2.0
"""lv.write, lv.csv, lv.jsonl, lv.tar and levada convert, round and round."""

import io
import json
import subprocess
import tarfile

import levada as lv
import pytest
from command import LEVADA, needs_command


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
