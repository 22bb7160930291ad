# SPDX-License-Identifier: Apache-2.0
"""Batches: what an iterator gives, as NumPy arrays over the memory of levada."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    _Files = Callable[[int, int, int], str | None]

ORIGIN = [
    ("source", "<i4"), ("pass", "<i4"), ("shard", "<i4"), ("sub", "<i4"),
    ("record", "<i8"), ("offset", "<i8"),
]  # fmt: skip


def _asarray(view):
    """NumPy's asarray, which takes this function's place when it is first needed."""
    global _asarray
    from numpy import asarray as _asarray

    return _asarray(view)


def array_of(view: Any) -> Array:
    """NumPy array over a view of the extension: no copy."""
    array = _asarray(view)
    if array.ndim == 0:  # NumPy says nothing where it had no memory to look at the view
        raise MemoryError("no memory for the array of a column")
    if "ml_dtypes" in sys.modules and view.dtype == "bfloat16":
        return array.view(sys.modules["ml_dtypes"].bfloat16)
    return array


def objects(items: Sequence[Any], shape: tuple[int, ...] | None = None) -> Array:
    """Object array of `items` (bytes), of that shape."""
    import numpy as np

    array = np.empty(len(items), object)
    array[:] = items
    return array if shape is None else array.reshape(shape)


def _octets(array):
    """Something with the memory of a contiguous array as a buffer."""
    return array if array.dtype.isbuiltin else array.reshape(-1).view("u1")


def _row(index, n, what):
    """The number of a row, counted from the front."""
    try:
        i = operator.index(index)
    except TypeError:
        raise TypeError(f"{what} is indexed by integers and slices, not {index!r}") from None
    if not -n <= i < n:
        raise IndexError(f"row {i} of {n}")
    return i % n


def _padding(value, dtype):
    """`value` as that dtype, which must be able to hold it."""
    import numpy as np

    try:
        given = np.asarray(0 if value is None else value)
        if dtype.kind in "iu":
            limits, number = np.iinfo(dtype), given.item()
            fits = limits.min <= number <= limits.max and number == int(number)
        else:
            fits = dtype.kind == "V" or np.can_cast(given.dtype, dtype, "same_kind")
        if fits:
            return given.astype(dtype)
    except (OverflowError, TypeError, ValueError):
        pass
    raise ValueError(f"value={value!r} is no {dtype} that it can hold")


class Bytes(Sequence[bytes]):
    """Byte strings of a column: ``data`` (uint8) and ``offsets`` (int32, one more than strings).

    ``b[i]`` is ``bytes``, ``b[i:j]`` another ``Bytes`` over the same memory.
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: Array, offsets: Array) -> None:
        self.data = data
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return self.to_list()[index]
            return Bytes(self.data, self.offsets[first : max(first, last) + 1])
        i = _row(index, len(self), "a Bytes")
        if not 0 <= self.offsets[i] <= self.offsets[i + 1] <= len(self.data):
            raise ValueError("offsets lie outside the data")
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.to_list())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return objects(self.to_list()) if dtype is None else objects(self.to_list()).astype(dtype)

    def __repr__(self):
        shown = ", ".join(repr(item) for item in self[:3].to_list())
        return f"levada.Bytes([{shown}{', ...' if len(self) > 3 else ''}], n={len(self)})"

    @property
    def lengths(self) -> Array:
        """Bytes of each string, int32."""
        return self.offsets[1:] - self.offsets[:-1]

    def to_list(self) -> list[bytes]:
        """List of ``bytes``."""
        import numpy as np

        return _levada.split(self.data, np.ascontiguousarray(self.offsets))

    tolist = to_list


def _check_offsets(nested, n):
    """Raises where offsets of arrays do not ascend, or lie outside: slices would cut silently."""
    import numpy as np

    for marks in reversed(nested):
        if not isinstance(marks, np.ndarray):  # tensors, made of arrays that were checked
            return
        if len(marks) == 0 or marks[0] < 0 or marks[-1] > n or (marks[1:] < marks[:-1]).any():
            raise ValueError("offsets lie outside the values, or do not ascend")
        n = len(marks) - 1


def _part(values, nested):
    """A Ragged whose offsets are known to be right."""
    made = object.__new__(Ragged)
    made.values, made.nested = values, tuple(nested)
    return made


class Ragged(Sequence[Any]):
    """Rows of different lengths: ``values`` (array or ``Bytes``) and offsets into them.

    ``offsets`` are those of the outermost level, int32 [n + 1]; ``nested`` is the tuple of all
    levels, outermost first. ``r[i]`` is row i: an array (or ``Bytes``, or a ``Ragged`` where there
    are more levels); ``r[i:j]`` another ``Ragged`` over the same memory.
    """

    __slots__ = ("nested", "values")

    def __init__(self, values: Any, nested: Iterable[Array]) -> None:
        self.values = values
        self.nested = tuple(nested)
        _check_offsets(self.nested, len(values))

    @property
    def offsets(self) -> Array:
        """Where rows begin, int32 [n + 1]."""
        return self.nested[0]

    @property
    def lengths(self) -> Array:
        """Length of each row, int32 [n]."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def dtype(self) -> np.dtype[Any] | None:
        return getattr(self.values, "dtype", None)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def _inner(self) -> Any:
        return _part(self.values, self.nested[1:]) if len(self.nested) > 1 else self.values

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                raise ValueError("a Ragged is sliced with step 1")
            marks = self.offsets[first : max(first, last) + 1]
            return _part(self.values, (marks, *self.nested[1:]))
        i = _row(index, len(self), "a Ragged")
        return self._inner[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Any]:
        inner = self._inner
        return (inner[a:b] for a, b in pairwise(self.offsets.tolist()))

    def __repr__(self):
        levels = " -> ".join(str(len(level) - 1) for level in self.nested)
        return f"levada.Ragged({levels} rows, {len(self.values)} values of {self.dtype or 'bytes'})"

    def to_list(self) -> list[Any]:
        """Nested lists of Python values."""
        items = self._inner.tolist()
        return [items[a:b] for a, b in pairwise(self.offsets.tolist())]

    tolist = to_list

    def to_padded(self, value: Any = None, length: int | None = None) -> Array:
        """Array [n, longest row, ...], filled up with `value` (0, or b"").

        `length`: that many in the outermost level instead of the longest row; longer rows are cut.
        """
        import numpy as np

        inner, marks = self.values, self.nested[0]
        zeros = value is None or (type(value) is int and value == 0)
        if zeros and length is None and len(self.nested) == 1:
            out = _levada.padded(np.empty, inner, marks)
            if out is not None:
                return out
        if len(self.nested) > 1:
            inner = self._inner.to_padded(value)
        elif isinstance(inner, Bytes):
            inner = objects(inner.to_list())
        if marks.dtype != "i4" or not marks.flags.c_contiguous:
            marks = np.ascontiguousarray(marks, np.int32)
        longest = _levada.longest(marks) if length is None else operator.index(length)
        if longest < 0:
            raise ValueError(f"length={longest} must be at least 0")
        shape = len(marks) - 1, longest, *inner.shape[1:]
        if inner.dtype.hasobject:
            out = np.full(shape, b"" if value is None else value, object)
            columns = np.arange(longest)
            keep = columns < self.lengths[:, None]
            out[keep] = inner[(marks[:-1, None] + columns)[keep]]
            return out
        inner = np.ascontiguousarray(inner)
        out = np.empty(shape, inner.dtype)
        if zeros and inner.ndim == 1:
            item = bytes(inner.itemsize)
        else:
            item = np.broadcast_to(_padding(value, inner.dtype), inner.shape[1:]).tobytes()
        _levada.pad(_octets(out), _octets(inner), marks, item)
        return out

    def to_sparse(self) -> tuple[Array, Any, Array]:
        """(indices int64 [values, levels + 1], values, dense_shape int64 [levels + 1])."""
        import numpy as np

        rows = self.lengths.astype(np.int64)
        marks = self.offsets.astype(np.int64)
        row = np.repeat(np.arange(len(rows)), rows)
        column = np.arange(marks[0], marks[-1]) - np.repeat(marks[:-1], rows)
        longest = int(rows.max()) if len(rows) else 0
        here = np.stack([row, column], axis=1) if len(row) else np.zeros((0, 2), np.int64)
        inner = self._inner[marks[0] : marks[-1]]
        if not isinstance(inner, Ragged):
            return here, inner, np.array([len(rows), longest], np.int64)
        indices, values, shape = inner.to_sparse()
        indices = np.concatenate([here[indices[:, 0]], indices[:, 1:]], axis=1)
        return indices, values, np.array([len(rows), longest, *shape[1:]], np.int64)


def check_mask(array):
    """Raises ValueError if values of an array are masked: nothing in levada knows of masks."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray) and masked.is_masked(array):
        raise ValueError("a masked array has no values where its mask is set: fill them first")


class Padded:
    """A padded column that a function of batches returns: ``values`` [n, T, ...] and ``lengths``.

    ``lengths`` are those before padding, n integers from 0 to T.
    """

    __slots__ = ("lengths", "values")

    def __init__(self, values: Any, lengths: Any) -> None:
        import numpy as np

        check_mask(values)
        check_mask(lengths)
        self.values, given = np.asarray(values), np.asarray(lengths)
        if self.values.ndim < 2:
            raise ValueError(f"a padded column has the shape [n, T, ...], not {self.values.shape}")
        n, steps = self.values.shape[:2]
        if given.shape != (n,) or (n and given.dtype.kind not in "iu"):
            raise ValueError(f"lengths are {n} integers, not {given.dtype}{list(given.shape)}")
        if n and (given.min() < 0 or given.max() > steps):
            raise ValueError(f"a length is outside of 0..{steps}")
        self.lengths = given.astype(np.int32)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self):
        return f"levada.Padded({list(self.values.shape)} of {self.values.dtype})"


def column_of(block: _levada.Block, i: int) -> Any:
    """Column `i` of a block: array, Ragged or Bytes."""
    view = block.values(i)
    if view is not None:
        return array_of(view)
    values, offsets = block.parts(i)
    levels = [array_of(level) for level in offsets]
    if values.dtype != "string":
        return _part(array_of(values), levels)
    strings = Bytes(array_of(values), levels.pop())
    dims = block.dims(i)
    if levels:
        inner = int(levels[-1][-1]), *dims  # its number, as one of the others may be 0
        return _part(objects(strings.to_list(), inner) if dims else strings, levels)
    return objects(strings.to_list(), (block.rows, *dims)) if dims else strings


def _rows_of_column(column):
    if isinstance(column, Bytes):
        return column.to_list()
    if isinstance(column, Ragged) and isinstance(column.values, Bytes):
        column = _part(objects(column.values.to_list()), column.nested)
    return list(column)


def rows_of(block: _levada.Block) -> list[dict[str, Any]]:
    """The records of a block as dicts: NumPy scalars and arrays, ``bytes``, ``Ragged``."""
    names = block.names
    columns = [_rows_of_column(column_of(block, i)) for i in range(len(names))]
    if not names:
        return [{} for _ in range(block.rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class Batch(Mapping[str, Any]):
    """Records of one batch, by field name.

    ``batch["x"]`` is a NumPy array [n, ...] (FIXED: over the memory of the batch, without a copy,
    and writable), a ``Ragged``, or ``Bytes``; FIXED byte strings with dimensions are object arrays.
    Raises KeyError for a name that is not there.
    """

    __slots__ = ("__weakref__", "_block", "_cache", "_files")

    def __init__(self, block: _levada.Block, files: _Files | None = None) -> None:
        self._block = block
        self._cache: dict[str, Any] = {}
        self._files = files

    def __getitem__(self, name: str) -> Any:
        value = self._cache.get(name)
        if value is None:
            value = self._cache[name] = column_of(self._block, self._index(name))
        return value

    def _index(self, name: str) -> int:
        i = self._block.find(name) if isinstance(name, str) else -1
        if i < 0:
            raise KeyError(f"no field {name!r}; there are {', '.join(self.keys())}")
        return i

    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the fields, in order."""
        return self._block.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.names)

    def __len__(self) -> int:
        return len(self._block.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._block.find(name) >= 0

    def __repr__(self):
        lines = [f"levada.Batch of {self.num_records} records"]
        for name, dtype, depth, _, padded, _ in self._block.fields():
            dims = [str(d) for d in (self.num_records, *self._block.dims(self._index(name)))]
            dims[1:1] = ["*"] * depth
            lines.append(f"  {name}  {dtype}[{', '.join(dims)}]{'  padded' if padded else ''}")
        return "\n".join(lines)

    def __copy__(self):
        return Batch(self._block, self._files)

    def __reduce__(self):
        raise TypeError("a Batch lies in memory of levada and can't be pickled: pickle its numpy()")

    @property
    def num_records(self) -> int:
        """Records in the batch."""
        return self._block.rows

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the batch keeps alive."""
        return self._block.bytes

    def column(self, name: str) -> _levada.View:
        """The memory of a FIXED column, or of the values of another one: an object with the buffer
        protocol, ``__dlpack__`` and ``__dlpack_device__``. Nothing is copied."""
        i = self._index(name)
        view = self._block.values(i)
        return self._block.parts(i)[0] if view is None else view

    def lengths(self, name: str) -> Array:
        """Length of each record before padding, int32 [n]; of a ragged field its row lengths.

        Records that ``shard(equal="pad")`` has added (field ``is_padding``) have length 0, except
        in ragged fields, where lengths are those of the values.
        """
        import numpy as np

        i = self._index(name)
        view = self._block.lengths(i)
        value = array_of(view) if view is not None else self[name]
        if isinstance(value, (Ragged, Bytes)):
            return value.lengths
        if view is None:
            steps = value.shape[1] if value.ndim > 1 else 1
            value = np.full(self.num_records, steps, np.int32)
        return self._without_padding_records(value)

    def _without_padding_records(self, lengths):
        """Lengths with 0 for the records that ``shard(equal="pad")`` has added."""
        import numpy as np

        if "is_padding" not in self:
            return lengths
        added = self["is_padding"]
        if getattr(added, "dtype", "") != "bool" or added.ndim != 1 or not added.any():
            return lengths
        return np.where(added, 0, lengths).astype(np.int32)

    def mask(self, name: str) -> Array:
        """bool [n, T]: True where a value is, False where padding is, and in all of a record that
        ``shard(equal="pad")`` has added."""
        import numpy as np

        value, lengths = self[name], self.lengths(name)
        if isinstance(value, (Ragged, Bytes)) or value.ndim < 2:
            steps = int(lengths.max()) if len(lengths) else 0
        else:
            steps = value.shape[1]
        lengths = self._without_padding_records(lengths)
        return np.arange(steps, dtype=np.int32) < lengths[:, None]

    def cu_seqlens(self, name: str) -> Array:
        """Cumulative lengths, int32 [n + 1], as variable-length attention kernels take them."""
        import numpy as np

        cumulative = np.zeros(self.num_records + 1, np.int32)
        np.cumsum(self.lengths(name), out=cumulative[1:])
        return cumulative

    def max_seqlen(self, name: str) -> int:
        """The longest length, an int."""
        lengths = self.lengths(name)
        return int(lengths.max()) if len(lengths) else 0

    def positions(self, name: str) -> Array:
        """Position of each value in its sequence: int32 [n, T] (0 in padding); ragged: [values].

        Packed batches have them as a field ``<name>_positions``, which is then given.
        """
        import numpy as np

        if f"{name}_positions" in self:
            return self[f"{name}_positions"]
        if isinstance(self[name], Ragged):
            starts = self.cu_seqlens(name)
            begin = np.repeat(starts[:-1], self.lengths(name))
            return np.arange(starts[-1], dtype=np.int32) - begin
        mask = self.mask(name)
        return np.arange(mask.shape[1], dtype=np.int32) * mask

    def segment_ids(self, name: str) -> Array:
        """Which sequence each value is of, from 1: int32 [n, T] (0 in padding); ragged: [values].

        Packed batches have them as a field ``<name>_segment_ids``, which is then given.
        """
        import numpy as np

        if f"{name}_segment_ids" in self:
            return self[f"{name}_segment_ids"]
        if isinstance(self[name], Ragged):
            return np.repeat(np.arange(1, self.num_records + 1, dtype=np.int32), self.lengths(name))
        return self.mask(name).astype(np.int32)

    @property
    def origins(self) -> Array:
        """Where records come from: structured array (source, pass_, shard, sub, record, offset).

        Of records that a ``zip`` put together, where those of its first input do: see `lanes`.
        """
        return self.lanes[0]

    @property
    def lanes(self) -> list[Array]:
        """Arrays like `origins`, one for each input of a ``zip`` (at most four), else one.

        The source of a record that a lane lacks is -1.
        """
        import numpy as np

        return [np.frombuffer(self._block.origins(i), ORIGIN) for i in range(self._block.lanes)]

    @property
    def record_keys(self) -> list[str]:
        """Names of the records for ever: ["train-3.tfrecord:17", ...].

        Of records that a ``zip`` put together: ["a.tfrecord:17 + b.tfrecord:3", ...].
        """
        rows = zip(*(lane.tolist() for lane in self.lanes), strict=True)
        return [" + ".join(self._key(lane) for lane in row if lane[0] >= 0) for row in rows]

    def _key(self, origin: tuple[int, ...]) -> str:
        source, pass_, shard, sub, record, _ = origin
        path = self._files(source, pass_, shard) if self._files else None
        key = f"{path}:{record}" if path else f"{source}.{shard}:{record}"
        return f"{key}.{sub}" if sub else key

    def numpy(self) -> dict[str, Any]:
        """Dict of name to value."""
        return {name: self[name] for name in self.keys()}

    def torch(self, device: Any = None) -> dict[str, Any]:
        """Dict of name to torch.Tensor over the same memory; ragged and byte fields stay as they
        are, with tensors inside. `device`: copy there."""
        from levada.interop.torch import batch_to_torch

        return batch_to_torch(self, device)

    def jax(self) -> dict[str, Any]:
        """Dict of name to jax.Array; byte fields stay as they are."""
        from levada.interop.jax import batch_to_jax

        return batch_to_jax(self)

    def to_arrow(self) -> Any:
        """pyarrow.RecordBatch."""
        from levada.interop.arrow import batch_to_arrow

        return batch_to_arrow(self)

    def __arrow_c_array__(self, requested_schema=None):
        return self.to_arrow().__arrow_c_array__(requested_schema)
