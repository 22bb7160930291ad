# SPDX-License-Identifier: Apache-2.0
"""Batches whose states are saved by the training loop: ``Dataset.unroll(layout="ready")``."""

from __future__ import annotations

import logging

from levada import _levada
from levada._batch import Batch
from levada._exact import array_type, cast, of_tensor
from levada._nearest import unknown
from levada.errors import LevadaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any, Self

    from levada._batch import Array, _Files
    from levada._iterator import Iterator

_NUMBER = "batch_number"
_log = logging.getLogger("levada")


def _array(value: Any, dtype: str) -> Array:
    """An array, also of a tensor on a device or with a gradient; plain numbers get the dtype."""
    import numpy as np

    value = of_tensor(value)
    if not hasattr(value, "dtype"):
        if dtype == "bfloat16":  # NumPy has none
            return cast(np.asarray(value), dtype, rounds=True)
        return np.ascontiguousarray(value, dtype=dtype)
    return np.ascontiguousarray(value)


class RequeuedOnError:
    """A ``with`` block over a batch of segments: an error in it puts the batch back."""

    def requeue(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            return
        try:
            self.requeue()
        except LevadaError as failed:  # saved, or closed
            _log.debug("the batch of a failed step is not requeued: %s", failed)


class StateBatch(RequeuedOnError, Batch):
    """A batch of segments with the states that they begin with.

    Save every declared state in each step, then the next segments of these sequences are ready.
    A step that failed is put back with ``requeue()`` or dropped with ``discard()``. As a context
    manager it requeues the batch when the block raises. One thread at a time uses the iterator and
    its batches.
    """

    __slots__ = ("_iterator",)

    _iterator: Iterator[Any]

    def __new__(cls, block: _levada.Block, files: _Files | None, iterator: Iterator[Any]) -> Self:
        self = super().__new__(cls, block, files)
        self._iterator = iterator
        return self

    def __copy__(self):
        return StateBatch(self._block, self._files, self._iterator)

    def _dtype(self, name: str) -> str:
        states = self._iterator._states or {}
        if name == _NUMBER or name not in states:
            known = [state for state in states if state != _NUMBER]
            raise KeyError(unknown("state", name, known))
        return states[name]

    def state(self, name: str) -> Array:
        """The state that the segments begin with, [n, ...]. KeyError: it was not declared."""
        self._dtype(name)
        return self[name]

    def save_state(self, name: str, value: Any) -> None:
        """Saves a state of all rows, [n, ...]: an array or a tensor, which is copied.

        Values of rows whose segment is the last one are ignored. Raises InvalidArgumentError for
        another shape or dtype, a value that is not finite (``check_finite``), or a state that was
        saved already, and FailedPreconditionError after ``requeue()`` and ``discard()``.
        """
        self.save_states({name: value})

    def save_states(self, values: Mapping[str, Any]) -> None:
        """Saves several states, {name: value}: all or none."""
        arrays = {name: _array(value, self._dtype(name)) for name, value in values.items()}
        self._feed(arrays)

    def requeue(self) -> None:
        """Returns the segments and their states to the queue, which emits them first.

        Raises FailedPreconditionError where the batch is finished: all its states are saved, or all
        its rows have the last segment of their sequence and ``next`` was called since.
        """
        self._answer("requeue")

    def discard(self) -> None:
        """Drops the sequences of the batch, and counts them in ``stats()["dropped_records"]``.

        Raises as `requeue`.
        """
        self._answer("discard")

    def _answer(self, word):
        import numpy as np

        self._feed({word: np.ones(self.num_records, np.bool_)})

    def _typed(self, name, array):
        """(dtype, depth, dims, values) of a column; bfloat16 is its bits."""
        states = self._iterator._states or {}
        if states.get(name) == "bfloat16" and array.dtype in (array_type("bfloat16"), "u2"):
            return "bfloat16", 0, array.shape[1:], array.view("u2")
        return str(array.dtype), 0, array.shape[1:], array

    def _feed(self, arrays: dict[str, Array]) -> None:
        columns = {_NUMBER: self[_NUMBER], **arrays}
        for name, array in columns.items():
            if array.ndim == 0 or array.shape[0] != self.num_records:
                rows = self.num_records
                raise ValueError(f"state {name!r} has shape {array.shape}, not ({rows}, ...)")
        fields: list[Any] = [
            (name, *self._typed(name, array), []) for name, array in columns.items()
        ]
        self._iterator._feed(_levada.build(self.num_records, fields, []))
