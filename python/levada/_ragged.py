# SPDX-License-Identifier: Apache-2.0
"""Columns of batches that are not plain arrays: byte strings, ragged and padded rows."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from levada import _levada
from levada._dtypes import bfloat16_dtype
from levada._front import with_fronts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]


def array_of(view: Any) -> Array:
    """NumPy array over a view of the extension: no copy."""
    array = view.array()
    return array.view(bfloat16_dtype()) if view.dtype == "bfloat16" else array


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
        raise TypeError(f"{what} must be indexed by integers and slices, got {index!r}") from None
    if not -n <= i < n:
        raise IndexError(f"row {i} does not exist: {what} has {n} rows")
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
    raise ValueError(f"value={value!r} does not fit into {dtype}")


def is_left(side: str) -> bool:
    """Whether padding comes first: `side` is "left" or "right"."""
    if side not in ("left", "right"):
        raise ValueError(f"side={side!r} must be 'left' or 'right'")
    return side == "left"


@with_fronts
class Bytes(Sequence[bytes]):
    """Byte strings of a column, over one buffer.

    ``b[i]`` returns ``bytes``; ``b[i:j]`` returns another ``Bytes`` over the same memory.

    Args:
        data (ndarray): all bytes, uint8.
        offsets (ndarray): int32 [n + 1]: string i has the bytes ``data[offsets[i]:offsets[i +
            1]]``.
        text (bool, default False): True if the strings are valid UTF-8, so that ``items()`` returns
            ``str``.

    Example:
        names = lv.from_arrays({"name": ["ab", "c"]}).batch(2).first()["name"]
        print(names[0], names.lengths)
    """

    __slots__ = ("data", "offsets", "text")

    def __init__(self, data: Array, offsets: Array, text: bool = False) -> None:
        self.data = data
        self.offsets = offsets
        self.text = text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return self.to_list()[index]
            return Bytes(self.data, self.offsets[first : max(first, last) + 1], self.text)
        i = _row(index, len(self), "a Bytes")
        if not 0 <= self.offsets[i] <= self.offsets[i + 1] <= len(self.data):
            raise ValueError(
                f"offsets must be within the {len(self.data)} bytes of the data, got "
                f"{self.offsets[i]} and {self.offsets[i + 1]}"
            )
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
        """Returns a list of ``bytes``.

        Example:
            print(lv.from_arrays({"s": [b"ab", b"c"]}).batch(2).first()["s"].to_list())
        """
        import numpy as np

        return _levada.split(self.data, np.ascontiguousarray(self.offsets))

    def str(self) -> list[builtins.str]:
        """Returns a list of ``str``. Raises UnicodeDecodeError for bytes that are not UTF-8.

        Example:
            print(lv.from_arrays({"s": ["caf\u00e9"]}).batch(1).first()["s"].str())
        """
        import numpy as np

        return _levada.split(self.data, np.ascontiguousarray(self.offsets), True)

    def items(self) -> list[Any]:
        """Returns the values that records contain: a list of ``str`` for text, else of ``bytes``.

        Example:
            print(lv.from_arrays({"s": ["ab", "c"]}).batch(2).first()["s"].items())
        """
        return self.str() if self.text else self.to_list()

    tolist = to_list


def check_offsets(nested, n):
    """Raises where offsets of arrays do not ascend, or lie outside: slices would cut silently."""
    import numpy as np

    for marks in reversed(nested):
        if not isinstance(marks, np.ndarray):  # tensors, made of arrays that were checked
            return
        if len(marks) == 0 or marks[0] < 0 or marks[-1] > n or (marks[1:] < marks[:-1]).any():
            raise ValueError(
                f"offsets must ascend and be from 0 to {n}, the number of values, got {marks!r:.60}"
            )
        n = len(marks) - 1


def part_of(values, nested):
    """A Ragged whose offsets are known to be right."""
    made = object.__new__(Ragged)
    made.values, made.nested = values, tuple(nested)
    return made


def _cut(values, nested, first, last):
    """A Ragged of these rows alone: its offsets begin at 0, and its values are those of the rows.

    Offsets into the values of all rows would show those of other records in ``values``.
    """
    levels = []
    for marks in nested:
        marks = marks[first : last + 1]
        first, last = int(marks[0]), int(marks[-1])
        levels.append(marks - first if first else marks)
    return part_of(values[first:last], levels)


_OF_ARRAYS = ("shape", "ndim", "size", "reshape", "astype", "mean", "sum", "max", "min", "T")


@with_fronts
class Ragged:
    """Holds rows of different lengths: values, and offsets into them.

    ``r[i]`` is row i: an array, a ``Bytes``, or a ``Ragged`` if there are more levels. ``r[i:j]``
    is another ``Ragged`` over the same memory. ``r.offsets`` are the offsets of the outermost
    level.

    Args:
        values (array | Bytes): the values of all rows.
        nested (Iterable[Array]): offsets of each level, outermost first, int32 [rows + 1].

    Raises:
        ValueError: offsets do not ascend, or are out of range.

    Example:
        import numpy as np
        rows = lv.Ragged(np.arange(5), [np.array([0, 2, 5], np.int32)])
        print(rows[1], rows.lengths, rows.values, rows.nested[0])
    """

    __slots__ = ("nested", "values")

    def __init__(self, values: Any, nested: Iterable[Array]) -> None:
        self.values = values
        self.nested = tuple(nested)
        check_offsets(self.nested, len(values))

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
        return part_of(self.values, self.nested[1:]) if len(self.nested) > 1 else self.values

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                raise ValueError(f"a Ragged must be sliced with step 1, got {step}")
            return _cut(self.values, self.nested, first, max(first, last))
        i = _row(index, len(self), "a Ragged")
        return self._inner[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Any]:
        inner = self._inner
        return (inner[a:b] for a, b in pairwise(self.offsets.tolist()))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """All rows as one array, where they have the same length: an image, for example."""
        import numpy as np

        inner = np.asarray(self._inner[self.offsets[0] : self.offsets[-1]])
        if (self.lengths != self.lengths[:1]).any():
            raise ValueError(
                f"the rows of an array must have the same length, got {self.lengths!r:.60}; "
                "to_padded() pads them"
            )
        length = int(self.lengths[0]) if len(self) else 0
        array = inner.reshape(len(self), length, *inner.shape[1:])
        return array if dtype is None else array.astype(dtype)

    if not TYPE_CHECKING:  # type checkers refuse other names themselves

        def __getattr__(self, name):
            """Raises AttributeError, with a remedy for what only arrays have."""
            text = f"'Ragged' object has no attribute {name!r}"
            if name in _OF_ARRAYS:
                text += (
                    ": its rows may differ in length; np.asarray() or to_padded() makes an array, "
                    "and spec={field: lv.FixedLenFeature(shape, dtype)} of map() or from_records() "
                    "says that all values have one shape"
                )
            raise AttributeError(text, name=name, obj=self)

    def __repr__(self):
        levels = " -> ".join(str(len(level) - 1) for level in self.nested)
        return f"levada.Ragged({levels} rows, {len(self.values)} values of {self.dtype or 'bytes'})"

    def to(self, device: Any, non_blocking: bool = True) -> Ragged:
        """Copies the rows to a device of PyTorch.

        Args:
            device (device): a device, or its name such as ``"cuda"``.
            non_blocking (bool, default True): does not wait for copies from page-locked memory.

        Returns:
            A ``Ragged`` of tensors. ``Bytes`` are not copied.

        Example:
            import torch
            rows = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()["x"]
            print(rows.to("cpu").values)
        """
        from levada.interop._tensors import ragged_to

        return ragged_to(self, device, non_blocking)

    def pin_memory(self) -> Ragged:
        """Returns a Ragged in page-locked memory, from which copies to a GPU are asynchronous.

        Example:
            import torch
            import numpy as np
            rows = lv.Ragged(np.arange(5), [np.array([0, 2, 5], np.int32)])
            if torch.cuda.is_available():
                rows = rows.pin_memory()
        """
        from levada.interop._tensors import pinned

        return pinned(self)

    def to_list(self) -> list[Any]:
        """Returns nested lists of Python values.

        Example:
            import numpy as np
            rows = lv.Ragged(np.arange(5), [np.array([0, 2, 5], np.int32)])
            print(rows.to_list())
        """
        items = self._inner.tolist()
        return [items[a:b] for a, b in pairwise(self.offsets.tolist())]

    tolist = to_list

    def to_padded(
        self, value: Any = None, length: int | None = None, *, side: str = "right"
    ) -> Array:
        """Pads the rows to one length.

        Args:
            value (value): the padding; None = 0 or ``b""``.
            length (int): length of the result; longer rows are cut. None = the longest row.
            side (str, default "right"): "right" pads after the values of the outermost level,
                "left" before them.

        Returns:
            An array [n, length, ...].

        Raises:
            ValueError: `value` does not fit the dtype, or another argument is out of range.

        Example:
            import numpy as np
            rows = lv.Ragged(np.arange(5), [np.array([0, 2, 5], np.int32)])
            print(rows.to_padded(-1))
        """
        import numpy as np

        left = is_left(side)
        inner, marks = self.values, self.nested[0]
        zeros = value is None or (type(value) is int and value == 0)
        if zeros and length is None and len(self.nested) == 1 and not left:
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
            lengths = np.minimum(self.lengths, longest)[:, None]
            columns = np.arange(longest) - (longest - lengths if left else 0)
            keep = (columns >= 0) & (columns < lengths)
            out[keep] = inner[(marks[:-1, None] + columns)[keep]]
            return out
        inner = np.ascontiguousarray(inner)
        out = np.empty(shape, inner.dtype)
        if zeros and inner.ndim == 1:
            item = bytes(inner.itemsize)
        else:
            item = np.broadcast_to(_padding(value, inner.dtype), inner.shape[1:]).tobytes()
        _levada.pad(_octets(out), _octets(inner), marks, item, left)
        return out

    def to_sparse(self) -> tuple[Array, Any, Array]:
        """Returns the rows as a sparse value, as in TensorFlow.

        Returns:
            (indices int64 [values, levels + 1], values, dense_shape int64 [levels + 1]).


        Example:
            import numpy as np
            rows = lv.Ragged(np.arange(5), [np.array([0, 2, 5], np.int32)])
            indices, values, dense_shape = rows.to_sparse()
        """
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
    """Holds a padded column that a function of batches returns.

    Args:
        values (array): array [n, T, ...].
        lengths (array): n integers from 0 to T: the lengths before padding.

    Raises:
        ValueError: the shapes do not fit, a length is out of range, or a value is masked.

    Example:
        import numpy as np
        spec = {"x": lv.FixedLenFeature([3], lv.float64)}
        ds = lv.from_records([{"x": np.ones(3)}] * 2, spec=spec).batch(2)
        cut = ds.map(lambda b: {"x": lv.Padded(b["x"][:, :2], [2, 1])}, batched=True)
        print(cut.first().lengths("x"))
    """

    __slots__ = ("lengths", "values")

    def __init__(self, values: Any, lengths: Any) -> None:
        import numpy as np

        check_mask(values)
        check_mask(lengths)
        self.values, given = np.asarray(values), np.asarray(lengths)
        if self.values.ndim < 2:
            raise ValueError(
                f"a padded column must have the shape [n, T, ...], got {self.values.shape}"
            )
        n, steps = self.values.shape[:2]
        if given.shape != (n,) or (n and given.dtype.kind not in "iu"):
            raise ValueError(f"lengths must be {n} integers, got {given.dtype}{list(given.shape)}")
        if n and (given.min() < 0 or given.max() > steps):
            raise ValueError(f"lengths must be 0 to {steps}, got {given.min()} to {given.max()}")
        self.lengths = given.astype(np.int32)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self):
        return f"levada.Padded({list(self.values.shape)} of {self.values.dtype})"
