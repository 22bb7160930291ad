#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated files that are committed are what the option tables make of them now.

lint_generated.py BUILD                      compare
lint_generated.py BUILD --update             write them (make generated; make build does, too)
lint_generated.py BUILD --update --changed   the same; exit status 1 where one was stale
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import lib
from lib import Finding

# Which program writes what, and where it is committed.
MADE = {
    "gen_python.py": ("python/levada", ["_sources.py", "_stages.py"]),
    "gen_dictionary.py": ("fuzz", ["description.dict"]),
    "gen_docs.py": ("docs", ["stages.md"]),
}


def generate(root: Path, build: Path, folder: Path) -> None:
    """Below `folder` as below the root of the repository."""
    stages = subprocess.run(
        [str(build / "tools" / "levada"), "stages", "--json"], capture_output=True, check=True
    )
    for program, (place, _) in MADE.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(root / "ci" / program), str(folder / place)]
        subprocess.run(command, input=stages.stdout, check=True, stdout=subprocess.DEVNULL)


def check(root: Path, build: Path) -> list[Finding]:
    with tempfile.TemporaryDirectory(dir=root / "build") as name:
        generate(root, build, Path(name))
        paths = [f"{place}/{made}" for place, names in MADE.values() for made in names]
        stale = [path for path in paths if not same(Path(name) / path, root / path)]
    return [Finding(path, 1, "not what the tables say (make generated)") for path in stale]


def update(root: Path, build: Path) -> bool:
    """Writes the stale files. True: there were some."""
    stale = check(root, build)
    if stale:
        generate(root, build, root)
        print("generated:", ", ".join(str(finding.key) for finding in stale))
    return bool(stale)


def same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


if __name__ == "__main__":
    if "--update" in sys.argv:
        changed = update(lib.ROOT, Path(sys.argv[1]))
        sys.exit(changed and "--changed" in sys.argv)
    sys.exit(lib.finish(lib.ROOT, "generated", check(lib.ROOT, Path(sys.argv[1]))))
