# SPDX-License-Identifier: Apache-2.0
"""Parts and single records of datasets."""

from __future__ import annotations

import operator
import sys

from levada import _levada
from levada._stages import Stages
from levada._typed import T

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada._dataset import Dataset
    from levada._sampler import Sampler


# How a DataLoader that takes a dataset for a list ends.
_FOR_TORCH = "for PyTorch write DataLoader(lv.torch_dataset(ds), batch_size=None)"


class Divided(Stages[T]):
    """What a dataset offers besides all of its records in order."""

    __slots__ = ()

    _core: _levada.Dataset
    _settings: dict[str, Any]

    def shard(
        self, index: int, count: int, equal: str | None = None, sync: str | None = None
    ) -> Dataset[T]:
        """Returns one of several parts: record (after batching: batch) i is in part i % count.

        `equal`: "drop" or "pad": all parts have the same number of records (batches).
        `sync="buckets"`, directly after ``bucket_by_sequence_length``, keeps ranks in step. At each
        step all ranks have a batch of the same bucket, of the same size and length, and all have
        equally many steps, without communication, because each rank assigns all records to batches
        and pads only its own. A rank reads all records, or only its own if an index has their
        lengths; ``explain()`` shows which. At the end, duplicated records fill the last batches,
        with ``is_padding`` True and length 0; with ``equal="drop"`` fewer records than ranks are
        dropped and counted. Random stages before it need the same seed on all ranks.
        """
        options = {"index": index, "count": count, "equal": equal, "sync": sync}
        made = self._stage("shard", **{k: v for k, v in options.items() if v is not None})
        if sync is None:
            return made
        from levada import _sharing

        return _sharing.in_step(made, count)

    def parts(self, count: int) -> list[Dataset[T]]:
        """Returns `count` datasets that together have each record once, for any number of readers.

        A part reads its own data alone: a range of the records if the files have an index
        (``index=True``), else whole files. If neither is possible (sources without files, a ``zip``
        whose files have no index, downstream of ``take`` or ``skip``), every part reads all records
        and keeps its share. Batches are made inside a part, so they do not depend on how many
        readers there are. A part has its own state, which any reader may restore.
        """
        from levada import _sharing
        from levada._dataset import _integer

        count = _integer("count", count, 1, 1 << 20)
        filled = _sharing.filled(self, count)
        if filled:
            import warnings

            n, why, advice = filled
            advice = f"{advice}, or make fewer parts" if advice else "make fewer parts"
            warnings.warn(
                f"parts: {count - n} of {count} parts are empty, because {why}; {advice}",
                stacklevel=2,
            )
        return _sharing.parts(self, count)

    def sampler(
        self,
        rank: int = 0,
        world: int = 1,
        seed: int = 0,
        *,
        shuffle: bool = True,
        equal: str | None = None,
    ) -> Sampler:
        """Returns the record numbers of a rank in random order, for loaders that read ``ds[i]``.

        ``DataLoader(ds, sampler=ds.sampler(rank, world))`` reads single records, and each of them
        opens its file again: ``lv.torch_dataset(ds)`` is faster.

        Args:
            rank (int, default 0): number of this rank, from 0.
            world (int, default 1): number of ranks; each record number is of one rank.
            seed (int, default 0): seed of the orders, which are those of ``shuffle_records=True``;
                equal in all ranks.
            shuffle (bool, default True): ``False`` = in the order of the records.
            equal (str): ``"drop"`` drops records and ``"pad"`` repeats some, so that all ranks
                have equally many; ``None`` = some ranks have one more.

        Returns:
            Sampler: an iterable with ``len()``, ``set_epoch``, ``state_dict`` and
            ``load_state_dict``.

        Raises:
            FailedPreconditionError: the records of the dataset have no numbers, for example without
                ``index=True``.

        Example:
            ds = lv.range(10)
            print([ds[i]["value"].item() for i in ds.sampler(rank=0, world=2, seed=7)])
        """
        from levada._dataset import Dataset
        from levada._sampler import Sampler

        given = {"count": _numbered(self), "shuffle_records": shuffle}
        numbers = Dataset(_levada.append("range", given, ())).shard(rank, world, equal)
        return Sampler(numbers.with_options(seed=seed, threads=1))

    def __getitem__(self, number: int) -> Any:
        """Record `number` of a dataset whose files have an index, as a dict.

        ``lv.tfrecord("a.tfrecord", index=True)[7]``, also downstream of decoders, ``map``,
        ``cast``, ``select``, ``rename``. The order is that of the files, even with
        ``shuffle_records``; negative numbers count from the end. Iterate to read many
        records: each call opens the file again. IndexError for a number that does not exist.
        """
        from levada._batch import rows_of
        from levada.errors import FailedPreconditionError, OutOfRangeError

        if not hasattr(number, "__index__"):
            raise TypeError(f"only records have numbers, fields do not; {_FOR_TORCH}")
        at = operator.index(number)
        if at < 0 or self._core.flags & 2:
            at += _numbered(self)
        functions = sys.modules.get("levada._functions")
        if functions is not None:
            functions.ensure()
        try:
            return rows_of(_levada.record(self._core, at))[0]
        except OutOfRangeError as error:
            raise IndexError(f"record {at}: {error}") from None
        except FailedPreconditionError as error:
            raise _without_numbers(error) from None


def _without_numbers(error):
    """The error in words of Python, with a remedy."""
    from levada.errors import FailedPreconditionError

    text = str(error).replace("index=true", "index=True")
    return FailedPreconditionError(f"{text}; {_FOR_TORCH}")


def _numbered(ds):
    """The number of records of a dataset with record numbers."""
    from levada.errors import FailedPreconditionError

    if ds._core.flags & 2:
        raise TypeError(f"only records have numbers, batches do not; {_FOR_TORCH}")
    try:
        return _levada.count(ds._core)
    except FailedPreconditionError as error:
        raise _without_numbers(error) from None
