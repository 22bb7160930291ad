# SPDX-License-Identifier: Apache-2.0
"""Running datasets: epochs, saving, closing, threads, forks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import levada as lv
import numpy as np
import pytest
from levada import errors


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1000)))
    return path


def values(ds):
    return [row["line"] for row in ds]


def test_unbatched_gives_records(lines):
    rows = list(lv.text_lines(lines))
    assert len(rows) == 1000
    assert rows[7] == {"line": "line 7"}


def test_batched_gives_batches(lines):
    batches = list(lv.text_lines(lines).batch(300))
    assert [batch.num_records for batch in batches] == [300, 300, 300, 100]
    assert batches[3]["line"][99] == b"line 999"
    assert batches[0].record_keys[3] == f"{lines}:3"
    assert lv.text_lines(lines).batch(4).first().record_keys[3] == f"{lines}:3"  # closed by now
    assert batches[1].origins["record"][0] == 300
    assert isinstance(batches[0], lv.Batch)


def test_zipped_records_have_the_keys_of_all_inputs(lines):
    batch = lv.zip(lv.text_lines(lines), lv.range(5, 900)).shuffle(50, seed=1).batch(4).first()
    first, second = batch.lanes
    assert batch.origins.tolist() == first.tolist()
    assert (batch["value"] - 5 == second["record"]).all()
    assert batch["line"].to_list() == [b"line %d" % k for k in first["record"]]
    assert batch.record_keys == [
        f"{lines}:{a} + 1.0:{b}" for a, b in zip(first["record"], second["record"], strict=True)
    ]
    assert len(lv.text_lines(lines).batch(4).first().lanes) == 1


def test_blocks_are_the_records_as_they_came_together(lines):
    ds = lv.text_lines(lines).with_options(block_rows=64)
    blocks = list(ds.blocks())
    assert all(isinstance(block, lv.Batch) and block.num_records <= 64 for block in blocks)
    joined = [line for block in blocks for line in block["line"].str()]
    assert joined == values(lv.text_lines(lines))


def test_blocks_go_on_after_a_restore(lines):
    ds = lv.text_lines(lines).with_options(block_rows=64)
    it = ds.blocks(epoch=0)
    before = [line for block in (next(it), next(it)) for line in block["line"].str()]
    state = it.save()
    it.close()
    other = ds.blocks()
    other.restore(state)
    after = [line for block in other for line in block["line"].str()]
    assert before + after == values(lv.text_lines(lines))


def test_each_iteration_takes_the_next_epoch(lines):
    ds = lv.text_lines(lines).shuffle(100, seed=1).with_options(seed=5)
    first, second = values(ds), values(ds)
    assert first != second
    assert sorted(first) == sorted(second)
    assert values(ds.iterate(epoch=0)) == first
    assert values(ds.iterate(epoch=1)) == second
    again = lv.text_lines(lines).shuffle(100, seed=1).with_options(seed=5)
    assert [values(again), values(again)] == [first, second]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cut", [0, 1, 3, 4])
def test_goes_on_after_a_restore(lines, cut, threads):
    ds = (
        lv.text_lines(lines).shuffle(64).batch(256).prefetch().with_options(threads=threads, seed=2)
    )
    expected = [batch["line"].to_list() for batch in ds.iterate(epoch=0)]
    it = ds.iterate(epoch=0)
    for _ in range(cut):
        next(it)
    state = it.save()
    it.close()
    other = ds.iterate()
    other.restore(state)
    assert [batch["line"].to_list() for batch in other] == expected[cut:]


@pytest.mark.parametrize("cut", [0, 1, 255, 256, 257, 700, 999, 1000])
def test_goes_on_inside_a_block(lines, cut):
    ds = lv.text_lines(lines).shuffle(50).with_options(seed=2)
    expected = values(ds.iterate(epoch=0))
    it = ds.iterate(epoch=0)
    for _ in range(cut):
        next(it)
    state = it.state_dict()
    assert [row["line"] for row in it] == expected[cut:]
    other = ds.iterate(epoch=7)
    other.load_state_dict(state)
    again = other.save()
    assert [row["line"] for row in other] == expected[cut:]
    third = ds.iterate()
    third.restore(again)
    assert [row["line"] for row in third] == expected[cut:]


def test_the_epoch_goes_on_after_a_restore(lines):
    ds = lv.text_lines(lines).shuffle(50, seed=1).with_options(seed=2)
    state = ds.iterate(epoch=3).save()
    new = lv.text_lines(lines).shuffle(50, seed=1).with_options(seed=2)
    it = iter(new)
    it.restore(state)
    assert values(it) == values(ds.iterate(epoch=3))
    assert values(new) == values(ds.iterate(epoch=4))


def test_other_states_are_refused(lines):
    ds = lv.text_lines(lines).batch(10)
    state = ds.iterate().save()
    it = lv.text_lines(lines).batch(11).iterate()
    with pytest.raises(errors.FailedPreconditionError):
        it.restore(state)
    assert next(it).num_records == 11
    damaged = bytearray(state)
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises((errors.DataLossError, errors.FailedPreconditionError)):
        it.restore(damaged)
    it = iter(lv.text_lines(lines))
    next(it)
    damaged = bytearray(it.save())
    damaged[9] ^= 1
    with pytest.raises(errors.DataLossError):
        it.restore(damaged)


def test_close_and_context_manager(lines):
    with iter(lv.text_lines(lines).batch(10)) as it:
        next(it)
        batch = next(it)
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        next(it)
    it.close()
    assert batch["line"][0] == b"line 10"


def test_cancel(lines):
    it = iter(lv.text_lines(lines).batch(10))
    it.cancel()
    with pytest.raises(errors.CancelledError):
        next(it)


def test_stats_and_report(lines):
    it = iter(lv.text_lines(lines).batch(10))
    next(it)
    stats = it.stats()
    assert {"records", "batches", "bytes", "skipped_records", "epoch", "seed"} <= stats.keys()
    assert stats["records"] >= 10
    report = it.report()
    assert isinstance(report, dict)
    assert "levada" in str(report)
    assert len(it.progress()) == 2


@pytest.mark.parametrize("call", ["stats", "explain", "report", "progress"])
def test_any_thread_may_ask_during_a_batch(call):
    entered, leave = threading.Event(), threading.Event()

    def wait(record):
        entered.set()
        assert leave.wait(60)
        return record

    it = iter(lv.range(4).map(wait).batch(2).with_options(threads=1))
    consumer = threading.Thread(target=list, args=(it,))
    consumer.start()
    try:
        assert entered.wait(60)
        assert getattr(it, call)() is not None
    finally:
        leave.set()
        consumer.join()
    assert it.stats()["records"] == 4


def test_errors_say_where(tmp_path):
    with pytest.raises(errors.NotFoundError):
        list(lv.text_lines(tmp_path / "none.txt"))


def test_an_error_repeats(tmp_path):
    path = tmp_path / "a.tfrecord"
    with lv.TFRecordWriter(path) as writer:
        for _ in range(3):
            writer.write(b"x" * 100)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    it = iter(lv.tfrecord(path).batch(1))
    next(it)
    for _ in range(2):
        with pytest.raises(errors.DataLossError) as caught:
            next(it)
        assert caught.value.record == 1
        assert caught.value.file == str(path)
        assert caught.value.offset == 116
    assert sum(1 for _ in lv.tfrecord(path).with_options(errors="skip")) == 2


def test_two_threads_at_once_are_refused():
    slow = threading.Event()

    def source():
        yield {"x": 1}
        slow.wait(20)
        yield {"x": 2}

    it = iter(lv.from_records(source).batch(2))
    thread = threading.Thread(target=lambda: next(it, None), daemon=True)
    thread.start()
    time.sleep(0.2)
    with pytest.raises(errors.FailedPreconditionError, match="another thread"):
        next(it)
    assert it.report() is not None
    slow.set()
    thread.join(10)
    assert not thread.is_alive()


def test_ctrl_c_leaves_it_usable():
    go = threading.Event()

    def source():
        go.wait(20)
        yield {"x": 1}

    it = iter(lv.from_records(source))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert time.monotonic() - start < 5
    go.set()
    assert next(it) == {"x": 1}


def test_a_record_beyond_the_limit_is_refused_wherever_it_lies(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with lv.TFRecordWriter(path) as writer:
        for _ in range(300):
            writer.write(b"x" * 5000)  # some of them cross from one chunk into the next
        writer.write(b"x" * (1 << 20))
    ds = lv.tfrecord(path).with_options(max_bytes=1000)
    with pytest.raises(lv.errors.ResourceExhaustedError) as caught:
        list(ds)
    assert caught.value.record == 300
    assert caught.value.file == path
    assert len(list(ds.with_options(max_bytes=2 << 20))) == 301


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_does_not_wait_for_slow_functions(threads):
    def slow(record):
        time.sleep(1)
        return record

    it = iter(lv.range(20).map(slow).with_options(threads=threads))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    it.close()
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_the_calls_of_the_block(threads):
    calls = []

    def slow(record):
        calls.append(record["value"])
        time.sleep(0.1)
        return record

    it = iter(lv.range(600).map(slow).with_options(threads=threads))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    if threads == 1:
        made = len(calls)
        time.sleep(0.3)
        assert len(calls) <= made + 1
    it.close()
    made = len(calls)
    time.sleep(0.3)
    assert len(calls) <= made + 3


def _doubled(record):
    time.sleep(0.002 * np.size(record["value"]))
    return {"x": record["value"] * 2}


def _true(record):
    time.sleep(0.002)
    return True


INTERRUPTED = {
    "map": lambda ds: ds.map(_doubled),
    "map of batches": lambda ds: ds.batch(10).map(_doubled, batched=True),
    "filter": lambda ds: ds.cast("value", "int32").filter(_true).map(_twice, batched=True),
    "two maps": lambda ds: ds.shuffle(1).map(_doubled).prefetch(2).map(_same).batch(7),
    "not pure": lambda ds: ds.map(_doubled, pure=False).batch(5),
}


def _twice(batch):
    return {"x": batch["value"] * 2}


def _same(record):
    return record


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", INTERRUPTED)
def test_after_ctrl_c_it_goes_on_where_it_stopped(name, threads, moved):
    """`moved`: in another iterator, with another number of threads."""
    ds, got, hits = INTERRUPTED[name](lv.range(400)), [], 0
    it = iter(ds.with_options(threads=threads, block_rows=64))
    timer = threading.Timer(0.13, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    while True:
        try:
            value = next(it, None)
        except KeyboardInterrupt:
            hits += 1
            if moved:
                state = it.save()
                it.close()
                it = iter(ds.with_options(threads=4 - threads, block_rows=64))
                it.restore(state)
            continue
        if value is None:
            break
        got += value["x"].reshape(-1).tolist()
    timer.join()
    it.close()
    assert hits == 1
    assert got == [2 * i for i in range(400)]


def test_after_ctrl_c_a_function_that_is_not_pure_sees_each_record_once():
    calls = []

    def effect(record):
        time.sleep(0.002 if len(calls) > 8 else 0.05)  # the first block outlasts the timer
        calls.append(int(record["value"]))
        return {"x": record["value"]}

    it = iter(lv.range(300).map(effect, pure=False).with_options(threads=1))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    assert [int(record["x"]) for record in it] == calls == list(range(300))


def test_a_signal_that_comes_with_a_block_loses_neither():
    """The handler raises in the caller of next(): the block is returned again."""
    given, went = [], threading.Event()

    def source():
        for i in range(3):
            if i == 1 and not went.is_set():
                went.set()
                time.sleep(0.05)  # the consumer waits, and gets this record within its slice
                os.kill(os.getpid(), signal.SIGINT)
            yield {"x": i}

    it = iter(lv.from_records(source, spec={"x": "int64"}).batch(1).with_options(threads=1))
    while len(given) < 3:
        try:
            given.append(int(next(it)["x"][0]))
        except KeyboardInterrupt:
            assert went.is_set()
            given.append("stopped")
    given += [int(batch["x"][0]) for batch in it]
    assert [value for value in given if value != "stopped"] == [0, 1, 2]


def test_a_restore_that_ctrl_c_ended_is_finished_by_the_next_call():
    def make():
        return lv.from_records([{"x": i} for i in range(40)], spec={"x": "int64"})

    it = iter(make())
    assert [next(it)["x"] for _ in range(30)] == list(range(30))
    it.restore(it.save())
    assert [int(record["x"]) for record in it] == list(range(30, 40))
    # what restore() does before it leaves records out
    lv._levada.Iter.restore(it, iter(make()).save(), 30)
    state = it.save()
    for _ in range(2):
        assert [int(record["x"]) for record in it] == list(range(30, 40))
        it.restore(state)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("by_signal", [False, True])
def test_cancel_reaches_a_function_in_a_pipe_of_an_interleave(threads, by_signal):
    calls = []

    def slow(record):
        calls.append(record["value"])
        time.sleep(0.05)
        return record

    pipe = lv.range(200).map(slow, spec={"value": "int64"})
    it = iter(lv.range(3).interleave(pipe, cycle_length=2).with_options(threads=threads))
    stop = (lambda: os.kill(os.getpid(), signal.SIGINT)) if by_signal else it.cancel
    timer = threading.Timer(0.3, stop)
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt if by_signal else errors.CancelledError):
        next(it)
    it.close()
    assert time.monotonic() - start < 5
    made = len(calls)
    time.sleep(0.3)
    assert len(calls) <= made + 2


def test_cancel_ends_the_calls_of_a_source():
    calls = []

    def source():
        for i in range(1000):
            calls.append(i)
            time.sleep(0.01)
            yield {"x": i}

    it = iter(lv.from_records(source, spec={"x": "int64"}).batch(1000))
    timer = threading.Timer(0.2, it.cancel)
    timer.start()
    with pytest.raises(errors.CancelledError):
        next(it)
    it.close()
    made = len(calls)
    time.sleep(0.3)
    assert len(calls) <= made + 1


def test_a_fork_is_told(lines):
    it = iter(lv.text_lines(lines).batch(10).with_options(threads=2))
    next(it)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            next(it)
        except errors.FailedPreconditionError:
            del it
            gc.collect()
            code = 0 if len(list(lv.text_lines(lines).batch(100))) == 10 else 2
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert next(it).num_records == 10


def square(record):
    return {"x": record["value"] ** 2}


FORKS = """
import os, signal, sys, threading
import levada as lv
sys.path.insert(0, {folder!r})
from test_iterator import square

ds = lv.range(600).map(square).batch(50).with_options(threads=2)
given = iter(ds.repeat())
next(given)
over = threading.Event()

def run():
    while not over.is_set():
        list(ds)
        lv.from_arrays({{"x": list(range(100))}}).batch(10).first()

threads = [threading.Thread(target=run) for _ in range(3)]
[thread.start() for thread in threads]
wrong = []
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            next(given)
        except lv.errors.FailedPreconditionError as error:
            told = "parent process" in str(error)
        rows = sum(batch.num_records for batch in ds)
        os._exit(0 if told and rows == 600 else 1)
    wrong.append(os.waitpid(pid, 0)[1])
over.set()
[thread.join() for thread in threads]
sys.exit(str(wrong) if any(wrong) else 0)
"""


def test_children_run_what_the_parent_is_running(tmp_path):
    code = FORKS.format(folder=os.path.dirname(__file__))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=200)


def test_keys_are_told_beside_restores_and_the_end(lines):
    """In a process of its own: what it looks for ends the process."""
    code = (
        "import levada as lv, threading\n"
        f"path = {str(lines)!r}\n"
        "it = lv.text_lines([path] * 3).batch(5).iterate(epoch=0)\n"
        "batch, state, over, told = next(it), it.save(), threading.Event(), set()\n"
        "keys = batch.record_keys\n"
        "def ask():\n"
        "    while not over.is_set():\n"
        "        told.update(it._file(0, shard) for shard in range(3))\n"
        "threads = [threading.Thread(target=ask) for _ in range(2)]\n"
        "[thread.start() for thread in threads]\n"
        "for _ in range(400): it.restore(state)\n"
        "it.close()\n"
        "over.set()\n"
        "[thread.join() for thread in threads]\n"
        "assert told <= {path, None}, told\n"
        "assert batch.record_keys == keys\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_iterator_that_is_left_does_not_hang_the_exit(lines):
    code = (
        "import levada as lv, itertools\n"
        "ds = lv.from_records(lambda: ({'x': i} for i in itertools.count()))\n"
        "it = iter(ds.batch(2).prefetch(4))\n"
        f"other = iter(lv.text_lines({str(lines)!r}).batch(2).prefetch(2))\n"
        "next(it); lv.left = other, next(other)\n"  # which are there until the end
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, timeout=20, capture_output=True)
    assert told.stderr == b""


def test_arrays_outlive_everything():
    ds = lv.range(100).batch(50)
    arrays = [batch["value"] for batch in ds]
    del ds
    gc.collect()
    assert np.concatenate(arrays).tolist() == list(range(100))


def test_arrays_of_batches_can_be_written():
    for batch in lv.range(10).batch(4):
        assert batch["value"].flags.writeable
        batch["value"][:] = 0
    assert lv.range(10).batch(10).first()["value"].tolist() == list(range(10))


WITHOUT_MEMORY = """
import _testcapi, levada as lv
failed = 0
for n in range(1, 50):
    it, batch = lv.range(4).batch(2).with_options(threads=1).iterate(epoch=0), None
    _testcapi.set_nomemory(n, n + 1)
    try:
        batch = next(it)
        batch.numpy()
    except MemoryError: failed += 1
    finally: _testcapi.remove_mem_hooks()
    batches = [*it] if batch is None else [batch, *it]
    assert [batch["value"].tolist() for batch in batches] == [[0, 1], [2, 3]]
assert failed > 8
"""


def test_no_batch_is_lost_or_wrong_where_there_was_no_memory_for_its_objects():
    """In a process of its own: CPython 3.13 raises SystemError where code was traced before."""
    pytest.importorskip("_testcapi")
    subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], check=True, timeout=20)


def test_a_source_that_cant_be_saved_says_so_each_time_alike():
    ds = lv.from_records(({"x": i} for i in range(5000)), spec={"x": "int64"})
    it = ds.with_options(threads=1, block_rows=100).iterate(epoch=0)
    for _ in range(4250):
        next(it)
    depths = set()
    for _ in range(3):
        with pytest.raises(errors.UnimplementedError) as caught:
            it.save()
        depths.add(len(caught.traceback))
    assert len(depths) == 1
