#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two tables in C for tests: the numbers in the public structs that begin with struct_size, and
those that are arguments of exported functions.

gen_fields.py OUTPUT
"""

import re
import sys
from pathlib import Path

from gen_calls import declarations

HEADERS = Path(__file__).resolve().parent.parent / "include" / "levada"
STRUCT = re.compile(r"typedef struct (\w+) \{\s*size_t\s+struct_size;(.*?)\n\} \1;", re.DOTALL)
ENUM = re.compile(r"typedef enum (\w+) \{")
NUMBERS = {"int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "levada_timeout"}
FLOATS = {"float", "double"}
UNSIGNED = {"size_t", "uint32_t", "uint64_t"}


def arguments(enums: set[str]) -> list[str]:
    """Rows of the numbers that functions receive by value."""
    rows = []
    for function, (_, parameters) in sorted(declarations().items()):
        for parameter in parameters:
            kind, _, name = parameter.removeprefix("const ").partition(" ")
            if kind not in NUMBERS | enums | FLOATS or not name.isidentifier():
                continue
            size = "0" if kind in FLOATS else f"sizeof({kind})"
            unsigned = "true" if kind in UNSIGNED else "false"
            rows.append(f'    {{ "{function}", "{name}", {size}, {unsigned} }},\n')
    return rows


def main(output: str) -> None:
    rows = []
    texts = [
        re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for path in sorted(HEADERS.glob("*.h"))
    ]
    enums = {name for text in texts for name in ENUM.findall(text)}
    for text in texts:
        for struct, body in STRUCT.findall(text):
            for member in body.split(";"):
                kind, _, names = " ".join(member.split()).partition(" ")
                if kind not in NUMBERS | enums or "*" in names or "(" in names:
                    continue
                for name in re.findall(r"\w+(?![\w\[])", names):
                    size = f"sizeof(({struct} *)0)->{name}"
                    rows.append(
                        f'    {{ "{struct}", "{name}", offsetof({struct}, {name}), {size}, '
                        f"{'true' if kind in enums else 'false'} }},\n"
                    )
    Path(output).write_text(
        "/* Written by ci/gen_fields.py. */\n"
        '#include "support/fields.h"\n\n#include <levada/binding.h>\n#include <levada/levada.h>\n'
        "#include <levada/plugin.h>\n\n"
        "#include <stddef.h>\n\n"
        f"const test_field test_fields[] = {{\n{''.join(rows)}    {{ .of = NULL }},\n}};\n\n"
        f"const test_argument test_arguments[] = {{\n{''.join(arguments(enums))}"
        "    { .function = NULL },\n};\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
