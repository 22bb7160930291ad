# SPDX-License-Identifier: Apache-2.0
"""What the tests inherit is made the same everywhere: actions of signals, umask and locale. Shells
have commands in the background (`make test &`) ignore Ctrl-C, `nohup` has them ignore SIGHUP, and
so do their children: tests that send these signals would wait forever."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command import LENGTH

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.umask(0o022)
os.environ.update(LC_ALL="C.UTF-8")


LATE = ("auto", "never", "random", "always")


def pytest_configure():
    """LEVADA_TEST_LATE: which numbers stay encoded until a batch is made, if they can."""
    how = os.environ.get("LEVADA_TEST_LATE")
    if how:
        from levada import _levada

        _levada.late_decode(LATE.index(how))


def left_files() -> set[str]:
    script = Path(__file__).resolve().parents[2] / "ci" / "left_files.sh"
    return set(subprocess.run([script], capture_output=True, text=True).stdout.splitlines())


@pytest.fixture(scope="session", autouse=True)
def no_file_is_left():
    """Tests write to folders of their own, not into the tree."""
    before = left_files()
    yield
    assert left_files() <= before


@pytest.fixture(scope="session")
def length():
    """The multiplier of trial counts: 1 in `make test`, 10 in `make ci-full`."""
    return LENGTH


def preloaded(tmp_path_factory, word):
    """tests/fault/<word>.c as a library that is loaded before a program."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler, or another system")
    folder = tmp_path_factory.mktemp("shim")
    if set(" :") & set(str(folder)):  # LD_PRELOAD would end there
        folder = Path(tempfile.mkdtemp(prefix="levada-shim-", dir="/tmp"))
        atexit.register(shutil.rmtree, folder)
    path = folder / f"{word}.so"
    source = Path(__file__).resolve().parents[2] / "tests" / "fault" / f"{word}.c"
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", path, source, "-ldl"], check=True)
    return path


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """A library that makes one call of the system fail."""
    return preloaded(tmp_path_factory, "preload")


@pytest.fixture(scope="session")
def memory_shim(tmp_path_factory):
    """A library that lets a program run out of memory."""
    return preloaded(tmp_path_factory, "preload_memory")
