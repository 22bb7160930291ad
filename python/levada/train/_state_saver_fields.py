# SPDX-License-Identifier: Apache-2.0
"""Fields of a state saver: what an example has, and what it is for the extension.

A dense field is one field of the extension. A ragged one has offsets with it. A sparse one becomes
two ragged ones, "x/indices" and "x/values", and the context "x/dense_shape". The first example
fixes which field is what.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from levada._parsing import RaggedValue
from levada._ragged import Ragged
from levada.errors import InvalidArgumentError
from levada.train._input_block import as_ragged, dtype_of_value
from levada.train._signature import Signature

Getter = Callable[[Any], Any]
_MARKS = ["int32", "int64", "string"]


class SparseTensorValue(NamedTuple):
    """Holds a sparse value, as in TensorFlow.

    Args:
        indices (ndarray): int64 [n, rank].
        values (ndarray): values [n].
        dense_shape (ndarray): int64 [rank].

    Example:
        import numpy as np
        value = lt.SparseTensorValue(np.array([[0], [2]]), np.array([5, 6]), np.array([3]))
        print(value.indices, value.values, value.dense_shape)
    """

    indices: Any
    values: Any
    dense_shape: Any


def getter(field: Any, what: str) -> Getter:
    """A function of the example, of a function or the name or number of a field."""
    if callable(field):
        return field
    if not isinstance(field, Hashable) or field is None:
        raise TypeError(f"{what} must be the name of a field or a function, got {field!r}")

    def get(example: Any) -> Any:
        try:
            return example[field]
        except (KeyError, IndexError, TypeError):
            keys = example.keys() if isinstance(example, Mapping) else range(len(example))
            present = ", ".join(repr(key) for key in keys)
            raise InvalidArgumentError(
                f"{what}: no field {field!r} in the example; it has {present}"
            ) from None

    return get


def getters(given: Any, what: str) -> dict[str, Getter]:
    """{name: function of the example}, sorted by name, of a dict or a list of field names."""
    if isinstance(given, (list, tuple)):
        given = {name: name for name in given}
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{what} must be a dict {{name: field or function}} or a list of field names, "
            f"not {type(given).__name__}"
        )
    _check_names(given, what)
    return {name: getter(given[name], f"{what}[{name!r}]") for name in sorted(given)}


def _check_names(given: Mapping[Any, Any], what: str) -> None:
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{what}: names must be str, got {name!r}")
        if ":" in name:
            raise ValueError(f"{what}: the name {name!r} must not contain a colon")


def states_of(given: Any) -> dict[str, Any]:
    """{name: initial value or function}, sorted by name."""
    if not isinstance(given, Mapping):
        raise TypeError(f"initial_states must be a dict, got {type(given).__name__}")
    if not given:
        raise ValueError("initial_states may not be empty")
    _check_names(given, "initial_states")
    return {name: given[name] for name in sorted(given)}


def as_key(value: Any) -> bytes:
    """The bytes of a key: a string scalar."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"input_key must be str or bytes, got {value!r:.60}")


def as_length(value: Any) -> int:
    """A number of steps: an integer scalar."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    try:
        length = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        length = None
    if length is None:
        raise TypeError(f"Rank check failed for input_length: it must be an int, got {value!r:.60}")
    if not 0 <= length < 2**31:
        raise InvalidArgumentError(
            f"Input length should be <= than length from sequences: {length} is not between 0 and "
            "2147483647"
        )
    return length


def _kind(value: Any) -> str:
    if isinstance(value, (Ragged, RaggedValue)):
        return "ragged"
    if isinstance(value, tuple) and getattr(value, "_fields", None) == SparseTensorValue._fields:
        return "sparse"  # also TensorFlow's; a plain tuple is a list of steps
    return "dense"


class Part(NamedTuple):
    """A field of the extension: of field ``name``, which part of it."""

    name: str
    kind: str  # "dense", "ragged", "indices", "values", "dense_shape"
    dtype: str

    @property
    def label(self) -> str:
        """Its name there."""
        plain = self.kind in ("dense", "ragged")
        return self.name if plain else f"{self.name}/{self.kind}"

    @property
    def ragged(self) -> bool:
        """Whether it has offsets."""
        return self.kind in ("ragged", "indices", "values")


def _parts(values: Mapping[str, Any], context: bool) -> tuple[list[Part], list[Part]]:
    """The parts of fields, and those that go to the context."""
    parts, shapes = [], []
    for name, value in values.items():
        kind = _kind(value)
        if kind == "sparse":
            parts.append(Part(name, "indices", "int64"))
            parts.append(Part(name, "values", dtype_of_value(_sparse(value, name).values)))
            shapes.append(Part(name, "dense_shape", "int64"))
        else:
            parts.append(Part(name, kind, dtype_of_value(value)))
    return (parts + shapes, []) if context else (parts, shapes)


def _sparse(value: Any, name: str) -> SparseTensorValue:
    import numpy as np

    indices = np.asarray(value[0], np.int64)
    shape = np.asarray(value[2], np.int64).reshape(-1)
    count = len(value[1])
    if indices.size != count * len(shape):
        raise InvalidArgumentError(
            f"sparse field {name!r}: indices must have {count} rows (one for each value) and "
            f"{len(shape)} columns (one for each dimension of dense_shape), got the shape "
            f"{list(indices.shape)}"
        )
    return SparseTensorValue(indices.reshape(count, len(shape)), value[1], shape)


class Layout:
    """All parts, and how values become tensors. Made of the first example, or of a saved state."""

    def __init__(self, sequences: list[Part], context: list[Part], states: list[Part]) -> None:
        self.groups = (sequences, context, states)
        self.parts = [*sequences, *context, *states]
        self.first_state = len(sequences) + len(context)
        dtypes = [part.dtype for part in self.parts] + _MARKS
        names = (*(part.label for part in self.parts), "length", "offsets", "key")
        self.signature = Signature("the state saver", dtypes, None, names)

    @classmethod
    def of(cls, sequences: Any, context: Any, states: Any) -> Layout:
        """Of the values of an example, by name."""
        first, shapes = _parts(sequences, False)
        second, _ = _parts(context, True)
        third = [Part(name, "dense", dtype_of_value(value)) for name, value in states.items()]
        return cls(first, second + shapes, third)

    def to_json(self) -> list[list[list[str]]]:
        """As data, for a saved state."""
        return [[list(part) for part in group] for group in self.groups]

    @classmethod
    def from_json(cls, groups: list[list[list[str]]]) -> Layout:
        """Of ``to_json``."""
        first, second, third = ([Part(*part) for part in group] for group in groups)
        return cls(first, second, third)

    # -- into the extension

    def tensor(self, core: Any, i: int, value: Any, rows: bool) -> Any:
        """A value of part i as a tensor of the extension."""
        made = core.tensor(i, value, rows)
        if made is not None:
            return made
        fit = self.rows if rows else self.signature.value
        made = core.tensor(i, fit(i, value), rows)
        if made is None:
            raise InvalidArgumentError(
                f"field {self.parts[i].label!r} cannot be a tensor: got {type(value).__name__}"
            )
        return made

    def rows(self, i: int, value: Any) -> Any:
        """Rows of part i in its dtype."""
        if hasattr(value, "detach"):  # a tensor on a device or with a gradient
            value = value.detach().cpu()
        one = isinstance(value, (str, bytes)) or not hasattr(value, "__len__")
        if one or getattr(value, "shape", None) == ():
            raise InvalidArgumentError(
                f"Rank check failed for {self.parts[i].label!r}: should be at least 1, "
                "shape received: []"
            )
        return self.signature.values(i, value)

    def sequences(self, core: Any, values: Mapping[str, Any]) -> tuple[tuple, tuple]:
        """Tensors of the sequences, and of their offsets."""
        tensors, offsets = [], []
        for i, part in enumerate(self.groups[0]):
            value = values[part.name]
            self._check_kind(part, value)
            marks = None
            if part.ragged:
                value, marks = _ragged_rows(part, value)
            tensors.append(self.tensor(core, i, value, True))
            mark = len(self.parts) + 1  # int64
            offsets.append(None if marks is None else self.tensor(core, mark, marks, True))
        return tuple(tensors), tuple(offsets)

    def context(self, core: Any, values: Mapping[str, Any], sequences: Any) -> tuple:
        """Tensors of the context, and of the shapes of sparse sequences."""
        made = []
        for i, part in enumerate(self.groups[1], len(self.groups[0])):
            value = values[part.name] if part.name in values else sequences[part.name]
            self._check_kind(part, value)
            if part.kind == "dense_shape":
                value = _sparse(value, part.name).dense_shape
            elif part.kind in ("indices", "values"):
                value = getattr(_sparse(value, part.name), part.kind)
            elif part.kind == "ragged":
                value, marks = _ragged_rows(part, value)
                if len(marks) != 2:
                    raise InvalidArgumentError(
                        f"ragged context {part.name!r} must have one row, not {len(marks) - 1}"
                    )
            made.append(self.tensor(core, i, value, part.ragged))
        return tuple(made)

    @staticmethod
    def _check_kind(part: Part, value: Any) -> None:
        kind = _kind(value)
        want = part.kind if part.kind in ("dense", "ragged") else "sparse"
        if kind != want:
            raise InvalidArgumentError(
                f"field {part.name!r} is {kind}, but {want} in the first example"
            )

    # -- out of a batch

    def values(self, batch: Any, group: int, unroll: int) -> dict[str, Any]:
        """{name: value} of the sequences (0) or the context (1) of a batch."""
        first = len(self.groups[0]) * group
        parts = dict(zip(self.groups[group], range(first, len(self.parts)), strict=False))
        made: dict[str, Any] = {}
        for part, i in parts.items():
            if part.kind == "dense":
                made[part.name] = batch.field(i)[0]
            elif part.kind == "ragged":
                values, marks = batch.field(i)
                made[part.name] = _to_ragged(values, marks, 0 if group else unroll)
            elif part.kind == "indices":
                shapes = self._shapes(batch, part.name)
                indices, offsets = batch.field(i)
                made[part.name] = _to_sparse(
                    indices, batch.field(i + 1)[0], offsets, shapes, unroll if group == 0 else 0
                )
        return made

    def _shapes(self, batch: Any, name: str) -> Any:
        for i, part in enumerate(self.groups[1], len(self.groups[0])):
            if part.name == name and part.kind == "dense_shape":
                return batch.field(i)[0]
        raise KeyError(name)


def _ragged_rows(part: Part, value: Any) -> tuple[Any, Any]:
    """(values, offsets) of a ragged or sparse value: rows are steps."""
    import numpy as np

    if part.kind == "ragged":
        value = as_ragged(value)
        if len(value.nested) != 1:
            raise InvalidArgumentError(
                f"ragged field {part.name!r} has {len(value.nested)} ragged levels, not one"
            )
        marks = np.asarray(value.offsets, np.int64)
        values = value.values
        values = values.to_list() if hasattr(values, "to_list") else values
        return values[int(marks[0]) : int(marks[-1])], marks - marks[0]
    sparse = _sparse(value, part.name)
    steps, size = sparse.indices[:, 0], int(sparse.dense_shape[0])
    if len(steps) and not 0 <= int(steps.min()) <= int(steps.max()) < size:
        raise InvalidArgumentError(
            f"sparse field {part.name!r}: indices of the first dimension must be in [0, {size}), "
            f"got {int(steps.min())} to {int(steps.max())}"
        )
    counts = np.bincount(steps, minlength=size) if len(steps) else np.zeros(size, np.int64)
    marks = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    chosen = sparse.indices if part.kind == "indices" else sparse.values
    if len(steps) > 1 and (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        chosen = chosen[order] if hasattr(chosen, "dtype") else [chosen[i] for i in order]
    return chosen, marks


def _to_ragged(values: Any, offsets: Any, unroll: int) -> Ragged:
    import numpy as np

    inner = offsets.astype(np.int32)
    kept = list(values) if values.dtype == object else values
    if not unroll:
        return Ragged(kept, (inner,))
    return Ragged(kept, (np.arange(0, len(inner), unroll, dtype=np.int32), inner))


def _to_sparse(indices: Any, values: Any, offsets: Any, shapes: Any, unroll: int) -> Any:
    import numpy as np

    counts = np.diff(offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    shape = shapes.max(axis=0) if len(shapes) else np.zeros(shapes.shape[1], np.int64)
    if unroll:
        indices[:, 0] = rows % unroll
        rows //= unroll
        shape[0] = unroll
    return SparseTensorValue(
        np.concatenate([rows[:, None], indices], axis=1).astype(np.int64),
        values,
        np.concatenate([[len(shapes)], shape]).astype(np.int64),
    )
