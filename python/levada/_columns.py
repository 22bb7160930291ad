# SPDX-License-Identifier: Apache-2.0
"""Blocks from results of Python functions: columns typed by a spec or the first result."""

import bisect
import os
import threading
import weakref
from typing import Any

from levada import _levada
from levada._dtypes import STRINGS, name_of
from levada._exact import (
    ADVICE,
    array_type,
    as_array,
    cast,
    check_mixed,
    common,
    encode,
    fits,
    is_text,
    is_weak,
)
from levada._exact import shown as _shown
from levada._objects import LEVELS, Like, Objects, has_lists
from levada._ragged import Bytes, Padded, Ragged, check_offsets
from levada.errors import InvalidArgumentError, keep

_BATCHED = 2  # flag of blocks that have left a batching stage
_all: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # every Columns by id


def _forked():
    """The thread that held a lock is not in the child."""
    for reference in _all.valuerefs():
        columns = reference()
        if columns is not None:
            columns.lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def _offsets(lengths):
    import numpy as np

    marks = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=marks[1:])
    if marks[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"{marks[-1]} elements are more than 2^31 - 1 in one block; lower block_rows"
        )
    return marks.astype(np.int32)


def _strings(items, text):
    """(values, offsets) of byte strings."""
    import numpy as np

    items = [encode(item, text) for item in items]
    return np.frombuffer(b"".join(items), np.uint8), _offsets([len(item) for item in items])


class Kind:
    """Type of one column: dtype name, ragged levels, inner dims (None: any). None = not known yet.

    `declared`: of a spec. `guessed`: of values without an element, which do not say their dtype.
    `like`: the kind of the field of that name that a function received, or None.
    """

    __slots__ = ("declared", "default", "depth", "dims", "dtype", "guessed", "like")

    def __init__(self, dtype=None, depth=None, dims=None, declared=False):
        self.dtype, self.depth, self.dims, self.declared = dtype, depth, dims, declared
        self.default = None  # for values of None
        self.guessed = False
        self.like = None

    @classmethod
    def of(cls, given):
        """From a dtype, a feature, or (dtype, shape)."""
        maker = getattr(given, "to_value", None)
        value = maker() if maker is not None and not isinstance(given, type) else given
        if isinstance(value, tuple) and len(value) == 2:
            return cls(name_of(value[0]), 0, _dims(value[1]), declared=True)
        if not isinstance(value, dict):
            return cls(name_of(value), 0, (), declared=True)
        depth = 0 if value.get("kind", "FixedLen") == "FixedLen" else 1
        made = cls(name_of(value["dtype"]), depth, _dims(value.get("shape")), declared=True)
        made.default = None if depth else value.get("default")
        return made

    def to_value(self):
        """As the option `spec` of stages says it."""
        kind = "VarLen" if self.depth else "FixedLen"
        return {"dtype": self.dtype, "kind": kind, "shape": list(self.dims)}

    def copy(self):
        other = Kind(self.dtype, self.depth, self.dims, self.declared)
        other.default, other.guessed, other.like = self.default, self.guessed, self.like
        return other

    def element(self):
        """The kind of what its lists hold, as a spec declares it."""
        return Kind(self.dtype, 0, self.dims, declared=True)

    def chosen(self):
        """What values chose, as JSON."""
        dims = None if self.dims is None else list(self.dims)
        return [self.dtype, self.depth, dims, self.guessed]

    @classmethod
    def of_chosen(cls, given):
        """The opposite of `chosen`. Raises ValueError, TypeError or KeyError."""
        dtype, depth, dims, guessed = given
        if dtype is not None:
            array_type(dtype)
        if not (depth is None or 0 <= depth <= LEVELS):
            raise ValueError(depth)
        made = cls(dtype, depth, None if dims is None else _dims(dims))
        made.guessed = bool(guessed)
        return made

    def shape(self, depth, dims):
        """What the values are like; refuses what does not fit."""
        dims = tuple(dims)
        if self.depth not in (None, depth) or not _alike(self.dims, dims):
            raise ValueError(
                f"expected {_like(self.depth, self.dims)}, got {_like(depth, dims)}; a "
                "spec= with a VarLenFeature or FixedLenSequenceFeature allows values of different "
                "lengths, a Ragged more than one level"
            )
        self.depth = depth
        self.dims = dims if self.dims is None else self.dims

    def settle(self, dtypes, weak=False):
        """The dtype for values of these dtypes; refuses what does not fit. `weak`: they become
        values of the field that the function received."""
        if not dtypes:
            self.guessed = self.guessed or self.dtype is None
            alike = self.like is not None and self.like.depth == self.depth
            self.dtype = self.dtype or (self.like.dtype if alike else "float64")
        elif self.dtype is None:
            self.dtype = self.like.dtype if weak else common(dtypes)
        elif self.guessed and not weak and dtypes != {array_type(self.dtype)}:
            raise TypeError(f"{common(dtypes)} values came after empty values alone{ADVICE}")
        else:
            self.guessed = False
        return self.dtype

    def takes(self, arrays):
        """Whether numbers of Python become values of the field that the function received."""
        like = self.like
        if like is None or like.depth != self.depth or self.dtype not in (None, like.dtype):
            return False
        return all(fits(array, like.dtype) for array in arrays)


def _dims(shape):
    return tuple(None if size is None or size == -1 else int(size) for size in shape or ())


def _alike(declared, dims):
    if declared is None:
        return True
    return len(declared) == len(dims) and all(
        a is None or a == b for a, b in zip(declared, dims, strict=True)
    )


def _like(depth, dims):
    shape = ", ".join(["any"] * (depth or 0) + ["any" if d is None else str(d) for d in dims or ()])
    return f"a value of shape ({shape})" if shape else "a single value"


def kinds_of(spec):
    """{field: Kind} of a spec as users write it, with lists [entry] and objects {member: entry}; {}
    if there is none."""
    if not spec:
        return {}
    if not hasattr(spec, "items"):
        raise TypeError(f"spec must be {{field: dtype or feature}}, got {_shown(spec)}")
    return {_name(name): _kind_of(name, given) for name, given in spec.items()}


def _kind_of(name, given):
    if isinstance(given, list):
        if len(given) != 1:
            raise InvalidArgumentError(
                f"field {name!r}: a list must have one dtype or object: [lv.int64], "
                f"[{{'a': lv.int64}}], got {_shown(given)}"
            )
        return [_kind_of(name, given[0])]
    if isinstance(given, dict) and isinstance(given.get("dtype", {}), (dict, list)):
        if not given:
            raise InvalidArgumentError(f"field {name!r}: an object must have at least one member")
        return {_name(key): _kind_of(f"{name}.{key}", entry) for key, entry in given.items()}
    return Kind.of(given)


class Columns:
    """Makes blocks of rows. A spec, or else the first rows, fix names, dtypes and dimensions.

    Single values are FIXED. Lists and arrays are sequences: ragged in their first dimension, unless
    a spec says otherwise. bytes and str are byte strings. The dtypes of the first block widen until
    they hold all of its values; whatever does not fit them later, or not exactly, is refused.
    """

    def __init__(self, spec=None):
        self.objects = Objects()
        self.kinds = self.objects.declare(kinds_of(spec))
        self.fixed = bool(self.kinds)
        self.like = None  # what the functions receive
        self.lock = threading.Lock()
        _all[id(self)] = self

    @classmethod
    def like(cls, fields, marks=None):
        """For blocks with columns like these: (name, dtype, depth, dims, ...) of each. `marks` are
        ``block.objects()``."""
        made = cls()
        made.fixed = True
        named = zip(fields, marks or (), strict=False)
        made.objects.marks = {field[0]: mark for field, mark in named if any(mark)}
        for name, dtype, depth, dims, *_ in fields:
            made.kinds[name] = Kind(dtype, depth, _dims(dims), declared=True)
        return made

    def chosen(self):
        """The columns that the first rows chose, as JSON: {} = none yet."""
        with self.lock:
            if not self.kinds:
                return {}
            fields = {name: kind.chosen() for name, kind in self.kinds.items()}
            return {"fields": fields, **self.objects.chosen()}

    @classmethod
    def of_chosen(cls, given):
        """The opposite of `chosen`. Raises ValueError, TypeError, KeyError or AttributeError."""
        made = cls()
        if given:
            made.kinds = {_name(name): Kind.of_chosen(k) for name, k in given["fields"].items()}
            made.objects = Objects.of_chosen(given)
        return made

    def begin_like(self, kinds, objects):
        """Begins with the columns that other records had, so that an empty list is what it was."""
        self.kinds = self.kinds or {name: kind.copy() for name, kind in kinds.items()}
        self.objects = objects.copy()

    def begin_like_block(self, block):
        """Begins with the columns of a block that was not made here."""
        like = Columns.like(block.fields(), block.objects())
        self.objects.marks.update(like.objects.marks)
        self.kinds = self.kinds or like.kinds

    def block(self, rows, rejects=None, flags=0, given=None, only=None):
        """Block of `rows` (dicts); what stands in the rows of `rejects` (row, code, message, token)
        does not matter. Rows that do not fit the columns of a spec are added to it. Without a spec
        they raise: which row is the odd one would depend on which block came first.

        `given`: the block that the rows are made of. Without a spec, fields keep its dtypes and
        fixed shapes if the first rows fit them. `only`: the fields of these rows, of all fields of
        the columns."""
        with self.lock:
            self._begin_with(given)
            only = None if only is None else self._these(only)
            try:
                return self._block(self._flat(rows), rejects or (), flags, only)
            except (TypeError, ValueError) as error:
                if rejects is None:
                    raise
                if not self.fixed:
                    error.levada_row = self._first_misfit(rows, {row for row, *_ in rejects}, only)
                    raise
            rejects += self._misfits(rows, {row for row, *_ in rejects}, only)
            rejects.sort(key=lambda reject: reject[0])
            bad = {row for row, *_ in rejects}
            rows = [row if i in bad else self._flat([row])[0] for i, row in enumerate(rows)]
            return self._block(rows, rejects, flags, only)

    def _begin_with(self, given):
        if given is not None and (self.like is None or self.like.names != list(given.names)):
            fields, marks = given.fields(), given.objects()
            kinds = Columns.like(fields, marks).kinds
            for name, _, _, _, padded, *_ in fields:
                kinds[name].dims = None if padded else kinds[name].dims
            self.like = Like(fields, marks, kinds)

    def fields(self):
        """The fields that are known."""
        return list(dict.fromkeys(self.objects.field_of(name) for name in self.kinds))

    def declared(self):
        """The fields that a spec declares."""
        return self.fields() if self.fixed else []

    def _these(self, names):
        """`names` of fields, and those that are not of the input and must be in each block."""
        seen = self.fields()
        new = [name for name in names if not self.like.under(name)]
        odd = [name for name in new if seen and name not in seen]
        if odd:
            what = "spec= does not declare" if self.fixed else "the first records had not"
            raise InvalidArgumentError(f"the function returned field {odd[0]!r}, which {what}")
        return {*names, *(name for name in seen if not self.like.under(name))}

    def _flat(self, rows):
        return self.objects.flat(rows, self.kinds.__contains__, self.like)

    def _first_misfit(self, rows, bad, only):
        """The number of the first row that fits neither the columns nor the rows before it."""
        good = [i for i in range(len(rows)) if i not in bad]

        def fails(count):
            some = [rows[i] for i in good[:count]]
            try:
                flat = Objects.copy(self.objects).flat(some, self.kinds.__contains__, self.like)
                self._fields(self._kinds(flat, only), flat, count, ())
            except (TypeError, ValueError):
                return True
            return False

        at = bisect.bisect_left(range(len(good)), True, key=lambda i: fails(i + 1))
        return good[at] if at < len(good) else -1

    def _misfits(self, rows, bad, only):
        """(row, code, message, token) of the rows that do not fit the columns, each on its own."""
        found = []
        for i, row in enumerate(rows):
            error = None if i in bad else self._why(row, only)
            if error is not None:
                found.append((i, *keep(error, first=not found)))
        return found

    def _why(self, row, only):
        """Why a row does not fit the columns of the spec; None where it does."""
        try:
            rows = self._flat([row])
            self._fields(self._kinds(rows, only), rows, 1, ())
        except (TypeError, ValueError) as error:
            return error
        return None

    def _block(self, rows, rejects, flags, only):
        bad = {row for row, *_ in rejects}
        good = [row for i, row in enumerate(rows) if i not in bad] if bad else rows
        kinds = self._kinds(good, only)
        fields = self._fields(kinds, good, len(rows), bad)
        made = _levada.build(len(rows), fields, list(rejects), flags)
        self.kinds = {**self.kinds, **kinds}  # from now on: until here nothing was delivered
        return made

    def _kinds(self, rows, only):
        """Copies of the kinds, which are those of the first row where none are known."""
        for row in rows:
            if not hasattr(row, "keys"):
                raise TypeError(f"a record must be a dict, got {type(row).__name__}")
        known = self.kinds
        if only is not None:
            known = {c: kind for c, kind in known.items() if self.objects.field_of(c) in only}
        if (known and only is None) or not rows:
            return self._alike(known)
        kinds = _first_kinds(rows[0], "a record")
        for name, kind in kinds.items():
            self._begin_kind(name, kind, [row.get(name) for row in rows])
        return self._alike({**kinds, **known})

    def _begin_kind(self, name, kind, values):
        """What is known of a column before its first values: the levels of lists in lists, and a
        fixed shape that all of them have."""
        like = self.like.kinds.get(name) if self.like else None
        kind.depth = self.objects.depth_of(name)
        if kind.depth is not None or like is None:
            return
        if like.depth > 1 and has_lists(values, like.depth):
            kind.depth = like.depth
        elif like.depth == 0 and like.dims and None not in like.dims:
            if all(_shape_of(value) == like.dims for value in values):
                kind.depth, kind.dims = 0, like.dims

    def _alike(self, kinds):
        copies = {name: kind.copy() for name, kind in kinds.items()}
        for name, kind in copies.items():
            if self.like is not None and not kind.declared:
                kind.like = self.like.kinds.get(name)
        return copies

    def _fields(self, kinds, good, count, bad):
        """Fields of `count` rows: the good ones, and others in the places that are `bad`."""
        for row in good:
            _check_names(kinds, row, self.objects)
        fields = []
        for name, kind in kinds.items():
            values = [row[name] for row in good]
            if kind.default is not None:
                values = [kind.default if value is None else value for value in values]
            if values or kind.dtype is not None:
                fields.append(self._marked(_field(name, kind, values, count, bad)))
        return fields

    def _marked(self, field):
        """The field with its mark, where it is in a list of objects."""
        mark = self.objects.marks.get(field[0])
        return (*field[:6], None, mark) if mark and field[2] else field

    def batch(self, columns, flags=0, given=None, only=None):
        """Block of whole columns: arrays [n, ...], Padded, Ragged, Bytes, lists of rows. `given`
        and `only` as for `block`."""
        with self.lock:
            self._begin_with(given)
            only = None if only is None else self._these(only)
            columns = self.objects.flat_columns(columns, self.kinds.__contains__, self.like)
            kinds = self._kinds_of_batch(columns, only)
            _check_names(kinds, columns, self.objects)
            fields, count = [], None
            for name, kind in kinds.items():
                column = columns[name]
                n = _entries(name, column)
                if count is not None and n != count:
                    text = f"field {name!r} has {n} records, others have {count}"
                    raise InvalidArgumentError(text)
                count = n
                try:
                    field = (name, *pack_column(kind, column, bool(flags & _BATCHED)))
                    fields.append(self._marked(field))
                except (TypeError, ValueError) as error:
                    raise InvalidArgumentError(f"field {name!r}: {error}") from error
            made = _levada.build(count or 0, fields, [], flags)
            self.kinds = {**self.kinds, **kinds}
            return made

    def _kinds_of_batch(self, columns, only):
        known = self.kinds
        if only is not None:
            known = {c: kind for c, kind in known.items() if self.objects.field_of(c) in only}
        elif known:
            return self._alike(known)
        kinds = _first_kinds(columns, "a batch")
        for name, kind in kinds.items():
            if not isinstance(columns[name], Padded):  # which says itself what it is
                self._begin_kind(name, kind, columns[name])
        return self._alike({**kinds, **known})


def _shape_of(value):
    """The shape of an array, also in lists; () of other values."""
    if not isinstance(value, (list, tuple)):
        return tuple(getattr(value, "shape", ()))
    import numpy as np

    try:
        return np.shape(value)
    except ValueError:  # parts that differ
        return ()


def _first_kinds(fields, what):
    kinds = {_name(name): Kind() for name in fields}
    if not kinds:
        raise InvalidArgumentError(f"{what} must have at least one field")
    return kinds


def _check_names(kinds, row, objects):
    if len(row) == len(kinds) and all(name in row for name in kinds):
        return
    missing = next((name for name in kinds if name not in row), None)
    members = [name for name in row if missing is not None and name.startswith(f"{missing}.")]
    if members and missing not in row and objects.field_of(members[0]) == missing:
        inner = ", ".join(f"'{name[len(missing) + 1 :]}': ..." for name in members)
        raise InvalidArgumentError(
            f"field {missing!r} is a list of objects, but was an empty list in all records before; "
            f"declare it: spec={{'{missing}': [{{{inner}}}]}}, with a dtype for each member"
        )
    text = f"lacks field {objects.field_of(missing)!r}" if missing else None
    names = dict.fromkeys(str(objects.field_of(name)) for name in row)
    text = text or "has fields that the first had not"
    raise InvalidArgumentError(f"a record {text}; it has {', '.join(names)}")


def _field(name, kind, values, count, bad):
    if bad:  # what stands for a rejected record does not matter
        given = iter(values)
        empty = values[0] if values else _empty(kind)
        values = [empty if i in bad else next(given) for i in range(count)]
    try:
        return (name, *pack(kind, values))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"field {name!r}: {error}") from error


def _name(name):
    if isinstance(name, str):
        return name
    raise TypeError(f"the name of a field must be a str, got {_shown(name)}")


def _entries(name, column):
    """Records of a whole column."""
    given = column
    if isinstance(column, (str, bytes, bytearray)) or getattr(column, "shape", None) == ():
        column = None
    try:
        return len(column)
    except TypeError:
        raise TypeError(
            f"field {name!r} must be an array or a list with one entry per record, "
            f"got {_shown(given)}"
        ) from None


def _name_of_strings(values):
    return "text" if values.text else "string"


def _type_of_strings(items):
    """text where all items are str, else string."""
    return "text" if items and all(isinstance(item, str) for item in items) else "string"


def _least(kind):
    """The inner dimensions of values without an element."""
    return tuple(size or 0 for size in kind.dims or ())


def _empty(kind):
    import numpy as np

    inner = _least(kind)
    if (kind.depth or 0) > 1:
        flat = Bytes(np.zeros(0, np.uint8), _offsets([]))
        values = flat if kind.dtype in STRINGS else np.zeros((0, *inner), array_type(kind.dtype))
        return Ragged(values, [_offsets([])] * (kind.depth - 1))
    shape = (0, *inner) if kind.depth else inner
    if kind.dtype not in STRINGS:
        return np.zeros(shape, array_type(kind.dtype))
    return np.full(shape, b"", object) if shape else b""


def pack_column(kind, column, batched=False):
    """(dtype, depth, dims, values, offsets) of a whole column, and of a padded one its lengths."""
    if isinstance(column, Padded):
        return _pack_padded(kind, column, batched)
    if isinstance(column, (Ragged, Bytes)) and len(column) and _fits_whole(kind, column):
        return _pack_whole(kind, column)
    if isinstance(column, (Ragged, Bytes, list, tuple)):
        return pack(kind, list(column)) if len(column) else _nothing(kind, column)
    array = as_array(column)
    if array.ndim == 0:
        raise ValueError("a column must be a list with one entry per record, got one value")
    if array.ndim > 1 and (kind.depth if kind.depth is not None else not batched):
        if batched:
            raise ValueError(
                "an array of a batch must have lengths: return a Ragged or levada.Padded(array, "
                "lengths), or declare an array without lengths by spec= FixedLenFeature([None])"
            )
        n, steps, *inner = array.shape
        return _pack_arrays(kind, [steps] * n, [array.reshape(n * steps, *inner)])
    return _pack_stacked(kind, array, batched)


def _fits_whole(kind, column):
    """Whether the values of a Ragged or Bytes are those of the column already, one after the other.
    What is not is packed row by row, also to find the row for a message."""
    import numpy as np

    depth = 0 if isinstance(column, Bytes) else len(column.nested)
    values = column if depth == 0 else column.values
    if kind.depth not in (None, depth) or len(values) == 0:
        return False
    if isinstance(values, Bytes):
        return kind.dtype in (None, "string", _name_of_strings(values)) and _alike(kind.dims, ())
    if not isinstance(values, np.ndarray) or values.dtype.kind in "OSU" or kind.dtype in STRINGS:
        return False
    return _alike(kind.dims, values.shape[1:])


def _pack_whole(kind, column):
    """The values of a Ragged or Bytes as they are; offsets from 0 on."""
    import numpy as np

    nested = () if isinstance(column, Bytes) else column.nested
    values = column if isinstance(column, Bytes) else column.values
    first, last, levels = 0, len(column), []
    for marks in nested:
        marks = marks[first : last + 1]
        first, last = int(marks[0]), int(marks[-1])
        levels.append(_from_zero(marks))
    if not isinstance(values, Bytes):
        array = as_array(values[first:last])
        kind.shape(len(nested), array.shape[1:])
        return _pack_flat(kind, array.shape[1:], [array], levels, len(nested))
    marks = values.offsets[first : last + 1]
    check_offsets((marks,), len(values.data))
    kind.shape(len(nested), ())
    kind.dtype, kind.guessed = kind.dtype or _name_of_strings(values), False
    data = np.ascontiguousarray(values.data[int(marks[0]) : int(marks[-1])])
    return kind.dtype, len(nested), (), data, [*levels, _from_zero(marks)]


def _from_zero(marks):
    """Offsets as a block has them."""
    import numpy as np

    marks = marks - marks[0]
    if marks[-1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"{marks[-1]} elements are more than 2^31 - 1 in one block; lower block_rows"
        )
    return np.ascontiguousarray(marks, np.int32)


def _pack_padded(kind, column, batched):
    """A padded batch; without one, rows of their lengths."""
    array, lengths = as_array(column.values), column.lengths
    if not batched or kind.depth == 1:
        rows = [row[:length] for row, length in zip(array, lengths.tolist(), strict=True)]
        return pack(kind, rows) if rows else _nothing(kind, array)
    return (*_pack_stacked(kind, array, batched), lengths)


def _pack_stacked(kind, array, batched):
    """Values of one shape as an array [n, ...]; those of other batches may have another shape where
    none is known."""
    unknown = kind.dims is None
    kind.shape(0, array.shape[1:])
    if batched and unknown:
        kind.dims = (None,) * (array.ndim - 1)
    return _pack_flat(kind, array.shape[1:], [array], [])


def _nothing(kind, column):
    """A column without rows."""
    dtype = getattr(column, "dtype", None)
    known = kind.dtype or (name_of(dtype) if dtype is not None else "int64")
    levels = (kind.depth or 0) + (known in STRINGS)
    empty = b"" if known in STRINGS else cast(_empty(Kind(known, 1)), known)
    return known, kind.depth or 0, _least(kind), empty, [_offsets([])] * levels


def pack(kind, values):
    """(dtype, depth, dims, values, offsets) of one value a row; kind is filled in."""
    import numpy as np

    if not values:
        return _nothing(kind, values)
    first, weak = values[0], kind.like is not None and is_weak(values)
    if isinstance(first, Ragged) or (kind.depth or 0) > 1:
        return _pack_ragged(kind, values)
    if is_text(first) and kind.dtype in (None, *STRINGS) and kind.depth != 1:
        kind.shape(0, ())
        kind.dtype = kind.dtype or _type_of_strings(values)
        data, offsets = _strings(values, kind.dtype == "text")
        return kind.dtype, 0, (), data, [offsets]
    if kind.depth != 1 and all(isinstance(v, (int, float, complex, np.generic)) for v in values):
        array = np.asarray(values)
        if array.ndim == 1 and array.dtype.kind not in "OSU":
            if array.dtype.kind in "fc":
                check_mixed(array, values)
                _check_whole(kind, values)
            kind.shape(0, ())
            return _pack_flat(kind, (), [array], [], weak=weak)
    arrays = [as_array(value) for value in values]
    depth = kind.depth if kind.depth is not None else int(arrays[0].ndim > 0)
    if depth == 0:
        return _pack_fixed(kind, arrays, weak)
    if any(array.ndim == 0 for array in arrays):
        raise ValueError("the values of a field must all be lists, or none; got both")
    return _pack_arrays(kind, [len(array) for array in arrays], arrays, weak)


def _check_whole(kind, values):
    """Raises if integers among floats do not fit a declared dtype, which rounds floats alone."""
    if not kind.declared:
        return
    import numpy as np

    whole = [value for value in values if isinstance(value, (int, np.integer))]
    if whole:
        cast(np.asarray(whole), kind.dtype)


def _pack_fixed(kind, arrays, weak):
    """Values of one shape."""
    for array in arrays:
        kind.shape(0, array.shape)
        if array.shape != arrays[0].shape:
            raise ValueError(
                f"the values of a field must have one shape, got {arrays[0].shape} and "
                f"{array.shape}{ADVICE}"
            )
    return _pack_flat(kind, arrays[0].shape, [array[None] for array in arrays], [], weak=weak)


def _pack_arrays(kind, lengths, arrays, weak=False):
    """Sequences of these lengths: the arrays have their steps, one after the other."""
    shapes = {array.shape[1:] for array in arrays if array.shape != (0,)}
    if len(shapes) > 1:
        raise ValueError(
            f"the values of a field may differ in length only, got the inner shapes "
            f"{sorted(shapes)}; pad them"
        )
    inner = shapes.pop() if shapes else _least(kind)
    kind.shape(1, inner)
    return _pack_flat(kind, inner, arrays, [_offsets(lengths)], 1, weak)


def _pack_flat(kind, dims, arrays, levels, depth=0, weak=False):
    """The elements of arrays, one after the other, in the dtype of the kind. `weak`: they were
    numbers of Python."""
    import numpy as np

    unknown = {array.dtype for array in arrays if array.size == 0 and array.dtype == object}
    known, full = kind.dtype, [array for array in arrays if array.size]
    weak = weak and kind.takes(full)
    dtype = kind.settle({array.dtype for array in full} or
                        {array.dtype for array in arrays} - unknown, weak)  # fmt: skip
    if dtype in STRINGS:
        items = [item for array in full for item in array.reshape(-1).tolist()]
        if known is None:
            dtype = kind.dtype = _type_of_strings(items) if items else dtype
        data, offsets = _strings(items, dtype == "text")
        return dtype, depth, dims, data, [*levels, offsets]
    rounds = kind.declared or weak
    if len({array.dtype for array in full}) > 1:
        full = [cast(array, dtype, rounds) for array in full]
        joined = np.concatenate([array.reshape(-1) for array in full])
        return dtype, depth, dims, joined, levels
    joined = np.concatenate(full) if len(full) > 1 else full[0] if full else np.empty(0, "f8")
    return dtype, depth, dims, cast(joined, dtype, rounds), levels


def _pack_ragged(kind, values):
    """Rows that are ragged themselves: one level more."""
    first = values[0]
    depth = len(first.nested) + 1 if isinstance(first, Ragged) else kind.depth
    if kind.depth not in (None, depth):
        kind.shape(depth, ())
    rows = [row for value in values for row in value]
    below = Kind(kind.dtype, depth - 1, kind.dims, kind.declared)
    if kind.like is not None:
        below.like = kind.like.copy()
        below.like.depth -= 1
    if not rows and kind.dtype is None:
        _guess(below, first)
    dtype, _, dims, data, offsets = pack(below, rows)
    kind.dtype, kind.depth, kind.guessed = dtype, depth, below.guessed
    kind.dims = dims if below.dims is None else below.dims
    return dtype, depth, dims, data, [_offsets([len(value) for value in values]), *offsets]


def _guess(kind, value):
    """The dtype and shape of lists in lists that have no element."""
    values = getattr(value, "values", None)
    if isinstance(values, Bytes):
        kind.dtype, kind.dims = _name_of_strings(values), ()
    elif values is not None and values.dtype != object:
        kind.dtype, kind.dims = name_of(values.dtype), values.shape[1:]
    else:
        kind.settle(())
