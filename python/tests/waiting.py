# SPDX-License-Identifier: Apache-2.0
"""Calls on threads of their own, for tests of what waits."""

import itertools
import threading
import time

from levada.train import waiters

LONG = 30  # seconds until a test gives up
_numbers = itertools.count()


def until(condition, what="the condition"):
    """Waits until it holds; no test depends on how long that takes."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, f"{what} does not come"
        time.sleep(0.0005)


class Call:
    """``fn(*args)`` on a daemon thread."""

    def __init__(self, fn, *args, **kwargs):
        self.value = self.error = None
        self.thread = threading.Thread(
            target=self._run, args=(fn, args, kwargs), name=f"call {next(_numbers)}", daemon=True
        )
        self.thread.start()

    def _run(self, fn, args, kwargs):
        try:
            self.value = fn(*args, **kwargs)
        except BaseException as error:
            self.error = error

    def is_listed(self):
        """Whether it waits in a queue or barrier."""
        return any(row["thread"] == self.thread.name for row in waiters())

    def blocked(self):
        """Waits until it has ended or waits in line; whether it waits."""
        until(lambda: self.is_listed() or not self.thread.is_alive(), "the wait")
        return self.thread.is_alive()

    def join(self):
        """Its value, or raises its error."""
        self.thread.join(LONG)
        assert not self.thread.is_alive(), "the call does not end"
        if self.error is not None:
            raise self.error
        return self.value


def waiting(fn, *args, **kwargs):
    """A call that must wait, and does."""
    call = Call(fn, *args, **kwargs)
    assert call.blocked()
    return call
