# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, without Sphinx: every page and header is in the navigation, and
every link between files leads somewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import levada as lv
import pytest
from levada._dtypes import DTYPES

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^][]*\]\(<?([^)\s>]+)>?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGES.md",
       "SECURITY.md", "packaging/README.md", "bench/RESULTS.md")  # fmt: skip
# For the Python package; and the names of plug-ins, which are those of the other headers.
NOT_SHOWN = {"binding.h", "levada.h", "plugin_names.h"}
PAGES = [*(ROOT / name for name in TOP), *(ROOT / "docs").rglob("*.md")]


def entries(page):
    """The pages that the toctrees of a page name; those of the README are in navigation.md."""
    source = SITE / "navigation.md" if page == ROOT / "README.md" else page
    for body in TOCTREE.findall(source.read_text()):
        for line in body.splitlines():
            if not line or line.startswith(":"):
                continue
            name = re.sub(r".*<(.*)>", r"\1", line)
            if "*" in name:
                yield from page.parent.glob(f"{name}.md")
            else:
                yield page.parent / f"{name}.md"


def anchors(page):
    """Headings as links name them."""
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def imported(path):
    """A module that is not part of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation():
    found, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop().resolve()
        assert page.exists(), page
        if page not in found:
            found.add(page)
            todo += entries(page)
    pages = set(PAGES) - {SITE / "navigation.md"}
    missing = sorted(str(page.relative_to(ROOT)) for page in pages - found)
    assert missing == [], "add them to a toctree of docs/site"


# What people type into the search, and a page that must have an answer.
SEARCHED = {
    "S3": "limits", "GCS": "limits", "Parquet": "limits", "FSDP": "distributed",
    "DDP": "distributed", "Slurm": "distributed", "Ray": "distributed", "macOS": "install",
    "Windows": "install", "aarch64": "install", "FAQ": "troubleshooting",
    "Hugging Face": "coming-from", "corrupt": "troubleshooting",
    "out of memory": "troubleshooting", "hang": "troubleshooting", "glossary": "glossary",
    "license": "install", "cite": "citing", "mixture weights": "cookbook",
    "padding": "choose-buckets", "packing": "packing", "resume": "save-and-restore",
    "shuffle": "concepts", "multi GPU": "distributed",
}  # fmt: skip


@pytest.mark.parametrize(("words", "name"), SEARCHED.items())
def test_a_search_finds_a_page(words, name):
    text = (ROOT / f"docs/{name}.md").read_text().lower()
    assert all(re.search(rf"\b{word}", text) for word in words.lower().split())


def test_every_public_header_is_in_the_reference():
    pages = "".join(page.read_text() for page in (SITE / "reference").glob("c-*.md"))
    shown = re.findall(r"^```\{functions\} levada/(\w+\.h)$", pages, re.MULTILINE)
    headers = {path.name for path in (ROOT / "include/levada").glob("*.h")}
    assert "c:autodoc" not in pages, "write ```{functions} levada/NAME.h"
    assert sorted(shown) == sorted(headers - NOT_SHOWN), "add it to docs/site/reference/c-*.md"


def listed():
    """The names in the fences of the Python reference: "levada.Dataset.shuffle"."""
    for page in sorted((SITE / "reference").glob("python-*.md")):
        text = page.read_text()
        for owner, names in re.findall(r"^```\{members\} (\S+)\n(.*?)^```$", text, re.M | re.S):
            yield from (f"{owner}.{name}" for name in names.split())
        for path, names in re.findall(r"^```\{class\} (\S+)\n(.*?)^```$", text, re.M | re.S):
            yield from (path, *(f"{path}.{name}" for name in names.split()))


def test_every_public_name_is_on_one_page_of_the_reference():
    found = list(listed())
    assert len(set(found)) == len(found)
    elsewhere = {*DTYPES, "errors", "samples", "train"}  # the table of dtypes; modules
    assert {n for n in lv.__all__ if f"levada.{n}" not in found} == elsewhere
    assert {n for n in lv.train.__all__ if f"levada.train.{n}" not in found} == set()
    methods = [name for name in dir(lv.Dataset) if not name.startswith("_")]
    assert [name for name in methods if f"levada.Dataset.{name}" not in found] == []


def test_every_page_of_the_python_reference_has_an_example():
    for page in (SITE / "reference").glob("python-*.md"):
        assert "```python\n" in page.read_text(), page.name


def test_every_function_of_c_and_every_header_has_a_sentence():
    sys.path.insert(0, str(SITE))
    expand = imported(SITE / "expand.py")
    missing = []
    for header in sorted((ROOT / "include/levada").glob("*.h")):
        text = header.read_text()
        missing += [name for name, about in expand.declared(text) if not about]
        if header.name not in NOT_SHOWN and not expand.header_sentence(text):
            missing.append(header.name)
    assert missing == []


def test_every_command_is_in_the_reference():
    page = (SITE / "reference" / "command.md").read_text()
    shown = re.findall(r"^```\{command-help\}\n([\w-]+)\n", page, re.MULTILINE)
    table = re.findall(r"^\| \[`levada ([\w-]+)", (ROOT / "docs/command.md").read_text(), re.M)
    assert sorted(shown) == sorted(table)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        name, _, anchor = link.partition("#")
        if "://" in name or name.startswith("mailto:"):
            continue
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}"


def test_the_errors_of_the_page_on_troubleshooting_are_those_of_the_code():
    page = (ROOT / "docs/troubleshooting.md").read_text().partition("## Errors")[2]
    rows = re.findall(r"^\| `([^`]+)`", page.partition("\n## ")[0], re.MULTILINE)
    sources = [*(ROOT / "src").rglob("*.c"), *(ROOT / "python/levada").rglob("*.py")]
    texts = "".join(re.sub(r'"\s*f?"', "", path.read_text()) for path in sources)
    elsewhere = {
        "UnimplementedError",
        "externally-managed-environment",
    }  # a class; a message of pip
    assert [row for row in rows if row not in texts and row not in elsewhere] == []
    assert len(rows) > 10


def test_plain_comments_become_documentation():
    comments = imported(SITE / "comments.py")
    header = (
        "/* SPDX */\n/*\n * Things.\n */\n#ifndef LEVADA_A_H\n#define LEVADA_A_H\n"
        "typedef struct a {\n    int b; /* a number,\n            * or two */\n} a;\n"
        "/* Frees *p. */\nLEVADA_API void f(void *p);\n#endif\n"
    )
    assert comments.documented(header) == (
        "/**\n * Things.\n */\n/**/\n#pragma once\n"
        "/** */\ntypedef struct a {\n    /** a number,\n            * or two */\n    int b;\n} a;\n"
        "/** Frees *p. */\nLEVADA_API void f(void *p);\n"
    )
    text = "Frees *p of `q`.\n\nrows: how\n    many\nend: the last\n\n    f(x)"
    assert comments.restructured(text, options=True) == [
        "Frees \\*p of ``q``.", "",
        "", ":param rows: how", "  many", "", ":param end: the last", "",
        "::", "", "        f(x)", "",
    ]  # fmt: skip


def test_each_error_of_a_docstring_is_an_item():
    comments = imported(SITE / "comments.py")
    lines = ["Reads.", "", "Raises:", "    ValueError, TypeError: it is", "        wrong."]
    comments.docstring(None, "function", "f", None, None, lines)
    items = [line for line in lines if line.startswith(":raises")]
    assert items == [":raises ValueError: it is wrong.", ":raises TypeError: it is wrong."]


def test_the_chart_is_that_of_the_results():
    done = subprocess.run([sys.executable, ROOT / "bench/chart.py", "--check"], check=False)
    assert done.returncode == 0, "python bench/chart.py"


def test_the_chart_has_peers_that_were_measured_and_no_limits():
    chart = imported(ROOT / "bench/chart.py")
    page = f"""Machine: Box (AVX2), 2 cores, 1 GiB.
| # | workload | ours | against | its value |
|---|---|---|---|---|
| P1 | {chart.ROW} | 1,500 (1..2) | tf recipe | - |
| | | | <new> | 100 (1..2) |
| | | | ours in C (limit) | 2,000 (1..2) |
| P1 | another row | 9 (1..2) | torch DataLoader | 8 (1..2) |
"""
    assert chart.values(page) == {"ours": 1500, "<new>": 100}
    assert "&lt;new&gt;" in chart.picture(page) and "Box (AVX2), 1 of 2 cores." in chart.picture(
        page
    )


def test_the_picture_of_the_readme_is_that_of_a_run():
    done = subprocess.run([sys.executable, ROOT / "docs/images/first.py", "--check"], check=False)
    assert done.returncode == 0, "python docs/images/first.py"
    drawn = re.search('aria-label="(.*?)"', (ROOT / "docs/images/first.svg").read_text())[1]
    described = re.search(r"^!\[(.*)\]", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    assert re.findall(r"\d+ %", described) == re.findall(r"\d+ %", drawn)


def test_the_readme_begins_with_a_short_program():
    python = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(python[1].splitlines()) <= 18
