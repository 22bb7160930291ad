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
    (r"for ever\b", "forever"),
    (r"(?<!there )is no (?!longer\b|more\b|less\b)\w+", "is not a"),
    (r"so many", "a number, or a name of it"),
    (r"by turns", "in turn, round-robin"),
    (r"(and|or) its kin", "and similar"),
    (r"who waits for what", "wait report"),
    (r"crew|joints?|hosted|tally|tallies", "the words of docs/design/README.md"),
]
# in strings of code
MESSAGE = [(r"there is no\b", "no X, unknown X, X does not exist")]
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SUFFIXES = (".c", ".h", ".py", ".md", ".sh")
OWN = ("ci/lint_words.py", "ci/test_lint.py")


def breaches(path: Path, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        strings = " ".join(STRING.findall(line)) if path.suffix != ".md" else ""
        for where, phrases in ((line, TEXT), (strings, MESSAGE)):
            for phrase, better in phrases:
                for match in re.finditer(rf"\b(?:{phrase})", where, re.IGNORECASE):
                    yield Finding(f"{path}:{match[0].lower()}", number, f"write: {better}")


def check(root: Path) -> list[Finding]:
    paths = [path for path in lib.files(root, *SUFFIXES) if path.as_posix() not in OWN]
    return [finding for path in paths for finding in breaches(path, (root / path).read_text())]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "words", check(lib.ROOT)))
