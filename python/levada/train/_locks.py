# SPDX-License-Identifier: Apache-2.0
"""Locks of objects that the child of a fork has too, where nobody is left to give them back."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_owners: weakref.WeakValueDictionary[tuple[int, Callable[[], Any]], Any] = (
    weakref.WeakValueDictionary()
)
_numbers = itertools.count()


def own_lock(owner: Any, kind: Callable[[], Any] = threading.Lock) -> Any:
    """A lock that is to be ``owner._lock``; in the child of a fork that will be a new one."""
    _owners[next(_numbers), kind] = owner
    return kind()


def _forked() -> None:
    for (_, kind), owner in list(_owners.items()):
        owner._lock = kind()


os.register_at_fork(after_in_child=_forked)
