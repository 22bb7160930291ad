#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers on pages are those of bench/RESULTS.md.

A page marks a number with a name, `<!--start tf-->4.0<!--/-->`. bench/numbers.txt says what the
name means, one a line:

    start tf = P12; process start to first batch of P1; tf; .1f

These are the row, the workload, the library (or `ours/tf`, the ratio) and a format of Python;
`1000*,.0f` multiplies before it formats. `goals; below` counts goals.

lint_numbers.py            compare
lint_numbers.py --update   write them (make generated; make bench does, too)
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import lib
from lib import Finding

RESULTS, NAMES = "bench/RESULTS.md", "bench/numbers.txt"
PLACE = re.compile(r"<!--([^<>]+)-->([^<>]*)<!--/-->")
FORMAT = re.compile(r"(?:(\d+)\*)?(,?\.\d[fg])")
Table = dict[tuple[str, str], dict[str, float]]


def median(cell: str) -> float:
    """Of a cell such as "1,747 (1,681..1,788)"."""
    return float(cell.split("(")[0].replace(",", ""))


def table(page: str) -> Table:
    """(row, workload) -> library -> median."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    head = next(row for row in rows if row[:2] == ["#", "workload"])
    found: Table = {}
    for row in rows[rows.index(head) + 2 :]:
        if len(row) != len(head):
            break
        cells = dict(zip(head, row, strict=True))
        if cells["#"]:
            values = found.setdefault((cells["#"], cells["workload"]), {})
        for library, column in (("ours", "ours"), (cells["against"], "its value")):
            if library and cells[column] not in ("", "-"):
                values[library] = median(cells[column])
        if cells["ours/it"]:
            values[f"ours/{cells['against']}"] = median(cells["ours/it"])
    return found


def number(page: str, meaning: str) -> str:
    """What a page shows; KeyError or ValueError if the results lack it."""
    words = [word.strip() for word in meaning.split(";")]
    if words[0] == "goals":
        [(passed, below)] = re.findall(r"^Goals: (\d+) pass, (\d+) below", page, re.MULTILINE)
        return {"below": below, "measured": str(int(passed) + int(below))}[words[1]]
    row, workload, library, form = words
    value = table(page)[row, workload][library]
    shown = FORMAT.fullmatch(form)
    if not shown:
        raise ValueError(f"{form} is not a format")
    return format(value * int(shown[1] or 1), shown[2])


def numbers(root: Path) -> dict[str, str]:
    """Name to number; names that mean nothing have an empty one."""
    results, found = (root / RESULTS).read_text(), {}
    for line in (root / NAMES).read_text().splitlines():
        name, _, meaning = line.partition("=")
        if line and not line.startswith("#"):
            try:
                found[name.strip()] = number(results, meaning)
            except (KeyError, ValueError):
                found[name.strip()] = ""
    return found


def pages(root: Path) -> Iterator[tuple[Path, str]]:
    for path in lib.files(root, ".md"):
        text = (root / path).read_text()
        if "<!--/-->" in text:
            yield path, text


def check(root: Path) -> list[Finding]:
    real, found, used = numbers(root), [], set()
    for path, text in pages(root):
        for n, line in enumerate(text.splitlines(), 1):
            if line.startswith("<!--"):
                found.append(
                    Finding(f"{path}", n, "a line begins with <!--, which ends a paragraph")
                )
            for name, shown in PLACE.findall(line):
                used.add(name)
                if not real.get(name):
                    found.append(Finding(f"{path}", n, f"{NAMES} has no row for {name}"))
                elif shown != real[name]:
                    found.append(Finding(f"{path}", n, f"{shown} is {real[name]}: make generated"))
    unused = sorted(set(real) - used)
    return found + [Finding(NAMES, 1, f"no page shows {name}") for name in unused]


def update(root: Path) -> None:
    real = numbers(root)
    for path, text in pages(root):
        made = PLACE.sub(lambda m: f"<!--{m[1]}-->{real.get(m[1]) or m[2]}<!--/-->", text)
        if made != text:
            (root / path).write_text(made)
            print(f"numbers: {path}")


if __name__ == "__main__":
    if "--update" in sys.argv:
        update(lib.ROOT)
    sys.exit(lib.finish(lib.ROOT, "numbers", check(lib.ROOT)))
