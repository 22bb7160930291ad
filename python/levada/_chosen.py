# SPDX-License-Identifier: Apache-2.0
"""Columns that functions without a spec chose, in the state of an iterator.

The first records choose them, so a process that continues after these records has to be told:
``"LVDCOLS1"``, CRC32 u32 (as in zlib) of all that follows, the size of the JSON u32, the JSON, and
the position. The JSON is a list with one entry for each function, in the order of the stages.
"""

from __future__ import annotations

import json

from levada._columns import Columns
from levada._pickling import parts
from levada._prefix import body_of, prefixed
from levada.errors import DataLossError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada import _levada

_MAGIC = b"LVDCOLS1"


def targets(core: _levada.Dataset) -> list[Any]:
    """The functions of a dataset that choose columns."""
    found = [part for part in parts(core) if hasattr(part, "columns")]
    return [target for target in found if not target.columns.fixed]


def added(state: bytes, columns: list[Columns]) -> bytes:
    """A position with these columns."""
    head = json.dumps([each.chosen() for each in columns], separators=(",", ":")).encode()
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
            Columns.of_chosen(each)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataLossError(f"the checkpoint is corrupt: columns of a function ({error})") from None
    return chosen, body[4 + size :]


def begin_as(found: list[Any], chosen: list[Any]) -> list[Columns]:
    """Lets functions begin with columns that were chosen; returns those of before."""
    before = [target.columns for target in found]
    for target, each in zip(found, chosen, strict=True):
        if _shapes(target.columns.chosen()) != _shapes(each):
            target.begin_with(Columns.of_chosen(each))
    return before


def _shapes(chosen: dict[str, Any]) -> Any:
    """Without what changes as more records come."""
    fields = [(name, *kind[:3]) for name, kind in chosen.get("fields", {}).items()]
    return fields, chosen.get("members"), chosen.get("marks")
