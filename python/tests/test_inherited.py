# SPDX-License-Identifier: Apache-2.0
"""What the command inherits (signals, umask, locale, TMPDIR, descriptors) changes no result.
`ci/inherited.sh` runs other tests in the same surroundings."""

import subprocess

import pytest
from cli_support import made_folder  # noqa: F401  a fixture
from command import LEVADA, needs_command

pytestmark = needs_command

SURROUNDINGS = {
    "nohup": 'nohup "$@"',
    "ignored signals": 'trap "" HUP INT TERM PIPE USR1 CHLD; "$@"',
    "umask 077": 'umask 077; "$@"',
    "umask 000": 'umask 000; "$@"',
    "C": 'LC_ALL=C "$@"',
    "Turkish": 'LC_ALL=tr_TR.UTF-8 "$@"',
    "German": 'LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 "$@"',
    "an odd TMPDIR": 'TMPDIR="/none/a b" "$@"',
    "a relative TMPDIR": 'TMPDIR=. "$@"',
    "closed standard input": '"$@" <&-',
    "closed descriptors": '"$@" 3>&- 4>&-',
    "open descriptors": 'for n in {10..90}; do eval "exec $n</dev/null"; done; "$@"',
    "few descriptors": 'ulimit -n 24; "$@"',
    "no environment": 'env -i "$@"',
}
COMMANDS = [
    ["verify", "ten.tfrecord", "lines.txt", "bad.tfrecord", "--json"],
    ["info", "ten.tfrecord.gz", "--json"],
    ["head", "ten.tfrecord", "lines.txt"],
    [
        "run",
        "tfrecord:t*.tfrecord | parse_example:auto | shuffle:5 | batch:3",
        "--json",
        "--seed=1",
    ],
    ["convert", "ten.tfrecord", "out.jsonl"],
    ["stages", "bucket_by_sequence_length"],
]


def results(folder, surroundings):
    for words in COMMANDS:
        line = ["bash", "-c", surroundings, "bash", LEVADA, *words]
        done = subprocess.run(line, cwd=folder, capture_output=True, timeout=60)
        made = folder / "out.jsonl"
        shown = b"" if made.exists() else done.stdout + done.stderr  # a time
        yield words[0], done.returncode, shown, made.read_bytes() if made.exists() else None
        made.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def usual():
    return {}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_no_command_depends_on_what_it_inherits(folder, usual, name):
    if not usual:
        usual.update({"all": list(results(folder, '"$@"'))})
    assert [status for _, status, *_ in usual["all"]] == [1, 0, 0, 0, 0, 0]
    assert list(results(folder, SURROUNDINGS[name])) == usual["all"]
