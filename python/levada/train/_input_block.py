# SPDX-License-Identifier: Apache-2.0
"""Many rows into a queue at once: columns of levada and datasets, without Python between rows."""

from __future__ import annotations

from typing import Any

from levada import _levada
from levada._columns import Kind, pack_column
from levada._dataset import Dataset
from levada._dtypes import name_of
from levada._exact import of_tensor
from levada._parsing import RaggedValue
from levada._ragged import Bytes, Ragged, check_mask
from levada.errors import InvalidArgumentError

_Spec = tuple[list[str], list[str], list[tuple[int | None, ...]]]


def is_column(value: Any) -> bool:
    """Whether these rows are a column of levada, and no array."""
    return isinstance(value, (Ragged, RaggedValue, Bytes))


def as_ragged(value: Any) -> Any:
    """RaggedValue as Ragged; anything else as it is."""
    if not isinstance(value, RaggedValue):
        return value
    values, splits = value
    values = values if isinstance(values, Bytes) or values.dtype != object else list(values)
    return Ragged(values, splits if isinstance(splits, tuple) else (splits,))


def dtype_of_rows(value: Any) -> Any:
    """The dtype of a column of levada."""
    if isinstance(value, Bytes):
        return "string"
    return as_ragged(value).dtype or "string"


def dtype_of_value(value: Any) -> str:
    """The name of the dtype of an array-like or a column of levada."""
    import numpy as np

    if is_column(value):
        return name_of(dtype_of_rows(value))
    dtype = getattr(value, "dtype", None)
    return name_of(dtype if isinstance(dtype, np.dtype) else np.asarray(of_tensor(value)).dtype)


def shape_of_rows(value: Any) -> tuple[int | None, ...] | None:
    """The shape of one row, None where rows differ; None where there are no rows."""
    import numpy as np

    if isinstance(value, Bytes):
        return ()
    if is_column(value):
        value = as_ragged(value)
        inner = () if isinstance(value.values, Bytes) else np.shape(value.values)[1:]
        return (*(None for _ in value.nested), *inner)
    shape = np.shape(value)
    return shape[1:] if shape else None


def enqueue_rows(queue: Any, values: list[Any]) -> None:
    """Rows of every field into the queue, in order."""
    if not any(is_column(value) for value in values):
        queue.enqueue_many(values)
        return
    values = [as_ragged(value) for value in values]
    sizes = [len(value) for value in values]
    if len(set(sizes)) > 1:
        raise InvalidArgumentError(f"the fields have {sizes} rows, not all the same")
    fields = [(str(i), *_packed(value)) for i, value in enumerate(values)]
    block = _levada.build(sizes[0], fields, [], 0)
    queue._queue.enqueue_block(block, range(len(fields)), 0)


def _packed(value: Any) -> tuple[Any, ...]:
    """(dtype, depth, dims, values, [offsets...]) of a column, as ``_levada.build`` takes it."""
    import numpy as np

    if isinstance(value, Bytes):
        return "string", 0, (), *_spread(value)
    if not isinstance(value, Ragged):
        check_mask(value)
        if getattr(value, "ndim", 0) and value.dtype.kind in "biufc":
            return name_of(value.dtype), 0, value.shape[1:], np.ascontiguousarray(value), []
        return pack_column(Kind(), value)
    values, levels = value, []
    while isinstance(values, Ragged):
        values, (level,) = _spread(values)
        levels.append(level)
    if isinstance(values, Bytes):
        data, last = _spread(values)
        return "string", len(levels), (), data, [*levels, *last]
    return _pack_values(values, levels)


def _spread(column: Ragged | Bytes) -> tuple[Any, list[Any]]:
    """What lies below the outermost offsets, no more than they cover, and they, from 0 on."""
    import numpy as np

    marks = np.ascontiguousarray(column.offsets, np.int32)
    inner = column.data if isinstance(column, Bytes) else column._inner
    first, last = int(marks[0]), int(marks[-1])
    if first:
        marks = marks - first
    return inner if last == len(inner) and not first else inner[first:last], [marks]


def _pack_values(values: Any, levels: list[Any]) -> tuple[Any, ...]:
    import numpy as np

    check_mask(values)
    if values.dtype == object:  # byte strings with dimensions
        dtype, _, dims, data, last = pack_column(Kind(), values)
        return dtype, len(levels), dims, data, [*levels, *last]
    return (
        name_of(values.dtype),
        len(levels),
        values.shape[1:],
        np.ascontiguousarray(values),
        levels,
    )


def native_spec(source: Any, batcher: Any) -> _Spec | None:
    """(names, dtypes, shapes) of a dataset whose blocks can go into the queue as they are.

    None for other sources, and where records have to be looked at one by one: fields that are not
    known before it runs, a batched dataset without enqueue_many, a keep_input, rows that differ in
    length without dynamic_pad.
    """
    if not isinstance(source, Dataset) or batcher.keep is not None:
        return None
    is_open, batched = source._core.flags & 1, bool(source._core.flags & 2)
    if is_open or batched != batcher.enqueue_many:
        return None
    spec = source.spec
    names = list(spec)
    dtypes = [spec[name].dtype.name for name in names]
    shapes = [spec[name].shape for name in names]
    varies = any(None in shape for shape in shapes)
    if not names or (varies and not batcher.dynamic_pad):
        return None
    return names, dtypes, shapes
