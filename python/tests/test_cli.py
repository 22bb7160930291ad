# SPDX-License-Identifier: Apache-2.0
"""The command, run as users run it: exit status, standard output, standard error.

Golden texts lie in tests/cli; LEVADA_UPDATE=1 writes them again.
"""

import functools
import html.parser
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unicodedata
import zlib
from pathlib import Path

import levada as lv
import pytest
from cli_support import (  # noqa: F401  a fixture
    PARSE,
    PARSED,
    RECORDS,
    example,
    features,
    ints,
    levada,
    made_folder,
    sequence_example,
    texts,
)
from command import LEVADA, needs_command
from wire import frame, sized

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "cli"
COMMANDS = ["run", "head", "info", "verify", "stats", "convert", "stages", "bench", "check"]
COMMANDS += [
    "new-plugin",
    "ckpt",
    "resume-check",
    "replay",
    "receipts",
    "steps",
    "index",
    "completion",
]
BUCKET = "bucket_by_sequence_length"

pytestmark = needs_command


def golden(name, text):
    path = GOLDEN / name
    if os.environ.get("LEVADA_UPDATE"):
        path.write_text(text)
    assert text == path.read_text()


# Help and wrong usage.


def test_help_lists_the_commands():
    done = levada("--help")
    golden("help.txt", done.stdout)
    assert levada("help").stdout == levada("-h").stdout == done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    text = levada(command, "--help").stdout
    assert text.startswith(f"usage: levada {command} ")
    assert "--help" in text
    assert levada("help", command).stdout == text


def test_no_command_prints_the_help():
    assert levada().stdout == levada("--help").stdout
    columns = {line.index("  ", 14) for line in levada().stdout.splitlines() if "DIR " in line}
    assert len(columns) == 1


def column(line, mark):
    """The column of a terminal on which the last `mark` begins."""
    before = line[: line.rindex(mark)]
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in before)


def test_names_of_any_length_keep_the_columns(tmp_path):
    names = ["q7", "a name that is much longer than the column for names", "日本語の名前"]
    path, rows = str(tmp_path / "a.tfrecord"), tmp_path / "rows.csv"
    with lv.TFRecordWriter(path) as writer:
        writer.write(lv.make_example({name: [1, 2] for name in names}))
    rows.write_text("7,8,9\n")
    for words, mark in (
        (["head", path], "2 values"),
        (["info", path], "2 values"),
        (
            ["head", f"csv:{rows},columns={json.dumps(names)},record_defaults=[int32,int32,int32]"],
            "",
        ),
    ):
        lines = [s for s in levada(*words).stdout.splitlines() if any(name in s for name in names)]
        lines = [s for s in lines if s.startswith("  ") and "lengths" not in s]
        assert len(lines) == 3
        assert len({column(line, mark or line[-1]) for line in lines}) == 1


def test_a_letter_and_its_value_may_be_one_word(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    assert levada("head", "-n1", path).stdout == levada("head", "-n", "1", path).stdout
    assert "two" not in levada("head", "-n1", path).stdout
    assert "unknown option -z1" in levada("head", "-z1", path, status=2).stderr
    assert "must be an integer" in levada("head", "-nx", path, status=2).stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "man"])
def test_completion_knows_every_command_and_option(shell):
    text = levada("completion", shell).stdout.replace("\\-", "-")
    for name in re.findall(r"^  ([a-z-]+)  ", levada().stdout, re.MULTILINE):
        assert name in text
        for option in re.findall(r"--([a-z-]+)", levada(name, "--help").stdout.split("\n\n")[-1]):
            assert option in text, (name, option)
    if shell != "man" and shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)
    assert "available: bash" in levada("completion", "csh", status=2).stderr


def test_bash_completes(tmp_path):
    script = levada("completion", "bash").stdout + "\nCOMP_WORDS=(levada %s); COMP_CWORD=%d\n"
    script += '_levada; echo "${COMPREPLY[@]}"'
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
    assert run(["bash", "-c", script % ("ver", 1)]).stdout == "verify\n"
    assert run(["bash", "-c", script % ("verify --js", 2)]).stdout == "--json\n"
    assert run(["bash", "-c", script % ("completion z", 2)]).stdout == "zsh\n"
    assert run(["bash", "-c", script % ("ckpt s", 2)]).stdout == "show\n"
    assert run(["bash", "-c", script % ("stages bucket", 2)]).stdout == BUCKET + "\n"
    (tmp_path / "a name.txt").touch()
    counted = (script + "; echo ${#COMPREPLY[@]}") % ("info a", 2)
    assert run(["bash", "-c", counted], cwd=tmp_path).stdout == "a name.txt\n1\n"


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes():
    script = levada("completion", "fish").stdout
    for line, name in (("stages bucket", BUCKET), ("completion z", "zsh"), ("ckpt s", "show")):
        command = f"{script}\ncomplete -C 'levada {line}'"
        done = subprocess.run(["fish", "-c", command], capture_output=True, text=True, check=True)
        assert name in done.stdout.split()


def test_verify_has_an_object_for_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    none = tmp_path / "none"
    done = levada("verify", "--json", none, tmp_path / "a.txt", status=1)
    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    assert first["path"] == str(none) and first["error"]["code"] == "ENOT_FOUND"
    assert second["good_records"] == 1


def test_help_of_run():
    golden("help_run.txt", levada("run", "--help").stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu"], "unknown command 'rnu'; did you mean 'run'?"),
        (["xyzzy"], "unknown command 'xyzzy'; levada --help lists all commands"),
        (["--plugins", "a"], "did you mean --plugin?"),
        (["run"], "run: missing argument PIPELINE; see levada run --help"),
        (["run", "range:1", "|", "take:1"], "unexpected argument '|'; quote a pipeline"),
        (["run", "--jsn", "range:1"], "run: unknown option --jsn; did you mean --json?"),
        (["run", "range:1", "--limit"], "run: --limit needs a value (N)"),
        (
            ["run", "range:1", "--limit", "few"],
            "--limit must be an integer, got 'few'",
        ),
        (
            ["run", "range:1", "--limit=-3"],
            "--limit must be an integer, got '-3'",
        ),
        (["run", "range:1", "--json=1"], "--json does not take a value"),
        (["stages", "shufle"], "unknown stage 'shufle'; did you mean 'shuffle'?"),
        (["convert", "a"], "convert: missing argument IN OUT"),
        (["ckpt", "shwo", "a"], "ckpt: use ckpt show FILE or ckpt diff FILE FILE"),
    ],
)
def test_wrong_usage_is_2_and_names_the_nearest(words, message):
    done = levada(*words, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("levada: ") and message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_description_is_wrong_usage():
    done = levada("run", "range:10 | shufle:4", status=2)
    assert "shuffle" in done.stderr and done.stdout == ""


# run


def test_run_says_what_it_did(folder):
    text = levada("run", f"tfrecord:ten.tfrecord | {PARSE} | padded_batch:4", cwd=folder).stdout
    assert text.startswith("10 records in 3 batches · ")


def test_run_json_is_a_line_a_batch(folder):
    words = f"tfrecord:ten.tfrecord | {PARSE} | padded_batch:4"
    golden("run_json.txt", levada("run", words, "--json", cwd=folder).stdout)


def test_run_reads_its_description_from_a_file(folder):
    (folder / "pipe.txt").write_text("tfrecord:ten.tfrecord\n")
    text = levada("run", "@pipe.txt", cwd=folder).stdout
    assert text.startswith("10 records in ")


def test_limit_counts_batches(folder):
    words = ["run", "tfrecord:ten.tfrecord | batch:2", "--json", "--limit", "2"]
    lines = levada(*words, cwd=folder).stdout.splitlines()
    assert [json.loads(line)["batch"] for line in lines] == [0, 1]


def test_resume_goes_on_where_save_stopped(folder):
    words = ["run", "tfrecord:ten.tfrecord | shuffle:5 | batch:2", "--json", "--seed", "7"]
    whole = [json.loads(line)["keys"] for line in levada(*words, cwd=folder).stdout.splitlines()]
    levada(*words, "--limit", "2", "--save", "state", cwd=folder)
    rest = levada(*words, "--resume", "state", cwd=folder).stdout.splitlines()
    assert [json.loads(line)["keys"] for line in rest] == whole[2:]
    assert "fingerprint" in levada("ckpt", "show", "state", cwd=folder).stdout
    assert [p.name for p in folder.glob("state*")] == ["state"]


def test_resume_refuses_the_state_of_another_dataset(folder):
    levada("run", "tfrecord:ten.tfrecord | batch:2", "--save", "state", cwd=folder)
    done = levada(
        "run", "tfrecord:ten.tfrecord | batch:3", "--resume", "state", cwd=folder, status=1
    )
    assert "cannot resume from state" in done.stderr


def test_stats_are_json(folder):
    words = ["run", "tfrecord:ten.tfrecord | batch:4", "--json", "--stats", "stats.json"]
    levada(*words, cwd=folder)
    stats = json.loads((folder / "stats.json").read_text())
    assert stats["records"] == 10 and stats["batches"] == 3


def test_a_missing_file_is_a_failure(tmp_path):
    done = levada("run", "tfrecord:nothing.tfrecord", cwd=tmp_path, status=1)
    assert "nothing.tfrecord" in done.stderr and done.stdout == ""


def test_damage_fails_and_names_the_place(folder):
    done = levada("run", "tfrecord:bad.tfrecord", cwd=folder, status=1)
    assert "bad.tfrecord" in done.stderr and "record 3" in done.stderr


def test_errors_skip_goes_on(folder):
    text = levada("run", "tfrecord:bad.tfrecord", "--errors", "skip", cwd=folder).stdout
    assert text.startswith("9 records in ") and "1 skipped record " in text


def test_nobody_reading_is_quiet(tmp_path):
    words = [LEVADA, "run", "range:1000000 | batch:10", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b'{"batch":0,')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 0


def test_a_full_disk_is_a_failure(folder):
    with Path("/dev/full").open("w") as full:
        words = [LEVADA, "run", "tfrecord:ten.tfrecord", "--json"]
        done = subprocess.run(words, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "cannot write the output" in done.stderr


def test_ctrl_c_ends_cleanly_and_saves(tmp_path):
    words = [LEVADA, "run", "range:1000000000000 | batch:10", "--save", "state"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (130, b"", b"")
    assert (tmp_path / "state").read_bytes().startswith(b"LVDASTAT")


READS = {
    "run": ["run", "text_lines:long.txt"],
    "head": ["head", "long.txt"],
    "stats": ["stats", "text_lines:long.txt"],
    "bench": ["bench", "text_lines:long.txt", "-r", "1"],
    "phases": ["bench", "text_lines:long.txt", "--phases", "-r", "1"],
    "convert": ["convert", "long.txt", "out.tfrecord", "--raw"],
    "convert a table": ["convert", "long.csv", "out.jsonl"],
}


@pytest.mark.parametrize("name", READS)
def test_every_command_that_returns_records_has_their_limit(tmp_path, name):
    (tmp_path / "long.txt").write_bytes(b"a\n" + b"x" * 700_000 + b"\nb\n")
    (tmp_path / "long.csv").write_bytes(b"name\n" + b"x" * 700_000 + b"\nb\n")
    levada(*READS[name], cwd=tmp_path)
    words = [*READS[name], "--max-record-bytes"]
    error = levada(*words, 600_000, cwd=tmp_path, status=1).stderr
    assert "raise it (--max-record-bytes" in error
    for wrong in ("0", "1073741825", "x"):
        error = levada(*words, wrong, cwd=tmp_path, status=2).stderr
        assert f"--max-record-bytes must be from 1 to 1073741824, got '{wrong}'" in error


def test_a_record_that_is_good_for_verify_is_good_for_run(tmp_path):
    with (tmp_path / "long.txt").open("wb") as file:
        file.truncate((256 << 20) + 1)  # one line of zeros
    assert levada("verify", "long.txt", cwd=tmp_path).stdout.endswith("1 good record\n")
    assert levada("run", "text_lines:long.txt", cwd=tmp_path).stdout.startswith("1 record in")


def test_no_progress_line_without_a_terminal(folder):
    done = levada("run", "tfrecord:ten.tfrecord", "--progress", cwd=folder)
    assert done.stderr == ""


def read_all(terminal):
    parts = []
    while select.select([terminal], [], [], 0)[0]:
        try:
            parts.append(os.read(terminal, 1 << 16))
        except OSError:  # how Linux says that the other end is closed
            break
    return b"".join(parts)


def test_progress_line_is_drawn_and_wiped():
    terminal, end = pty.openpty()
    words = [LEVADA, "run", "range:1000000000 | batch:10", "--progress"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=end) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    os.close(end)
    drawn = read_all(terminal).decode()
    os.close(terminal)
    assert " records/s" in drawn and "\n" not in drawn
    assert drawn.endswith("\r\x1b[K")
    assert 1 <= drawn.count("\r") <= 8  # at most ten a second


@pytest.mark.parametrize(("command", "members"), [("info", 3), ("verify", 40)])
def test_one_large_file_has_a_progress_line(tmp_path, command, members):
    """Large enough that a fast machine needs longer than the 0.1 s before the first line."""
    piece = zlib.compressobj(1, zlib.DEFLATED, 31)
    member = piece.compress(b"a line of text\n" * 10**7) + piece.flush()
    (tmp_path / "a.txt.gz").write_bytes(member * members)
    terminal, end = pty.openpty()
    words, drawn = [LEVADA, command, tmp_path / "a.txt.gz"], b""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=end, text=True) as process:
        while process.poll() is None:
            drawn += read_all(terminal)
            time.sleep(0.01)
        text = process.stdout.read()
    os.close(end)
    drawn += read_all(terminal)
    os.close(terminal)
    assert process.returncode == 0 and f"{members}0,000,000" in text
    assert re.search(" records/s.* left", drawn.decode()) and b"\n" not in drawn
    assert drawn.endswith(b"\r\x1b[K")


# head, info (verify: test_cli_verify.py)


def test_head_looks_into_examples(folder):
    golden("head.txt", levada("head", "ten.tfrecord", "-n", "2", cwd=folder).stdout)


def test_head_json_leaves_nothing_out(folder):
    text = levada("head", "ten.tfrecord.gz", "-n", "10", "--json", cwd=folder).stdout
    assert [json.loads(line) for line in text.splitlines()] == PARSED


def test_head_shows_sequences_lines_and_bytes(folder):
    (folder / "s.tfrecord").write_bytes(frame(sequence_example(3)))
    text = levada("head", "s.tfrecord", "--json", cwd=folder).stdout
    assert json.loads(text) == {"context": {"id": [3]}, "sequence": {"tokens": [[0], [1], [2]]}}
    text = levada("head", "lines.txt", "--json", "-n", "2", cwd=folder).stdout
    assert [json.loads(line) for line in text.splitlines()] == [{"line": "one"}, {"line": "two"}]
    (folder / "b.tfrecord").write_bytes(frame(b"\xff\x00"))
    text = levada("head", "b.tfrecord", "--json", cwd=folder).stdout
    assert json.loads(text) == {"record": {"base64": "/wA="}}


def test_info_tells_format_fields_and_lengths(folder):
    text = levada("info", "ten.tfrecord.gz", cwd=folder).stdout
    for part in ("TFRecord", "gzip", "10 records", "Example", "name", "tokens", "int64"):
        assert part in text


def test_info_json(folder):
    info = json.loads(levada("info", "--json", "ten.tfrecord", cwd=folder).stdout)
    assert info["records"] == 10


def test_info_of_a_missing_file_fails(tmp_path):
    done = levada("info", "nothing.tfrecord", cwd=tmp_path, status=1)
    assert "nothing.tfrecord" in done.stderr


# stats


class HTMLTags(html.parser.HTMLParser):
    """The tags and the text of a page, and the tags that it leaves open."""

    def __init__(self, page):
        super().__init__()
        self.seen, self.open, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def padding(lengths, boundaries):
    """Cells over tokens, with every length padded to the longest of its bucket."""
    edges = [0, *boundaries, max(lengths) + 1]
    buckets = [[n for n in lengths if a <= n < b] for a, b in itertools.pairwise(edges)]
    return 1 - sum(lengths) / sum(len(bucket) * max(bucket) for bucket in buckets if bucket)


def test_stats_finds_the_best_boundaries(tmp_path):
    lengths = [1, 1, 2, 3, 3, 3, 7, 8, 12, 12, 13, 20, 21, 40]
    records = [sized(1, features({"x": ints([5] * n)})) for n in lengths]
    (tmp_path / "x.tfrecord").write_bytes(b"".join(map(frame, records)))
    words = ["stats", "tfrecord:x.tfrecord | parse_example:{x:{kind:VarLen,dtype:int64}}"]
    result = json.loads(levada(*words, "--json", "-k", 4, cwd=tmp_path).stdout)
    found = next(row for row in result["strategies"] if row["strategy"] == "4 best buckets")
    best = min(padding(lengths, cut) for cut in itertools.combinations(range(2, 41), 3))
    assert found["padding"] == pytest.approx(best, abs=1e-6)
    cuts = json.loads(re.search(r"boundaries=(\[.*?\])", found["stage"])[1])
    assert padding(lengths, cuts) == pytest.approx(best)
    assert (result["records"], result["tokens"]) == (14, sum(lengths))
    assert result["quantiles"]["max"] == 40 and result["field"] == "x"


def test_stats_writes_a_page_that_loads_nothing(tmp_path):
    name = "<b>\"&'"
    records = [sized(1, features({name: ints([5] * n)})) for n in [3, 900, 2, 41]]
    (tmp_path / "x.tfrecord").write_bytes(b"".join(map(frame, records)))
    spec = json.dumps({name: {"kind": "VarLen", "dtype": "int64"}})
    words = ["stats", f"tfrecord:x.tfrecord | parse_example:{spec}", "--html", "a.html"]
    text = levada(*words, "--max-tokens", 100, "--boundaries", "3,50", cwd=tmp_path).stdout
    assert "given boundaries" in text and "\nrecommended\n  | bucket_by_sequence_length:" in text
    page = (tmp_path / "a.html").read_text()
    tags = HTMLTags(page)
    assert tags.open == [] and {"svg", "rect", "table"} <= set(tags.seen)
    assert not {"script", "link", "img", "iframe", "b"} & set(tags.seen)
    assert "src=" not in page and "url(" not in page and "http" not in page
    assert name in tags.text and "too_long=alone" in tags.text and "given boundaries" in tags.text


def test_stats_refuses_options_out_of_range(folder):
    words = "tfrecord:ten.tfrecord | parse_example:{tokens:{kind:VarLen,dtype:int64}}"
    for bad in (
        ["--max-tokens", 0],
        ["-k", 5000],
        ["--boundaries", "9,x"],
        ["--boundaries", "9,3"],
    ):
        done = levada("stats", words, *bad, cwd=folder, status=2)
        assert done.stdout == "" and done.stderr.startswith("levada: ")
    done = levada("stats", words, "--html", "no/where.html", cwd=folder, status=1)
    assert "no/where.html" in done.stderr and done.stdout == ""


def test_stats_asks_which_field(folder):
    kind = "{kind:VarLen,dtype:int64}"
    words = f"tfrecord:ten.tfrecord | parse_example:{{a:{kind},tokens:{kind}}}"
    done = levada("stats", words, cwd=folder, status=1)
    assert "--field is required; available: a, tokens" in done.stderr
    text = levada("stats", words, "--field", "tokens", cwd=folder).stdout
    assert text.startswith("10 records · 30 tokens · min 1 · p10 1 · median 3 ")
    (folder / "a.txt").write_text("a\nbb\ncccc\n")
    text = levada("stats", "text_lines:a.txt", cwd=folder).stdout
    assert text.startswith("3 records · 7 tokens · ")


def test_ckpt_shows_and_compares(folder):
    words = ["run", "tfrecord:ten.tfrecord | batch:2", "--seed", 1, "--threads", 1]
    levada(*words, "--limit", 1, "--save", "a", cwd=folder)
    levada(*words, "--limit", 2, "--save", "b", cwd=folder)
    text = levada("ckpt", "show", "a", cwd=folder).stdout
    assert "dataset      tfrecord:ten.tfrecord | batch:2\n" in text and "0.tfrecord/" in text
    assert levada("ckpt", "diff", "a", "a", cwd=folder).stdout == ""
    assert levada("ckpt", "diff", "a", "b", cwd=folder, status=1).stdout.startswith("- ")
    levada("ckpt", "show", "ten.tfrecord", cwd=folder, status=1)


# stages, bench


def test_stages_come_from_the_tables():
    names = [op["name"] for op in json.loads(levada("stages", "--json").stdout)]
    listed = levada("stages").stdout
    assert "shuffle" in names and "tfrecord" in names
    assert all(f"  {name} " in listed for name in names)


def test_help_of_a_stage():
    text = levada("stages", "shuffle").stdout
    assert text.startswith("shuffle (") and "buffer_size" in text


def test_bench_json():
    words = ["bench", "range:1000 | batch:10", "--json", "--repeat", "1"]
    result = json.loads(levada(*words).stdout)
    assert result["records"] == 1000 and result["batches"] == 100 and result["seconds"] > 0


def test_bench_phases():
    words = ["bench", "--phases", "--repeat", "1", "range:1000 | shuffle:10 | batch:10"]
    lines = levada(*words).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["phase", "range", "shuffle", "batch", "all"]
    result = json.loads(levada(*words, "--json").stdout)
    assert result["records"] == 1000
    assert [phase["phase"] for phase in result["phases"]] == ["range", "shuffle", "batch"]
    total = sum(phase["nanoseconds"] for phase in result["phases"])
    assert abs(total - result["nanoseconds"]) < 1


def test_bench_phases_of_a_source_that_verifies(tmp_path):
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        writer.write(b"record")
    lines = levada("bench", "--phases", f"tfrecord:{path} | batch:2").stdout
    assert "tfrecord: read, frame" in lines and "tfrecord: checksum" in lines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("range:1000 | repeat:3 | batch:10", "1000 records alone and 3000 in the pipeline"),
        ("range:1000 | repeat | batch:1", "1000 records alone and "),
        ("range:100000 | take:10", "100000 records alone and "),
    ],
)
def test_bench_phases_are_of_one_pass(text, why):
    done = levada("bench", "--phases", "--repeat", "1", text, status=1)
    assert why in done.stderr and done.stdout == ""


@pytest.mark.parametrize("option", ["--limit=5", "--threads=2"])
def test_bench_phases_of_all_records_on_one_thread(option):
    done = levada("bench", "--phases", option, "range:1000 | batch:10", status=2)
    assert "cannot be combined with --limit" in done.stderr


def test_bench_phases_in_processor_time():
    words = ["bench", "--repeat", "1", "--json", "--cpu", "range:200000 | batch:10"]
    result = json.loads(levada(*words, "--phases").stdout)
    assert [phase["phase"] for phase in result["phases"]] == ["range", "batch"]
    assert result["nanoseconds"] > 0
    assert "--cpu is an option of --phases" in levada(*words, status=2).stderr


def test_bench_table():
    text = levada("bench", "range:1000 | batch:10", "--repeat", "1").stdout
    assert text.startswith("records     1,000") and "batch" in text


def test_head_reads_with_the_options_of_a_source(folder):
    (folder / "rows.x").write_text("a,b\n1,2\n")
    done = levada("head", "rows.x", "--json", "--source", "csv:infer=true", cwd=folder)
    assert done.stdout == '{"a":1,"b":2}\n'
    done = levada("head", "rows.x", "--source", "range:3", cwd=folder, status=1)
    assert "source='range:3' must be a file format" in done.stderr
