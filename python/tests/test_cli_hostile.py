# SPDX-License-Identifier: Apache-2.0
"""Names and values from files in the output of the command, and records as JSON and back."""

import json
import os
import shutil
import struct
import subprocess
import unicodedata

import levada as lv
import pytest
from command import LEVADA, needs_command
from wire import sized, varint

pytestmark = needs_command

BIDI = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}
HOSTILE = [
    b"\x1b[31mred",
    b"\x1b]0;title\x07",
    b"two\nlines\r\t",
    b"\x9b31m",  # C1 as a byte: not UTF-8
    "\u009b31m".encode(),  # C1 as a character
    "\u202egpj.exe\u2066".encode(),
    b"\x7f\x00end",
    b"\xff\xfe",
    b"\xed\xa0\x80",  # a surrogate
    b"base64:AA==",
    b'"quote\\',
    "größe".encode(),
]


def run(*words, cwd):
    done = subprocess.run([LEVADA, *words], cwd=cwd, capture_output=True, timeout=120)
    assert done.returncode in (0, 1, 2), done
    return done


def check_text(data):
    """UTF-8 without a character that a terminal obeys, but for the ends of lines."""
    for c in data.decode("utf-8"):
        assert c == "\n" or unicodedata.category(c) != "Cc", (hex(ord(c)), data)
        assert ord(c) not in BIDI, (hex(ord(c)), data)


# -- messages on the wire


def entry(key, value):
    return sized(1, sized(1, key) + sized(2, value))


def ints(*values):
    return sized(3, sized(1, b"".join(varint(v) for v in values)))


def strings(*values):
    return sized(1, b"".join(sized(1, v) for v in values))


def write(path, records):
    with lv.TFRecordWriter(str(path)) as w:
        for r in records:
            w.write(r)


def read(path):
    data, records = path.read_bytes(), []
    while data:
        (n,) = struct.unpack_from("<Q", data)
        records.append(data[12 : 12 + n])
        data = data[16 + n :]
    return records


def example(*pairs):
    return sized(1, b"".join(entry(k, v) for k, v in pairs))


def lines(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


@pytest.fixture
def hostile(tmp_path):
    records = [example(*((name, strings(name)) for name in HOSTILE))]
    records += [
        sized(1, entry(n, ints(1))) + sized(2, entry(n, sized(1, strings(n)))) for n in HOSTILE
    ]
    write(tmp_path / "a.tfrecord", records + HOSTILE)
    (tmp_path / "a.txt").write_bytes(b"\n".join(HOSTILE))
    shutil.copy(tmp_path / "a.tfrecord", tmp_path / "\x1b[2J\n\u202e.tfrecord")
    shutil.copy(tmp_path / "a.tfrecord", os.fsencode(tmp_path) + b"/\xff\x9b.tfrecord")
    damaged = bytearray((tmp_path / "a.tfrecord").read_bytes())
    damaged[14] ^= 1
    (tmp_path / "\x1b[3J\n.tfrecord").write_bytes(damaged)
    (tmp_path / "\x1b[9J\n.tfrecord").write_bytes(b"a line\n" * 1000)
    return tmp_path


FILES = ["a.tfrecord", "\x1b[2J\n\u202e.tfrecord", b"\xff\x9b.tfrecord", "\x1b[3J\n.tfrecord"]
FILES += ["\x1b[9J\n.tfrecord"]
COMMANDS = [
    ["head", "-n", "100"],
    ["head", "-n", "100", "--json"],
    ["head", "--source", "text_lines"],
    ["info"],
    ["info", "--json"],
    ["verify"],
    ["verify", "--json"],
    ["ckpt", "show"],
    ["steps"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", [*FILES, "a.txt", "\x1b[4J\n\u202e", b"\xff"], ids=ascii)
def test_no_command_writes_what_a_terminal_obeys(hostile, words, name):
    done = run(*words, name, cwd=hostile)
    check_text(done.stdout)
    check_text(done.stderr)
    assert len(done.stderr.splitlines()) <= 4
    if "--json" in words:
        for line in done.stdout.splitlines():
            json.loads(line)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "tfrecord:a.tfrecord", "--json"],
        ["run", "text_lines:a.txt", "--json"],
        [
            "run",
            "tfrecord:a.tfrecord | parse_example:{x\u202e:{kind:FixedLen,shape:[],dtype:int64}}",
        ],
        ["run", "tfrecord:\x1b[5J"],
        ["run", "\x1b[5J\u009b"],
        ["run", "range:3 | rename:{value:\u202eb} | batch:2", "--json"],
        ["stats", "text_lines:a.txt", "--field", "\x1b[5J"],
        ["stages", "\x1b[5J"],
        ["\x1b[5J\u202e"],
        ["head", "--\x1b[5J", "a.tfrecord"],
        ["convert", "a.tfrecord", "-"],
        ["convert", "a.txt", "-"],
        ["convert", "a.txt", "-", "--field", "\u202e"],
        ["convert", "\x1b[2J\n\u202e.tfrecord", "\x1b[2J\n\u202e.jsonl"],
        ["convert", "\x1b[3J\n.tfrecord", "b.tfrecord"],
        ["convert", "a.txt", "\x1b.parquet"],
        ["verify", "--repair", "\x1b[6J\n.tfrecord", "\x1b[3J\n.tfrecord"],
        ["check", "\x1b[5J.so"],
        ["sample", "\x1b[5J\u202e"],
        ["bench", "tfrecord:\x1b[5J"],
    ],
    ids=ascii,
)
def test_no_message_quotes_what_a_terminal_obeys(hostile, words):
    done = run(*words, cwd=hostile)
    check_text(done.stdout)
    check_text(done.stderr)
    if "--json" in words or "-" in words:
        for line in done.stdout.splitlines():
            json.loads(line)


def test_names_that_are_not_utf8_come_back_from_json(hostile):
    assert run("convert", "a.tfrecord", "a.jsonl", cwd=hostile).returncode == 0
    assert run("convert", "a.jsonl", "b.tfrecord", cwd=hostile).returncode == 0
    assert read(hostile / "a.tfrecord") == read(hostile / "b.tfrecord")
    assert lines(hostile / "a.jsonl")[0]["base64://4="] == [{"base64": "//4="}]


# -- one parser


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (example((b"c", ints(5) + ints(5))), {"c": [5, 5]}),
        (example((b"c", ints(5))) + example((b"d", ints(5))), {"c": [5], "d": [5]}),
        (
            sized(2, entry(b"q", sized(1, ints(5)))) + example((b"c", ints(5))),
            {"context": {"c": [5]}, "sequence": {"q": [[5]]}},
        ),
        (example((b"a", ints(1, 2)), (b"a", b"")), {"a": []}),
        (example((b"a", ints(1) + strings(b"x"))), {"a": ["x"]}),
        (example((b"a", ints(1)), (b"a", ints(2))), {"a": [2]}),
        (
            example((b"a", sized(3, sized(1, b"\1\2") + sized(1, b"\3") + b"\x08\x04"))),
            {"a": [1, 2, 3, 4]},
        ),
        (example((b"record", strings(b"x"))), {"record": ["x"]}),
        (sized(1, entry(b"a", b"")) + sized(5, b"more"), None),
        (b"not a message", {"record": "not a message"}),
        (b"", {}),
        # An ExampleListWithContext: as an Example it would be names without values.
        (sized(1, example((b"a", ints(1)))) + sized(2, example((b"b", ints(2)))), None),
    ],
)
def test_a_record_is_shown_as_the_decoders_read_it(tmp_path, record, shown):
    write(tmp_path / "a.tfrecord", [record])
    line = run("head", "--json", "a.tfrecord", cwd=tmp_path).stdout
    assert json.loads(line) == shown or (shown is None and [*json.loads(line)] == ["record"])
    assert run("convert", "a.tfrecord", "-", cwd=tmp_path).stdout == line
    features = json.loads(run("info", "--json", "a.tfrecord", cwd=tmp_path).stdout)["features"]
    if shown and "record" not in shown and "context" not in shown:
        assert [f["name"] for f in features] == list(shown)
        assert [f["values"]["max"] for f in features] == [len(v) for v in shown.values()]


# -- conversions keep the meaning


def test_raw_records_come_back_as_they_are(tmp_path):
    records = [b"raw", b"", b"\x00\xff", os.urandom(50), b'{"record":"x"}', struct.pack("<d", 1.5)]
    records.append(sized(1, example((b"a", ints(1)))))
    write(tmp_path / "a.tfrecord", records)
    assert run("convert", "a.tfrecord", "a.jsonl", cwd=tmp_path).returncode == 0
    assert run("convert", "a.jsonl", "b.tfrecord", cwd=tmp_path).returncode == 0
    assert read(tmp_path / "b.tfrecord") == records


def test_kinds_of_empty_lists_in_sequences_come_back(tmp_path):
    record = example((b"a", sized(3, b""))) + sized(
        2, entry(b"e", sized(1, sized(2, b"")) + sized(1, b"") + sized(1, ints(1)))
    )
    write(tmp_path / "a.tfrecord", [record, record])
    assert run("convert", "a.tfrecord", "a.jsonl", cwd=tmp_path).returncode == 0
    assert lines(tmp_path / "a.jsonl")[0]["kinds"] == {
        "context": {"a": "int64"},
        "sequence": {"e": ["float", "none", "int64"]},
    }
    assert run("convert", "a.jsonl", "b.tfrecord", cwd=tmp_path).returncode == 0
    assert read(tmp_path / "b.tfrecord")[0] == record


@pytest.mark.parametrize("words", [[], ["--field", "record"], ["--raw"]])
def test_text_means_the_same_with_json_between(tmp_path, words):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert run("convert", "a.txt", "a.tfrecord", *words, cwd=tmp_path).returncode == 0
    assert run("convert", "a.txt", "a.jsonl", *words, cwd=tmp_path).returncode == 0
    assert run("convert", "a.jsonl", "b.tfrecord", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.tfrecord").read_bytes() == (tmp_path / "b.tfrecord").read_bytes()


@pytest.mark.parametrize(
    ("source", "target", "words", "says"),
    [
        ("part-0.txt", "o.parquet", [], b"unknown format of o.parquet; set --to"),
        ("part-0.txt", "o", [], b"--to"),
        ("part-0.txt", "o.gz", [], b"--to"),
        ("a.ns", "o.tfrecord", [], b"unknown format of a.ns; set --from"),
        ("a.zip", "o.tfrecord", [], b"--from"),
        ("noise", "o.tfrecord", [], b"unknown format of noise; set --from"),
        ("part-0.txt", "o.tfrecord", ["--from", "xml"], b"--from xml"),
        ("part-0.txt", "o.tfrecord", ["--to", "xml"], b"xml"),
    ],
)
def test_unknown_formats_are_refused(tmp_path, source, target, words, says):
    (tmp_path / source).write_bytes(b"line\n" if source != "noise" else bytes(range(128, 256)))
    done = run("convert", source, target, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr and done.stderr.count(b"\n") == 1
    assert not (tmp_path / target).exists()


def test_options_force_a_format(tmp_path):
    (tmp_path / "a.ns").write_text("line\n")
    words = ["--from", "text", "--to", "tfrecord"]
    assert run("convert", "a.ns", "o.parquet", *words, cwd=tmp_path).returncode == 0
    assert len(read(tmp_path / "o.parquet")) == 1
    # A first record with a good checksum says what a file is.
    assert run("convert", "o.parquet", "o.tfrecord", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"a":[{"base64":"YQ==junk"}]}',
        '{"a":[{"base64":"YQ==="}]}',
        '{"a":[{"base64":"YQ=a"}]}',
        '{"a":[{"base64":"YR=="}]}',
        '{"a":[{"base64":"YQ"}]}',
        '{"a":[{"base64":"YQ==","more":1}]}',
        '{"record":{"base64":"YQ==junk"}}',
        '{"base64:YQ==":[1]}',
        '{"base64:?":[1]}',
        '{"a":[1e300]}',
        '{"a":[[1]]}',
        '{"a":[1,"x"]}',
        '{"a":1,"a":2}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"context":{"a":"double"}}}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"context":{"b":"float"}}}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"contxt":{"a":"float"}}}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"sequence":{"a":["float"]}}}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"context":["float"]}}',
        '{"context":{"a":[]},"sequence":{},"kinds":{"kinds":{}}}',
    ],
)
def test_json_that_is_no_record_is_refused(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    done = run("convert", "a.jsonl", "a.tfrecord", cwd=tmp_path)
    assert done.returncode == 1
    assert b"a.jsonl" in done.stderr
    assert not (tmp_path / "a.tfrecord").exists()


def test_info_counts_features_whose_names_are_too_many(tmp_path):
    names = [b"name %d" % i for i in range(3000)]
    write(tmp_path / "a.tfrecord", [example((name, ints(1))) for name in names])
    told = json.loads(run("info", "--json", "a.tfrecord", cwd=tmp_path).stdout)
    assert len(told["features"]) + told["unlisted_features"] == len(names)
    done = run("info", "a.tfrecord", cwd=tmp_path)
    assert b"features not listed: the file has too many names" in done.stdout
