# SPDX-License-Identifier: Apache-2.0
"""The same files through verify, info, run and Python: all accept and refuse the same records."""

import json
import pathlib
import subprocess

import levada as lv
import pytest
from command import LEVADA, needs_command
from levada.errors import LevadaError

DATA = pathlib.Path(__file__).parents[3] / "shared" / "data"
SUITE = DATA / "json" / "JSONTestSuite" / "test_parsing"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")
needs_json = pytest.mark.skipif(
    lv.show_config("dicts")["simdjson"] is None, reason="built without simdjson"
)
SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl", "tar": ".tar", "tfrecord": ".tfrecord"}
MADE = {
    "bad.csv": b'a,b\n1,2\n3,"4"5",6\n7,8"\n',
    "open.csv": b'1,2\n3,"4\n',
    "cr.csv": b"1,2\r3,4\r\n5,6",
    "bad.jsonl": b'{"a":1}\n\n{"a":tru}\n[1]\n{"a":"\xff"}\n{"a":1}',
    "cut.tar": None,
}


def files(format, folder):
    for name, content in MADE.items():
        if name.endswith(SUFFIXES[format]):
            if content is None:
                source = DATA / "tar" / "tar-rs" / "reading_files.tar"
                content = source.read_bytes()[:600]
            (folder / name).write_bytes(content)
            yield folder / name
    for path in sorted(DATA.rglob("*" + SUFFIXES[format])):
        if path.stat().st_size < 1 << 21 and not path.name.startswith("sparse-large"):
            yield path


def objects(*words):
    done = subprocess.run([LEVADA, *map(str, words)], capture_output=True, text=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(ds):
    """(records with errors="skip", whether all of them are read without it)"""
    with ds.with_options(errors="skip").blocks() as blocks:
        good = sum(map(len, blocks))
    try:
        with ds.blocks() as blocks:
            return good, sum(map(len, blocks)) == good
    except LevadaError:
        return good, False


@needs_data
@needs_command
@pytest.mark.parametrize("format", SUFFIXES)
def test_all_views_accept_the_same_records(tmp_path, format):
    if format == "jsonl" and lv.show_config("dicts")["simdjson"] is None:
        pytest.skip("built without simdjson")
    paths = [*files(format, tmp_path)]
    damaged = 0
    checks = objects("verify", "--json", "--source", format, *paths)
    infos = objects("info", "--json", "--source", format, *paths)
    assert len(checks) == len(infos) == len(paths) > 1
    for path, check, info in zip(paths, checks, infos, strict=True):
        good, whole = counted(getattr(lv, format)(str(path)))
        assert (check["good_records"], check["bad_records"] == 0) == (good, whole), path
        assert (info["records"], info["bad_records"]) == (good, check["bad_records"]), path
        assert len(check["damage"]) == check["bad_records"] or format in ("tfrecord", "tar"), path
        words = [LEVADA, "run", f"{format}:{json.dumps(str(path))}"]
        done = subprocess.run(words, capture_output=True, timeout=60)
        assert (done.returncode == 0) == whole, (path, done.stderr)
        damaged += not whole
    assert damaged > 0 or format == "tfrecord"


@needs_data
@needs_command
@needs_json
def test_fields_are_checked_where_they_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":1}\n{"a":"x"}\n{}\n{"a":2}\n')
    (check,) = objects("verify", "--json", path)
    assert (check["bad_records"], check["fields_checked"]) == (0, False)
    (check,) = objects("verify", "--json", "--source", "jsonl:fields={a:int64}", path)
    assert (check["bad_records"], check["fields_checked"]) == (2, True)
    assert [(d["record"], d["next"]) for d in check["damage"]] == [(1, 18), (2, 21)]
    path = tmp_path / "a.csv"
    path.write_text("1,x\n2,y\nz,3\n")
    options = "csv:record_defaults=[int64,string]"
    (check,) = objects("verify", "--json", "--source", options, path)
    assert [(d["record"], d["next"]) for d in check["damage"]] == [(2, -1)]
    (check,) = objects("verify", "--json", "--source", "csv:record_defaults=[int64]", path)
    assert check["bad_records"] == 3
    path.write_text("name,n\nx,1\ny,z\n" + "u,2\n" * 1000)
    (check,) = objects("verify", "--json", "--source", "csv:infer=true,header=true", path)
    assert check["bad_records"] == 0  # n is a string
    path.write_text("name,n\n" + "u,2\n" * 1000 + "y,z\n")
    (check,) = objects("verify", "--json", "--source", "csv:infer=true", path)
    assert [(d["record"], d["next"]) for d in check["damage"]] == [(1000, -1)]


# What Python's json writes, too.
READ = {f"n_number_{name}.json" for name in ("NaN", "infinity", "minus_infinity")}


# Files of JSONTestSuite that simdjson may refuse or accept: what the RFC leaves open.
@needs_data
@needs_json
@pytest.mark.parametrize("kind", ["y", "n", "i"])
def test_the_suite_of_json_is_refused_or_read(tmp_path, kind):
    seen = 0
    for path in sorted(SUITE.glob(f"{kind}_*.json")):
        data = path.read_bytes()
        try:
            json.loads(data.decode())
            valid = True
        except (ValueError, RecursionError):
            valid = False
        if b"\n" in data.strip(b"\r\n\t ") or not data.strip() or data[:3] == b"\xef\xbb\xbf":
            continue  # not one line, or the mark of a file
        file = tmp_path / "a.jsonl"
        file.write_bytes(data)
        _, whole = counted(lv.jsonl(str(file)))
        seen += 1
        assert kind == "i" or whole == (kind == "y" or path.name in READ), path.name
        assert not whole or valid or kind == "i", path.name
    assert seen > 20
