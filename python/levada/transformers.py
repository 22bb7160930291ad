# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer: checkpoints with the position of the data::

    import levada as lv
    import levada.transformers
    from transformers import Trainer, TrainingArguments

    data = lv.torch_dataset(ds, equal="drop")
    args = TrainingArguments("out", max_steps=1000, save_steps=100, remove_unused_columns=False)
    trainer = levada.transformers.trainer(Trainer)(model=model, args=args, train_dataset=data)
    trainer.train(resume_from_checkpoint=True)

The loader is not prepared by accelerate, because levada divides the data between ranks itself. Each
rank writes ``levada-RANK-of-RANKS.state`` into the directory of a checkpoint.
"""

from __future__ import annotations

import functools
import os
import pathlib

from levada.errors import FailedPreconditionError
from levada.interop._positions import packed, unpacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["trainer"]


def _path(folder: str | os.PathLike[str], rank: int, world: int) -> pathlib.Path:
    return pathlib.Path(folder) / f"levada-{rank:05}-of-{world:05}.state"


def _load(data: Any, folder: str | os.PathLike[str]) -> None:
    """Loads the states in a folder: all of ``parts=``, else that of this rank."""
    from levada import load_checkpoint

    rank, world = data.ranks()
    found = sorted(pathlib.Path(folder).glob("levada-*-of-*.state"))
    if data.parts is None:
        found = [path for path in found if path == _path(folder, rank, world)]
    if not found:
        raise FailedPreconditionError(
            f"{os.fspath(folder)} has no position of rank {rank} of {world}: resume with the same "
            "number of ranks, or use torch_dataset(parts=) from the start"
        )
    data.load_state_dict([unpacked(load_checkpoint(path)) for path in found])


@functools.cache
def trainer(kind: type[Any]) -> type[Any]:
    """A subclass of ``transformers.Trainer`` (or of your own subclass of it) that reads its
    ``train_dataset``, of ``lv.torch_dataset``, without preparing it, and saves and loads its
    position with each checkpoint."""
    from transformers import TrainerCallback
    from transformers.trainer_utils import get_last_checkpoint

    from levada import save_checkpoint
    from levada.interop.torch import loader_of

    class Save(TrainerCallback):
        def __init__(self, data: Any) -> None:
            self._data = data

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            folder = pathlib.Path(args.output_dir) / f"checkpoint-{state.global_step}"
            folder.mkdir(parents=True, exist_ok=True)  # another rank may be slower
            path = _path(folder, *self._data.ranks())
            save_checkpoint(path, **packed(self._data.state_dict()))

    class DataTrainer(kind):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.add_callback(Save(self.train_dataset))

        def get_train_dataloader(self) -> Any:
            return loader_of(self.train_dataset)

        def train(self, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
            folder = resume_from_checkpoint
            if folder is True:
                folder = get_last_checkpoint(self.args.output_dir)
            if folder:
                _load(self.train_dataset, folder)
                self.args.ignore_data_skip = True  # the data continue by themselves
            return super().train(resume_from_checkpoint, *args, **kwargs)

    DataTrainer.__name__ = DataTrainer.__qualname__ = f"Data{kind.__name__}"
    return DataTrainer
