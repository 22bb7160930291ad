#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the fuzz dictionary of descriptions from the option tables: names of stages,
of their options with an equals sign, choices, and the signs of the grammar.

Reads the JSON of `levada stages --json` from standard input:
    levada stages --json | ci/gen_dictionary.py fuzz
"""

import json
import sys
from pathlib import Path

HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Made from the option tables by `make generated`.\n"
SIGNS = [
    " | ",
    "; ",
    "zip(",
    "{kind:VarLen,dtype:int64}",
    '{"base64":"',
    '"op":',
    '"args":',
    "null",
]


def words(rows: list[dict]) -> list[str]:
    ours = [row for row in rows if row["plugin"] is None]
    found = {f"{row['name']}:" for row in ours} | set(SIGNS)
    for arg in (arg for row in ours for arg in row["args"]):
        found.add(f"{arg['name']}=")
        found.update(arg["choices"] or [])
    return sorted(found - {""})


def quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    lines = [quoted(word) for word in words(json.load(sys.stdin))]
    Path(sys.argv[1], "description.dict").write_text(HEAD + "\n".join(lines) + "\n")
