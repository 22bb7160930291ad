# SPDX-License-Identifier: Apache-2.0
"""What can be saved of an iterator that was cancelled has every record once."""

import threading

import levada as lv
import pytest
from levada import errors


class Stop:
    """Cancels an iterator in its call number `at`, from inside it or by another thread."""

    def __init__(self, at=None, inside=True):
        self.at = at
        self.inside = inside
        self.calls = 0
        self.iterator = None
        self.lock = threading.Lock()

    def __call__(self, record):
        with self.lock:
            self.calls += 1
            now = self.calls == self.at
        if now and self.inside:
            self.iterator.cancel()
        elif now:
            thread = threading.Thread(target=self.iterator.cancel)
            thread.start()
            thread.join()
        return record

    def keeps(self, record):
        return self(record)["value"] % 3 == 0


class Numbers:
    """Records 0 to 99 whose iterator can be saved."""

    def __init__(self, stop):
        self.stop = stop
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 100:
            raise StopIteration
        self.at += 1
        return self.stop({"value": self.at - 1})

    def save(self):
        return str(self.at).encode()

    def restore(self, data):
        self.at = int(data)


SPEC = {"value": "int64"}


def serial(stop):
    return lv.range(100).map(stop, spec=SPEC, pure=False)


PIPES = {
    "serial": serial,
    "parallel": lambda stop: lv.range(100).map(stop, spec=SPEC),
    "filter": lambda stop: lv.range(100).filter(stop.keeps),
    "prefetch": lambda stop: serial(stop).prefetch(2),
    "shuffle": lambda stop: serial(stop).shuffle(20, seed=3).batch(9),
    "mix": lambda stop: lv.mix([serial(stop), lv.range(30)]).batch(7),
    "interleave": lambda stop: lv.range(5).interleave(serial(stop).take(20), cycle_length=2),
}
SOURCES = {
    "source": lambda stop: lv.from_records(lambda: Numbers(stop), spec=SPEC),
    "prefetched": lambda stop: lv.from_records(lambda: Numbers(stop), spec=SPEC).prefetch(2),
    "batched": lambda stop: lv.from_records(lambda: Numbers(stop), spec=SPEC).batch(9),
}


def values(it):
    """What it returns until it ends, and whether it was cancelled."""
    got = []
    try:
        for given in it:
            got += [int(value) for value in given["value"]] if it._batched else [given["value"]]
    except errors.CancelledError:
        return got, True
    return got, False


def opened(make, stop, threads):
    dataset = make(stop).with_options(threads=threads, block_rows=8, seed=1)
    stop.iterator = iter(dataset)
    return stop.iterator


def saved(make, threads, at, inside):
    """What was given until it was cancelled, and the state."""
    stop = Stop(at, inside)
    it = opened(make, stop, threads)
    got, cancelled = values(it)
    try:
        assert cancelled
        return got, it.save()
    finally:
        stop.iterator = None
        it.close()


def rest(make, state, threads):
    it = opened(make, Stop(), threads)
    it.restore(state)
    return values(it)[0]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PIPES)
def test_a_function_is_called_again_for_its_block(name, threads, inside):
    make = PIPES[name]
    whole = values(opened(make, Stop(), 1))[0]
    for at in (1, 30, 77):
        got, state = saved(make, threads, at, inside)
        assert got + rest(make, state, 4 - threads) == whole


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_was_stopped_loses_nothing_or_is_not_saved(name, threads, inside):
    make = SOURCES[name]
    whole = values(opened(make, Stop(), 1))[0]
    for at in (1, 30, 77):
        try:
            got, state = saved(make, threads, at, inside)
        except (errors.FailedPreconditionError, errors.CancelledError):
            continue
        assert got + rest(make, state, 4 - threads) == whole
