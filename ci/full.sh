#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What CI has no time for: gcc and clang, debug and release, aarch64, and each option off once.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/setup.sh clang
export LEVADA_TEST_LENGTH="${LEVADA_TEST_LENGTH:-10}" # trials of tests that draw them
PATH="$PWD/.venv/bin:$PATH"

compiled() {
    local name=$1
    shift
    printf '\n== ci-full: %s\n' "$name"
    [ -f "build/full-$name/build.ninja" ] || meson setup "build/full-$name" -Dwerror=true "$@" > /dev/null
    ninja -C "build/full-$name" --quiet
}

variant() {
    compiled "$@"
    meson test -C "build/full-$1" --no-rebuild --print-errorlogs --timeout-multiplier 10
}

debug=(-Dbuildtype=debug -Doptimization=0 -Db_ndebug=false -Dpython=disabled)
CC=gcc variant gcc-debug "${debug[@]}"
CC=clang CXX=clang++ variant clang-release -Dpython=disabled
CC=clang CXX=clang++ variant clang-debug "${debug[@]}"
for option in curl flac futex isal jpeg kissfft png simdjson soxr zlib zstd simd; do
    CC=gcc variant "no-$option" "-D$option=disabled" -Dpython=disabled
done
CC=gcc variant no-tools -Dtools=false -Dpython=disabled
# clang looks for more than gcc.
CC=clang CXX=clang++ variant clang-undefined -Db_sanitize=undefined -Db_lundef=false -Ddebug=true \
    -Doptimization=1 -Db_ndebug=false -Dpython=disabled
printf '\n== ci-full: kernels under valgrind\n'
ci/setup.sh valgrind
meson test -C build/full-gcc-debug --no-rebuild --print-errorlogs valgrind
# gcc warns of other things at other levels.
for level in 1 3 s; do
    CC=gcc compiled "gcc-O$level" -Doptimization=$level -Dpython=disabled
done
CC=gcc compiled gcc-O3-address -Db_sanitize=address,undefined -Db_lundef=false -Ddebug=true \
    -Doptimization=3 -Db_ndebug=false -Dpython=disabled

printf '\n== ci-full: aarch64\n'
ci/cross.sh

printf '\n== ci-full: the site, and the wheel to publish\n'
make docs wheel

# What developers run by hand. Files that a target writes again must not change.
printf '\n== ci-full: the other targets\n'
make help tools setup run
make test-one NAME=take
make test-oracle
make fuzz FUZZ_RUNS=2000
make bench ROW=12
before=$(git diff | sha256sum)
make exports generated
[ "$(git diff | sha256sum)" = "$before" ] || { git diff --stat; exit 1; }

printf '\n== ci-full: what a process inherits\n'
ci/inherited.sh

# One wheel for all of them: built with the oldest, tried with each later one that is here.
printf '\n== ci-full: the wheel with other Pythons\n'
python3 -m pip wheel -qq --disable-pip-version-check --no-deps -w build/full-wheel .
python_of() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        "$candidate" -c '' 2> /dev/null && command -v "$candidate" && return
    done
    echo "no Python $1 here" >&2
    return 1
}
for version in 3.12 3.13 3.14; do
    python=$(python_of $version) || continue
    [ -x .venv-$version/bin/python ] || "$python" -m venv .venv-$version
    .venv-$version/bin/python -m pip install -qq --disable-pip-version-check --force-reinstall \
        numpy pytest hypothesis build/full-wheel/*.whl
    PATH="$PWD/.venv-$version/bin:$PATH" python -m pytest -q -p no:cacheprovider python/tests
done

# Leaks are not looked for, as Python itself keeps much until the end, and the sanitizer's own locks do
# not stand a fork beside threads that begin.
printf '\n== ci-full: the extension: address and undefined behavior\n'
[ -x .venv-sanitized/bin/python ] || python3 -m venv .venv-sanitized
mkdir -p build/full-extension
.venv-sanitized/bin/python -m pip install -qq --disable-pip-version-check \
    -Cbuild-dir=build/full-extension -Csetup-args=-Dtests=disabled \
    -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
    -Csetup-args=-Doptimization=1 -Csetup-args=-Ddebug=true numpy pytest hypothesis .
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    PYTHONMALLOC=malloc .venv-sanitized/bin/python -m pytest --capture=sys python/tests \
    --deselect python/tests/test_iterator.py::test_children_run_what_the_parent_is_running
