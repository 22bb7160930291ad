#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only its own file knows the name of a stage: other code asks for its traits (levada/traits.h).

A string in C that is the name of a stage, source, decoder or combiner, and a comparison with one in
the package, are findings. ci/allow/stages.txt lists code that makes pipelines of certain stages.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import clex
import lib
from lib import Finding, inside

DEFINED = re.compile(
    r"^const levada_(?:stage|format|source|decoder|combiner)_def \w+ = \{.*?\.name = \"(\w+)\"",
    re.MULTILINE | re.DOTALL,
)
STRING = re.compile(r'"(\w+)"')
# Keys of states, names of arguments, and options have the same words.
OTHER = re.compile(
    r"levada_(state_\w+|require|error_wrap|value_(get|set|find)\w*|cursor_\w+|infer_set)\(|"
    r"\w+_set\(map, |levada_reader_\w+\(|reader_set\(|\.name = |"
    r"state_scope|strcmp\((key|arg->name|text|scheme)|strncmp\(|\.otherwise|choices"
)


def defined(root: Path) -> dict[str, str]:
    """{name: its file} of all that a description may contain."""
    found = {}
    for path in lib.files(root, ".c"):
        if inside(path, "src"):
            for name in DEFINED.findall((root / path).read_text()):
                found[name] = path.as_posix()
    return found


def uncommented(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        comment = match[0].startswith("/")
        return "\n" * match[0].count("\n") if comment else match[0]

    return clex.LITERAL.sub(blank, text)


def check_c(path: Path, text: str, names: dict[str, str]) -> Iterator[Finding]:
    if not inside(path, "src"):
        return
    statement = ""
    for number, line in enumerate(uncommented(text).split("\n"), 1):
        statement = line if re.search(r"[;{}]\s*$", statement) else statement + line
        for name in STRING.findall(line):
            if names.get(name, path.as_posix()) != path.as_posix() and not OTHER.search(statement):
                yield Finding(f"{path}:{name}", number, "name of a stage: ask for its traits")


def check_python(path: Path, text: str, names: dict[str, str]) -> Iterator[Finding]:
    if not inside(path, "python/levada"):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        asked = getattr(node.left, "attr", None) or getattr(node.left, "id", None)
        if asked != "name":
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and part.value in names:
                key = f"{path}:{part.value}"
                yield Finding(key, node.lineno, "name of a stage: ask for its traits")


def check(root: Path) -> list[Finding]:
    names = defined(root)
    found: list[Finding] = []
    for path in lib.files(root, ".c", ".h", ".cpp"):
        found += check_c(path, (root / path).read_text(), names)
    for path in lib.files(root, ".py"):
        found += check_python(path, (root / path).read_text(), names)
    return found


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "stages", check(lib.ROOT)))
