# SPDX-License-Identifier: Apache-2.0
"""What is saved after a Ctrl-C while a source of Python is asked for records has each one once."""

import _thread
import itertools
import threading

import levada as lv
import pytest

BLOCK, COUNT = 256, 700
WAIT = 20  # seconds, for what does not come


class Numbers:
    """Records 0, 1, 2..; `turns` is called with "next" or "save" and the position, before each."""

    def __init__(self, turns):
        self.turns = turns
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.turns("next", self.at)
        if self.at == COUNT:
            raise StopIteration
        self.at += 1
        return {"value": self.at - 1}

    def save(self):
        self.turns("save", self.at)
        return str(self.at).encode()

    def restore(self, data):
        self.at = int(data)


class Gate:
    """Stops who comes to one place for the first time, until it is opened."""

    def __init__(self, *place, interrupts=False):
        self.place = place
        self.interrupts = interrupts
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, *place):
        if place != self.place or self.reached.is_set():
            return
        self.reached.set()
        if self.interrupts:
            _thread.interrupt_main()
        self.opened.wait(WAIT)

    def open_soon(self):
        threading.Timer(0.3, self.opened.set).start()


def numbers(turns):
    ds = lv.from_records(lambda: Numbers(turns), spec={"value": "int64"})
    return ds.with_options(threads=1, block_rows=BLOCK)


def values(it, n=COUNT):
    return [record["value"] for record in itertools.islice(it, n)]


def saved_and_restored(ds, it):
    """What comes after the position that is saved now."""
    state = it.save()
    it.close()
    other = ds.iterate(epoch=0)
    other.restore(state)
    return values(other)


def test_a_call_that_has_not_noted_its_position_is_waited_for():
    gate = Gate("save", 2 * BLOCK, interrupts=True)
    ds = numbers(gate)
    it = ds.iterate(epoch=0)
    assert values(it, 2 * BLOCK) == list(range(2 * BLOCK))
    with pytest.raises(KeyboardInterrupt):
        next(it)
    gate.open_soon()
    assert saved_and_restored(ds, it) == list(range(2 * BLOCK, COUNT))


def test_a_call_that_nobody_has_begun_is_taken_back():
    """A dataset asks for records of one of its iterators at a time."""
    gate = Gate("next", 3)
    ds = numbers(gate)
    it, other = ds.iterate(epoch=0), ds.iterate(epoch=0)
    gate.reached.set()
    got = values(it, BLOCK)
    gate.reached.clear()
    threading.Thread(target=values, args=(other,), daemon=True).start()
    assert gate.reached.wait(WAIT)
    try:
        threading.Timer(0.5, _thread.interrupt_main).start()
        got.append(next(it)["value"])
    except KeyboardInterrupt:
        pass
    assert got == list(range(BLOCK))
    gate.open_soon()
    assert saved_and_restored(ds, it) == list(range(BLOCK, COUNT))
