# SPDX-License-Identifier: Apache-2.0
"""Blocks from what Python functions give: columns whose types the first result fixes."""

import os
import threading
import weakref
from typing import Any

from levada import _levada
from levada._batch import Bytes, Ragged, objects
from levada._dtypes import DTYPES, name_of
from levada.errors import InvalidArgumentError, keep

_ADVICE = "; spec= says what all records have"
_all: weakref.WeakSet[Any] = weakref.WeakSet()  # every Columns


def _forked():
    """Whoever held a lock is not in the child."""
    for columns in list(_all):
        columns.lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def _offsets(lengths):
    import numpy as np

    marks = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=marks[1:])
    return marks


def _encode(value):
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{_shown(value)}, a byte string was expected")


def _shown(value):
    text = repr(value)
    return f"{text if len(text) < 40 else text[:36] + ' ...'} ({type(value).__name__})"


def _is_text(value):
    return isinstance(value, (bytes, str, bytearray))


def _strings(items):
    """(values, offsets) of byte strings."""
    import numpy as np

    items = [_encode(item) for item in items]
    return np.frombuffer(b"".join(items), np.uint8), _offsets([len(item) for item in items])


class Kind:
    """Type of one column: dtype name, ragged levels, inner dims. None = not known yet."""

    __slots__ = ("depth", "dims", "dtype", "varies")

    def __init__(self, dtype=None, depth=None, dims=None, varies=False):
        self.dtype, self.depth, self.dims, self.varies = dtype, depth, dims, varies

    @classmethod
    def of(cls, given):
        """From a dtype, a feature, or (dtype, shape)."""
        maker = getattr(given, "to_value", None)
        value = maker() if maker is not None and not isinstance(given, type) else given
        if isinstance(value, tuple) and len(value) == 2:
            return cls(name_of(value[0]), 0, tuple(value[1]))
        if not isinstance(value, dict):
            return cls(name_of(value), 0, ())
        shape = tuple(value.get("shape") or ())
        depth = 0 if value.get("kind") == "FixedLen" else 1
        return cls(name_of(value["dtype"]), depth, shape)

    def to_value(self):
        """As the option `spec` of stages says it."""
        kind = "VarLen" if self.depth else "FixedLen"
        return {"dtype": self.dtype, "kind": kind, "shape": list(self.dims)}

    def settle(self, dtype, depth, dims):
        """What the values are; refuses what does not fit."""
        if self.dtype is None:
            self.dtype = dtype
        elif (self.dtype == "string") != (dtype == "string"):
            raise TypeError(f"{dtype} values, {self.dtype} were expected{_ADVICE}")
        dims = tuple(dims)
        if self.depth not in (None, depth) or self.dims not in (None, dims):
            raise ValueError(
                f"a value of shape {dims}, {self.dims} was expected; a spec= with a VarLenFeature "
                "or FixedLenSequenceFeature allows values of different lengths"
            )
        self.depth, self.dims = depth, dims

    def is_ragged(self, shapes, rows):
        """Whether values of these shapes make a ragged column; decided once, by the first block."""
        if self.depth is not None:
            return self.depth == 1
        flat = max(map(len, shapes)) == 1
        return len(shapes) > 1 or (flat and (self.varies or rows == 1 or (0,) in shapes))


def kinds_of(spec):
    """{field: Kind} of a spec as users write it; {} where there is none."""
    if not spec:
        return {}
    if not hasattr(spec, "items"):
        raise TypeError(f"spec is {{field: dtype or feature}}, not {_shown(spec)}")
    return {name: Kind.of(given) for name, given in spec.items()}


class Columns:
    """Makes blocks of rows. A spec, or else the first rows, fix names and dtypes.

    Single values are FIXED; arrays are FIXED where all of the first block have one shape, else
    ragged in the first dimension. One-dimensional arrays are also ragged where what they are made
    from varies (`varies`). bytes and str are byte strings.
    """

    def __init__(self, spec=None, varies=False):
        self.kinds = kinds_of(spec)
        self.fixed = bool(self.kinds)
        self.varies = varies
        self.lock = threading.Lock()
        _all.add(self)

    def block(self, rows, rejects=None, flags=0):
        """Block of `rows` (dicts); what stands in the rows of `rejects` (row, code, message) does
        not matter. Rows that do not fit the columns of a spec are added to it. Without a spec they
        raise: which row is the odd one would depend on which block came first."""
        with self.lock:
            try:
                return self._block(rows, rejects or (), flags)
            except (TypeError, ValueError):
                if rejects is None or not self.fixed:
                    raise
            rejects += self._misfits(rows, {row for row, *_ in rejects})
            rejects.sort(key=lambda reject: reject[0])
            return self._block(rows, rejects, flags)

    def _misfits(self, rows, bad):
        """(row, code, message) of the rows that do not fit the columns, each by itself."""
        found = []
        for i, row in enumerate(rows):
            error = None if i in bad else self._why(row)
            if error is not None:
                found.append((i, *keep(error, first=not found)))
        return found

    def _why(self, row):
        """Why a row does not fit the columns of the spec; None where it does."""
        try:
            self._fields([row], 1, ())
        except (TypeError, ValueError) as error:
            return error
        return None

    def _block(self, rows, rejects, flags):
        bad = {row for row, *_ in rejects}
        good = [row for i, row in enumerate(rows) if i not in bad] if bad else rows
        fields = self._fields(good, len(rows), bad)
        return _levada.build(len(rows), fields, list(rejects), flags)

    def _fields(self, good, count, bad):
        """Fields of `count` rows: the good ones, and others in the places that are `bad`."""
        for row in good:
            if not hasattr(row, "keys"):
                raise TypeError(f"a record is a dict, not {type(row).__name__}")
        if good and not self.kinds:
            self.kinds = {_name(name): Kind(varies=self.varies) for name in good[0]}
        for row in good:
            self._check_names(row)
        fields = []
        for name, kind in self.kinds.items():
            values = [row[name] for row in good]
            if values or kind.dtype is not None:
                fields.append(self._field(name, kind, values, count, bad))
        return fields

    def _check_names(self, row):
        if len(row) != len(self.kinds) or any(name not in row for name in self.kinds):
            missing = [name for name in self.kinds if name not in row]
            text = f"lacks field {missing[0]!r}" if missing else "has fields that the first had not"
            raise InvalidArgumentError(f"a record {text}; it has {', '.join(map(str, row))}")

    def _field(self, name, kind, values, count, bad):
        if bad:  # what stands for a rejected record does not matter
            given = iter(values)
            empty = values[0] if values else _empty(kind)
            values = [empty if i in bad else next(given) for i in range(count)]
        try:
            return (name, *pack(kind, values))
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"field {name!r}: {error}") from error

    def batch(self, columns, flags=0):
        """Block of whole columns: arrays [n, ...], Ragged, Bytes, lists of rows."""
        if not self.kinds:
            self.kinds = {_name(name): Kind(varies=self.varies) for name in columns}
        self._check_names(columns)
        fields, count = [], None
        for name, kind in self.kinds.items():
            column = columns[name]
            n = _entries(name, column)
            if count is not None and n != count:
                raise InvalidArgumentError(f"field {name!r} has {n} records, others have {count}")
            count = n
            try:
                fields.append((name, *pack_column(kind, column)))
            except (TypeError, ValueError) as error:
                raise InvalidArgumentError(f"field {name!r}: {error}") from error
        return _levada.build(count or 0, fields, [], flags)


def _name(name):
    if isinstance(name, str):
        return name
    raise TypeError(f"the name of a field is a str, not {_shown(name)}")


def _entries(name, column):
    """Records of a whole column."""
    if isinstance(column, (str, bytes, bytearray)) or getattr(column, "shape", None) == ():
        column = None
    try:
        return len(column)
    except TypeError:
        raise TypeError(
            f"field {name!r}: a column is an array or a list, one entry a record"
        ) from None


def _empty(kind):
    import numpy as np

    inner = tuple(max(size, 0) for size in kind.dims or ())
    shape = (0, *inner) if kind.depth else inner
    if kind.dtype != "string":
        return np.zeros(shape, array_type(kind.dtype))
    return objects([b""] * int(np.prod(shape)), shape) if shape else b""


def array_type(name):
    """NumPy dtype for a dtype's name."""
    return DTYPES[name].dtype


def pack_column(kind, column):
    """(dtype, depth, dims, values, offsets) of a whole column."""
    import numpy as np

    if isinstance(column, (Ragged, Bytes)) or type(column) is list:
        return pack(kind, list(column)) if len(column) else _nothing(kind)
    array = np.asarray(column)
    if array.ndim == 0:
        raise ValueError("a column has one entry a record")
    if array.dtype.kind in "OSU":
        return pack(kind, list(array)) if len(array) else _nothing(kind)
    kind.settle(name_of(array.dtype), 0, array.shape[1:])
    return kind.dtype, 0, array.shape[1:], _cast(array, kind), []


def _nothing(kind):
    """A column without rows."""
    levels = (kind.depth or 0) + (kind.dtype == "string")
    empty = b"" if levels else _cast(_empty(Kind(kind.dtype or "int64", 1)), kind)
    return kind.dtype or "int64", kind.depth or 0, kind.dims or (), empty, [_offsets([])] * levels


def pack(kind, values):
    """(dtype, depth, dims, values, offsets) of one value a row; kind is filled in."""
    import numpy as np

    first = values[0]
    if _is_text(first):
        kind.settle("string", 0, ())
        data, offsets = _strings(values)
        return "string", 0, (), data, [offsets]
    if isinstance(first, Ragged):
        return _pack_ragged(kind, values)
    if isinstance(first, (int, float, complex, np.generic)) and kind.depth != 1:
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind not in "OSU":
            kind.settle(name_of(array.dtype), 0, ())
            return kind.dtype, 0, (), _cast(array, kind), []
    return _pack_arrays(kind, [_array(value) for value in values])


def _array(value):
    import numpy as np

    if isinstance(value, Bytes):
        return objects(value.to_list())
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(
            "a list whose parts differ in length is no array; a Ragged can hold it"
        ) from None
    if isinstance(value, int) and array.dtype == object:
        raise ValueError(f"{value} fits neither int64 nor uint64")
    if array.dtype == object and array.ndim == 0 and not _is_text(array.item()):
        raise TypeError(f"{_shown(value)} is neither a number nor a byte string nor an array")
    return array.astype(object) if array.dtype.kind in "US" else array


def _pack_arrays(kind, arrays):
    import numpy as np

    shapes = {array.shape for array in arrays}
    ragged = kind.is_ragged(shapes, len(arrays))
    if ragged and () in shapes:
        raise ValueError("some values are single, others are not")
    inner = {shape[1:] if ragged else shape for shape in shapes}
    if len(inner) > 1 and ragged:
        raise ValueError("values differ in more than the first dimension")
    if len(inner) > 1:
        kind.settle(kind.dtype, 0, next(shape for shape in inner if shape != kind.dims))
    inner = inner.pop()
    filled = next((array for array in arrays if array.size), arrays[0])
    dtype = "string" if filled.dtype == object else name_of(filled.dtype)
    kind.settle(dtype if filled.size or kind.dtype is None else kind.dtype, int(ragged), inner)
    if ragged:
        joined = np.concatenate([array for array in arrays if array.size] or arrays[:1])
    else:
        joined = np.stack(arrays)
    levels = [_offsets([len(array) for array in arrays])] if ragged else []
    if kind.dtype == "string":
        data, offsets = _strings(joined.reshape(-1).tolist())
        return "string", int(ragged), inner, data, [*levels, offsets]
    return kind.dtype, int(ragged), inner, _cast(joined, kind), levels


def _pack_ragged(kind, values):
    """Rows that are ragged themselves: one level more."""
    rows = [row for value in values for row in value]
    below = Kind(kind.dtype, 1)
    if rows:
        _, depth, dims, data, offsets = pack(below, rows)
    else:
        _, depth, dims, data, offsets = _nothing(Kind(kind.dtype or "int64", 1, ()))
    kind.dtype = kind.dtype or below.dtype or "int64"
    kind.depth, kind.dims = depth + 1, dims
    return kind.dtype, depth + 1, dims, data, [_offsets([len(v) for v in values]), *offsets]


def _cast(array, kind):
    """The array in the dtype of its kind, contiguous; refuses what would change values."""
    import numpy as np

    name = kind.dtype or "int64"
    target = array_type(name)
    if array.dtype != target and array.size:
        safe = np.can_cast(array.dtype, target, "same_kind")
        whole = array.dtype.kind in "biu" and target.kind in "biufc"
        if not (safe or whole):
            given = "string" if array.dtype.kind in "OSU" else array.dtype
            raise TypeError(f"{given} values, {name} were expected{_ADVICE}")
        if target.kind in "iu" and array.dtype.kind in "iu":
            limits = np.iinfo(target)
            if array.min() < limits.min or array.max() > limits.max:
                raise ValueError(f"a value does not fit {name}")
    array = np.ascontiguousarray(array.astype(target, copy=False))
    return array.view(np.uint16) if name == "bfloat16" else array
