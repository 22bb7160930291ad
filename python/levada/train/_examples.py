# SPDX-License-Identifier: Apache-2.0
"""Examples on their way into queues: structure, types and shapes, keep_input."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from levada._dataset import Dataset
from levada._ragged import check_mask
from levada.errors import InvalidArgumentError
from levada.train._input_block import dtype_of_value, is_column, shape_of_rows
from levada.train._structure import Structure

Keep = bool | Hashable | Callable[[Any], Any] | None


class Examples:
    """What the threads of one batch function share: the first example settles it.

    Args:
        who: the function, for errors.
        options: its arguments by name.
    """

    def __init__(self, who: str, options: dict[str, Any]) -> None:
        self.who = who
        self.enqueue_many = bool(options.get("enqueue_many"))
        self.dynamic_pad = bool(options.get("dynamic_pad"))
        self.smaller = bool(options.get("allow_smaller_final_batch"))
        self.shapes = options.get("shapes")
        _check_shapes(self.shapes, self.dynamic_pad)
        self.keep = _keeper(options.get("keep_input", True), self.enqueue_many)
        self.structure: Any = None  # a Structure, once an example or a dataset has settled it
        self.queue: Any = None  # the settled one
        self._lock = threading.Lock()

    def settle(self, example: Any) -> None:
        """Fixes structure, types and shapes; the first example of all threads does."""
        with self._lock:
            if self.queue is not None:
                return
            structure = Structure.of(example)
            values = structure.flatten(example)
            dtypes = [self._dtype_of(*field) for field in zip(structure.keys, values, strict=True)]
            shapes = self._shapes_of(structure, values)
            self._settle_locked(structure, dtypes, shapes)

    def _dtype_of(self, field: Hashable, value: Any) -> str:
        try:
            return dtype_of_value(value)
        except TypeError as error:
            raise TypeError(f"{self.who}: field {field!r} of the first example: {error}") from None
        except ValueError as error:  # rows of different lengths
            raise InvalidArgumentError(
                f"{self.who}: field {field!r} of the first example is not an array: {error}"
            ) from error

    def settle_spec(self, names: list[str], dtypes: list[str], shapes: list[Any]) -> None:
        """The same from what a dataset says of itself."""
        with self._lock:
            if self.queue is None:
                structure = Structure(dict, sorted(names))
                order = [names.index(name) for name in structure.keys]
                if self.shapes is not None:
                    shapes = structure.in_order(self.shapes, "shapes")
                else:
                    shapes = [self._loose(shapes[i]) for i in order]
                self._settle_locked(structure, [dtypes[i] for i in order], shapes)

    def _settle_locked(self, structure: Structure, dtypes: list[str], shapes: list[Any]) -> None:
        self.structure = structure
        self.queue = self._open(dtypes, shapes)  # the last: then there is all that `put` needs

    def _open(self, dtypes: list[str], shapes: list[Any]) -> Any:
        """The queue for examples of these types."""
        raise NotImplementedError

    def _loose(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (None,) * len(shape) if self.dynamic_pad else tuple(shape)

    def _shapes_of(self, structure: Structure, values: Sequence[Any]) -> list[Any]:
        if self.shapes is not None:
            return [tuple(shape) for shape in structure.in_order(self.shapes, "shapes")]
        shapes = []
        for field, value in zip(structure.keys, values, strict=True):
            shape = shape_of_rows(value) if self.enqueue_many else _shape_of(value)
            if shape is None:
                raise InvalidArgumentError(
                    f"{self.who}: field {field!r} is one value; with enqueue_many=True it has rows"
                )
            shape = self._loose(shape)
            if None in shape and not self.dynamic_pad:
                raise InvalidArgumentError(
                    f"{self.who}: field {field!r} is ragged; dynamic_pad=True pads it"
                )
            shapes.append(shape)
        return shapes

    def misfit(self, values: Sequence[Any], error: Exception) -> InvalidArgumentError:
        fields = ", ".join(repr(key) for key in self.structure.keys)
        return InvalidArgumentError(
            f"{self.who}: an example does not fit the first one (fields {fields}): {error}"
        )


def feed(batcher: Any, source: Callable[[], Any]) -> Callable[[], None]:
    """An enqueue op: one example of a source into the queue of a batcher."""

    def enqueue() -> None:
        batcher.put(source())

    enqueue.__name__ = str(getattr(source, "__name__", "enqueue"))
    return enqueue


class Move:
    """An enqueue op: a block of records of a dataset into the queue, without Python between."""

    def __init__(self, batcher: Examples, dataset: Dataset, spec: Any) -> None:
        self.__name__ = "enqueue_dataset"
        self._batcher, self._dataset, self._spec = batcher, dataset, spec
        self._feed: Any = None
        self._cancelled = False

    def __call__(self) -> None:
        if self._feed is None:
            self._batcher.settle_spec(*self._spec)
            ordered = self._dataset.select(*self._batcher.structure.keys)
            self._feed = self._batcher.queue.enqueue_from(ordered)
        if self._cancelled:
            self._feed.cancel()
        self._feed()

    def cancel(self) -> None:
        """Frees a thread that waits for records of the dataset. Any thread."""
        self._cancelled = True
        if self._feed is not None:
            self._feed.cancel()


def _shape_of(value: Any) -> tuple[int, ...]:
    import numpy as np

    shape = getattr(value, "shape", None)
    return np.shape(value) if shape is None else tuple(shape)


def _check_shapes(shapes: Any, dynamic_pad: bool) -> None:
    """What can be said of shapes= before there is an example."""
    if shapes is None:
        return
    for shape in shapes.values() if hasattr(shapes, "values") else shapes:
        if shape is None:
            raise ValueError(f"Cannot infer Tensor's rank: shapes={shapes}")
        if any(size in (None, -1) for size in shape) and not dynamic_pad:
            raise ValueError(
                f"All shapes must be fully defined: {shapes}; dynamic_pad=True allows others"
            )


# -- keep_input


def _keeper(keep: Any, enqueue_many: bool) -> Callable[..., list[Any] | None] | None:
    """Function (example, values, structure) -> the values to keep, or None; None keeps all."""
    import numpy as np

    if keep is None or keep is True:
        return None
    if callable(keep):
        return lambda example, values, _: _kept(values, keep(example), enqueue_many)
    if isinstance(keep, (bool, np.bool_, np.ndarray, list)):
        constant = _checked_keep(keep, enqueue_many)
        return lambda _, values, __: _kept(values, constant, enqueue_many)

    def by_field(_: Any, values: list[Any], structure: Structure) -> list[Any] | None:
        return _kept(values, values[structure.index(keep)], enqueue_many)

    return by_field


def _checked_keep(keep: Any, enqueue_many: bool) -> Any:
    import numpy as np

    check_mask(keep)
    keep = np.asarray(keep)
    if keep.ndim > 1:
        raise InvalidArgumentError(f"`keep_input` must be 0 or 1 dimensions, got {keep.ndim}")
    if keep.ndim == 1 and not enqueue_many:
        raise InvalidArgumentError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    return keep.astype(bool)


def _kept(values: list[Any], keep: Any, enqueue_many: bool) -> list[Any] | None:
    if keep is True or keep is False:
        return values if keep else None
    keep = _checked_keep(keep, enqueue_many)
    if keep.ndim == 0 or keep.all():
        return values if keep.all() else None
    if not keep.any():
        return None
    return [_rows_where(value, keep) for value in values]


def _rows_where(value: Any, keep: Any) -> Any:
    import numpy as np

    if len(value) != len(keep):
        raise InvalidArgumentError(
            f"`keep_input` has {len(keep)} entries, the example {len(value)} rows"
        )
    if is_column(value):
        rows = list(value)
        return [rows[i] for i in np.flatnonzero(keep)]
    return np.asanyarray(value)[keep]  # the queue refuses masks
