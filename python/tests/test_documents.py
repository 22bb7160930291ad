# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows is run: samples of the pages on queues, and the examples."""

import re
import subprocess
import sys

import levada as lv
import pytest
from documents import ROOT, make_files, pairs, run, samples
from levada.train import GraphKeys, clear_collection

PAIRS = list(pairs("migration.md"))
IDS = [heading for heading, *_ in PAIRS]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with small files, and no runner of another sample."""
    make_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    clear_collection(GraphKeys.QUEUE_RUNNERS)
    yield tmp_path
    clear_collection(GraphKeys.QUEUE_RUNNERS)


def test_there_are_pairs():
    assert len(PAIRS) >= 10
    assert sum("after" in words for _, words, _ in samples("migration.md")) == len(PAIRS)


@pytest.mark.parametrize(("heading", "words", "before", "after"), PAIRS, ids=IDS)
def test_the_sample_before_is_python(heading, words, before, after):
    compile(before, heading, "exec")


@pytest.mark.parametrize(("heading", "words", "before", "after"), PAIRS, ids=IDS)
def test_the_sample_after_runs(heading, words, before, after):
    assert run(after)


def test_the_canonical_program_reads_every_example_twice():
    after = next(after for heading, _, _, after in PAIRS if heading.startswith("The canonical"))
    steps = run(after)
    assert [label for labels, _ in steps for label in labels] == [*range(20), *range(20)]
    for labels, tokens in steps:
        lengths = [label % 10 % 7 + 1 for label in labels]
        assert tokens.shape == (4, max(lengths))
        assert (tokens != 0).sum(axis=1).tolist() == lengths


def test_the_page_on_queues_runs():
    codes = [code for _, _, code in samples("queues-and-coordinators.md")]
    assert len(codes) >= 4
    assert codes[0].count("def step(batch):") == 1
    steps = [run(code.replace("def step(batch):", "def other(batch):")) for code in codes]
    assert [int(number) for (batch,) in steps[0] for number in batch] == list(range(1000))
    assert sorted(words.shape for (words,) in steps[-2]) == [(2, 3), (2, 4), (2, 11), (2, 12)]
    assert sum(len(tokens) for (tokens,) in steps[-1]) == 300


def example(name, *arguments):
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_coordinator_example_finds_a_third():
    lines = example("coordinator.py").split("\n")
    assert [line.split(":")[0] for line in lines] == ["with_threads", "with_a_queue_runner", ""]
    for line in lines[:2]:
        assert abs(float(line.split()[1]) - 1 / 3) < 0.01


def test_the_input_pipeline_example_reads_everything(folder):
    assert example("input_pipeline.py") == "300 examples, 7650 tokens\n"
    files = [folder / "0.tfrecord", folder / "1.tfrecord"]
    tokens = 2 * 2 * sum(i % 7 + 1 for i in range(10))
    assert example("input_pipeline.py", *files) == f"40 examples, {tokens} tokens\n"


def test_the_bucket_example_pads_little():
    lines = example("buckets.py").split("\n")
    assert lines[0] == "Done training: epoch limit reached"
    words = sum(1 + number * 7 % 24 for number in range(1000))
    assert lines[1].startswith(f"1000 sentences, {words} words, ")
    assert 0 < float(lines[1].split()[-3]) < 30


def test_the_result_of_make_run_counts_every_record(folder):
    with lv.TFRecordWriter(str(folder / "corpus.tfrecord")) as writer:
        for n in range(1, 301):
            writer.write(lv.make_sequence_example({}, {"tokens": [1] * n}))
    lines = example("result.py", folder).split("\n")
    assert lines[1].startswith("levada read 300 records, 45,150 tokens, in ")
    shown = [int(n) for n in re.findall(r"^  below .{10}[^ ]* (\d+)", "\n".join(lines), re.M)]
    assert sum(shown) == 300


def test_make_help_lists_the_targets_of_the_documentation():
    done = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))
    named = set(re.findall(r"`?\bmake ([a-z][a-z-]+)\b", pages)) - {"all"}
    assert {"build", "test", "lint"} <= named
    assert named <= listed
