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
    """An immutable description of a pipeline. Methods return new datasets; iterating runs one.

    Each ``iter(ds)`` of one object takes the next epoch: 0, 1, 2, ... ``str(ds)`` is the text form,
    which ``levada.from_text`` reads back.
    """

    __slots__ = ("__weakref__", "_core", "_epochs", "_home", "_settings")

    def __init__(
        self,
        core: _levada.Dataset,
        settings: dict[str, Any] | None = None,
        home: int | None = None,
    ) -> None:
        self._core = core
        self._settings = settings or {}
        self._epochs = Epochs()
        self._home = os.getpid() if home is None else home  # the process that made its sources

    def to_value(self) -> _levada.Dataset:
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
        """A stage by its name, for those of loaded libraries."""
        return self._append(name, options)

    def decode(self, name: str, field: str | None = None, **options: Any) -> Dataset[T]:
        """A decoder by its name, for those of loaded libraries."""
        from levada import _plugins

        fn = _plugins.decoders.get(name)
        if fn is not None:
            return _plugins.apply_decoder(self, name, fn, field, **options)
        return self._append(name, {"field": field, **options} if field else options)

    def map(
        self,
        fn: Callable[..., Mapping[str, Any] | Batch],
        *,
        spec: Mapping[str, Any] | None = None,
        batched: bool = False,
        workers: int = 1,
        processes: bool = False,
        pure: bool = True,
        rng: bool = False,
        keeps_lengths: bool = False,
    ) -> Dataset[T]:
        """fn(record) -> dict for each record: a dict of NumPy values in, array-likes out.

        `batched`: fn(Batch) -> dict of columns instead, the only form after a batching stage,
        where a batch is one element. A padded field that comes back with the same number of steps
        keeps its lengths; ``levada.Padded(array, lengths)`` and a Ragged have their own.
        `spec`: {field: dtype or feature} of the result. Without one, lists and arrays of records
        are sequences of any length, and the first result fixes dtypes. `workers`: calls at the
        same time, whatever ``threads`` is (with ``threads=1``, one at a time). `processes`: the
        calls run in `workers` processes, for functions that compute in Python; the function must
        be pure and stand at the top level of a module. `pure`: may be called again for a record
        after a restore. `rng`: fn(record, generator), a NumPy generator that depends on the record
        alone. `keeps_lengths`: lengths (without `spec` dtypes too) stay those of an index. A record
        whose call raises is bad (``with_options(errors=)``); one sees the original exception.
        """
        from levada import _functions

        if not callable(fn):
            raise TypeError(f"map takes a function, not {type(fn).__name__}")
        if processes:
            handle = _functions.in_processes(fn, spec, batched, workers, pure, rng)
        else:
            kind = _functions.BatchMap if batched else _functions.Map
            options = {"pure": pure, "workers": workers, "per_record": not batched}
            handle = _functions.handle(kind(fn, spec, rng), fn, **options)
        return self._append("map" if pure else "call", with_spec(handle, spec, keeps_lengths))

    def flat_map(
        self,
        fn: Callable[..., Iterable[Mapping[str, Any]]],
        *,
        spec: Mapping[str, Any] | None = None,
        workers: int = 1,
        rng: bool = False,
    ) -> Dataset[T]:
        """fn(record) -> any number of dicts, as a list or a generator: the records of the result.

        The options are those of `map`; the function must be pure. The keys of the records of record
        ``a.txt:3`` are ``a.txt:3``, ``a.txt:3.1``, ``a.txt:3.2``. Downstream of another `flat_map`
        they have the number of the last one alone, so several records may have the same key.
        """
        from levada import _functions

        if not callable(fn):
            raise TypeError(f"flat_map takes a function, not {type(fn).__name__}")
        target = _functions.FlatMap(fn, spec, rng)
        handle = _functions.handle(target, fn, workers=workers, per_record=True)
        return self._append("flat_map", with_spec(handle, spec))

    def cache(self, path: str | os.PathLike[str] | None = None) -> Dataset[T]:
        """The records of the first complete pass again in later ones (epochs, iterators), without
        reading, decoding or calling functions again.

        `path`: a file that holds them, also for later programs: it is reused where it was made of
        the same description, paths included, and else replaced. The code of lambdas and of
        functions of a script is a part of the description. Changes of the data and of imported
        modules are not noticed: remove the file then. It appears when a pass is complete. None:
        in memory, for the iterators of this dataset. A pass that skipped bad records is used where
        ``errors=`` allows as many. Raises InvalidArgumentError where what is upstream draws random
        numbers, which would be the same in every epoch: cache, then shuffle.
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
        """Records for which fn(record) is true, or an expression: ``"len(tokens) > 4"``."""
        if not callable(fn):
            return self._append("filter", {"expression": fn})
        from levada import _functions

        handle = _functions.handle(_functions.Keep(fn), fn, per_record=True)
        return self._append("filter", {"fn": handle})

    def with_columns(self, **columns: Any) -> Dataset[T]:
        """The records with more fields: constants, or functions of the record.

        ``ds.with_columns(source=b"web", n=lambda record: len(record["tokens"]))``. A field that
        exists is replaced.
        """
        from levada._functions import WithColumns

        if not columns:
            return self
        return self.map(WithColumns(columns), batched=False)

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
    ) -> Dataset[Batch]:
        """Batches of `window_size` records with the same key.

        A window is emitted as soon as it is full; at the end of the input the others follow in
        ascending order of keys.

        `key`: a field of integers or byte strings, an expression (``"len(tokens) // 16"``,
        ``"label % 10"``), or fn(record) that returns an int, bytes or a str: ints come before
        bytes, and those before str. `window_size_func`: fn(key) -> int, the window size of each
        key. `reduce`: fn(key, Batch) -> dict of columns, one entry per record; None: the batch
        itself. Both receive the key as the field, the expression or the function has it. `padded`
        and the options after it: as in ``padded_batch``; otherwise batches stay ragged.
        """
        from levada import _windows

        options = {
            "window_size": window_size, "padded": padded, "padded_shapes": padded_shapes,
            "padding_values": padding_values, "pad_to_multiple": pad_to_multiple,
            "padding_side": padding_side, "drop_remainder": drop_remainder,
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value is not None}
        return _windows.windows(self, key, reduce, window_size_func, given)

    def select(self, *fields: str | Iterable[str]) -> Dataset[T]:
        """Some of the fields, in that order: ``select("a", "b")`` or ``select(["a", "b"])``."""
        names: list[Any] = []
        for field in fields:
            names += [field] if isinstance(field, str) or not hasattr(field, "__iter__") else field
        return self._append("select", {"fields": names})

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
            return super()._stage(name, **options)
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
        """fn(record) -> Dataset for each record; their records in turn.

        fn is asked once, with an object whose ``["path"]`` is the text ``"{path}"``, which is
        filled in for each record.
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
        """Settings of its iterators: seed, threads, errors, max_bytes, block_rows.

        `seed`: None picks a random seed.
        `threads`: 0 means one for each CPU.
        `errors`: "fail", "skip", "skip:1000" or "skip:0.1%" of the records.
        `max_bytes`: the largest record of a file, in bytes (256 MiB). Records of up to 256 KiB
        always pass.
        `block_rows`: records in a block before batching (256). A function processes a whole block
        before its first record is emitted.

        A setting that the dataset does not use has no effect. Settings are not a part of the
        description, of its text or of its JSON; copies and pickles keep them.
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

    def __iter__(self) -> Iterator[T]:
        from levada._iterator import Iterator

        _warn_in_worker(self)
        return Iterator(self, self._epochs.take())

    def iterate(self, epoch: int | None = None, *, position: bool = False) -> Iterator[T]:
        """An iterator of that epoch; None: the next one, as ``iter(ds)``.

        `position`: each batch carries its position, for loops that read ahead of the step that is
        saved (to copy batches to a device, say)::

            ds = lv.range(100).batch(8)
            ahead = [next(it) for it in [ds.iterate(0, position=True)] for _ in range(3)]
            it = ds.iterate(0)
            it.restore(ahead[0].position)  # continues with the second batch
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
        """An iterator of that epoch over blocks, as ``Batch`` objects over levada's memory.

        The fastest way to read every record: a column is copied only when you read it, if at all. A
        block has up to ``block_rows`` records (`with_options`; 256
        where that is not set); of a batched dataset, blocks are its batches.
        """
        from levada._iterator import Iterator

        _warn_in_worker(self)
        return Iterator(self, self._epochs.take() if epoch is None else epoch, blocks=True)

    def first(self) -> T:
        """The first batch (or record) of epoch 0. Raises OutOfRangeError where there is none."""
        from levada._iterator import Iterator
        from levada.errors import OutOfRangeError

        with Iterator(self) as iterator:
            for value in iterator:
                return value
        raise OutOfRangeError("the dataset is empty")

    def to_list(self, n: int | None = None) -> list[T]:
        """The first `n` records (batches) of epoch 0 as a list; None: all of them."""
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
        """Prints the first `n` records of epoch 0, or the first `n` records of the first batch."""
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
        """The canonical JSON: every option written out."""
        return self._core.json()

    def explain(self) -> str:
        """Describes how the dataset runs, as text: its settings, and for each stage whether it runs
        in order or in parallel, its random parts, and the content of its saved state."""
        from levada._show import explained

        given = {"threads": "one for each CPU", "seed": "a random one", **self._settings}
        settings = ", ".join(f"{name}: {value}" for name, value in given.items())
        return f"{settings}\n{explained(self._core)}fingerprint: {self.fingerprint()}\n"

    def fingerprint(self) -> str:
        """32 hex digits over the JSON, without what only tunes and without directories.

        Functions count by their names and by the values that they capture, not by their code.
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
