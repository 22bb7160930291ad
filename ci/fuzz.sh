#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci/fuzz.sh FOLDER SECONDS [RUNS]: runs each libFuzzer program of FOLDER for SECONDS, or until it has
# had RUNS inputs, starting from its committed corpus, and lists the inputs of each. New inputs go to
# fuzz/found/, which is not committed. Leaks are looked for at the end of a program: a look after
# each input costs up to 40 times the input.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
ran=()
for program in "$1"/fuzz_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=${program##*/fuzz_}
    mkdir -p "fuzz/found/$name" "fuzz/corpus/$name"
    printf -- '-- %s\n' "$name"
    dictionary=()
    [ -f "fuzz/$name.dict" ] && dictionary=("-dict=fuzz/$name.dict")
    "$program" -max_total_time="$2" -runs="${3:--1}" -timeout=10 -rss_limit_mb=2048 \
        -detect_leaks=0 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="fuzz/found/$name-" "${dictionary[@]}" \
        "fuzz/found/$name" "fuzz/corpus/$name" 2>&1 | tee "fuzz/found/$name.log"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "fuzz/found/$name.log")
    ran+=("$(printf '%12d  %s' "$runs" "$name")")
done
printf '\nfuzz: %d targets, no finding; inputs of each:\n' "${#ran[@]}"
printf '%s\n' "${ran[@]}"
