# SPDX-License-Identifier: Apache-2.0
"""Records of a dataset into a queue, a block at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from levada import errors
from levada._dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levada.train._queues import QueueBase


class Feed:
    """What ``QueueBase.enqueue_from`` returns. Several threads may call it; they take turns."""

    def __init__(self, queue: QueueBase, dataset: Dataset) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"enqueue_from: dataset must be a Dataset, got {type(dataset).__name__}"
            )
        self._queue = queue
        self._dataset = dataset
        self._columns: list[int] | None = None
        fields = list(dataset.spec)
        if fields:  # else only the blocks know them
            self._columns = self._find(fields)
        self._cancelled = False
        self._lock = threading.Lock()
        # -- guarded by _lock
        self._iterator: Any = None
        self._rest: list[tuple[Any, int]] = []  # (block, rows of it that are in)

    def __call__(self) -> None:
        """Puts one block of records in. OutOfRangeError at the end of the dataset."""
        block, enqueue = None, self._queue._queue.enqueue_block
        try:
            with self._lock:
                if self._rest:
                    block, first = self._rest[-1]
                    del self._rest[-1]
                else:
                    block, first = self._next(), 0
            if self._columns is None:
                self._columns = self._find(block.names)
            for _ in map(enqueue, (block,), (self._columns,), (first,)):
                return  # Ctrl-C comes where a call of C has ended, not where a `for` has: all is in
        except BaseException as error:
            if block is not None:
                with self._lock:
                    self._rest.append((block, first + getattr(error, "enqueued", 0)))
            raise

    def cancel(self) -> None:
        """Ends a call that waits for records, and every later one, with CancelledError."""
        self._cancelled = True  # before the look: a call that begins looks the other way round
        iterator = self._iterator
        if iterator is not None:
            iterator.cancel()

    def _find(self, fields: Sequence[str]) -> list[int]:
        """The numbers of the columns for the components."""
        queue, names = self._queue, self._queue.names
        if names is None and len(fields) != len(queue.dtypes):
            raise ValueError(
                f"{queue.name} has {len(queue.dtypes)} components, the dataset {len(fields)} "
                f"fields: {fields}; select those that are wanted"
            )
        missing = [name for name in names or () if name not in fields]
        if missing:
            raise ValueError(f"{queue.name}: the dataset has no field {missing}; it has {fields}")
        return [fields.index(name) for name in names or fields]

    def _next(self) -> Any:
        if self._iterator is None:
            self._iterator = self._dataset.blocks()
        if self._cancelled:
            raise errors.CancelledError(f"{self._queue.name}: moving the dataset was cancelled")
        for batch in self._iterator:
            return batch._block
        raise errors.OutOfRangeError(f"{self._queue.name}: the dataset has come to its end")
