# SPDX-License-Identifier: Apache-2.0
"""The programs of other libraries on docs/coming-from.md: they run where the library is installed,
on the files that the page writes. What levada does in their place runs with all pages."""

import importlib.util
import re

import pages
import pytest

PAGE = pages.ROOT / "docs" / "coming-from.md"
FENCES = list(pages.fences(PAGE.read_text()))
BEFORE = [fence.code for fence in FENCES if fence.words == ["python", "before"]]
SETUP = next(fence.code for fence in FENCES if fence.words == ["python"])
MISSING_DATA = {"lhotse": "the page writes no manifest of recordings"}


def library(code):
    """The library of a program: the last one that it imports by its own name."""
    names = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    return next(name for name in names if name not in ("json", "glob", "numpy"))


@pytest.mark.parametrize("code", BEFORE, ids=library)
def test_the_program_of_the_other_library_runs(code, tmp_path, monkeypatch):
    compile(code, library(code), "exec")
    if library(code) in MISSING_DATA or not importlib.util.find_spec(library(code)):
        pytest.skip(f"needs {library(code)}")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    exec(SETUP, names)
    exec(code, names)


def test_each_library_of_the_page_has_a_table_and_a_program():
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) == len(BEFORE) == 9
    for part in parts:
        assert "\n|---|---|\n" in part and "```python before\n" in part, part[:20]
