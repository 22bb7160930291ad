# SPDX-License-Identifier: Apache-2.0
"""The cookbook shows parts of programs in examples/ and their output; test_pages.py runs them.
A fence of ``python norun yours`` is for files of the reader."""

import ast
import re
from textwrap import indent

import pages
import pytest

PAGE = (pages.ROOT / "docs" / "cookbook.md").read_text()
PARTS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-1]
COUNTS = re.findall(r"^\| \[(\w+)\.py\].*\| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
PEERS = pages.ROOT / "python" / "tests" / "peers"


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


def documented(tree):
    """The lines of docstrings."""
    kinds = (ast.Module, ast.FunctionDef)
    owners = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    texts = [node.body[0] for node in owners if ast.get_docstring(node) is not None]
    return {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}


def names_of(node):
    """The names that a statement of a module defines."""
    targets = [child for target in getattr(node, "targets", []) for child in ast.walk(target)]
    return {getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)}


def code_lines(path, shared):
    """Counts the lines of a program without imports, definitions of `shared`, the call of main,
    docstrings, comments and empty lines."""
    tree = ast.parse(path.read_text())
    out = documented(tree)
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.If)) or names_of(node) & shared:
            out |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(path.read_text().splitlines(), 1)
    return sum(1 for i, text in lines if i not in out and re.match(r"\s*[^\s#]", text))


def used_by(tree, names):
    """`names`, and the names that their definitions in the module use."""
    while True:
        nodes = [child for node in tree.body if names_of(node) & names for child in ast.walk(node)]
        more = names | {node.id for node in nodes if isinstance(node, ast.Name)}
        if more == names:
            return names
        names = more


@pytest.mark.parametrize(("name", "theirs", "ours"), COUNTS)
def test_a_program_has_fewer_lines_than_that_of_other_libraries(name, theirs, ours):
    program, peer = pages.ROOT / "examples" / f"{name}.py", PEERS / f"peer_{name}.py"
    imports = [
        node for node in ast.parse(peer.read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    shared = {alias.name for node in imports if node.module == name for alias in node.names}
    shared = used_by(ast.parse(program.read_text()), shared)
    assert (code_lines(peer, set()), code_lines(program, shared)) == (int(theirs), int(ours))
    assert int(ours) < int(theirs)


def test_all_programs_of_other_libraries_are_counted():
    assert {path.stem[5:] for path in PEERS.glob("*.py")} == {name for name, _, _ in COUNTS}
