# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at every place where Python could raise it: before each bytecode below a call."""

import itertools
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
        if frame.f_code.co_filename in (self._ours, __file__):
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
