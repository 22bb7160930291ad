# SPDX-License-Identifier: Apache-2.0
"""PyTorch: batches as tensors, datasets for DataLoader."""

from __future__ import annotations

import os
import sys
import weakref

from levada import _sharing
from levada._batch import Bytes, Ragged
from levada._iterator import Iterator
from levada.errors import FailedPreconditionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from levada._batch import Batch
    from levada._dataset import Dataset


def _tensor(value, device):
    import torch

    if isinstance(value, Bytes):
        return value.to_list()
    if isinstance(value, Ragged):
        levels = [_tensor(level, device) for level in value.nested]
        inner = value.values
        return Ragged(inner if isinstance(inner, Bytes) else _tensor(inner, device), levels)
    if value.dtype == object:
        return value
    bfloat16 = value.dtype.name == "bfloat16"
    if bfloat16:
        value = value.view("int16")
    tensor = torch.from_numpy(value if value.flags.writeable else value.copy())
    tensor = tensor.view(torch.bfloat16) if bfloat16 else tensor
    return tensor if device is None else tensor.to(device, non_blocking=True)


def batch_to_torch(batch: Batch, device: Any = None) -> dict[str, Any]:
    """Dict of name to tensor over the memory of the batch."""
    return {name: _tensor(value, device) for name, value in batch.items()}


def _position(rank, world_size):
    """(rank, world size) as given, or of torch.distributed, or of the environment."""
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ValueError("rank and world_size go together")
        return rank, world_size
    return _group() or (int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))


def _group():
    """(rank, world size) of the process group of torch.distributed, where there is one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _worker():
    """(number, count, a seed that all have in common or None) of this worker of a DataLoader."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    return (info.id, info.num_workers, info.seed - info.id) if info else (0, 1, None)


class _Part(Iterator):
    """What `transform` makes of batches, records as they are."""

    transform: Callable[[Batch], Any] | None = None  # None = tensors

    def _made(self, block):
        value = super()._made(block)
        return value if isinstance(value, list) else (self.transform or batch_to_torch)(value)


class Shared:
    """A levada Dataset for DataLoader: ``DataLoader(TorchDataset(ds), batch_size=None)``.

    Each worker of each rank reads its own part: records are divided as near to the sources as the
    stages allow, so that a worker decodes and shuffles its own records alone and makes batches of
    its own (a last short batch each, and with ``drop_remainder`` each drops its own). Every record
    is in one part, whatever draws an order. Where a stage that counts (``take``, ``skip``,
    ``enumerate``) stands behind a shuffle, or files are shuffled, all parts need one seed: that of
    the shuffle or of ``with_options(seed=)``. Between the workers of one loader it is the loader's
    where none was given; between ranks a missing one is a FailedPreconditionError.

    ``transform(batch)``, which runs in the worker, makes of a ``Batch`` what the loader gives;
    without it that is ``batch.torch()``, which leaves out lengths and masks.

    Give it a function of (index, count) instead of a Dataset to place the shard yourself, by files
    say. The iterator is made inside the worker. A loader that makes its workers anew for each epoch
    hands all of them the epoch that this object has: call ``set_epoch`` before.
    """

    def __init__(
        self,
        ds: Dataset | Callable[[int, int], Dataset],
        rank: int | None = None,
        world_size: int | None = None,
        transform: Callable[[Batch], Any] | None = None,
    ) -> None:
        super().__init__()
        self.dataset = ds
        self.transform = transform
        self.rank, self.world_size = rank, world_size
        self.epoch: int | None = None
        self._next_epoch = 0
        self._iterator: weakref.ref[Iterator] | None = None  # a weak reference to the running one
        self._state: Mapping[str, Any] | None = None

    def part(self) -> tuple[int, int]:
        """(index, count): which part of how many this worker of this rank reads."""
        rank, world = _position(self.rank, self.world_size)
        worker, workers, _ = _worker()
        return rank * workers + worker, world * workers

    def share(self) -> Dataset:
        """The part of the dataset that this worker of this rank reads."""
        index, count = self.part()
        _, workers, seed = _worker()
        seed = seed if workers == count else None  # ranks draw other ones
        if callable(self.dataset):
            return _sharing.checked(self.dataset(index, count), count, seed)
        return _sharing.share(self.dataset, index, count, seed)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration takes."""
        self.epoch = epoch

    def __iter__(self) -> Iterator:
        epoch = self._next_epoch if self.epoch is None else self.epoch
        self._next_epoch = epoch + 1
        iterator = _Part(self.share(), epoch)
        iterator.transform = self.transform
        if self._state is not None:
            self._restore(iterator, self._state)
        self._iterator = weakref.ref(iterator)
        return iterator

    def _restore(self, iterator: Iterator, state: Mapping[str, Any]) -> None:
        index, count = self.part()
        saved = tuple(state.get("part", (index, count)))
        if saved != (index, count):
            raise FailedPreconditionError(
                f"the state is that of part {saved[0]} of {saved[1]}, this is part {index} of "
                f"{count}: go on with as many ranks and workers, each with its own state"
            )
        iterator.load_state_dict(state)
        self._next_epoch = iterator.stats()["epoch"] + 1
        self._state = None

    def state_dict(self) -> Mapping[str, Any]:
        """The position of the running iteration (of this worker), and which part it reads."""
        iterator = self._iterator() if self._iterator is not None else None
        if iterator is not None:
            return {**iterator.state_dict(), "part": self.part()}
        if self._state is None:
            raise FailedPreconditionError("no iteration is running")
        return self._state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on there."""
        self._state = state

    def __getstate__(self) -> dict[str, Any]:
        """Workers that are spawned do not know the process group: they are told."""
        told = {"_iterator": None}
        if self.rank is None and _group() is not None:
            told["rank"], told["world_size"] = _group()
        return {**self.__dict__, **told}


def __getattr__(name):
    """TorchDataset is made when it is asked for: its base class is torch's."""
    if name != "TorchDataset":
        raise AttributeError(name)
    from torch.utils.data import IterableDataset

    parts = {"__module__": __name__, "__doc__": Shared.__doc__}
    made = globals()[name] = type(name, (Shared, IterableDataset), parts)
    return made
