# SPDX-License-Identifier: Apache-2.0
"""Fixed parts of a dataset for any number of workers and ranks, and their positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from levada.errors import FailedPreconditionError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_DONE, _WAITS = None, b""  # states of parts besides positions


class Owned:
    """The positions of the parts that one worker reads: {part: None = read, b"" = not begun, or
    bytes of its iterator}. `worker`: (number, count) of that worker among those of all ranks.
    In its dict False stands for b"", which ``torch.load(weights_only=True)`` refuses."""

    __slots__ = ("epoch", "parts", "states", "worker")

    def __init__(
        self, parts: int, epoch: int, states: dict[int, bytes | None], worker: tuple[int, int]
    ) -> None:
        self.parts, self.epoch, self.states, self.worker = parts, epoch, states, worker

    def to_dict(self) -> dict[str, Any]:
        states = {part: False if state == _WAITS else state for part, state in self.states.items()}
        return {"parts": self.parts, "epoch": self.epoch, "states": states, "worker": self.worker}


def found(state: Any, *kinds: set[str]) -> Iterator[Mapping[str, Any]]:
    """The states in what loaders and ranks saved, in dicts and lists of any depth: maps that have
    all keys of one of the kinds."""
    if isinstance(state, Mapping):
        if any(keys <= state.keys() for keys in kinds):
            yield state
            return
        state = state.values()
    if isinstance(state, (str, bytes)) or not hasattr(state, "__iter__"):
        return
    for each in state:
        yield from found(each, *kinds)


_STATE = {"parts", "epoch", "states"}  # keys of Owned.to_dict


def _checked(state: Mapping[str, Any], parts: int) -> dict[int, bytes | None]:
    if "pieces" in state:
        raise FailedPreconditionError(
            f"the checkpoint was saved with equal={state['equal']!r}: pass the same equal="
        )
    if state["parts"] != parts:
        raise FailedPreconditionError(
            f"the checkpoint has {state['parts']} parts, but this dataset has {parts}; pass the "
            "same parts="
        )
    states = state["states"]
    whole = isinstance(states, Mapping) and all(
        isinstance(part, int)
        and 0 <= part < parts
        and (value is None or value is False or isinstance(value, bytes))
        for part, value in states.items()
    )
    if not whole:
        raise InvalidArgumentError(f"the state is corrupt: it must have parts 0 to {parts - 1}")
    return {part: _WAITS if value is False else value for part, value in states.items()}


def merged(state: Any, parts: int) -> tuple[int, dict[int, bytes | None]]:
    """The epoch and the positions of all parts, from the states of all workers of all ranks of one
    moment.

    The same state may be there more than once, but a part must not have two positions, and none may
    be missing.
    """
    epochs: set[int] = set()
    states: dict[int, bytes | None] = {}
    for each in found(state, _STATE):
        epochs.add(each["epoch"])
        for part, value in _checked(each, parts).items():
            if states.setdefault(part, value) != value:
                raise FailedPreconditionError(
                    f"two states have different positions of part {part}: pass the states that all "
                    "ranks saved at one step"
                )
    if len(epochs) > 1:
        raise FailedPreconditionError(
            f"the states are of several epochs ({sorted(epochs)}): pass the states that all "
            "ranks saved at one step"
        )
    missing = [part for part in range(parts) if part not in states]
    if missing:
        raise FailedPreconditionError(
            f"no state has part {missing[0]} ({len(missing)} of {parts} parts are missing): pass "
            "the states of all workers of all ranks, as a list"
        )
    return epochs.pop(), states


def dealt(states: dict[int, bytes | None], index: int, count: int) -> dict[int, bytes | None]:
    """Those for worker `index` of `count`: parts that have something left are dealt in turn, as
    evenly as it goes; and so are, for the record, those that are read."""
    left = [part for part in sorted(states) if states[part] is not _DONE]
    read = [part for part in sorted(states) if states[part] is _DONE]
    mine = sorted(left[index::count] + read[index::count])
    return {part: states[part] for part in mine}


@dataclasses.dataclass
class Plan:
    """How workers divide the parts. ``_equal_parts.Plan`` has the same methods."""

    parts: int

    def fresh(self, epoch: int, index: int, count: int) -> Owned:
        """Worker `index` of `count` at the beginning of an epoch."""
        states: dict[int, bytes | None] = dict.fromkeys(range(index, self.parts, count), _WAITS)
        return Owned(self.parts, epoch, states, (index, count))

    def resumed(self, state: Any, index: int, count: int) -> Owned:
        """Worker `index` of `count` continues: with its own state alone, as a loader hands it to
        each worker, or with the states of all workers of a world of any size. In a world of the
        same size it has the same parts either way."""
        workers = {tuple(each.get("worker", ())): each for each in found(state, _STATE)}
        own = workers.get((index, count))
        if own is None or len(workers) > 1:
            epoch, states = merged(state, self.parts)
            if own is None or workers.keys() != {(i, count) for i in range(count)}:
                return Owned(self.parts, epoch, dealt(states, index, count), (index, count))
        return Owned(self.parts, own["epoch"], _checked(own, self.parts), (index, count))


class PartsIterator:
    """The parts of one worker, one after the other. ``open(part, epoch)`` makes an iterator."""

    def __init__(self, owned: Owned, open: Callable[[int, int], Any]) -> None:
        self._owned = owned
        self._open = open
        self._part: int | None = None  # of the iterator that runs
        self._running: Any = None

    def __iter__(self) -> PartsIterator:
        return self

    def _next_part(self) -> bool:
        """Opens the next part that has something left; those that were begun come first."""
        states = self._owned.states
        left = [part for part, state in states.items() if state is not _DONE]
        if not left:
            return False
        part = min(left, key=lambda part: (states[part] == _WAITS, part))
        running = self._open(part, self._owned.epoch)
        if states[part] != _WAITS:
            running.restore(states[part])
        self._part, self._running = part, running
        return True

    def __next__(self) -> Any:
        while self._running is not None or self._next_part():
            for value in self._running:
                return value
            self._running.close()
            self._owned.states[self._part] = _DONE  # type: ignore[index]
            self._part = self._running = None
        raise StopIteration

    def state_dict(self) -> dict[str, Any]:
        """The positions of all parts of this worker."""
        if self._part is not None:
            self._owned.states[self._part] = self._running.save()
        return self._owned.to_dict()

    def load_state_dict(self, state: Any) -> None:
        """Continues where a state of the same worker was saved."""
        owned = next(found(state, _STATE), None)
        if owned is None:
            raise InvalidArgumentError(
                "the checkpoint was not saved with parts=: pass a state of torch_dataset(parts=)"
            )
        states = _checked(owned, self._owned.parts)
        self.close()
        self._owned = Owned(self._owned.parts, owned["epoch"], states, self._owned.worker)

    @property
    def _done(self) -> bool:
        """Whether all parts of this worker were read to their ends."""
        return all(state is _DONE for state in self._owned.states.values())

    def stats(self) -> dict[str, Any]:
        """{"epoch", "parts", "read": those that were read to their end, "owned": of this worker}"""
        states = self._owned.states
        read = sum(state is _DONE for state in states.values())
        return {"epoch": self._owned.epoch, "parts": self._owned.parts, "read": read,
                "owned": len(states)}  # fmt: skip

    def close(self) -> None:
        """Stops and joins the threads of the part that runs. May be called again."""
        if self._running is not None:
            self._running.close()
        self._part = self._running = None
