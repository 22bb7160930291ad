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
    """Collects values of keys, which arrive one component at a time, until a key is complete.

    Any thread may call; only ``take_many`` waits.

    Args:
        types (dtype | list): dtypes of the components.
        shapes (Sequence): shape of one value of each component; None = any shape. No dimension may
            be 0.
        shared_name (str): every constructor call with this name returns the same barrier while a
            reference to it exists.
        name (str, default "barrier"): the name in messages.

    Raises:
        ValueError, TypeError: an argument is wrong.

    Example:
        barrier = lt.Barrier([lv.int64, lv.float32], shapes=[(), ()])
        barrier.insert_many(0, ["a", "b"], [1, 2])
        barrier.insert_many(1, ["b"], [0.5])
        print(barrier.types, barrier.shapes, barrier.take_many(1))
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
        """Sets one component of several keys. Never waits.

        Args:
            component_index (int): number of the component.
            keys (list | array): str or bytes, each once.
            values (array): array-like [n, ...].

        Raises:
            InvalidArgumentError: a key has a value for the component already, or occurs twice; the
                numbers of keys and values differ; the component does not exist. Nothing has
                changed.
            CancelledError: the barrier is closed, and a key is new.

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            barrier.insert_many(0, ["a", "b"], [1, 2])
        """
        if hasattr(keys, "tolist"):  # an array
            keys = keys.tolist()
        if isinstance(keys, (str, bytes)):
            raise TypeError(f"keys must be a list of str or bytes, got {keys!r}")
        self._barrier.insert_many(component_index, keys, values)

    def take_many(
        self,
        num_elements: int,
        allow_small_batch: bool = False,
        timeout: float | None = None,
        wait_for_incomplete: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Waits for complete keys, and takes them in the order of their first insertion.

        Args:
            num_elements (int): number of keys.
            allow_small_batch (bool, default False): takes 1 to n keys from a closed barrier.
            timeout (float): seconds to wait; None = no limit.
            wait_for_incomplete (bool, default False): on a closed barrier, waits for keys that can
                still become complete.

        Returns:
            (indices int64 [n], keys bytes [n], [values [n, ...], ...]). Indices count insertions
            from -2**63.

        Raises:
            OutOfRangeError: the barrier is closed and will not have enough keys.
            DeadlineExceededError: the timeout has passed; nothing was taken.

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            barrier.insert_many(0, ["a", "b"], [1, 2])
            indices, keys, (values,) = barrier.take_many(2)
        """
        small, wait = bool(allow_small_batch), bool(wait_for_incomplete)
        return self._barrier[num_elements, small, timeout, wait]

    def close(self, cancel_pending_enqueues: bool = False) -> None:
        """Closes the barrier: it accepts no new keys, and incomplete keys can be completed.

        Args:
            cancel_pending_enqueues (bool, default False): drops incomplete keys.

        Raises:
            CancelledError: the barrier is closed already (a close with ``cancel_pending_enqueues``
                may follow a close without it).

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            barrier.close()
        """
        self._barrier.close(bool(cancel_pending_enqueues))

    def cancel(self) -> None:
        """Ends every waiting take with CancelledError; the barrier stays usable.

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            barrier.cancel()
        """
        self._barrier.cancel()

    def ready_size(self) -> int:
        """Returns the number of complete keys.

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            barrier.insert_many(0, ["a"], [1])
            print(barrier.ready_size())
        """
        return self._barrier.ready_size()

    def incomplete_size(self) -> int:
        """Returns the number of keys that wait for components.

        Example:
            barrier = lt.Barrier([lv.int64], shapes=[()])
            print(barrier.incomplete_size())
        """
        return self._barrier.incomplete_size()

    def __repr__(self) -> str:
        return f"levada.train.Barrier({self._name!r}, {self.types})"
