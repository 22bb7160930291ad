# SPDX-License-Identifier: Apache-2.0
"""Record numbers in random order, for a DataLoader that reads ``ds[i]``."""

from __future__ import annotations

import operator

from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Sampler:
    """Returns the record numbers of a rank, in another order in each epoch.

    ``Dataset.sampler`` makes it. Each ``iter()`` runs the epoch that ``set_epoch`` has set,
    otherwise the next epoch. The order is the same as with ``shuffle_records=True`` and this seed;
    it is computed, so it needs no memory. Use a sampler on one thread at a time.

    Args:
        numbers (Dataset): the record numbers, in the field "value".

    Example:
        sampler = lv.range(5).sampler(seed=7)
        print(len(sampler), sorted(sampler))
    """

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers
        self._epoch = self._at = 0
        self._fresh = True  # no iter() has begun this epoch

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        if not self._fresh:
            self._epoch, self._at = self._epoch + 1, 0
        self._fresh = False
        return self._rest(self._epoch, self._at)

    def _rest(self, epoch, skip):
        """The numbers of an epoch after the first ones; counts while it is the current epoch."""
        with self._numbers.blocks(epoch=epoch) as blocks:
            for block in blocks:
                for number in block["value"][skip:].tolist():
                    self._at += epoch == self._epoch
                    yield number
                skip = max(0, skip - len(block))
        if epoch == self._epoch and not self._fresh:
            self.set_epoch(epoch + 1)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next ``iter()`` runs.

        Args:
            epoch (int): the epoch, from 0.

        Example:
            sampler = lv.range(5).sampler()
            sampler.set_epoch(3)
        """
        self._epoch, self._at, self._fresh = operator.index(epoch), 0, True

    def state_dict(self) -> dict[str, Any]:
        """Returns the epoch, and how many of its numbers were returned.

        Example:
            sampler = lv.range(5).sampler()
            next(iter(sampler))
            print(sampler.state_dict())
        """
        return {"epoch": self._epoch, "returned": self._at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state: the next ``iter()`` returns the remaining numbers of that epoch.

        Args:
            state (dict[str, Any]): what ``state_dict`` returned, with the same seed, rank and
                number of ranks.

        Raises:
            InvalidArgumentError: this sampler returns fewer numbers than the state counts.

        Example:
            sampler = lv.range(5).sampler()
            sampler.load_state_dict({"epoch": 1, "returned": 3})
            print(len(list(sampler)))
        """
        returned = operator.index(state["returned"])
        if not 0 <= returned <= len(self):
            raise InvalidArgumentError(f"returned={returned} of the state must be 0..{len(self)}")
        self.set_epoch(state["epoch"])
        self._at = returned
