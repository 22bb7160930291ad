# SPDX-License-Identifier: Apache-2.0
"""Pipes as input files: /dev/stdin, -, <(command) and FIFOs."""

import csv
import gzip
import io
import itertools
import os
import shlex
import signal
import socket
import subprocess
import tarfile
import threading
import time

import levada as lv
import pytest
from cli_support import RECORDS, frame
from command import LEVADA, needs_command
from levada import errors

PLAIN = b"".join(map(frame, RECORDS))
LINES = b"".join(b"line %d\n" % i for i in range(5000))
MANY = 4000  # records of more than one window


def tar_of(count):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for i in range(count):
            member = tarfile.TarInfo(f"{i:05}.txt")
            member.size = i % 50
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return out.getvalue()


def csv_of(count):
    out = io.StringIO()
    csv.writer(out).writerows([["number", "text"], *([i, "word " * 20] for i in range(count))])
    return out.getvalue().encode()


FILES = {
    "a.tfrecord": (b"".join(map(frame, RECORDS)) * (MANY // 10), "tfrecord"),
    "a.txt": (b"".join(b"line %d %s\n" % (i, b"word " * 20) for i in range(MANY)), "text_lines"),
    "a.jsonl": (b"".join(b'{"a": %d, "b": "%s"}\n' % (i, b"x" * 90) for i in range(MANY)), "jsonl"),
    "a.csv": (csv_of(MANY), "csv:header=true,record_defaults=[int64,string]"),
    "a.tar": (tar_of(MANY // 10), "tar:fields=[txt]"),
    "a.bin": (bytes(range(250)) * MANY, "fixed_length:record_bytes=125"),
    "a.rec": (
        b"".join(i.to_bytes(2, "big") + bytes(i) for i in range(900)),
        "framed:header_bytes=2,length_bytes=2,big_endian=true",
    ),
}


def described(source, path):
    name, _, options = source.partition(":")
    return f"{name}:{path}" + ("," + options if options else "")


def commands(source, path):
    """The commands that read a file in one pass; {} is OUT of a conversion."""
    text = described(source, path)
    yield ["verify", path, "--source", source]
    yield ["verify", path, "--source", source, "--json"]
    yield ["info", path, "--source", source, "--json"]
    yield ["head", path, "--source", source, "--json", "-n", "1000000"]
    yield ["head", path, "--source", source]
    yield ["run", text, "--json"]
    yield ["run", f"{text} | shuffle:7 | repeat:2 | batch:3", "--json", "--seed", "1"]
    yield ["convert", text, "{}.jsonl" if "text" in source or "," in source else "{}.tfrecord"]


WAYS = ["< {} with /dev/stdin", "< {} with -", "cat {} | with /dev/stdin", "cat {} | with -",
        "<(cat {})", "a FIFO"]  # fmt: skip


def run_in(way, name, words, cwd):
    """Runs the command on the file by another way; the word for the file is FILE."""
    given = "/dev/stdin" if "/dev/stdin" in way else "-" if " -" in way else "FIFO"
    quoted = [LEVADA, *(shlex.quote(word.replace("FILE", given)) for word in words)]
    line = " ".join(quoted)
    if way.startswith("<("):
        line = " ".join(quoted[:1] + [f"'{word}'" for word in words]).replace("FILE", "'$pipe'")
        line = f"go() {{ pipe=$1; {line}; }}; go <(cat {name})"
    elif way.startswith("<"):
        line += f" < {name}"
    elif way.startswith("cat"):
        line = f"cat {name} | {line}"
    else:
        line = f"rm -f FIFO; mkfifo FIFO; cat {name} > FIFO & {line}; status=$?; wait; exit $status"
    done = subprocess.run(["bash", "-c", line], cwd=cwd, capture_output=True, timeout=60)
    names = {b"FIFO", b"/dev/stdin"} | {b"/dev/fd/%d" % i for i in range(60, 64)}
    return done.returncode, *(seen(text, names, name) for text in (done.stdout, done.stderr))


def seen(text, names, name):
    for other in names:
        text = text.replace(other, name.encode())
    return b"".join(line for line in text.splitlines(keepends=True) if "→".encode() not in line)


def produced(cwd):
    """What the conversions wrote, which is removed."""
    files = sorted(cwd.glob("out.*"))
    found = [(path.name, path.read_bytes()) for path in files]
    for path in files:
        path.unlink()
    return found


@needs_command
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_command_reads_every_pipe_as_the_file(tmp_path, name, suffix):
    data, source = FILES[name]
    file = name + suffix
    (tmp_path / file).write_bytes(gzip.compress(data, 1) if suffix else data)
    ways = WAYS if name == "a.tfrecord" else WAYS[3:5]
    for words in commands(source, "FILE"):
        words = [word.replace("{}", "out") for word in words]
        plain = [LEVADA, *(word.replace("FILE", file) for word in words)]
        done = subprocess.run(plain, cwd=tmp_path, capture_output=True, timeout=60)
        want = (done.returncode, done.stdout, done.stderr)
        want = done.returncode, *(seen(text, set(), file) for text in want[1:])
        wrote = produced(tmp_path)
        assert done.returncode == 0, (words, done.stderr)
        for way in ways:
            assert run_in(way, file, words, tmp_path) == want, (way, words)
            assert produced(tmp_path) == wrote, (way, words)


@needs_command
@pytest.mark.parametrize("name", ["a.tfrecord", "a.txt", "a.jsonl", "a.csv", "a.tar"])
def test_every_command_finds_the_format_of_a_pipe(tmp_path, name):
    (tmp_path / "a").write_bytes(FILES[name][0])
    for words in (["verify", "FILE"], ["info", "FILE", "--json"], ["head", "FILE", "--json"]):
        plain = [LEVADA, *(word.replace("FILE", "a") for word in words)]
        done = subprocess.run(plain, cwd=tmp_path, capture_output=True, timeout=60)
        assert run_in("cat {} | with -", "a", words, tmp_path) == (
            done.returncode, done.stdout, done.stderr
        )  # fmt: skip


@needs_command
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", ["a.tfrecord", "a.txt", "a.jsonl", "a.csv", "a.tar", "a.rec"])
def test_damage_in_a_pipe_is_that_of_the_file(tmp_path, name, suffix):
    data, source = FILES[name]
    file = name + suffix
    third = len(data) // 3
    hurt = {
        "cut": data[: 2 * third + 1],
        "changed": data[:third] + b'\xff\0"' + data[third + 3 :],
        "lost": data[:third] + data[third + 77 :],
    }
    for how, what in hurt.items():
        (tmp_path / file).write_bytes(gzip.compress(what, 1) if suffix else what)
        for words in (
            ["verify", "FILE", "--source", source, "--json"],
            ["info", "FILE", "--source", source, "--json"],
            ["run", described(source, "FILE") + " | batch:50", "--json", "--errors", "skip"],
        ):
            plain = [LEVADA, *(word.replace("FILE", file) for word in words)]
            done = subprocess.run(plain, cwd=tmp_path, capture_output=True, timeout=60)
            want = (done.returncode, done.stdout, done.stderr)
            assert run_in("cat {} | with -", file, words, tmp_path) == want, (how, words)


# Pipes that do not end.


ENDLESS = {
    "head": ["head", "-", "-n", "5"],
    "head of a source": ["head", "-", "-n", "5", "--source", "text_lines"],
    "run": ["run", "text_lines:- | take:5", "--json"],
    "run on one thread": ["run", "text_lines:/dev/stdin | take:5", "--json", "-t", "1"],
    "run -n": ["run", "text_lines:- | batch:5", "-n", "1", "--json"],
    "convert": ["convert", "text_lines:- | take:5", "out.jsonl"],
}


@needs_command
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ENDLESS)
def test_a_pipe_without_an_end_is_read_as_far_as_needed(tmp_path, name, packed):
    chunk = gzip.compress(LINES) if packed else LINES
    words = [LEVADA, *ENDLESS[name]]
    wrote = 0
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        with pytest.raises(BrokenPipeError):
            while True:
                wrote += process.stdin.write(chunk)
        assert process.wait(timeout=30) == 0
    assert wrote < 8 << 20


@needs_command
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["head", "head of a source", "run on one thread", "run"])
def test_records_of_a_slow_writer_arrive(tmp_path, name, packed):
    lines = LINES[:600]
    lines = lines[: lines.rindex(b"\n") + 1]
    packer = gzip.zlib.compressobj(wbits=31)
    if packed:
        lines = os.urandom(700).hex().encode() + b"\n" + lines
        lines = packer.compress(lines) + packer.flush(gzip.zlib.Z_SYNC_FLUSH)
    with subprocess.Popen(
        [LEVADA, *ENDLESS[name]], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(lines)
        process.stdin.flush()
        assert process.wait(timeout=30) == 0
        assert process.stdout.read()


SILENT = [
    ["head", "-"],
    ["info", "-"],
    ["verify", "-"],
    ["verify", "-", "--source", "text_lines"],
    ["run", "text_lines:-"],
    ["run", "text_lines:-", "-t", "1"],
    ["run", "csv:-,header=true,record_defaults=[string]"],
    ["run", "tfrecord:- | parse_example:auto"],
    ["run", "@-"],
    ["stats", "csv:-,record_defaults=[string] | batch:1"],
    ["bench", "text_lines:-"],
    ["convert", "-", "out.jsonl", "--from", "text"],
    ["convert", "-", "out.jsonl", "--from", "csv"],
    ["convert", "-", "out.jsonl"],
]


@needs_command
@pytest.mark.parametrize("words", SILENT, ids=" ".join)
def test_ctrl_c_ends_a_command_that_waits_for_a_pipe(tmp_path, words):
    for begin in (b"", LINES[:50]):
        command = [LEVADA, *words]
        with subprocess.Popen(
            command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            process.stdin.write(begin)
            process.stdin.flush()
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) in (130, -signal.SIGINT)
            assert process.stderr.read() == b""
    assert not list(tmp_path.glob("out*"))


def piped(words, data, cwd, **more):
    return subprocess.run(
        [LEVADA, *words], input=data, cwd=cwd, capture_output=True, timeout=60, **more
    )


@needs_command
def test_a_position_in_a_pipe_is_refused(tmp_path):
    words = ["run", "text_lines:/dev/stdin|batch:10"]
    piped([*words, "--limit", "100", "--save", "pos"], LINES, tmp_path)
    done = piped([*words, "--resume", "pos"], LINES, tmp_path)
    assert done.returncode == 1 and b"it is a pipe, which cannot be resumed" in done.stderr


@needs_command
def test_a_pipe_without_a_writer_ends_by_a_signal(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    words = [LEVADA, "run", "text_lines:pipe"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read() == b""


@needs_command
def test_what_cannot_be_read_from_a_pipe_is_refused(tmp_path):
    done = piped(["index", "/dev/stdin"], PLAIN, tmp_path)
    assert done.returncode == 1 and b"/dev/stdin: a pipe cannot be indexed" in done.stderr
    done = piped(["head", "/dev/null"], b"", tmp_path)
    assert done.returncode == 1 and b"only files and pipes can be read" in done.stderr


@needs_command
def test_two_processes_do_not_divide_a_pipe(tmp_path):
    reader, writer = os.pipe()
    words = [LEVADA, "run", "text_lines:/dev/stdin", "--json"]
    with subprocess.Popen(words, stdin=reader, stdout=subprocess.PIPE) as first:
        os.write(writer, b"a\n")
        time.sleep(0.5)
        done = subprocess.run(words, stdin=reader, capture_output=True, timeout=60)
        assert done.returncode == 1 and b"another process reads this pipe" in done.stderr
        os.close(reader)
        os.write(writer, b"b\n")
        os.close(writer)
        assert first.communicate(timeout=60)[0].count(b'"records":1,') == 2


def write_later(path, data):
    thread = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    thread.start()
    return thread


def test_a_fifo_has_the_same_records_in_each_epoch(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, LINES)
    ds = lv.text_lines(str(path)).shuffle(100).with_options(seed=1, threads=3)
    for _ in range(2):
        assert sorted(row["line"] for row in ds) == sorted(LINES.decode().splitlines())
    thread.join()
    assert not list((tmp_path / "tmp").iterdir())


def test_a_long_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, (b"x" * 1000 + b"\n") * 70_000)
    ds = lv.text_lines(str(path)).batch(1000)
    with iter(ds) as it:
        assert sum(len(batch) for batch in it) == 70_000
    thread.join()
    with pytest.raises(errors.FailedPreconditionError, match="can be read once"):
        list(ds)


def test_files_of_one_pipe_have_the_same_bytes(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, LINES)
    one = lv.text_lines(str(path))
    rows = lv.zip(one, one.skip(1).rename({"line": "next"})).to_list()
    thread.join()
    assert len(rows) == 4999


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_while_a_pipe_is_silent_loses_nothing(tmp_path, threads):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with (
        path.open("r+b", buffering=0) as end,
        iter(lv.text_lines(str(path)).batch(10).with_options(threads=threads)) as it,
    ):
        main = threading.main_thread().ident
        rows = []
        for begin in (b"", LINES[:100]):  # one batch, and less than another
            end.write(begin)
            if begin:
                rows += next(it)["line"]
            timer = threading.Timer(0.4, signal.pthread_kill, (main, signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                next(it)
            timer.join()
        writer = threading.Thread(target=end.write, args=(LINES[100:],))
        writer.start()
        rows += [line for batch in itertools.islice(it, 499) for line in batch["line"]]
        writer.join()
    assert [bytes(row) for row in rows] == LINES.splitlines()


SLOW = {
    "text": (lambda p: lv.text_lines(p).map(lambda row: {"n": len(row["line"])}), b"line %d\n"),
    "bytes": (lambda p: lv.text_lines(p, dtype=lv.string), b"line %d\n"),
    "jsonl": (lambda p: lv.jsonl(p, fields={"a": lv.int64}), b'{"a": %d}\n'),
    "csv": (lambda p: lv.csv(p, header=True, infer=True, infer_rows=1), b"%d,x\n"),
    "mix": (lambda p: lv.mix(lv.text_lines(p), lv.range(0).map(row_of_text)), b"line %d\n"),
}


def row_of_text(row):
    return {"line": str(row["value"])}


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("name", SLOW)
def test_a_writer_that_waits_for_an_answer_receives_it(tmp_path, name, threads):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    make, line = SLOW[name]
    with path.open("r+b", buffering=0) as end:
        if name == "csv":
            end.write(b"a,b\n0,x\n")
        with iter(make(str(path)).batch(1 + (name == "csv")).with_options(threads=threads)) as it:
            for i in range(20):
                end.write((line % i) * (1 + (name == "csv" and i > 0)))
                assert next(it)


@needs_command
def test_a_socket_is_standard_input(tmp_path):
    ours, other = socket.socketpair()
    words = [LEVADA, "head", "-", "--json", "-n", "10"]
    with subprocess.Popen(words, stdin=other, stdout=subprocess.PIPE) as process:
        other.close()
        ours.sendall(PLAIN)
        ours.close()
        assert len(process.communicate(timeout=60)[0].splitlines()) == 10


@needs_command
def test_the_name_of_standard_input_is_a_dash(tmp_path):
    (tmp_path / "-").write_bytes(b"a file\n")
    for name, want in (("-", b"input"), ("./-", b"a file")):
        done = piped(["head", name, "--source", "text_lines", "--json"], b"input\n", tmp_path)
        assert want in done.stdout
        done = piped(["convert", f"text_lines:{name}", "-", "--to", "jsonl"], b"input\n", tmp_path)
    done = piped(["run", "@-"], b"range:7", tmp_path)
    assert done.stdout.startswith(b"7 records")
    done = piped(["run", "text_lines:*", "--json"], b"input\n", tmp_path)
    assert b'"keys":["-:0"]' in done.stdout  # the file, as a pattern found it


def test_the_header_of_a_pipe_is_found(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, b"a,b\n1,x\n2,y\n")
    rows = lv.csv(str(path), header=True, infer=True).to_list()
    thread.join()
    assert rows == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_new_data_in_a_fifo_is_an_error(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = write_later(path, b"old\n")
    assert [row["line"] for row in lv.text_lines(str(path))] == ["old"]
    thread.join()
    with path.open("r+b", buffering=0) as again:
        again.write(b"new\n")
        with pytest.raises(errors.FailedPreconditionError, match="has new data now"):
            list(lv.text_lines(str(path)))


BAD_TEXT = {
    "text_lines": (b"good\n" * 20_000, b"\xff\n", b"good\n"),
    "jsonl": (b'{"a": 1}\n' * 20_000, b'{"a": \n', b'{"a": 2}\n'),
    "csv:record_defaults=[int64]": (b"1\n" * 20_000, b"one\n", b"2\n"),
    "fastq": (b"@r\nA\n+\n!\n" * 5000, b"r\nA\n+\n!\n", b"@r\nA\n+\n!\n"),
}


def damage_of(path, source, zipped, threads):
    text = described(source, str(path)) + (",compression=gzip" if zipped else "")
    with pytest.raises(errors.LevadaError) as caught:
        list(lv.from_text(text).with_options(threads=threads))
    return str(caught.value).replace(path.name, "FILE")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("source", BAD_TEXT)
def test_damage_of_text_names_its_line_in_a_pipe_that_is_still_open(
    tmp_path, source, zipped, threads
):
    for data in (b"".join(BAD_TEXT[source]), BAD_TEXT[source][1]):
        if zipped:
            data = gzip.compress(data)
        (tmp_path / "damaged").write_bytes(data)
        want = damage_of(tmp_path / "damaged", source, zipped, threads)
        assert "line 20001" in want or "line 1:" in want
        path = tmp_path / f"pipe{len(data)}"
        os.mkfifo(path)
        with path.open("r+b", buffering=0) as end:
            writer = threading.Thread(target=end.write, args=(data,), daemon=True)
            writer.start()
            assert damage_of(path, source, zipped, threads) == want
            writer.join()


@needs_command
@pytest.mark.parametrize("delay", [0, 0.02, 0.3])
@pytest.mark.parametrize("words", [["verify"], ["info"], ["head"], ["head", "--source", "tar"]])
def test_a_fifo_that_its_writer_closes_at_once_is_an_empty_file(tmp_path, words, delay):
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    command, *options = words
    with subprocess.Popen([LEVADA, command, path, *options], stdout=subprocess.DEVNULL) as process:
        time.sleep(delay)
        os.close(os.open(path, os.O_WRONLY))  # waits until levada has opened it
        assert process.wait(timeout=60) in (0, 1)
