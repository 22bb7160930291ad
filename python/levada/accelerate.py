# SPDX-License-Identifier: Apache-2.0
"""accelerate: ``save_state`` and ``load_state`` with the position of the data::

    import levada as lv
    import levada.accelerate
    from accelerate import Accelerator

    accelerator = Accelerator()
    data = lv.torch_dataset(ds, equal="drop", position=True)
    position = levada.accelerate.register(accelerator, data)
    for batch in data:  # not prepared: levada divides the data between ranks
        step(batch["tokens"].to(accelerator.device))
        position.note(batch)
        accelerator.save_state("step-10")  # load_state continues after this batch

With one process the loader may be prepared: ``accelerator.prepare`` fetches a batch ahead, which
the position of the batch accounts for.
"""

from __future__ import annotations

from levada.interop._positions import Collected, gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada.interop.torch import TorchDataset

__all__ = ["Registered", "register"]


class Registered:
    """What ``register`` returns: the positions of all ranks, for accelerate's checkpoints."""

    def __init__(self, data: TorchDataset) -> None:
        if not data.position:
            raise ValueError("levada.accelerate: pass position=True to torch_dataset")
        self._data = data
        self._positions = Collected(data)

    def note(self, batch: Any) -> None:
        """Notes that the step of this batch is done; call it after each step."""
        self._positions.note(batch)

    def state_dict(self) -> dict[str, Any]:
        """The positions of all ranks. Each rank must call it."""
        return {"levada": gathered(self._positions.states())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._data.load_state_dict(state["levada"])
        self._positions = Collected(self._data)


def register(accelerator: Any, data: TorchDataset) -> Registered:
    """Registers the position of `data`, made with ``position=True``, for checkpoints.

    Call ``note(batch)`` of the result after each step. ``accelerator.save_state`` must be called
    by all processes, as accelerate demands.
    """
    registered = Registered(data)
    accelerator.register_for_checkpointing(registered)
    return registered
