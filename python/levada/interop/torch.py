# SPDX-License-Identifier: Apache-2.0
"""PyTorch: datasets for DataLoader."""

from __future__ import annotations

import functools
import operator
import os
import sys
import time
import warnings
import weakref
from collections.abc import Mapping

from levada import _sharing
from levada._batch import Batch
from levada._dataset import Dataset, _integer
from levada._front import with_fronts
from levada._iterator import Iterator
from levada.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    LevadaError,
    UnimplementedError,
)
from levada.interop import _equal_parts, _parts, _positions
from levada.interop._counters import Counted, Counters
from levada.interop._epochs import Epochs
from levada.interop._positions import Position as Position
from levada.interop._tensors import batch_to_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal


def _position(rank, world_size):
    """(rank, world size) as given, or of torch.distributed, or of the environment."""
    return (rank, world_size) if rank is not None else _group() or _environment()


def _checked(rank, world_size, of=""):
    if (rank is None) != (world_size is None):
        raise ValueError(f"{of}rank and world_size go together: rank={rank}, {world_size=}")
    if rank is None:
        return None, None
    try:
        rank, world_size = operator.index(rank), operator.index(world_size)
    except TypeError:
        raise TypeError(f"{of}{rank=} and {world_size=} must be integers") from None
    if not 0 <= rank < world_size:
        raise ValueError(f"{of}{rank=} must be 0..world_size - 1, with {world_size=} at least 1")
    return rank, world_size


def _environment():
    """(rank, world size) of RANK and WORLD_SIZE, as launchers set them; (0, 1) without them."""
    rank, world = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None and world is None:
        return 0, 1
    try:
        given = [None if text is None else int(text) for text in (rank, world)]
    except ValueError:
        raise ValueError(f"RANK={rank!r} and WORLD_SIZE={world!r} must be integers") from None
    return _checked(*given, of="the environment variables RANK and WORLD_SIZE: ")


def _group():
    """(rank, world size) of the process group of torch.distributed, where there is one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


_DATA_DIMS = ("dp", "data", "ddp", "fsdp", "hsdp", "replicate", "shard", "dp_replicate", "dp_shard")


def _mesh_ranks(mesh):
    """(rank, world size) in the data-parallel dimensions of a DeviceMesh."""
    names = tuple(mesh.mesh_dim_names or ())
    found = [name for name in names if name in _DATA_DIMS]
    if mesh.ndim == 1:
        return mesh.get_local_rank(), mesh.size()
    if not found:
        raise ValueError(
            f"mesh= has no data-parallel dimension among {list(names)}: pass a mesh of that "
            'dimension alone, such as mesh["batch"]'
        )
    rank, world = 0, 1
    for name in found:
        size = mesh.size(names.index(name))
        rank, world = rank * size + mesh.get_local_rank(name), world * size
    return rank, world


def _worker():
    """(number, count, a seed that all have in common or None) of this worker of a DataLoader."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    return (info.id, info.num_workers, info.seed - info.id) if info else (0, 1, None)


_DIVIDERS = ("accelerate.data_loader", "transformers.trainer_pt_utils")


def _divider():
    """(library that calls to divide batches between ranks by its own means or None, whether it
    broadcasts them)."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name in _DIVIDERS:
            caller = frame.f_locals.get("self")
            broadcasts = type(caller).__name__ == "DataLoaderDispatcher"
            return name.partition(".")[0], broadcasts and caller.state.distributed_type != "NO"
        frame = frame.f_back
    return None, False


def _collates():
    """Whether a DataLoader that makes batches itself (``batch_size=`` not None) calls."""
    frame, steps = sys._getframe(2), 8
    while frame is not None and steps > 0:
        if frame.f_code.co_name == "__init__" and "auto_collation" in frame.f_locals:
            return frame.f_locals["auto_collation"] is True
        frame, steps = frame.f_back, steps - 1
    return False


def _leave(iterator: _Part | _Leaves, ending: Callable[[], bool] = sys.is_finalizing) -> None:
    """Hands the position of an iteration that does not go on to its dataset; not at exit."""
    if ending():
        return
    owner, iterator._owner = iterator._owner, None
    if owner is None or iterator._done or owner._iterator is None:
        return
    if owner._iterator() not in (None, iterator):
        return  # another iteration has begun
    try:
        owner._left = iterator.state_dict()
    except LevadaError as error:
        owner._left = error


class _Part(Iterator):
    """What `transform` makes of batches; records as they are, where there are no batches."""

    transform: Callable[[Batch], Any] | None = None  # None = tensors

    def _made(self, block):
        value = super()._made(block)
        self._count()
        if isinstance(value, list):
            return value
        made = (self.transform or batch_to_torch)(value)
        return [made] if type(made) is list else made  # the items of a list come one by one

    # What a loop leaves is saved for the dataset before it is closed.

    _owner: Shared | None = None
    _part: tuple[int, int] = (0, 1)
    _epoch = 0
    _counted: Counted | None = None

    def _count(self, *, now: bool = False) -> None:
        if self._counted is not None:
            self._counted.add(self, now=now)

    def _count_last(self) -> None:
        self._count(now=True)
        counted, self._counted = self._counted, None
        if counted is not None:
            counted.end(self)

    def _count_for(self, counters: Counters, worker: int) -> None:
        self._counted = Counted(counters, worker, self)
        self._counts = counters, worker

    def _ended(self) -> None:
        super()._ended()
        self._count(now=True)

    def restore(self, state: bytes, **how: Any) -> None:  # type: ignore[override]
        """The counts of a state are no work of this iterator."""
        counted = self._counted is not None
        self._count_last()
        try:
            super().restore(state, **how)
        finally:
            if counted:
                self._count_for(*self._counts)

    def state_dict(self) -> dict[str, Any]:
        return {"levada": self.save(), "part": self._part, "epoch": self._epoch}

    def load_state_dict(self, state: Mapping[str, Any], mix: str | None = None) -> None:
        own = _positions.own_of(state, *self._part)
        if mix is None:
            super().load_state_dict(own)
        else:
            self.restore(own["levada"], mix=mix)
        self._epoch = self.stats()["epoch"]

    def close(self) -> None:
        _leave(self)
        self._count_last()
        super().close()

    def __del__(
        self,
        leave: Callable[[Any], None] = _leave,
        ending: Callable[[], bool] = sys.is_finalizing,
    ) -> None:
        leave(self)  # at exit the names of the functions are gone
        if not ending():
            self._count(now=True)
        super().__del__()


class _PositionPart(_Part):
    """A part whose values carry their position."""

    def __next__(self) -> Any:
        value = super().__next__()
        return _positions.carried(value, self.state_dict())


class _Leaves(_parts.PartsIterator):
    """An iterator of parts whose position is saved for the dataset where a loop leaves it."""

    _owner: Shared | None = None
    position = False

    def __next__(self) -> Any:
        value = super().__next__()
        return _positions.carried(value, self.state_dict()) if self.position else value

    def close(self) -> None:
        _leave(self)
        super().close()

    def __del__(self, leave: Callable[[Any], None] = _leave) -> None:
        leave(self)  # at exit the name of the function is gone


class _Parts(_Leaves):
    """The parts of one worker."""


class _EqualParts(_Leaves, _equal_parts.EqualIterator):
    """The batches of one worker, of which all ranks have equally many."""


@functools.cache
def _profiled(kind: Any, wanted: bool) -> Any:
    """An iterator whose ``next`` profilers show."""
    if not wanted:
        return kind

    def profiled_next(self: Any) -> Any:
        import torch

        with torch.profiler.record_function("levada.next"):
            if not torch.cuda.is_initialized():
                return kind.__next__(self)
            with torch.cuda.nvtx.range("levada.next"):
                return kind.__next__(self)

    return type(f"{kind.__name__}Profiled", (kind,), {"__next__": profiled_next})


@with_fronts
class Shared:
    """A levada Dataset for DataLoader: ``DataLoader(TorchDataset(ds), batch_size=None)``.

    Each worker of each rank reads its own part: records are divided as near to the sources as the
    stages allow, so that a worker decodes and shuffles its own records alone and makes batches of
    its own (a last short batch each, and with ``drop_remainder`` each drops its own). Every record
    is in one part, whatever draws an order. Where a stage that counts (``take``, ``skip``,
    ``enumerate``) follows a shuffle, or files are shuffled, all parts need one seed: that of
    the shuffle or of ``with_options(seed=)``. Between the workers of one loader it is the loader's
    where none was given; between ranks a missing one is a FailedPreconditionError.

    ``transform(batch)``, which runs in the worker, turns a ``Batch`` into what the loader returns;
    without it that is ``batch.torch()``, which omits lengths and masks.

    With ``equal="drop"`` or ``"pad"`` all ranks have the same number of batches. The shard is then
    downstream of whatever may change their number: with a filter, buckets or ``errors="skip"`` each
    rank does all the work up to there. "drop" drops less than one batch (record, where the
    shard is upstream of batching) per part, counted in ``stats()["dropped_records"]``; of
    ``unroll`` all sequences that are unfinished when the first slot of any part stays empty. "pad"
    adds the field ``is_padding``, bool [B]: True for copies that were added; their lengths and
    masks are 0. Without `equal` several ranks warn once; ``equal=False`` accepts unequal ranks.

    Pass a function of (index, count) instead of a Dataset to place the shard yourself, by files
    say. The iterator is made inside the worker.

    Each pass takes the next epoch, in all workers the same one, whether they are persistent or not.
    ``set_epoch`` sets the epoch of the next pass.

    The dataset divides its data itself. ``accelerator.prepare()`` (and the ``Trainer`` of
    transformers, which calls it) divides what the loader returns again, which would lose data:
    with more than one rank this is a FailedPreconditionError.

    ``parts=64`` cuts the data into that many fixed parts (``ds.parts(64)``), which are dealt to the
    workers of all ranks. A worker reads its parts one after the other, and batches are made inside
    a part, so their contents do not depend on the number of ranks. ``load_state_dict`` takes a list
    of the states of all workers of all ranks at one step, for any number of ranks and workers then:
    every record of the epoch is read once. With the same number of ranks and workers, each worker
    needs only its own state, as torchdata's StatefulDataLoader restores it. `parts` must not
    change.

    ``parts=64, equal="drop"`` or ``"pad"``: the batches of all parts are a line, which the ranks
    cut into equal runs, so a part may be read by two ranks. At the end of an epoch fewer batches
    than ranks are dropped, or copied. FailedPreconditionError if the number of batches of a part
    is not known before the data are read.
    """

    def __init__(
        self,
        ds: Dataset[Any] | Callable[[int, int], Dataset[Any]],
        rank: int | None = None,
        world_size: int | None = None,
        *,
        equal: str | bool | None = None,
        transform: Callable[[Batch], Any] | None = None,
        parts: int | None = None,
        position: bool = False,
        mesh: Any = None,
        profile: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(ds, Dataset) and not callable(ds):
            raise TypeError(
                f"torch_dataset: ds must be a Dataset, or a function of (index, count) that "
                f"returns "
                f"one, got {type(ds).__name__}"
            )
        if equal not in ("drop", "pad", False, None):
            raise ValueError(f'{equal=} must be "drop", "pad", False or None')
        if equal and callable(ds):
            raise ValueError(
                f"{equal=} needs a Dataset: a function of (index, count) places the shard itself, "
                f"as with ds.shard(index, count, equal={equal!r})"
            )
        if parts is not None and callable(ds):
            raise ValueError("parts= needs a Dataset, not a function of (index, count)")
        self.dataset = ds
        self._divided: list[Dataset[Any]] | None = None
        if parts is not None:
            self._divided = _sharing.parts(ds, _integer("parts", parts, 1, 1 << 20))
        self._counts: list[int] | None = None  # batches of each part, for equal=
        if self._divided is not None and equal:
            self._divided, self._counts = _sharing.equal_parts(ds, self._divided, equal)
        self.parts = None if self._divided is None else len(self._divided)
        self.equal = equal
        self.transform = transform
        self.position = position
        self.profile = profile
        if mesh is not None:
            if rank is not None or world_size is not None:
                raise ValueError("mesh= sets rank and world_size: omit them")
            rank, world_size = _mesh_ranks(mesh)
        self.rank, self.world_size = _checked(rank, world_size)
        self._epochs = Epochs()
        self._counters = Counters()
        self._reads: weakref.ref[_Part] | None = None  # what this process reads
        self._iterator: weakref.ref[Any] | None = None  # a weak reference to the running one
        self._left: Any = None  # the state of an iteration that a loop left, or its error
        self._state: Any = None
        self._mix: str | None = None  # how it may differ
        self._token = ""  # names the state

    def __repr__(self) -> str:
        rank, world = _position(self.rank, self.world_size)
        return f"levada.torch_dataset, rank {rank} of {world}, of {self.dataset!r}"

    def ranks(self) -> tuple[int, int]:
        """(rank, world size) of this process."""
        return _position(self.rank, self.world_size)

    def part(self) -> tuple[int, int]:
        """(index, count): which part of how many this worker of this rank reads."""
        rank, world = _position(self.rank, self.world_size)
        worker, workers, _ = _worker()
        return rank * workers + worker, world * workers

    def _dealt(self) -> tuple[int, int]:
        """(number, count) of this worker: ranks come first, so that few parts reach all of them."""
        rank, world = _position(self.rank, self.world_size)
        worker, workers, _ = _worker()
        return worker * world + rank, world * workers

    def share(self) -> Dataset[Any]:
        """The part of the dataset that this worker of this rank reads."""
        index, count = self.part()
        _, workers, seed = _worker()
        seed = seed if workers == count else None  # ranks draw other ones
        if callable(self.dataset):
            given = self.dataset(index, count)
            if index == 0:
                _sharing.warn_of_whole(given, self.dataset, count)
            made = _sharing.checked(given, count, seed)
        else:
            self._refuse_ranks()
            made = _sharing.share(self.dataset, index, count, seed, self.equal or None)
        self._warn_of_steps(made)
        return made

    def _warn_of_steps(self, ds: Dataset[Any]) -> None:
        """Warns once, in the first worker of the first rank, where nothing makes ranks equal."""
        rank, world = _position(self.rank, self.world_size)
        worker, _, seed = _worker()
        if world == 1 or rank or worker or self.equal is not None:
            return
        if not _sharing.equalized(ds._core) and self._epochs.once(seed is not None):
            warnings.warn(
                f"torch_dataset: {world} ranks may end after different numbers of batches, and a "
                'data-parallel job then hangs; pass equal="drop" or equal="pad", or equal=False '
                "if your loop handles it",
                stacklevel=4,
            )

    def _refuse_ranks(self) -> None:
        """Batches that their user has divided between ranks must not be divided again."""
        world = _position(self.rank, self.world_size)[1]
        if world > 1 and _sharing.has_ranks(self.dataset):
            raise FailedPreconditionError(
                f'the buckets have ranks already (sync="buckets"), and torch_dataset would divide '
                f"the records again between {world} ranks: records would be lost. Pass a function: "
                'torch_dataset(lambda index, count: ds.shard(index, count, sync="buckets"))'
            )

    def _refuse_divider(self) -> None:
        """Data that this dataset has divided must not be divided again."""
        library, broadcasts = _divider()
        world = _position(self.rank, self.world_size)[1]
        if library is None:
            return
        if broadcasts and self.position:
            raise FailedPreconditionError(
                f"{library} broadcasts the batches of this loader, which works for tensors alone, "
                "not for their positions (position=True): do not pass the loader to "
                "accelerator.prepare(); iterate over it, and move each batch with "
                ".to(accelerator.device)"
            )
        if world == 1:
            if library == "accelerate" and not self.position:
                warnings.warn(
                    "accelerate fetches a batch ahead of the loop: state_dict() is one batch too "
                    "far, and a resume loses it; pass position=True, and save state_dict(batch)",
                    stacklevel=4,
                )
            return
        raise FailedPreconditionError(
            f"{library} divides the batches of this loader between {world} ranks, and "
            "torch_dataset has already divided the records between them: records would be lost. "
            "Either do not pass the loader to accelerator.prepare() (iterate over it as it is, and "
            "move each batch with .to(accelerator.device)), or leave the division to accelerate: "
            "torch_dataset(ds, rank=0, world_size=1)"
        )

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next pass; the pass after it takes epoch + 1. Call it in the
        process that iterates over the loader; workers of any kind see it."""
        number = operator.index(epoch)
        if not 0 <= number < 2**63:
            raise ValueError(f"{epoch=} must be at least 0")
        self._refuse_divider()
        self._epochs.set(number)

    def _open_part(self, part: int, epoch: int) -> Iterator[Any]:
        self._refuse_ranks()
        return self._opened(_Part(self._divided[part], epoch))  # type: ignore[index]

    def _open_copy(self, part: int, epoch: int) -> Iterator[Any]:
        """A copy of the first batch of a part, as padding."""
        made = _sharing.padding((self._divided or [])[part])
        return self._opened(_Part(made, epoch))

    def _opened(self, iterator: _Part) -> _Part:
        """States of segments can only be saved by the process that reads, with its batches."""
        if iterator._states is not None and _worker()[2] is not None:
            raise FailedPreconditionError(
                "the states of unroll(layout='ready') cannot be saved from outside of a worker of "
                "a DataLoader: pass num_workers=0, or use layout='slots'"
            )
        if iterator._states is not None and self.transform is None:
            raise InvalidArgumentError(
                "unroll(layout='ready') needs a transform= that keeps the batch, whose states are "
                "saved: transform=lambda batch: batch, and batch.torch() in the loop"
            )
        iterator.transform = self.transform
        iterator._count_for(self._counters, _worker()[0])
        self._reads = weakref.ref(iterator)
        return iterator

    def _refuse_empty_ranks(self) -> None:
        """A rank without records ends at once, and a data-parallel job hangs."""
        parts, world = len(self._divided or []), _position(self.rank, self.world_size)[1]
        if world == 1 or self.equal is False:
            return
        filled = _sharing.filled(self.dataset, parts)
        n, why, advice = filled or (parts, "there are no more parts", "pass more parts")
        if n < world:
            advice = f"{advice}, or pass" if advice else "use fewer ranks, or pass"
            raise FailedPreconditionError(
                f"torch_dataset: {parts=} must have records for each of {world} ranks, but has "
                f"records for {n}, because {why}; {advice} equal=False if a rank may be empty"
            )

    def _plan(self) -> Any:
        """How all workers divide the parts."""
        if self._counts is None:
            return _parts.Plan(len(self._divided or []))
        return _equal_parts.Plan(self._counts, str(self.equal), self.ranks()[1])

    def _begin_parts(self, worker: int, seed: int | None) -> Any:
        parts, plan, place = self._divided or [], self._plan(), self._dealt()
        if self._counts is None:
            self._refuse_empty_ranks()
        self._check_batches(parts[0])
        self._warn_of_steps(parts[0])
        epoch, state = self._epochs.begin(worker, seed), self._loaded_state(seed)
        if state is None:
            owned = plan.fresh(epoch, *place)
        else:
            owned = plan.resumed(state, *place)
            self._epochs.resume(owned.epoch, worker, seed)
            self._restored(seed)
        iterator: _Leaves = (
            _profiled(_Parts, self.profile)(owned, self._open_part)
            if self._counts is None
            else _profiled(_EqualParts, self.profile)(owned, self._open_part, self._open_copy)
        )
        iterator.position = self.position
        return self._running(iterator)

    def _running(self, iterator: Any) -> Any:
        iterator._owner = self
        self._iterator, self._left = weakref.ref(iterator), None
        return iterator

    def _check_batches(self, ds: Dataset[Any]) -> None:
        batches = ds._core.flags & 2
        if self.transform is not None and not batches:
            raise InvalidArgumentError(
                "transform= receives batches, but this dataset emits records: add batch() or "
                "padded_batch(), or use map() on the records"
            )
        if self.position and not batches:
            raise InvalidArgumentError(
                "position=True needs batches, but this dataset emits records: add batch() or "
                "padded_batch()"
            )
        if batches and _collates():
            raise InvalidArgumentError(
                "the DataLoader would batch the batches of this dataset once more: pass "
                "batch_size=None, as in DataLoader(lv.torch_dataset(ds), batch_size=None)"
            )

    def __iter__(self) -> Iterator[Any]:
        self._refuse_divider()
        worker, _, seed = _worker()
        if self._divided is not None:
            return self._begin_parts(worker, seed)
        share = self.share()
        self._check_batches(share)
        epoch, state = self._epochs.begin(worker, seed), self._loaded_state(seed)
        if state is not None:
            state = _positions.own_of(state, *self.part())
            epoch = state.get("epoch", epoch)
        kind = _profiled(_PositionPart if self.position else _Part, self.profile)
        iterator = self._opened(kind(share, epoch))
        iterator._part, iterator._epoch = self.part(), epoch
        if state is not None:
            if "levada" in state:
                iterator.load_state_dict(state, self._mix)
            self._epochs.resume(iterator.stats()["epoch"], worker, seed)
            self._restored(seed)
        return self._running(iterator)

    def stats(self) -> dict[str, Any]:
        """Returns what all workers of the loaders of this process counted, as ``Iterator.stats``
        does, without seed, epoch, threads, stages and problems; ``workers`` is their number.

        The numbers grow over epochs, and what a checkpoint had counted is not in them. Workers add
        to them 20 times a second. ``wait_seconds / seconds`` is the share of the time in which
        workers made batches: if it is close to 1, the loop waits for them. Any thread.
        """
        reads = self._reads() if self._reads is not None else None
        if reads is not None:
            reads._count(now=True)
        return self._counters.stats()

    def _loaded_state(self, seed: int | None) -> Any:
        """The state to restore, or None. Workers of later passes are copies of an object that still
        has it, although the workers of the first pass have restored it."""
        if self._state is not None and not self._epochs.loaded(self._token, seed):
            self._state = None
        return self._state

    def _restored(self, seed: int | None) -> None:
        self._epochs.restored(self._token, seed)
        self._state = None

    def state_dict(self, batch: Any = None) -> Mapping[str, Any]:
        """The position of this worker, for ``load_state_dict``.

        `batch`: the position right after that batch of ``position=True``, however far a loop has
        read ahead of it. None: after the batch that was returned last; before the first one and
        after the last one, the beginning of the next epoch. Raises FailedPreconditionError if
        workers of a DataLoader have the position.
        """
        if batch is not None:
            return _positions.state_of(batch)
        iterator = self._iterator() if self._iterator is not None else None
        if iterator is not None and not iterator._done:
            return iterator.state_dict()
        if self._epochs.in_workers() and _worker()[2] is None:
            raise FailedPreconditionError(
                "the workers of the DataLoader have the positions: use num_workers=0, or "
                "torchdata's StatefulDataLoader and its state_dict(), or position=True and "
                "state_dict(batch)"
            )
        if isinstance(self._left, Exception):
            raise self._left
        if self._left is not None:
            return self._left
        if self._state is not None:
            return self._state
        place = self.part() if self.parts is None else self._dealt()
        return self.beginning(self._epochs.next(), *place)

    def beginning(self, epoch: int, index: int, count: int) -> Mapping[str, Any]:
        """The state of worker `index` of `count` at the beginning of an epoch."""
        if self._divided is None:
            return {"epoch": epoch, "part": (index, count)}
        return self._plan().fresh(epoch, index, count).to_dict()

    def load_state_dict(self, state: Any, *, mix: Literal["keep positions"] | None = None) -> None:
        """The next iteration continues there. A list of states of several workers and ranks is
        searched for the state of this one; with ``parts=`` it must have those of all workers of
        all ranks, whatever their number was.

        `mix`: "keep positions" accepts other weights and inputs of mixtures with names, as
        ``Iterator.restore`` does; not with ``parts=``, because the parts that were read to their
        end would not have the new inputs.
        """
        if mix not in (None, "keep positions"):
            raise InvalidArgumentError(f"mix={mix!r} must be 'keep positions' or None")
        if mix and self._divided is not None:
            raise UnimplementedError(
                "mix= cannot change the mixture of torch_dataset(parts=) inside of an epoch, "
                "because parts that were read to their end would lack the new inputs; change it "
                "between two epochs, with set_epoch() and without a state"
            )
        if not isinstance(state, (Mapping, list, tuple)):
            raise TypeError(
                "a state must be the dict that state_dict() returned, or a list of them; got "
                f"{type(state).__name__}"
            )
        self._state, self._left, self._iterator, self._mix = state, None, None, mix
        self._epochs.loading()
        self._token = f"{os.getpid()}.{time.monotonic_ns()}"

    def __getstate__(self) -> dict[str, Any]:
        """Workers that are spawned do not know the process group: they are told."""
        told: dict[str, Any] = {"_iterator": None, "_left": None, "_reads": None}
        if self.rank is None and _group() is not None:
            told["rank"], told["world_size"] = _group()
        return {**self.__dict__, **told}


if TYPE_CHECKING:
    from torch.utils.data import IterableDataset

    class TorchDataset(Shared, IterableDataset[Any]):
        """What ``torch_dataset`` returns."""


@functools.cache
def _torch_dataset_class() -> Any:
    from torch.utils.data import IterableDataset

    parts = {"__module__": __name__, "__doc__": Shared.__doc__}
    return type("TorchDataset", (Shared, IterableDataset), parts)


def __getattr__(name):
    """TorchDataset is made at first use: its base class is torch's."""
    if name != "TorchDataset":
        raise AttributeError(name)
    return _torch_dataset_class()


def loader_of(data: Any) -> Any:
    """A DataLoader that returns the batches of `data` as they are."""
    from torch.utils.data import DataLoader

    return DataLoader(data, batch_size=None)


def torch_dataset(
    ds: Dataset[Any] | Callable[[int, int], Dataset[Any]],
    rank: int | None = None,
    world_size: int | None = None,
    *,
    equal: str | bool | None = None,
    transform: Callable[[Batch], Any] | None = None,
    parts: int | None = None,
    position: bool = False,
    mesh: Any = None,
    profile: bool = False,
) -> TorchDataset:
    """Makes a ``torch.utils.data.IterableDataset`` with ``state_dict``, for DataLoader.

    Each worker of each rank reads its own shard, and the dataset makes the batches: pass
    ``batch_size=None`` to the DataLoader. Save ``data.state_dict()`` after a batch;
    ``data.load_state_dict(state)`` continues there.

    Args:
        ds (Dataset | Callable): the pipeline, or a function of (index, count) that returns a
            pipeline and shards it itself.
        rank (int): number of this rank; None = the rank in torch.distributed, or RANK.
        world_size (int): number of ranks; None = as in torch.distributed, or WORLD_SIZE.
        equal (str | bool): "drop" or "pad" makes all ranks return the same number of batches: it
            drops the last batches that not all ranks have, or adds copies whose ``is_padding`` is
            True and whose lengths and masks are 0. With several ranks, None warns once and False
            does not.
        transform (Callable): turns a ``Batch`` into the value that the loader returns; None =
            ``batch.torch()``. It runs in the worker; spawned workers need a function that can be
            pickled.
        parts (int): cuts the data into this many fixed parts, for example 64, whose states fit any
            number of ranks and workers: ``load_state_dict([state of worker 0 of rank 0, ...])``.
            With `equal`, the numbers of batches must be known before the data are read.
        position (bool, default False): each value carries the position right after it, for loops
            that fetch ahead (Lightning, accelerate, copies to a device): as "levada_position" of a
            dict, else as the second of a pair. ``data.state_dict(batch)`` is the state to save. A
            position costs one ``save()`` for each batch.
        mesh (DeviceMesh): ranks that differ only in dimensions of model parallelism read the same
            data. The data-parallel dimensions are those named dp, data, ddp, fsdp, hsdp, replicate,
            shard, dp_replicate or dp_shard, or the only one.
        profile (bool, default False): names the calls that make a batch "levada.next" for
            ``torch.profiler``, and for Nsight if CUDA is in use, in the process that makes it: with
            ``num_workers=0`` that is where the loop waits.

    Returns:
        The IterableDataset.

    Raises:
        ImportError: torch is not installed.
        ValueError, TypeError: an argument is wrong.

    Example:
        from torch.utils.data import DataLoader

        lv.samples.write(".")  # small real files
        ds = (
            lv.open("train-*.tfrecord.gz")
            .shuffle(10_000, seed=7)
            .bucket_by_sequence_length("tokens", boundaries=[64, 128, 256], max_tokens=16_384)
        )
        data = lv.torch_dataset(ds, transform=lambda batch: batch.torch(mask=True))
        loader = DataLoader(data, batch_size=None)  # num_workers=0: levada has threads
        for batch in loader:
            tokens, mask = batch["tokens"], batch["tokens_mask"]  # [B, T]
            state = data.state_dict()  # data.load_state_dict(state) continues here
    """
    return _torch_dataset_class()(
        ds,
        rank,
        world_size,
        equal=equal,
        transform=transform,
        parts=parts,
        position=position,
        mesh=mesh,
        profile=profile,
    )
