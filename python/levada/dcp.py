# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.checkpoint: the position of a dataset in fixed parts, for any number of ranks.

A checkpoint has one key for each part, so that DCP itself deals the parts to another number of
ranks::

    import levada as lv
    import levada.dcp
    import torch.distributed.checkpoint as dcp

    data = lv.torch_dataset(ds, parts=64, equal=False)
    state = {"model": model, "data": levada.dcp.DataState(data)}
    dcp.save(state, checkpoint_id="step-10")  # on all ranks, between two batches
    dcp.load(state, checkpoint_id="step-10")  # before the first batch
"""

from __future__ import annotations

from levada.errors import FailedPreconditionError
from levada.interop._positions import part_states, part_values, run_state, run_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada.interop.torch import TorchDataset

__all__ = ["DataState"]


class DataState:
    """A ``Stateful`` for torch.distributed.checkpoint.

    `data` must be made by ``lv.torch_dataset(ds, parts=n)`` and read with ``num_workers=0``. Each
    rank saves the parts that it reads. Before the first batch it contains all parts, so that
    ``dcp.load`` finds them; load before you iterate. Have at least as many parts as ranks: a rank
    without parts cannot load. Raises FailedPreconditionError without ``parts=``.
    """

    def __init__(self, data: TorchDataset) -> None:
        if data.parts is None:
            raise FailedPreconditionError(
                "levada.dcp: the number of ranks may change, so the data must have fixed parts: "
                "torch_dataset(ds, parts=64)"
            )
        self._data = data
        self._batch: Any = None
        self._loaded = False

    def note(self, batch: Any) -> None:
        """Notes the batch that was trained last (``position=True``), in loops that fetch ahead."""
        self._data.state_dict(batch)
        self._batch = batch

    def state_dict(self) -> dict[str, Any]:
        """{"epoch", "parts", "part_00000": bytes, ...}: two ranks never have different values of
        one key."""
        state = self._data.state_dict(self._batch)
        parts, equal = state["parts"], "pieces" in state
        common = {"epoch": state["epoch"], "parts": parts}
        states = state["states"]
        if not self._loaded and self._at_beginning(state):
            states = dict.fromkeys(range(parts), False)  # nobody has begun
        elif equal:
            return {**common, **self._run_values(state)}
        return {**common, **part_values(states)}

    def _at_beginning(self, state: Any) -> bool:
        if "pieces" in state:
            begun: bool = state != self._data.beginning(state["epoch"], *state["worker"])
            return not begun
        return bool(state["states"]) and all(value is False for value in state["states"].values())

    def _run_values(self, state: Any) -> dict[str, bytes]:
        """With ``equal=`` a part may be of two ranks: each rank has a key for its state, and its
        share of the others."""
        rank, world = self._data.ranks()
        if rank >= state["parts"]:
            raise FailedPreconditionError(
                f"levada.dcp: parts={state['parts']} must be at least the number of ranks, {world}"
            )
        keys = part_values(dict.fromkeys(range(rank, state["parts"], world), False))
        return {**keys, **run_value(rank, state)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration continue at the position of ``state_dict``."""
        epoch, parts, states = int(state["epoch"]), int(state["parts"]), part_states(state)
        given: list[Any] = [{"epoch": epoch, "parts": parts, "states": states}]
        if self._data.equal:
            world = self._data.ranks()[1]
            given = [run_state(value) for value in states.values() if value]
            given = given or [self._data.beginning(epoch, i, world) for i in range(world)]
        self._data.load_state_dict(given)
        self._batch, self._loaded = None, True
