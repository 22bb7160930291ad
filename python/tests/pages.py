# SPDX-License-Identifier: Apache-2.0
"""Runs every snippet of a documentation page as a reader would, from top to bottom.

A fence begins with a word that says what becomes of it:

- ``python`` is a part of one script (``__main__``) in one folder. A new script begins in a new
  folder if the rest of the page uses no names and no files of the script before it. ``norun`` and
  ``before`` (TensorFlow) do not run.
- ``console``: each line after ``$ `` runs in bash and must exit with 0; lines below it are its
  output. A command continues while a quote is open. An output line ``...`` stands for any lines.
- ``output`` is what the snippet before it printed.
- ``c FILE`` and ``python file FILE`` are written to FILE, for a command below, or a test, to use.
- ``sh`` is a command that installs something: one of NOT_RUN.
- ``{...}`` is a directive of the site (`make docs`).
- ``c`` without a file is part of a plug-in that test_samples.py builds; ``text`` is a picture.

Durations, rates and the sizes of what a library compresses differ and are not compared.

    python pages.py PAGE...           runs pages and shows the differences
    python pages.py --update PAGE...  writes the real output into them
"""

import builtins
import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import symtable
import sys
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT.parent / "shared" / "data" / "audio" / "fsdd" / "recordings"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = {
    "pip install .": "changes the environment of the tests",
    "python3 -m venv ~/levada-env": "makes the environment of the line before",
    ". ~/levada-env/bin/activate": "makes the environment of the line before",
    "pip download numpy -d wheels": "needs a network",
    "levada info https://example.com/train-0.tfrecord.gz": "needs a network",
    "levada verify s3://my-bucket/shards/train-0.tfrecord": "needs a network",
    "cp dist/levada-*.whl wheels": "needs the wheel of `make wheel`, which tries it",
    "pip install --no-index --find-links wheels levada": "needs the wheel of the line before",
    "make run": "runs for a minute; the build machine runs it",
    "make test": "this is part of it",
    "git clone https://github.com/Jakobovski/free-spoken-digit-dataset": "needs a network",
    "ln -s free-spoken-digit-dataset/recordings recordings": "run_page does it",
    "meson setup build/library -Dpython=disabled -Dtests=disabled --buildtype=release "
    "--prefix=$HOME/.local": "installs; ci/full.sh does the same",
    "meson install -C build/library": "installs",
}
OPTIONAL = re.compile(r"(?:^import |^from |\blv\.)(torch|pyarrow|datasets)(?:\b|_)", re.MULTILINE)
VARIES = [
    (re.compile(r"(?<![\w.])\d+(\.\d+)? (s|ms|us|ns)\b"), "T s"),
    (re.compile(r"\d[\d ,.]*[kMG]? ?(records|batches|tokens|[KMG]i?B|B)/s"), "R/s"),
    (re.compile(r'"(seconds|elapsed|wait_seconds|cpu_seconds)":[\d.e+-]+'), r'"\1":T'),
    (re.compile(r"peak memory +\d[\d ,.]* [KMG]iB"), "peak memory M"),
    (re.compile(r"(→ \S+\.(?:gz|zz|zst) .*→) \d[\d.]* [KMG]?i?B"), r"\1 SIZE"),
    (re.compile(r" +"), " "),
]


@dataclass
class Fence:
    """One fenced block of a page."""

    words: list[str]
    code: str
    start: int  # of the code in the page
    end: int


@dataclass
class Difference:
    """A snippet whose output is not the one shown."""

    command: str
    shown: str
    real: str
    start: int
    end: int


@dataclass
class Run:
    """One page on its way: the folder, the names of its Python, what it printed last."""

    folders: Path
    folder: Path = field(init=False)
    script: types.ModuleType = field(init=False)
    begun: int = 0  # scripts
    printed: str = ""
    differences: list[Difference] = field(default_factory=list)

    def begin(self):
        """Begins a script in a folder that has only what every reader has."""
        self.begun += 1
        self.folder = self.folders / str(self.begun)
        self.folder.mkdir()
        for link in ("include", "plugins", "examples"):
            (self.folder / link).symlink_to(ROOT / link)
        (self.folder / "recordings").symlink_to(RECORDINGS)
        self.script = sys.modules["__main__"] = types.ModuleType("__main__")
        self.printed = ""
        os.chdir(self.folder)


def fences(text):
    for match in FENCE.finditer(text):
        yield Fence(match[1].split(), match[2], match.start(2), match.end(2))


def same(shown, real):
    """Whether an output is the one shown: durations aside, ``...`` for any lines."""

    def plain(text):
        for pattern, word in VARIES:
            text = pattern.sub(word, text)
        return "\n".join(line.rstrip() for line in text.strip().split("\n"))

    parts = [re.escape(part) for part in re.split(r"^ ?\.\.\.$\n?", plain(shown), flags=re.M)]
    text = plain(real) + "\n" * shown.endswith("...\n")
    return re.fullmatch("(?:(?<!.).*\n)*".join(parts), text)


def environment(folder):
    """The command and the built library are found as after an installation."""
    build = ROOT / "build" / "release"
    return os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PKG_CONFIG_PATH": str(build / "meson-uninstalled"),
        "LD_LIBRARY_PATH": str(build / "src"),
        "COLUMNS": "100",
        "HOME": str(folder),
    }


def commands(code):
    """(command, output shown, start and end of the output) of a console fence."""
    lines, at, found = code.splitlines(keepends=True), 0, []
    for line in lines:
        open_quote = bool(found) and found[-1][0].count("'") % 2 == 1
        if line.startswith("$ ") and not open_quote:
            found.append([line[2:], "", at + len(line), at + len(line)])
        elif open_quote:
            found[-1][0] += line
            found[-1][2] = found[-1][3] = at + len(line)
        else:
            found[-1][1] += line
            found[-1][3] = at + len(line)
        at += len(line)
    return found


def run_console(run, fence):
    for command, shown, start, end in commands(fence.code):
        joined = re.sub(r"\n +", " ", command.strip())
        if joined in NOT_RUN:
            continue
        done = subprocess.run(
            ["bash", "-c", joined], cwd=run.folder, env=environment(run.folder),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"exit status {done.returncode}: {joined}\n{done.stdout}")
        if shown and not same(shown, done.stdout):
            place = fence.start + start, fence.start + end
            run.differences.append(Difference(joined, shown, done.stdout, *place))


def missing_names(code):
    """The global names that a snippet uses and does not define."""
    tables = [symtable.symtable(code, "snippet", "exec")]
    defined = {name for name in tables[0].get_identifiers() if tables[0].lookup(name).is_local()}
    used = set()
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or table is tables[0]):
                used.add(symbol.get_name())
    return used - defined - set(dir(builtins))


def runs(fence):
    """Whether a fence is Python that runs."""
    return fence.words[:1] == ["python"] and not {"norun", "before", "file"} & set(fence.words)


def stands_alone(run, rest):
    """Whether the fences `rest` use nothing that fences before them made."""
    made = [path.name for path in run.folder.iterdir() if not path.is_symlink()]
    return not missing_names("\n".join(fence.code for fence in rest if runs(fence))) and not any(
        name in fence.code for name in made for fence in rest
    )


def run_python(run, fence):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(fence.code, "snippet", "exec"), vars(run.script))
    run.printed = printed.getvalue()


def run_output(run, fence):
    if not same(fence.code, run.printed):
        place = fence.start, fence.end
        run.differences.append(Difference("the snippet", fence.code, run.printed, *place))


def run_fence(run, fence):
    kind, words = (fence.words[0] if fence.words else ""), fence.words[1:]
    if runs(fence):
        run_python(run, fence)
    elif kind == "console":
        run_console(run, fence)
    elif kind == "output":
        run_output(run, fence)
    elif (kind == "c" and words) or words[:1] == ["file"]:
        (run.folder / words[-1]).write_text(fence.code)
    elif kind == "sh":
        unknown = [
            line for line in fence.code.splitlines() if line.split("#")[0].strip() not in NOT_RUN
        ]
        assert not unknown, f"not run, and not known as an installation: {unknown}"
    elif kind not in ("python", "c", "text") and not kind.startswith("{"):
        raise AssertionError(f"a fence needs a word that says what it is: ```{kind}")


def run_page(page):
    """Runs a page in new folders; returns its differences."""
    with tempfile.TemporaryDirectory() as name:
        run = Run(Path(name))
        main = sys.modules["__main__"]
        try:
            run.begin()
            found = list(fences(page.read_text()))
            for i, fence in enumerate(found):
                if i > 0 and runs(fence) and stands_alone(run, found[i:]):
                    run.begin()
                run_fence(run, fence)
        finally:
            sys.modules["__main__"] = main
            os.chdir(ROOT)
        return run.differences


def missing(page):
    """The optional packages and data that a page needs and that are not there."""
    run = [f for f in fences(page.read_text()) if not {"norun", "before", "file"} & set(f.words)]
    named = {name for f in run for name in OPTIONAL.findall(f.code)}
    absent = [name for name in named if not importlib.util.find_spec(name)]
    if "recordings/" in page.read_text() and not RECORDINGS.exists():
        absent.append("recordings of spoken digits")
    return sorted(absent)


def update(page, differences):
    text = page.read_text()
    for d in reversed(differences):
        text = text[: d.start] + d.real + text[d.end :]
    page.write_text(text)


def main(words):
    failed = False
    for name in [word for word in words if word != "--update"]:
        differences = run_page(ROOT / name)
        for d in differences:
            print(f"{name}: {shlex.quote(d.command)}\n-- shown\n{d.shown}-- real\n{d.real}")
        if "--update" in words:
            update(ROOT / name, differences)
        failed = failed or bool(differences)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
