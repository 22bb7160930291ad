#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commit subjects: `module: what changes`, at most 72 characters, no full stop, blank second line.

lint_commit.py [RANGE]   the last 20 commits where no range is given
"""

import re
import subprocess
import sys

import lib
from lib import Finding

SUBJECT = re.compile(r"[\w./+-]+((,| and) [\w./+-]+)*: \S.*")


def check_message(commit: str, message: str) -> list[Finding]:
    lines = message.rstrip("\n").split("\n")
    subject, rest = lines[0], lines[1:]
    texts = []
    if not SUBJECT.fullmatch(subject):
        texts.append("the subject is `module: what changes`")
    if len(subject) > 72:
        texts.append(f"the subject has {len(subject)} characters, at most 72")
    if subject.endswith("."):
        texts.append("the subject ends in a full stop")
    if rest and rest[0]:
        texts.append("the second line is not blank")
    return [Finding(commit, 1, f"{text}: {subject}") for text in texts]


def check(arguments: list[str]) -> list[Finding]:
    command = ["git", "log", "--no-merges", "--format=%h%x00%B%x01", *(arguments or ["-n", "20"])]
    log = subprocess.run(command, cwd=lib.ROOT, capture_output=True, text=True, check=True).stdout
    found: list[Finding] = []
    for entry in log.split("\x01"):
        commit, _, message = entry.strip().partition("\0")
        found += check_message(commit, message) if commit else []
    return found


def pardons_only_needed_ones(found: list[Finding]) -> list[Finding]:
    """Old commits leave the window, so an unneeded pardon is not a breach here."""
    allow = lib.allowed(lib.ROOT, "commit")
    return [finding for finding in found if finding.key not in allow]


if __name__ == "__main__":
    breaches = pardons_only_needed_ones(check(sys.argv[1:]))
    print(*breaches, sep="\n", end="\n" if breaches else "")
    sys.exit(1 if breaches else 0)
