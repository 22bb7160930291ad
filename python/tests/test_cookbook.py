# SPDX-License-Identifier: Apache-2.0
"""The cookbook shows parts of programs in examples/ and their output; test_pages.py runs them."""

import re
from textwrap import indent

import pages

PAGE = (pages.ROOT / "docs" / "cookbook.md").read_text()
PARTS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-1]


def test_each_recipe_is_a_part_of_its_program():
    assert len(PARTS) >= 9
    for part in PARTS:
        name = re.search(r"\(\.\./examples/(\w+\.py)\)", part)[1]
        program = (pages.ROOT / "examples" / name).read_text()
        shown = [fence.code for fence in pages.fences(part) if fence.words == ["python", "norun"]]
        assert shown, name
        assert all(any(indent(code, " " * n) in program for n in (0, 4, 8)) for code in shown), name
        assert f"$ python examples/{name}\n" in part


def test_every_example_is_on_a_page():
    texts = "".join(page.read_text() for page in (pages.ROOT / "docs").glob("*.md"))
    names = [p.name for p in (pages.ROOT / "examples").iterdir() if p.suffix in (".py", ".c")]
    assert [name for name in names if f"examples/{name}" not in texts] == []
