# SPDX-License-Identifier: Apache-2.0
"""The command run as users run it, and files for it that levada did not make."""

import gzip
import subprocess

import pytest
from command import LEVADA
from wire import frame, sized, varint


def levada(*words, cwd=None, status=0):
    """Runs the command and checks its exit status."""
    done = subprocess.run(
        [LEVADA, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


def ints(values):
    return sized(3, sized(1, b"".join(map(varint, values))))


def texts(values):
    return sized(1, b"".join(sized(1, value) for value in values))


def features(mapping):
    entries = (sized(1, k.encode()) + sized(2, v) for k, v in mapping.items())
    return b"".join(sized(1, entry) for entry in entries)


def example(i):
    tokens = ints(range(i % 5 + 1))
    return sized(1, features({"name": texts([b"r%d" % i]), "tokens": tokens}))


def sequence_example(i):
    steps = b"".join(sized(1, ints([t])) for t in range(i))
    return sized(1, features({"id": ints([i])})) + sized(2, features({"tokens": steps}))


RECORDS = [example(i) for i in range(10)]
PARSED = [{"name": [f"r{i}"], "tokens": list(range(i % 5 + 1))} for i in range(10)]
PARSE = (
    "parse_example:{name:{kind:FixedLen,shape:[],dtype:string},tokens:{kind:VarLen,dtype:int64}}"
)


@pytest.fixture(name="folder")
def made_folder(tmp_path):
    """ten.tfrecord, ten.tfrecord.gz, bad.tfrecord (record 3 is damaged), lines.txt."""
    whole = b"".join(map(frame, RECORDS))
    (tmp_path / "ten.tfrecord").write_bytes(whole)
    (tmp_path / "ten.tfrecord.gz").write_bytes(gzip.compress(whole))
    begin = sum(len(frame(record)) for record in RECORDS[:3])
    bad = bytearray(whole)
    bad[begin + 14] ^= 1
    (tmp_path / "bad.tfrecord").write_bytes(bad)
    (tmp_path / "lines.txt").write_text("one\ntwo\n\nfour \u00e9\n")
    return tmp_path
