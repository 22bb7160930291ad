# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as blocks, and the records of several of them by number."""

from __future__ import annotations

import copy
from array import array
from concurrent.futures import ThreadPoolExecutor

from levada import _levada
from levada._columns import Kind
from levada._objects import declaration
from levada._reader import Reader
from levada.errors import DataLossError
from levada.interop._pyarrow import pyarrow

_VIEWS = 64  # pieces that are entered at a time if they are views of memory


# -- values: see the table in docs/arrow.md

NULLS = {"error": 0, "default": 1, "mask": 2}  # levada_arrow_nulls


def _empty(schema):
    """A record batch without rows; Schema.empty_table() fails for extension types in lists."""
    pa = pyarrow()
    arrays = [pa.nulls(0, kind) for kind in schema.types]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def sound(rows, where):
    """Checks the sizes of the buffers, which the C interface does not tell; returns `rows`."""
    try:
        rows.validate()
    except pyarrow().ArrowInvalid as error:
        raise DataLossError(f"{where}: {error}") from error
    return rows


def block_of(rows, nulls):
    """The block of a record batch, or of a table."""
    pa = pyarrow()
    sound(rows, "the Arrow array is damaged")
    if isinstance(rows, pa.Table):
        if rows.num_rows == 0:
            rows = _empty(rows.schema)
        else:
            (rows,) = rows.combine_chunks().to_batches()
    schema, array = rows.__arrow_c_array__()
    return _levada.arrow_import(schema, array, NULLS[nulls])


def spec_of(schema, nulls="error"):
    """{field: Kind} of a schema, with lists and objects in them."""
    kinds = {}
    block = block_of(_empty(schema), nulls)
    marks = dict(zip(block.names, block.objects() or (), strict=False))
    for name, dtype, depth, dims, *_ in block.fields():
        kinds[name] = Kind(dtype, depth, tuple(dims), declared=True)
    return declaration(kinds, marks)


def time_notes(schema):
    """A text for each field of times, whose numbers have no unit of their own."""
    types = pyarrow().types
    units = {types.is_date32: "days", types.is_date64: "ms"}
    notes = []
    for name, kind in _leaves(schema):
        unit = next((unit for is_kind, unit in units.items() if is_kind(kind)), None)
        if unit is None and not (types.is_temporal(kind) and hasattr(kind, "unit")):
            continue
        zone = f" in {kind.tz}" if getattr(kind, "tz", None) else ""
        notes.append(f"{name}: int64, {unit or kind.unit} of {kind}{zone}")
    return notes


def _leaves(fields, of=""):
    """(name, type) of the values of fields, inside of lists and structs."""
    types = pyarrow().types
    for field in fields:
        name, kind = f"{of}{field.name}", field.type
        while hasattr(kind, "value_type"):
            kind = kind.value_type
        if types.is_struct(kind):
            yield from _leaves([kind.field(i) for i in range(kind.num_fields)], f"{name}.")
        else:
            yield name, kind


# -- record batches by number


def held(rows, nulls, around=(0, 0)):
    """A record batch or a table whose blocks share its memory.

    ``around``: address and size of memory that has its buffers.
    """
    pa = pyarrow()
    sound(rows, "the Arrow array is damaged")
    if isinstance(rows, pa.Table):
        (rows,) = rows.combine_chunks().to_batches() or [_empty(rows.schema)]
    return _levada.arrow_hold(*rows.__arrow_c_array__(), NULLS[nulls], *around)


class Pieces(Reader):
    """Records of several pieces: chunks of a table, record batches or row groups of files.

    ``sizes``: records of each piece. ``load(i)``: piece i as a RecordBatch or a table; the last
    `keep` of them stay, all if that is None. ``around(i)``: memory that has its buffers.
    ``check()`` raises an error if they have changed. With `ahead`, the next piece is loaded on a
    thread.
    """

    def __init__(
        self, schema, sizes, load, nulls, name, mark,
        keep=None, ahead=False, around=None, check=None,
    ):  # fmt: skip
        import numpy as np

        self.schema, self.load, self.nulls, self.name, self.mark = schema, load, nulls, name, mark
        self.first = [0]
        for size in sizes:
            self.first.append(self.first[-1] + size)
        self.count = self.first[-1]
        self.starts = np.array(self.first, np.int64)
        self.keep, self.ahead, self.around, self.unchanged = keep, ahead, around, check
        self.spec = spec_of(schema, nulls)
        self.notes = time_notes(schema)
        self.obj = None
        self._begin()

    def _begin(self):
        self.table = _levada.pieces(self.starts)  # those in memory
        self.kept = {}  # the same, oldest first: None, or a future of one that is not there yet
        self.pool = None

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("kept", "pool", "table")}

    def check(self):
        if self.unchanged is not None:
            self.unchanged()

    def another(self):
        if self.keep is None:  # nothing is dropped, so all iterators share the pieces
            return self
        made = copy.copy(self)
        made._begin()
        return made

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._begin()

    def hold(self, i):
        return held(self.load(i), self.nulls, self.around(i) if self.around else (0, 0))

    def enter(self, i):
        """Puts piece i into the table."""
        found = self.kept.get(i, self)
        if found is not None:
            held = self.hold(i) if found is self else found.result()
            _levada.pieces_put(self.table, i, held)
            self.kept[i] = None
        if self.ahead and i + 1 < len(self.first) - 1 and i + 1 not in self.kept:
            self.pool = self.pool or ThreadPoolExecutor(1, "levada parquet")
            self.kept[i + 1] = self.pool.submit(self.hold, i + 1)

    def leave(self, last):
        """Drops the oldest pieces but `last` until `keep` are left."""
        while self.keep is not None and len(self.kept) > self.keep + self.ahead:
            oldest = next(k for k in self.kept if k != last)
            del self.kept[oldest]
            _levada.pieces_drop(self.table, oldest)

    def __call__(self, numbers):
        """The block of the records with these numbers, which ascend."""
        block = _levada.pieces_pick(self.table, numbers)
        if block is not None:
            return block
        pieces = self.pieces_of(numbers)
        if self.keep is None or len(pieces) <= max(self.keep, 2):
            return self._pick(pieces, numbers)
        return self._pick_in_steps(pieces, numbers)

    def pieces_of(self, numbers):
        """The pieces that have these numbers, which ascend."""
        import numpy as np

        return np.unique(np.searchsorted(self.starts, numbers, "right") - 1).tolist()

    def _pick(self, pieces, numbers):
        end = pieces[-1] + 1
        if len(pieces) < 3 and (self.keep is None or self.keep > _VIEWS):  # records in order
            pieces = [*pieces, *range(end, min(end + _VIEWS, len(self.first) - 1))]
        for i in pieces:
            self.enter(i)
        block = _levada.pieces_pick(self.table, numbers)
        self.leave(end - 1)
        return block

    def _pick_in_steps(self, pieces, numbers):
        """Picks from as many pieces at a time as stay in memory."""
        parts, begins = [], array("q")
        for at in range(0, len(pieces), self.keep):
            some = pieces[at : at + self.keep]
            begin, end = numbers.searchsorted([self.first[some[0]], self.first[some[-1] + 1]])
            part = self._pick(some, numbers[begin:end])
            parts.append(_levada.arrow_hold(*_levada.arrow_export(part)))
            begins.append(begin)
        return _levada.arrow_pick(parts, begins, array("q", range(len(numbers))))


class Picked(Pieces):
    """The same with an order of its own: record i is record ``order[i]`` of the pieces."""

    def choose(self, order):
        self.order = order  # an Arrow column
        self.count = len(order)
        self._begin()
        return self

    def _begin(self):
        super()._begin()
        if hasattr(self, "order"):
            self.table = _levada.pieces(self.starts, self._numbers(self.order))

    @staticmethod
    def _numbers(column):
        import numpy as np

        return np.ascontiguousarray(column.to_numpy(), np.int64)

    def pieces_of(self, numbers):
        import numpy as np

        of = self._numbers(self.order.take(pyarrow().array(numbers)))
        return super().pieces_of(np.sort(of))
