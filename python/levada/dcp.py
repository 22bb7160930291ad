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
from levada.interop._positions import part_states, part_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada.interop.torch import TorchDataset

__all__ = ["DataState"]


class DataState:
    """A ``Stateful`` for torch.distributed.checkpoint.

    `data`: of ``lv.torch_dataset(ds, parts=n)``, read with ``num_workers=0``. Each rank saves the
    parts that it reads. Before the first batch it offers all of them, so that a load finds them:
    load before you iterate. Have at least as many parts as ranks: a rank without parts cannot load.
    Raises FailedPreconditionError without ``parts=``.
    """

    def __init__(self, data: TorchDataset) -> None:
        if data.parts is None:
            raise FailedPreconditionError(
                "levada.dcp: the number of ranks may change, so the data must have fixed parts: "
                "torch_dataset(ds, parts=64)"
            )
        self._data = data
        self._batch: Any = None

    def note(self, batch: Any) -> None:
        """Notes the batch that was trained last (``position=True``), in loops that fetch ahead."""
        self._data.state_dict(batch)
        self._batch = batch

    def state_dict(self) -> dict[str, Any]:
        """{"epoch", "parts", "part_00000": bytes, ...}: keys are the same on no two ranks, or
        equal in value."""
        state = self._data.state_dict(self._batch)
        states, parts = state["states"], state["parts"]
        if states and all(value is False for value in states.values()):
            states = dict.fromkeys(range(parts), False)  # nobody has begun
        return {"epoch": state["epoch"], "parts": parts, **part_values(states)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration continues there: what ``state_dict`` of all ranks returned."""
        states = part_states(state)
        self._data.load_state_dict(
            [{"epoch": int(state["epoch"]), "parts": int(state["parts"]), "states": states}]
        )
        self._batch = None
