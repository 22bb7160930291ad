#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated files that are committed are what the option tables make of them now.

lint_generated.py BUILD   (make generated writes them)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import lib
from lib import Finding

PACKAGE = Path("python/levada")
NAMES = ("_sources.py", "_stages.py")


def generate(root: Path, build: Path, folder: Path) -> None:
    stages = subprocess.run(
        [str(build / "tools" / "levada"), "stages", "--json"], capture_output=True, check=True
    )
    command = [sys.executable, str(root / "ci" / "gen_python.py"), str(folder)]
    subprocess.run(command, input=stages.stdout, check=True, stdout=subprocess.DEVNULL)


def check(root: Path, build: Path) -> list[Finding]:
    with tempfile.TemporaryDirectory(dir=root / "build") as name:
        generate(root, build, Path(name))
        stale = [
            n for n in NAMES if (Path(name) / n).read_bytes() != (root / PACKAGE / n).read_bytes()
        ]
    return [Finding(f"{PACKAGE / n}", 1, "not what the tables say (make generated)") for n in stale]


if __name__ == "__main__":
    if "--update" in sys.argv:
        generate(lib.ROOT, Path(sys.argv[1]), lib.ROOT / PACKAGE)
        sys.exit(0)
    sys.exit(lib.finish(lib.ROOT, "generated", check(lib.ROOT, Path(sys.argv[1]))))
