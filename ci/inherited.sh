#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs some tests of each kind in the surroundings that shells, schedulers and users make: what a
# process inherits (actions of signals, umask, locale, TMPDIR, descriptors) must not change a result.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
self=$PWD/ci/inherited.sh
scratch=$PWD/build/inherited

if [ "${1:-}" = tests ]; then
    python -m pytest -q -p no:cacheprovider python/tests/test_outputs.py python/tests/test_pipes.py \
        python/tests/test_cli_signals.py python/tests/test_cli_messages.py \
        python/tests/test_interrupts.py python/tests/test_shown_names.py
    # Not by meson, which cannot wait for a program where SIGCHLD is ignored.
    for program in unit_output unit_glob unit_file_reader unit_value unit_parse stress_interrupt; do
        CMOCKA_MESSAGE_OUTPUT=TAP "build/release/tests/test_$program" > "$scratch/$program.txt" 2>&1 \
            || { echo "$program: exit status $?" && cat "$scratch/$program.txt" && exit 1; }
    done
    exit
fi

under() {
    printf '\n== inherited: %s\n' "$1"
    shift
    "$@"
}

mkdir -p "$scratch/with spaces" "$scratch/relative"
under nohup nohup "$self" tests
under 'ignored signals' bash -c "trap '' HUP INT TERM PIPE USR1 USR2 CHLD; exec '$self' tests"
for mask in 077 000; do
    under "umask $mask" bash -c "umask $mask; exec '$self' tests"
done
for locale in C tr_TR.utf8 de_DE.utf8; do
    locale -a | grep -qix "$locale" || { echo "no locale $locale here" >&2 && continue; }
    under "locale $locale" env LC_ALL="$locale" "$self" tests
done
under 'TMPDIR with spaces' env TMPDIR="$scratch/with spaces" "$self" tests
under 'relative TMPDIR' env TMPDIR=build/inherited/relative "$self" tests
under 'closed standard input' bash -c "exec '$self' tests <&-"
under 'open descriptors' bash -c "for n in {10..90}; do eval \"exec \$n< /dev/null\"; done; exec '$self' tests"
