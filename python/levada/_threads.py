# SPDX-License-Identifier: Apache-2.0
"""Threads of an iterator that calls functions of Python."""

import os


def _workers(core):
    """Most calls at a time that a function of the pipeline asks for."""
    handles = [value for value in core.options().values() if hasattr(value, "handled")]
    here = [handle.handled[1].get("workers", 1) for handle in handles]
    return max([1, *here, *map(_workers, core.inputs())])


def threads_for(threads, core):
    """Threads of an iterator: as many as its functions have workers, and the caller's. A thread
    that waits for a function of Python needs no CPU. With 1 everything runs on the caller."""
    workers = 1 if threads == 1 else _workers(core)
    if workers == 1:
        return threads
    return min(max(threads or len(os.sched_getaffinity(0)), workers + 1), 256)
