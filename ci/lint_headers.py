#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: public ones as C17 and C++17, private ones as C17. levada.h declares
what its comments and those of the headers that it includes mention, or they name the header."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lib
from lib import Finding, inside

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror"]
# A header may declare what it does not use, and C++ may miss what C spells by position.
MILD = ["-Wno-unused-function", "-Wno-missing-field-initializers", "-Wno-unused-const-variable"]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-D_GNU_SOURCE="]


def compile_alone(root: Path, path: Path, language: str) -> Finding | None:
    compiler, standard = ("c++", "c++17") if language == "c++" else ("cc", "c17")
    compiler = os.environ.get({"cc": "CC", "c++": "CXX"}[compiler], compiler)
    flags = WARNINGS + MILD + ([] if language == "c++" else C_ONLY)
    command = [compiler, f"-std={standard}", "-fsyntax-only", "-DLEVADA_DEBUG=0"]
    command += [*flags, "-Iinclude", "-Isrc", "-x", language, "-"]
    result = subprocess.run(
        command,
        cwd=root,
        input=f'#include "{path}"\ntypedef int not_empty;\n',
        capture_output=True,
        text=True,
    )
    if result.returncode == 0:
        return None
    return Finding(f"{path}", 1, f"does not compile alone as {standard}:\n{result.stderr.rstrip()}")


def included(root: Path, name: str, seen: dict[str, str]) -> dict[str, str]:
    """The texts of a public header and of those that it includes."""
    if name not in seen:
        seen[name] = (root / "include" / name).read_text()
        for inner in re.findall(r"#include <(levada/\w+\.h)>", seen[name]):
            included(root, inner, seen)
    return seen


def names(texts: dict[str, str]) -> set[str]:
    """What headers declare; the macro of a list of names has them as X(NAME, ...)."""
    code = " ".join(COMMENT.sub(" ", text) for text in texts.values())
    return set(re.findall(r"\w+", code)) | {
        f"LEVADA_{name}" for name in re.findall(r"X\((\w+)", code)
    }


def check_mentioned(root: Path) -> Iterator[Finding]:
    if not (root / "include/levada/levada.h").exists():
        return
    texts = included(root, "levada/levada.h", {})
    declared = names(texts)
    for name, text in texts.items():
        for comment in COMMENT.findall(text):
            words = re.findall(r"\b(?:levada|LEVADA)_\w*[A-Za-z]\b(?![_*])", comment)
            others = [f"levada/{header}" for header in re.findall(r"\b(\w+\.h)\b", comment)]
            public = [header for header in others if (root / "include" / header).exists()]
            also = [names(included(root, header, {})) for header in public]
            for word in sorted(set(words) - declared.union(*also)):
                yield Finding(f"include/{name}:{word}", 1, f"levada.h does not declare {word}")


def check(root: Path) -> list[Finding]:
    jobs = []
    plus = shutil.which(os.environ.get("CXX", "c++"))
    if not plus:
        print("headers: no C++ compiler, C only")
    for path in lib.files(root, ".h"):
        if inside(path, "include", "src"):
            jobs.append((path, "c"))
        if inside(path, "include") and plus:
            jobs.append((path, "c++"))
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda job: compile_alone(root, *job), jobs)
    return [*check_mentioned(root), *(finding for finding in results if finding)]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "headers", check(lib.ROOT)))
