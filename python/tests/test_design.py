# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/design: all are in the index, each has its parts, what they name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design"
FOLDERS = "src|tests|include|python|tools|fuzz|bench|ci|plugins|examples|docs"
PARTS = ["Properties", "Operation", "Ownership", "Threads", "Failure", "Tests", "Not done here"]


def pages():
    return sorted(page for page in DESIGN.glob("*.md") if page.name != "README.md")


def named(text):
    """Files of the repository that stand in backquotes, and the targets of links."""
    files = re.findall(rf"`((?:{FOLDERS})/[^`* ]+)`", text)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    return files, links


def test_the_index_names_every_page_once():
    index = (DESIGN / "README.md").read_text()
    assert sorted(re.findall(r"\]\(([a-z-]+\.md)\)", index)) == [page.name for page in pages()]


@pytest.mark.parametrize("page", [DESIGN / "README.md", *pages()], ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page):
    files, links = named(page.read_text())
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert [link for link in links if not (page.parent / link).resolve().exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_has_its_parts_in_order(page):
    assert re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE) == PARTS


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_is_short(page):
    lines = page.read_text().splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 160


def test_files_named_without_their_folder_are_there():
    """`block.c` after the full name of another file is a file of the same folder or of any."""
    known = {
        path.name
        for folder in ("src", "tools", "python")
        for path in (ROOT / folder).rglob("*.[ch]")
    }
    for page in pages():
        for name in re.findall(r"`([a-z_0-9]+\.[ch])`", page.read_text()):
            assert name in known, (page.name, name)
