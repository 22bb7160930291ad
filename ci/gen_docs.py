#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes stages.md, the reference of all sources and stages, from the option tables.

Reads the JSON of `levada stages --json` from standard input:
    levada stages --json | ci/gen_docs.py docs
"""

import json
import sys
from pathlib import Path

FAMILIES = {
    "source": "Sources",
    "format": "File formats",
    "decoder": "Decoders",
    "stage": "Stages",
    "combiner": "Combiners and prefetch",
}
SHARED = "Options of all formats"
SHARED_ANCHOR = "options-of-all-formats"
HEAD = """\
# Sources, decoders and stages

This page is the reference of all sources, formats, decoders, stages and combiners that a pipeline
can use. `levada stages NAME` prints the same, also for plug-ins. You may omit the name of an option
marked *. In Python, sources are functions (`lv.tfrecord`) and stages are methods
([of Dataset](site/reference/python-dataset.md)) with these options as arguments.
"""


def kind(arg: dict) -> str:
    """The type of an option and the values that it allows."""
    if arg["choices"]:
        return f"{arg['type']}: {', '.join(arg['choices'])}"
    least, most = arg["min"], arg["max"]
    if least is None or (least < 0 and most is not None and most >= 2**31 - 1):
        return arg["type"]
    endless = most is None or most >= 2**31 - 1
    return f"{arg['type']}, " + (f"at least {least:,}" if endless else f"{least:,} to {most:,}")


def default(arg: dict) -> str:
    return "required" if arg["required"] else f"`{json.dumps(arg['default'])}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def section(row: dict, shared: list[dict]) -> str:
    """One entry; options that all formats share are not repeated."""
    lines = [f"### {row['name']}\n", f"{row['doc'][:1].upper()}{row['doc'][1:]}.\n"]
    if row["example"]:
        lines.append(f"```\n{row['example']}\n```\n")
    own = [arg for arg in row["args"] if arg not in shared]
    lines += table(own)
    if len(own) < len(row["args"]):
        lines += [""] * bool(own) + [f"It also has [the options of all formats](#{SHARED_ANCHOR})."]
    return "\n".join(lines).rstrip("\n") + "\n"


def table(args: list[dict]) -> list[str]:
    lines = []
    if args:
        lines += ["| option | type | default | meaning |", "|---|---|---|---|"]
    for arg in args:
        name = f"`{arg['name']}`{'&nbsp;*' if arg['positional'] else ''}"
        cells = [name, kind(arg), default(arg), arg["doc"]]
        lines.append(f"| {' | '.join(cell(text) for text in cells)} |")
    return lines


def shared_of(rows: list[dict]) -> list[dict]:
    """The options that every row has."""
    first, *rest = [row["args"] for row in rows]
    return [arg for arg in first if all(arg in args for args in rest)]


def page(rows: list[dict]) -> str:
    parts = [HEAD]
    for family, title in FAMILIES.items():
        ours = [row for row in rows if row["family"] == family and row["plugin"] is None]
        if ours:
            parts.append(f"## {title}\n")
            shared = shared_of(ours) if family == "format" else []
            if shared:
                parts.append("\n".join([f"### {SHARED}\n", *table(shared)]) + "\n")
            parts += [section(row, shared) for row in sorted(ours, key=lambda row: row["name"])]
    return "\n".join(parts)


if __name__ == "__main__":
    Path(sys.argv[1], "stages.md").write_text(page(json.load(sys.stdin)))
