# SPDX-License-Identifier: Apache-2.0
"""A running pipeline shows itself: statistics from any thread, and traces."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import levada as lv
import pytest

LEVADA = str(Path(sys.executable).with_name("levada"))


@pytest.mark.parametrize("threads", [1, 3])
def test_statistics_from_any_thread_change_no_result(threads: int) -> None:
    ds = lv.range(20_000).shuffle(100, seed=1).batch(7).with_options(threads=threads)
    want = [batch["value"].tolist() for batch in lv.Iterator(ds)]
    it = lv.Iterator(ds)
    seen: list[int] = []
    problems: list[BaseException] = []
    stop = threading.Event()

    def scrape() -> None:
        try:
            while not stop.is_set():
                seen.append(it.stats()["batches"])
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=scrape)
    thread.start()
    got = [next(it)["value"].tolist() for _ in range(1000)]
    state = it.save()
    it.restore(state)
    got += [batch["value"].tolist() for batch in it]
    stop.set()
    thread.join()
    assert got == want
    assert problems == []
    assert seen == sorted(seen)
    assert it.stats()["batches"] == len(want)


def test_the_share_of_waiting_is_that_of_a_slow_source() -> None:
    def share(work: float, pause: float) -> float:
        def slow(value: int) -> int:
            time.sleep(work)
            return value

        it = iter(lv.range(20).map(slow, "value").batch(1).with_options(threads=1))
        for _ in it:
            time.sleep(pause)
        stats = it.stats()
        return float(stats["wait_seconds"] / stats["seconds"])

    assert share(0.01, 0.0) > 0.8
    assert share(0.0, 0.01) < 0.2


def nested(events: list[dict]) -> bool:
    """Whether the events of each thread nest."""
    for thread in {event["tid"] for event in events}:
        ends: list[float] = []
        mine = [(e["ts"], -e["dur"]) for e in events if e["tid"] == thread]
        for begin, minus in sorted(mine):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and begin - minus > ends[-1] + 0.002:
                return False
            ends.append(begin - minus)
    return True


@pytest.mark.parametrize("threads", [1, 3])
def test_a_trace_has_nested_events_of_all_stages(threads: int, tmp_path: Path) -> None:
    ds = lv.range(5000).shuffle(50).filter("value % 2 == 0").batch(5).with_options(threads=threads)
    it = iter(ds)
    with it.trace(tmp_path / "trace.json"):
        n = len(list(it))
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = trace["traceEvents"]
    names = Counter(event["name"] for event in events)
    assert names["next"] == n + 1
    assert {"0.range", "1.shuffle", "2.filter"} <= set(names)
    assert nested(events)
    assert trace["otherData"] == {"dropped_events": "0"}


def test_a_trace_that_is_too_long_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    it = iter(lv.range(70_000).batch(1).with_options(threads=1, block_rows=1))
    with it.trace(tmp_path / "trace.json"):
        for _ in it:
            pass
    assert "lacks the first" in caplog.text
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) == 65_536


def test_a_restore_continues_the_trace(tmp_path: Path) -> None:
    it = iter(lv.range(100).batch(1).with_options(threads=2))
    with it.trace(tmp_path / "trace.json"):
        next(it)
        it.restore(it.save())
        next(it)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "next" for event in events) == 2


def test_the_command_writes_a_trace(tmp_path: Path) -> None:
    done = subprocess.run(
        [LEVADA, "run", "range:1000 | shuffle:10 | batch:10", "--trace", tmp_path / "t.json"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(event["name"] == "next" for event in events) == 101
