# SPDX-License-Identifier: Apache-2.0
"""Sources and combiners that are more than a name and options."""

from __future__ import annotations

from levada import _levada
from levada._dataset import Dataset, with_spec
from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    from levada._typed import T
    from levada._values import Paths

    class Indexed(Protocol):
        """A map-style dataset."""

        def __len__(self) -> int: ...

        def __getitem__(self, index: int, /) -> Any: ...


def _text_of(description):
    if isinstance(description, (bytes, bytearray)):
        return bytes(description).decode()
    if not isinstance(description, str):
        raise TypeError(f"a description is a str, not {type(description).__name__}")
    return description


def source(name: str, **options: Any) -> Dataset[dict[str, Any]]:
    """A source by its name, for those of loaded libraries and of ``register_source``."""
    from levada import _plugins

    maker = _plugins.sources.get(name)
    if maker is not None:
        return _plugins.open_source(name, maker, options)
    return Dataset(_levada.append(name, options, ()))


def open(files: Paths, *, source: str | None = None, spec: Any = "auto") -> Dataset[dict[str, Any]]:
    """Opens files and finds their format: TFRecord, CSV, tar, JSON lines or text.

    files: a path, a glob, or a list of them. All files have one format.
    source: a file format such as "tfrecord" or "csv". None finds it in the first file that is not
        empty: by its content where a checksum proves it, else by its name, else by its content.
        The columns and types of CSV are inferred, as with ``csv(infer=True)``.
    spec: "auto" infers the features of tf.train.Example and SequenceExample, and the fields
        of JSON lines, from the first 1000 records. A feature with one value in each of them is a
        scalar, any other is ragged. A dict is a spec as in ``parse_example``, or ``fields`` as in
        ``jsonl``. None returns messages and lines as bytes.

    The dataset has the spec that was found: ``ds.spec`` shows it, and ``str(ds)`` has it. It does
    not change: a later record that does not fit is an error that names it. A state fits the spec
    that it was saved with. If the files have changed and another spec is found, ``restore`` raises
    FailedPreconditionError. ``levada_dataset_open`` is the same in C, ``parse_example:auto`` and
    ``jsonl:...,fields=auto`` in text.
    """
    from levada._values import paths

    auto = isinstance(spec, str)
    if auto and spec != "auto":
        raise InvalidArgumentError(f"open: spec={spec!r} must be 'auto', a dict or None")
    names = paths(files)
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"open: files={files!r} must be a path, a glob, or a list of them")
    found: Dataset[Any] = Dataset(_levada.open(tuple(names), source, auto))
    return found if auto or spec is None else _with_spec(found, names, spec)


def _with_spec(found: Dataset[Any], names: Any, spec: Any) -> Dataset[Any]:
    """The files of `found`, which is not parsed, with a spec of the user."""
    from levada import _sources

    name = found._core.name
    if name == "jsonl":
        return _sources.jsonl(names, fields=spec)
    if name in ("csv", "tar"):
        raise InvalidArgumentError(
            f"open: a spec is for messages and JSON lines, and the files are {name}; "
            f"call lv.{name} with its own options"
        )
    return found.parse_example(spec)


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset[dict[str, Any]]:
    """Integers as the field ``value`` (int64): ``range(stop)`` or ``range(start, stop, step)``."""
    if stop is None:
        return source("range", count=start) if step == 1 else range(0, start, step)
    return source("range", start=start, stop=stop, step=step)


def from_text(description: str | bytes) -> Dataset[Any]:
    """Dataset of a description such as ``"tfrecord:a.tfrecord | shuffle:100"``."""
    return Dataset(_levada.parse(_text_of(description)))


def from_json(text: str | bytes) -> Dataset[Any]:
    """Dataset of what ``to_json()`` returned."""
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


def zip(*datasets: Dataset[Any] | Iterable[Dataset[Any]]) -> Dataset[Any]:
    """Records of all datasets side by side; ends with the shortest. Names must differ."""
    return _joint("zip", datasets, {})


def concat(*datasets: Dataset[T] | Iterable[Dataset[T]]) -> Dataset[T]:
    """One dataset after the other."""
    return _joint("concat", datasets, {})


def mix(
    *datasets: Dataset[T] | Iterable[Dataset[T]],
    weights: Iterable[float] | None = None,
    seed: int | None = None,
) -> Dataset[T]:
    """Records drawn from the datasets by weight; an exhausted one drops out."""
    options = {"weights": weights, "seed": seed}
    return _joint("mix", datasets, {k: v for k, v in options.items() if v is not None})


def from_arrays(
    mapping: Mapping[str, Any], *, spec: Mapping[str, Any] | None = None
) -> Dataset[dict[str, Any]]:
    """Records of arrays with the same first dimension; also lists of bytes, of arrays, Ragged.

    A row of an array with more dimensions is a sequence: its first dimension may have any length,
    and a padded batch has its lengths. `spec`: {field: dtype or feature} declares a fixed shape,
    such as ``{"image": lv.FixedLenFeature([28, 28], lv.float32)}``.
    """
    from levada._columns import Columns

    if not hasattr(mapping, "keys"):
        raise TypeError(f"from_arrays takes {{field: column}}, not {type(mapping).__name__}")
    block = Columns(spec).batch(dict(mapping))
    return Dataset(_levada.append("memory", {"data": block}, ()))


def from_records(
    records: Iterable[Mapping[str, Any]] | Indexed | Callable[[], Iterable[Mapping[str, Any]]],
    *,
    spec: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Records (dicts) of an iterable, or of the iterable that a function of no arguments returns.

    Each pass (epoch) starts the iterable again. A generator or another iterator that can be read
    only once has no second pass: that is a FailedPreconditionError. `spec`: {field: dtype or
    feature}. Without one, lists and arrays are sequences of any length in their first dimension,
    and the first 8 records (of a list or tuple the first 256) fix dtypes and the other dimensions;
    a later record that does not fit exactly raises InvalidArgumentError. The position can be saved
    where the iterable is a sequence such as a list or a map-style dataset of torch or of Hugging
    Face (as an index), or where its iterator has ``save() -> bytes`` and ``restore(bytes)``.
    """
    from levada import _functions

    if hasattr(records, "keys"):
        raise TypeError("from_records takes records one by one; columns go to from_arrays")
    if not (callable(records) or hasattr(records, "__iter__") or _functions.is_sequence(records)):
        raise TypeError(f"neither iterable nor callable: {type(records).__name__}")
    target = _functions.Records(records, spec)
    handle = _functions.handle(target, records, source=True)
    return Dataset(_levada.append("records", with_spec(handle, spec), ()))
