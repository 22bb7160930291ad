# SPDX-License-Identifier: Apache-2.0
"""Arrow, Parquet and Hugging Face datasets as datasets: columns of record batches, by number."""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor

from levada import _levada
from levada._columns import Kind
from levada._objects import LEVELS, declaration
from levada._random_access import Numbered, Reader, dataset_of
from levada.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from levada._dataset import Dataset
    from levada._values import Paths

_MOST_ROWS = 10_000  # of a row group from which single records are decoded
_TAIL = 64 << 10  # bytes at the end of a file that recognize it: the footer


def pyarrow():
    """The module pyarrow, imported when it is first needed."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("this needs pyarrow 17 or newer: pip install pyarrow") from error
    if int(pa.__version__.split(".")[0]) < 17:
        raise ImportError(f"this needs pyarrow 17 or newer, found {pa.__version__}")
    return pa


# -- values: see the table in docs/arrow.md


def _refuse(where, what, advice="leave it out with columns="):
    raise InvalidArgumentError(f"field {where!r}: {what} is not supported; {advice}")


def _plain(a, pa, where):
    """The array without extension types, dictionaries, runs, views and 64-bit offsets."""
    t = a.type
    while isinstance(t, pa.BaseExtensionType):
        if t.extension_name == "arrow.bool8":
            return pa.array(a.storage.to_numpy(zero_copy_only=False).astype(bool))
        if t.extension_name == "arrow.fixed_shape_tensor":
            return _tensor(a, pa)
        a, t = a.storage, a.storage.type
    types = pa.types
    if types.is_dictionary(t):
        return _plain(a.dictionary_decode(), pa, where)
    if types.is_run_end_encoded(t):
        import pyarrow.compute as pc

        return _plain(pc.run_end_decode(a), pa, where)
    if types.is_string_view(t) or types.is_large_string(t):
        return a.cast(pa.string())
    if types.is_binary_view(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t):
        return a.cast(pa.binary())
    if t.id in (pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW):
        return _of_list_view(a, pa)
    if types.is_large_list(t):
        return a.cast(pa.list_(t.value_field))
    return a


def _tensor(a, pa):
    """A fixed_shape_tensor as nested lists of fixed size."""
    storage = a.storage.flatten()
    for size in reversed(a.type.shape):
        storage = pa.FixedSizeListArray.from_arrays(storage, size)
    return storage


def _of_list_view(a, pa):
    """A list array with the lists of a list view. ``pyarrow.compute.cast`` is wrong (26.0.1)."""
    import numpy as np
    import pyarrow.compute as pc

    sizes = pc.fill_null(pc.list_value_length(a), 0).to_numpy(zero_copy_only=False)
    starts = a.offsets.to_numpy(zero_copy_only=False)[: len(a)]
    marks = np.zeros(len(a) + 1, np.int32)
    np.cumsum(sizes, out=marks[1:])
    at = np.arange(marks[-1]) + np.repeat(starts - marks[:-1], sizes)
    mask = a.is_null() if a.null_count else None
    return pa.ListArray.from_arrays(pa.array(marks), a.values.take(pa.array(at)), mask=mask)


def _without_nulls(a, pa, nulls, where):
    """The array, with zeros and empty values in place of nulls where that is allowed."""
    if a.null_count == 0:
        return a
    if nulls == "error":
        raise InvalidArgumentError(f"field {where!r} is null; pass nulls='default' to read 0")
    import numpy as np
    import pyarrow.compute as pc

    types, t = pa.types, a.type
    if types.is_list(t):
        marks = np.zeros(len(a) + 1, np.int32)
        lengths = pc.fill_null(pc.list_value_length(a), 0).to_numpy(zero_copy_only=False)
        np.cumsum(lengths, out=marks[1:])
        return pa.ListArray.from_arrays(pa.array(marks), a.flatten())
    if types.is_fixed_size_list(t):
        rows = pc.if_else(a.is_valid(), pa.array(np.arange(len(a))), pa.scalar(None, pa.int64()))
        at = rows.to_numpy(zero_copy_only=False).repeat(t.list_size) * t.list_size
        at += np.tile(np.arange(t.list_size), len(a)) + a.offset * t.list_size
        values = a.values.take(pa.array(at, pa.int64(), from_pandas=True))
        return pa.FixedSizeListArray.from_arrays(values, t.list_size)
    zero = "" if types.is_string(t) else b"" if types.is_binary(t) else None
    if zero is None:
        zero = pa.scalar(False) if types.is_boolean(t) else pa.scalar(0, _storage_of(t, pa)).cast(t)
        return pc.fill_null(a, zero)
    return pc.fill_null(a, pa.scalar(zero, t))


def _is_time(t, types):
    return (
        types.is_date(t) or types.is_timestamp(t) or types.is_time(t) or types.is_duration(t)
    )  # fmt: skip


def _storage_of(t, pa):
    """The integers of a time; other types as they are."""
    if not _is_time(t, pa.types):
        return t
    return pa.int32() if t.bit_width == 32 else pa.int64()


def flat(a, nulls, where):
    """(dtype, depth, dims, values, [offsets, ...]) of an array, as `_levada.build` takes them."""
    import numpy as np

    pa = pyarrow()
    a = _plain(a, pa, where)
    types, t = pa.types, a.type
    _check_type(t, types, where)
    a = _without_nulls(a, pa, nulls, where)
    if types.is_list(t):
        marks = np.asarray(a.offsets)
        first = int(marks[0])
        below = a.values.slice(first, int(marks[-1]) - first)
        dtype, depth, dims, values, levels = flat(below, nulls, where)
        return dtype, depth + 1, dims, values, [_from_zero(marks), *levels]
    if types.is_fixed_size_list(t):
        dtype, depth, dims, values, levels = flat(a.flatten(), nulls, where)
        if depth:
            _refuse(where, "a fixed_size_list of lists of any length", "cast it to list")
        return dtype, 0, (t.list_size, *dims), values, levels
    if types.is_string(t) or types.is_binary(t):
        if types.is_string(t):
            _check_text(a, pa, where)
        return _strings(a, "text" if types.is_string(t) else "string")
    if _is_time(t, types):
        values = a.view(_storage_of(t, pa)).to_numpy().astype(np.int64, copy=False)
        return "int64", 0, (), values, []
    values = a.to_numpy(zero_copy_only=False)
    return str(values.dtype), 0, (), np.ascontiguousarray(values), []


def _check_type(t, types, where):
    if types.is_decimal(t):
        _refuse(where, "decimal", "cast it to float64, or to int64 of its unit")
    if types.is_map(t):
        _refuse(where, "map", "select its keys and values as two list columns")
    if types.is_union(t):
        _refuse(where, "union")
    if types.is_null(t):
        _refuse(where, "a column of nulls")
    if types.is_interval(t):
        _refuse(where, "interval")


def _check_text(a, pa, where):
    """Files may have anything in columns of text: pyarrow does not check them."""
    try:
        a.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(
            f"field {where!r} must be UTF-8, got other bytes ({error}); cast it to binary"
        ) from error


def _from_zero(marks):
    import numpy as np

    return np.ascontiguousarray(marks - marks[0], np.int32)


def _strings(a, dtype):
    import numpy as np

    _, marks, data = a.buffers()
    marks = np.frombuffer(marks, np.int32, len(a) + 1, a.offset * 4) if marks else np.zeros(1, "i4")
    data = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return dtype, 0, (), data[int(marks[0]) : int(marks[-1])], [_from_zero(marks)]


def _is_list(t, pa):
    views = (pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW)
    return pa.types.is_list(t) or pa.types.is_large_list(t) or t.id in views


def _has_structs(t, pa):
    """Whether a type is lists of structs, at any level."""
    while _is_list(t, pa):
        t = t.value_type
    return pa.types.is_struct(t)


def _in_lists(a, lists, pa):
    for offsets in reversed(lists):
        a = pa.ListArray.from_arrays(offsets, a)
    return a


def _columns(name, a, pa, nulls, lists=(), mark=bytes(LEVELS), valid=None):
    """(name, array, mark, valid) of a column, or of each field of a struct and of structs in lists.

    ``lists``: offsets of the lists around ``a``. ``mark``: see ``_objects.py``. ``valid``: which
    records are not null: of the lists, if there are some.
    """
    if isinstance(a, pa.ChunkedArray):
        a = a.combine_chunks()
        a = a.chunk(0) if isinstance(a, pa.ChunkedArray) else a
    t = a.type
    if pa.types.is_struct(t):
        for field, part in zip(t, a.flatten(), strict=True):
            yield from _columns(f"{name}.{field.name}", part, pa, nulls, lists, mark, valid)
    elif _is_list(t, pa) and _has_structs(t, pa):
        level = len(lists)
        if level == LEVELS:
            _refuse(name, f"more than {LEVELS} levels of lists")
        valid = a.is_valid() if valid is None else valid
        a = _without_nulls(_plain(a, pa, name), pa, nulls, name)
        if pa.types.is_struct(t.value_type):
            mark = mark[:level] + bytes([name.count(".") + 1]) + mark[level + 1 :]
        yield from _columns(name, a.values, pa, nulls, (*lists, a.offsets), mark, valid)
    else:
        yield name, _in_lists(a, lists, pa), mark, a.is_valid() if valid is None else valid


def block_of(batch, nulls):
    """The block of a record batch, or of a table with one chunk."""
    pa = pyarrow()
    fields = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for n, a, mark, valid in _columns(name, column, pa, nulls):
            fields.append((n, *flat(a, nulls, n), None, mark))
            if nulls == "mask":
                fields.append((f"{n}_valid", *flat(valid, nulls, n), None, bytes(LEVELS)))
    return _levada.build(batch.num_rows, fields, [], 0)


def spec_of(schema, nulls="error"):
    """{field: Kind} of a schema, with lists and objects in them."""
    kinds = {}
    block = block_of(schema.empty_table().combine_chunks(), nulls)
    marks = dict(zip(block.names, block.objects() or (), strict=False))
    for name, dtype, depth, dims, *_ in block.fields():
        kinds[name] = Kind(dtype, depth, tuple(dims), declared=True)
    return declaration(kinds, marks)


# -- record batches by number


class Pieces(Reader):
    """Records of several pieces: chunks of a table, record batches or row groups of files.

    ``sizes``: records of each piece. ``load(i)``: piece i as a RecordBatch or a table; the last
    `keep` of them stay. With `ahead`, the next piece is loaded on a thread.
    """

    def __init__(self, schema, sizes, load, nulls, name, mark, keep=None, ahead=False):
        self.schema, self.load, self.nulls, self.name, self.mark = schema, load, nulls, name, mark
        self.first = [0]
        for size in sizes:
            self.first.append(self.first[-1] + size)
        self.count = self.first[-1]
        self.keep, self.ahead = keep, ahead
        self.spec = spec_of(schema, nulls)
        self.obj = None
        self._begin()

    def _begin(self):
        self.kept = {}
        self.pool = None

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("kept", "pool")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._begin()

    def piece(self, i):
        if self.keep is None:
            return self.load(i)
        found = self.kept.pop(i, None)
        if found is None:
            found = self.load(i)
        elif hasattr(found, "result"):
            found = found.result()
        self.kept[i] = found
        if self.ahead and i + 1 < len(self.first) - 1 and i + 1 not in self.kept:
            self.pool = self.pool or ThreadPoolExecutor(1, "levada parquet")
            self.kept[i + 1] = self.pool.submit(self.load, i + 1)
        while len(self.kept) > self.keep + self.ahead:
            oldest = next(k for k in self.kept if k != i)
            del self.kept[oldest]
        return found

    def table(self, numbers):
        """The records with these numbers, which ascend, as a RecordBatch or a table."""
        pa = pyarrow()
        parts, at = [], 0
        while at < len(numbers):
            i = bisect_right(self.first, int(numbers[at])) - 1
            end = at + int((numbers[at:] < self.first[i + 1]).sum())
            parts.append(_rows(self.piece(i), numbers[at:end] - self.first[i], pa))
            at = end
        if len(parts) == 1:
            return parts[0]
        tables = [pa.Table.from_batches([p]) if isinstance(p, pa.RecordBatch) else p for p in parts]
        return pa.concat_tables(tables).combine_chunks()

    def __call__(self, numbers):
        return block_of(self.table(numbers), self.nulls)


def _rows(piece, rows, pa):
    """Rows of a piece; neighbors without a copy."""
    first, n = int(rows[0]), len(rows)
    if int(rows[-1]) - first == n - 1:
        return piece if n == piece.num_rows else piece.slice(first, n)
    return piece.take(pa.array(rows))


class Picked(Pieces):
    """The same with an order of its own: record i is record ``indices[i]`` of the pieces."""

    def choose(self, indices):
        self.indices = indices
        self.count = len(indices)
        return self

    def table(self, numbers):
        import numpy as np

        wanted, back = np.unique(self.indices[numbers], return_inverse=True)
        return super().table(wanted.astype(np.int64)).take(pyarrow().array(back))


def _selected(schema, columns):
    """The names to read, checked against the schema; None = all."""
    if columns is None:
        return None
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in schema.names:
            known = ", ".join(schema.names)
            raise InvalidArgumentError(f"columns={name!r} does not exist; available: {known}")
    return names


def _check_nulls(nulls):
    if nulls not in ("error", "default", "mask"):
        raise InvalidArgumentError(f"nulls={nulls!r} must be 'error', 'default' or 'mask'")


def _dataset(reader, shuffle_records=False, records=None, part=None):
    options = {
        "count": reader.count, "name": reader.name, "mark": reader.mark,
        "shuffle_records": shuffle_records, "records": records, "part": part,
    }  # fmt: skip
    return dataset_of(Numbered(reader, reader.spec, ()), reader.spec, options)


# -- tables


def table_reader(obj, name=None, columns=None, nulls="error"):
    """The reader of a table, a data frame, or a Hugging Face or Lance dataset."""
    if type(obj).__module__.split(".")[0] == "datasets":
        return _hf_reader(obj, name, columns, nulls)
    if type(obj).__module__.split(".")[0] == "lance":
        return _lance_reader(obj, name, columns, nulls)
    pa = pyarrow()
    table = _table_of(obj, pa)
    names = _selected(table.schema, columns)
    table = table.select(names) if names else table
    batches = table.to_batches()
    return Pieces(
        table.schema, [b.num_rows for b in batches], batches.__getitem__, nulls,
        name or type(obj).__name__, _table_mark(table, pa),
    )  # fmt: skip


def _table_of(obj, pa):
    if isinstance(obj, pa.Table):
        return obj
    if isinstance(obj, pa.RecordBatch):
        return pa.Table.from_batches([obj])
    if isinstance(obj, (list, tuple)):
        return pa.Table.from_batches(obj)
    if type(obj).__module__.split(".")[0] == "pandas":
        return pa.Table.from_pandas(obj, preserve_index=False)
    return pa.table(obj)


def _table_mark(table, pa):
    """A hash of the schema and of three rows."""
    from levada._contents import digest

    n = table.num_rows
    rows = [table.slice(i, 1).to_pylist() for i in sorted({0, n // 2, max(n - 1, 0)})]
    return digest(repr((str(table.schema), n, rows)).encode())


def from_arrow(
    obj: Any,
    *,
    columns: str | Sequence[str] | None = None,
    nulls: str = "error",
    shuffle_records: bool = False,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
    name: str | None = None,
) -> Dataset[dict[str, Any]]:
    """Returns the rows of an Arrow table, or of anything that exports one.

    pyarrow, Polars, pandas, DuckDB and every object with ``__arrow_c_stream__``. A stream that can
    be read only once (``RecordBatchReader``) is read into memory.

    Args:
        obj (Any): a Table, RecordBatch, list of batches, data frame, or an exporter of a stream.
        columns (str | Sequence[str]): names of the columns to read; ``None`` = all.
        nulls (str, default "error"): "error": a record with a null is a bad record; "default":
            nulls are 0, empty strings or empty lists; "mask": the same, and a field
            ``<name>_valid`` (bool) next to each field, False where the record has a null.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.
        name (str): name of the table in errors; ``None`` = its type.

    Example:
        import pyarrow as pa
        ds = lv.from_arrow(pa.table({"x": [[1, 2], [3]]}))
        print(ds.padded_batch(2).first()["x"])
    """
    _check_nulls(nulls)
    return _dataset(table_reader(obj, name, columns, nulls), shuffle_records, records, part)


# -- files


def _files(files):
    """The paths of files, in the order of their names for each pattern."""
    from levada._values import paths

    names = paths(files)
    core = _levada.append("files", {"pattern": names}, ())
    found = []
    for block in _levada.Iter(core, threads=1):
        from levada._batch import rows_of

        found += [os.fsdecode(row["path"]) for row in rows_of(block)]
    return found


def _file_mark(paths):
    """A hash of the sizes and of the ends of files."""
    import zlib

    from levada._contents import digest

    marks = []
    for path in paths:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL, 0))
            marks.append((os.path.basename(path), size, zlib.crc32(file.read())))
    return digest(repr(marks).encode())


def _same_schema(schema, path, first, first_path):
    if schema.equals(first):
        return
    differing = next(
        (f"{a} and {b}" for a, b in zip(schema, first, strict=False) if not a.equals(b)),
        f"{len(schema)} and {len(first)} columns",
    )
    raise FailedPreconditionError(f"{path} and {first_path} have different schemas: {differing}")


class _Files:
    """Parts of files of one schema, by number.

    ``_open(path)`` returns the schema, and how many records each part has.
    """

    def __init__(self, paths):
        self.paths, self.places, self.sizes, self.schema, self.names = paths, [], [], None, None
        self.opened = {}
        for path in paths:
            schema, sizes = self._open(path)
            self.schema = self.schema or schema
            _same_schema(schema, path, self.schema, paths[0])
            self.places += ((path, k) for k in range(len(sizes)))
            self.sizes += sizes

    def __getstate__(self):
        return {**self.__dict__, "opened": {}}

    def select(self, columns):
        """Keeps only these columns; returns itself."""
        self.names = _selected(self.schema, columns)
        if self.names:
            fields = [self.schema.field(name) for name in self.names]
            self.schema = pyarrow().schema(fields)
        return self


class _ArrowFiles(_Files):
    """Record batches of IPC files and streams: ``load(i)``."""

    def _reader(self, path):
        """(a function of a number that returns a batch, how many there are, schema)."""
        pa = pyarrow()
        import pyarrow.ipc as ipc

        try:
            source = pa.memory_map(path)
            if bytes(source.read(6)) == b"ARROW1":
                file = ipc.open_file(pa.memory_map(path))
                return file.get_batch, file.num_record_batches, file.schema
            stream = ipc.open_stream(pa.memory_map(path))
            batches = list(stream)
            return batches.__getitem__, len(batches), stream.schema
        except FileNotFoundError:
            raise
        except (pa.ArrowInvalid, OSError) as error:
            raise DataLossError(f"{path}: not a complete Arrow file or stream: {error}") from error

    def _open(self, path):
        get, n, schema = self._reader(path)
        return schema, [get(k).num_rows for k in range(n)]

    def load(self, i):
        path, k = self.places[i]
        if path not in self.opened:
            self.opened[path] = self._reader(path)[0]
        batch = self.opened[path](k)
        return batch.select(self.names) if self.names else batch


def arrow(
    files: Paths,
    *,
    columns: str | Sequence[str] | None = None,
    nulls: str = "error",
    shuffle_records: bool = False,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads Arrow IPC files and streams, memory-mapped (pyarrow must be installed).

    Args:
        files (Paths): a path, a glob, or a list of them, with one schema.
        columns (str | Sequence[str]): names of the columns to read; ``None`` = all.
        nulls (str, default "error"): as in ``from_arrow``.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.

    Example:
        import pyarrow as pa
        with pa.OSFile("x.arrow", "wb") as sink, pa.ipc.new_file(sink, pa.schema({"x": "int64"})):
            pass
        print(len(lv.arrow("x.arrow")))
    """
    _check_nulls(nulls)
    pyarrow()
    paths = _files(files)
    given = _ArrowFiles(paths).select(columns)
    reader = Pieces(
        given.schema,
        given.sizes,
        given.load,
        nulls,
        _name_of(paths),
        _file_mark(paths),
        keep=1024 if shuffle_records else 1,  # views of the mapped file
    )
    return _dataset(reader, shuffle_records, records, part)


def _name_of(paths):
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _pruned(paths, filters):
    """{path: numbers of the row groups that may have a record that matches}, by statistics."""
    pa = pyarrow()
    import pyarrow.dataset as pads
    import pyarrow.parquet as pq

    if not isinstance(filters, pads.Expression):
        filters = pq.filters_to_expression(filters)
    kept = {}
    for path in paths:
        try:
            (fragment,) = pads.dataset(path, format="parquet").get_fragments()
            kept[path] = {group.id for group in fragment.subset(filters).row_groups}
        except pa.ArrowInvalid as error:
            raise InvalidArgumentError(f"filters: {error}", file=path) from error
    return kept


class _ParquetFiles(_Files):
    """Row groups of Parquet files: ``load(i)``."""

    def __init__(self, paths, row_groups=None, filters=None):
        super().__init__(paths)
        self.all = len(self.places) if row_groups is None else -1
        if row_groups is not None:
            self._choose(row_groups)
        if filters is not None:
            kept = _pruned(paths, filters)
            self._choose([i for i, (path, g) in enumerate(self.places) if g in kept[path]])

    def _choose(self, row_groups):
        """Keeps these row groups, in their order."""
        chosen = list(row_groups)
        for i in chosen:
            if not 0 <= i < len(self.places):
                raise InvalidArgumentError(
                    f"row_groups: {i} must be 0 to {len(self.places) - 1}, the row groups of "
                    f"{_name_of(self.paths)}"
                )
        self.places = [self.places[i] for i in chosen]
        self.sizes = [self.sizes[i] for i in chosen]

    def _reader(self, path):
        pa = pyarrow()
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(path, memory_map=True)
        except pa.ArrowInvalid as error:
            raise DataLossError(f"{path}: no complete Parquet file: {error}") from error

    def _open(self, path):
        file = self._reader(path)
        groups = range(file.num_row_groups)
        return file.schema_arrow, [file.metadata.row_group(g).num_rows for g in groups]

    def mark(self):
        """What a restore compares: the files, and which of their row groups are read."""
        if len(self.places) == self.all:
            return _file_mark(self.paths)
        from levada._contents import digest

        chosen = [(self.paths.index(path), g) for path, g in self.places]
        return digest(repr((_file_mark(self.paths), chosen)).encode())

    def load(self, i):
        path, g = self.places[i]
        if path not in self.opened:
            self.opened = {path: self._reader(path)}
        table = self.opened[path].read_row_group(g, columns=self.names, use_threads=False)
        return table.combine_chunks()


def parquet(
    files: Paths,
    *,
    columns: str | Sequence[str] | None = None,
    row_groups: Iterable[int] | None = None,
    filters: Any = None,
    nulls: str = "error",
    shuffle_records: bool = False,
    cache_row_groups: int = 1,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads Parquet files by row groups; the next one is decoded ahead (pyarrow must be installed).

    Footers have the numbers of records, so ``len(ds)``, ``ds[i]``, ``records`` and ``part`` need no
    index. Follow it with ``shuffle(n)`` for a random order.

    Args:
        files (Paths): a path, a glob, or a list of them, with one schema.
        columns (str | Sequence[str]): names of the columns to read; ``None`` = all.
        row_groups (Iterable[int]): numbers of the row groups to read, in this order, counted over
            all files from 0; ``None`` = all.
        filters (Any): a pyarrow expression, or tuples such as ``[("x", ">", 3)]``: row groups of
            which the statistics say that no record matches are not read. Records of the others are
            not filtered: use ``ds.filter`` for that.
        nulls (str, default "error"): as in ``from_arrow``.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch. Each record decodes its row group, unless that is cached: requires row groups of
            at most 10,000 records, or ``cache_row_groups``.
        cache_row_groups (int, default 1): decoded row groups that stay in memory.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.

    Example:
        lv.write(lv.range(10), "numbers.parquet")
        print(len(lv.parquet("numbers.parquet")))
    """
    _check_nulls(nulls)
    pyarrow()
    paths = _files(files)
    given = _ParquetFiles(paths, row_groups, filters).select(columns)
    largest = max(given.sizes, default=0)
    if shuffle_records and cache_row_groups == 1 and largest > _MOST_ROWS:
        raise InvalidArgumentError(
            f"shuffle_records would decode a row group of {largest:,} records for each record; "
            "pass cache_row_groups=, or use shuffle(n) instead"
        )
    reader = Pieces(
        given.schema, given.sizes, given.load, nulls, _name_of(paths), given.mark(),
        keep=cache_row_groups, ahead=not shuffle_records,
    )  # fmt: skip
    return _dataset(reader, shuffle_records, records, part)


# -- Hugging Face and Lance


def _hf_reader(ds, name, columns, nulls):
    """By chunk of the memory-mapped table, in the order of `_indices`."""
    import numpy as np

    table = ds.data.table
    names = _selected(table.schema, columns) or list(ds.column_names)
    table = _hf_media(table.select(names), ds.features)
    batches = table.to_batches()
    kind = Pieces if ds._indices is None else Picked
    reader = kind(
        table.schema, [b.num_rows for b in batches], batches.__getitem__, nulls,
        name or type(ds).__name__, ds._fingerprint,
    )  # fmt: skip
    if ds._indices is not None:
        reader.choose(ds._indices.column(0).to_numpy().astype(np.int64))
    return reader


def _hf_media(table, features):
    """Audio and images as their encoded bytes."""
    for i, name in enumerate(table.schema.names):
        if type(features.get(name)).__name__ in ("Audio", "Image"):
            column = table.column(i).combine_chunks()
            column = column.chunk(0) if hasattr(column, "chunks") else column
            table = table.set_column(i, name, column.field("bytes"))
    return table


def from_hf(
    ds: Any,
    *,
    columns: str | Sequence[str] | None = None,
    nulls: str = "error",
    shuffle_records: bool = False,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Returns the rows of a dataset of Hugging Face, from its memory-mapped Arrow tables.

    The order of ``ds.select`` and ``ds.shuffle`` is kept. A dataset with ``set_transform`` is read
    row by row through the transform. Audio and images are encoded bytes: decode them with
    ``decode_image``, ``decode_jpeg``, ``decode_wav`` or ``decode_flac``. An ``IterableDataset`` is
    read by ``from_records(lambda: ds)`` and cannot be saved.

    Args:
        ds (datasets.Dataset): the dataset; a ``DatasetDict`` has one for each split.
        columns (str | Sequence[str]): names of the columns to read; ``None`` = all.
        nulls (str, default "error"): as in ``from_arrow``.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.

    Example:
        import datasets
        ds = lv.from_hf(datasets.Dataset.from_dict({"x": [[1, 2], [3]]}))
        print(len(ds), ds[1]["x"])
    """
    _check_nulls(nulls)
    datasets = sys.modules.get("datasets")
    if datasets is None or isinstance(ds, dict):
        raise TypeError(f"from_hf takes a datasets.Dataset, not {type(ds).__name__}")
    if isinstance(ds, datasets.IterableDataset):
        from levada._combined import from_records

        return from_records(lambda: ds)
    if (ds.format or {}).get("type") == "custom":
        from levada._random_access import from_random_access

        return from_random_access(
            _Transformed(ds), shuffle_records=shuffle_records, records=records, part=part
        )
    return _dataset(_hf_reader(ds, None, columns, nulls), shuffle_records, records, part)


class _Transformed:
    """A dataset of Hugging Face through its transform."""

    def __init__(self, ds):
        self.ds = ds

    def __len__(self):
        return len(self.ds)

    def __getitem__(self, number):
        return self.ds[number]


class _Lance(Reader):
    def __init__(self, ds, name, columns, nulls):
        super().__init__(ds, name)
        self.count = ds.count_rows()
        self.columns = _selected(ds.schema, columns)
        self.nulls = nulls
        schema = ds.schema
        if self.columns:
            schema = pyarrow().schema([schema.field(n) for n in self.columns])
        self.spec = spec_of(schema, nulls)
        self.mark = f"{os.path.basename(str(ds.uri))} {ds.version}"

    def __call__(self, numbers):
        table = self.obj.take(numbers.tolist(), columns=self.columns)
        return block_of(table.combine_chunks(), self.nulls)


def _lance_reader(ds, name, columns, nulls):
    return _Lance(ds, name, columns, nulls)


# -- out


def write_parquet(ds, path):
    """Writes the records of a dataset; the file appears when it is complete."""
    pyarrow()
    import pyarrow.parquet as pq

    from levada.interop.arrow import reader_of

    reader = reader_of(ds.blocks())
    part = f"{os.fspath(path)}.part-{os.getpid()}"
    try:
        with pq.ParquetWriter(part, reader.schema, compression="zstd") as writer:
            rows = sum(_written(writer, batch) for batch in _grouped(reader))
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    return rows


def _written(writer, table):
    writer.write_table(table)
    return table.num_rows


def _grouped(reader, rows=8192):
    """Tables of about `rows` records, which become row groups."""
    pa = pyarrow()
    held, n = [], 0
    for batch in reader:
        held.append(batch)
        n += batch.num_rows
        if n >= rows:
            yield pa.Table.from_batches(held)
            held, n = [], 0
    if held or n == 0:
        yield pa.Table.from_batches(held, schema=reader.schema)
