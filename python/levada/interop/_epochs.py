# SPDX-License-Identifier: Apache-2.0
"""Counts the passes over a dataset, in the process that made it and in the workers of its loaders.

Persistent workers never see the parent's object again. So the counter is a file that the processes
share. The workers of one pass have the loader's seed in common: the first of them takes the next
epoch, and the others take the same one.
"""

from __future__ import annotations

import json
import multiprocessing
import os

from levada.interop._shared_file import SharedFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_PASSES = 64


def _loader_process(in_worker: bool) -> int:
    """The process whose passes these are: of a worker, the one that runs the loader."""
    parent = multiprocessing.parent_process() if in_worker else None
    return os.getpid() if parent is None or parent.pid is None else parent.pid


class Epochs:
    """The next epoch and the latest passes, for each process that runs loaders."""

    def __init__(self, start: int = 0, path: str | None = None) -> None:
        self._start = start
        self._shared = SharedFile("levada-epochs", path)

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker shares the counter; any other copy has its own, which begins where this is."""
        start = self._changed(False, lambda own: own["next"])
        return Epochs, (start, self._shared.path_for_workers())

    def __deepcopy__(self, memo: object) -> Epochs:
        return Epochs(self._changed(False, lambda own: own["next"]))

    def set(self, epoch: int) -> None:
        """The next pass takes this epoch."""

        def change(own):
            own["next"] = epoch
            own["in_workers"] = False

        self._changed(False, change)

    def loading(self) -> None:
        """A state was loaded: workers no longer have the position."""

        def change(own):
            own["in_workers"] = False

        self._changed(False, change)

    def next(self) -> int:
        """The epoch of the next pass."""
        return self._changed(False, lambda own: own["next"])

    def in_workers(self) -> bool:
        """Whether workers of a loader began the latest pass."""
        return self._changed(False, lambda own: own.get("in_workers", False))

    def once(self, in_worker: bool) -> bool:
        """True for the first call that the passes of a loader's process make."""

        def change(own):
            first = not own.get("told")
            own["told"] = True
            return first

        return self._changed(in_worker, change)

    def begin(self, worker: int, seed: int | None) -> int:
        """The epoch of the pass that begins; `seed`: of the loader, None outside of workers."""

        def change(own):
            own["in_workers"] = seed is not None
            for one in own["passes"]:
                if one["seed"] == seed and worker not in one["workers"]:
                    one["workers"].append(worker)
                    return one["epoch"]
            epoch = own["next"]
            own["next"] = epoch + 1
            if seed is not None:
                own["passes"].append({"seed": seed, "epoch": epoch, "workers": [worker]})
                del own["passes"][:-_MOST_PASSES]
            return epoch

        return self._changed(seed is not None, change)

    def resume(self, epoch: int, worker: int, seed: int | None) -> None:
        """The pass that this worker began last continues that epoch."""

        def change(own):
            mine = [p for p in own["passes"] if p["seed"] == seed and worker in p["workers"]]
            for one in mine[-1:]:
                one["epoch"] = epoch
            own["next"] = epoch + 1

        self._changed(seed is not None, change)

    def loaded(self, token: str, seed: int | None) -> bool:
        """Whether the state with that name is for this pass: no earlier pass has restored it."""
        return self._changed(
            seed is not None, lambda own: own.get("states", {}).get(token, seed) == seed
        )

    def restored(self, token: str, seed: int | None) -> None:
        """This pass, and no later one, restores the state with that name."""

        def change(own):
            states = own.setdefault("states", {})
            states[token] = seed
            for old in list(states)[:-_MOST_PASSES]:
                del states[old]

        self._changed(seed is not None, change)

    def _changed(self, in_worker: bool, change: Callable[[dict[str, Any]], Any]) -> Any:
        """What `change` returns for the counts of the process that runs the loader."""
        with self._shared.locked() as file:
            text = file.read().decode()
            # A writer that was killed may have left bytes after the new text.
            known = json.JSONDecoder().raw_decode(text)[0] if text else {}
            start = known.get(str(self._shared.owner), {"next": self._start})["next"]
            fresh = {"next": start, "passes": []}
            made = change(known.setdefault(str(_loader_process(in_worker)), fresh))
            file.seek(0)
            file.write(json.dumps(known).encode())
            file.truncate()
        return made
