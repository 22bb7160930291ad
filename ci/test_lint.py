# SPDX-License-Identifier: Apache-2.0
"""Every check fails on a breach of its law, and on nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import format as layout
import gen_builtins
import lib
import lint_circles
import lint_commit
import lint_deps
import lint_exports
import lint_headers
import lint_hooks
import lint_names
import lint_numbers
import lint_size
import lint_source
import lint_stages
import lint_words
import mutate

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
GOOD = (
    SPDX
    + """#include "base/alloc.h"

typedef struct split_state { int rows; } split_state;

static const int split_table[] = { 1, 2 };
static const struct {
    const char *name;
} split_rows[] = { { "a" } };

static int split_next(split_state *s, levada_error *err)
{
    if (s->rows == split_table[0]) goto out;
    LEVADA_TRY(levada_cursor_fill(s, err));
out:
    return 0;
}

const levada_stage_def levada_stage_split = { .name = "split" };
"""
)
DEEP = "{ if (a) for (;;) while (b) { switch (c) { case 1: if (d) e(); } } }"
LONG = "{\n" + "    a();\n" * 60 + "}\n"
HUGE = "{\n" + "    a();\n" * 100 + "}\n"

# check, file, its text behind the SPDX line, a part of what the check must say
BREACHES = [
    (lint_size, "src/base/a.c", "int x;\n" * 900, "901 lines, at most 900"),
    (lint_size, "include/levada/a.h", "int x;\n" * 400, "401 lines, at most 400"),
    (lint_size, "src/base/a.c", f"/* {'x' * 100} */", "columns"),
    (lint_size, "src/base/a.c", f"static void a_long(void)\n{LONG}", "function of 63 lines"),
    (lint_size, "src/base/a.c", f"static void a_deep(void)\n{DEEP}", "nesting 5"),
    (lint_size, "ci/a.py", "def f():\n" + "    x = 1\n" * 60, "function of 61 lines"),
    (lint_source, "src/base/a.c", "int f(void)\n{\n#if X\n#endif\n}", "#if inside a function"),
    (lint_source, "src/base/a.c", "#define A(x) do { return x; } while (0)", "may return"),
    (lint_source, "src/base/a.c", "void f(void)\n{ goto end; end: ; }", "the one label is out"),
    (lint_source, "src/base/a.c", "void f(levada_error *err, int a);", "is not last"),
    (lint_source, "src/base/a.c", "void f(void) { free(p); }", "raw memory"),
    (lint_source, "src/base/a.c", 'void f(void) { getenv("A"); }', "levada_env"),
    (lint_source, "src/base/a.c", 'void f(void) { printf("A"); }', "levada_env"),
    (lint_source, "src/batch/a.c", "void f(void) { pthread_create(a); }", "only in runtime/"),
    (lint_source, "src/batch/a.c", "static atomic_int a;", "atomics only"),
    (lint_source, "src/base/a.c", "static int a_count;", "mutable object"),
    (lint_source, "src/base/a.c", "static const char *a_name;", "mutable object"),
    (lint_source, "src/base/a.c", "void f(void) { static int n; }", "mutable object"),
    (lint_source, "src/base/a.c", "int f(void) __attribute__((pure));", "compiler.h"),
    (lint_source, "include/levada/a.h", "static inline int f(void) { return 1; }", "inline"),
    (lint_source, "include/levada/a.h", "levada_status levada_f(int a);", "MUST_USE"),
    (lint_source, "python/_levada/a.c", "void f(void) { PyList_GetItem(a, 0); }", "borrowed"),
    (lint_names, "src/base/a.c", "static int helper(void) { return 1; }", "begins with a_"),
    (lint_names, "src/base/a.c", "static int levada_a(void) { return 1; }", "must not be called"),
    (lint_names, "src/base/a.c", "int a_next(void) { return 1; }", "begins with levada_"),
    (lint_names, "src/base/a.h", "typedef struct levada_a_t { int x; } levada_a_t;", "POSIX"),
    (lint_names, "src/base/a.h", "typedef struct queue { int x; } queue;", "levada_noun"),
    (lint_names, "src/base/a.h", "typedef enum levada_a { RED } levada_a;", "LEVADA_NOUN"),
    (lint_names, "src/base/a.h", "#define MAX(a, b) a", "LEVADA_NOUN"),
    (lint_names, "src/base/a.c", "int levada_f(int _x) { return _x; }", "begins with _"),
    (lint_names, "src/base/a.c", "int levada_f(int a__x) { return a__x; }", "contains __"),
    (lint_names, "src/base/Big.c", "int levada_f(void) { return 1; }", "lower_snake"),
    (lint_deps, "src/base/a.c", '#include "registry/env.h"', "base/ may not include registry/"),
    (lint_deps, "src/rows/a.c", '#include "runtime/queue.h"', "rows/ may not include runtime/"),
    (lint_deps, "src/batch/a.c", '#include "transform/b.h"', "may not include transform/"),
    (lint_deps, "tools/a.c", '#include "base/alloc.h"', "include/levada/ only"),
    (lint_deps, "include/levada/a.h", '#include "base/alloc.h"', "a public header"),
    (lint_deps, "tools/a.c", "#include <zlib.h>", "outside src/"),
    (lint_deps, "src/io/a.c", "", "meson.build does not know"),
    (lint_deps, "python/levada/a.py", "import numpy as np", "at first use"),
    (lint_deps, "python/levada/a.py", "def f():\n    import torch\n", "interop"),
    (lint_headers, "include/levada/a.h", "size_t levada_f(void);", "does not compile alone as c17"),
    (lint_headers, "include/levada/a.h", "int levada_f(int class);", "alone as c++17"),
    (layout, "src/base/a.c", "int f(void) {\n  return 1;\n}\n", "not formatted"),
]


@pytest.fixture
def tree(tmp_path):
    """An empty repository; returns a function that adds a file."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "ci" / "allow").mkdir(parents=True)
    (tmp_path / ".clang-format").write_bytes((lib.ROOT / ".clang-format").read_bytes())

    def add(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return tmp_path

    add.root = tmp_path
    return add


@pytest.mark.parametrize(("check", "name", "text", "says"), BREACHES)
def test_breach_is_found(tree, check, name, text, says):
    head = "# SPDX-License-Identifier: Apache-2.0\n" if name.endswith(".py") else SPDX
    found = check.check(tree(name, head + text))
    assert any(says in str(finding) for finding in found), found


@pytest.mark.parametrize("check", [lint_size, lint_source, lint_names, layout])
def test_good_file_passes(tree, check):
    assert check.check(tree("src/batch/split.c", GOOD)) == []


def test_missing_spdx_line_is_found(tree):
    assert lint_source.check(tree("src/base/a.c", "int x;\n"))


def test_core_knows_no_stage_by_name(tree):
    tree("src/transform/split.c", GOOD)
    tree("src/batch/b.c", SPDX + 'static const char *const b_name = "split";\n')
    root = tree(
        "src/run/a.c", SPDX + '/* "split" */\nstatic const char a_names[] = "split" "all";\n'
    )
    assert [f.key for f in lint_source.check(root)] == ["src/run/a.c:split"]


def test_outside_library_in_two_files_is_found(tree):
    tree("src/io/a.c", "#include <zlib.h>\n")
    tree("src/meson.build", "'a', 'b'")
    assert lint_deps.check(tree.root) == []
    found = lint_deps.check(tree("src/io/b.c", "#include <zlib.h>\n"))
    assert [finding.key for finding in found] == ["src/io/a.c:zlib", "src/io/b.c:zlib"]


def test_pardon_needs_a_reason_and_a_breach(tree):
    root = tree("src/base/a.c", f"{SPDX}static void a_long(void)\n{LONG}")
    found = lint_size.check(root)
    tree("ci/allow/size.txt", "src/base/a.c:a_long  # a table of cases\n")
    assert lib.unpardoned(root, "size", found) == []
    assert "no longer needed" in str(lib.unpardoned(root, "size", []))
    tree("ci/allow/size.txt", "src/base/a.c:a_long\n")
    with pytest.raises(SystemExit):
        lib.unpardoned(root, "size", found)


def test_no_pardon_above_the_ceiling(tree):
    root = tree("src/base/a.c", f"{SPDX}static void a_huge(void)\n{HUGE}")
    tree("ci/allow/size.txt", "src/base/a.c:a_huge  # please\n")
    assert any("103 lines" in str(f) for f in lib.unpardoned(root, "size", lint_size.check(root)))


def test_kernel_may_be_longer(tree):
    root = tree("src/base/crc_avx2.c", f"{SPDX}static void crc_fold(void)\n{HUGE}")
    assert lint_size.check(root) == []


def compile_library(root: Path, text: str) -> Path:
    """BUILD/src with liblevada.a and liblevada.so made of this text."""
    folder = root / "build" / "src"
    folder.mkdir(parents=True)
    (folder / "a.c").write_text(text)
    command = "cc -fPIC -c a.c && ar rc liblevada.a a.o && cc -shared -o liblevada.so a.o"
    subprocess.run(command, shell=True, cwd=folder, check=True)
    return root / "build"


def test_exports_match_the_list(tree):
    root = tree("ci/exports.txt", "levada_a\nlevada_gone\n")
    build = compile_library(
        root, "int levada_a(void) { return 1; } int levada_b(void) { return 1; }"
    )
    texts = [str(finding) for finding in lint_exports.check(root, build)]
    assert len(texts) == 2
    assert "exported but not listed" in texts[0] and "levada_b" in texts[0]
    assert "listed but not exported" in texts[1] and "levada_gone" in texts[1]


def test_writable_data_is_found_and_constants_are_not(tree):
    root = tree("ci/exports.txt", "")
    text = 'static int bad = 1; static const char *const good[] = { "a" };'
    text += '__attribute__((visibility("hidden"))) const void *f(void) { bad++; return good; }'
    found = lint_exports.check(root, compile_library(root, text))
    assert [finding.key for finding in found] == ["a.o:bad"]


def test_plugin_exports_its_entry_point_only(tree):
    root = tree("ci/exports.txt", "")
    build = compile_library(root, "")
    plugins = build / "plugins"
    plugins.mkdir()
    text = "int levada_plugin_main(void) { return 0; } int other(void) { return 1; }"
    (plugins / "a.c").write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "a.so", "a.c"], cwd=plugins, check=True)
    assert [f.key for f in lint_exports.check(root, build)] == ["plugins/a.so:other"]


@pytest.mark.parametrize(
    ("message", "breaches"),
    [
        ("queue: close carries a status\n\nWhy.", 0),
        ("Fix things", 1),
        ("queue: " + "x" * 70, 1),
        ("queue: done.", 1),
        ("queue: done\nmore", 1),
    ],
)
def test_commit_messages(message, breaches):
    assert len(lint_commit.check_message("abc", message)) == breaches


def test_lined_up_columns_may_stay_and_indentation_may_not():
    assert layout.merged(["    int   x;"], ["    int x;"]) == (["    int   x;"], 0)
    assert layout.merged(["  int x;"], ["    int x;"]) == (["    int x;"], 1)


def test_builtins_compile(tmp_path):
    output = tmp_path / "builtins.c"
    gen_builtins.main(str(output), ["stage:pad", "stage:cast", "format:csv"])
    text = output.read_text()
    assert text.index("&levada_stage_cast") < text.index("&levada_stage_pad")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-std=c17"]
    subprocess.run(["cc", *warnings, "-fsyntax-only", str(output)], check=True)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("/* a file that can't be read, for ever */", ["can't", "for ever"]),
        ("/* END is no error */", ["is no error"]),
        ('fail("there is no file")', ["there is no"]),
        ("/* there is no file: what is no longer needed, for every one */", []),
        ("/*\n * Whoever gives it\n */\nint b; /* behind */", ["whoever", "gives", "behind"]),
        ("int behind; /* a call that gives up or gave up */", []),
    ],
)
def test_phrases_are_found_in_c(tree, text, keys):
    found = lint_words.check(tree("src/base/a.c", f"{SPDX}{text}\n"))
    assert [finding.key for finding in found] == [f"src/base/a.c:{key}" for key in keys]


def test_phrases_are_found_in_docstrings_and_comments_of_python(tree):
    text = 'S = 1\n\n\ndef f():\n    """Whoever calls.\n\n    goes on"""\n'
    text += '    behind = "gives"  # anew\n'
    found = lint_words.check(tree("python/levada/a.py", text))
    keys = [f"python/levada/a.py:{word}" for word in ("whoever", "goes on", "anew")]
    assert sorted((f.line, f.key) for f in found) == list(zip([5, 7, 8], keys, strict=True))


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("src/base/a.c", 'fail("no memory for a block")', "no memory"),
        ("src/base/a.c", 'fail("mode=3 is none of the modes")', "is none of"),
        ("src/base/a.c", 'fail("the saved state is old")', "saved state"),
        ("src/base/a.c", 'fail("a name may not have a colon")', "may not have"),
        ("docs/a.md", "Print the description of the dataset.", "description"),
        ("docs/a.md", "Each folder has an index.", "folder"),
        ("docs/a.md", "It resamples sounds.", "sounds"),
        ("docs/a.md", "A saved state is small.", "saved state"),
        ("docs/a.md", "It has 39364 records.", "39364"),
        ("docs/design/a.md", "It has 39 364 records.", "39 364"),
        ("docs/a.md", "It pads 14% less.", "14"),
        ("CHANGES.md", "It has 1\N{NO-BREAK SPACE}364 records.", "1\N{NO-BREAK SPACE}364"),
        ("include/levada/a.h", "/* Of the first part. */", "of"),
        ("include/levada/a.h", "/* The same for bytes. */", "the same"),
        ("include/levada/a.h", "int a; /* whether it is open */", "whether"),
        ("src/run/a.c", "/* The number of rows. */\nstatic int a(void)\n{ return 0; }", "The"),
        ("src/run/a.c", "/* Rows of it. */\nstatic int a(void)\n{ return 0; }", "Rows"),
    ],
)
def test_phrases_are_found_where_users_read(tree, name, text, key):
    found = lint_words.check(tree(name, f"{SPDX if name.endswith(('.c', '.h')) else ''}{text}\n"))
    assert [finding.key for finding in found] == [f"{name}:{key}"]


def test_code_on_pages_and_other_comments_are_left_alone(tree):
    page = "Write `description=` in `folder`.\n\n```python\nsounds = folder\n```\n"
    assert lint_words.check(tree("docs/a.md", page)) == []
    assert lint_words.check(tree("docs/design/a.md", "The description of a folder.\n")) == []
    assert lint_words.check(tree("src/base/a.c", f"{SPDX}/* Of the first part. */\n")) == []
    numbers = "Write 39,364 in 2026, `x=39364`, skip:1000, 0.1234, and ISO 8601.\n"
    assert lint_words.check(tree("docs/a.md", numbers)) == []
    verb = "/* Decides, or fails. */\nint a(void);\n/* -- part */\nint b(void);\n"
    assert lint_words.check(tree("src/run/a.c", f"{SPDX}{verb}")) == []


def test_files_that_tests_leave_are_found(tmp_path):
    script = Path(__file__).parent / "left_files.sh"
    assert subprocess.run([script, tmp_path]).returncode == 0
    (tmp_path / "pixels.bin").write_text("left")
    done = subprocess.run([script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "pixels.bin" in done.stderr
    assert list(tmp_path.iterdir()) == []  # the next run starts clean


def test_circles_of_more_than_three_modules_are_found(tree):
    for name, other in ("ab", "bc", "cd", "de"):
        tree(f"python/levada/{name}.py", f"def f():\n    from levada import {other}\n")
    typing = "if TYPE_CHECKING:\n    from levada import a\n"
    root = tree("python/levada/e.py", f"from typing import TYPE_CHECKING\n{typing}")
    assert lint_circles.check(root, root / "build") == []
    found = lint_circles.check(tree("python/levada/d.py", "from levada.a import f\n"), root)
    assert [finding.key for finding in found] == ["python/levada"]
    assert "a circle of 4 files, at most 3: python/levada/a.py" in found[0].text
    tree("python/levada/d.py", "from levada.b import f\n")
    assert lint_circles.check(root, root) == []


def test_the_extension_is_not_the_package(tree):
    tree("python/levada/__init__.py", "from levada import a\n")
    for name, other in ("ab", "bc", "cd"):
        tree(f"python/levada/{name}.py", f"from levada import {other}\n")
    root = tree("python/levada/d.py", "from levada import _levada\n")
    assert lint_circles.check(root, root) == []


def test_circles_of_c_files_are_found_by_their_symbols(tree):
    objects = tree.root / "build" / "src" / "liblevada.so.0.1.p"
    objects.mkdir(parents=True)
    for name, other in ("ab", "bc", "cd", "da"):
        text = f"void {other}(void); void {name}(void) {{ {other}(); }}"
        source = tree(f"src/base/{name}.c", text) / f"src/base/{name}.c"
        command = ["cc", "-c", "-o", str(objects / f"base_{name}.c.o"), str(source)]
        subprocess.run(command, check=True)
    found = lint_circles.check(tree.root, tree.root / "build")
    assert [finding.key for finding in found] == ["src/base"]


RESULTS = """\
Goals: 3 pass, 1 below.

| # | workload | ours/it | against | ours | its value |
|---|---|---|---|---|---|
| 1 | lines | 2 | zlib | 1,400 (1..2) | 700 (1..2) |
| | | | tf | | - |
"""


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("<!--fast-->1,400<!--/-->", []),
        ("<!--fast-->1,300<!--/-->", ["1,300 is 1,400"]),
        ("<!--ratio-->2.0<!--/--> and <!--missed-->1<!--/-->", []),
        ("<!--slow-->1<!--/-->", ["no row for slow"]),
        ("<!--none-->1<!--/-->", ["no row for none"]),
    ],
)
def test_numbers_of_pages_are_those_of_the_results(tree, shown, found):
    tree("bench/RESULTS.md", RESULTS)
    names = {"fast": "1; lines; ours; ,.0f", "ratio": "1; lines; ours/zlib; .1f",
             "missed": "goals; below", "none": "1; lines; tf; .0f"}  # fmt: skip
    used = [(name, meaning) for name, meaning in names.items() if f"<!--{name}-->" in shown]
    tree("bench/numbers.txt", "".join(f"{name} = {meaning}\n" for name, meaning in used))
    root = tree("page.md", f"About {shown}\n")
    texts = [finding.text for finding in lint_numbers.check(root)]
    assert len(texts) == len(found)
    assert all(part in text for part, text in zip(found, texts, strict=True))
    lint_numbers.update(root)
    assert ("is" in "".join(texts)) == ((root / "page.md").read_text() != f"About {shown}\n")


def test_a_number_that_no_page_shows_is_found(tree):
    tree("bench/RESULTS.md", RESULTS)
    root = tree("bench/numbers.txt", "fast = 1; lines; ours; ,.0f\n")
    assert [finding.text for finding in lint_numbers.check(root)] == ["no page shows fast"]


STAGE = 'const levada_stage_def levada_stage_split = {\n    .name = "split",\n};\n'
USES = [
    ("src/run/a.c", 'bool a(void) { return strcmp(name, "split") == 0; }', True),
    ("src/run/a.c", 'static const char *const a_names[] = { "split" };', True),
    ("src/run/a.c", '/* as "split" does */', False),
    ("src/run/a.c", 'int a(void) { return levada_state_put_i64(to, "split", 1, err); }', False),
    ("src/transform/split.c", STAGE + 'const char *split_name(void) { return "split"; }', False),
    ("tools/a.c", 'const char *a(void) { return "split"; }', False),
    ("python/levada/a.py", 'found = core.name == "split"', True),
    ("python/levada/a.py", 'found = name in ("x", "split")', True),
    ("python/levada/a.py", 'found = ds.stage("split")', False),
]


@pytest.mark.parametrize(("name", "text", "wrong"), USES)
def test_only_its_file_knows_the_name_of_a_stage(tree, name, text, wrong):
    tree("src/transform/split.c", SPDX + STAGE)
    assert bool(lint_stages.check(tree(name, text + "\n"))) == wrong


def test_a_member_of_a_descriptor_has_two_implementers(tree):
    header = "typedef struct levada_a_def {\n    int (*go)(int), n;\n} levada_a_def;\n"
    tree("include/levada/a.h", header)
    tree("src/a.c", "const levada_a_def a = {\n    .go = a_go,\n    .n = (b){ .m = 1 }.m,\n};\n")
    root = tree("plugins/b.c", "static levada_a_def b = (levada_a_def){ .n = 2 }; /* .go = */\n")
    keys = [finding.key for finding in lint_hooks.check(root)]
    assert keys == ["include/levada/a.h:levada_a_def.go"]


@pytest.mark.parametrize(
    ("line", "variants"),
    [
        ("    if (a < b) return 0;", ["    if (a <= b) return 0;", "    if (a < b) return 1;"]),
        ("    while (i < n && !done) {", [
            "    while (i <= n && !done) {", "    while (i < n || !done) {",
            "    while (!(i < n && !done)) {",
        ]),
        ("    at->count++;", ["    at->count--;"]),
        ("    forget(at, b);", ["    ;"]),
        ("    return true; /* a < b */", ["    return false; /* a < b */"]),
        ("    char *name = text;", []),
    ],
)  # fmt: skip
def test_a_line_has_these_mutants(line, variants):
    assert list(mutate.mutated(line)) == variants
