#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes builtins.c, the only file that knows every name: gen_builtins.py OUTPUT KIND:WORD..."""

import sys

KINDS = ["stage", "format", "source", "decoder", "combiner", "filter", "opener"]
HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by ci/gen_builtins.py from src/meson.build. */
"""


def table(kind: str, words: list[str]) -> str:
    """One array of pointers, ended by NULL. The types may stay incomplete here."""
    lines = [f"typedef struct levada_{kind}_def levada_{kind}_def;"]
    lines += [f"extern const levada_{kind}_def levada_{kind}_{word};" for word in words]
    lines += [f"extern const levada_{kind}_def *const levada_builtin_{kind}s[];"]
    lines += [f"const levada_{kind}_def *const levada_builtin_{kind}s[] = {{"]
    lines += [f"    &levada_{kind}_{word}," for word in words]
    return "\n".join([*lines, "    0,", "};", ""])


def main(output: str, entries: list[str]) -> None:
    words: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for entry in entries:
        kind, _, word = entry.partition(":")
        words[kind].append(word)
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join([HEAD, *(table(kind, sorted(words[kind])) for kind in KINDS)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
