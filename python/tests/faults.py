# SPDX-License-Identifier: Apache-2.0
"""Programs in which one call of the system fails (tests/fault/preload.c), or all from one on."""

import errno
import os
import subprocess

from command import LEVADA


def run(words, folder, **more):
    words = [LEVADA, *words]
    return subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=False, **more)


def fault(
    shim, folder, number=None, code=errno.EIO, named=False, watched="out", reads=False, stays=False
):
    """The environment of a program in which a call fails."""
    more = {"LD_PRELOAD": str(shim), "LEVADA_FAULT_FOLDER": str(folder / watched)}
    more |= {"LEVADA_FAULT_CODE": str(code), "LEVADA_FAULT_FIRED": str(folder / "fired")}
    more |= {"LEVADA_FAULT_NUMBER": str(number)} if number is not None else {}
    more |= {"LEVADA_FAULT_NAMED": "1"} if named else {}
    more |= {"LEVADA_FAULT_READS": "1"} if reads else {}
    more |= {"LEVADA_FAULT_STAYS": "1"} if stays else {}
    return os.environ | more


def fired(folder):
    """Whether the call failed; forgets it."""
    path = folder / "fired"
    found = path.exists()
    path.unlink(missing_ok=True)
    return found
