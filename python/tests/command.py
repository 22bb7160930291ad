# SPDX-License-Identifier: Apache-2.0
"""The command under test, and how long tests of random trials run."""

import os
import shutil
import sys
from pathlib import Path

import pytest

# The command of the package under test is installed beside the interpreter.
_BESIDE = shutil.which("levada", path=str(Path(sys.executable).parent))
LEVADA = os.environ.get("LEVADA_BIN") or _BESIDE or shutil.which("levada")
needs_command = pytest.mark.skipif(LEVADA is None, reason="the command is not installed")


def _length():
    text = os.environ.get("LEVADA_TEST_LENGTH", "1")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"LEVADA_TEST_LENGTH={text!r} must be an integer of at least 1")
    return int(text)


LENGTH = _length()  # multiplies counts of trials: 1 in `make test`, 10 in `make ci-full`
