# SPDX-License-Identifier: Apache-2.0
"""Programs in other languages use the C library: tests/embedding. C is in docs/c-guide.md."""

import os
import shutil
import subprocess

import pages
import pytest

SOURCES = pages.ROOT / "tests" / "embedding"
LIBRARY = pages.ROOT / "build" / "release" / "src"


def run(folder, *command):
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=300,
        env=pages.environment(folder) | {"HOME": os.environ.get("HOME", str(folder))}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def compiler(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    if not (LIBRARY / "liblevada.so").exists():
        pytest.skip("build/release has no library (make build)")
    return found


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_cpp_compiles_without_a_warning_and_runs(tmp_path, standard):
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    run(
        tmp_path, compiler("g++"), f"-std={standard}", *warnings, f"-I{pages.ROOT / 'include'}",
        SOURCES / "embed.cpp", "-o", "embed", f"-L{LIBRARY}", "-llevada",
    )  # fmt: skip
    assert run(tmp_path, "./embed").stdout == "C++ ok\n"


def test_rust_calls_it_by_plain_declarations(tmp_path):
    run(
        tmp_path, compiler("rustc"), "--edition", "2021", "-D", "warnings", "-L", LIBRARY,
        SOURCES / "embed.rs", "-o", "embed",
    )  # fmt: skip
    assert run(tmp_path, "./embed").stdout.startswith("Rust ok, levada ")
