#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci/fuzz.sh FOLDER SECONDS [RUNS [PATTERN]]: runs each libFuzzer program of FOLDER whose name matches
# PATTERN (format_*) for SECONDS, starting from its committed corpus and from what earlier runs found.
# A target that has had RUNS inputs, over all its runs, is not run again. Prints the inputs of each
# target; exits 1 after a finding, which fuzz/found/NAME-* reproduces.
#
# fuzz/found/ is not committed: NAME/ has inputs that reached new code, NAME.runs the inputs so far.
# FUZZ_OPTIONS has more options of libFuzzer, such as -max_len=4096. Leaks are looked for at the end
# of a program: a look after each input costs up to 40 times the input. Freed memory is kept for 1 MiB
# of later frees, not 256 MiB, which would not fit in the caches, and without the stack that allocated
# it: the program shows that when it is run on a finding without ASAN_OPTIONS.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
export ASAN_OPTIONS="quarantine_size_mb=1:malloc_context_size=0:${ASAN_OPTIONS:-}"
runs=${3:--1}
findings=0

# fuzz_length NAME: the most bytes of an input. The targets make windows and images small, so that
# short inputs cross as many ends as long ones.
fuzz_length() {
    case $1 in
        index) echo 12288 ;;
        *_tar) echo 2560 ;;
        cache | checkpoint | index_edits | state | *_state | *_jpeg | *_image | *_flac) echo 512 ;;
        *) echo 192 ;;
    esac
}

# fuzz_run NAME PROGRAM SECONDS LEFT: one run, and its count.
fuzz_run() {
    local name=$1 dictionary=() found=fuzz/found/$1 options=()
    [ -f "fuzz/$name.dict" ] && dictionary=("-dict=fuzz/$name.dict")
    read -ra options <<< "${FUZZ_OPTIONS:-}"
    mkdir -p "$found" "fuzz/corpus/$name"
    "$2" -max_total_time="$3" -runs="$4" -max_len="$(fuzz_length "$name")" -timeout=10 -rss_limit_mb=2048 -detect_leaks=0 \
        -entropic=0 -print_final_stats=1 -verbosity=0 -artifact_prefix="$found-" \
        "${dictionary[@]}" "${options[@]}" "$found" "fuzz/corpus/$name" > "$found.log" 2>&1 || {
        findings=$((findings + 1))
        tail -50 "$found.log"
    }
    local made
    made=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log")
    echo $(($(cat "$found.runs" 2> /dev/null || echo 0) + ${made:-0})) > "$found.runs"
}

table=()
for program in "$1"/fuzz_${4:-*}; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=${program##*/fuzz_}
    before=$(cat "fuzz/found/$name.runs" 2> /dev/null || echo 0)
    [ "$runs" -lt 0 ] || [ "$before" -lt "$runs" ] &&
        fuzz_run "$name" "$program" "$2" $((runs < 0 ? -1 : runs - before))
    table+=("$(printf '%12d %12d  %s' $(($(cat "fuzz/found/$name.runs") - before)) \
        "$(cat "fuzz/found/$name.runs")" "$name")")
done
printf '\n%12s %12s  %s\n' inputs 'all runs' target
printf '%s\n' "${table[@]}"
[ "$findings" -eq 0 ] || { echo "fuzz: targets that ended with a finding: $findings" && exit 1; }
