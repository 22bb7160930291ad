# SPDX-License-Identifier: Apache-2.0
"""Datasets: immutable descriptions of pipelines."""

from __future__ import annotations

import operator
from builtins import zip as _zip

from levada import _levada
from levada._stages import Stages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from levada._iterator import Iterator

_DTYPE_SIGNS = {"string": "bytes"}
_MOST = 2**63 - 1
_LIMITS = {
    "seed": (-1, _MOST),  # -1 picks a random seed, too
    "threads": (0, 256),
    "max_bytes": (0, _MOST),
    "block_rows": (0, 65536),
}


def _integer(name, value, least, most):
    """An int between those limits, of anything that is an integer."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} must be an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number} must be {least}..{most}")
    return number


def _text_of(description):
    if isinstance(description, (bytes, bytearray)):
        return bytes(description).decode()
    if not isinstance(description, str):
        raise TypeError(f"a description is a str, not {type(description).__name__}")
    return description


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


class Dataset(Stages):
    """An immutable description of a pipeline. Methods return new datasets; iterating runs one.

    Each ``iter(ds)`` of one object takes the next epoch: 0, 1, 2, ... ``str(ds)`` is the text form,
    which ``levada.from_text`` reads back.
    """

    __slots__ = ("__weakref__", "_core", "_epochs", "_settings")

    def __init__(self, core: _levada.Dataset, settings: dict[str, Any] | None = None) -> None:
        self._core = core
        self._settings = settings or {}
        self._epochs = Epochs()

    def to_value(self) -> _levada.Dataset:
        return self._core

    # -- making

    def _append(self, name: str, options: dict[str, Any], more: Iterable[Dataset] = ()) -> Dataset:
        inputs = (self._core, *(dataset._core for dataset in more))
        return Dataset(_levada.append(name, options, inputs), self._settings)

    def stage(self, name: str, **options: Any) -> Dataset:
        """A stage by its name, for those of loaded libraries."""
        return self._append(name, options)

    def decode(self, name: str, field: str | None = None, **options: Any) -> Dataset:
        """A decoder by its name, for those of loaded libraries."""
        from levada import _plugins

        fn = _plugins.decoders.get(name)
        if fn is not None:
            return _plugins.apply_decoder(self, name, fn, field, **options)
        return self._append(name, {"field": field, **options} if field else options)

    def map(
        self,
        fn: Callable[..., Mapping[str, Any]],
        *,
        spec: Mapping[str, Any] | None = None,
        batched: bool = False,
        workers: int = 1,
        pure: bool = True,
        rng: bool = False,
    ) -> Dataset:
        """fn(record) -> dict for each record: a dict of NumPy values in, array-likes out.

        `batched`: fn(Batch) -> dict of columns instead, the only form after a batching stage,
        where a batch is one element. A padded field that comes back with the same number of steps
        keeps its lengths; ``levada.Padded(array, lengths)`` and a Ragged have their own.
        `spec`: {field: dtype or feature} of the result. Without one, lists and arrays of records
        are sequences of any length, and the first result fixes dtypes. `workers`: calls at the
        same time. `pure`: may be called again for a record after a restore. `rng`: fn(record,
        generator), a NumPy generator that depends on the record alone. A record whose call raises
        is bad: what happens to it says ``with_options(errors=)``; the consumer catches the
        original exception.
        """
        from levada import _functions

        if not callable(fn):
            raise TypeError(f"map takes a function, not {type(fn).__name__}")
        kind = _functions.BatchMap if batched else _functions.Map
        target = kind(fn, spec, rng)
        handle = _functions.handle(target, fn, pure=pure, workers=workers, per_record=not batched)
        return self._append("map" if pure else "call", _with_spec(handle, spec))

    def filter(self, fn: str | Callable[[Any], Any]) -> Dataset:
        """Records for which fn(record) is true, or an expression: ``"len(tokens) > 4"``."""
        if not callable(fn):
            return self._append("filter", {"expression": fn})
        from levada import _functions

        handle = _functions.handle(_functions.Keep(fn), fn, per_record=True)
        return self._append("filter", {"fn": handle})

    def group_by_window(
        self,
        key: str | Callable[[Any], int],
        reduce: Callable[[int, Any], Mapping[str, Any]] | None = None,
        window_size: int | None = None,
        *,
        window_size_func: Callable[[int], int] | None = None,
        padded: bool = False,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_multiple: int = 1,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Batches of `window_size` records with the same key.

        A window leaves as soon as it is full; at the end of the input the others leave in ascending
        order of keys.

        `key`: a field of integers or byte strings, an expression (``"len(tokens) // 16"``,
        ``"label % 10"``), or fn(record) -> int. `window_size_func`: fn(key) -> int, the window size of each key.
        `reduce`: fn(key, Batch) -> dict of columns, one entry per record; None: the batch itself.
        With `reduce` or `window_size_func`, `key` is a field or a function. `padded` and the
        options after it: as in ``padded_batch``; otherwise batches stay ragged.
        """
        from levada import _functions

        options = {
            "window_size": window_size, "padded": padded, "padded_shapes": padded_shapes,
            "padding_values": padding_values, "pad_to_multiple": pad_to_multiple,
            "drop_remainder": drop_remainder,
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value is not None}
        return _functions.windows(self, key, reduce, window_size_func, given)

    def select(self, *fields: str) -> Dataset:
        """Some of the fields, in that order."""
        return self._append("select", {"fields": fields})

    def _stage(self, name: str, **options: Any) -> Dataset:
        from levada._lengths import LengthHistogram

        if isinstance(options.get("boundaries"), LengthHistogram):
            return self._stage(name, **_with_boundaries(options))
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
        fn: Dataset | Callable[[Any], Dataset],
        *,
        cycle_length: int = 4,
        block_length: int = 1,
    ) -> Dataset:
        """fn(record) -> Dataset for each record; their records in turn.

        fn is asked once, with an object whose ``["path"]`` is the text ``"{path}"``, which is
        filled in for each record.
        """
        pipe = fn if isinstance(fn, Dataset) else fn(Placeholder())
        options = {"pipe": pipe, "cycle_length": cycle_length, "block_length": block_length}
        return self._append("interleave", options)

    def with_options(self, **settings: Any) -> Dataset:
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
        known = ("seed", "threads", "errors", "max_bytes", "block_rows")
        for name in settings:
            if name not in known:
                raise TypeError(f"no option {name!r}; there are {', '.join(known)}")
        if not isinstance(settings.get("errors"), (str, type(None))):
            raise TypeError(f"errors={settings['errors']!r} must be a str")
        if settings.get("errors") is not None:
            _levada.check_errors(settings["errors"])
        for name, (least, most) in _LIMITS.items():
            if settings.get(name) is not None:
                settings[name] = _integer(name, settings[name], least, most)
        return Dataset(self._core, {**self._settings, **settings})

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
            threads=given.get("threads") or 0,
            block_rows=given.get("block_rows") or 0,
            errors=given.get("errors"),
            max_bytes=given.get("max_bytes") or 0,
        )

    def __iter__(self) -> Iterator:
        from levada._iterator import Iterator

        return Iterator(self, self._epochs.take())

    def iterate(self, epoch: int | None = None) -> Iterator:
        """An iterator of that epoch; None: the next one, as ``iter(ds)``."""
        from levada._iterator import Iterator

        return Iterator(self, self._epochs.take() if epoch is None else epoch)

    def blocks(self, epoch: int | None = None) -> Iterator:
        """An iterator of that epoch over blocks: ``Batch`` es as they lie in memory.

        The fastest way to look at every record: nothing is copied before a column is asked for. A
        block has as many records as came together, at most ``block_rows`` (`with_options`; 256
        where that is not set); of a batched dataset, blocks are its batches.
        """
        from levada._iterator import Iterator

        return Iterator(self, self._epochs.take() if epoch is None else epoch, blocks=True)

    def first(self) -> Any:
        """The first batch (or record) of epoch 0. Raises OutOfRangeError where there is none."""
        from levada.errors import OutOfRangeError

        with self.iterate(epoch=0) as iterator:
            for value in iterator:
                return value
        raise OutOfRangeError("the dataset is empty")

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
        """What it means when it runs: for each stage whether it runs in order or in parallel, what
        is random in it, and what a saved state holds of it. The settings come first."""
        given = {"threads": "one for each CPU", "seed": "a random one", **self._settings}
        settings = ", ".join(f"{name}: {value}" for name, value in given.items())
        return f"{settings}\n{self._core.explain()}fingerprint: {self.fingerprint()}\n"

    def fingerprint(self) -> str:
        """32 hex digits over the JSON, without what only tunes and without directories."""
        return self._core.fingerprint().hex()

    def __eq__(self, other: object) -> bool:
        """Equal descriptions and settings; of functions the same objects, of data the same."""
        if not isinstance(other, Dataset):
            return NotImplemented
        return self._settings == other._settings and (
            self._core is other._core
            or (self._core.json() == other._core.json() and _same_parts(self._core, other._core))
        )

    def __hash__(self) -> int:
        return hash(self._core.json())

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """Records or batches, where they can be known without reading. Else TypeError."""
        from levada._length import length

        return length(self._core)

    def __copy__(self):
        return Dataset(self._core, self._settings)

    def __deepcopy__(self, memo):
        return Dataset(self._core, dict(self._settings))

    def __reduce__(self):
        """Functions are pickled by name, as Python does it; arrays go along."""
        whole = next(_parts(self._core), None) is None
        given = self.to_json() if whole else _tree(self._core)
        return _unpickle, (given, self._settings)

    def __repr__(self):
        names, core = [], self._core
        while core is not None:
            names.append(core.name)
            inputs = core.inputs()
            core = inputs[0] if len(inputs) == 1 else None
            if len(inputs) > 1:
                names.append(f"({'; '.join(i.text() for i in inputs)})")
        spec, batched = self.spec, bool(self._core.flags & 2)
        known, what = _known_length(self._core), "batches" if batched else "records"
        told = [*spec, what] if known is not None else list(spec)
        width = max(map(len, told), default=0)
        lines = [f"levada.Dataset  {' → '.join(reversed(names))}"]
        lines += [f"  {name:<{width}}  {field.describe(batched)}" for name, field in spec.items()]
        lines += ["  ?  more fields, known when it runs"] if self._core.flags & 1 else []
        lines += [f"  {what:<{width}}  {known:,}".replace(",", " ")] if known is not None else []
        return "\n".join(lines)


def _with_boundaries(options):
    """The options of a bucketing stage with the best boundaries of a histogram."""
    from levada._lengths import optimal_boundaries

    buckets, multiple = options.get("num_buckets") or 16, options.get("pad_to_multiple") or 1
    boundaries = optimal_boundaries(options["boundaries"], buckets, multiple)
    return {**options, "boundaries": boundaries, "num_buckets": None}


def _known_length(core):
    from levada._length import known

    return known(core)


# -- what a description in text does not hold: functions, arrays, and pipes with such


def _is_target(value):
    return hasattr(value, "handled")


def _parts(core):
    for value in core.options().values():
        if isinstance(value, _levada.Dataset):
            yield from _parts(value)
        elif isinstance(value, _levada.Block) or _is_target(value):
            yield value
    for below in core.inputs():
        yield from _parts(below)


def _same_parts(one, other):
    pairs = list(_zip(_parts(one), _parts(other), strict=True))
    return all(_is_target(a) and type(a) is type(b) and a.handled == b.handled for a, b in pairs)


class _Stored:
    """An option in a pickle; `kind` says what `value` is made into."""

    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def option(self):
        from levada._columns import Columns
        from levada._functions import handle_again

        if self.kind == "block":
            fields, columns = self.value
            return Columns.like(fields).batch(columns)
        return {"function": handle_again, "pipe": _grown}[self.kind](self.value)


def _stored(value):
    if isinstance(value, _levada.Dataset):
        return _Stored("pipe", _tree(value))
    if isinstance(value, _levada.Block):
        from levada._batch import Batch

        return _Stored("block", (value.fields(), Batch(value).numpy()))
    return _Stored("function", value) if _is_target(value) else value


def _tree(core):
    options = {name: _stored(value) for name, value in core.options().items()}
    return core.name, options, tuple(_tree(below) for below in core.inputs())


def _grown(tree):
    name, options, inputs = tree
    made = {k: v.option() if isinstance(v, _Stored) else v for k, v in options.items()}
    return _levada.append(name, made, tuple(_grown(below) for below in inputs))


def _unpickle(given, settings):
    return Dataset(_levada.parse(given) if isinstance(given, str) else _grown(given), settings)


def _with_spec(handle, spec):
    if not spec:
        return {"fn": handle}
    from levada._columns import kinds_of

    return {"fn": handle, "spec": kinds_of(spec)}


# -- sources that are more than a name and options


def source(name: str, **options: Any) -> Dataset:
    """A source by its name, for those of loaded libraries and of ``register_source``."""
    from levada import _plugins

    maker = _plugins.sources.get(name)
    if maker is not None:
        return _plugins.open_source(name, maker, options)
    return Dataset(_levada.append(name, options, ()))


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset:
    """Integers as the field ``value`` (int64): ``range(stop)`` or ``range(start, stop, step)``."""
    if stop is None:
        return source("range", count=start) if step == 1 else range(0, start, step)
    return source("range", start=start, stop=stop, step=step)


def from_text(description: str | bytes) -> Dataset:
    """Dataset of a description such as ``"tfrecord:a.tfrecord | shuffle:100"``."""
    return Dataset(_levada.parse(_text_of(description)))


def from_json(text: str | bytes) -> Dataset:
    """The dataset that ``to_json()`` described."""
    return Dataset(_levada.parse(_text_of(text)))


def _joint(name, datasets, options):
    if len(datasets) == 1 and hasattr(datasets[0], "__iter__"):
        datasets = datasets if isinstance(datasets[0], Dataset) else tuple(datasets[0])
    if not datasets:
        raise ValueError(f"{name} needs a dataset")
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{name} takes datasets, not {type(dataset).__name__}")
    return datasets[0]._append(name, options, datasets[1:])


def zip(*datasets: Dataset | Iterable[Dataset]) -> Dataset:
    """Records of all datasets side by side; ends with the shortest. Names must differ."""
    return _joint("zip", datasets, {})


def concat(*datasets: Dataset | Iterable[Dataset]) -> Dataset:
    """One dataset after the other."""
    return _joint("concat", datasets, {})


def mix(
    datasets: Dataset | Iterable[Dataset],
    weights: Iterable[float] | None = None,
    seed: int | None = None,
) -> Dataset:
    """Records drawn from the datasets by weight; an exhausted one drops out."""
    options = {"weights": weights, "seed": seed}
    datasets = (datasets,) if isinstance(datasets, Dataset) else tuple(datasets)
    return _joint("mix", datasets, {k: v for k, v in options.items() if v is not None})


def from_arrays(mapping: Mapping[str, Any], *, spec: Mapping[str, Any] | None = None) -> Dataset:
    """Records of arrays with the same first dimension; also lists of bytes, of arrays, Ragged.

    What a record has of an array with more dimensions is a sequence: its first dimension may have
    any length, and a padded batch has lengths of it. `spec`: {field: dtype or feature} says
    otherwise, such as ``{"image": lv.FixedLenFeature([28, 28], lv.float32)}``.
    """
    from levada._columns import Columns

    if not hasattr(mapping, "keys"):
        raise TypeError(f"from_arrays takes {{field: column}}, not {type(mapping).__name__}")
    block = Columns(spec).batch(dict(mapping))
    return Dataset(_levada.append("memory", {"data": block}, ()))


def from_records(
    records: Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]],
    *,
    spec: Mapping[str, Any] | None = None,
) -> Dataset:
    """Records (dicts) of an iterable, or of the iterable that a function of no arguments returns.

    Each pass (epoch) starts the iterable again. A generator or another iterator that can be read
    only once has no second pass: that is a FailedPreconditionError. `spec`: {field: dtype or
    feature}. Without one, lists and arrays are sequences of any length in their first dimension,
    and the first 8 records (of a list or tuple the first 256) fix dtypes and the other dimensions;
    a later record that does not fit exactly raises InvalidArgumentError. The position can be saved
    where the iterable is a sequence such as a list (as an index), or where its iterator has
    ``save() -> bytes`` and ``restore(bytes)``.
    """
    from levada import _functions

    if hasattr(records, "keys"):
        raise TypeError("from_records takes records one by one; columns go to from_arrays")
    if not callable(records) and not hasattr(records, "__iter__"):
        raise TypeError(f"neither iterable nor callable: {type(records).__name__}")
    target = _functions.Records(records, spec)
    handle = _functions.handle(target, records, source=True)
    return Dataset(_levada.append("records", _with_spec(handle, spec), ()))
