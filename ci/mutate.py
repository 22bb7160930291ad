# SPDX-License-Identifier: Apache-2.0
"""Mutates the C code that a change touches, and runs the tests that reach it.

    python ci/mutate.py [--since REVISION] [FILE ...]

Without FILE, the lines of src that differ from REVISION (default: HEAD~1) are mutated; with it,
all lines of these files. A mutant exchanges an operator, changes a constant by one, negates a
condition, or drops a call. The tree is copied to build/mutate and built twice: once to record
which test program runs which line, once for the mutants. A mutant that lives after all programs
that reach its line is printed, and so is one that no program reaches. The exit status is 1 if
fewer than 95 % die.
"""

import argparse
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clex import strip
from lib import ROOT

COPY = ROOT / "build" / "mutate" / "tree"
MAPPED = ROOT / "build" / "mutate" / "coverage"
MUTATED = ROOT / "build" / "mutate" / "mutants"
SUITES = ("unit", "stage", "source", "decode", "conformance", "fault")
GOAL = 0.95
SECONDS = 120  # a test program that takes longer with a mutant has found it

EXCHANGED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "*": "+", "%": "/",
    "true": "false", "false": "true",
}  # fmt: skip
OPERATOR = re.compile(
    r"(?<=[\w)\] ])(\+\+|--|\+=|-=|<=|>=|==|!=|&&|\|\||(?<= )[<>+*%-](?= ))|\b(true|false)\b"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
CONDITION = re.compile(r"\b(?:if|while) \((.*)\)(?= \{|$)")
CALL = re.compile(r"^\s+\w+\(.*\);$")


@dataclass(frozen=True)
class Mutant:
    path: Path  # relative to the tree
    line: int
    text: str  # the line in place of the one that stands there

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text.strip()}"


def mutated(line: str) -> Iterator[str]:
    """The variants of one line of C."""
    code = strip(line)
    for found in OPERATOR.finditer(code):
        yield line[: found.start()] + EXCHANGED[found.group()] + line[found.end() :]
    for found in NUMBER.finditer(code):
        yield line[: found.start()] + str(int(found.group()) + 1) + line[found.end() :]
    for found in CONDITION.finditer(code):
        yield f"{line[: found.start(1)]}!({found.group(1)}){line[found.end(1) :]}"
    if CALL.match(code):
        yield line[: len(line) - len(line.lstrip())] + ";"


def mutants(path: Path, wanted: set[int]) -> list[Mutant]:
    """The mutants of these lines; a line whose text and code differ in length is left."""
    lines = (COPY / path).read_text().split("\n")
    return [
        Mutant(path, number, text)
        for number in sorted(wanted)
        if len(strip(line := lines[number - 1])) == len(line)
        and not line.lstrip().startswith(("#", "//", "/*", "*"))
        for text in mutated(line)
    ]


def changed(since: str) -> dict[Path, set[int]]:
    """The lines of src that differ from a revision."""
    command = ["git", "diff", "--unified=0", "--diff-filter=d", since, "--", "src/*.c"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    found: dict[Path, set[int]] = {}
    for line in text.splitlines():
        if line.startswith("+++ b/"):
            lines = found.setdefault(Path(line[6:]), set())
        elif place := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(place[1]), int(place[2] or 1)
            lines.update(range(first, first + count))
    return found


def copy_tree() -> None:
    """Copies the tracked files; those that did not change keep their time, so little is built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, COPY / name
        if source.is_file() and not (
            target.is_file() and target.read_bytes() == source.read_bytes()
        ):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def configure(build: Path, *options: str) -> None:
    if not (build / "build.ninja").exists():
        command = ["meson", "setup", build, COPY, "-Dpython=disabled", "-Db_ndebug=false", *options]
        subprocess.run(command, check=True, capture_output=True)


def programs(build: Path) -> dict[str, list[str]]:
    """Test programs by name, with the words that they are run with."""
    command = ["meson", "introspect", "--tests", str(build)]
    tests = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        Path(test["cmd"][0]).name: test["cmd"]
        for test in tests
        if any(suite.rpartition(":")[2] in SUITES for suite in test["suite"])
        and "/tests/test_" in test["cmd"][0]
    }


def run(command: list[str], folder: Path) -> int:
    """The exit status of a test program; a program that does not end counts as failed."""
    try:
        return subprocess.run(
            command, cwd=folder, timeout=SECONDS,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return 1


def reached(paths: set[Path]) -> dict[tuple[Path, int], list[str]]:
    """Which programs run which line of these files, those that run the fewest lines first."""
    configure(MAPPED, "-Db_coverage=true", "-Doptimization=0")
    subprocess.run(["ninja", "-C", MAPPED, "--quiet"], check=True, capture_output=True)
    found: dict[str, set[tuple[Path, int]]] = {}
    for name, command in programs(MAPPED).items():
        for old in MAPPED.rglob("*.gcda"):
            old.unlink()
        run(command, MAPPED)
        found[name] = set(covered(paths))
    order = sorted(found, key=lambda name: len(found[name]))
    places = set().union(*found.values())
    return {place: [name for name in order if place in found[name]] for place in places}


def covered(paths: set[Path]) -> Iterator[tuple[Path, int]]:
    """The lines of these files that ran since the counts were removed."""
    for path in paths:
        for counts in MAPPED.rglob(f"*{'_'.join(path.parts[1:])}.gcda"):
            yield from ((path, line) for line in counted(counts, path))


def counted(counts: Path, path: Path) -> Iterator[int]:
    command = ["gcov", "--json-format", "--stdout", counts]
    text = subprocess.run(command, cwd=MAPPED, capture_output=True, check=True).stdout
    text = gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text
    reports = [json.loads(line) for line in text.splitlines()]
    files = [file for report in reports for file in report["files"]]
    lines = [line for file in files if file["file"].endswith(str(path)) for line in file["lines"]]
    return (line["line_number"] for line in lines if line["count"])


def killed(mutant: Mutant, names: list[str], commands: dict[str, list[str]]) -> bool | None:
    """Whether one of these programs fails with the mutant; None if it does not compile."""
    file = COPY / mutant.path
    text = file.read_text()
    lines = text.split("\n")
    lines[mutant.line - 1] = mutant.text
    try:
        file.write_text("\n".join(lines))
        for name in names:
            build = ["ninja", "-C", MUTATED, "--quiet", f"tests/{name}"]
            if subprocess.run(build, capture_output=True).returncode:
                return None
            if run(commands[name], MUTATED) not in (0, 77):
                return True
        return False
    finally:
        file.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--since", default="HEAD~1")
    parser.add_argument("--most", type=int, default=200, help="mutants, drawn if there are more")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    copy_tree()
    wanted = changed(given.since)
    if given.files:
        wanted = {
            p: set(range(1, len((COPY / p).read_text().splitlines()) + 1)) for p in given.files
        }
    found = [mutant for path, lines in wanted.items() for mutant in mutants(path, lines)]
    random.Random(given.seed).shuffle(found)
    places = reached(set(wanted)) if found else {}
    configure(MUTATED, "-Doptimization=1", "-Ddebug=false", "-Dwerror=false")
    commands, dead, alive = programs(MUTATED), 0, 0
    for mutant in found[: given.most]:
        names = places.get((mutant.path, mutant.line), [])
        died = killed(mutant, names, commands)
        dead += died is True
        alive += died is False
        if died is False:
            print(f"{'lives' if names else 'not reached'}: {mutant}", flush=True)
    if not dead + alive:
        print("mutate: nothing to mutate")
        return 0
    print(f"mutate: {dead} of {dead + alive} mutants died")
    return 0 if dead >= GOAL * (dead + alive) else 1


if __name__ == "__main__":
    sys.exit(main())
