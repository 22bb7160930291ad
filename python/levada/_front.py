# SPDX-License-Identifier: Apache-2.0
"""Fronts of public functions, which change an exception on its way out.

``_levada.Front`` calls ``mended``. If the environment variable LEVADA_TRACEBACK is "full", frames
of levada stay in tracebacks.
"""

from __future__ import annotations

import sys
from types import FunctionType

from levada import _levada, errors
from levada._plain import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Kind = TypeVar("Kind", bound=type)

# Methods without a Front. Some are called once for a record or an element, and a Front costs as
# much as they do. Others return data, which a Ctrl-C after a call of C would lose.
_HOT = {"enqueue", "enqueue_many", "dequeue", "dequeue_many", "dequeue_up_to", "read", "write"}
_HOT |= {"read_up_to", "take_many", "next_batch"}
_fronts: dict[FunctionType, Any] = {}  # so that threads that ask at the same time get the same one


def fronted(value: Any) -> Any:
    """A public function or class, whose mistakes in arguments end in the line of the caller."""
    if type(value) is FunctionType:  # a Front passes for an instance
        front = _front(value)
        setattr(sys.modules[value.__module__], value.__name__, front)  # pickle looks there
        return front
    if isinstance(value, type):
        for kind in value.__mro__:
            if kind.__module__.partition(".")[0] == "levada":
                _front_methods(kind, "__init__")
    return value


def with_fronts(kind: Kind) -> Kind:
    """A class of objects that users receive and rarely make: its constructor stays fast."""
    _front_methods(kind)
    return kind


def _front_methods(kind, *special):
    for name, method in [*vars(kind).items()]:
        if name in _HOT or (name[0] == "_" and name not in special):
            continue
        if type(method) is FunctionType:
            setattr(kind, name, _front(method))
        elif type(method) in (staticmethod, classmethod):
            setattr(kind, name, type(method)(_front(method.__func__)))


def _front(fn):
    return _fronts.setdefault(fn, _levada.Front(fn))


def mended(fn: Callable[..., Any], error: BaseException) -> BaseException:
    """The exception to raise: without frames of levada, with the nearest name of an option."""
    if error.__traceback__ is None and type(error) is TypeError:
        error = _with_nearest(fn, error)
    elif isinstance(error, Exception):
        _without_escapes(error)
        error.__traceback__ = errors.of_the_user(error.__traceback__)
    return error


def _without_escapes(error):
    """Escapes the names in the text of a builtin exception that levada raises itself."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    ours = last is not None and errors.is_ours(last)
    if ours and type(error) in (ValueError, TypeError) and len(error.args) == 1:
        error.args = (plain(error.args[0], lines=True),)


def _with_nearest(fn, error):
    """The TypeError of a call that does not fit the signature."""
    import re
    from inspect import signature

    from levada._nearest import unknown

    name = fn.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    parameters = [p for p in signature(fn).parameters.values() if p.name != "self"]
    found = re.match(r"[\w.]+\(\) takes .*positional argument", str(error))
    if found is not None:
        named = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        first = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        return TypeError(f"{name}: too many positional arguments; {_by_name(first, named)}")
    found = re.match(r"[\w.]+\(\) got an unexpected keyword argument '(.*)'", str(error))
    if found is None:
        return TypeError(str(error).replace(f"{fn.__qualname__}()", f"{name}()"))
    known = [p.name for p in parameters]
    return TypeError(f"{name}: {unknown('option', found[1], known)}")


def _by_name(first, named):
    """Which arguments have a place, and which have a name only."""
    places = f"the positional ones are {', '.join(first)}" if first else "none is positional"
    return f"{places}; pass by name: {', '.join(named)}" if named else places
