# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while an opener waits for its storage: at once, and nothing is lost."""

import signal
import subprocess
import threading
import time

import levada as lv
import pytest
from command import LEVADA
from test_plugins import compiled


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    lv.load_library(compiled("tests/unit/plugin_slow.c", tmp_path_factory.mktemp("slow")))
    return lambda path: f"slow://{path}"


@pytest.fixture
def file(tmp_path):
    with lv.TFRecordWriter(tmp_path / "a") as writer:
        for i in range(600):
            writer.write(lv.make_example({"x": i}))
    return tmp_path / "a"


def interrupted(call):
    """Seconds until a Ctrl-C ends the call."""
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call()
    timer.join()
    return time.monotonic() - begun


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(
    "stages", ["", " | parse_example:{x:{kind:FixedLen,dtype:int64,shape:[]}}"]
)
def test_reading_is_interrupted_and_goes_on(slow, file, threads, stages):
    ds = lv.from_text(f"tfrecord:{slow(file)}{stages}").with_options(threads=threads)
    with iter(ds) as it:
        assert interrupted(lambda: next(it)) < 30
        assert interrupted(lambda: next(it)) < 30
        state = it.save()
        file.with_name("a.go").touch()
        assert len(list(it)) == 600
    with iter(ds) as it:
        it.restore(state)
        assert len(list(it)) == 600


def test_the_second_of_two_files(slow, file):
    ds = lv.tfrecord([str(file), slow(file)])
    with iter(ds) as it:
        rows = [next(it) for _ in range(600)]
        assert interrupted(lambda: next(it)) < 30
        file.with_name("a.go").touch()
        assert len(rows) + len(list(it)) == 1200


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_of_both_files(slow, file, threads):
    raw = lv.tfrecord(str(file)).to_list()
    for stage in ("batch", "padded_batch"):
        file.with_name("a.go").unlink(missing_ok=True)
        ds = getattr(lv.tfrecord([str(file), slow(file)]).with_options(threads=threads), stage)(700)
        with iter(ds) as it:
            assert interrupted(lambda: next(it)) < 30
            file.with_name("a.go").touch()
            batches = list(it)
        assert [len(batch) for batch in batches] == [700, 500]
        read = [bytes(record) for batch in batches for record in batch["record"]]
        assert read == [bytes(row["record"]) for row in raw] * 2


def test_looking_at_files_is_interrupted(slow, file):
    text = f"tfrecord:{slow(file)} | parse_example:auto"
    assert interrupted(lambda: lv.from_text(text)) < 30
    assert interrupted(lambda: lv.open(slow(file))) < 30
    file.with_name("a.go").touch()
    assert lv.from_text(text) == lv.open(slow(file))


@pytest.mark.parametrize("words", [["-t1"], []])
@pytest.mark.parametrize("stage", ["", " | parse_example:auto"])
def test_the_command_ends_with_130(slow, file, words, stage):
    library = compiled("tests/unit/plugin_slow.c", file.parent)
    text = f"tfrecord:{slow(file)}{stage}"
    command = [LEVADA, "--plugin", library, "run", text, *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130, process.stderr.read()
