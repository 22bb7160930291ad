# SPDX-License-Identifier: Apache-2.0
"""Comments of the public headers, and docstrings, in the form that Sphinx reads.

The headers use plain comments, which read well in an editor. hawkmoth reads ``/** */`` before
a declaration, as reStructuredText. So the site reads copies of the headers.
"""

import re
import textwrap
from pathlib import Path

GUARD = re.compile(r"^#ifndef (LEVADA_\w+_H)\n#define \1\n(.*)^#endif.*\n\Z", re.M | re.S)
# A comment after a member, which may go on in further lines.
MEMBER = re.compile(r"^( +)([^\n/]*[;,\w)]) */\*(.*?)\*/$", re.M | re.S)
COMMENT = re.compile(r"^/\*(?=.*?\*/\n(\n?))", re.M | re.S)
BARE = re.compile(r"(?<!\*/\n)^(?=LEVADA_API |typedef |#define LEVADA_)", re.M)
LICENSE = re.compile(r"\A/\* SPDX[^\n]*\n")
CODE = re.compile(r"``([^`]+)``|`([^`]+)`")
SPECIAL = re.compile(r"([*`|\\]|_(?=\W|$))")
OPTION = re.compile(r"((?:\\\*){0,2}\w+): (?=\S)")


def documented(text: str) -> str:
    """A header whose comments are documentation."""
    text = GUARD.sub(r"#pragma once\n\2", LICENSE.sub("", text))
    text = MEMBER.sub(r"\1/**\3*/\n\1\2", text)
    text = COMMENT.sub("/**", text)
    text = text.replace("*/\n#pragma once", "*/\n/**/\n#pragma once", 1)
    return BARE.sub("/** */\n", text)


def stage_headers(root: Path, folder: Path) -> None:
    """Copies of include/levada below `folder`."""
    (folder / "levada").mkdir(parents=True, exist_ok=True)
    for header in sorted((root / "include" / "levada").glob("*.h")):
        (folder / "levada" / header.name).write_text(documented(header.read_text()))


def inline(text: str) -> str:
    """Names in backquotes as code; everything else means itself."""
    parts = CODE.split(text)
    for i in range(0, len(parts), 3):
        parts[i] = SPECIAL.sub(r"\\\1", parts[i])
    return "".join(
        part if i % 3 == 0 else f"``{part}``" for i, part in enumerate(parts) if part is not None
    )


def paragraph(lines: list[str], options: bool) -> list[str]:
    """Lines of text; indented ones go on with the item before them."""
    out: list[str] = []
    item = False
    for line in lines:
        bullet, option = line.startswith("- "), OPTION.match(line) if options else None
        if bullet:
            out += ["", line]
        elif option:
            out += ["", f":param {option[1]}: {line[option.end() :]}"]
        elif item and line.startswith(" "):
            out.append("  " + line.strip())
        else:
            out += [""] * item + [line.strip()]
        item = bool(bullet or option or (item and line.startswith(" ")))
    return [*out, ""]


def restructured(text: str, options: bool) -> list[str]:
    """Plain text as reStructuredText: paragraphs, examples (indented), and items.

    An item is a line "- text", or "option: text" where `options` is set.
    """
    out: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        indented = [line.startswith("    ") for line in lines if line]
        table = all(line.startswith("  ") for line in lines)
        if indented and (table or (any(indented) and not options)):  # code, a grammar
            out += ["::", "", *(f"    {line}" for line in lines), ""]
        else:
            out += paragraph(inline(block).split("\n"), options)
    return out


def as_restructured_text(app, lines: list[str], transform, options) -> None:
    """Of a comment in C."""
    first, *rest = lines or [""]
    rest = [re.sub(r"^ *\*( |$)", "", line) for line in rest]  # hawkmoth leaves some
    text = first.strip() + "\n" + textwrap.dedent("\n".join(rest))
    lines[:] = restructured(text, options=False)


SECTION = re.compile(r"^(Args|Returns|Raises|Example):\n((?:    .*\n?|\n(?=    ))+)", re.M)
ENTRY = re.compile(r"^([\w*]+)(?: \((.*?)\))?: ", re.M)
FIELDS = {"Args": "param", "Raises": "raises"}


def section(match: re.Match[str]) -> str:
    """A section of a docstring as a field list, and an example as code."""
    name, body = match[1], textwrap.dedent(match[2]).strip("\n")
    if name == "Example":
        return f"Example:\n\n{textwrap.indent(body, '    ')}\n\n"
    if name == "Returns":
        return f":returns: {' '.join(body.split())}\n\n"
    entries = [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", body)]
    if name == "Raises":  # one item for each of "ValueError, TypeError: text"
        parts = [entry.partition(": ") for entry in entries]
        entries = [f"{kind}: {text}" for kinds, _, text in parts for kind in kinds.split(", ")]
    return "\n\n".join(ENTRY.sub(field(FIELDS[name]), entry, count=1) for entry in entries) + "\n\n"


def field(kind: str):
    """The beginning of an item of a field list."""
    return lambda m: f":{kind} {m[1]}: " + (f"({m[2]}) " if m[2] else "")


def docstring(app, what, name, thing, options, lines: list[str]) -> None:
    """Of a docstring; the pages have their own words about modules."""
    text = SECTION.sub(section, "\n".join(lines) + "\n")
    lines[:] = [] if what == "module" else restructured(text, options=True)
