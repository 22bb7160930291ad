# SPDX-License-Identifier: Apache-2.0
"""What is kept of all objects may change while it is looked through: by threads and finalizers."""

import gc
import sys
import threading

import levada as lv
import pytest
from levada import _columns, _iterator
from levada import train as lt
from levada.train import _locks, _queues


def _find_nothing():
    with pytest.raises(lv.errors.NotFoundError):
        _queues.find_queue("missing")


_QUEUE = lt.FIFOQueue(1, ["int64"])
WAYS = {
    "iterators": (lambda: iter(lv.range(1)), _iterator._close_all),
    "columns": (_columns.Columns, _columns._forked),
    "locks": (lambda: lt.QueueRunner(_QUEUE, [print]), _locks._forked),
    "queues": (lambda: lt.FIFOQueue(1, ["int64"]), _find_nothing),
}


@pytest.fixture
def impatient():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("impatient")
def test_other_threads_may_add(way, length):
    make, look = WAYS[way]
    kept, stop = [make() for _ in range(300)], threading.Event()

    def add():
        while not stop.is_set():
            kept.append(make())

    thread = threading.Thread(target=add)
    thread.start()
    try:
        for _ in range(50 * length):
            look()
    finally:
        stop.set()
        thread.join()


class _Late:
    """Garbage whose finalizer makes a queue."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        lt.FIFOQueue(1, ["int64"]).close()


def test_finalizers_may_make_queues():
    before = gc.get_threshold()

    def look():
        for _ in range(50):
            _Late()
            _find_nothing()

    gc.set_threshold(1)
    try:
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(60)
    finally:
        gc.set_threshold(*before)
    assert not thread.is_alive()


def test_a_comparison_may_register_an_op():
    class Op:
        def __call__(self):
            return None

        def __eq__(self, other):
            lt.register_op("registries_other", lambda: None)
            return NotImplemented

        __hash__ = object.__hash__

    lt.register_op("registries_first", Op())
    thread = threading.Thread(target=lambda: lt._registry.op_name(print), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
