#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests keep their files in folders of their own. left_files.sh FOLDER: fails if files are in the
# folder that C tests ran in; left_files.sh: prints the files of the tree that git neither has nor
# ignores, to compare before and after.
set -euo pipefail
if [ $# -eq 0 ]; then
    git -C "$(dirname "$0")/.." ls-files --others --exclude-standard 2> /dev/null || true
elif [ -d "$1" ] && [ -n "$(ls -A "$1")" ]; then
    echo "a test left files in $1: $(ls -A "$1" | tr '\n' ' '); write to t_path() instead" >&2
    rm -rf "${1:?}"/*
    exit 1
fi
