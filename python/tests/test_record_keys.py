# SPDX-License-Identifier: Apache-2.0
"""Keys of records name the file and the record, whatever the record went through.

Each line of the files is the key that it should have.
"""

import json
import subprocess

import levada as lv
import pytest
from command import LEVADA, needs_command

ONE = '(text_lines:"{path}"),cycle_length=2'
PIPES = [
    "text_lines:*.txt",
    f"files:*.txt | interleave:{ONE}",
    f"files:*.txt | interleave:{ONE} | shuffle:5,seed=1",
    f"files:*.txt | repeat:2 | interleave:{ONE} | shuffle:9,seed=2",
    f"files:*.txt | interleave:{ONE} | repeat:2 | shuffle:9,seed=2",
    'files:*.txt | interleave:(text_lines:"{path}" | shuffle:3,seed=3 | skip:1),cycle_length=3',
    f"range:2 | interleave:(files:*.txt | interleave:{ONE}),cycle_length=2 | shuffle:4,seed=1",
    f"mix(text_lines:a.txt; files:*.txt | interleave:{ONE}):seed=3",
    f"concat(files:*.txt | interleave:{ONE}; text_lines:c.txt)",
    f'files:*.txt | interleave:{ONE} | filter:"len(line) > 3" | prefetch:2',
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, n in [("a", 7), ("b", 3), ("c", 5), ("d", 1), ("e", 4)]:
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}.txt:{i}\n" for i in range(n)))
    return tmp_path


def check(batches):
    n = 0
    for batch in batches:
        assert batch.record_keys == [line.decode() for line in batch["line"]]
        n += len(batch.record_keys)
    return n


def dataset(pipe):
    return lv.from_text(f"{pipe} | batch:3")


@pytest.mark.parametrize("pipe", PIPES)
def test_keys_name_file_and_record(folder, pipe):
    with iter(dataset(pipe)) as it:
        batches = []
        for batch in it:
            batches.append(batch)
            if len(batches) % 2:
                check([batch])
        n = check(batches)
    assert check(batches) == n > 5


@pytest.mark.parametrize("pipe", PIPES)
def test_keys_can_be_asked_for_after_the_end(folder, pipe):
    with iter(dataset(pipe)) as it:
        batches = list(it)
    check(batches)


@pytest.mark.parametrize("pipe", PIPES)
def test_keys_hold_after_a_restore(folder, pipe):
    with iter(dataset(pipe)) as it:
        before = [next(it), next(it)]
        state = it.save()
        left = check(it)
    with iter(dataset(pipe)) as it:
        early = next(it)
        it.restore(state)
        assert check(it) == left
    check([*before, early])


@needs_command
@pytest.mark.parametrize("pipe", PIPES)
def test_the_command_names_them_too(folder, pipe):
    done = subprocess.run(
        [LEVADA, "run", f"{pipe} | batch:3", "--json"], capture_output=True, check=True
    )
    keys = [k for line in done.stdout.splitlines() for k in json.loads(line)["keys"]]
    with iter(dataset(pipe)) as it:
        wanted = sorted(line.decode() for batch in it for line in batch["line"])
    assert sorted(keys) == wanted
    done = subprocess.run([LEVADA, "head", "-n", "999", pipe], capture_output=True, check=True)
    shown = done.stdout.decode().splitlines()
    assert [json.loads(line.split(None, 1)[1]) for line in shown[1::2]] == shown[::2]
