# SPDX-License-Identifier: Apache-2.0
"""Runs the snippets of the pages as a reader does who has the wheel and no checkout.

Snippets that belong together are one file, which Python runs in an empty directory. Commands run
if they call `levada` or `python`. Snippets that need PyTorch or pyarrow, a compiler, or files of
the repository are left to test_pages.py, which also compares outputs.

    PYTHON ci/try_pages.py    PYTHON is that of a virtual environment with the wheel
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import pages  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LACKING = re.compile(r"recordings|examples/|plugins/|\.so\b|-I include|register_source_file|\bcc\b")
OPTIONAL = re.compile(r"\b(torch(_dataset)?|jax|pyarrow|polars|pandas|datasets|duckdb|h5py|zarr)\b")
COMMAND = re.compile(r"\s*(levada|python|printf|cp|cat|ls|seq|echo)\b")
SKIPPED = {"docs/stages.md"}  # the conformance suite runs its examples


class Reader(pages.Run):
    """One page: the files of its snippets, and what failed."""

    def begin(self):
        self.finish()
        self.begun += 1
        self.folder = self.folders / str(self.begun)
        self.folder.mkdir()
        self.code, self.done = [], 0

    def finish(self):
        """Runs what was read so far, as one file, if some of it has not run."""
        if self.begun == 0 or len(self.code) == self.done:
            return
        self.done = len(self.code)
        code = "\n".join(self.code)
        if not OPTIONAL.search(code) and not LACKING.search(code):
            (self.folder / "snippet.py").write_text(code)
            self.call([sys.executable, "snippet.py"], code)

    def call(self, words, shown):
        done = subprocess.run(
            words, cwd=self.folder, env=ENVIRONMENT | {"HOME": str(self.folder)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        self.ran = getattr(self, "ran", 0) + 1
        if done.returncode != 0:
            self.differences.append(f"{shown}\n-- exit status {done.returncode}\n{done.stdout}")

    def console(self, fence):
        self.finish()
        for command, *_ in pages.commands(fence.code):
            joined = re.sub(r"\n +", " ", command.strip())
            usable = COMMAND.match(joined) and not LACKING.search(joined)
            if usable and joined not in pages.NOT_RUN:
                self.call(["bash", "-c", joined], joined)


ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "COLUMNS": "100",
}


def read(page):
    """(snippets and commands that ran, what failed)."""
    with tempfile.TemporaryDirectory() as name:
        run = Reader(Path(name))
        run.begin()
        found = list(pages.fences(page.read_text()))
        for i, fence in enumerate(found):
            if i > 0 and pages.runs(fence):
                run.finish()  # the files that it makes show what belongs together
                if pages.stands_alone(run, found[i:]):
                    run.begin()
            if pages.runs(fence):
                run.code.append(fence.code)
            elif fence.words[:1] == ["console"]:
                run.console(fence)
            elif fence.words[1:2] == ["file"] or (fence.words[:1] == ["c"] and fence.words[1:]):
                (run.folder / fence.words[-1]).write_text(fence.code)
        run.finish()
        return getattr(run, "ran", 0), run.differences


def main():
    ran, failed = 0, 0
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        if name in SKIPPED:
            continue
        count, wrong = read(page)
        ran, failed = ran + count, failed + len(wrong)
        for text in wrong:
            print(f"{name}:\n{text}")
    print(f"pages: {ran} snippets and commands ran without a checkout, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
