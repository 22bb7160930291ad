# SPDX-License-Identifier: Apache-2.0
"""Objects whose records have numbers: ``from_random_access`` and what reads each kind of object."""

from __future__ import annotations

import dataclasses
import math
import os
import sys

from levada import _functions, _levada, errors
from levada._batch import column_of
from levada._columns import Columns
from levada._dataset import Dataset, with_spec
from levada._objects import declaration
from levada._reader import Reader
from levada._values import integer
from levada.errors import FailedPreconditionError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

CALL = 1 << 20  # bytes that a call reads of storage that likes large calls
FIRST = 8  # records that fix the columns where no spec does


class Rows(Reader):
    """Anything with ``__getitem__``, and ``__getitems__`` of a list if it has one."""

    def __call__(self, numbers):
        numbers = numbers.tolist()
        if hasattr(self.obj, "__getitems__"):
            return self.obj.__getitems__(numbers)
        return [self.obj[i] for i in numbers]


class Fetched(Reader):
    """A function of the user."""

    def __init__(self, obj, fetch, count, name):
        self.obj, self.fetch = obj, fetch
        self.name = name or getattr(fetch, "__qualname__", type(fetch).__name__)
        self.count = len(obj) if count is None else count

    def __call__(self, numbers):
        return self.fetch(numbers)

    def named(self):
        return "random_access fetch", {"fetch": self.fetch, "mark": self.mark}


class Arrays(Reader):
    """Arrays of the same first dimension, in memory or on disk: {field: array}."""

    def __init__(self, arrays, name=None):
        from levada._features import FixedLenFeature

        self.name = name or type(next(iter(arrays.values()))).__name__
        self.obj = {
            field: _Hdf5(array) if _is(array, "h5py", "Dataset") else array
            for field, array in arrays.items()
        }
        self.count = int(next(iter(arrays.values())).shape[0])
        self.preferred = max(min(CALL // max(sum(map(_row_bytes, arrays.values())), 1), 4096), 1)
        self.spec = {}
        for field, array in arrays.items():
            if array.shape[0] != self.count:
                raise InvalidArgumentError(
                    f"field {field!r} has {array.shape[0]} records, others have {self.count}"
                )
            if getattr(array.dtype, "hasobject", False):  # of h5py: text, or rows of any length
                self.spec = None
            elif self.spec is not None:
                self.spec[field] = FixedLenFeature(array.shape[1:], _dtype_of(array))

    def __call__(self, numbers):
        return {field: _some(array, numbers) for field, array in self.obj.items()}


class _Hdf5:
    """A dataset of an HDF5 file, which each process opens for itself."""

    def __init__(self, array):
        self.file, self.name = array.file.filename, array.name
        self.dtype, self.shape = array.dtype, array.shape
        self.array, self.process = array, os.getpid()

    def __getstate__(self):
        return {**self.__dict__, "array": None, "process": None}

    def __getitem__(self, numbers):
        if self.process != os.getpid():
            self.array, self.process = self._open(), os.getpid()
        return self.array[numbers]

    def _open(self):
        import h5py

        try:
            array = h5py.File(self.file, "r")[self.name]
        except (OSError, KeyError) as error:
            raise FailedPreconditionError(
                f"{self.file}: a process that reads {self.name!r} must open the file again: {error}"
            ) from error
        if (array.dtype, array.shape) != (self.dtype, self.shape):
            raise FailedPreconditionError(
                f"{self.file}: {self.name!r} was {self.dtype} {self.shape}, and is now "
                f"{array.dtype} {array.shape}"
            )
        return array


def _row_bytes(array):
    """Bytes of a row; those of objects may be many."""
    if getattr(array.dtype, "hasobject", False):
        return CALL
    return math.prod(array.shape[1:]) * array.dtype.itemsize


def _dtype_of(array):
    dtype = array.dtype
    return str(dtype).removeprefix("torch.") if type(array).__module__ == "torch" else dtype


def _some(array, numbers):
    if hasattr(array, "oindex"):  # zarr
        return array.oindex[numbers]
    if type(array).__module__ == "torch":
        from levada.interop._tensors import taken

        return taken(array, numbers)
    some = array[numbers]
    return list(some) if some.dtype.hasobject else some


def _is(obj, module, name):
    """Whether an object is of a class of a module, which is not imported for that."""
    return module in sys.modules and isinstance(obj, getattr(sys.modules[module], name, ()))


def _is_array(obj):
    kinds = (("numpy", "ndarray"), ("h5py", "Dataset"), ("zarr", "Array"), ("torch", "Tensor"))
    if _is(obj, "torch", "Tensor") and obj.device.type != "cpu":
        raise TypeError(
            f"from_random_access: the tensor must be on the CPU, got {obj.device}; call cpu()"
        )
    return any(_is(obj, module, name) for module, name in kinds)


def _arrays(obj, fields, name):
    """{field: array} of an array, or of a mapping of arrays."""
    if hasattr(obj, "keys"):
        return Arrays(dict(obj), name)
    if obj.dtype.names if _is(obj, "numpy", "ndarray") else None:
        return Arrays({field: obj[field] for field in obj.dtype.names}, name)
    fields = [fields] if isinstance(fields, str) else list(fields or ())
    if len(fields) != 1:
        raise TypeError("from_random_access: an array has one field; name it with fields='x'")
    return Arrays({fields[0]: obj}, name)


def reader_of(obj, fetch, count, fields, name):
    """The reader that fits an object."""
    if fetch is not None:
        return Fetched(obj, fetch, count, name)
    if hasattr(obj, "keys") and obj and all(_is_array(obj[key]) for key in obj):
        return _arrays(obj, fields, name)
    if _is_array(obj):
        return _arrays(obj, fields, name)
    if _arrow_like(obj):
        from levada.interop._arrow import table_reader

        return table_reader(obj, name)
    if not hasattr(obj, "__getitem__"):
        raise TypeError(f"{type(obj).__name__} has no [number]; pass fetch=")
    if count is None and not hasattr(obj, "__len__"):
        raise TypeError(f"{type(obj).__name__} has no len(); pass count=")
    made = Rows.__new__(Rows)
    made.obj, made.name = obj, name or type(obj).__name__
    made.count = len(obj) if count is None else count
    return made


def _arrow_like(obj):
    kinds = (
        ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("datasets", "Dataset"),
        ("lance", "LanceDataset"), ("polars", "DataFrame"), ("pandas", "DataFrame"),
    )  # fmt: skip
    return any(_is(obj, module, name) for module, name in kinds)


_OF_A_PROCESS = ("readers", "free", "pool")


class Numbered(_functions._Target):
    """What levada calls with a block of numbers."""

    def __init__(self, read, spec, fields, first=None, workers=1):
        self.read, self.fields, self.first = read, fields, first  # columns of the first records
        self.workers = workers  # calls at the same time
        super().__init__(spec)

    def _begin(self):
        super()._begin()
        self.readers = {}  # of each run
        self.free = []  # (process, reader) of runs that are closed
        self.pool = None  # threads of `workers`, and their process
        if self.first:
            self.columns.begin_like(*self.first)

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k not in _OF_A_PROCESS}

    def reader(self, run):
        """The reader of a run, which keeps what it has read last (a decoded row group)."""
        if run not in self.readers:
            self.read.check()
            process, free = self.free.pop() if self.free else (None, None)
            self.readers[run] = free if process == os.getpid() else self.read.another()
        return self.readers[run]

    def close(self, run, _):
        super().close(run, _)
        if run in self.readers and len(self.free) < 1:
            self.free.append((os.getpid(), self.readers.pop(run)))
        self.readers.pop(run, None)

    def call(self, run, block):
        numbers, read = column_of(block, 0), self.reader(run)
        if read.table is not None:
            _levada.serve(self.tasks[run], read.table)
        try:
            return self.block_of(read, numbers)
        except Exception:
            if run not in self.tasks:
                raise
        return self.one_by_one(run, numbers, read)

    def block_of(self, read, numbers):
        """The block of these records, read by as many calls as there are workers."""
        if self.workers == 1 or len(numbers) == 1:
            return self.block(read(numbers), len(numbers))
        import numpy as np

        step = -(-len(numbers) // self.workers)
        parts = [numbers[i : i + step] for i in range(0, len(numbers), step)]
        results = list(self._threads().map(read, parts))
        if all(isinstance(got, list) for got in results):
            return self.block([row for got in results for row in got], len(numbers))
        blocks = [self.block(got, len(part)) for got, part in zip(results, parts, strict=True)]
        held = [_levada.arrow_hold(*_levada.arrow_export(block)) for block in blocks]
        firsts = np.arange(0, len(numbers), step, dtype=np.int64)
        return _levada.arrow_pick(held, firsts, np.arange(len(numbers), dtype=np.int64))

    def _threads(self):
        if self.pool is None or self.pool[1] != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            self.pool = ThreadPoolExecutor(self.workers, "levada random access"), os.getpid()
        return self.pool[0]

    def block(self, got, n):
        if isinstance(got, _levada.Block):
            return got
        if not hasattr(got, "keys"):
            rows = [self.record(row) for row in got]
            _check_count(len(rows), n)
            return self.columns.block(rows)
        for name, column in got.items():
            _check_count(len(column), n, f"field {name!r}: ")
        return self.columns.batch(dict(got))

    def record(self, row):
        """A row as a dict."""
        if hasattr(row, "keys"):
            return row
        if hasattr(row, "_asdict"):
            return row._asdict()
        if dataclasses.is_dataclass(row) and not isinstance(row, type):
            return {f.name: getattr(row, f.name) for f in dataclasses.fields(row)}
        if not self.fields:
            kind = type(row).__name__
            raise TypeError(f"a record must be a dict, got {kind}; name its values with fields=")
        if len(self.fields) == 1 and not isinstance(row, tuple):
            return {self.fields[0]: row}
        if len(row) != len(self.fields):
            raise ValueError(f"a record has {len(row)} values for {len(self.fields)} fields")
        return dict(zip(self.fields, row, strict=True))

    def one_by_one(self, run, numbers, read):
        """The same after a failure: the records that fail alone are bad."""

        def single(i):
            block = self.block(read(numbers[i : i + 1]), 1)
            self.columns.begin_like_block(block)
            return block

        return self.columns.block(*singly(self, run, len(numbers), single))


def _check_count(got, n, field=""):
    if got != n:
        raise InvalidArgumentError(f"{field}{n} numbers must return as many records, got {got}")


def singly(target, run, n, single):
    """(rows, rejects) of n records: ``single(i)`` returns a block with record i, or raises."""
    rows, rejects = [], []
    for i in range(n):
        target.go_on(run)
        row = None
        try:
            row = _only(single(i))
        except Exception as error:
            rejects.append((i, *errors.keep(error, first=not rejects)))
        rows.append(row)
    return rows, rejects


def _only(block):
    return {name: column_of(block, i)[0] for i, (name, *_) in enumerate(block.fields())}


def _readable(target, number):
    try:
        target.read(number)
    except Exception:
        return False
    return True


def _good(target, numbers):
    """The block of these records, without the bad ones; the iterator reports those."""
    try:
        return target.block(target.read(numbers), len(numbers))
    except Exception:
        good = [_readable(target, numbers[i : i + 1]) for i in range(len(numbers))]
        if all(good) or not any(good):
            raise
    return target.block(target.read(numbers[good]), sum(good))


def _first_columns(target, count):
    """(kinds, lists of objects) of the first records, as the target has them."""
    import numpy as np

    made = Columns()
    target.columns = made
    _good(target, np.arange(min(FIRST, count), dtype=np.int64))
    return made.kinds, made.objects


def _as_spec(kinds, objects):
    """Kinds as a spec for the core; None where values did not say them all."""
    if any(kind.dtype is None or kind.guessed for kind in kinds.values()):
        return None
    return declaration(kinds, objects.marks)


def _mark_of(target, count):
    """A hash of three records; None for an object whose records are different each time."""
    import numpy as np

    from levada._contents import digest

    if count == 0:
        return None
    numbers = np.unique(np.array([0, count // 2, count - 1], np.int64))
    seen = []
    for _ in range(2):
        block = _good(target, numbers)
        columns = [column_of(block, i) for i in range(len(block.fields()))]
        seen.append(digest(repr([_bytes_of(column) for column in columns]).encode()))
    return seen[0] if seen[0] == seen[1] else None


def _bytes_of(column):
    nested = [part.tobytes() for part in getattr(column, "nested", ())]
    values = getattr(column, "values", column)
    values = getattr(values, "data", values) if hasattr(values, "offsets") else values
    return nested, bytes(values) if isinstance(values, memoryview) else values.tobytes()


def _lengths_block(lengths, count):
    import numpy as np

    if not lengths:
        return None
    columns = {name: np.ascontiguousarray(values, np.int64) for name, values in lengths.items()}
    for name, values in columns.items():
        if values.shape != (count,):
            raise InvalidArgumentError(
                f"lengths of {name!r}: {values.shape} must be one for each of {count} records"
            )
    return Columns(dict.fromkeys(columns, "int64")).batch(columns)


def from_random_access(
    obj: Any,
    *,
    spec: Mapping[str, Any] | None = None,
    fetch: Callable[[Any], Mapping[str, Any] | Sequence[Any]] | None = None,
    count: int | None = None,
    fields: str | Sequence[str] | None = None,
    lengths: Mapping[str, Any] | None = None,
    fingerprint: str | bytes | None = None,
    shuffle_records: bool = False,
    records: tuple[int, int] | None = None,
    part: tuple[int, int] | None = None,
    workers: int = 1,
    name: str | None = None,
) -> Dataset[dict[str, Any]]:
    """Returns the records of an object that has ``len(obj)`` and ``obj[number]``.

    Lists, map-style datasets of torch and of Hugging Face, NumPy arrays and memmaps, HDF5 and zarr
    arrays, tensors, Arrow tables, data frames, Lance and ArrayRecord. levada asks for many records
    at once, by ascending numbers, and only for those that it needs. So checkpoints are exact and
    small, parts and ranks read their own records, and ``ds[i]`` and ``len(ds)`` work.

    Args:
        obj (Any): the object; a mapping of arrays {field: array} has one field for each.
        spec (Mapping): {field: dtype or feature}. Without it, the first 8 records set the columns.
        fetch (Callable): fetch(numbers) returns the records of an int64 array of ascending numbers:
            {field: column} or a list of records. ``None`` picks what fits the object: arrays and
            tables by columns, then ``obj.__getitems__(list)``, then ``obj[i]``.
        count (int): number of records; ``None`` = ``len(obj)``.
        fields (str | Sequence[str]): names of the values of records that are tuples, or of the one
            value that a record is.
        lengths (Mapping): {field: length of each record}, so that a rank with
            ``shard(sync="buckets")`` fetches only its own records.
        fingerprint (str | bytes): text that changes with the data. ``restore`` refuses an object
            with another fingerprint. ``None`` = the fingerprint of the object, or a hash of three
            of its records.
        shuffle_records (bool, default False): returns all records in a different order in each
            epoch. The order is computed, so it needs no memory.
        records (tuple[int, int]): (start, stop): only the records with these numbers.
        part (tuple[int, int]): (i, n): only part i of n, a range of the records.
        workers (int, default 1): calls at the same time, each on a thread of its own, for objects
            that wait for a disk or a network. The numbers of a block (``block_rows`` of
            ``with_options``, 256) are divided among them. The object must allow calls from several
            threads. The order of records does not depend on it.
        name (str): name of the object in errors and in ``record_keys``; ``None`` = its type.

    Returns:
        Dataset: the records.

    Raises:
        TypeError: the object has no length and ``count`` is missing, or a record is not a dict and
            ``fields`` is missing.

    Example:
        ds = lv.from_random_access([{"x": [1, 2]}, {"x": [3]}], shuffle_records=True)
        print(len(ds), ds[1]["x"])
    """
    read = reader_of(obj, fetch, count, fields, name)
    names = [fields] if isinstance(fields, str) else list(fields or ())
    spec = spec if spec is not None else read.spec
    workers = integer("workers", workers, 1, 256)
    target = Numbered(read, spec, names, None, workers)
    if spec is None and read.count > 0:
        first = _first_columns(target, read.count)
        spec = _as_spec(*first)
        target = Numbered(read, spec, names, first, workers)
    if fingerprint is not None:
        read.mark = fingerprint.hex() if isinstance(fingerprint, bytes) else str(fingerprint)
    elif read.mark is None and fetch is None:
        read.mark = _mark_of(Numbered(read, spec, names, target.first), read.count)
    target._begin()
    options = {
        "count": read.count, "name": read.name, "mark": read.mark,
        "lengths": _lengths_block(lengths, read.count), "preferred": read.preferred or None,
        "shuffle_records": shuffle_records, "records": records, "part": part,
    }  # fmt: skip
    return dataset_of(target, spec, options)


def dataset_of(target, spec, options):
    """The dataset of the source `random`."""
    given = with_spec(_functions.handle(target, target.read), spec)
    given |= {name: value for name, value in options.items() if value is not None}
    return Dataset(_levada.append("random", given, ()))
