#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone: public ones as C17 and C++17, private ones as C17."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lib
from lib import Finding, inside

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Werror"]
# A header may declare what it does not use, and C++ may miss what C spells by position.
MILD = ["-Wno-unused-function", "-Wno-missing-field-initializers", "-Wno-unused-const-variable"]
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
    return [finding for finding in results if finding]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "headers", check(lib.ROOT)))
