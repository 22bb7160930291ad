#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format, minus what hand and eye do better: columns of declarations, comments and macro
continuations may be lined up with more spaces than it would set, and designated initialisers may
share a line.

    format.py         list what differs
    format.py --fix   write it
"""

import difflib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lib
from lib import Finding

COLUMNS = 100


def squeeze(line: str) -> str:
    """The line with runs of spaces behind its indentation as one, and none inside of braces."""
    return re.sub(r"(?<=\S) +", " ", line).replace("{ ", "{").replace(" }", "}")


# Lines that may stay as they are: designated initialisers, short enums, macro bodies, operands.
BY_HAND = re.compile(r"\s+[.\[]|\s+[?:] |.*\\$|typedef enum \w+ \{.*\}")


def chosen_by_hand(old: list[str], new: list[str]) -> bool:
    """Breaks and columns that are better left alone, or that the formatter would make too long."""
    by_hand = all(BY_HAND.match(line) for line in old)
    return bool(old and by_hand) or any(len(line) > COLUMNS for line in new)


def merged(old: list[str], new: list[str]) -> tuple[list[str], int]:
    """old with the changes that count, and the line of the first of them (0 = none)."""
    result, first = [], 0
    matcher = difflib.SequenceMatcher(
        None, [squeeze(line) for line in old], [squeeze(line) for line in new], autojunk=False
    )
    for tag, i, j, k, m in matcher.get_opcodes():
        keep = tag == "equal" or chosen_by_hand(old[i:j], new[k:m])
        result += old[i:j] if keep else new[k:m]
        first = first or (0 if keep else i + 1)
    return result, first


def formatted(root: Path, path: Path) -> list[str]:
    tool = Path(sys.executable).parent / "clang-format"
    command = [str(tool) if tool.exists() else "clang-format", "--style=file", str(path)]
    result = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return result.stdout.split("\n")


def check_file(root: Path, path: Path, fix: bool) -> Finding | None:
    old = (root / path).read_text().split("\n")
    lines, first = merged(old, formatted(root, path))
    if first and fix:
        (root / path).write_text("\n".join(lines))
    return Finding(f"{path}", first, "not formatted (make format)") if first and not fix else None


def check(root: Path, fix: bool = False) -> list[Finding]:
    paths = lib.files(root, ".c", ".h")
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda path: check_file(root, path, fix), paths)
    return [finding for finding in results if finding]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "format", check(lib.ROOT, "--fix" in sys.argv)))
