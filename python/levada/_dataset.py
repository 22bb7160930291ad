# SPDX-License-Identifier: Apache-2.0
"""Datasets: immutable descriptions of pipelines."""

from __future__ import annotations

import os
import sys

from levada import _levada
from levada._divided import Divided
from levada._stages import Stages
from levada._threads import threads_for
from levada._typed import T
from levada._values import integer as _integer
from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from levada._batch import Batch
    from levada._iterator import Iterator

_DTYPE_SIGNS = {"string": "bytes"}
_MOST = 2**63 - 1
_LIMITS = {
    "seed": (-1, _MOST),  # -1 picks a random seed, too
    "threads": (0, 256),
    "max_bytes": (0, _MOST),
    "block_rows": (0, 65536),
}


class _Unset:
    """The default of a setting that the call does not change."""

    __slots__ = ()

    def __repr__(self):
        return "unchanged"


_UNSET: Any = _Unset()
_SETTINGS = ("seed", "threads", "errors", "max_bytes", "block_rows")


def _not_a_spec(value):
    from levada._features import not_a_spec

    return not_a_spec(value)


def unknown_name(what, name, known):
    from levada._nearest import unknown

    return unknown(what, name, known)


class Epochs:
    """Which epoch the next iterator takes."""

    __slots__ = ("next",)

    def __init__(self):
        self.next = 0

    def take(self):
        self.next += 1
        return self.next - 1

    def seen(self, epoch):
        self.next = max(self.next, epoch + 1)


class Field:
    """One column of a dataset: ``dtype``, ``shape`` (of one record, None = varies), ``ragged``
    (levels), ``padded``."""

    __slots__ = ("dtype", "padded", "ragged", "shape")

    def __init__(self, dtype: str, depth: int, dims: Iterable[int], padded: bool) -> None:
        from levada._dtypes import DTYPES

        self.dtype = DTYPES[dtype]
        self.ragged = depth
        self.shape = (None,) * depth + tuple(None if d < 0 else d for d in dims)
        self.padded = bool(padded)

    def __eq__(self, other):
        return isinstance(other, Field) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        shape = ", ".join("?" if size is None else str(size) for size in self.shape)
        extra = ", padded" if self.padded else ", ragged" if self.ragged else ""
        return f"{self.dtype}[{shape}]{extra}"

    def describe(self, batched: bool) -> str:
        """As in the representation of a dataset: "uint8[B, T]    padded, lengths int32[B]"."""
        letters = iter("TUVWXYZ")
        dims = [next(letters, "?") if size is None else str(size) for size in self.shape]
        dims = ["B", *dims] if batched else dims
        name = _DTYPE_SIGNS.get(self.dtype.name, self.dtype.name)
        text = f"{name}[{', '.join(dims)}]" if dims else name
        if self.padded:
            return f"{text}    padded, lengths int32[B]"
        return f"{text}    ragged" if self.ragged else text


class Placeholder:
    """Stands for a record while ``interleave(fn)`` asks what to do with one."""

    def __getitem__(self, name):
        return "{" + name + "}"


class Dataset(Divided[T]):
    """An immutable pipeline. Methods return new datasets; iterating runs the pipeline.

    Each ``iter(ds)`` of the same object runs the next epoch: 0, 1, 2, ... ``str(ds)`` is the text
    of the pipeline, which ``levada.from_text`` parses. Functions such as ``levada.open`` and
    ``levada.range`` make datasets; programs do not call the constructor.

    Args:
        core (object): the pipeline in C.
        settings (dict): the options of ``with_options``.
        home (int): the process that made the sources; None = this process.

    Example:
        ds = lv.range(10).shuffle(4, seed=7).batch(5)
        for batch in ds:
            print(batch["value"])
    """

    __slots__ = ("__weakref__", "_core", "_epochs", "_home", "_settings", "_targets")

    def __init__(
        self,
        core: _levada.Dataset,
        settings: dict[str, Any] | None = None,
        home: int | None = None,
    ) -> None:
        self._core = core
        self._settings = settings or {}
        self._epochs = Epochs()
        self._targets: list[Any] | None = None
        self._home = os.getpid() if home is None else home  # the process that made its sources

    def to_value(self) -> _levada.Dataset:
        """Returns the pipeline in C, which options of other pipelines may contain.

        Example:
            print(lv.range(3).to_value())
        """
        return self._core

    # -- making

    def _append(
        self, name: str, options: dict[str, Any], more: Iterable[Dataset[Any]] = ()
    ) -> Dataset[Any]:
        every = (self, *more)
        made = _levada.append(name, options, tuple(dataset._core for dataset in every))
        here = os.getpid()
        home = next((dataset._home for dataset in every if dataset._home != here), here)
        return Dataset(made, self._settings, home)

    def stage(self, name: str, **options: Any) -> Dataset[Any]:
        """Appends a stage by its name, for stages of loaded plug-ins.

        Args:
            name (str): the stage.
            options: the options of the stage.

        Example:
            print(lv.range(9).stage("take", count=2))
        """
        return self._append(name, options)

    def decode(self, name: str, field: str | None = None, **options: Any) -> Dataset[T]:
        """Appends a decoder by its name, for decoders of loaded plug-ins.

        Args:
            name (str): the decoder.
            field (str): column to decode; None = the default of the decoder, or the only column of
                bytes.
            options: the options of the decoder.

        Example:
            print(lv.from_arrays({"b": [b"12"]}).decode("decode_raw", "b", dtype="uint8").spec)
        """
        from levada import _plugins

        fn = _plugins.decoders.get(name)
        if fn is not None:
            return _plugins.apply_decoder(self, name, fn, field, **options)
        return self._append(name, {"field": field, **options} if field else options)

    def map(
        self,
        fn: Callable[..., Any],
        fields: str | Iterable[str] | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        batched: bool = False,
        workers: int = 1,
        processes: bool = False,
        pure: bool = True,
        rng: bool = False,
        keeps_lengths: bool = False,
    ) -> Dataset[T]:
        """Applies `fn` to every record.

        `fn` receives a dict of NumPy values and returns a dict of array-likes. If `fn` raises, the
        record is a bad record (``with_options(errors=)``), and you see the original exception.

        Args:
            fn (Callable): fn(record) -> dict; with `batched` fn(Batch) -> dict of columns.
            fields (str | Iterable[str]): calls fn(value, ...) with the values of these fields. `fn`
                returns their new values (one value, or a tuple in this order), or a dict of fields.
                All other fields stay. None = fn(record). ``"messages"`` passes a list of objects as
                a list of dicts, and ``"messages.role"`` a list of the values of one member.
            spec (Mapping): {field: dtype or feature} of all fields of the result; with `fields`,
                of the fields that `fn` returns. A value of None becomes the default of a
                ``FixedLenFeature`` that has one. ``{"messages": [{"role": lv.text}]}`` declares a
                list of objects. Without a spec, a field that `fn` returns under the name of a field
                of the input has the type of that field, if the first values fit it. The first
                values set the types of other fields: lists and arrays are sequences of any length.
            batched (bool, default False): passes whole batches; required after a batching stage. A
                list of objects is a column for each member (``"messages.role"``). A padded field
                that is returned with the same number of steps keeps its lengths; return
                ``levada.Padded(array, lengths)`` or a ``Ragged`` to change them.
            workers (int, default 1): number of calls at the same time, independent of ``threads``.
            processes (bool, default False): runs `fn` in `workers` processes, for functions that
                compute in Python. `fn` must be pure and defined at the top level of an importable
                module.
            pure (bool, default True): `fn` may be called again for a record after a restore.
            rng (bool, default False): calls fn(record, generator) with a NumPy generator that
                depends only on the record.
            keeps_lengths (bool, default False): declares that lengths (without `spec` also dtypes)
                do not change, so that an index applies.

        Example:
            ds = lv.range(3).map(lambda record: {"double": 2 * record["value"]})
            print([record["double"] for record in ds])
        """
        from levada import _functions

        if not callable(fn):
            raise TypeError(f"map: fn must be a function, got {type(fn).__name__}")
        declared = spec
        if fields is not None:
            fields = [fields] if isinstance(fields, str) else list(fields)
            fn = self._on_fields(fn, fields, batched)
            if spec is not None and not self._declares_all(spec):
                declared = None
        if processes:
            handle = _functions.in_processes(fn, spec, batched, workers, pure, rng)
        else:
            kind = _functions.BatchMap if batched else _functions.Map
            options = {"pure": pure, "workers": workers, "per_record": not batched}
            handle = _functions.handle(kind(fn, spec, rng), fn, **options)
        return self._append("map" if pure else "call", with_spec(handle, declared, keeps_lengths))

    def _declares_all(self, spec: Mapping[str, Any]) -> bool:
        """Whether a spec has all fields, also as lists of objects."""
        return self._core.flags & 1 != 0 or all(
            any(f"{name}.".startswith(f"{field}.") for field in spec) for name in self.spec
        )

    def _on_fields(self, fn: Any, fields: list[str], batched: bool) -> Any:
        from levada._functions import OnFields

        known = list(self.spec)
        if not batched:  # a list of objects has the names of its members up to a dot
            lists = (name for name, field in self.spec.items() if field.ragged)
            known += dict.fromkeys(
                name[:i] for name in lists for i, c in enumerate(name) if c == "."
            )
        for name in fields:
            if name not in known and not self._core.flags & 1:
                raise InvalidArgumentError(f"map: {unknown_name('field', name, known)}")
        return OnFields(fn, fields)

    def flat_map(
        self,
        fn: Callable[..., Iterable[Mapping[str, Any]]],
        *,
        spec: Mapping[str, Any] | None = None,
        workers: int = 1,
        rng: bool = False,
    ) -> Dataset[T]:
        """Applies `fn` to every record and returns all records that it produces.

        The keys of the records of ``a.txt:3`` are ``a.txt:3``, ``a.txt:3.1``, ``a.txt:3.2``.
        Downstream of another `flat_map`, keys have only the last number, so several records may
        have the same key.

        Args:
            fn (Callable): fn(record) -> a list or generator of dicts; must be pure.
            spec (Mapping): {field: dtype or feature} of the result, as in `map`.
            workers (int, default 1): number of calls at the same time.
            rng (bool, default False): calls fn(record, generator), as in `map`.

        Example:
            ds = lv.range(3).flat_map(lambda record: [record] * int(record["value"]))
            print([record["value"] for record in ds])
        """
        from levada import _functions

        if not callable(fn):
            raise TypeError(f"flat_map: fn must be a function, got {type(fn).__name__}")
        target = _functions.FlatMap(fn, spec, rng)
        handle = _functions.handle(target, fn, workers=workers, per_record=True)
        return self._append("flat_map", with_spec(handle, spec))

    def cache(self, path: str | os.PathLike[str] | None = None) -> Dataset[T]:
        """Stores the records of the first complete epoch and replays them in later epochs, without
        reading, decoding or calling functions again.

        Args:
            path (str): file for the records. The file is reused if it was written by the same
                pipeline, including paths and the code of lambdas and script functions; otherwise
                it is replaced when an epoch is complete. levada does not detect changes of the
                data or of imported modules, so delete the file after such a change. None = in
                memory, for all iterators of this dataset.

        Raises:
            InvalidArgumentError: an upstream stage draws random numbers, which would be the same
                in every epoch; shuffle after the cache.

        Example:
            ds = lv.range(3).cache().shuffle(3, seed=7)
            print(len(ds.to_list()))
        """
        from levada import _sharing

        drawing = _sharing.drawing(self._core)
        if drawing is not None:
            raise InvalidArgumentError(
                f"cache would keep the same random draws for all epochs: write it before {drawing}"
            )
        if path is None:
            return self._append("cache", {})
        import os

        return self._append("cache", {"path": os.path.expanduser(os.fspath(path))})

    def filter(self, fn: str | Callable[[Any], Any]) -> Dataset[T]:
        """Keeps the records for which ``fn(record)`` returns True, or for which an expression
        holds.

        Args:
            fn (str | Callable): a pure function, or an expression such as ``"len(tokens) > 4"``.

        Example:
            print(lv.range(9).filter("value > 6").to_list())
        """
        if not callable(fn):
            return self._append("filter", {"expression": fn})
        from levada import _functions

        handle = _functions.handle(_functions.Keep(fn), fn, per_record=True)
        return self._append("filter", {"fn": handle})

    def with_columns(self, **columns: Any) -> Dataset[T]:
        """Adds or replaces fields by expressions, constants or functions of the record.

        Expressions (see `filter`) are computed for whole blocks, without Python. Expressions
        support ``+ - * / // %``, comparisons, ``and or not in``, ``len abs int64 float16 float32
        float64``, and the dtypes of NumPy. Write spaces around operators, because names of fields
        may contain ``/`` and ``-``. Sequences are computed element by element, and fixed shapes
        stay fixed.

        Args:
            columns (str): name="expression", such as ``x="tokens / 255"``; or name=value, or
                name=fn(record). A str is an expression: write a constant string as bytes, or in
                quotes (``source="'web'"``). Expressions are computed first.

        Raises:
            InvalidArgumentError: an expression is invalid, or its fields have different shapes.

        Example:
            print(lv.range(2).with_columns(half="value / 2", source=b"web").first())
        """
        from levada._functions import WithColumns

        texts = {name: value for name, value in columns.items() if isinstance(value, str)}
        others = {name: value for name, value in columns.items() if name not in texts}
        made: Dataset[T] = self._append("with_columns", {"columns": texts}) if texts else self
        return made.map(WithColumns(others)) if others else made

    def group_by_window(
        self,
        key: str | Callable[[Any], int | bytes | str],
        reduce: Callable[[Any, Any], Mapping[str, Any]] | None = None,
        window_size: int | None = None,
        *,
        window_size_func: Callable[[Any], int] | None = None,
        padded: bool = False,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_multiple: int = 1,
        padding_side: str | None = None,
        drop_remainder: bool = False,
        collect: bool = False,
    ) -> Dataset[Any]:
        """Groups records with the same key into batches of `window_size` records.

        A window is emitted as soon as it is full. At the end of the input, the other windows
        follow in ascending order of keys.

        Args:
            key (str | Callable): a field of integers or byte strings, an expression
                (``"len(tokens) // 16"``, ``"label % 10"``), or fn(record) that returns an int,
                bytes or a str (ordered in this way).
            reduce (Callable): fn(key, Batch) -> dict of columns, one entry per record; None = the
                batch.
            window_size (int): records per window.
            window_size_func (Callable): fn(key) -> the window size of a key, instead of
                `window_size`.
            padded (bool, default False): pads the batches as ``padded_batch`` does; False = ragged.
            padded_shapes (Mapping): as in ``padded_batch``.
            padding_values (Mapping): as in ``padded_batch``.
            pad_to_multiple (int, default 1): as in ``padded_batch``.
            padding_side (str): as in ``padded_batch``.
            drop_remainder (bool, default False): drops windows that are not full at the end.
            collect (bool, default False): one record of each window, as ``collect()`` makes it.

        Example:
            for batch in lv.range(6).group_by_window("value % 2", window_size=3):
                print(batch["value"])
        """
        from levada import _windows

        options = {
            "window_size": window_size, "padded": padded, "padded_shapes": padded_shapes,
            "padding_values": padding_values, "pad_to_multiple": pad_to_multiple,
            "padding_side": padding_side, "drop_remainder": drop_remainder,
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value is not None}
        made = _windows.windows(self, key, reduce, window_size_func, given)
        return made.collect() if collect else made

    def select(self, *fields: str | Iterable[str]) -> Dataset[T]:
        """Keeps some of the fields, in the given order.

        Args:
            fields (str): names, as in ``select("a", "b")`` or ``select(["a", "b"])``.

        Example:
            print(lv.from_arrays({"a": [1], "b": [2]}).select("b").first())
        """
        names: list[Any] = []
        for field in fields:
            names += [field] if isinstance(field, str) or not hasattr(field, "__iter__") else field
        return self._append("select", {"fields": names})

    def split(self, *fractions: float, by: str = "record", seed: int = 0) -> tuple[Dataset[T], ...]:
        """Divides the records into disjoint parts, such as training and validation.

        A hash of the record's file and number (or of a field) decides its part. So a record is in
        the same part in every epoch, for any order, any number of threads and ranks, after a
        resume, and even if files are added.

        Args:
            fractions (float): expected share of each part, such as ``0.9, 0.1``; the sum is at
                most 1, and the remaining records are in no part.
            by (str, default "record"): "record" divides single records; a field of integers or
                byte strings keeps all records with an equal value in one part.
            seed (int, default 0): seed of the hash; another seed divides the records differently.

        Returns:
            tuple: one dataset for each fraction.

        Raises:
            InvalidArgumentError: the sum of `fractions` exceeds 1, or `by` is not a field of
                integers or byte strings.

        Example:
            train, validation = lv.range(1000).split(0.9, 0.1)
            print(len(validation.to_list()))
        """
        options = {"fractions": list(fractions), "by": by, "seed": seed}
        return tuple(self._append("split", {**options, "part": i}) for i, _ in enumerate(fractions))

    def _stage(self, name: str, **options: Any) -> Dataset[Any]:
        from levada._lengths import LengthHistogram, with_boundaries

        specs = ("spec", "context", "sequences") if name.startswith("parse_") else ("spec",)
        for option in specs:
            if isinstance(options.get(option), (list, tuple, set)):
                raise InvalidArgumentError(f"{name}: {_not_a_spec(options[option])}")

        if isinstance(options.get("boundaries"), LengthHistogram):
            return self._stage(name, **with_boundaries(options))
        if "record_defaults" in options:
            from levada._decoders import csv_defaults

            options["record_defaults"] = csv_defaults(options["record_defaults"])
        if not callable(options.get("length")) and not callable(options.get("cost")):
            made = super()._stage(name, **options)
            if "count" in options:
                from levada._sharing import warn_of_leak

                warn_of_leak(made._core)
            return made
        from levada import _functions

        if callable(options.get("cost")):
            return self._stage(name, **{**options, "cost": _functions.cost(options["cost"])})
        column = "bucket_length"
        ds = _functions.with_length(self, options["length"], column)
        ds = ds._stage(name, **{**options, "length": column})
        return ds if self._core.flags & 1 else ds.select(*self.spec)

    def interleave(
        self,
        fn: Dataset[Any] | Callable[[Any], Dataset[Any]],
        *,
        cycle_length: int = 4,
        block_length: int = 1,
    ) -> Dataset[Any]:
        """Opens a dataset for each record and interleaves their records.

        Args:
            fn (Dataset | Callable): fn(record) -> Dataset. It is called once, with an object whose
                ``["path"]`` is the text ``"{path}"``, which levada replaces for each record.
            cycle_length (int, default 4): number of datasets that are open at the same time.
            block_length (int, default 1): number of consecutive records from one dataset.

        Example:
            lv.samples.write(".")
            ds = lv.files("*.tfrecord.gz").interleave(lambda file: lv.tfrecord(file["path"]))
            print(sum(1 for record in ds))
        """
        pipe = fn if isinstance(fn, Dataset) else fn(Placeholder())
        options = {"pipe": pipe, "cycle_length": cycle_length, "block_length": block_length}
        return self._append("interleave", options)

    def with_options(
        self,
        *,
        seed: int | None = _UNSET,
        threads: int | None = _UNSET,
        errors: str | None = _UNSET,
        max_bytes: int | None = _UNSET,
        block_rows: int | None = _UNSET,
        **unknown: Any,
    ) -> Dataset[T]:
        """Sets options of the iterators of this dataset.

        A setting that the dataset does not use has no effect. Settings are not part of the text or
        the JSON of the pipeline; copies and pickles keep them.

        Args:
            seed (int): seed of all random choices; None picks a random seed.
            threads (int): number of threads; 0 = one per CPU.
            errors (str): "fail", "skip", "skip:1000" or "skip:0.1%" of the records.
            max_bytes (int, default 1 GiB): size of the largest record of a file. Records of up
                to 256 KiB are always accepted.
            block_rows (int, default 256): records in a block before batching. A function processes
                a whole block before its first record is emitted.
            unknown (object): not accepted; the error suggests the nearest option.

        Example:
            ds = lv.range(10).shuffle(10).with_options(seed=7, threads=2)
        """
        for name in unknown:
            raise TypeError(f"with_options: {unknown_name('option', name, _SETTINGS)}")
        values = seed, threads, errors, max_bytes, block_rows
        given = {n: v for n, v in zip(_SETTINGS, values, strict=True) if v is not _UNSET}
        for name, value in given.items():
            if value is None:
                continue
            if name in _LIMITS:
                given[name] = _integer(name, value, *_LIMITS[name])
            elif isinstance(value, str):
                _levada.check_errors(value)
            else:
                raise TypeError(f"{name}={value!r} must be a str")
        return Dataset(self._core, {**self._settings, **given}, self._home)

    # -- running

    def _open(self, epoch: int, seed: int | None = None, kind: Any = _levada.Iter) -> Any:
        """An iterator over blocks of the extension, or of a class that is based on that one."""
        given = self._settings
        epoch = _integer("epoch", epoch, 0, _MOST)
        seed = given.get("seed") if seed is None else seed
        return _levada.Iter.__new__(
            kind,
            self._core,
            seed=-1 if seed is None else seed,
            epoch=epoch,
            threads=threads_for(given.get("threads") or 0, self._core),
            block_rows=given.get("block_rows") or 0,
            errors=given.get("errors"),
            max_bytes=given.get("max_bytes") or 0,
        )

    def _choosing(self) -> list[Any]:
        """Its Python functions that choose columns."""
        if "levada._functions" not in sys.modules:
            return []
        if self._targets is None:
            from levada._chosen import targets

            self._targets = targets(self._core)
        return self._targets

    def __iter__(self) -> Iterator[T]:
        from levada._iterator import Iterator

        _warn_in_worker(self)
        return Iterator(self, self._epochs.take())

    def iterate(self, epoch: int | None = None, *, position: bool = False) -> Iterator[T]:
        """Returns an iterator of an epoch.

        Args:
            epoch (int): the epoch, from 0; None = the next epoch, as ``iter(ds)``.
            position (bool, default False): adds a position to each batch (``batch.position``), for
                loops that read ahead of the step that is saved, for example to copy batches to a
                device.

        Example:
            ds = lv.range(100).batch(8)
            it = ds.iterate(0, position=True)
            ahead = [next(it) for _ in range(3)]
            again = ds.iterate(0)
            again.restore(ahead[0].position)  # continues with the second batch
        """
        from levada._iterator import Iterator, PositionIterator

        if position and not self._core.flags & 2:
            raise InvalidArgumentError(
                "position=True needs batches, but this dataset emits records: add batch()"
            )
        _warn_in_worker(self)
        kind = PositionIterator if position else Iterator
        return kind(self, self._epochs.take() if epoch is None else epoch)

    def blocks(self, epoch: int | None = None) -> Iterator[Batch]:
        """Returns an iterator over the blocks of an epoch, as ``Batch`` objects over levada's
        memory.

        This is the fastest way to read every record, because a column is copied only when you read
        it, if at all. A block has up to ``block_rows`` records (`with_options`; default 256). The
        blocks of a batched dataset are its batches.

        Args:
            epoch (int): the epoch, from 0; None = the next epoch.

        Example:
            print(sum(len(block) for block in lv.range(1000).blocks()))
        """
        from levada._iterator import Iterator

        _warn_in_worker(self)
        return Iterator(self, self._epochs.take() if epoch is None else epoch, blocks=True)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _levada.arrow_stream(self._core, (batch._block for batch in self.blocks()))

    def __arrow_c_schema__(self) -> Any:
        if not self._core.flags & 1:
            return _levada.arrow_schema(self._core)
        with self.blocks(epoch=0) as blocks:
            first = next(blocks, None)
            return _levada.arrow_schema(self._core if first is None else first._block)

    def first(self) -> T:
        """Returns the first batch (or record) of epoch 0. Raises OutOfRangeError if it is empty.

        Example:
            print(lv.range(3).first())
        """
        from levada._iterator import Iterator
        from levada.errors import OutOfRangeError

        with Iterator(self) as iterator:
            for value in iterator:
                return value
        raise OutOfRangeError("the dataset is empty")

    def to_list(self, n: int | None = None) -> list[T]:
        """Returns the first `n` records (batches) of epoch 0 as a list.

        Args:
            n (int): number of records (batches); None = all.

        Example:
            print(lv.range(9).to_list(2))
        """
        most = None if n is None else _integer("n", n, 0, _MOST)
        values: list[T] = []
        if most == 0:
            return values
        from levada._iterator import Iterator

        with Iterator(self) as iterator:
            for value in iterator:
                values.append(value)
                if len(values) == most:
                    break
        return values

    def show(self, n: int = 3) -> None:
        """Prints the first `n` records of epoch 0, or the first `n` records of the first batch.

        Args:
            n (int, default 3): number of records.

        Example:
            lv.range(9).show(2)
        """
        from levada._show import batch_text, record_text

        n = _integer("n", n, 0, _MOST)
        if self._core.flags & 2:
            print("\n".join(batch_text(batch, n) for batch in self.to_list(1)) or "no batch")
            return
        records = [f"record {i}\n{record_text(r, '  ')}" for i, r in enumerate(self.to_list(n))]
        print("\n".join(records) or "no record")

    # -- looking

    @property
    def spec(self) -> dict[str, Field]:
        """{field: Field(dtype, shape)} as far as it is known before anything runs."""
        return {f[0]: Field(f[1], f[2], f[3], f[4]) for f in self._core.fields()}

    def __str__(self):
        return self._core.text()

    def to_json(self) -> str:
        """Returns the pipeline as canonical JSON, with every option.

        Example:
            print(lv.range(3).batch(2).to_json())
        """
        return self._core.json()

    def explain(self) -> str:
        """Describes how the dataset runs, as text: its settings, and for each stage whether it runs
        in order or in parallel, its random parts, and the content of its saved state.

        Example:
            print(lv.range(9).shuffle(4, seed=7).batch(2).explain())
        """
        from levada._show import explained

        given = {"threads": "one for each CPU", "seed": "a random one", **self._settings}
        settings = ", ".join(f"{name}: {value}" for name, value in given.items())
        return f"{settings}\n{explained(self._core)}fingerprint: {self.fingerprint()}\n"

    def fingerprint(self) -> str:
        """Returns 32 hex digits that identify the pipeline, without tuning options and directories.

        Of functions, it covers the names and the captured values, not the code. Of arrays and lists
        of records, it covers the length and 4,096 records, spread evenly (of large arrays fewer:
        about 64 MiB). Of objects of your own classes, it covers the class.

        Example:
            print(lv.range(3).fingerprint() == lv.range(3).fingerprint())
        """
        return self._core.fingerprint().hex()

    def __eq__(self, other: object) -> bool:
        """Equal descriptions and settings, and the same data. Functions are equal if their names,
        their code and what they capture are, or if they are the same objects."""
        if not isinstance(other, Dataset):
            return NotImplemented
        if self._settings != other._settings or self._core.json() != other._core.json():
            return False
        if self._core is other._core:
            return True
        from levada._pickling import same_parts

        return same_parts(self._core, other._core)

    def __hash__(self) -> int:
        return hash(self._core.json())

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """Records or batches, where they can be known without reading. Else TypeError."""
        from levada._length import length

        return length(self._core)

    if not TYPE_CHECKING:  # else every name would be one

        def __getattr__(self, name):
            """Names the word of levada in place of another library's."""
            from levada._words import METHODS

            if name in METHODS:
                message = f"a Dataset has no {name!r}; levada calls it {METHODS[name]}"
            else:
                message = f"'Dataset' object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)

    def __copy__(self):
        return Dataset(self._core, self._settings, self._home)

    def __deepcopy__(self, memo):
        return Dataset(self._core, dict(self._settings), self._home)

    def __reduce__(self):
        """Functions are pickled by name, as Python does it; arrays go along."""
        from levada._pickling import pickled

        return _unpickle, (pickled(self._core), self._settings)

    def _repr_html_(self) -> str:
        """The pipeline as a picture with its fields, for notebooks."""
        from levada._show import dataset_html

        return dataset_html(self)

    def __repr__(self):
        from levada._plain import plain
        from levada._show import stage_text

        names, core = [], self._core
        while core is not None:
            names.append(stage_text(core))
            inputs = core.inputs()
            core = inputs[0] if len(inputs) == 1 else None
            if len(inputs) > 1:
                names.append(plain(f"({'; '.join(i.text() for i in inputs)})"))
        batched = bool(self._core.flags & 2)
        spec = [(plain(name), field) for name, field in self.spec.items()]
        known, what = _known_length(self._core), "batches" if batched else "records"
        told = [name for name, _ in spec] + [what] * (known is not None)
        width = max(map(len, told), default=0)
        lines = [f"levada.Dataset  {' → '.join(reversed(names))}"]
        lines += [f"  {name:<{width}}  {field.describe(batched)}" for name, field in spec]
        lines += ["  ?  more fields, known when it runs"] if self._core.flags & 1 else []
        lines += [f"  {what:<{width}}  {known:,}".replace(",", " ")] if known is not None else []
        return "\n".join(lines)


def _warn_in_worker(dataset):
    """See `_sharing.warn_in_worker`; without PyTorch nothing is imported."""
    if "torch.utils.data" in sys.modules:
        from levada import _sharing

        _sharing.warn_in_worker(dataset)


def _known_length(core):
    from levada._length import known_now

    return known_now(core)


def _unpickle(given, settings):
    from levada._pickling import unpickled

    return Dataset(unpickled(given), settings, home=0)


def with_spec(handle, spec, keeps_lengths=False):
    options = {"fn": handle, "keeps_lengths": True} if keeps_lengths else {"fn": handle}
    if not spec:
        return options
    from levada._columns import kinds_of

    return {**options, "spec": kinds_of(spec)}


for _kind in (Stages, Divided, Dataset):  # errors end in the line of the caller
    for _name, _fn in [*vars(_kind).items()]:
        if callable(_fn) and (_name[0] != "_" or _name in ("__getitem__", "__len__")):
            setattr(_kind, _name, _levada.Front(_fn))
