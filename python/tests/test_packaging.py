# SPDX-License-Identifier: Apache-2.0
"""Other builds find the library: CMake, Meson as a subproject; the recipes have its version."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import levada as lv
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
PACKAGING = ROOT / "packaging"
MESON = Path(sys.executable).parent / "meson"
PROGRAM = """#include <levada/levada.h>
#include <stdio.h>
int main(void) { puts(levada_version()); return 0; }
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(levada %s CONFIG REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE levada::levada)
"""
USER_OF_MESON = """project('user', 'c', version: '1.0')
executable('user', 'user.c', dependencies: dependency('levada', allow_fallback: true))
"""


def run(*words, fails=False):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path):
    """The installed library, in another place than the one that it was configured for."""
    if not (BUILD / "src/liblevada.so").exists() or not MESON.exists():
        pytest.skip("needs the library of `make build`, and meson")
    destination = tmp_path / "moved"
    tags = "devel,doc"
    run(MESON, "install", "-C", BUILD, "--no-rebuild", "--tags", tags, "--destdir", destination)
    (config,) = destination.rglob("levada-config.cmake")
    return next(p for p in config.parents if (p / "include/levada").is_dir())


def configure(folder, prefix, version, **options):
    (folder / "user.c").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(CMAKE % version)
    words = ["cmake", "-S", folder, "-B", folder / f"build{version}"]
    return run(*words, f"-DCMAKE_PREFIX_PATH={prefix}", **options)


def test_pkg_config_has_flags_of_the_library_alone(installed, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("needs pkg-config")
    (file,) = installed.rglob("levada.pc")
    assert "Requires" not in file.read_text()
    # Nothing else can be found: a user of the shared library has no headers of other libraries.
    found = {"PKG_CONFIG_LIBDIR": str(file.parent), "PATH": os.environ["PATH"]}
    find = ("pkg-config", f"--define-variable=prefix={installed}")
    flags = subprocess.check_output((*find, "--cflags", "levada"), env=found, text=True).split()
    assert flags == [f"-I{installed}/include"]
    (tmp_path / "user.c").write_text(PROGRAM)
    for mode in ([], ["--static"]):
        libs = subprocess.check_output((*find, *mode, "--libs", "levada"), env=found, text=True)
        words = libs.split()
        if mode:  # the archive, and what it needs
            words[words.index("-llevada")] = "-l:liblevada.a"
        run("cc", tmp_path / "user.c", *flags, *words, "-o", tmp_path / "user")
        path = {"LD_LIBRARY_PATH": str(file.parents[1])} if not mode else {}
        assert subprocess.check_output(tmp_path / "user", env=path, text=True) == (
            lv.__version__ + "\n"
        )


def test_the_man_page_and_completions_are_installed(installed):
    share = installed / "share"
    assert (share / "man/man1/levada.1").read_text().startswith(".TH LEVADA 1")
    for name in (
        "bash-completion/completions/levada.bash",
        "zsh/site-functions/_levada",
        "fish/vendor_completions.d/levada.fish",
    ):
        assert "convert" in (share / name).read_text()


def test_cmake_finds_the_library(installed, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("needs cmake")
    configure(tmp_path, installed, "0.1")
    run("cmake", "--build", tmp_path / "build0.1")
    assert run(tmp_path / "build0.1/user").strip() == lv.__version__


@pytest.mark.parametrize("version", ["0.0", "0.2", "1.0"])
def test_cmake_refuses_other_versions(installed, tmp_path, version):
    if not shutil.which("cmake"):
        pytest.skip("needs cmake")
    told = configure(tmp_path, installed, version, fails=True)
    assert f'compatible with requested version "{version}"' in re.sub(r"\s+", " ", told)


@pytest.mark.parametrize(("kind", "linked"), [("shared", ".so"), ("static", ".a")])
def test_a_meson_project_has_the_library_as_a_subproject(tmp_path, kind, linked):
    """The library alone, linked as the project wants it."""
    if not MESON.exists():
        pytest.skip("needs meson")
    (tmp_path / "user.c").write_text(PROGRAM)
    (tmp_path / "meson.build").write_text(USER_OF_MESON)
    (tmp_path / "subprojects").mkdir()
    shutil.copy(PACKAGING / "levada.wrap", tmp_path / "subprojects")
    (tmp_path / "subprojects/levada").symlink_to(ROOT)
    build = tmp_path / "build"
    told = run(MESON, "setup", build, tmp_path, f"-Ddefault_library={kind}")
    assert f"levada {lv.__version__}" in told
    targets = json.loads(run(MESON, "introspect", "--targets", build))
    made = {(each["name"], each["type"]) for each in targets if each["build_by_default"]}
    libraries = {("levada", "shared library"), ("levada", "static library")}
    assert made == {("user", "executable"), *libraries}
    inputs = run(MESON.parent / "ninja", "-C", build, "-t", "query", "user")
    assert set(re.findall(r"liblevada(\.[a-z]+)", inputs)) == {linked}


def test_recipes_have_the_version():
    vcpkg = json.loads((PACKAGING / "vcpkg/ports/levada/vcpkg.json").read_text())
    conda = (PACKAGING / "conda-forge/recipe.yaml").read_text()
    wrap = (PACKAGING / "levada.wrap").read_text()
    assert vcpkg["version"] == lv.__version__
    assert f'version: "{lv.__version__}"' in conda
    assert f"revision = v{lv.__version__}\n" in wrap
