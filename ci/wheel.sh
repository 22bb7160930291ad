#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes dist/levada-*-abi3-manylinux_*.whl: one wheel for CPython 3.11 and later, with the optional
# libraries and their licences inside. libsoxr is left out: it is LGPL and needs libgomp, and a wheel
# would have to offer their sources; `resample` says that it is missing.
# Checks the wheel, and tries it in a new virtual environment where no compiler can be found.
# The manylinux version is that of this machine's C library; packaging/cibuildwheel.toml has the
# images for older ones.
set -euo pipefail
cd "$(dirname "$0")/.."

most_bytes=9800000 # of the installed package; docs/install.md says 9.8 MB
python=$PWD/.venv/bin/python
work=build/wheel-release
trial=build/wheel-trial

fail() {
    printf 'wheel: %s\n' "$*" >&2
    exit 1
}

make_wheel() {
    rm -rf "$work/raw" "$work/repaired"
    # meson does not learn new options in a build of before
    if [ meson.options -nt "$work/build/build.ninja" ]; then rm -rf "$work/build"; fi
    local name options=(-Csetup-args=-Dsoxr=disabled)
    for name in curl flac isal jpeg kissfft png simdjson zlib zstd; do
        options+=("-Csetup-args=-D$name=enabled")
    done
    PATH="$PWD/.venv/bin:$PATH" "$python" -m pip wheel -qq --disable-pip-version-check --no-deps \
        --no-build-isolation -Cbuild-dir="$work/build" \
        "${options[@]}" -w "$work/raw" .
    PATH="$PWD/.venv/bin:$PATH" "$python" -m auditwheel repair -w "$work/repaired" \
        "$work"/raw/*.whl
    "$python" ci/wheel_licences.py "$work"/repaired/*.whl
    "$python" -m abi3audit --strict "$work"/repaired/*.whl
}

# Python alone: no compiler, no pkg-config, no library but those of the system and of the wheel.
try_wheel() {
    local wheel=$1 bare
    rm -rf "$trial"
    "$python" -m venv "$trial"
    "$trial/bin/python" -m pip install -qq --disable-pip-version-check --only-binary :all: "$wheel"
    bare=$(cd "$trial" && pwd)
    (cd "$bare" && env -i PATH="$bare/bin" HOME="$bare" "$bare/bin/python" "$OLDPWD/ci/try_wheel.py" \
        "$most_bytes")
    "$bare/bin/python" ci/try_pages.py
}

make_wheel
try_wheel "$work"/repaired/*.whl
mkdir -p dist
rm -f dist/*.whl
cp "$work"/repaired/*.whl dist/
ls -l dist/*.whl
