# SPDX-License-Identifier: Apache-2.0
"""PyTorch: batches as tensors, datasets for DataLoader."""

import os

from levada._batch import Bytes, Ragged
from levada.errors import FailedPreconditionError


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


def batch_to_torch(batch, device=None):
    """Dict of name to tensor over the memory of the batch."""
    return {name: _tensor(value, device) for name, value in batch.items()}


def _position(rank, world_size):
    """(rank, world size) as given, or of torch.distributed, or of the environment."""
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ValueError("rank and world_size go together")
        return rank, world_size
    import torch.distributed

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


class Shared:
    """A levada Dataset for DataLoader: ``DataLoader(TorchDataset(ds), batch_size=None)``.

    Each worker of each rank reads its own share; the iterator is made inside the worker. Give it a
    function of (index, count) instead of a Dataset to place the shard yourself, before a shuffle
    say: by default it is put on the sources' records.
    """

    def __init__(self, ds, rank=None, world_size=None):
        super().__init__()
        self.dataset = ds
        self.rank, self.world_size = rank, world_size
        self.epoch = None
        self._next_epoch = 0
        self._iterator = None
        self._state = None

    def share(self):
        """The part of the dataset that this worker of this rank reads."""
        from torch.utils.data import get_worker_info

        rank, world = _position(self.rank, self.world_size)
        info = get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        index, count = rank * workers + worker, world * workers
        if callable(self.dataset):
            return self.dataset(index, count)
        return self.dataset if count == 1 else self.dataset.shard(index, count)

    def set_epoch(self, epoch):
        """The epoch that the next iteration takes."""
        self.epoch = epoch

    def __iter__(self):
        epoch = self._next_epoch if self.epoch is None else self.epoch
        self._next_epoch = epoch + 1
        iterator = self.share().iterate(epoch=epoch)
        if self._state is not None:
            iterator.load_state_dict(self._state)
            self._state = None
        self._iterator = iterator
        try:
            for value in iterator:
                yield value if isinstance(value, dict) else batch_to_torch(value)
        finally:
            iterator.close()
            self._iterator = None

    def state_dict(self):
        """The position of the running iteration (of this worker)."""
        if self._iterator is None:
            if self._state is None:
                raise FailedPreconditionError("no iteration is running")
            return self._state
        return self._iterator.state_dict()

    def load_state_dict(self, state):
        """The next iteration goes on there."""
        self._state = state

    def __getstate__(self):
        return {**self.__dict__, "_iterator": None}


def __getattr__(name):
    """TorchDataset is made when it is asked for: its base class is torch's."""
    if name != "TorchDataset":
        raise AttributeError(name)
    from torch.utils.data import IterableDataset

    parts = {"__module__": __name__, "__doc__": Shared.__doc__}
    made = globals()[name] = type(name, (Shared, IterableDataset), parts)
    return made
