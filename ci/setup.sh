#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up what the build needs: system packages and the virtual environment .venv. Safe to run
# again; when nothing is missing it asks neither apt nor pip.
#   ci/setup.sh            build, run, test
#   ci/setup.sh clang      and clang with its run-time libraries (fuzzing, ci-full)
#   ci/setup.sh cross      and what builds and runs for aarch64 (ci/cross.sh)
#   ci/setup.sh valgrind   and valgrind
#   ci/setup.sh peers      and a queue of C++ that the benches compare ours with
#   ci/setup.sh torch      and torch (ci/requirements-torch.txt), if pip can install it
#   ci/setup.sh doors      and pyarrow, datasets and others (ci/requirements-doors.txt), if pip can
#   ci/setup.sh types      and a second type checker (ci/requirements-types.txt), if pip can
#   ci/setup.sh docs       and Sphinx (ci/requirements-docs.txt), if pip can install it
#   ci/setup.sh wheel      and what checks wheels (ci/requirements-wheel.txt)
#   ci/setup.sh oracle     and the libraries that tests compare with (ci/requirements-oracle.txt)
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
needed=(libcmocka-dev pkg-config)
optional=(libcurl4-openssl-dev zlib1g-dev libisal-dev libzstd-dev spin cmake)
# images, audio, JSON
optional+=(libjpeg62-turbo-dev libpng-dev libflac-dev libsoxr-dev libkissfft-dev libsimdjson-dev g++)
requirements=(ci/requirements.txt)
optional_requirements=()

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3 python3.12 python3.13; do
        [ -n "$candidate" ] && command -v "$candidate" > /dev/null || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# A Python that did not come from apt brings its own headers and venv.
python_packages() {
    "$1" -c 'import ensurepip, venv' 2> /dev/null || echo python3-venv
    "$1" - << 'PY' || echo python3-dev
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PY
}

missing_of() {
    local package
    for package in "$@"; do
        dpkg -s "$package" 2> /dev/null | grep -q '^Status: install ok installed' || echo "$package"
    done
}

install_packages() {
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null || return 1
        root=(sudo)
    fi
    command -v apt-get > /dev/null || return 1
    say "installing $*"
    "${root[@]}" apt-get update -qq || return 1
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" > /dev/null
}

system_packages() {
    local must may
    if ! command -v dpkg > /dev/null; then
        say "no dpkg here: taking for granted the equivalents of ${needed[*]} ${optional[*]}"
        return
    fi
    mapfile -t must < <(missing_of "${needed[@]}")
    mapfile -t may < <(missing_of "${optional[@]}")
    [ $((${#must[@]} + ${#may[@]})) -gt 0 ] || return 0
    install_packages "${must[@]}" "${may[@]}" && return
    [ ${#must[@]} -eq 0 ] \
        || fail "cannot install ${must[*]}; please run: apt-get install ${must[*]} ${may[*]}"
    say "cannot install ${may[*]}; going on without them (compressions, images and audio answer EUNIMPLEMENTED," \
        "peers are left out)"
}

# Without it `make test` still runs: what needs the file's packages is skipped and names it.
optional_environment() {
    local file stamp
    for file in "${optional_requirements[@]}"; do
        stamp="$venv/.$(basename "$file")"
        cmp -s "$file" "$stamp" && continue
        say "installing $file"
        if "$venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$file"; then
            cp "$file" "$stamp"
        else
            say "WARNING: pip could not install $file (see the lines above):" \
                "whatever needs it is SKIPPED" >&2
        fi
    done
}

virtual_environment() {
    local file stamp
    if ! "$venv/bin/python" -c 'import pip' 2> /dev/null; then
        say "creating $venv"
        rm -rf "$venv"
        "$1" -m venv "$venv"
    fi
    for file in "${requirements[@]}"; do
        stamp="$venv/.$(basename "$file")"
        cmp -s "$file" "$stamp" && continue
        say "installing $file"
        "$venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$file" \
            || fail "pip could not install $file (see the lines above)"
        cp "$file" "$stamp"
    done
}

for extra in "$@"; do
    case "$extra" in
        cross) needed+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static) ;;
        clang) needed+=(clang libclang-rt-14-dev) ;;
        valgrind) optional+=(valgrind) ;;
        peers)
            optional+=(libconcurrentqueue-dev)
            command -v c++ > /dev/null || optional+=(g++)
            ;;
        torch) optional_requirements+=(ci/requirements-torch.txt) ;;
        doors) optional_requirements+=(ci/requirements-doors.txt) ;;
        types) optional_requirements+=(ci/requirements-types.txt) ;;
        docs) optional_requirements+=(ci/requirements-docs.txt) ;;
        wheel) requirements+=(ci/requirements-wheel.txt) ;;
        oracle) requirements+=(ci/requirements-oracle.txt) ;;
        *) fail "unknown argument $extra" ;;
    esac
done
python=$(find_python) || fail "Python 3.11 or later is needed; please run: apt-get install python3"
command -v cc > /dev/null || needed+=(gcc libc6-dev)
mapfile -t -O "${#needed[@]}" needed < <(python_packages "$python")
system_packages
virtual_environment "$python"
optional_environment
