#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, outside libraries, files that nothing builds, imports of the package."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import lib
from lib import Finding, inside

# From a description to threads: each of these folders may include those before it.
CORE = ["option", "registry", "description", "state", "skip", "files", "run"]
BELOW = {"base", "tensor"}
FOLDERS = {"base": set(), "tensor": {"base"}, "runtime": {"base", "tensor"}}
FOLDERS |= {folder: BELOW | {"runtime"} | set(CORE[:i]) for i, folder in enumerate(CORE)}
FOLDERS |= {folder: BELOW | {"runtime"} | set(CORE) for folder in ("flow", "train", "plugin")}
STAGES = ("io", "source", "decode", "transform", "batch")
FOLDERS |= {folder: BELOW | set(CORE) for folder in (*STAGES, "rows")}
FOLDERS["io"] |= {"runtime"}  # threads of an encoder
FOLDERS["source"] |= {"rows"}  # rows of text, which a format frames
FOLDERS["decode"] |= {"rows"}  # and a decoder receives
FOLDERS |= {folder: FOLDERS["io"] | {"io"} for folder in ("sink", "inspect")}
FOLDERS["algebra"] = FOLDERS["arrow"] = FOLDERS["flow"]
FOLDERS["web"] = {"base"}
FOLDERS["optional"] = {"base", "decode", "rows", "transform"}
for _user in ("flow", "train", "inspect"):
    FOLDERS[_user] |= {"batch"}  # the length of a record
PUBLIC_ONLY = ("tools", "plugins", "examples", "python")
OUTSIDE = re.compile(
    r"(zlib|zstd|zstd_errors|lz4\w*|libdeflate|png|jpeglib|jerror|soxr|kiss_fftr|FLAC/\w+)\.h"
)
OUTSIDE_FOLDER = re.compile(r"(isa-l|isa-l\.h|igzip_lib\.h|FLAC|curl|openssl)(/.*)?")
LAZY = {"torch", "jax", "pyarrow", "ray"}


def includes(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match[1]


def folder_of(target: str) -> str | None:
    head, slash, _ = target.partition("/")
    return head if slash and head in FOLDERS else None


def check_includes(path: Path, text: str) -> Iterator[Finding]:
    for number, target in includes(text):
        folder = folder_of(target)
        if inside(path, *PUBLIC_ONLY) and folder:
            yield Finding(f"{path}:{target}", number, "may include include/levada/ only")
        if inside(path, "include") and (folder or '"' in target):
            yield Finding(f"{path}:{target}", number, "a public header includes a private one")
        if inside(path, "src") and len(path.parts) > 2 and folder:
            own = path.parts[1]
            if folder != own and folder not in FOLDERS.get(own, set()):
                yield Finding(f"{path}:{target}", number, f"{own}/ may not include {folder}/")


def check_outside(root: Path, paths: list[Path]) -> Iterator[Finding]:
    """Each outside library is included by one file."""
    users: dict[str, list[tuple[Path, int]]] = {}
    for path in paths:
        for number, target in includes((root / path).read_text()):
            if OUTSIDE.fullmatch(target) or OUTSIDE_FOLDER.fullmatch(target):
                library = target.split("/")[0].removesuffix(".h")
                users.setdefault(library, []).append((path, number))
    for library, places in users.items():
        for path, number in places:
            if len({p for p, _ in places}) > 1 or not inside(path, "src"):
                text = f"{library} is included by more than one file, or outside src/"
                yield Finding(f"{path}:{library}", number, text)


def check_built(root: Path, paths: list[Path]) -> Iterator[Finding]:
    """Every .c file has its word in the meson.build that is responsible for it."""
    lists = {path.parent: (root / path).read_text() for path in lib.files(root, "meson.build")}
    for path in paths:
        top = Path(path.parts[0])
        known = lists.get(top, "") + (lists.get(Path("src"), "") if top.name == "tests" else "")
        word = path.stem.removeprefix("test_") if top.name == "tests" else path.stem
        if path.suffix == ".c" and f"'{word}'" not in known and path.name not in known:
            yield Finding(f"{path}", 1, f"{top}/meson.build does not know this file")


def imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name.split(".")[0] for name in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [(node.module or "").split(".")[0]]
    return []


def check_imports(path: Path, text: str) -> Iterator[Finding]:
    tree = ast.parse(text)
    for node in tree.body:
        for name in imported(node):
            if name == "numpy" or name in LAZY:
                yield Finding(f"{path}:{name}", node.lineno, "imported at first use, not before")
    for node in ast.walk(tree):
        for name in imported(node) if isinstance(node, ast.stmt) else []:
            if name in LAZY and "interop" not in path.parts:
                yield Finding(f"{path}:{name}", node.lineno, "only levada/interop/ imports this")


def check(root: Path) -> list[Finding]:
    sources = lib.files(root, ".c", ".h")
    ours = [p for p in sources if inside(p, "src", "include", "tests", "fuzz", *PUBLIC_ONLY)]
    found: list[Finding] = []
    for path in ours:
        found += check_includes(path, (root / path).read_text())
    found += check_outside(root, [p for p in ours if not inside(p, "tests")])
    found += check_built(root, ours)
    for path in lib.files(root, ".py"):
        if inside(path, "python/levada"):
            found += check_imports(path, (root / path).read_text())
    return found


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "deps", check(lib.ROOT)))
