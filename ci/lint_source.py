#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Laws that can be read off the text: SPDX, #if, macros, labels, memory, threads, outside world."""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import clex
import lib
from lib import Finding, inside

SPDX = "SPDX-License-Identifier: Apache-2.0"
PARTS = ("src", "python", "tools", "plugins", "examples", "tests", "fuzz", "bench", "include")

MEMORY = {"malloc", "calloc", "realloc", "free", "strdup", "strndup", "aligned_alloc"}
MEMORY |= {"posix_memalign", "reallocarray", "asprintf", "vasprintf", "getline", "mmap_alloc"}
OUTSIDE = {"getenv", "secure_getenv", "setenv", "FILE", "fopen", "fdopen", "printf", "fprintf"}
OUTSIDE |= {"vprintf", "vfprintf", "puts", "fputs", "putchar", "perror", "stdout", "stderr"}
OUTSIDE |= {"setlocale", "exit", "signal", "sigaction", "rand", "srand", "random", "strtok"}
THREADS = re.compile(r"(pthread|thrd|mtx|cnd|sem|tss)_\w+|(nano|u)?sleep|poll|select")
ATOMICS = re.compile(r"atomic_\w+|_Atomic")
# Makers of errors: they begin with err, and their status is often passed on or dropped.
MAKER = re.compile(r"^levada_(error|status)_|(^|_)fail(_|$)|^levada_plugin_main$")
CORE = ("option", "registry", "description", "state", "files", "skip", "run")
NAMED = re.compile(
    r"^const levada_(?:stage|format|source|decoder|combiner)_def levada_[a-z]+_(\w+)", re.M
)
COUNTED = ("src/runtime", "src/base", "src/tensor", *(f"src/{folder}" for folder in CORE))
BORROWED = {"PyList_GetItem", "PyList_GET_ITEM", "PyTuple_GetItem", "PyTuple_GET_ITEM"}
BORROWED |= {"PyDict_GetItem", "PyDict_GetItemString", "PyDict_GetItemWithError", "PyDict_Next"}
BORROWED |= {"PyImport_AddModule", "PySequence_Fast_GET_ITEM", "PyDict_SetDefault"}


def check_head(path: Path, text: str) -> Iterator[Finding]:
    lines = text.split("\n")
    first = 1 if lines[0].startswith("#!") else 0
    if SPDX not in (lines[first] if first < len(lines) else ""):
        yield Finding(f"{path}", first + 1, "the SPDX line is missing on top")
    for number, line in enumerate(lines[:12], 1):
        if re.search(r"copyright \(c\)|all rights reserved|@author|\bauthor:", line, re.IGNORECASE):
            yield Finding(f"{path}", number, "licence block or author")


def check_directives(
    path: Path, directives: list[tuple[int, str]], functions: list[clex.Function]
) -> Iterator[Finding]:
    for number, text in directives:
        if re.match(r"#\s*(if|elif|else|endif)", text):
            for f in functions:
                if f.body[0].line <= number <= f.last:
                    yield Finding(f"{path}:{f.name}", number, "#if inside a function body")
        macro = re.match(r"#\s*define\s+(\w+)", text)
        if (
            macro
            and re.search(r"\breturn\b", text)
            and macro[1] != "LEVADA_TRY"
            and "case" not in text
        ):
            yield Finding(f"{path}:{macro[1]}", number, "only LEVADA_TRY may return from a macro")
        if macro and "__attribute__" in text and path.name not in ("compiler.h", "error.h"):
            yield Finding(f"{path}:{macro[1]}", number, "extensions only through base/compiler.h")


def check_labels(path: Path, f: clex.Function) -> Iterator[Finding]:
    for before, token in pairwise(f.body):
        if before.text == "goto" and token.text != "out":
            yield Finding(f"{path}:{f.name}", token.line, "goto: the one label is out")


def check_last_parameter(path: Path, head: list[clex.Token], name: str) -> Iterator[Finding]:
    """`levada_error *err` comes last; makers of errors and printf-likes begin with it."""
    text = " ".join(token.text for token in head)
    if MAKER.search(name) or "..." in text or ". . ." in text:
        return
    for match in re.finditer(r"levada_error \* (?:const )?err (\S)", text):
        if match[1] not in ")=[":
            yield Finding(f"{path}:{name}", head[0].line, "levada_error *err is not last")


def check_must_use(path: Path, head: list[clex.Token]) -> Iterator[Finding]:
    """A public function that returns a status says that the caller must look at it."""
    words = [token.text for token in head]
    name = clex.function_name(head) or ""
    if "levada_status" not in words or "typedef" in words or not name or MAKER.search(name):
        return
    if words.index("levada_status") < words.index(name) and "LEVADA_MUST_USE" not in words:
        yield Finding(f"{path}:{name}", head[0].line, "returns levada_status: LEVADA_MUST_USE")


def check_words(path: Path, stream: list[clex.Token]) -> Iterator[Finding]:
    nothing = clex.Token("", 0)
    for before, token, after in zip(
        [nothing, *stream], stream, [*stream[1:], nothing], strict=False
    ):
        member = before.text in (".", "->")
        named = token.text in MEMORY and after.text != "("
        why = None if member or named else forbidden(path, token.text)
        if why:
            yield Finding(f"{path}:{token.text}", token.line, why)


def forbidden(path: Path, word: str) -> str | None:
    library = inside(path, "src")
    if word in MEMORY and (library or inside(path, "python")) and path.name != "alloc.c":
        return "raw memory: only base/alloc.c calls the system, others levada_alloc"
    if library and word in OUTSIDE:
        return "the outside world arrives in levada_env"
    if library and THREADS.fullmatch(word) and not inside(path, "src/runtime"):
        return "threads, locks and waits only in runtime/"
    if library and ATOMICS.fullmatch(word) and not inside(path, *COUNTED):
        return "atomics only in runtime/, and for reference counts in base/, tensor/ and the core"
    if word in BORROWED and inside(path, "python"):
        return "container API that returns a borrowed reference"
    return None


def check_globals(path: Path, stream: list[clex.Token]) -> Iterator[Finding]:
    """No object that can be written to lives longer than a call, except in the env."""
    for head, body in clex.declarations(stream):
        words = [token.text for token in head]
        local = static_locals(body)
        if not body and words and words[0] == "static" and mutable(words):
            local.append(head[0])
        for token in local:
            yield Finding(f"{path}", token.line, "mutable object with static lifetime")


def outer(words: list[str]) -> list[str]:
    """What stands outside of braces: not the members of a struct."""
    depth, rest = 0, []
    for word in words:
        depth -= word == "}"
        rest += [word] if depth == 0 else []
        depth += word == "{"
    return rest


def mutable(words: list[str]) -> bool:
    declarator = outer(words[: words.index("=")] if "=" in words else words)
    if "(" in declarator and not ({"*"} & set(declarator[declarator.index("(") :][:2])):
        return False  # a prototype, or LEVADA_ALIGNED(64) which the word const settles below
    last = len(declarator) - 1 - declarator[::-1].index("*") if "*" in declarator else 0
    return "const" not in declarator[last:] if last else "const" not in declarator


def until_semicolon(stream: list[clex.Token]) -> list[clex.Token]:
    depth = 0
    for i, token in enumerate(stream):
        depth += (token.text == "{") - (token.text == "}")
        if token.text == ";" and depth == 0:
            return stream[:i]
    return stream


def static_locals(body: list[clex.Token]) -> list[clex.Token]:
    found = []
    for i, token in enumerate(body):
        if token.text == "static":
            words = [t.text for t in until_semicolon(body[i:])]
            found += [token] if words[1:2] != ["_Static_assert"] and mutable(words) else []
    return found


def check_c(path: Path, text: str) -> Iterator[Finding]:
    code, directives = clex.split_directives(clex.strip(text))
    stream = clex.tokens(code)
    functions = clex.functions(stream)
    yield from check_directives(path, directives, functions)
    yield from check_words(path, stream)
    for f in functions:
        yield from check_labels(path, f)
    for head, _ in clex.declarations(stream):
        yield from check_last_parameter(path, head, clex.function_name(head) or "")
    if inside(path, "include"):
        for head, _ in clex.declarations(stream):
            yield from check_must_use(path, head)
        for token in stream:
            if token.text == "inline":
                yield Finding(f"{path}", token.line, "inline function in a public header")
    if inside(path, "src"):
        yield from check_globals(path, stream)
    if inside(path, "src", "python", "tools") and path.name != "compiler.h":
        for token in stream:
            if token.text in ("__attribute__", "__extension__", "typeof", "__typeof__"):
                yield Finding(f"{path}", token.line, "extensions only through base/compiler.h")


def check_names(path: Path, text: str, names: set[str]) -> Iterator[Finding]:
    """The core knows stages by their descriptors only, so that a new one needs no place there."""
    for match in clex.LITERAL.finditer(text):
        name = match.group().strip('"')
        if match.group() == f'"{name}"' and name in names:
            line = text.count("\n", 0, match.start()) + 1
            yield Finding(f"{path}:{name}", line, f"the core knows '{name}' by name")


def check(root: Path) -> list[Finding]:
    found: list[Finding] = []
    names = {
        match[1]
        for path in lib.files(root, ".c")
        for match in NAMED.finditer((root / path).read_text())
    }
    for path in lib.files(root, ".c", ".h", ".py", ".sh", "meson.build", "Makefile"):
        text = (root / path).read_text()
        if text.strip():
            found += check_head(path, text)
        if path.suffix in (".c", ".h") and inside(path, *PARTS):
            found += check_c(path, text)
        if path.suffix in (".c", ".h") and inside(path, *(f"src/{folder}" for folder in CORE)):
            found += check_names(path, text, names)
    return found


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "source", check(lib.ROOT)))
