# SPDX-License-Identifier: Apache-2.0
"""Fences of reference pages that the site replaces: lists of names become tables and entries.

```{members} levada.Dataset    a table of these members with the first sentence of each, and
shuffle                        their documentation
```
```{class} levada.Ragged       the same of a class with all its members
```
```{functions} levada/iter.h   a table of the functions of a header, and the header
```
```{headers}                   a table of all headers and what they are for
```
"""

import importlib
import inspect
import re
from pathlib import Path

import comments

FENCE = re.compile(r"^```\{(members|class|functions|headers)\}([^\n]*)\n(.*?)^```$", re.M | re.S)
DECLARED = re.compile(r"^LEVADA_API\b[^;{]*?\b(levada_\w+)\(", re.M)
REMARK = re.compile(r"/\*((?:(?!\*/).)*)\*/\n*\Z", re.S)
# Functions that need no comment in the header.
USUAL = {
    "_ref": "Adds a reference and returns the object.",
    "_unref": "Drops a reference and sets the pointer to NULL.",
    "_init": "Sets all options to their defaults.",
    "_destroy": "Destroys the object and sets the pointer to NULL.",
    "_close": "Closes the object and sets the pointer to NULL.",
    "_free": "Frees the memory.",
}


ATTRIBUTE = {True: "automethod", False: "autoattribute"}


def first_sentence(text: str) -> str:
    """Up to the first period that ends a sentence, in one line."""
    paragraph = re.split(r"\n[ *]*\n", (text or "").strip(" *\n"))[0]
    text = " ".join(line.strip(" *") for line in paragraph.split("\n"))
    found = re.match(r"(.*?[.:;])(?= [A-Z`]|$)", text)
    return (found[1] if found else text).rstrip(":;")


def cell(text: str) -> str:
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    parts = text.split("`")  # names in backquotes stay; what HTML would read does not
    parts[::2] = [part.replace("<", "&lt;").replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts).replace("|", "\\|")


def found(path: str) -> object:
    """The object of a dotted name."""
    parts = path.split(".")
    for i in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            thing = (
                inspect.getattr_static(thing, part)
                if isinstance(thing, type)
                else getattr(thing, part)
            )
        return thing
    raise LookupError(path)


def kind(path: str, thing: object) -> str:
    owner = found(path.rpartition(".")[0])
    if isinstance(owner, type):
        method = callable(thing) or isinstance(thing, classmethod | staticmethod)
        return "autoproperty" if isinstance(thing, property) else ATTRIBUTE[method]
    if isinstance(thing, type):
        return "autoexception" if issubclass(thing, BaseException) else "autoclass"
    return "autofunction" if callable(thing) else "autodata"


def table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| name | what it does |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def summary(path: str, thing: object) -> tuple[str, str]:
    name = path.rpartition(".")[2]
    return f"{{py:obj}}`{name} <{path}>`", cell(first_sentence(inspect.getdoc(thing)))


def members(owner: str, names: list[str]) -> str:
    paths = [f"{owner}.{name}" for name in names]
    things = [found(path) for path in paths]
    entries = []
    for path, thing in zip(paths, things, strict=True):
        entries.append(f".. {kind(path, thing)}:: {path}")
        if isinstance(thing, type):
            entries += ["   :members:", "   :undoc-members:", "   :inherited-members: object"]
        entries.append("")
    body = "\n".join(entries)
    rows = [summary(path, thing) for path, thing in zip(paths, things, strict=True)]
    return f"{table(rows)}\n\n```{{eval-rst}}\n{body}```"


def public(kind_: type) -> list[str]:
    return [n for n in dir(kind_) if not n.startswith("_") and not hasattr(object, n)]


def whole_class(path: str, text: str) -> str:
    """A class; `text` has the names of its members, if only some are on this page."""
    own = f"```{{eval-rst}}\n.. autoclass:: {path}\n```"
    return f"{own}\n\n{members(path, text.split() or public(found(path)))}"


def functions(name: str, include: Path) -> str:
    text = (include / name).read_text()
    rows = [(f"{{c:func}}`{f}`", cell(about)) for f, about in declared(text)]
    listed = table(rows) + "\n\n" if rows else ""
    return f"{cell(header_sentence(text))}\n\n{listed}```{{eval-rst}}\n.. c:autodoc:: {name}\n```"


def declared(text: str) -> list[tuple[str, str]]:
    """(function, its first sentence). Functions without a comment share the comment of a group,
    which begins with a plural verb ("Return the members")."""
    rows, about, end = [], "", 0
    for match in DECLARED.finditer(text):
        between = text[end : match.start()]
        remark = REMARK.search(between)
        usual = [text for end, text in USUAL.items() if match[1].endswith(end)]
        if remark:
            about = first_sentence(remark[1])
        elif "\n\n" in between.partition(";")[2] or re.match(r"\w+s\b", about):
            about = ""
        rows.append((match[1], usual[0] if usual and not remark else about))
        end = match.end()
    return rows


def header_sentence(text: str) -> str:
    """What a header is for, of its first comment."""
    text = comments.LICENSE.sub("", text)
    return first_sentence(re.match(r"/\*(.*?)\*/", text, re.S)[1])


def headers(include: Path, root: Path) -> str:
    rows = []
    for page in sorted((root / "docs/site/reference").glob("c-*.md")):
        for name in re.findall(r"^```\{functions\} levada/(\w+\.h)$", page.read_text(), re.M):
            text = (include / "levada" / name).read_text()
            link = f"[`{name}`]({page.name}#levada{name.replace('.', '')})"
            rows.append((link, cell(header_sentence(text))))
    return table(rows).replace("| name |", "| header |").replace("what it does", "what it is for")


def expanded(text: str, root: Path) -> str:
    include = root / "include"

    def fence(match: re.Match) -> str:
        what, name, body = match[1], match[2].strip(), match[3]
        if what == "members":
            return members(name, body.split())
        if what == "class":
            return whole_class(name, body)
        return functions(name, include) if what == "functions" else headers(include, root)

    return FENCE.sub(fence, text)
