# SPDX-License-Identifier: Apache-2.0
"""Positions that travel with batches, and their collection over workers and ranks.

A loop may have read further than the step that it saves: Lightning, accelerate and copies to a
device fetch ahead. The position of a loader is then one batch too far, and that batch is lost at a
resume. So each batch carries the position right after it, and what is saved is the position of the
batch that was trained last.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from levada.errors import FailedPreconditionError
from levada.interop import _parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada.interop.torch import Shared

KEY = "levada_position"


class Position:
    """The position right after a batch: ``state`` is what ``load_state_dict`` accepts.

    It pickles, and what moves batches to devices or to pinned memory leaves it as it is.
    """

    __slots__ = ("state",)

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.state = state

    def to(self, *_: object, **__: object) -> Position:
        """Returns itself: a position is on no device."""
        return self

    def pin_memory(self, *_: object) -> Position:
        """Returns itself."""
        return self

    def __repr__(self) -> str:
        return f"levada.Position of epoch {self.state['epoch']}"


def carried(value: Any, state: Mapping[str, Any]) -> Any:
    """`value` with its position: under KEY of a dict, else as a pair."""
    position = Position(state)
    if isinstance(value, dict):
        return {**value, KEY: position}
    return value, position


def state_of(batch: Any) -> Mapping[str, Any]:
    """The state in what ``carried`` returned, also after it was moved to a device."""
    found = batch
    if isinstance(batch, Mapping):
        found = batch.get(KEY)
    elif isinstance(batch, (tuple, list)) and batch:
        found = batch[-1]
    if isinstance(found, Position):
        return found.state
    raise FailedPreconditionError(
        "the batch has no position: pass position=True to torch_dataset, and the batch as the "
        "loader returned it"
    )


def own_of(state: Any, index: int, count: int) -> Mapping[str, Any]:
    """The state of part `index` of `count`. Raises FailedPreconditionError if it is not there."""
    states = _parts.found(state, {"part"}, {"levada"})
    found = {tuple(each.get("part", (index, count))): each for each in states}
    if (index, count) in found:
        return found[index, count]
    if not found:
        raise FailedPreconditionError(
            "the state has no position of torch_dataset: pass the state that its loader saved"
        )
    part, parts = next(iter(found))
    raise FailedPreconditionError(
        f"the state is that of part {part} of {parts}, this is part {index} of {count}: resume "
        "with the same number of ranks and workers, each with its state, or use parts="
    )


class Collected:
    """The latest positions of all workers of this rank."""

    def __init__(self, data: Shared) -> None:
        self._data = data
        self._latest: dict[tuple[int, int], Mapping[str, Any]] = {}

    def note(self, batch: Any) -> None:
        """Notes that the step of this batch is done."""
        state = state_of(batch)
        worker = tuple(state["worker"] if "worker" in state else state["part"])
        if any(each["epoch"] != state["epoch"] for each in self._latest.values()):
            self._latest.clear()
        self._latest[worker] = state

    def states(self, ended: bool = False) -> list[Mapping[str, Any]]:
        """The states of all workers of this rank. A worker without a batch so far is at the
        beginning of its part; `ended`: all are at the beginning of the next epoch."""
        if not self._latest:
            return [self._data.state_dict()]
        epoch = next(iter(self._latest.values()))["epoch"]
        workers, count = self._workers()
        if ended:
            return [self._data.beginning(epoch + 1, i, count) for i in workers]
        return [
            self._latest.get((i, count)) or self._data.beginning(epoch, i, count) for i in workers
        ]

    def _workers(self) -> tuple[range, int]:
        rank, world = self._data.ranks()
        count = next(iter(self._latest))[1]
        each = count // world
        if self._data.parts is not None:
            return range(rank, count, world), count
        return range(rank * each, (rank + 1) * each), count


def gathered(states: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The states of all ranks of torch.distributed, on each rank; without a group the states."""
    distributed = sys.modules.get("torch.distributed")
    if not (distributed and distributed.is_available() and distributed.is_initialized()):
        return states
    ranks: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(ranks, states)
    every = [state for rank in ranks for state in rank]
    return every


# -- as bytes: one value for each part, so that checkpoints of several ranks can be merged

_READ, _WAITS, _BEGUN = b"r", b"w", b"b"  # the first byte of a part's value


def part_values(states: Mapping[int, bytes | bool | None]) -> dict[str, bytes]:
    """{"part_00000": bytes, ...} of the states of parts."""
    return {
        f"part_{part:05}": _BEGUN + value
        if isinstance(value, bytes) and value
        else _READ
        if value is None
        else _WAITS
        for part, value in states.items()
    }


def part_states(values: Mapping[str, Any]) -> dict[int, bytes | bool | None]:
    """The states of parts among the values of a checkpoint."""
    found: dict[int, bytes | bool | None] = {}
    for key, value in values.items():
        if key.startswith("part_"):
            text = bytes(value)
            found[int(key[5:])] = None if text == _READ else text[1:] or False
    return found


def run_value(key: int, state: Mapping[str, Any]) -> dict[str, bytes]:
    """The state of a worker with ``equal=`` as the value of one part."""
    states = {i: each.hex() if each else False for i, each in state["states"].items()}
    return part_values({key: json.dumps({**state, "states": states}).encode()})


def run_state(value: Any) -> dict[str, Any]:
    """The state of which ``run_value`` made a value."""
    try:
        state = json.loads(value)
        states = {int(i): bytes.fromhex(each or "") or False for i, each in state["states"].items()}
    except (ValueError, TypeError, KeyError):
        raise FailedPreconditionError(
            "the checkpoint was saved without equal=; pass equal=False to resume from it"
        ) from None
    return {**state, "states": states}


def packed(state: Mapping[str, Any]) -> dict[str, bytes]:
    """A state as named bytes, the form of ``lv.save_checkpoint``."""
    values = part_values(state.get("states", {}))
    if "levada" in state:
        values["levada"] = state["levada"]
    rest = {key: value for key, value in state.items() if key not in ("states", "levada")}
    return {"state": json.dumps(rest).encode(), **values}


def unpacked(values: Mapping[str, bytes]) -> dict[str, Any]:
    """The state that ``packed`` made bytes of."""
    state: dict[str, Any] = json.loads(values["state"])
    if "levada" in values:
        state["levada"] = values["levada"]
    if "parts" in state:
        state["states"] = part_states(values)
    return state
