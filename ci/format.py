#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format, minus what hand and eye do better: columns may be lined up with more spaces than it
would set, and inside of a statement lines are broken where the writer thinks fit.

    format.py         list what differs
    format.py --fix   write it
"""

import difflib
import importlib.util
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lib
from lib import Finding

COLUMNS = 100


def tool() -> str:
    """The program itself: the script of that name in .venv starts a Python for every file."""
    package = importlib.util.find_spec("clang_format")
    if package and package.origin:
        program = Path(package.origin).parent / "data" / "bin" / "clang-format"
        if program.exists():
            return str(program)
    return "clang-format"


TOOL = tool()
# One line may hold all of these.
COMPACT = re.compile(r"\s+[.\[]|\s+[?:] |.*\\$|typedef (enum|struct|union) \w+ \{.*\}")


def squeeze(line: str) -> str:
    """The line with runs of spaces after its indentation as one, and none inside of braces."""
    return re.sub(r"(?<=\S) +", " ", line).replace("{ ", "{").replace(" }", "}")


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def ends(lines: list[str]) -> tuple[int, int]:
    """Statements that end at the end of a line, and braces that stand alone."""
    texts = [re.sub(r"\s*/\*.*?\*/$", "", line).strip() for line in lines]
    return sum(text.endswith(";") for text in texts), sum(text in ("{", "}") for text in texts)


def continued(before: str) -> bool:
    """Whether the next line continues with the statement of this one, or with that of a macro."""
    text = before.strip()
    ended = not text or text.endswith((";", "{", "}", ":", "*/"))
    return text.startswith("#") or not ended


def chosen_by_hand(before: str, old: list[str], new: list[str]) -> bool:
    """Breaks and columns are the writer's choice: what counts is where statements begin and end."""
    if not old or not new:
        return False
    if all(COMPACT.match(line) for line in old) or any(len(line) > COLUMNS for line in new):
        return True
    placed = indent(old[0]) == indent(new[0]) or continued(before)
    tight = [squeeze(" ".join(line.strip() for line in lines)) for lines in (old, new)]
    return placed and tight[0] == tight[1] and ends(old) == ends(new)


def merged(old: list[str], new: list[str]) -> tuple[list[str], int]:
    """old with the changes that count, and the line of the first of them (0 = none)."""
    result, first = [], 0
    matcher = difflib.SequenceMatcher(None, [*map(squeeze, old)], [*map(squeeze, new)], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        before = old[i - 1] if i else ""
        keep = tag == "equal" or chosen_by_hand(before, old[i:j], new[k:m])
        result += old[i:j] if keep else new[k:m]
        first = first or (0 if keep else i + 1)
    return result, first


def formatted(root: Path, path: Path) -> list[str]:
    command = [TOOL, "--style=file", str(path)]
    result = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    return result.stdout.split("\n")


def shortened(root: Path, path: Path, lines: list[str]) -> list[str]:
    """The text with each line that is too long broken by clang-format, comments too."""
    style = (root / ".clang-format").read_text()
    style = style.replace("ColumnLimit: 0", f"ColumnLimit: {COLUMNS}")
    style = style.replace("ReflowComments: false", "ReflowComments: true")
    long = [n for n, line in enumerate(lines, 1) if len(line) > COLUMNS]
    if not long:
        return lines
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(style)
        file.flush()
        command = [TOOL, f"--style=file:{file.name}", f"--assume-filename={path}"]
        command += [f"--lines={n}:{n}" for n in long]
        text = "\n".join(lines)
        result = subprocess.run(command, input=text, capture_output=True, check=True, text=True)
    return spared(lines, result.stdout.split("\n"))


def spared(old: list[str], new: list[str]) -> list[str]:
    """new, but lines that were short enough keep their columns."""
    matcher = difflib.SequenceMatcher(None, [*map(squeeze, old)], [*map(squeeze, new)], False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            new[k:m] = [
                a if len(a) <= COLUMNS else b for a, b in zip(old[i:j], new[k:m], strict=True)
            ]
    return new


def check_file(root: Path, path: Path, fix: bool) -> Finding | None:
    old = (root / path).read_text().split("\n")
    lines, first = merged(old, formatted(root, path))
    if fix:
        lines = shortened(root, path, lines)
    if fix and lines != old:
        (root / path).write_text("\n".join(lines))
    return Finding(f"{path}", first, "not formatted (make format)") if first and not fix else None


def check(root: Path, fix: bool = False) -> list[Finding]:
    paths = lib.files(root, ".c", ".h")
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda path: check_file(root, path, fix), paths)
    return [finding for finding in results if finding]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "format", check(lib.ROOT, "--fix" in sys.argv)))
