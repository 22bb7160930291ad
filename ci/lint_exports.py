#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbols: what the shared library exports is ci/exports.txt, nothing in it can be written to, and
a plug-in exports its one entry point.

    lint_exports.py BUILD            compare
    lint_exports.py BUILD --update   write ci/exports.txt again
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import lib
from lib import Finding

LIST = Path("ci/exports.txt")
WRITABLE = re.compile(r"\s(\.data|\.bss|\.tdata|\.tbss|\*COM\*)\S*\s")
COMPILER = re.compile(r"__(asan|tsan|ubsan|sancov|gcov|odr)\S*|completed\.\d+|__dso_handle|\.L\S*")


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def exported(path: Path) -> set[str]:
    lines = run("nm", "-D", "--defined-only", "--format=posix", str(path)).splitlines()
    return {line.split()[0] for line in lines if line.strip()}


def check_list(root: Path, library: Path) -> Iterator[Finding]:
    listed = set((root / LIST).read_text().split()) if (root / LIST).exists() else set()
    found = exported(library)
    for name in sorted(found - listed):
        yield Finding(f"{LIST}:{name}", 1, "exported but not listed (make exports writes the list)")
    for name in sorted(listed - found):
        yield Finding(f"{LIST}:{name}", 1, "listed but not exported (make exports writes the list)")


def writable(archive: Path) -> Iterator[tuple[str, str]]:
    """Objects in sections that can be written to: (object file, symbol)."""
    member = ""
    for line in run("objdump", "-t", str(archive)).splitlines():
        header = re.match(r"(\S+):\s+file format", line)
        member = header[1] if header else member
        match = WRITABLE.search(line)
        # Constants that hold addresses are relocated and then closed: .data.rel.ro
        if match and ".rel.ro" not in match.group() and " O " in line[: match.start() + 1]:
            name = line.split()[-1]
            if not COMPILER.fullmatch(name):
                yield member, name


def check_writable(archive: Path) -> Iterator[Finding]:
    for member, name in writable(archive):
        yield Finding(f"{member}:{name}", 1, "can be written to and outlives every call")


def check_plugins(folder: Path) -> Iterator[Finding]:
    for path in sorted(folder.glob("*.so")):
        for name in sorted(exported(path) - {"levada_plugin_main"}):
            yield Finding(
                f"plugins/{path.name}:{name}", 1, "a plug-in exports levada_plugin_main only"
            )
        for line in run("nm", "-D", "--undefined-only", str(path)).splitlines():
            if " levada_" in line:
                name = line.split()[-1]
                yield Finding(f"plugins/{path.name}:{name}", 1, "a plug-in links nothing of levada")


def check(root: Path, build: Path) -> list[Finding]:
    found = [*check_list(root, build / "src" / "liblevada.so")]
    found += check_writable(build / "src" / "liblevada.a")
    found += check_plugins(build / "plugins")
    return found


if __name__ == "__main__":
    build = Path(sys.argv[1])
    if "--update" in sys.argv:
        names = sorted(exported(build / "src" / "liblevada.so"))
        (lib.ROOT / LIST).write_text("".join(f"{name}\n" for name in names))
        sys.exit(0)
    sys.exit(lib.finish(lib.ROOT, "exports", check(lib.ROOT, build)))
