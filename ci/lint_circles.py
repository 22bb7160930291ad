#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circle of files is longer than three: a change can be understood from few files.

    lint_circles.py BUILD

In C, a file depends on the files that define the symbols it uses; in the package, on the modules
that it imports, also inside of functions. The key of a finding is the folder.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lib
from lib import Finding

MOST = 3
EXTENSION = "levada._levada"  # a module of the package that is written in C
Graph = dict[str, set[str]]


def reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    left = list(graph.get(start, ()))
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left.extend(graph.get(node, ()))
    return seen


def circles(graph: Graph) -> list[list[str]]:
    """Groups of files that reach each other, where they are more than MOST."""
    reach = {node: reachable(graph, node) for node in graph}
    groups = {
        frozenset(other for other in reach[node] if node in reach.get(other, ()))
        for node in graph
        if node in reach[node]
    }
    return sorted(sorted(group) for group in groups if len(group) > MOST)


def symbols(path: Path) -> Iterator[tuple[str, str]]:
    """The symbols of an object file, each with its letter; U = used."""
    command = ["nm", "--format=posix", str(path)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    for line in lines.splitlines():
        name, letter, *_ = line.split()
        yield name, letter


def c_graph(root: Path, build: Path) -> Graph:
    """Files of src/ by the symbols of their objects; generated files are skipped."""
    sources = {
        "_".join(path.parts[1:]) + ".o": path.as_posix()
        for path in lib.files(root, ".c")
        if lib.inside(path, "src")
    }
    used: Graph = {}
    owner: dict[str, str] = {}
    for path in build.glob("src/liblevada.so.*.p/*.o"):
        source = sources.get(path.name)
        if source:
            found = list(symbols(path))
            used[source] = {name for name, letter in found if letter == "U"}
            owner |= {name: source for name, letter in found if letter in "TDRB"}
    return {
        source: {owner[name] for name in names if name in owner} - {source}
        for source, names in used.items()
    }


def is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST) -> Iterator[str]:
    """Dotted names that are imported at run time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
            yield from (f"{child.module}.{name.name}" for name in child.names)
        elif not is_typing(child):
            yield from imports(child)


def python_graph(root: Path) -> Graph:
    modules = {}
    for path in lib.files(root, ".py"):
        if lib.inside(path, "python/levada"):
            name = path.with_suffix("").as_posix().removeprefix("python/").replace("/", ".")
            modules[name.removesuffix(".__init__")] = path.as_posix()
    graph: Graph = {}
    for path in modules.values():
        names = set(imports(ast.parse((root / path).read_text())))
        # `from levada import x` uses x, and the package only where x is not a module of it.
        parents = {name.rpartition(".")[0] for name in names if name in {*modules, EXTENSION}}
        graph[path] = {modules[name] for name in names - parents if name in modules} - {path}
    return graph


def findings(graph: Graph) -> Iterator[Finding]:
    for group in circles(graph):
        text = f"a circle of {len(group)} files, at most {MOST}: {', '.join(group)}"
        for folder in sorted({str(Path(path).parent) for path in group}):
            yield Finding(folder, 1, text)


def check(root: Path, build: Path) -> list[Finding]:
    return [*findings(c_graph(root, build)), *findings(python_graph(root))]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "circles", check(lib.ROOT, lib.ROOT / sys.argv[1])))
