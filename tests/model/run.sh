#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the Spin models of this folder, each over all its states. Exit status 77: no spin here.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v spin > /dev/null; then
    echo "models: not checked (no spin here; apt-get install spin)"
    exit 77
fi
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# In a folder of its own: what spin and pan write has the same names for all.
check() {
    mkdir "$work/$1"
    cd "$work/$1"
    spin -a "$here/$1.pml"
    "${CC:-cc}" -O2 -w -DSAFETY -DMEMLIM=3072 -DVECTORSZ=2048 -o pan pan.c
    ./pan -m1000000 -n > out
    if ! grep -q 'errors: 0$' out || grep -qE 'not completed|too small' out; then
        cat out
        [ ! -f "$1.pml.trail" ] || spin -t -p "$here/$1.pml" | tail -60
        echo "models: $1 failed"
        return 1
    fi
    echo "models: $1 holds in $(awk '/states, stored/ { print $1 }' out) states"
}

# Side by side.
checks=()
for model in "$here"/*.pml; do
    check "$(basename "$model" .pml)" &
    checks+=($!)
done
failed=0
for one in "${checks[@]}"; do wait "$one" || failed=1; done
exit "$failed"
