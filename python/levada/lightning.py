# SPDX-License-Identifier: Apache-2.0
"""Lightning: checkpoints with the position of the data, exact for one process and DDP::

    import levada as lv
    import levada.lightning
    from lightning import Trainer
    from torch.utils.data import DataLoader

    data = lv.torch_dataset(ds, equal="drop", position=True)
    trainer = Trainer(callbacks=[levada.lightning.DataState(data)], use_distributed_sampler=False)
    trainer.fit(model, DataLoader(data, batch_size=None), ckpt_path="last.ckpt")

Lightning fetches a batch ahead and keeps the state of rank 0 alone, so the position travels with
the batches, and the callback gathers the positions of all ranks and workers.
"""

from __future__ import annotations

from levada.interop._positions import KEY, Collected, gathered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada.interop.torch import TorchDataset

try:
    from lightning.pytorch.callbacks import Callback
except ModuleNotFoundError:
    from pytorch_lightning.callbacks import Callback

__all__ = ["KEY", "DataState"]


class DataState(Callback):
    """Saves the position of `data`, made with ``position=True``, into Lightning's checkpoints.

    A batch in ``training_step`` has the key "levada_position" besides its own. Checkpoints of
    ``parts=`` load into any number of ranks and workers, others into the same number.
    """

    def __init__(self, data: TorchDataset) -> None:
        super().__init__()
        if not data.position:
            raise ValueError("levada.lightning: pass position=True to torch_dataset")
        self._data = data
        self._positions = Collected(data)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._positions.note(batch)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        checkpoint["levada"] = gathered(self._positions.states(ended=trainer.is_last_batch))

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        self._data.load_state_dict(checkpoint["levada"])
        self._positions = Collected(self._data)
