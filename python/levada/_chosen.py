# SPDX-License-Identifier: Apache-2.0
"""Columns that functions without a spec chose, in the state of an iterator.

The first records choose them, so a process that continues after these records has to be told:
``"LVDCOLS1"``, CRC32 u32 (as in zlib) of all that follows, the size of the JSON u32, the JSON, and
the position. The JSON is a list with one entry for each function, in the order of the stages.
"""

from __future__ import annotations

import json

from levada import _levada
from levada._columns import Columns
from levada._pickling import parts
from levada._prefix import body_of, prefixed
from levada.errors import DataLossError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAGIC = b"LVDCOLS1"


def targets(core: _levada.Dataset) -> list[Any]:
    """The functions of a dataset that choose columns."""
    found = [part for part in parts(core) if hasattr(part, "columns")]
    return [target for target in found if not target.columns.fixed]


def places(core: _levada.Dataset, at: str = "") -> list[str]:
    """The names of the inputs of mixtures that each of these functions is in, such as "/web"."""
    options, inputs = core.options(), core.inputs()
    found = []
    for value in options.values():
        if isinstance(value, _levada.Dataset):
            found += places(value, at)
        elif hasattr(value, "columns") and not value.columns.fixed:
            found.append(at)
    names = options.get("names")
    if not isinstance(names, list) or len(names) != len(inputs):
        names = None
    for i, below in enumerate(inputs):
        found += places(below, f"{at}/{names[i]}" if names else at)
    return found


def placed(chosen: list[Any], where: list[str]) -> list[Any] | None:
    """What was chosen, for functions at these places; None for one of an input that begins. None
    alone: other functions than these chose."""
    left: dict[str, list[Any]] = {}
    for each in chosen:
        left.setdefault(each.get("at", ""), []).append(each)
    if any(left.get(at) and len(left[at]) != where.count(at) for at in {"", *where}):
        return None
    return [left[at].pop(0) if left.get(at) else None for at in where]


def added(state: bytes, columns: list[Columns], where: list[str]) -> bytes:
    """A position with these columns."""
    each = [
        {**one.chosen(), "at": at} if at else one.chosen()
        for one, at in zip(columns, where, strict=True)
    ]
    head = json.dumps(each, separators=(",", ":")).encode()
    return prefixed(_MAGIC, len(head).to_bytes(4, "little") + head + state)


def split(state: bytes) -> tuple[list[Any] | None, bytes]:
    """(what was chosen, the position). None: a position without columns, as older versions wrote
    it. Raises DataLossError."""
    body = body_of(_MAGIC, state)
    if body is None:
        return None, state
    size = int.from_bytes(body[:4], "little")
    try:
        chosen = json.loads(body[4 : 4 + size])
        for each in chosen:
            Columns.of_chosen(_own(each))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataLossError(f"the checkpoint is corrupt: columns of a function ({error})") from None
    return chosen, body[4 + size :]


def begin_as(found: list[Any], chosen: list[Any]) -> list[Columns]:
    """Lets functions begin with columns that were chosen, None: as they are; returns those of
    before."""
    before = [target.columns for target in found]
    for target, each in zip(found, chosen, strict=True):
        if each is not None and _shapes(target.columns.chosen()) != _shapes(each):
            target.begin_with(Columns.of_chosen(_own(each)))
    return before


def _own(chosen: dict[str, Any]) -> dict[str, Any]:
    """Without the place of the function."""
    return {key: value for key, value in chosen.items() if key != "at"}


def _shapes(chosen: dict[str, Any]) -> Any:
    """Without what changes as more records come."""
    fields = [(name, *kind[:3]) for name, kind in chosen.get("fields", {}).items()]
    return fields, chosen.get("members"), chosen.get("marks")
