#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A call of every exported function with zeros for its arguments, as a table in C for tests.

    gen_calls.py OUTPUT

The table has every function of the public headers that takes a pointer. The first argument is the
caller's, so that a test can pass a live handle.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "levada"

# Functions without an entry, and why.
SKIPPED = {
    "levada_plugin_main": "plug-ins define it",
    "levada_error_code": "NULL is an error that is clear",
    "levada_value_text": "NULL and size 0 are the empty text",
    "levada_value_block": "NULL is the data of another process",
    "levada_value_bytes": "NULL and size 0 are the empty bytes",
}
DECLARATION = re.compile(
    r"LEVADA_API\s+(?P<head>[^;{}#]*?)\b(?P<name>levada_\w+)\((?P<args>[^;]*)\);"
)


def declarations() -> dict[str, tuple[str, list[str]]]:
    """Of each function: its result and its parameters."""
    found = {}
    for path in sorted(HEADERS.glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for match in DECLARATION.finditer(text):
            head = re.sub(r"LEVADA_\w+(\([^)]*\))?", "", match["head"])
            found[match["name"]] = " ".join(head.split()), split(match["args"])
    return found


def split(args: str) -> list[str]:
    """Parameters, which may have parameters of their own."""
    parts, depth = [""], 0
    for char in " ".join(args.split()):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def kind_of(result: str, first: str) -> str:
    if result == "levada_status":
        return "STATUS"
    if result == "void":
        return "DESTROY" if re.search(r"\w \*\*\w+$", first) else "VOID"
    return "VALUE"


def entry(name: str, result: str, args: list[str]) -> tuple[str, str]:
    """A function that makes the call, and a row of the table."""
    takes = "*" in args[0]
    call = f"{name}({', '.join(['first' if takes else '0', *['0'] * (len(args) - 1)])})"
    if result in ("void", "levada_origin"):
        body = f"    (void){call};\n    return 0;\n"
    elif "*" in result:
        body = f"    return (int64_t)(intptr_t){call};\n"
    else:
        body = f"    return (int64_t){call};\n"
    kind = kind_of(result, args[0])
    if not takes:
        body = "    (void)first;\n" + body
    of = re.sub(r"\bconst\b|\*.*", "", args[0]).strip() if takes else ""
    if re.search(r"\w \*\*\w+$", args[0]) and kind != "DESTROY":
        of = ""  # a function that creates one
    function = f"static int64_t exports_{name}(void *first)\n{{\n{body}}}\n"
    return function, f'    {{ "{name}", "{of}", TEST_EXPORT_{kind}, exports_{name} }},\n'


def generate() -> str:
    declared = declarations()
    functions, rows = [], []
    for name in sorted(declared):
        result, args = declared[name]
        if name in SKIPPED or "..." in args[-1:] or "*" not in "".join(args):
            continue
        function, row = entry(name, result, args)
        functions.append(function)
        rows.append(row)
    return (
        "/* SPDX-License-Identifier: Apache-2.0 */\n"
        '#include "support/exports.h"\n\n'
        "#include <levada/binding.h>\n#include <levada/levada.h>\n"
        "#include <levada/opener.h>\n#include <levada/rowstore.h>\n"
        "#include <levada/stage.h>\n\n"
        + "\n".join(functions)
        + "\nconst test_export test_exports[] = {\n"
        + "".join(rows)
        + "};\n\nconst size_t test_nexports = sizeof test_exports / sizeof *test_exports;\n"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(generate())
