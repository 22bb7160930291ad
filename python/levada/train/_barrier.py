# SPDX-License-Identifier: Apache-2.0
"""Barrier: values of keys arrive one component at a time; complete keys are taken together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from levada import _levada
from levada._dtypes import DType
from levada.train._queues import unique_name
from levada.train._signature import Shape, Signature, as_list, as_shapes

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Barrier"]


class Barrier:
    """Keys wait until all their components are there (TensorFlow: core/kernels/barrier_ops.cc).

    ``types``: dtypes of the components; ``shapes``: of one value of each, None for any, none with a
    dimension of 0. Any thread may call; only ``take_many`` waits.
    """

    def __init__(
        self,
        types: Any,
        shapes: Sequence[Any] | None = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        types = as_list(types)
        shapes = as_shapes(shapes, types)
        if not types:
            raise ValueError("a barrier needs at least one component type, got an empty list")
        for i, shape in enumerate(shapes or ()):
            if shape is not None and 0 in shape:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{shape}' at index {i}"
                )
        self._name = unique_name(name, "barrier")
        self._signature = Signature(self._name, types, shapes)
        marks = Signature(self._name, ["int64", "string"], [(), ()])
        self._barrier = _levada.Barrier(
            self._signature.components(),
            marks.components(),
            self._signature,
            self._name,
            shared_name,
        )

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    @property
    def types(self) -> list[DType]:
        """List of the dtypes of the components."""
        return list(self._signature.dtypes)

    @property
    def shapes(self) -> list[Shape]:
        """List of the shapes of one value; None for any."""
        return list(self._signature.shapes)

    def insert_many(self, component_index: int, keys: Any, values: Any) -> None:
        """Sets one component of keys: ``keys`` [n] (str or bytes), ``values`` [n, ...].

        InvalidArgumentError, and nothing has changed: a key that has a value for the component or
        occurs twice, other lengths, a component that does not exist. CancelledError: the barrier is
        closed, and a key is new. Never waits.
        """
        if hasattr(keys, "tolist"):  # an array
            keys = keys.tolist()
        if isinstance(keys, (str, bytes)):
            raise TypeError(f"keys must be a list of str or bytes, not {keys!r}")
        self._barrier.insert_many(component_index, keys, values)

    def take_many(
        self,
        num_elements: int,
        allow_small_batch: bool = False,
        timeout: float | None = None,
        wait_for_incomplete: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Waits for complete keys: (indices int64 [n], keys bytes [n], [values [n, ...], ...]).

        Keys are returned in the order of their first insertion; ``indices`` are their numbers in
        it, from -2**63. On a closed barrier ``allow_small_batch`` returns 1 to n keys, and
        ``wait_for_incomplete`` waits for keys that can still become complete. Raises
        OutOfRangeError if the barrier is closed and will not have enough keys, and
        DeadlineExceededError after ``timeout`` seconds; then nothing is taken.
        """
        small, wait = bool(allow_small_batch), bool(wait_for_incomplete)
        return self._barrier[num_elements, small, timeout, wait]

    def close(self, cancel_pending_enqueues: bool = False) -> None:
        """No new keys; those that wait for components can be completed, unless cancelled.

        CancelledError: it is closed already (a close that cancels may follow a plain one).
        """
        self._barrier.close(bool(cancel_pending_enqueues))

    def cancel(self) -> None:
        """Ends every waiting take with CancelledError; the barrier stays usable."""
        self._barrier.cancel()

    def ready_size(self) -> int:
        """Complete keys."""
        return self._barrier.ready_size()

    def incomplete_size(self) -> int:
        """Keys that wait for components."""
        return self._barrier.incomplete_size()

    def __repr__(self) -> str:
        return f"levada.train.Barrier({self._name!r}, {self.types})"
