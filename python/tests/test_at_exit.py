# SPDX-License-Identifier: Apache-2.0
"""Programs that end while threads wait for functions of a pipeline, or run them.

Python unwinds a thread that asks for the interpreter after its end, which aborts the process where
C++ code of a library called it, such as a reader of pyarrow that is freed.
"""

import subprocess
import sys

import pytest

# Functions at exit run in reverse order: this one after that of levada.
WATCH = """
import atexit, threading, time
names = lambda: [thread.name for thread in threading.enumerate()]
atexit.register(lambda: print(names()))
import levada as lv
"""
PROGRAMS = {
    "an open iterator": """
it = iter(lv.range(10_000).map(lambda r: r).batch(3).with_options(threads=3))
next(it)
""",
    "an object that was let go": """
class Records:
    def __len__(self):
        return 10_000

    def __getitem__(self, i):
        return {"x": i}

next(iter(lv.from_random_access(Records()).batch(3)))
""",
    "inside of a function": """
def slow(r):
    time.sleep(0.2)
    return r

it = iter(lv.range(10_000).map(slow).batch(1).with_options(threads=3))
next(it)
""",
    "inside of several functions": """
def slow(r):
    time.sleep(0.2)
    return r

it = iter(lv.range(10_000).map(slow, workers=6).batch(1).with_options(threads=6))
next(it)
""",
}
LATE = """
import atexit
atexit.register(lambda: print(list(lv.range(3).map(lambda r: {"x": -r["value"]}).batch(3))[0]["x"]))
import levada as lv
"""


def run(code):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_thread_is_left_when_python_ends(name):
    done = run(WATCH + PROGRAMS[name])
    assert (done.returncode, done.stderr) == (0, "")
    assert "levada function" not in done.stdout
    assert "MainThread" in done.stdout


def test_functions_at_exit_may_still_call_functions():
    done = run(LATE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[ 0 -1 -2]\n", "")
