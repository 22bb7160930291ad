# SPDX-License-Identifier: Apache-2.0
"""Every command over damaged files, with inferred columns and either error policy: the exit status
is the documented one, and something says what is wrong."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_support import RECORDS, frame
from command import LEVADA, needs_command
from test_pipes import tar_of

pytestmark = needs_command
SHARED = Path(__file__).resolve().parents[3] / "shared/cases/files"
DATA = Path(__file__).resolve().parents[3] / "shared/data"

LINE, ROW, HEAD = b'{"id":1,"t":"a"}\n', b"1,2.5,a\n", b"id,x,t\n"
PLAIN = b"".join(map(frame, RECORDS))
BROKEN = bytearray(PLAIN)
BROKEN[20] ^= 1
ARCHIVE = bytearray(tar_of(5))
ARCHIVE[ARCHIVE.find(b"ustar", 1024) - 250] ^= 255  # in the name of the second member
GARBAGE = frame(b"\xff\xff\x07garbage")

SOME = {  # good records, and one that is damaged
    "row.jsonl": LINE + b'{"id":,}\n' + LINE,
    "first.jsonl": b'{"id":}\n' + LINE * 2,
    "utf8.jsonl": LINE + b'{"id":2,"t":"\xff"}\n' + LINE,
    "cut.jsonl.gz": gzip.compress(LINE * 5000)[:60],
    "short.csv": HEAD + ROW + b"1,2\n" + ROW,
    "open.csv": HEAD + ROW + b'1,2,"a\n' + ROW * 3,
    "quote.csv": HEAD + ROW + b'1,"2"3,a\n' + ROW,
    "number.csv": HEAD + ROW * 1500 + b"x,2,a\n" + ROW,
    "cut.csv.gz": gzip.compress(HEAD + ROW * 5000)[:60],
    "sum.tfrecord": bytes(BROKEN),
    "cut.tfrecord": PLAIN[:-3],
    "proto.tfrecord": frame(RECORDS[0]) + GARBAGE + frame(RECORDS[1]),
    "first.tfrecord": GARBAGE + frame(RECORDS[1]),
    "head.tar": bytes(ARCHIVE),
}
NONE = {  # no good record
    "all.jsonl": b'{"x\n[1\n',
    "all.tfrecord": GARBAGE * 3,
    "cut.gz.tfrecord.gz": gzip.compress(PLAIN)[:12],
}
USAGE = {  # nothing says which columns there are
    "names.csv": b"id,\xff,t\n" + ROW,
    "empty.csv": b"",
}


def source(name, extra=""):
    if ".jsonl" in name:
        return f"jsonl:{name},fields=auto{extra}"
    if ".csv" in name:
        return f"csv:{name},infer=true{extra}"
    if ".tar" in name:
        return f"tar:{name},fields=[txt]{extra}"
    return f"tfrecord:{name}{extra} | parse_example:auto"


def piped(text, policy):
    """Commands that read records. `head` reads the first ones only, and `stats` wants sequences."""
    yield ["run", text, *policy]
    yield ["run", f"{text} | batch:2", "--json", *policy]
    yield ["run", f"{text} | shuffle:9", "-t", "3", *policy]
    yield ["convert", text, "out.jsonl", *policy]
    if not policy:
        yield ["head", text]
        yield ["bench", text]
        yield ["stats", text, "--field", "tokens" if "tfrecord" in text else "t"]


def run(folder, words):
    done = subprocess.run([LEVADA, *words], cwd=folder, capture_output=True, timeout=60)
    text = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode in (0, 1, 2), (words, text)
    assert "Traceback" not in text and "Sanitizer" not in text, (words, text)
    if done.returncode:
        assert done.stderr or words[0] in ("verify", "info"), (words, text)
    return done.returncode, text


@pytest.mark.parametrize("name", [*SOME, *NONE, *USAGE])
def test_pipelines_with_inferred_columns(tmp_path, name):
    (tmp_path / name).write_bytes({**SOME, **NONE, **USAGE}[name])
    for extra in ("", ",errors=skip"):
        for words in piped(source(name, extra), []):
            status, text = run(tmp_path, words)
            if name in USAGE:
                assert status == 2 or words[0] in ("head", "convert"), (words, text)
            elif not extra:
                assert status == 1 or words[0] in ("head", "stats"), (words, text)
            none = extra and "the input has no records" in text
            assert name in text or status == 0 or words[0] == "stats" or none, (words, text)
    for words in piped(source(name), ["--errors", "skip"]):
        status, text = run(tmp_path, words)
        if name in SOME:
            assert status == 0 and "skipped" in text, (words, text)
        elif name in NONE:
            assert status == 1 or "skipped" in text, (words, text)


@pytest.mark.parametrize("name", [*SOME, *NONE])
def test_commands_on_files(tmp_path, name):
    (tmp_path / name).write_bytes({**SOME, **NONE}[name])
    for words in (["verify", name], ["verify", name, "--json"], ["info", name]):
        status, text = run(tmp_path, words)
        framed = name in ("proto.tfrecord", "first.tfrecord", "all.tfrecord", "number.csv")
        assert status == (0 if framed or name == "short.csv" else 1), (words, text)
    for words in (["head", name], ["index", name], ["convert", name, "o.jsonl"]):
        status, text = run(tmp_path, words)
        assert status == 0 or name in text, (words, text)
    status, text = run(tmp_path, ["convert", name, "o.jsonl", "--errors", "skip"])
    assert status == 1 or "skipped" in text or framed, text


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/cases")
def test_commands_on_the_shared_cases(tmp_path):
    files = [path for path in SHARED.rglob("*.*") if path.suffix not in (".py", ".sh")]
    assert len(files) >= 8
    for path in files:
        name = path.name
        shutil.copy(path, tmp_path / name)
        for words in (["verify", name], ["info", name], ["head", name], ["index", name]):
            run(tmp_path, words)
        for text in (f"files:{name}", f"csv:{name},infer=true", f"jsonl:{name},fields=auto"):
            for policy in ([], ["--errors", "skip"]):
                for words in (["run", text, *policy], ["convert", text, "out.jsonl", *policy]):
                    run(tmp_path, words)
