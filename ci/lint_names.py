#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names: what crosses files is levada_*, what stays begins with the name of its file."""

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import clex
import lib
from lib import Finding, inside

RESERVED = re.compile(r"_\w*|\w*__\w*")
# Words of the language, the compiler, the system and the instruction sets.
FOREIGN = re.compile(
    r"""
    __(cplusplus|VA_ARGS__|VA_OPT__|STDC_\w+__|STDC__|func__|FILE__|LINE__|BYTE_ORDER__|ORDER_\w+)
    |__(x86_64__|aarch64__|LP64__|GNUC__|clang__|linux__|APPLE__|SANITIZE_\w+|builtin_\w+)
    |FLAC__\w+
    |__(m\d+[a-z]*|mmask\d+)
    |_(Static_assert|Atomic|Alignas|Alignof|Bool|Generic|Noreturn|Thread_local|Pragma|GNU_SOURCE)
    |_(mm\d*_\w+|MM_\w+|cvt\w+|load_mask\w*|store_mask\w*|k\w+_mask\w+)
    |_(pext_\w+|pdep_\w+|tzcnt_\w+|lzcnt_\w+|bzhi_\w+|blsr_\w+|addcarry_\w+|bextr_\w+)
    |_(SC_\w+|POSIX_C_SOURCE|exit)
    |PyInit__levada|_levada|_Py\w+|FUZZING_BUILD_MODE_\w+|_
    """,
    re.VERBOSE,
)
# Names that others choose: what the system, Python, the fuzzer and Arrow look for.
ENTRY = re.compile(
    r"main|PY_SSIZE_T_CLEAN|_(GNU|POSIX_C)_SOURCE|PyInit__levada|LLVMFuzzer\w+|levada_plugin_main"
    r"|ARROW_(FLAG_\w+|C_(DATA|STREAM)_INTERFACE)|Arrow(Schema|Array|ArrayStream)"
)


def local_prefixes(path: Path) -> tuple[str, ...]:
    """The file's name, or its first or last words: crc_avx2.c may say crc_avx2_, crc_, avx2_."""
    words = path.stem.split("_")
    first = ["_".join(words[:n]) for n in range(1, len(words) + 1)]
    return (*first, *("_".join(words[n:]) for n in range(1, len(words))))


def is_local(path: Path, name: str) -> bool:
    return any(name == p or name.startswith(f"{p}_") for p in local_prefixes(path))


def check_reserved(path: Path, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*#\s*include", line):
            continue
        for word in re.findall(r"[A-Za-z_]\w*", line):
            own = path.name in ("compiler.h", "error.h") or FOREIGN.fullmatch(word)
            if RESERVED.fullmatch(word) and not own:
                yield Finding(f"{path}:{word}", number, "begins with _ or contains __")


def check_file_name(path: Path) -> Iterator[Finding]:
    if not re.fullmatch(r"_?[a-z0-9]+(_[a-z0-9]+)*", path.stem):
        yield Finding(f"{path}", 1, "file names are lower_snake")


def check_function(path: Path, head: list[clex.Token], name: str) -> Iterator[Finding]:
    line, static = head[0].line, any(t.text == "static" for t in head)
    if name.startswith("LEVADA_") or ENTRY.fullmatch(name):
        return
    if static and path.suffix == ".c" and name.startswith("levada_"):
        yield Finding(f"{path}:{name}", line, "static, so it must not be called levada_")
    elif static and path.suffix == ".c" and not is_local(path, name):
        yield Finding(f"{path}:{name}", line, f"static, so it begins with {path.stem}_")
    elif not static and not name.startswith("levada_"):
        yield Finding(f"{path}:{name}", line, "crosses files, so it begins with levada_")


def check_types(path: Path, head: list[clex.Token]) -> Iterator[Finding]:
    words = [token.text for token in head]
    line = head[0].line
    names = [b for a, b in pairwise(words) if a in ("struct", "union", "enum")]
    # A tag is ours to name only where the braces follow.
    tags = [n for n in names if n.isidentifier() and f"{n} {{" in " ".join(words)]
    if words[0] == "typedef" and words[-1].isidentifier():
        tags.append(words[-1])
    for name in dict.fromkeys(tags):
        if name.endswith("_t"):
            yield Finding(f"{path}:{name}", line, "POSIX owns the names that end in _t")
        elif ENTRY.fullmatch(name):
            continue
        elif not name.startswith("levada_") and (path.suffix == ".h" or not is_local(path, name)):
            yield Finding(f"{path}:{name}", line, "types are levada_noun, or begin with the file")


def check_constants(path: Path, head: list[clex.Token]) -> Iterator[Finding]:
    """Values of an enum."""
    words = [token.text for token in head]
    if "enum" not in words or "{" not in words:
        return
    start = words.index("{")
    depth = 0
    for i in range(start, clex.matching(head, start, "{", "}")):
        depth += (words[i] == "(") - (words[i] == ")")
        if depth == 0 and words[i] in ("{", ",") and words[i + 1].isidentifier():
            yield from check_upper(path, words[i + 1], head[i + 1].line)


def check_upper(path: Path, name: str, line: int) -> Iterator[Finding]:
    local = path.suffix == ".c" and is_local(path, name.lower())
    upper = name.upper() == name or name.startswith(("LEVADA_DTYPE_", "LEVADA_ARG_"))
    if not upper or not (name.startswith("LEVADA_") or local):
        yield Finding(f"{path}:{name}", line, "enum values and macros are LEVADA_NOUN_VALUE")


def check_c(path: Path, text: str) -> Iterator[Finding]:
    stripped = clex.strip(text)
    code, directives = clex.split_directives(stripped)
    yield from check_reserved(path, stripped)
    yield from check_file_name(path)
    for number, directive in directives:
        macro = re.match(r"#\s*define\s+(\w+)", directive)
        # plug-ins see the usual names as entries of the host table.
        mapped = path.name == "plugin_names.h" and macro and macro[1].startswith("levada_")
        if macro and not mapped and not ENTRY.fullmatch(macro[1]):
            yield from check_upper(path, macro[1], number)
    for head, body in clex.declarations(clex.tokens(code)):
        name = clex.function_name(head)
        if name and body:
            yield from check_function(path, head, name)
        elif head:
            yield from check_types(path, head)
            yield from check_constants(path, head)


def check(root: Path) -> list[Finding]:
    found: list[Finding] = []
    for path in lib.files(root, ".c", ".h"):
        if inside(path, "src", "include", "tools", "python"):
            found += check_c(path, (root / path).read_text())
    return found


if __name__ == "__main__":
    sys.exit(lib.finish(lib.ROOT, "names", check(lib.ROOT)))
