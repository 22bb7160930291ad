# SPDX-License-Identifier: Apache-2.0
"""Programs that run out of memory, also in the libraries that they use."""

import os
import platform
import subprocess

import pytest
from command import LEVADA, needs_command

LAST = 60  # allocations: those of the encoder and its threads are among them

pytestmark = [
    needs_command,
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the shim is for glibc"),
]


def convert(folder, shim, packed, **faults):
    words = [LEVADA, "convert", "in.csv", f"out.csv{packed}", "--threads", "4"]
    more = os.environ | {"LD_PRELOAD": str(shim)} | {k: str(v) for k, v in faults.items()}
    return subprocess.run(words, cwd=folder, capture_output=True, timeout=60, env=more)


@pytest.mark.parametrize("packed", [".zst", ".gz"])
def test_a_compressor_without_memory_is_an_error(tmp_path, memory_shim, packed):
    """The old file stays, or the new one is complete."""
    rows = [f"{i},{i * i % 9973:x}" for i in range(3000)]
    (tmp_path / "in.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    out = tmp_path / f"out.csv{packed}"
    done = convert(tmp_path, memory_shim, packed, LEVADA_FAULT_COUNT=tmp_path / "count")
    if b"was built without" in done.stderr:
        pytest.skip("built without this compression")
    assert done.returncode == 0, done.stderr
    whole, count = out.read_bytes(), int((tmp_path / "count").read_text())
    failed = 0
    for most in range(count - LAST, count):
        out.write_bytes(b"old")
        done = convert(tmp_path, memory_shim, packed, LEVADA_FAULT_MEMORY=most)
        assert done.returncode in (0, 1), f"{most} of {count}: {done.returncode}"
        assert out.read_bytes() in ([whole, b"old"] if done.returncode else [whole])
        failed += done.returncode
    assert failed > 0
