#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Budgets: lines of files and functions, nesting, columns."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import clex
import lib
from lib import Finding

SOURCE_LINES, HEADER_LINES, COLUMNS, NESTING = 900, 400, 100, 4
FUNCTION_LINES, PARDONED_LINES, KERNEL_LINES = 60, 100, 150
KERNEL = re.compile(r"_(sse\w*|avx\w*|neon|sve|x86|simd)\.c$")
PYTHON_BRANCHES = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


def check_text(path: Path, text: str) -> Iterator[Finding]:
    lines = text.split("\n")
    most = HEADER_LINES if path.suffix == ".h" else SOURCE_LINES
    if len(lines) - 1 > most:
        yield Finding(f"{path}", 1, f"{len(lines) - 1} lines, at most {most}")
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield Finding(f"{path}", number, f"{len(line)} columns, at most {COLUMNS}")


def check_function(
    path: Path, name: str, first: int, lines: int, nesting: int
) -> Iterator[Finding]:
    kernel = bool(KERNEL.search(path.name))
    most = KERNEL_LINES if kernel else FUNCTION_LINES
    if lines > most:
        # Above the ceiling the key is one that no allow-list can name.
        ceiling = KERNEL_LINES if kernel else PARDONED_LINES
        key = f"{path}:{name}" if lines <= ceiling else f"{path}:{name} (no pardon)"
        yield Finding(key, first, f"function of {lines} lines, at most {most}")
    if nesting > NESTING:
        yield Finding(f"{path}:{name}", first, f"nesting {nesting}, at most {NESTING}")


def check_c(path: Path, text: str) -> Iterator[Finding]:
    code, _ = clex.split_directives(clex.strip(text))
    for f in clex.functions(clex.tokens(code)):
        yield from check_function(path, f.name, f.first, f.lines, f.nesting)


def python_nesting(node: ast.AST, depth: int = 0) -> int:
    most = depth
    for child in ast.iter_child_nodes(node):
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deeper = isinstance(child, PYTHON_BRANCHES) and not chained
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            most = max(most, python_nesting(child, depth + deeper))
    return most


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1)


def check_python(path: Path, text: str) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = code_lines(node)
            yield from check_function(path, node.name, node.lineno, lines, python_nesting(node))


def check(root: Path) -> list[Finding]:
    found: list[Finding] = []
    for path in lib.files(root, ".c", ".h", ".py"):
        text = (root / path).read_text()
        found += check_text(path, text)
        found += check_python(path, text) if path.suffix == ".py" else check_c(path, text)
    return found


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "size", check(lib.ROOT)))
