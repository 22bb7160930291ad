# SPDX-License-Identifier: Apache-2.0
"""Texts for unknown names: the nearest known one, and all of them."""

from __future__ import annotations

from levada._plain import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_SHOWN = 40


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, or None."""
    from difflib import get_close_matches

    found = get_close_matches(str(name)[:100], list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """Text of an error: "unknown field 'lenght'; did you mean 'length'? available: id, length"."""
    names = [str(each) for each in known]
    near = nearest(name, names)
    hint = f"did you mean {near!r}? " if near else ""
    more = ", ..." if len(names) > _MOST_SHOWN else ""
    shown = ", ".join(map(plain, names[:_MOST_SHOWN])) + more
    return f"unknown {what} {name!r}; {hint}available: {shown or 'none'}"
