#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, called by `make run`: makes a corpus, looks at it, batches it; then the same from
# the shortest programs in Python and C; at last a model that trains on segments of long sequences.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
mkdir -p build/run

PYTHONDONTWRITEBYTECODE=1 python examples/main_job.py build/run

cd build/run
printf '\nthe shortest programs, on the sample files\n'
levada sample . > /dev/null
python "$root/examples/quick_start.py"
for build in wheel release; do
    program=$root/build/$build/examples/example_quick_start
    if [ -x "$program" ]; then
        "$program"
        printf '\na character model on speeches that are longer than its segments\n'
        exec python "$root/examples/char_model.py"
    fi
done
echo "the C program is not built" >&2
exit 1
