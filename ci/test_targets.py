# SPDX-License-Identifier: Apache-2.0
"""Each target of the Makefile runs in CI (.ci/run) or in `make ci-full`: none breaks unseen."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Targets that nothing runs, and why.
NOT_RUN = {
    "all": "another name of build",
    "bench-peers": "installs other libraries, and takes hours",
    "ci-full": "runs the others",
    "clean": "removes what the others need",
    "format": "changes files; lint checks what it would change",
    "mutate": "depends on what was changed since a commit",
}


def targets():
    """{target: what it depends on, and what its recipe makes}"""
    found = {}
    name = None
    for line in (ROOT / "Makefile").read_text().splitlines():
        head = re.match(r"([a-z][a-z-]*):(?!=)([^#]*)", line)
        if head:
            name = head[1]
            found.setdefault(name, set()).update(re.findall(r"^[a-z-]+$", head[2], re.M))
            if "export" not in head[2]:
                found[name].update(head[2].split())
        elif line.startswith("\t") and name:
            found[name].update(made(line))
        elif line and not line.startswith("\t"):
            name = None
    return found


def made(text):
    """The targets that a script makes."""
    lines = [line.partition("#")[0] for line in text.splitlines()]
    words = [word for line in lines for call in re.findall(r"\bmake ([^&|;'\"]+)", line)
             for word in call.split()]  # fmt: skip
    return {word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)}


def reached(found):
    scripts = (ROOT / ".ci" / "run", ROOT / "ci" / "full.sh")
    todo = set().union({"ci-full"}, *(made(path.read_text()) for path in scripts))
    seen = set()
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= (found.get(name, set()) & found.keys()) - seen
    return seen


def test_every_target_runs_somewhere():
    found = targets()
    assert {"build", "test", "wheel", "docs", "run", "exports", "generated"} <= found.keys()
    missing = found.keys() - reached(found) - NOT_RUN.keys()
    assert not missing, f"neither .ci/run nor ci/full.sh runs make {sorted(missing)}"


def test_exceptions_are_needed():
    found = targets()
    assert found.keys() >= NOT_RUN.keys()
    assert not (reached(found) & NOT_RUN.keys()) - {"ci-full"}


def test_every_target_is_declared():
    """A file of the name of a target would hide it."""
    text = (ROOT / "Makefile").read_text()
    declared = set(re.findall(r"[a-z-]+", " ".join(re.findall(r"^\.PHONY:(.*)$", text, re.M))))
    assert declared == targets().keys()


def test_a_missing_target_is_found():
    found = {"ci-full": {"test"}, "test": set(), "lost": {"test"}}
    assert "lost" not in reached(found)
    assert made("make docs wheel # make run\n# make bench\n  make fuzz FUZZ_RUNS=7 NAME=x") == {
        "docs",
        "wheel",
        "fuzz",
    }
