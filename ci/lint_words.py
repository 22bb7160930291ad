#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Phrases that make text hard to read, in code, comments, messages and documents.

The list is an aid: it has what came back most often. ci/allow/words.txt lists quotes.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import lib
from lib import Finding

# phrase, what to write
TEXT = [
    (r"can't", "cannot"),
    (r"for ever", "forever"),
    (r"(?<!there )is no (?!longer\b|more\b|less\b)\w+", "is not a"),
    (r"so many", "a number, or a name of it"),
    (r"by turns", "in turn, round-robin"),
    (r"(and|or) its kin", "and similar"),
    (r"who waits for what", "wait report"),
    (r"crew|joints?|hosted|tally|tallies", "the words of docs/design/README.md"),
]
# in comments of C, and in docs: words for places on a page, and private ones
COMMENT = [
    (r"behind", "after, downstream of"),
    (r"in front of", "before, upstream of"),
    (r"whoever", "the thread, the caller, the code that"),
    (r"(left|leaves?) out", "skipped, dropped, omitted"),
    (r"gives?(?! up)|gave(?! up)", "returns, emits, yields"),
    (r"goes on", "continues"),
    (r"anew", "again"),
    (r"beside a restore", "during a restore"),
    (r"(has|have|makes?) room", "capacity, space, reserves"),
    (r"begun again", "restarted"),
]
# in strings of code
MESSAGE = [(r"there is no", "no X, unknown X, X does not exist")]
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
REMARK = re.compile(r"/\*.*?\*/", re.DOTALL)
PRODUCT = re.compile(r"(src|python/_levada|include|tools)/.*\.[ch]$|docs/.*\.md$|[A-Z]+\.md$")
SUFFIXES = (".c", ".h", ".py", ".md", ".sh")
OWN = ("ci/lint_words.py", "ci/test_lint.py")


def prose(path: Path, text: str) -> list[str]:
    """The lines of a file of the product without its code; none of other files."""
    if not PRODUCT.match(path.as_posix()):
        return []
    if path.suffix == ".md":
        return text.split("\n")
    lines: list[str] = []
    for remark in REMARK.finditer(text):
        lines += [""] * (text.count("\n", 0, remark.start()) - len(lines) + 1)
        first, *others = remark[0].split("\n")
        lines[-1] += first
        lines += others
    return lines


def breaches(path: Path, text: str) -> Iterator[Finding]:
    lines = text.split("\n")
    strings = [" ".join(STRING.findall(line)) if path.suffix != ".md" else "" for line in lines]
    for rows, phrases in ((lines, TEXT), (strings, MESSAGE), (prose(path, text), COMMENT)):
        for number, row in enumerate(rows, 1):
            for phrase, better in phrases:
                for match in re.finditer(rf"\b(?:{phrase})\b", row, re.IGNORECASE):
                    yield Finding(f"{path}:{match[0].lower()}", number, f"write: {better}")


def check(root: Path) -> list[Finding]:
    paths = [path for path in lib.files(root, *SUFFIXES) if path.as_posix() not in OWN]
    return [finding for path in paths for finding in breaches(path, (root / path).read_text())]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "words", check(lib.ROOT)))
