# SPDX-License-Identifier: Apache-2.0
"""Functions of map in processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import levada as lv
import numpy as np
import pytest
from levada import _processes, errors
from waiting import until

SMALL = {"block_rows": 16}


def double(record):
    return {"x": record["value"] * 2, "pid": os.getpid()}


def triple(record):
    return {"x": record["value"] * 3}


def shapes(record):
    n = int(record["value"])
    return {"s": f"{n}", "r": np.arange(n % 4, dtype=np.int32), "m": np.full((2, 3), n / 2)}


def draws(record, generator):
    return {"x": generator.integers(1 << 30), "n": record["value"]}


def thirds_fail(record):
    if record["value"] % 3 == 0:
        raise ValueError(f"three divides {record['value']}")
    return {"x": record["value"]}


class OddError(Exception):
    """It cannot be made from its arguments alone."""

    def __init__(self, a, b):
        super().__init__(f"{a}{b}")


def odd(record):
    raise OddError("a", "b")


def killed(record):
    if record["value"] == 37:
        os.kill(os.getpid(), signal.SIGKILL)
    return record


def nothing(record):
    pass


def leaves(record):
    os._exit(3)


def slow(record):
    time.sleep(0.02)
    return record


def forever(record):
    time.sleep(1000)


def batch_sum(batch):
    return {"sum": batch["line"].sum(axis=1), "n": batch.lengths("line")}


def looks_at_origins(batch):
    return {"x": batch.origins["record"]}


def lines(path, count=100):
    path.write_text("".join("x" * (i % 5) + "\n" for i in range(count)))
    return lv.text_lines(path)


def codes(record):
    return {"line": np.frombuffer(record["line"].encode(), np.uint8).astype(np.int64)}


def plain(rows):
    return [{k: getattr(v, "tolist", lambda v=v: v)() for k, v in row.items()} for row in rows]


def both(ds, fn, **options):
    """The records with threads and with processes."""
    return [plain(ds.map(fn, processes=on, workers=2, **options)) for on in (False, True)]


def none_left():
    return all(p.name != "levada map" for p in multiprocessing.active_children())


def test_order_and_values_are_those_of_threads(tmp_path):
    ds = lv.range(300).map(double, processes=True, workers=3).with_options(**SMALL)
    rows = list(ds)
    assert [row["x"] for row in rows] == list(range(0, 600, 2))
    pids = {int(row["pid"]) for row in rows}
    assert os.getpid() not in pids
    assert len(pids) <= 3
    threads, processes = both(lv.range(50), shapes)
    assert threads == processes
    spec = {"line": lv.VarLenFeature(lv.int32)}
    threads, processes = both(lines(tmp_path / "a"), codes, spec=spec)
    assert threads == processes
    assert lines(tmp_path / "a").map(codes, processes=True, spec=spec).first()["line"].dtype == "i4"


def test_random_numbers_are_those_of_threads():
    threads, processes = both(lv.range(40).with_options(seed=3), draws, rng=True)
    assert threads == processes


def test_batches_with_their_lengths(tmp_path):
    ds = lines(tmp_path / "a").map(codes).padded_batch(8)
    found = []
    for on in (False, True):
        made = list(ds.map(batch_sum, batched=True, processes=on))
        found.append([(b["sum"].tolist(), b["n"].tolist()) for b in made])
    assert found[0] == found[1]
    assert len(found[0]) == 13
    left = lines(tmp_path / "a").map(codes).padded_batch(8, padding_side="left")
    with pytest.raises(errors.UnimplementedError, match="padded on the left"):
        left.map(batch_sum, batched=True, processes=True).first()
    with pytest.raises(errors.UnimplementedError, match="are not available in map"):
        lv.range(4).batch(2).map(looks_at_origins, batched=True, processes=True).first()


@pytest.mark.parametrize("cut", [0, 1, 7, 16, 33, 99, 100])
def test_resume_is_exact(cut):
    ds = lv.range(100).shuffle(30, seed=1).map(triple, processes=True, workers=2)
    ds = ds.with_options(**SMALL)
    expected = [int(row["x"]) for row in ds.iterate(epoch=0)]
    with ds.iterate(epoch=0) as it, ds.iterate(epoch=0) as other:
        head = [int(next(it)["x"]) for _ in range(cut)]
        other.restore(it.save())
        assert head + [int(row["x"]) for row in other] == expected


def test_bad_records_are_those_of_threads():
    for on in (False, True):
        ds = lv.range(30).map(thirds_fail, processes=on)
        with ds.with_options(errors="skip").iterate(epoch=0) as it:
            assert [int(r["x"]) for r in it] == [i for i in range(30) if i % 3]
            assert it.stats()["skipped_records"] == 10
        with pytest.raises(ValueError, match="three divides 0"):
            ds.first()


def test_errors_keep_their_class_and_their_line():
    with pytest.raises(ValueError, match="three") as caught:
        lv.range(3).map(thirds_fail, processes=True).first()
    assert "in thirds_fail" in str(caught.value.__cause__)
    with pytest.raises(RuntimeError, match="OddError: ab"):
        lv.range(3).map(odd, processes=True).first()
    with pytest.raises(TypeError, match=r"nothing \(test_processes.py:\d+\) returned None"):
        lv.range(3).map(nothing, processes=True).first()


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_a_killed_process_is_an_error_that_names_the_record(policy):
    ds = lv.range(100).map(killed, processes=True, workers=2).with_options(errors=policy, **SMALL)
    got = []
    with pytest.raises(errors.UnavailableError, match=r"killed .* SIGKILL at record 0\.0:37"):
        for row in ds:
            got.append(int(row["value"]))
    assert got == list(range(len(got)))
    with pytest.raises(errors.UnavailableError, match=r"exit code 3 at record 0\.0:0"):
        lv.range(3).map(leaves, processes=True).first()


def test_a_process_that_dies_between_two_blocks_is_replaced():
    ds = lv.range(60).map(double, processes=True).with_options(**SMALL)
    assert [int(row["x"]) for row in ds] == list(range(0, 120, 2))
    (idle,) = next(_targets(ds)).idle
    os.kill(idle.process.pid, signal.SIGKILL)
    assert [int(row["x"]) for row in ds] == list(range(0, 120, 2))


def _targets(ds):
    for value in ds._core.options().values():
        if hasattr(value, "idle"):
            yield value


def test_processes_that_ended_while_idle_are_replaced(monkeypatch):
    """All of them: each takes the place of the one that a block was meant for."""
    monkeypatch.setattr(_processes, "_IDLE", 0.1)
    ds = lv.range(400).map(double, processes=True, workers=3).with_options(**SMALL, threads=4)
    for _ in range(2):
        with iter(ds) as it:
            rows = []
            for row in it:
                rows.append(int(row["x"]))
                if len(rows) in (1, 200):
                    until(none_left)
        assert rows == list(range(0, 800, 2))


def test_what_cannot_be_sent_is_refused_when_it_is_written():
    def local(record):
        return record

    for fn in (lambda record: record, local):
        with pytest.raises(TypeError, match=r"test_processes.py:\d+.* top level of a module"):
            lv.range(3).map(fn, processes=True)
    with pytest.raises(ValueError, match="pure"):
        lv.range(3).map(double, processes=True, pure=False)


def run(source, tmp_path, **options):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=120, **options
    )


def test_a_script_without_a_main_guard_is_explained(tmp_path):
    done = run(
        """
        import levada as lv

        def double(record):
            return {"x": record["value"] * 2}

        print(list(lv.range(3).map(double, processes=True)))
        """,
        tmp_path,
    )
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.strip().split("\n")[-1] + done.stderr
    assert "UnavailableError" in done.stderr


def test_an_interactive_session_is_explained():
    program = """
import levada as lv
def double(record):
    return record
try:
    lv.range(3).map(double, processes=True)
except TypeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "interactive session" in done.stdout, done.stderr


PROGRAM = """
    import os, sys, time
    import levada as lv

    def work(record):
        time.sleep({pause})
        return {{"x": record["value"], "pid": os.getpid()}}

    if __name__ == "__main__":
        ds = lv.range(10000).map(work, processes=True, workers=2).with_options(block_rows=4)
        pids = set()
        with iter(ds) as it:
            for row in it:
                pids.add(int(row["pid"]))
                if len(pids) == 2 or int(row["x"]) > 200:
                    break
            print(*pids, flush=True)
            {end}
"""


def started(tmp_path, end, pause="0.001"):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM.format(pause=pause, end=end)))
    process = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    return process, [int(word) for word in process.stdout.readline().split()]


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("end", ["time.sleep(1000)", "list(it)"])
def test_nothing_stays_when_the_program_is_killed(tmp_path, how, end):
    process, pids = started(tmp_path, end)
    assert pids
    if how == signal.SIGINT:
        os.killpg(process.pid, how)
        assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    else:
        process.kill()
        process.communicate(timeout=60)
    until(lambda: all(map(gone, pids)))


def test_a_cancelled_call_ends_at_once():
    ds = lv.range(10).map(forever, processes=True)
    with iter(ds) as it, pytest.raises(errors.CancelledError):
        threading.Timer(1, it.cancel).start()
        next(it)
    until(none_left)


def test_a_fork_in_the_middle_of_it():
    ds = lv.range(400).map(double, processes=True, workers=2).with_options(**SMALL)
    assert len(list(ds)) == 400  # its processes are idle
    with iter(ds) as it:
        next(it)
        child = os.fork()
        if child == 0:
            rows = [int(row["x"]) for row in ds.take(40)]
            os._exit(0 if rows == list(range(0, 80, 2)) else 1)
        assert [int(row["x"]) for row in it] == list(range(2, 800, 2))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def first_pid(ds, queue):
    try:
        queue.put(str(ds.first()))
    except errors.FailedPreconditionError as error:
        queue.put(str(error))


def test_a_process_that_may_start_none_is_told():
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    ds = lv.range(3).map(double, processes=True)
    process = context.Process(target=first_pid, args=(ds, queue), daemon=True)
    process.start()
    assert "num_workers=0" in queue.get()
    process.join()
