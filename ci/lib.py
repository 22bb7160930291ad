# SPDX-License-Identifier: Apache-2.0
"""What the checks share: files of the repository, findings, and the allow-lists.

A finding has a key (`PATH` or `PATH:NAME`) and a text. ci/allow/<check>.txt pardons keys, one a
line with its reason: `KEY  # reason`. A pardon that nothing needs is a finding too.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Finding:
    key: str
    line: int
    text: str

    def __str__(self) -> str:
        path, _, name = self.key.partition(":")
        return f"{path}:{self.line}: {self.text}" + (f" ({name})" if name else "")


def files(root: Path, *suffixes: str) -> list[Path]:
    """Tracked files and new ones that git does not ignore, relative to root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    paths = sorted(Path(name.decode()) for name in names.split(b"\0") if name)
    return [path for path in paths if path.name.endswith(suffixes) and (root / path).is_file()]


def inside(path: Path, *folders: str) -> bool:
    return path.as_posix().startswith(tuple(f"{folder}/" for folder in folders))


def allowed(root: Path, check: str) -> dict[str, str]:
    """Key to reason; a line without a reason is refused."""
    path = root / "ci" / "allow" / f"{check}.txt"
    entries = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        key, _, reason = (part.strip() for part in line.partition("#"))
        if key and not reason:
            sys.exit(f"{path}: no reason for {key}")
        if key:
            entries[key] = reason
    return entries


def unpardoned(root: Path, check: str, findings: list[Finding]) -> list[Finding]:
    allow = allowed(root, check)
    keys = {finding.key for finding in findings}
    rest = [finding for finding in findings if finding.key not in allow]
    stale = [Finding(f"ci/allow/{check}.txt:{key}", 1, "no longer needed") for key in allow]
    return rest + [finding for finding in stale if finding.key.partition(":")[2] not in keys]


def finish(root: Path, check: str, findings: list[Finding]) -> int:
    """Prints what is left after the pardons; the exit status of the check."""
    rest = unpardoned(root, check, findings)
    for finding in rest:
        print(finding)
    if rest:
        print(f"{check}: {len(rest)} breaches")
    return 1 if rest else 0
