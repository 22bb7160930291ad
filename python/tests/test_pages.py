# SPDX-License-Identifier: Apache-2.0
"""Every snippet of the README and the guides runs as it stands, and every output shown is real."""

import subprocess
import sys

import pages
import pytest

# stages.md is generated from the tables; the conformance suite runs its examples.
FOUND = [
    *(pages.ROOT / "docs").glob("*.md"),
    *(pages.ROOT / "docs/site/reference").glob("python-*.md"),
]
PAGES = ["README.md", *sorted(str(page.relative_to(pages.ROOT)) for page in FOUND)]
RUN = [page for page in PAGES if page != "docs/stages.md"]


@pytest.mark.parametrize("page", RUN)
def test_a_page_runs_as_it_stands(page):
    if not (pages.ROOT / "build/release/meson-uninstalled").is_dir():
        pytest.skip("needs the library of `make build`")
    if missing := pages.missing(pages.ROOT / page):
        pytest.skip(f"needs {', '.join(missing)} (ci/requirements-*.txt)")
    words = [sys.executable, pages.__file__, page]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-3000:]}"


@pytest.mark.parametrize(
    ("shown", "real", "equal"),
    [
        ("a 0.31 s\n", "a 12 s\n", True),
        ("3 records\n", "4 records\n", False),
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\n", "a\nb\n", True),
        ("a\n...\nz\n", "a\nb\n", False),
        ("a\n", "a\nb\n", False),
        ("", "a\n", False),
        ("5.1 MiB/s\n", "7 KiB/s\n", True),
        ("a → b.gz   3 records · 9 B → 4 B\n", "a → b.gz   3 records · 9 B → 1.5 KiB\n", True),
        ("a → b.gz   3 records · 9 B → 4 B\n", "a → b.gz   3 records · 8 B → 4 B\n", False),
        ("a → b   3 records · 9 B → 4 B\n", "a → b   3 records · 9 B → 5 B\n", False),
    ],
)
def test_outputs_are_compared_but_for_what_varies(shown, real, equal):
    assert bool(pages.same(shown, real)) == equal


def test_a_command_goes_on_while_a_quote_is_open():
    found = pages.commands("$ a 'b\n  c' d\nout\n$ e\n")
    assert [(command, shown) for command, shown, _, _ in found] == [
        ("a 'b\n  c' d\n", "out\n"),
        ("e\n", ""),
    ]


MADE = """```python
from pathlib import Path
FIRST = Path("one").write_text("1")
```
"""
ALONE = """```python
import os
assert not any(path.is_file() for path in os.scandir())
assert __name__ == "__main__" and "FIRST" not in globals()
```
"""


@pytest.mark.parametrize(
    ("after", "scripts"),
    [
        (ALONE, 2),
        (ALONE + ALONE, 3),
        ("```python\nassert FIRST == 1\n```\n", 1),
        ("```python\ndef f():\n    return FIRST\nassert f() == 1\n```\n", 1),
        ("```python\nFIRST = 2\nassert [x for x in [FIRST]] == [2]\n```\n", 2),
        ("```python\nassert open('one').read() == '1'\n```\n", 1),
        ("```python\nassert 1\n```\n```python\nassert FIRST\n```\n", 1),
        ("```python\nassert 1\n```\n```console\n$ cat one\n```\n", 1),
    ],
)
def test_snippets_that_stand_alone_run_in_a_folder_of_their_own(
    tmp_path, monkeypatch, after, scripts
):
    begun, begin = [], pages.Run.begin
    monkeypatch.setattr(pages.Run, "begin", lambda run: begun.append(begin(run)))
    (tmp_path / "page.md").write_text(MADE + after)
    assert pages.run_page(tmp_path / "page.md") == []
    assert len(begun) == scripts
