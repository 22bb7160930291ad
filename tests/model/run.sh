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
cd "$work"
for model in "$here"/*.pml; do
    name=$(basename "$model" .pml)
    spin -a "$model"
    "${CC:-cc}" -O2 -w -DSAFETY -DMEMLIM=3072 -DVECTORSZ=2048 -o pan pan.c
    ./pan -m1000000 -n > "$name.out"
    if ! grep -q 'errors: 0$' "$name.out" || grep -qE 'not completed|too small' "$name.out"; then
        cat "$name.out"
        [ ! -f "$name.pml.trail" ] || spin -t -p "$model" | tail -60
        echo "models: $name failed"
        exit 1
    fi
    echo "models: $name holds in $(awk '/states, stored/ { print $1 }' "$name.out") states"
done
