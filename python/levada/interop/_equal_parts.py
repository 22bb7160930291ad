# SPDX-License-Identifier: Apache-2.0
"""Fixed parts of which all ranks return the same number of batches.

The batches of all parts, one part after the other, are a line, whose length follows from those of
the parts. The ranks cut it into runs, which differ by one batch at most; at the end a rank drops
its last batch, or adds a copy. A run may begin in the middle of a part: its rank passes the batches
before it, once. What all ranks have left of their runs is a line again, which any number of ranks
cuts again.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping

from levada.errors import FailedPreconditionError, InvalidArgumentError
from levada.interop._parts import PartsIterator, found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_WAITS = b""  # the state of a part that was not begun


@dataclasses.dataclass
class Piece:
    """Batches `at` to `at` + `n` of a part; `state` is `skip` batches before `at`."""

    part: int
    at: int
    n: int
    skip: int
    state: bytes

    def cut(self, start: int, stop: int) -> Piece:
        """Those of its batches from `start` to `stop`, counted from its own first one."""
        return Piece(self.part, self.at + start, stop - start, self.skip + start, self.state)


def _cut(n: int, count: int, index: int) -> tuple[int, int]:
    return n * index // count, n * (index + 1) // count


def _taken(line: list[Piece], start: int, stop: int) -> list[Piece]:
    """Batches `start` to `stop` of a line."""
    taken, passed = [], 0
    for piece in line:
        first, last = max(start - passed, 0), min(stop - passed, piece.n)
        if first < last:
            taken.append(piece.cut(first, last))
        passed += piece.n
    return taken


@dataclasses.dataclass
class Plan:
    """What ranks have in common. `counts`: batches of each part; `world`: number of ranks."""

    counts: list[int]
    equal: str
    world: int

    def fresh(self, epoch: int, index: int, count: int) -> Run:
        """Worker `index` of `count` of all ranks at the beginning of an epoch."""
        line = [Piece(part, 0, n, 0, _WAITS) for part, n in enumerate(self.counts)]
        return self._dealt(epoch, line, index, count)

    def _dealt(self, epoch: int, line: list[Piece], index: int, count: int) -> Run:
        """The run of a worker. The last worker of a rank brings the rank to the number
        of steps of the others."""
        rank, worker = index % self.world, index // self.world
        workers, n = count // self.world, sum(piece.n for piece in line)
        start, stop = _cut(n, self.world, rank)
        steps = n // self.world if self.equal == "drop" else -(-n // self.world)
        first, last = _cut(min(steps, stop - start), workers, worker)
        if worker < workers - 1:
            steps, stop = last, start + last
        return Run(self, epoch, _taken(line, start + first, stop), steps - first, (index, count))

    def spare(self, worker: int, workers: int) -> range:
        """How many batches more than steps a worker of a rank may have: the last one drops one, or
        adds a copy."""
        last = worker == workers - 1
        return range(2 if last else 1) if self.equal == "drop" else range(-1 if last else 0, 1)

    def resumed(self, state: Any, index: int, count: int) -> Run:
        """Worker `index` of `count` continues: with its own state alone, or with the states of all
        workers of a world of any size. In a world of the same size it has the same batches."""
        runs = _runs(state, self)
        own = runs.get((index, count))
        if own is not None and own.plan.world != self.world:
            own = None
        if own is not None and len(runs) == 1:
            return own
        moments = {(run.epoch, run.plan.world, run.worker[1]) for run in runs.values()}
        if len(moments) > 1:
            raise FailedPreconditionError(
                "the states are of several moments (epoch, ranks, workers): "
                f"{sorted(moments)}; pass the states that all ranks saved at one step"
            )
        epoch, _, workers = moments.pop() if moments else (0, 1, 1)
        missing = next((i for i in range(workers) if (i, workers) not in runs), None)
        if missing is not None:
            raise FailedPreconditionError(
                f"no state has worker {missing} of {workers}: pass the states of all workers of "
                "all ranks, as a list"
            )
        _check_steps(runs)
        left = _left(runs)  # also where it is not dealt again: it refuses runs that overlap
        return own or self._dealt(epoch, left, index, count)


class Run:
    """What one worker returns: `steps` batches, those of the pieces. With more steps than batches
    it adds copies, with fewer it drops batches. `worker`: (number, count) among those of all
    ranks; ranks come first in it."""

    def __init__(
        self, plan: Plan, epoch: int, pieces: list[Piece], steps: int, worker: tuple[int, int]
    ) -> None:
        self.plan, self.epoch, self.pieces, self.steps = plan, epoch, pieces, steps
        self.worker = worker

    def spare(self) -> int:
        """Batches that are left, less the steps."""
        return sum(piece.n for piece in self.pieces) - self.steps

    def to_dict(self) -> dict[str, Any]:
        return {
            "parts": len(self.plan.counts),
            "epoch": self.epoch,
            "worker": self.worker,
            "world": self.plan.world,
            "equal": self.plan.equal,
            "steps": self.steps,
            "pieces": [[each.part, each.at, each.n, each.skip] for each in self.pieces],
            "states": {i: each.state or False for i, each in enumerate(self.pieces)},
        }


def _run(state: Mapping[str, Any], plan: Plan) -> Run:
    """The run of a state, whose form is checked."""
    if "pieces" not in state:
        raise FailedPreconditionError(
            "the checkpoint was saved without equal=: load it with equal=False, or begin the "
            f"epoch with equal={plan.equal!r}"
        )
    if (state["parts"], state["equal"]) != (len(plan.counts), plan.equal):
        raise FailedPreconditionError(
            f"the checkpoint has parts={state['parts']}, equal={state['equal']!r}, but this "
            f"dataset has parts={len(plan.counts)}, equal={plan.equal!r}; pass the same parts= "
            f"and equal="
        )
    try:
        pieces = [
            Piece(int(part), int(at), int(n), int(skip), state["states"][i] or _WAITS)
            for i, (part, at, n, skip) in enumerate(state["pieces"])
        ]
        index, count = map(int, state["worker"])
        of = dataclasses.replace(plan, world=int(state["world"]))
        run = Run(of, int(state["epoch"]), pieces, int(state["steps"]), (index, count))
        whole = 0 <= index < count and count % of.world == 0 and run.steps >= 0
        whole = whole and all(_possible(piece, plan.counts) for piece in pieces)
        whole = whole and run.spare() in run.plan.spare(index // of.world, count // of.world)
    except (TypeError, ValueError, KeyError, IndexError, ZeroDivisionError):
        whole = False
    if not whole:
        raise InvalidArgumentError("the state is corrupt: it has impossible batches of its parts")
    return run


def _possible(piece: Piece, counts: list[int]) -> bool:
    inside = 0 <= piece.part < len(counts) and piece.at + piece.n <= counts[piece.part]
    begun = isinstance(piece.state, bytes) and (piece.state != _WAITS or piece.skip == piece.at)
    return inside and begun and piece.n >= 1 and 0 <= piece.skip <= piece.at


def _runs(state: Any, plan: Plan) -> dict[tuple[int, int], Run]:
    """The runs of the workers whose states are there."""
    runs: dict[tuple[int, int], Run] = {}
    for each in found(state, {"parts", "epoch", "states"}):
        run = _run(each, plan)
        if runs.setdefault(run.worker, run).to_dict() != run.to_dict():
            raise FailedPreconditionError(
                f"two states have different positions of worker {run.worker[0]}: pass the states "
                "that all ranks saved at one step"
            )
    return runs


def _check_steps(runs: Mapping[tuple[int, int], Run]) -> None:
    """Checks that all ranks have equally many steps left."""
    steps: dict[int, int] = {}
    for run in runs.values():
        rank = run.worker[0] % run.plan.world
        steps[rank] = steps.get(rank, 0) + run.steps
    if len(set(steps.values())) > 1:
        raise FailedPreconditionError(
            f"ranks have different numbers of steps left ({dict(sorted(steps.items()))}): pass the "
            "states that all ranks saved at one step"
        )


def _left(runs: Mapping[tuple[int, int], Run]) -> list[Piece]:
    """The line of what all runs have left."""
    if all(run.steps == 0 for run in runs.values()):
        return []  # the epoch is over, and what is left was dropped
    line = [piece for run in runs.values() for piece in run.pieces]
    line.sort(key=lambda piece: (piece.part, piece.at))
    for one, other in itertools.pairwise(line):
        if one.part == other.part and one.at + one.n > other.at:
            raise FailedPreconditionError(
                f"two states have different positions of part {one.part}: pass the states that all "
                "ranks saved at one step"
            )
    return line


def _count(values: Any, n: int) -> int:
    """Takes `n` values; how many there were."""
    return sum(1 for _ in itertools.islice(values, n))


class EqualIterator(PartsIterator):
    """The run of one worker. ``open(part, epoch)`` makes an iterator, ``copy(part, epoch)`` one of
    a copy of its first batch."""

    def __init__(
        self, run: Run, open: Callable[[int, int], Any], copy: Callable[[int, int], Any]
    ) -> None:
        self._run, self._open, self._copy = run, open, copy
        self._running: Any = None  # the iterator of the first piece
        self._over = False
        self.dropped = 0

    def _next_piece(self) -> None:
        piece, run = self._run.pieces[0], self._run
        running = self._open(piece.part, run.epoch)
        if piece.state:
            running.restore(piece.state)
        self._running = running
        if piece.skip == 0:
            return
        batched = running._batched
        passed = running._pass(piece.skip) if batched else _count(running, piece.skip)
        if passed < piece.skip:
            self._refuse(piece, "ends before")

    def _refuse(self, piece: Piece, what: str) -> NoReturn:
        raise FailedPreconditionError(
            f"part {piece.part} {what} its batch {self._run.plan.counts[piece.part]}, the last one "
            "that its index or source promised: equal= with parts= needs records that do not "
            "change, and functions that drop none"
        )

    def _end_piece(self) -> None:
        """Leaves the first piece, whose batches were returned."""
        piece = self._run.pieces[0]
        if piece.at == self._run.plan.counts[piece.part] and self._running is not None:
            for _ in self._running:
                self._refuse(piece, "goes on after")
        self._stop()
        del self._run.pieces[0]

    def __next__(self) -> Any:
        run = self._run
        if run.pieces and run.pieces[0].n == 0:
            self._end_piece()
        if run.steps == 0:
            return self._end()
        value = self._of_piece() if run.pieces else self._of_copy()
        run.steps -= 1
        return value

    def _of_piece(self) -> Any:
        piece = self._run.pieces[0]
        if self._running is None:
            self._next_piece()
        for value in self._running:
            piece.at, piece.n, piece.skip = piece.at + 1, piece.n - 1, piece.skip + 1
            return value
        self._refuse(piece, "ends before")

    def _of_copy(self) -> Any:
        run = self._run
        part = next(part for part, n in enumerate(run.plan.counts) if n > 0)
        running = self._copy(part, run.epoch)
        try:
            for value in running:
                return value
        finally:
            running.close()
        self._refuse(Piece(part, 0, 1, 0, _WAITS), "ends before")

    def _end(self) -> Any:
        if not self._over:
            self.dropped = sum(piece.n for piece in self._run.pieces)
        self._over = True
        self._stop()
        raise StopIteration

    def state_dict(self) -> dict[str, Any]:
        """What is left of the run."""
        first = self._run.pieces[:1]
        if first and first[0].n == 0:  # its end is still to be checked
            run = self._run
            return Run(run.plan, run.epoch, run.pieces[1:], run.steps, run.worker).to_dict()
        if self._running is not None:
            first[0].state, first[0].skip = self._running.save(), 0
        return self._run.to_dict()

    def load_state_dict(self, state: Any) -> None:
        """Continues where a state of the same worker was saved."""
        given = next(found(state, {"parts", "epoch", "states"}), None)
        if given is None:
            raise InvalidArgumentError(
                "the checkpoint was not saved with parts=: pass a state of torch_dataset(parts=)"
            )
        run = self._run.plan.resumed(given, *self._run.worker)
        self._stop()
        self._run, self._over, self.dropped = run, False, 0

    @property
    def _done(self) -> bool:
        """Whether its end was reached."""
        return self._over

    def stats(self) -> dict[str, Any]:
        """{"epoch", "parts", "steps": batches to return, "dropped_batches": at the end}"""
        return {"epoch": self._run.epoch, "parts": len(self._run.plan.counts),
                "steps": self._run.steps, "dropped_batches": self.dropped}  # fmt: skip

    def _stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.close()

    def close(self) -> None:
        """Stops and joins the threads of the part that runs. May be called again."""
        self._stop()
