#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a public descriptor has at least two implementers: built-ins, plug-ins, the binding.

What one file alone needs is a property of what it returns, an option with a known name, or a
private hook of the library (registry/stage_core.h). ci/allow/hooks.txt lists exceptions.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import clex
import lib
from lib import Finding, inside

# Functions are written by users, and the binding is the one implementer in this tree.
DESCRIPTOR = re.compile(r"struct (levada_(?!function)(?:\w+_def|traits)) \{(.*?)\n\}", re.DOTALL)
USE = re.compile(r"\b(levada_\w+)(?: \w+)? = \{|\((levada_\w+)\)\s*\{|\bLEVADA_(TRAITS)\(")
# What all descriptors have: identity, example, sizes of structs.
COMMON = {"struct_size", "name", "doc", "example", "example_files", "args", "args_size"}
COMMON |= {"state_size", "state_version"}


def members(body: str) -> Iterator[str]:
    """Names that the declarations in the body of a struct declare."""
    for declaration in body.split(";"):
        hook = re.search(r"\(\*(?:const )?(\w+)\)\s*\(", declaration)
        parts = [hook[1]] if hook else declaration.split(",")
        yield from (found[-1] for part in parts if (found := re.findall(r"\w+", part)))


def declared(root: Path) -> dict[str, dict[str, tuple[Path, int]]]:
    """{descriptor: {member: where}} of the public headers."""
    found: dict[str, dict[str, tuple[Path, int]]] = {}
    for path in lib.files(root, ".h"):
        text = clex.strip((root / path).read_text()) if inside(path, "include") else ""
        for match in DESCRIPTOR.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found[match[1]] = {name: (path, line) for name in members(match[2])}
    return found


def level(text: str, start: int) -> str:
    """The text from `start` to its closing bracket, without what is in brackets."""
    depth, kept = 0, []
    for char in text[start:]:
        if char in ")}" and depth == 0:
            break
        depth += (char in "({") - (char in ")}")
        kept.append(char if depth == 0 else " ")
    return "".join(kept)


def used(text: str, descriptors: dict[str, dict[str, tuple[Path, int]]]) -> set[tuple[str, str]]:
    """(descriptor, member) that a file sets."""
    found = set()
    for match in USE.finditer(text):
        name = match[1] or match[2] or "levada_traits"
        names = re.findall(r"\.(\w+)\s*=", level(text, match.end()))
        found |= {(name, member) for member in names if member in descriptors.get(name, {})}
    for member in re.findall(r"\btraits->(\w+) = ", text):
        found.add(("levada_traits", member))
    return found


def check(root: Path) -> list[Finding]:
    descriptors = declared(root)
    users: dict[tuple[str, str], int] = {}
    for path in lib.files(root, ".c", ".cpp"):
        if inside(path, "src", "plugins", "python/_levada"):
            for use in used(clex.strip((root / path).read_text()), descriptors):
                users[use] = users.get(use, 0) + 1
    return [
        Finding(f"{path}:{name}.{member}", line, f"{users.get((name, member), 0)} implementers")
        for name, known in descriptors.items()
        for member, (path, line) in known.items()
        if member not in COMMON and users.get((name, member), 0) < 2
    ]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "hooks", check(lib.ROOT)))
