# SPDX-License-Identifier: Apache-2.0
"""What the tests of input helpers share; importing `runners` defines the fixture `running`."""

import itertools
import threading
import time

import pytest
from levada import errors
from levada import train as lt

QUIET = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
OUT = errors.OutOfRangeError


@pytest.fixture(autouse=True, name="running")
def runners():
    """Starts all runners where a test calls it; afterwards no thread is left."""
    before = set(threading.enumerate())
    lt.clear_collection("queue_runners")
    coord = lt.Coordinator()
    threads = []

    def start():
        threads.extend(lt.start_queue_runners(coord=coord))
        return coord

    yield start
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)
    lt.clear_collection("queue_runners")
    left = {t for t in threading.enumerate() if t not in before and "levada" not in t.name}
    assert not {t.name for t in left}


def counter(n):
    """A source that counts to n, for any number of threads."""
    return lt.limit_epochs(itertools.count().__next__, n)


def fails(make, kind, match):
    """The error of the first example stops the coordinator, and consumers do not hang."""
    stream, coord = make(), lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    with pytest.raises((kind, OUT)):
        while True:
            stream(timeout=20)
    with pytest.raises(kind, match=match):
        coord.join(threads)


def wait_for(queue, size):
    """Until the queue has that number of elements."""
    deadline = time.monotonic() + 20
    while queue.size() < size:
        assert time.monotonic() < deadline
        time.sleep(0.001)
