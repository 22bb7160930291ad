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

    from levada._dtypes import DType
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
        raise TypeError(f"a pipeline must be a str, got {type(description).__name__}")
    return description


def source(name: str, **options: Any) -> Dataset[dict[str, Any]]:
    """Opens a source by its name, for sources of plug-ins and of ``register_source``.

    Args:
        name (str): the source.
        options: the options of the source.

    Example:
        print(lv.source("range", stop=3))
    """
    from levada import _plugins

    maker = _plugins.sources.get(name)
    if maker is not None:
        return _plugins.open_source(name, maker, options)
    return Dataset(_levada.append(name, options, ()))


_ARROW = (".parquet", ".arrow", ".arrows", ".feather")


def open(files: Paths, *, source: str | None = None, spec: Any = "auto") -> Dataset[dict[str, Any]]:
    """Opens files and detects their format: TFRecord, CSV, tar, JSON Lines or text.

    Names that end in .parquet, .arrow or .feather are read as by ``parquet`` and ``arrow``.

    The dataset contains the spec that was found: ``ds.spec`` and ``str(ds)`` show it. A later
    record that does not fit this spec is an error. A checkpoint is valid only for the spec that it
    was saved with. If the files have changed and another spec is found, ``restore`` raises
    FailedPreconditionError.

    Args:
        files (Paths): a path, a glob, or a list of them. All files must have the same format.
        source (str): a file format such as "tfrecord" or "csv". None = detect it in the first file
            that is not empty: by content if a checksum proves it, else by name, else by content.
            The columns and types of CSV are inferred, as with ``csv(infer=True)``.
        spec (default "auto"): "auto" infers the features of tf.train.Example and SequenceExample,
            and the fields of JSON, from the first 1,000 records. A feature with one value in
            each of these records is a scalar, any other feature is ragged. A dict is a spec as in
            ``parse_example``, or ``fields`` as in ``jsonl``. None returns messages and lines as
            bytes.

    Raises:
        InvalidArgumentError: the format is unknown, or name and content disagree.
        NotFoundError: no file matches.

    Example:
        lv.samples.write(".")
        print(lv.open("train-*.tfrecord.gz").spec)
    """
    from levada._values import paths

    auto = isinstance(spec, str)
    if auto and spec != "auto":
        raise InvalidArgumentError(f"open: spec={spec!r} must be 'auto', a dict or None")
    names = paths(files)
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"open: files={files!r} must be a path, a glob, or a list of them")
    if source is None and auto and all(name.endswith(_ARROW) for name in names):
        from levada.interop import _arrow

        is_parquet = names[0].endswith(".parquet")
        return _arrow.parquet(list(names)) if is_parquet else _arrow.arrow(list(names))
    found: Dataset[Any] = Dataset(_levada.open(tuple(names), source, auto))
    return found if auto or spec is None else _with_spec(found, names, spec)


def _with_spec(found: Dataset[Any], names: Any, spec: Any) -> Dataset[Any]:
    """The files of `found`, which is not parsed, with a spec of the user."""
    from levada import _sources

    name = found._core.name
    if name in ("json", "jsonl"):
        return getattr(_sources, name)(names, fields=spec)
    if name in ("csv", "tar"):
        raise InvalidArgumentError(
            f"open: a spec is for messages and JSON, and the files are {name}; "
            f"call lv.{name} with its own options"
        )
    return found.parse_example(spec)


def range(start: int, stop: int | None = None, step: int = 1) -> Dataset[dict[str, Any]]:
    """Returns integers as the field ``value`` (int64).

    Args:
        start (int): the first integer; ``range(stop)`` starts at 0.
        stop (int): end of the range, which is not returned.
        step (int, default 1): difference of consecutive integers; not 0.

    Example:
        print(lv.range(3).to_list())
    """
    if stop is None:
        return source("range", count=start) if step == 1 else range(0, start, step)
    return source("range", start=start, stop=stop, step=step)


def tokens(
    files: Paths,
    dtype: DType | str,
    length: int,
    hop: int | None = None,
    *,
    header_bytes: int = 0,
    **options: Any,
) -> Dataset[dict[str, Any]]:
    """Reads flat files of tokens, such as those of nanoGPT and llm.c, as sequences of one length.

    Records have numbers, because their positions follow from the size of the files: ``len(ds)``,
    ``ds[i]``, ``shuffle_records=True``, ``records=`` and ``part=`` need no index.

    Args:
        files (Paths): paths and patterns of the files.
        dtype (DType | str): type of a token, little endian, such as ``lv.uint16``.
        length (int): tokens of a sequence.
        hop (int): tokens from the start of a sequence to the start of the next; None = `length`.
            Use ``length=T + 1, hop=T`` for inputs and targets.
        header_bytes (int, default 0): bytes to skip at the start of every file; 1024 for llm.c.
        options: options of ``lv.fixed_length``, such as ``shuffle_records``.

    Returns:
        Dataset: records with one column, ``tokens``. Tokens after the last whole sequence of a
        file are dropped.

    Raises:
        InvalidArgumentError: `length` or `hop` is not positive, or `dtype` is not a number.

    Example:
        import numpy as np

        np.arange(10, dtype=np.uint16).tofile("train.bin")
        for record in lv.tokens("train.bin", lv.uint16, length=5, hop=4):
            print(record["tokens"])
    """
    from levada._dtypes import as_dtype
    from levada._sources import fixed_length

    size = as_dtype(dtype).dtype.itemsize
    step = length if hop is None else hop
    if length < 1 or step < 1:
        raise InvalidArgumentError(
            f"tokens: length and hop must be positive, got {length} and {step}"
        )
    ds = fixed_length(
        files,
        length * size,
        header_bytes=header_bytes,
        hop_bytes=step * size,
        **{"drop_partial": True, "index": True, "compression": "none", **options},
    )
    return ds.decode_raw("record", dtype, fixed_length=length * size, out="tokens")


def from_text(description: str | bytes) -> Dataset[Any]:
    """Parses the text of a pipeline.

    Args:
        description (str): the text, such as ``"tfrecord:a.tfrecord | shuffle:100"``.

    Raises:
        InvalidArgumentError: the text is not a valid pipeline; the message shows the column.

    Example:
        print(lv.from_text("range:9 | take:2").to_list())
    """
    return Dataset(_levada.parse(_text_of(description)))


def from_json(text: str | bytes) -> Dataset[Any]:
    """Parses the JSON of a pipeline, as ``to_json()`` returns it.

    Args:
        text (str): the JSON.

    Example:
        print(lv.from_json(lv.range(9).to_json()))
    """
    return Dataset(_levada.parse(_text_of(text)))


def _joint(name, datasets, options):
    if len(datasets) == 1 and hasattr(datasets[0], "__iter__"):
        datasets = datasets if isinstance(datasets[0], Dataset) else tuple(datasets[0])
    if not datasets:
        raise ValueError(f"{name} needs at least one dataset")
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{name}: every input must be a Dataset, got {type(dataset).__name__}")
    return datasets[0]._append(name, options, datasets[1:])


def zip(*datasets: Dataset[Any] | Iterable[Dataset[Any]]) -> Dataset[Any]:
    """Joins the records of several datasets side by side, up to the end of the shortest.

    Args:
        datasets (Dataset): the datasets, or a list of them. Field names must be unique; use
            ``rename``.

    Example:
        print(lv.zip(lv.range(3), lv.range(3).rename({"value": "other"})).first())
    """
    return _joint("zip", datasets, {})


def concat(*datasets: Dataset[T] | Iterable[Dataset[T]]) -> Dataset[T]:
    """Returns the records of the first dataset, then of the next, and so on.

    Args:
        datasets (Dataset): the datasets, or a list of them, with equal fields.

    Example:
        print(len(lv.concat(lv.range(3), lv.range(2)).to_list()))
    """
    return _joint("concat", datasets, {})


def mix(
    *inputs: Dataset[T] | Iterable[Dataset[T]] | Mapping[str, Dataset[T]],
    weights: Iterable[float]
    | Mapping[str, float]
    | Iterable[tuple[int, Iterable[float] | Mapping[str, float]]]
    | None = None,
    by: str = "records",
    stop: str = "all_exhausted",
    epoch_size: int | None = None,
    temperature: float = 1.0,
    source: str | None = None,
    seed: int | None = None,
) -> Dataset[T]:
    """Draws records from several datasets by weight. ``take`` an input first to limit it.

    Args:
        inputs (Dataset): the datasets, a list of them, or {name: dataset}, with equal fields.
            ``stats()`` has the number of records of each of the first 8 inputs, under its name.
        weights (Iterable | Mapping): one number per dataset, at least 0, as a list or {name:
            number}; None = equal weights. ``[(0, weights), (10_000, weights)]`` are weights by
            step: the second weights apply after 10,000 records (batches) of a pass, or once every
            dataset with a weight has ended. The first step is 0.
        by (str, default "records"): "records" makes weights the chances of each record. A field
            makes weights the shares of its tokens (lengths of a sequence, or values of an integer
            field); at any time, the mixture is within one record of these shares.
        stop (str, default "all_exhausted"): end of the epoch. "all_exhausted" stops drawing from a
            dataset that is exhausted, until all are; "first_exhausted" ends with the first;
            "all_read" begins exhausted datasets again until each was read once.
        epoch_size (int): maximum number of records (batches) in an epoch; None = no limit.
        temperature (float, default 1.0): more than 1 makes weights more equal: each becomes
            ``weight ** (1 / temperature)``.
        source (str): name of a new field with the name of the dataset of each record (its number,
            if datasets have no names); batch the mixture, not its datasets. None = no field.
        seed (int): seed of the draws; None = the seed of the iterator.

    Example:
        ds = lv.mix({"web": lv.range(90), "code": lv.range(10)}, weights={"web": 0.9, "code": 0.1})
        print(len(ds.to_list()))
    """
    given: Any = inputs
    names = None
    if len(inputs) == 1 and hasattr(inputs[0], "keys"):
        named: Any = inputs[0]
        names, given = list(named), tuple(named.values())
    if weights is not None:
        weights = _weights_of(names, weights)
    options: dict[str, Any] = {
        "weights": weights,
        "epoch_size": epoch_size,
        "seed": seed,
        "names": names,
    }
    options = {name: value for name, value in options.items() if value is not None}
    options |= {"by": by, "stop": stop, "temperature": temperature}
    if source is not None:
        if not isinstance(source, str):
            kind = type(source).__name__
            raise TypeError(
                f'mix: source must be the name of a new field, got {kind}; source="source"'
            )
        given = _with_source(source, given, names)
    return _joint("mix", given, options)


def _with_source(field, inputs, names):
    """The inputs of a mix with a field that names them, or has their number."""
    if len(inputs) == 1 and not isinstance(inputs[0], Dataset):
        inputs = tuple(inputs[0])
    made = []
    for i, dataset in enumerate(inputs):
        name = str(i) if names is None else str(names[i]).replace("\\", "\\\\").replace("'", "\\'")
        made.append(dataset.with_columns(**{field: name if names is None else f"'{name}'"}))
    return tuple(made)


def _phases(weights):
    """(step, weights) of each pair of weights by step; None if they are not by step."""
    weights = [] if hasattr(weights, "keys") else list(weights)
    if not weights or not isinstance(weights[0], tuple | list):
        return None
    for pair in weights:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"mix: weights by step are pairs (step, weights), got {pair!r}")
    return weights


def _weights_of(names, weights):
    """The weights as the option has them: by name in the order of the inputs."""
    if hasattr(weights, "keys"):
        if names is None:
            raise TypeError("mix: weights by name need inputs by name: mix({name: dataset})")
        if set(names) != set(weights):
            raise ValueError(
                f"mix: weights have the names {', '.join(map(repr, weights))}, and inputs "
                f"{', '.join(map(repr, names))}"
            )
        return [weights[name] for name in names]
    weights = list(weights)
    phases = _phases(weights)
    return (phases and [[step, _weights_of(names, each)] for step, each in phases]) or weights


def from_arrays(
    mapping: Mapping[str, Any], *, spec: Mapping[str, Any] | None = None
) -> Dataset[dict[str, Any]]:
    """Returns the rows of arrays with the same first dimension as records.

    A row of an array with more dimensions is a sequence: its first dimension may have any length,
    and a padded batch records its lengths.

    Args:
        mapping (Mapping): {field: column}; a column is an array, a list of bytes or arrays, or a
            ``Ragged``.
        spec (Mapping): {field: dtype or feature} declares a fixed shape, such as ``{"image":
            lv.FixedLenFeature([28, 28], lv.float32)}``.

    Example:
        print(lv.from_arrays({"x": [[1, 2], [3]], "y": [0, 1]}).padded_batch(2).first()["x"])
    """
    from levada._columns import Columns

    if not hasattr(mapping, "keys"):
        raise TypeError(
            f"from_arrays: the columns must be {{field: column}}, got {type(mapping).__name__}"
        )
    block = Columns(spec).batch(dict(mapping))
    return Dataset(_levada.append("memory", {"data": block}, ()))


def from_records(
    records: Iterable[Mapping[str, Any]] | Indexed | Callable[[], Iterable[Mapping[str, Any]]],
    *,
    spec: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Returns the records (dicts) of an iterable, or of the iterable that a function returns.

    Each epoch starts the iterable again. A generator, which can be read only once, raises
    FailedPreconditionError in the second epoch. Checkpoints are possible if the iterable is a
    sequence such as a list or a map-style dataset of torch or of Hugging Face (as an index), or if
    its iterator has ``save() -> bytes`` and ``restore(bytes)``.

    Args:
        records (Iterable[Mapping] | Indexed | Callable[[], Iterable[Mapping]]): an iterable of
            dicts, or a function without arguments that returns it.
        spec (Mapping): {field: dtype or feature}. Without it, lists and arrays are sequences of
            any length in their first dimension, and the first 8 records (of a list or tuple the
            first 256) set dtypes and the other dimensions; a later record that does not fit
            exactly raises InvalidArgumentError.

    Example:
        print(lv.from_records([{"x": [1, 2]}, {"x": [3]}]).padded_batch(2).first()["x"])
    """
    from levada import _functions

    if hasattr(records, "keys"):
        raise TypeError("from_records takes records one by one; columns go to from_arrays")
    if not (callable(records) or hasattr(records, "__iter__") or _functions.is_sequence(records)):
        raise TypeError(
            f"from_records: the records must be an iterable or a function, got "
            f"{type(records).__name__}"
        )
    target = _functions.Records(records, spec)
    handle = _functions.handle(target, records, source=True)
    return Dataset(_levada.append("records", with_spec(handle, spec), ()))
