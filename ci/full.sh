#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What CI has no time for: gcc and clang, debug and release, and each option off once.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/setup.sh clang
PATH="$PWD/.venv/bin:$PATH"

variant() {
    local name=$1
    shift
    printf '\n== ci-full: %s\n' "$name"
    [ -f "build/full-$name/build.ninja" ] || meson setup "build/full-$name" -Dwerror=true "$@" > /dev/null
    ninja -C "build/full-$name" --quiet
    meson test -C "build/full-$name" --no-rebuild --print-errorlogs
}

debug=(-Dbuildtype=debug -Doptimization=0 -Db_ndebug=false -Dpython=disabled)
CC=gcc variant gcc-debug "${debug[@]}"
CC=clang variant clang-release -Dpython=disabled
CC=clang variant clang-debug "${debug[@]}"
for option in futex isal zlib zstd simd; do
    CC=gcc variant "no-$option" "-D$option=disabled" -Dpython=disabled
done
CC=gcc variant no-tools -Dtools=false -Dpython=disabled

printf '\n== ci-full: batches as tensors of torch\n'
[ -x .venv-interop/bin/python ] || python3 -m venv .venv-interop
.venv-interop/bin/python -m pip install -qq --disable-pip-version-check \
    torch==2.13.0 numpy pytest hypothesis .
.venv-interop/bin/python -m pytest -q python/tests/test_interop.py
