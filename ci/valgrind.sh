#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs test programs under valgrind: kernels read over the ends of their input on purpose, and no
# branch and no result may depend on what is there. Skips (77) where valgrind is not installed.
set -euo pipefail
command -v valgrind > /dev/null || {
    echo "valgrind is not installed: skipped; apt-get install valgrind runs it"
    exit 77
}
for program in "$@"; do
    echo "== valgrind: $(basename "$program")"
    valgrind --quiet --error-exitcode=9 "$program"
done
