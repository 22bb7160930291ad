#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci/fuzz.sh FOLDER SECONDS: runs each libFuzzer program of FOLDER for so long, starting from its
# committed corpus. New inputs go to fuzz/found/, which is not committed.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
ran=0
for program in "$1"/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=${program##*/fuzz_}
    mkdir -p "fuzz/found/$name" "fuzz/corpus/$name"
    printf -- '-- %s\n' "$name"
    dictionary=()
    [ -f "fuzz/$name.dict" ] && dictionary=("-dict=fuzz/$name.dict")
    "$program" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="fuzz/found/$name-" "${dictionary[@]}" \
        "fuzz/found/$name" "fuzz/corpus/$name"
    ran=$((ran + 1))
done
printf 'fuzz: %d targets, no finding\n' "$ran"
