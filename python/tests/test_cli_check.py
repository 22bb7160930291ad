# SPDX-License-Identifier: Apache-2.0
"""Plug-ins and the command: `new-plugin` and `check`."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from cli_support import levada
from command import LEVADA, needs_command

ROOT = Path(__file__).resolve().parents[2]

pytestmark = needs_command

TRAITS = ["blind", "count", "divides", "drawn", "one", "permutes", "random"]
CHECKS = ["alike", "save", "cancel", "memory", "limits", "traits"]
FORMAT_CHECKS = ["damage", "places", "probe"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_check_runs_the_conformance_suite_on_a_plugin(tmp_path):
    root = ROOT
    source = root / "plugins" / "example" / "my_reader.c"
    words = ["cc", "-shared", "-fPIC", "-I", root / "include", source, "-o", "my_reader.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    lines = levada("check", "./my_reader.so", cwd=tmp_path).stdout.splitlines()
    assert len(lines) == len(CHECKS)
    assert all(line.startswith("ok   source my_reader: ") for line in lines)
    assert lines[0].endswith("(10 records, 9 settings)")
    words = ["--plugin", "./my_reader.so", "run", "my_reader"]
    assert levada(*words, cwd=tmp_path).stdout.startswith("10 records in ")


# Each kind of plug-in to begin with, and a description that uses it with what is printed.
NEW_PLUGINS = {
    "source": ("my_numbers:300 | batch:100", "300 records in 3 batches"),
    "format": ("my_numbers:my.bin", "2 records in"),
    "decoder": ("text_lines:my.txt | my_numbers", "2 records in"),
    "stage": ("range:10 | my_numbers:3", "10 records in"),
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("kind", NEW_PLUGINS)
def test_a_new_plugin_compiles_and_passes_its_check(kind, tmp_path):
    levada("new-plugin", "my_numbers", "--kind", kind, cwd=tmp_path)
    include = ROOT / "include"
    words = ["cc", "-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    words += ["-shared", "-fPIC", "-I", include, "my_numbers.c", "-o", "my_numbers.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    lines = levada("check", "./my_numbers.so", cwd=tmp_path).stdout.splitlines()
    more = len(FORMAT_CHECKS) if kind == "format" else 0
    assert [line[:4] for line in lines] == ["ok  "] * (len(CHECKS) + more)
    (tmp_path / "my.bin").write_bytes(b"12:twelve bytes3:one")
    (tmp_path / "my.txt").write_text("12\n345\n")
    text, told = NEW_PLUGINS[kind]
    words = ["--plugin", "./my_numbers.so", "run", text]
    assert levada(*words, cwd=tmp_path).stdout.startswith(told)


def test_a_new_plugin_replaces_no_file(tmp_path):
    levada("new-plugin", "my_numbers", cwd=tmp_path)
    text = (tmp_path / "my_numbers.c").read_text()
    assert text.startswith("/*\n * my_numbers - a source")  # the default
    assert max(map(len, text.splitlines())) <= 100
    levada("new-plugin", "my_numbers", "--kind", "stage", cwd=tmp_path, status=1)
    levada("new-plugin", "My-Numbers", cwd=tmp_path, status=2)
    levada("new-plugin", "other", "--kind", "filter", cwd=tmp_path, status=2)
    assert (tmp_path / "my_numbers.c").read_text() == text


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_check_tells_what_broke_and_where_to_look(tmp_path):
    root = ROOT
    source = root / "tests" / "unit" / "plugin_broken.c"
    words = ["cc", "-shared", "-fPIC", "-I", root / "include", source, "-o", "broken.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = levada("check", "./broken.so", "--json", cwd=tmp_path, status=1)
    told = {}
    for line in map(json.loads, done.stdout.splitlines()):
        told[line["name"], line["check"]] = line
    bad = {key for key, line in told.items() if line["result"] == "fail"}
    assert {
        ("broken_blocks", "alike"),
        ("broken_random", "alike"),
        ("broken_threads", "alike"),
        ("broken_restore", "save"),
        ("broken_save", "save"),
        ("broken_cancel", "cancel"),
        ("broken_stop", "cancel"),
        ("broken_drop", "cancel"),
        ("broken_status", "memory"),
        ("broken_leak", "memory"),
        ("broken_example", "limits"),
        ("broken_empty", "alike"),
        *((f"broken_{word}", "traits") for word in TRAITS),
    } == bad
    assert told["broken_restore", "save"]["what"].endswith("record 7 is missing")
    assert all(told[key]["where"] for key in bad)
    assert [told["broken_not", check]["result"] for check in CHECKS] == ["ok"] * len(CHECKS)
    text = levada("check", "./broken.so", cwd=tmp_path, status=1).stdout
    assert "FAIL source broken_restore: continues after a save at every cut: saved after " in text


@pytest.fixture
def prefixed(tmp_path):
    """The source of a plug-in whose examples read files, and a function that compiles it."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    root = ROOT

    def compiled(text):
        (tmp_path / "p.c").write_text(text)
        words = ["cc", "-shared", "-fPIC", "-I", root / "include", "p.c", "-o", "p.so"]
        subprocess.run(words, cwd=tmp_path, check=True)

    return (root / "plugins" / "example" / "prefixed.c").read_text(), compiled


def test_check_writes_the_files_of_every_example(tmp_path, prefixed):
    source, compiled = prefixed
    # The others have no example, which fails, but quickly.
    many = """
    static levada_format_def others[300];
    static char names[300][8];

    for (int i = 0; i < 300; i++) {
        others[i] = prefixed;
        others[i].name = names[i];
        others[i].example = NULL;
        (void)snprintf(names[i], sizeof names[i], "p%d", i);
        LEVADA_TRY(host->add_format(plugin, &others[i], err));
    }
"""
    begin = 'LEVADA_PLUGIN_BEGIN(host, plugin, "prefixed", 1);'
    compiled("#include <stdio.h>\n" + source.replace(begin, begin + many))
    done = levada("check", "./p.so", "--json", cwd=tmp_path, status=1)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    results = {line["result"] for line in lines if line["name"] in ("prefixed", "decode_point")}
    assert results == {"ok"}


def test_check_fails_when_it_cannot_leave_the_folder_of_an_example(tmp_path, prefixed):
    source, compiled = prefixed
    compiled(source)
    (tmp_path / "shim.c").write_text(
        "#include <errno.h>\nint fchdir(int fd) { (void)fd; errno = EACCES; return -1; }"
    )
    words = ["cc", "-shared", "-fPIC", "shim.c", "-o", "shim.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    before = set(Path("/tmp").glob("levada-check-*"))
    done = subprocess.run(
        [LEVADA, "check", "./p.so"],
        cwd=tmp_path,
        env=os.environ | {"LD_PRELOAD": "./shim.so"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "cannot return to the current directory: " in done.stderr
    assert set(Path("/tmp").glob("levada-check-*")) == before


def test_check_of_something_else_fails(tmp_path):
    (tmp_path / "lines.txt").write_text("one\n")
    levada("check", "nothing.so", cwd=tmp_path, status=1)
    levada("check", "./lines.txt", cwd=tmp_path, status=1)


# Records are "#", a digit, and that number of bytes.
FORMAT = """
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

static levada_status hash_next(void *state, const void *args, const uint8_t *data, int64_t size,
                               bool at_end, levada_spans *out, levada_error *err)
{
    int64_t at = 0;
    bool    bad = false;

    (void)state, (void)args;
    out->n = 0;
    while (at < size && out->n < out->capacity) {
        bad = data[at] != '#' || (at + 1 < size && (data[at + 1] < '0' || data[at + 1] > '9'));
        if (bad || size - at < 2 || size - at < 2 + data[at + 1] - '0') break;
        out->begin[out->n] = (int32_t)at + 2;
        out->end[out->n++] = (int32_t)(at += 2 + data[at + 1] - '0');
    }
    out->used = at;
    if (!bad && (!at_end || at == size || out->n == out->capacity)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "this is not a record");
}

static int64_t hash_resync(void *state, const void *args, const uint8_t *data, int64_t size,
                           bool at_end)
{
    (void)state, (void)args, (void)at_end;
    for (int64_t i = 1; i < size; i++) if (data[i] == '#') return i;
    return size;
}

static int32_t hash_probe(const uint8_t *data, int64_t size)
{
    return size > 1 && data[0] == '#' && data[1] >= '0' && data[1] <= '9' ? 12 : 0;
}

static const levada_example_file hash_files[] = {
    { "hash.bin", "#3one#0#5three#4four#1x", 23 }, { NULL, NULL, 0 },
};

static const levada_format_def hash = {
    .struct_size = sizeof(levada_format_def), .name = "hash", .doc = "records",
    .fields = LEVADA_FIELDS("record"),
    .example = "hash:hash.bin", .example_files = hash_files,
    .probe = hash_probe, .next = hash_next, .resync = hash_resync,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "hash", 1);
    return host->add_format(plugin, &hash, err);
}
"""
# What is replaced in it, and the check that must fail, with a part of its message.
WRONG_FORMATS = {
    ("", ""): None,
    ("if (data[i] == '#') return i;", "if (data[i] == '#') return i + 1;"): "damage resync()",
    ("return i;\n    return size;", "return size;\n    return size;"): "damage resync()",
    ("LEVADA_EDATA_LOSS", "LEVADA_EUNAVAILABLE"): "damage next()",
    ("    return levada_fail(err", "    out->n = 0;\n    return levada_fail(err"): "damage next()",
    # Padding before a record, which may follow damage, is not used up by a call of its own.
    (
        "    out->n = 0;\n",
        "    out->n = 0;\n    while (at < size && data[at] == 0) at++;\n",
    ): "places next()",
    ("? 12 : 0", "? 0 : 0"): "probe probe()",
    ("return size > 1 && data[0] == '#' &&", "return data[0] == 300 &&"): "probe probe()",
    ("return size > 1 &&", "return size >= 0 ? 20 :"): "probe probe()",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("change", WRONG_FORMATS)
def test_check_damages_the_file_of_a_format(change, tmp_path):
    old, new = change
    assert old in FORMAT
    (tmp_path / "hash.c").write_text(FORMAT.replace(old, new))
    words = ["cc", "-shared", "-fPIC", "-I", ROOT / "include", "hash.c", "-o", "hash.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    wrong = WRONG_FORMATS[change]
    done = levada("check", "./hash.so", "--json", cwd=tmp_path, status=1 if wrong else 0)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["check"] for line in lines] == CHECKS + FORMAT_CHECKS
    bad = [f"{line['check']} {line['where']}" for line in lines if line["result"] == "fail"]
    assert any(text.startswith(wrong) for text in bad) if wrong else bad == []
    assert done.stderr == ""


# What is replaced in plugins/example/memory.c, and the check that must fail.
WRONG_OPENERS = {
    ("", ""): None,
    ("*made = size < left ? size : left;", "*made = size < left ? (size + 1) / 2 : left;"): "read",
    ("*out = ((const", "*out = 1 + ((const"): "read",
    ("found ? (int64_t)strlen(found->text)", "found ? (int64_t)1"): "read",
    ("(size_t)*made);", "(size_t)*made), data[size] = 0;"): "read",
    ("LEVADA_ENOT_FOUND", "LEVADA_EUNAVAILABLE"): "missing",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("change", WRONG_OPENERS)
def test_check_reads_through_an_opener(change, tmp_path):
    source = (ROOT / "plugins" / "example" / "memory.c").read_text()
    assert change[0] in source
    (tmp_path / "m.c").write_text(source.replace(*change))
    words = ["cc", "-shared", "-fPIC", "-I", ROOT / "include", "m.c", "-o", "m.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    wrong = WRONG_OPENERS[change]
    done = levada("check", "./m.so", "--json", cwd=tmp_path, status=1 if wrong else 0)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["check"] for line in lines] == ["read", "missing", "shared"]
    bad = [line["check"] for line in lines if line["result"] == "fail"]
    assert (wrong in bad) if wrong else bad == []


CRASHING = """
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>
#include <stdlib.h>

static levada_status crash_apply(void *state, const void *args, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    (void)state, (void)args, (void)err;
    if (levada_block_rows(in) == 7) abort();
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static const levada_stage_def crash = {
    .struct_size = sizeof(levada_stage_def), .name = "crash", .doc = "crashes",
    .example = "range:100 | crash", .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE),
    .apply = crash_apply,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "crash", 1);
    return host->add_stage(plugin, &crash, err);
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_crash_names_the_check(tmp_path):
    (tmp_path / "crash.c").write_text(CRASHING)
    words = ["cc", "-shared", "-fPIC", "-I", ROOT / "include", "crash.c", "-o", "crash.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run(
        [LEVADA, "check", "./crash.so"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.startswith("levada: check: crash: the plug-in crashed in the check: ")


# Each ends the process while it is loaded.
ENDING = {
    "__attribute__((constructor)) static void begin(void) { abort(); }": "crashed",
    "int levada_plugin_main(void) { return *(volatile int *)0; }": "crashed",
    "int levada_plugin_main(void) { exit(0); }": "called exit()",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("source", ENDING)
def test_a_plugin_that_ends_the_process_has_not_passed(tmp_path, source):
    (tmp_path / "ends.c").write_text("#include <stdlib.h>\n" + source + "\n")
    words = ["cc", "-w", "-shared", "-fPIC", "ends.c", "-o", "ends.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run(
        [LEVADA, "check", "./ends.so"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"ends.so: the plug-in {ENDING[source]} in the check: it can be loaded" in done.stderr


def test_bench_needs_at_least_one_run():
    words = [LEVADA, "bench", "range:10", "--repeat", "0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "levada: bench: --repeat must be at least 1\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_plugin_that_crashes_while_it_is_loaded_is_named(tmp_path):
    source = "int levada_plugin_main(void) { return *(volatile int *)0; }\n"
    (tmp_path / "ends.c").write_text(source)
    words = ["cc", "-w", "-shared", "-fPIC", "ends.c", "-o", "ends.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    words = [LEVADA, "--plugin", "./ends.so", "run", "range:3"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr == "levada: plug-in './ends.so' crashed while it was loaded\n"
