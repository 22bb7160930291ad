# SPDX-License-Identifier: Apache-2.0
"""Arrow, Parquet and Hugging Face datasets as datasets: columns of record batches, by number."""

from __future__ import annotations

import os
import sys
import threading
from array import array

from levada import _levada
from levada._functions import Records
from levada._random_access import Numbered, Reader, dataset_of, singly
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from levada.interop._pieces import NULLS, Picked, Pieces, block_of, held, sound, spec_of
from levada.interop._pyarrow import pyarrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from levada._dataset import Dataset
    from levada._values import Paths

_MOST_ROWS = 10_000  # of a row group from which single records are decoded
_MOST_VIEWS = 1024  # of files
_TAIL = 64 << 10  # bytes at the end of a file that recognize it: the footer


# -- options


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
    if nulls not in NULLS:
        raise InvalidArgumentError(f"nulls={nulls!r} must be 'error', 'default' or 'mask'")


def _dataset(reader, shuffle_records=False, records=None, part=None):
    options = {
        "count": reader.count, "name": reader.name, "mark": reader.mark,
        "shuffle_records": shuffle_records, "records": records, "part": part,
        "preferred": reader.preferred or None,
    }  # fmt: skip
    return dataset_of(Numbered(reader, reader.spec, ()), reader.spec, options)


# -- streams


_STREAM_ROWS = 256  # of a block


class _Stream:
    """The rows of a stream of record batches, as blocks."""

    def __init__(self, given, columns, nulls):
        pa = pyarrow()
        self.reader = given
        if not isinstance(given, pa.RecordBatchReader):
            self.reader = pa.RecordBatchReader.from_stream(given)
        self.names = _selected(self.reader.schema, columns)
        self.nulls = nulls
        self.before = self.at = self.size = 0  # rows before the batch; rows read of it, and all
        self.begun = None  # the run that reads it

    def __iter__(self):
        return self

    @property
    def schema(self):
        schema = self.reader.schema
        return pyarrow().schema([schema.field(n) for n in self.names]) if self.names else schema

    def _enter(self):
        batch = self.reader.read_next_batch()
        self.before, self.at, self.size = self.before + self.size, 0, batch.num_rows
        self.held = held(batch.select(self.names) if self.names else batch, self.nulls)

    def pick(self, first, n):
        return _levada.arrow_pick([self.held], array("q", [0]), array("q", range(first, first + n)))

    def __next__(self):
        """(the first row of the next block in its batch, how many it has)."""
        while self.at == self.size:
            self._enter()
        first, n = self.at, min(_STREAM_ROWS, self.size - self.at)
        self.at += n
        return first, n


class _Reopened(_Stream):
    """A stream that a function returns again."""

    def save(self):
        return str(self.before + self.at).encode()

    def restore(self, data):
        rows = int(data)
        try:
            while self.before + self.size < rows:
                self._enter()
        except StopIteration:
            raise FailedPreconditionError(
                f"the Arrow stream ends after {self.before + self.size} rows, but the checkpoint "
                f"was saved after row {rows}; pass a function that returns the same stream"
            ) from None
        self.at = rows - self.before


class _Streamed(Records):
    def call(self, run, _):
        stream = self.noted(run)
        if stream.begun not in (None, run):
            raise self._read_before()
        stream.begun = run
        first, n = next(stream, (0, 0))
        if not n:
            return None
        try:
            return stream.pick(first, n)
        except Exception:
            rows = singly(self, run, n, lambda i: stream.pick(first + i, 1))
            return self.columns_of(run).block(*rows)

    def _read_before(self):
        return FailedPreconditionError(
            f"from_arrow: {self.name} can be read only once, and an earlier pass (epoch) has read "
            "it; pass a function that returns a new stream for each pass: from_arrow(lambda: ...)"
        )


def _streamed(obj, columns, nulls, name):
    """The dataset of a stream, or of a function that returns one."""
    from levada._dataset import Dataset, with_spec
    from levada._functions import handle

    if callable(obj):
        first = obj()
        schema = _Stream(first, columns, nulls).schema

        def source():
            return _Reopened(obj(), columns, nulls)
    else:
        source = _Stream(obj, columns, nulls)
        schema = source.schema
    spec = spec_of(schema, nulls)
    target = _Streamed(source, spec, name or type(obj).__name__)
    made = handle(target, obj, source=True)
    return Dataset(_levada.append("records", with_spec(made, spec), ()))


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
    table = sound(table.select(names) if names else table, name or type(obj).__name__)
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


def _sample(row, pa):
    """The values of a row; what is wrong if pyarrow would read outside of its buffers."""
    try:
        row.validate(full=True)
        return row.to_pylist()
    except pa.ArrowInvalid as error:
        return str(error)


def _table_mark(table, pa):
    """A hash of the schema and of three rows."""
    from levada._contents import digest

    n = table.num_rows
    rows = [_sample(table.slice(i, 1), pa) for i in sorted({0, n // 2, max(n - 1, 0)})]
    return digest(repr((str(table.schema), n, rows)).encode())


def _is_stream(obj):
    """Returns true for a RecordBatchReader, and for a function that returns a stream."""
    if callable(obj) and not hasattr(obj, "__arrow_c_stream__"):
        return True
    return isinstance(obj, pyarrow().RecordBatchReader)


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

    pyarrow, Polars, pandas, DuckDB and every object with ``__arrow_c_stream__``. The batches of a
    ``RecordBatchReader`` are read one after the other: once, without checkpoints, and without
    numbers of records. A function that returns a reader (``from_arrow(lambda: reader())``) is
    called for each epoch, and again by ``restore``, which reads it up to the row of the checkpoint.

    Args:
        obj (Any): a Table, RecordBatch, list of batches, data frame, RecordBatchReader, another
            exporter of a stream, or a function that returns a stream.
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
    if not _is_stream(obj):
        return _dataset(table_reader(obj, name, columns, nulls), shuffle_records, records, part)
    if shuffle_records or records or part:
        raise InvalidArgumentError(
            "shuffle_records, records and part need the numbers of records, which a stream does "
            "not have; read it into a table first: from_arrow(reader.read_all(), ...)"
        )
    return _streamed(obj, columns, nulls, name)


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


def _filesystem(given):
    """A file system of pyarrow, or of fsspec, as one of pyarrow; None stays."""
    from pyarrow import fs

    if given is None or isinstance(given, fs.FileSystem):
        return given
    if not hasattr(given, "isdir"):
        raise TypeError(
            f"filesystem must be a file system of pyarrow or fsspec, got {type(given).__name__}"
        )
    return fs.PyFileSystem(fs.FSSpecHandler(given))


def _stored(files, filesystem):
    """The paths of files in a file system; a pattern may be the last part of a path."""
    import fnmatch

    from pyarrow import fs

    found = []
    for path in [files] if isinstance(files, (str, os.PathLike)) else list(files):
        path = os.fspath(path)
        folder, _, name = path.rpartition("/")
        if not any(mark in name for mark in "*?["):
            found.append(path)
            continue
        known = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        names = [info.path for info in known if info.is_file]
        matches = [p for p in names if fnmatch.fnmatchcase(p.rpartition("/")[2], name)]
        if not matches:
            raise NotFoundError(f"no file matches {path!r}", file=path)
        found += sorted(matches)
    return found


def _file_mark(paths, filesystem=None):
    """A hash of the sizes and of the ends of files."""
    import zlib

    from levada._contents import digest

    marks = []
    for path in paths:
        with filesystem.open_input_file(path) if filesystem else open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            size = file.tell()
            file.seek(max(size - _TAIL, 0))
            marks.append((os.path.basename(path), size, zlib.crc32(file.read())))
    return digest(repr(marks).encode())


def _versions(paths, filesystem=None):
    """What differs if a file is replaced or written to, for each file."""
    if filesystem:
        found = filesystem.get_file_info(list(paths))
        return [(info.size, info.mtime_ns) for info in found]
    stats = [os.stat(path) for path in paths]
    return [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in stats]


def _same_schema(schema, path, first, first_path):
    if schema.equals(first):
        return
    differing = next(
        (f"{a} and {b}" for a, b in zip(schema, first, strict=False) if not a.equals(b)),
        f"{len(schema)} and {len(first)} columns",
    )
    raise FailedPreconditionError(f"{path} and {first_path} have different schemas: {differing}")


def _within(batch, address, size):
    """Whether a batch has its buffers in this memory, judged by the first one that is not empty."""
    buffers = (buffer for column in batch.columns for buffer in column.buffers())
    first = next((buffer for buffer in buffers if buffer and buffer.size), None)
    return first is None or address <= first.address < address + size


class _Files:
    """Parts of files of one schema, by number.

    ``_open(path)`` returns the schema, and how many records each part has.
    """

    def __init__(self, paths, filesystem=None):
        self.paths, self.places, self.sizes, self.schema, self.names = paths, [], [], None, None
        self.filesystem = filesystem
        self.begin()
        self.mark_of_files = _file_mark(paths, filesystem)
        self.seen = _versions(paths, filesystem)
        for path in paths:
            schema, sizes = self._open(path)
            self.schema = self.schema or schema
            _same_schema(schema, path, self.schema, paths[0])
            self.places += ((path, k) for k in range(len(sizes)))
            self.sizes += sizes

    def begin(self):
        self.opened = {}
        self.seen = None  # another process may have copies of the files

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("opened", "seen")}

    def check(self):
        """Raises an error if a file has changed since the dataset was made."""
        now = _versions(self.paths, self.filesystem)
        if now == self.seen:
            return
        changed = self.paths[0]
        if self.seen is not None:
            pairs = zip(self.paths, self.seen, now, strict=True)
            changed = next(path for path, before, after in pairs if before != after)
        elif _file_mark(self.paths, self.filesystem) == self.mark_of_files:
            self.seen = now
            return
        raise FailedPreconditionError(
            "the file was replaced or written to after the dataset was made; make the dataset "
            "again to read the new records", file=changed
        )  # fmt: skip

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.begin()

    def select(self, columns):
        """Keeps only these columns; returns itself."""
        self.names = _selected(self.schema, columns)
        if self.names:
            fields = [self.schema.field(name) for name in self.names]
            self.schema = pyarrow().schema(fields)
        return self


class _ArrowFiles(_Files):
    """Record batches of IPC files and streams: ``load(i)``.

    ``views``: they are views of the mapped file, so that they cost little.
    """

    views = True

    def _reader(self, path):
        """(a function of a number that returns a batch, how many there are, schema, memory)."""
        pa = pyarrow()
        import pyarrow.ipc as ipc

        try:
            mapped, around = None, (0, 0)
            if self.filesystem is None:
                mapped = pa.memory_map(path).read_buffer()
                around = mapped.address, mapped.size
            source = mapped if mapped is not None else self.filesystem.open_input_file(path)
            begin = mapped[:6].to_pybytes() if mapped is not None else source.read(6)
            if mapped is None:
                source.seek(0)
            if begin == b"ARROW1":
                file = ipc.open_file(source)
                return file.get_batch, file.num_record_batches, file.schema, around
            stream = ipc.open_stream(source)
            batches = list(stream)
            return batches.__getitem__, len(batches), stream.schema, around
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataLossError(f"{path}: not a complete Arrow file or stream: {error}") from error

    def _batch(self, get, path, k):
        try:
            return sound(get(k), f"{path}: record batch {k} is damaged")
        except (pyarrow().ArrowException, OSError) as error:
            raise DataLossError(f"{path}: record batch {k} is damaged: {error}") from error

    def _open(self, path):
        get, n, schema, around = self._reader(path)
        sizes = []
        for k in range(n):
            batch = self._batch(get, path, k)
            sizes.append(batch.num_rows)
            self.views = self.views and _within(batch, *around)
        return schema, sizes

    def _file(self, path):
        if path not in self.opened:
            self.opened[path] = self._reader(path)
        return self.opened[path]

    def load(self, i):
        path, k = self.places[i]
        batch = self._batch(self._file(path)[0], path, k)
        return batch.select(self.names) if self.names else batch

    def around(self, i):
        """Address and size of the mapped file with the piece."""
        return self._file(self.places[i][0])[3]


def arrow(
    files: Paths,
    *,
    columns: str | Sequence[str] | None = None,
    nulls: str = "error",
    shuffle_records: bool = False,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
    filesystem: Any = None,
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
        filesystem (Any): a file system of pyarrow or fsspec that has the files, as in ``parquet``.
            Their record batches are read when they are needed, and all of them once to count the
            records.

    Example:
        import pyarrow as pa
        with pa.OSFile("x.arrow", "wb") as sink, pa.ipc.new_file(sink, pa.schema({"x": "int64"})):
            pass
        print(len(lv.arrow("x.arrow")))
    """
    _check_nulls(nulls)
    pyarrow()
    filesystem = _filesystem(filesystem)
    paths = _stored(files, filesystem) if filesystem else _files(files)
    given = _ArrowFiles(paths, filesystem).select(columns)
    reader = Pieces(
        given.schema,
        given.sizes,
        given.load,
        nulls,
        _name_of(paths),
        given.mark_of_files,
        keep=_MOST_VIEWS if shuffle_records or given.views else 2,
        around=given.around,
        check=given.check,
    )
    return _dataset(reader, shuffle_records, records, part)


def _name_of(paths):
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _pruned(paths, filters, filesystem):
    """{path: numbers of the row groups that may have a record that matches}, by statistics."""
    pa = pyarrow()
    import pyarrow.dataset as pads
    import pyarrow.parquet as pq

    if not isinstance(filters, pads.Expression):
        filters = pq.filters_to_expression(filters)
    kept = {}
    for path in paths:
        try:
            dataset = pads.dataset(path, format="parquet", filesystem=filesystem)
            (fragment,) = dataset.get_fragments()
            kept[path] = {group.id for group in fragment.subset(filters).row_groups}
        except pa.ArrowInvalid as error:
            raise InvalidArgumentError(f"filters: {error}", file=path) from error
    return kept


class _ParquetFiles(_Files):
    """Row groups of Parquet files: ``load(i)``."""

    def __init__(self, paths, row_groups=None, filters=None, filesystem=None):
        super().__init__(paths, filesystem)
        self.all = len(self.places) if row_groups is None else -1
        if row_groups is not None:
            self._choose(row_groups)
        if filters is not None:
            kept = _pruned(paths, filters, filesystem)
            self._choose([i for i, (path, g) in enumerate(self.places) if g in kept[path]])

    def begin(self):
        super().begin()
        self.opened = threading.local()  # two threads may not read with one ParquetFile

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
            if self.filesystem:
                return pq.ParquetFile(self.filesystem.open_input_file(path), pre_buffer=True)
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
            return self.mark_of_files
        from levada._contents import digest

        chosen = [(self.paths.index(path), g) for path, g in self.places]
        return digest(repr((self.mark_of_files, chosen)).encode())

    def load(self, i):
        path, g = self.places[i]
        if getattr(self.opened, "path", None) != path:
            self.opened.path, self.opened.file = path, self._reader(path)
        table = self.opened.file.read_row_group(g, columns=self.names, use_threads=False)
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
    filesystem: Any = None,
) -> Dataset[dict[str, Any]]:
    """Reads Parquet files, and decodes the next row group ahead (pyarrow must be installed).

    Footers have the numbers of records, so ``len(ds)``, ``ds[i]``, ``records`` and ``part`` need no
    index. Follow it with ``shuffle(n)`` for a random order.

    Args:
        files (Paths): a path, a glob, or a list of them, with one schema.
        columns (str | Sequence[str]): names of the columns to read; ``None`` = all.
        row_groups (Iterable[int]): numbers of the row groups to read, in this order, counted over
            all files from 0; ``None`` = all.
        filters (Any): a pyarrow expression, or tuples such as ``[("x", ">", 3)]``: levada skips row
            groups whose statistics exclude every record. Records of the remaining row groups are
            not filtered: use ``ds.filter`` for that.
        nulls (str, default "error"): as in ``from_arrow``.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch. Each record decodes its row group, unless that is cached: requires row groups of
            at most 10,000 records, or ``cache_row_groups``.
        cache_row_groups (int, default 1): decoded row groups that stay in memory.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.
        filesystem (Any): a file system of pyarrow or fsspec that has the files, such as
            ``pyarrow.fs.S3FileSystem()``; ``None`` = local files. The last part of a path may be a
            pattern.

    Example:
        lv.write(lv.range(10), "numbers.parquet")
        print(len(lv.parquet("numbers.parquet")))
    """
    _check_nulls(nulls)
    pyarrow()
    filesystem = _filesystem(filesystem)
    paths = _stored(files, filesystem) if filesystem else _files(files)
    given = _ParquetFiles(paths, row_groups, filters, filesystem).select(columns)
    largest = max(given.sizes, default=0)
    if shuffle_records and cache_row_groups == 1 and largest > _MOST_ROWS:
        raise InvalidArgumentError(
            f"shuffle_records would decode a row group of {largest:,} records for each record; "
            "pass cache_row_groups=, or use shuffle(n) instead"
        )
    reader = Pieces(
        given.schema, given.sizes, given.load, nulls, _name_of(paths), given.mark(),
        keep=cache_row_groups, ahead=not shuffle_records, check=given.check,
    )  # fmt: skip
    return _dataset(reader, shuffle_records, records, part)


# -- Hugging Face and Lance


def _hf_reader(ds, name, columns, nulls):
    """By chunk of the memory-mapped table, in the order of `_indices`."""
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
        reader.choose(ds._indices.column(0))
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
        raise TypeError(f"from_hf: ds must be a datasets.Dataset, got {type(ds).__name__}")
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
    preferred = 1024

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
        return block_of(table, self.nulls)


def _lance_reader(ds, name, columns, nulls):
    return _Lance(ds, name, columns, nulls)
