# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at every place where Python could raise it: before each bytecode below a call."""

import itertools
import signal
import sys


class Interrupt:
    """KeyboardInterrupt at the n-th event (bytecode, line, call, return) in frames of others.

    Others are all files but `ours`: what a test does with a value that it got is its own business.
    """

    def __init__(self, n, ours):
        self._left = n
        self._ours = ours
        self.came = False

    def _event(self, frame, event, _):
        frame.f_trace_opcodes = True
        if self._left == 0:
            self.came = True
            raise KeyboardInterrupt
        self._left -= 1
        return self._event

    def _call(self, frame, event, arg):
        file = frame.f_code.co_filename
        if file in (self._ours, __file__) or "/hypothesis/" in file:  # it looks at collections
            return None
        return self._event(frame, event, arg)

    def __enter__(self):
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(None)


def everywhere(ours, step=1):
    """Interrupts at each place (or each `step`-th), until one did not come any more."""
    for n in itertools.count(0, step):
        interrupt = Interrupt(n, ours)
        yield interrupt
        if not interrupt.came:
            assert n > 0, "nothing of Python ran"
            return


def stormed(take, end):
    """What take() returns until it raises `end`, with a Ctrl-C each 130 microseconds or more.

    Unlike the places above these are those where Python really looks for signals.
    """
    got, armed, came = [], False, 0
    shortest = delay = 1.3e-4
    before_this = 0

    def ring(*_):
        nonlocal armed, came
        if armed:
            armed, came = False, came + 1
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        while True:
            # Where nothing came in between, the next one comes later: so that something does.
            delay = shortest if len(got) > before_this else 2 * delay
            before_this = len(got)
            signal.setitimer(signal.ITIMER_REAL, delay)
            try:
                armed = True
                while True:
                    value = take()
                    got.append(value)
            except KeyboardInterrupt:
                pass
            except end:
                armed = False
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came > 0
    return got
