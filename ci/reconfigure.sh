#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Meson looks at configure time for files that belong to a word, and for the public headers:
# reconfigures BUILD when C files or headers were added or removed since.
set -euo pipefail
cd "$(dirname "$0")/.."
list=$1/sources.txt
found=$(find include src tests fuzz plugins tools -name '*.[ch]' | LC_ALL=C sort)
if [ -e "$list" ] && [ "$found" != "$(cat "$list")" ]; then
    meson setup --reconfigure "$1" > "$1/reconfigure.log" || { cat "$1/reconfigure.log"; exit 1; }
fi
printf '%s\n' "$found" > "$list"
