# SPDX-License-Identifier: Apache-2.0
"""What threads of Python wait for: locks, in the child of a fork too, and the list of waits."""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Self

_owners: weakref.WeakValueDictionary[tuple[int, Callable[[], Any]], Any] = (
    weakref.WeakValueDictionary()
)
_numbers = itertools.count()
_waits: dict[object, tuple[threading.Thread, str, str, float]] = {}


def own_lock(owner: Any, kind: Callable[[], Any] = threading.Lock) -> Any:
    """A lock that is to be ``owner._lock``; in the child of a fork that will be a new one."""
    _owners[next(_numbers), kind] = owner
    return kind()


def _forked() -> None:
    for reference in _owners.valuerefs():
        owner = reference()
        if owner is not None:
            _, kind = reference.key
            owner._lock = kind()


os.register_at_fork(after_in_child=_forked)


class Listed:
    """The calling thread waits for ``what`` at ``where`` meanwhile, or until ``over()``.

    It may be interrupted by another such wait. With a lock, so that a Ctrl-C takes neither:

        with Listed(self.name, "its turn") as wait, self._lock:
            wait.over()
    """

    __slots__ = ("_what", "_where")

    def __init__(self, where: str, what: str) -> None:
        self._where, self._what = where, what

    def __enter__(self) -> Self:
        _waits[self] = threading.current_thread(), self._where, self._what, time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        _waits.pop(self, None)

    def over(self) -> None:
        _waits.pop(self, None)


def waits() -> list[dict[str, Any]]:
    """Every listed wait in this process; rows as those of ``waiters()``."""
    now = time.monotonic()
    return [
        {"thread": thread.name, "object": where, "waits_for": what, "seconds": now - since}
        for thread, where, what, since in tuple(_waits.values())
        if thread.is_alive()  # in the child of a fork those of the parent are not
    ]
