#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Phrases that make text hard to read, in code, comments, messages and documents.

The list is an aid: it has what came back most often. ci/allow/words.txt lists quotes.
"""

import ast
import io
import re
import sys
import tokenize
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
    (r"(\w+_)?rooms?(_\w+)?", "capacity of an array, space, a buffer"),
]
# in comments, docstrings and docs: words for places on a page, and private ones
COMMENT = [
    (r"behind", "after, downstream of"),
    (r"in front of", "before, upstream of"),
    (r"whoever", "the thread, the caller, the code that"),
    (r"(left|leaves?) out", "skipped, dropped, omitted"),
    (r"gives?(?! up)|gave(?! up)", "returns, emits, yields"),
    (r"goes on", "continues"),
    (r"anew", "again"),
    (r"beside a restore", "during a restore"),
    (r"begun again", "restarted"),
    (r"also (if|when|with)(?! their)", "even if, even when, even with"),
]
# in strings of code
MESSAGE = [
    (r"there is no", "no X, unknown X, X does not exist"),
    (r"no memory|memory is short", "out of memory"),
    (r"is none of", "must be one of, is out of range"),
    (r"than asked for|was asked for", "the call requested"),
    (r"saved state|the state was", "the checkpoint"),
    (r"may not have", "must not contain"),
    (r"name(s)? another", "choose another"),
    (r"exclude each other", "cannot be combined"),
    (r"must be [^;]*, not(?= [%{])", "must be RULE, got VALUE"),
    (r"leave (it|them) out", "omit it, drop it with select"),
]
# in pages for users and in strings of code: one word for one thing
CONCEPT = [
    (r"descriptions?", "pipeline"),
    (r"folders?", "directory"),
    (r"sounds?", "audio"),
    (r"saved states?", "checkpoint"),
]
# in pages for users: a pronoun whose noun is in another sentence
PRONOUN = [
    (
        r"(the|equal|new|first|next|other|another|such|which) ones?(?! (of|record|column))",
        "the noun",
    ),
    (r"(are|is|as|than) (those|that) of", "the noun"),
]
# in all pages: 39364 and 39 364 are 39,364; years and ISO 8601 are names
NUMBER = [
    (r"(?<![\w.,:/#=+-])(?<!ISO )(?!(19|20)\d\d\b)\d{4,}", "groups of digits: 39,364"),
    (r"(?<![\d.:])\d+(\.\d+)?(?=%)", "a space: 14 %"),
    (r"(?<![\d.,])\d{1,3}[ '\u00a0\u202f]\d{3}", "groups of digits: 39,364"),
]
# at the beginning of a comment in a public header, and of a summary of a docstring
HEADLESS = [(r".+", "begin with a verb in the third person, or with a noun")]
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
REMARK = re.compile(r"/\*.*?\*/", re.DOTALL)
PROSE = re.compile(r".*\.([ch]|py)$|docs/.*\.md$|[A-Z]+\.md$")
PAGES = re.compile(r".*\.md$")
USERS = re.compile(r"docs/[^/]*\.md$|README\.md$")
CODED = re.compile(r"`[^`]*`|\([^()]*\.md[^()]*\)|<[^>]*>")
# A comment of a function in src, which begins with what the function does.
FUNCTION = re.compile(
    r"^/\*\s+(?!-- |SPDX)([^\s,.:]*)(?:[^*]|\*(?!/))*\*/\n(?:LEVADA_PRINTF.*\n)?"
    r"(?!typedef|[A-Z_]+\()\w[^\n;{}=#[]*(?<!_Atomic)\(",
    re.M,
)
VERB = re.compile(
    r"(?!(Always|As|Bytes|Columns|Fields|Files|Is|Items|Its|Lengths|Levels|Origins|"
    r"Positions|Records|Rows|Steps|Strings|This|Values)$)[A-Z][a-z-]+s$"
)
HEADS = re.compile(r"/\*\s+((that|those) of|the same|whether|what|which|how|of)\b", re.IGNORECASE)
# Where strings are messages for users.
SHIPPED = ("include", "src", "tools", "python", "plugins")
SUFFIXES = (".c", ".h", ".py", ".md", ".sh")
OWN = ("ci/lint_words.py", "ci/test_lint.py")


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings and comments of Python, each with the number of its first line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose(path: Path, text: str) -> list[str]:
    """The lines of a file without its code; none of files that are not text for readers."""
    if not PROSE.match(path.as_posix()):
        return []
    if path.suffix == ".md":
        return text.split("\n")
    remarks: Iterator[tuple[int, str]]
    if path.suffix == ".py":
        remarks = docstrings(text)
    else:
        found = REMARK.finditer(text)
        remarks = ((text.count("\n", 0, remark.start()) + 1, remark[0]) for remark in found)
    lines = [""] * (text.count("\n") + 1)
    for number, remark in remarks:
        for i, line in enumerate(remark.split("\n"), number - 1):
            lines[i] += line
    return lines


def pages(path: Path, lines: list[str], kind: re.Pattern[str] = USERS) -> list[str]:
    """The prose of a page for users, or of another kind, without code."""
    if not kind.match(path.as_posix()):
        return []
    fenced, rows = False, []
    for line in lines:
        fenced ^= line.lstrip().startswith("```")
        rows.append("" if fenced else CODED.sub("", line))
    return rows


def shown(path: Path, strings: list[str]) -> list[str]:
    """The strings of the lines of a file that users see: not of tests."""
    if path.parts[0] not in SHIPPED or "tests" in path.parts:
        return []
    return ["" if line.startswith('""') else line for line in strings]


def heads(path: Path, lines: list[str]) -> list[str]:
    """The first words of the comments of a public header."""
    if not path.as_posix().startswith("include/levada/"):
        return []
    found = [HEADS.search(line) for line in lines]
    return [match[1] if match else "" for match in found]


def functions(path: Path, text: str) -> Iterator[Finding]:
    """Comments of functions that do not begin with a verb in the third person."""
    if path.parts[0] != "src" or path.suffix not in (".c", ".h"):
        return
    for match in FUNCTION.finditer(text):
        if not VERB.match(match[1]):
            number = text.count("\n", 0, match.start()) + 1
            yield Finding(f"{path}:{match[1]}", number, "write: a verb in the third person")


def breaches(path: Path, text: str) -> Iterator[Finding]:
    lines = text.split("\n")
    yield from functions(path, text)
    strings = [" ".join(STRING.findall(line)) if path.suffix != ".md" else "" for line in lines]
    for rows, phrases in (
        (lines, TEXT),
        (shown(path, strings), MESSAGE),
        (prose(path, text), COMMENT),
        (pages(path, lines), CONCEPT + PRONOUN),
        (pages(path, lines, PAGES), NUMBER),
        (heads(path, lines), HEADLESS),
    ):
        for number, row in enumerate(rows, 1):
            for phrase, better in phrases:
                for match in re.finditer(rf"\b(?:{phrase})\b", row, re.IGNORECASE):
                    yield Finding(f"{path}:{match[0].lower()}", number, f"write: {better}")


def check(root: Path) -> list[Finding]:
    paths = [path for path in lib.files(root, *SUFFIXES) if path.as_posix() not in OWN]
    return [finding for path in paths for finding in breaches(path, (root / path).read_text())]


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "words", check(lib.ROOT)))
