# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow keeps in a graph, for the whole process: collections, and functions by name.

All functions may be called from any thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from levada.errors import NotFoundError

_lock = threading.Lock()
_collections: dict[str, list[Any]] = {}
_ops: dict[str, Callable[[], object]] = {}


def _forked() -> None:
    """The thread that held the lock is not in the child."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


class GraphKeys:
    """Defines the names of collections.

    Example:
        print(lt.get_collection(lt.GraphKeys.QUEUE_RUNNERS))
    """

    QUEUE_RUNNERS = "queue_runners"


def add_to_collection(name: str, value: object) -> None:
    """Appends to a collection, which need not exist."""
    with _lock:
        _collections.setdefault(name, []).append(value)


def get_collection(name: str) -> list[Any]:
    """Returns a copy of a collection.

    Args:
        name (str): name of the collection, such as ``GraphKeys.QUEUE_RUNNERS``.

    Returns:
        The values, in the order in which they were added.

    Example:
        print(len(lt.get_collection(lt.GraphKeys.QUEUE_RUNNERS)))
    """
    with _lock:
        return list(_collections.get(name, ()))


def clear_collection(name: str) -> None:
    """Empties a collection. Running threads continue.

    Args:
        name (str): name of the collection.

    Example:
        lt.clear_collection(lt.GraphKeys.QUEUE_RUNNERS)
    """
    with _lock:
        _collections.pop(name, None)


def register_op(name: str, fn: Callable[[], object]) -> Callable[[], object]:
    """Registers a function, which ``QueueRunner.from_proto`` finds by its name.

    Args:
        name (str): the name; a later function of the same name replaces an earlier one.
        fn (Callable): the function, without arguments.

    Returns:
        The function.

    Raises:
        TypeError: the name is empty or not a str, or `fn` is not callable.

    Example:
        lt.register_op("read_one", lambda: None)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"name must be a str that is not empty, got {name!r}")
    if not callable(fn):
        raise TypeError(f"op {name!r} must be a function of no arguments, got {fn!r}")
    with _lock:
        _ops[name] = fn
    return fn


def find_op(name: str) -> Callable[[], object]:
    """The function registered as ``name``; NotFoundError."""
    with _lock:
        fn, known = _ops.get(name), sorted(_ops)
    if fn is None:
        raise NotFoundError(
            f"no op is registered as {name!r}; there are {known}: call register_op(name, fn) first"
        )
    return fn


def is_op(name: str) -> bool:
    """Whether a function is registered as ``name``."""
    with _lock:
        return name in _ops


def op_name(fn: Callable[[], object]) -> str | None:
    """The name under which ``fn`` was registered, or None."""
    with _lock:
        ops = _ops.copy()  # a comparison may be a user's, which may register an op
    return next((name for name, known in ops.items() if known == fn), None)
