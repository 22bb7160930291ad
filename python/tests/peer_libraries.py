# SPDX-License-Identifier: Apache-2.0
"""Interpreters that have another library: this one, or that of `make bench-peers`."""

import functools
import os
import subprocess
import sys

import pages
import pytest

PEERS = pages.ROOT / ".venv-peers" / "bin" / "python"


@functools.cache
def python_with(library):
    """The interpreter that can import a library, or None."""
    for python in (sys.executable, str(PEERS)):
        command = [python, "-W", "ignore", "-c", f"import {library}"]
        if os.path.exists(python) and subprocess.run(command, capture_output=True).returncode == 0:
            return python
    return None


def run(library, code, cwd):
    """What a program of the library prints."""
    python = python_with(library)
    if python is None:
        pytest.skip(f"needs {library} that can be imported: pip install it, or `make bench-peers`")
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [python, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, cwd=cwd, env=quiet, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
