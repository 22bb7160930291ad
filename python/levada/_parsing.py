# SPDX-License-Identifier: Apache-2.0
"""Features of tf.train.Example and SequenceExample, and parsing lists of such messages.

Sparse results are (indices, values, dense_shape), ragged ones (values, row_splits), where
row_splits is one array, or a tuple of them, outermost first, where there are several levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from levada import _levada
from levada._decoding import Prepared, keep_lone, kept, lones, prepare
from levada._features import spec_value
from levada._ragged import Bytes
from levada.errors import InvalidArgumentError, LevadaError

# -- columns to results


def _flat(values):
    """Values of a Ragged, or a column, as an array: byte strings become an object array."""
    from levada._ragged import objects

    return objects(values.items()) if isinstance(values, Bytes) else values


def _fixed(value, column, single):
    import numpy as np

    array = np.asarray(_flat(column)).reshape(len(column), *value["shape"])
    return array.reshape(value["shape"]) if single else array


def _padded(value, column, single):
    from levada._ragged import Ragged

    column = Ragged(_flat(column.values), column.nested)
    return column.values if single else column.to_padded(value["default"])


def _sparse_of(column, single):
    """VarLen: (indices, values, dense_shape)."""
    from levada._ragged import Ragged

    indices, values, shape = Ragged(_flat(column.values), column.nested).to_sparse()
    return (indices[:, 1:], values, shape[1:]) if single else (indices, values, shape)


class RaggedValue(tuple):
    """(values, row_splits) of a RaggedFeature: a tuple that stands for rows of many lengths."""

    __slots__ = ()


def _ragged(value, column, single):
    """(values, row_splits), or the values alone if no level is left."""
    import numpy as np

    dtype = value.get("row_splits_dtype", "int32")
    splits = tuple(np.asarray(level, dtype) for level in column.nested)
    splits = splits[1:] if single else splits
    values = _flat(column.values)
    if not splits:
        return values
    return RaggedValue((values, splits[0] if len(splits) == 1 else splits))


def _sparse(name, value, batch, single):
    import numpy as np

    indices, values = batch[f"{name}/indices"], _flat(batch[f"{name}/values"].values)
    at = np.asarray(indices.values).reshape(-1, len(value["index_key"]))
    size = value["size"]
    if single:
        return at, values, np.array(size, np.int64)
    row = np.repeat(np.arange(len(indices), dtype=np.int64), indices.lengths)
    return np.column_stack([row, at]), values, np.array([len(indices), *size], np.int64)


def _result(name, value, batch, single):
    """The result of a feature of an Example or of the context."""
    kind = value["kind"]
    if kind == "FixedLen":
        return _fixed(value, batch[name], single)
    if kind == "FixedLenSequence":
        return _padded(value, batch[name], single)
    if kind == "VarLen":
        return _sparse_of(batch[name], single)
    if kind == "Ragged":
        return _ragged(value, batch[name], single)
    return _sparse(name, value, batch, single)


# -- the functions


def _strings(serialized, single):
    if single:
        if isinstance(serialized, (bytes, bytearray, memoryview)):
            return [bytes(serialized)]
        if getattr(serialized, "shape", None) == () and hasattr(serialized, "item"):
            return [bytes(serialized.item())]
        raise ValueError(f"serialized must be one byte string, got {serialized!r:.60}")
    if isinstance(serialized, (bytes, bytearray, memoryview, str)):
        raise ValueError("serialized must be a list of byte strings, got one string")
    if isinstance(serialized, Bytes):
        return serialized
    return [item if isinstance(item, bytes) else _as_bytes(item) for item in serialized]


def _as_bytes(item):
    if isinstance(item, (bytearray, memoryview)):
        return bytes(item)
    raise TypeError(f"serialized messages must be bytes, got {type(item).__name__}")


def _text(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _names(example_names, count):
    if example_names is None:
        return None
    if isinstance(example_names, (str, bytes)):
        example_names = [example_names]
    names = [_text(name) for name in example_names]
    if names and len(names) != count:
        raise InvalidArgumentError(
            f"Expected names have the same shape as serialized: name.shape=[{len(names)}], "
            f"serialized.shape=[{count}]"
        )
    return names


def _say_where(error, names, single, key):
    """The error again, with the name and number of the message that it is about."""
    row, text = error.record, error.message
    if row is not None:
        head, dot, tail = text.partition(".  ")
        if not single and head.startswith("Key: ") and dot and ", Index: " not in head:
            text = f"{head}, Index: {row}{dot}{tail}"
        if names or not single:
            text = f"Name: {names[row] if names else '<unknown>'}, {text}"
    return type(error)(text, record=row, key=key)


def _run(prepared, serialized, example_names, single, key):
    strings = _strings(serialized, single)
    names = _names(example_names, len(strings))
    try:
        return prepared.decode(strings)
    except LevadaError as error:
        raise _say_where(error, names, single, key) from None


def _example_spec(spec):
    value = spec_value(spec)
    return Prepared("parse_example", {"spec": value}, value)


def _parse(serialized, spec, example_names, single, key):
    if not spec:
        raise ValueError(f"Missing: features was {spec}.")
    prepared = prepare(_example_spec, spec)
    batch = _run(prepared, serialized, example_names, single, key)
    return {name: _result(name, value, batch, single) for name, value in prepared.specs.items()}


def parse_example(
    serialized: Sequence[bytes] | Bytes,
    spec: Mapping[str, Any] | None = None,
    example_names: Sequence[str | bytes] | None = None,
    name: str | None = None,
    *,
    features: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Parses a list of serialized tf.train.Example messages.

    Args:
        serialized (Sequence[bytes] | Bytes): a list or array of ``bytes``.
        spec (Mapping): dict of name to feature.
        example_names (Sequence[str | bytes]): names for error messages, one for each.
        name (str): ignored.
        features (Mapping): TensorFlow's name of `spec`.
        key (str): for the attribute ``key`` of errors.

    Returns:
        Dict of name to result: FixedLen and FixedLenSequence are arrays [n, ...], the others
        sparse or ragged ones (see the module).

    Raises:
        ValueError, TypeError: the spec is wrong.
        InvalidArgumentError: a message does not fit the spec, or is not an Example.

    Example:
        record = lv.make_example({"label": 3})
        print(lv.parse_example([record], {"label": lv.FixedLenFeature([], lv.int64)}))
    """
    spec = _one_of("spec", spec, "features", features)
    return _parse(serialized, spec, example_names, False, key)


def parse_single_example(
    serialized: Any,
    spec: Mapping[str, Any] | None = None,
    example_names: str | bytes | Sequence[str | bytes] | None = None,
    name: str | None = None,
    *,
    features: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Parses one serialized tf.train.Example.

    Args:
        serialized (bytes): the message.
        spec (Mapping): {name: feature}.
        example_names (str | bytes | Sequence[str | bytes]): a name for error messages.
        name (str): ignored.
        features (Mapping): TensorFlow's name of `spec`.
        key (str): for the attribute ``key`` of errors.

    Returns:
        {name: result}, as `parse_example` without the first dimension.

    Raises:
        ValueError, TypeError: the spec is wrong.
        InvalidArgumentError: the message does not fit the spec, or is not an Example.

    Example:
        record = lv.make_example({"label": 3})
        print(lv.parse_single_example(record, {"label": lv.FixedLenFeature([], lv.int64)}))
    """
    if features is not None or spec is None:
        spec = _one_of("spec", spec, "features", features)
    lone = lones.get(id(spec))
    try:
        found = None if lone is None else _levada.single(lone, serialized, spec)
        if found is None:
            found = _short(serialized, spec)
    except LevadaError as error:
        raise _say_where(error, _names(example_names, 1), True, key) from None
    if found is None:
        return _parse(serialized, spec, example_names, True, key)
    _names(example_names, 1)  # refuses more than one
    return found


def _short(serialized, spec):
    """The result of `parse_single_example`, where all features are plain; else None."""
    if not spec or not isinstance(spec, dict) or type(serialized) is not bytes:
        return None
    known = kept.get((_example_spec, (*spec, *map(id, spec.values()))))
    prepared = prepare(_example_spec, spec) if known is None else known[1]
    lone = prepared.lone_for(spec) if prepared.lone is None else prepared.lone
    if lone and known is not None:
        keep_lone(spec, lone)
    return _levada.single(lone, serialized, None) if lone else None


def _sequence_specs(context, sequence):
    """Both specs, and the names of their columns: a name that stands in both needs two."""
    if not context and not sequence:
        raise ValueError("Missing: context_features or sequence_features must have a feature.")
    context, sequence = spec_value(context or {}), spec_value(sequence or {}, steps=True)
    columns = {}
    for name, value in sequence.items():
        columns[name] = name
        if name in context:
            columns[name] = f"sequence/{name}"
            if not value.get("value_key"):
                value["key"] = value.get("key", name)
    options = {
        "context": context, "sequences": {columns[name]: value for name, value in sequence.items()}
    }  # fmt: skip
    return Prepared("parse_sequence_example", options, (context, sequence, columns))


def _parse_sequence(serialized, context, sequence, example_names, single, key):
    import numpy as np

    prepared = prepare(_sequence_specs, context or {}, sequence or {})
    context, sequence, columns = prepared.specs
    batch = _run(prepared, serialized, example_names, single, key)
    found = {name: _result(name, value, batch, single) for name, value in context.items()}
    lists, lengths = {}, {}
    for name, value in sequence.items():
        column = batch[columns[name]]
        if value["kind"] == "VarLen":
            lists[name] = _sparse_of(column, single)
        elif value["kind"] == "Ragged":
            lists[name] = _ragged(value, column, single)
        else:
            lists[name] = _padded({"default": None}, column, single)
            lengths[name] = np.asarray(column.lengths, np.int64)
    return found, lists, lengths


def _one_of(name: str, value: Any, other: str, same: Any) -> Any:
    """The argument under its own name, or under TensorFlow's."""
    if value is not None and same is not None:
        raise TypeError(f"{name}= and {other}= are the same argument: pass one of them")
    return same if value is None else value


def parse_sequence_example(
    serialized: Sequence[bytes] | Bytes,
    context: Mapping[str, Any] | None = None,
    sequences: Mapping[str, Any] | None = None,
    example_names: Sequence[str | bytes] | None = None,
    name: str | None = None,
    *,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parses a list of serialized tf.train.SequenceExample messages.

    Args:
        serialized (Sequence[bytes] | Bytes): a list or array of ``bytes``.
        context (Mapping): {name: feature} of the context.
        sequences (Mapping): {name: feature} of the feature lists.
        example_names (Sequence[str | bytes]): names for error messages, one for each message.
        name (str): ignored.
        context_features (Mapping): TensorFlow's name of `context`.
        sequence_features (Mapping): TensorFlow's name of `sequences`.
        key (str): for the attribute ``key`` of errors.

    Returns:
        (context, sequence, lengths): dicts of name to result. FixedLenSequence yields arrays [n,
        longest, ...], whose lengths (int64 [n]) are in the third dict.

    Raises:
        ValueError, TypeError: a spec is wrong.
        InvalidArgumentError: a message does not fit the specs, or is not a SequenceExample.

    Example:
        record = lv.make_sequence_example({"id": 7}, {"tokens": [[1], [2]]})
        steps = {"tokens": lv.FixedLenSequenceFeature([], lv.int64)}
        print(lv.parse_sequence_example([record], sequences=steps)[1])
    """
    context = _one_of("context", context, "context_features", context_features)
    sequences = _one_of("sequences", sequences, "sequence_features", sequence_features)
    return _parse_sequence(serialized, context, sequences, example_names, False, key)


def parse_single_sequence_example(
    serialized: Any,
    context: Mapping[str, Any] | None = None,
    sequences: Mapping[str, Any] | None = None,
    example_name: str | bytes | None = None,
    name: str | None = None,
    *,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized tf.train.SequenceExample.

    Args:
        serialized (bytes): the message.
        context (Mapping): {name: feature} of the context.
        sequences (Mapping): {name: feature} of the feature lists.
        example_name (str | bytes): a name for error messages.
        name (str): ignored.
        context_features (Mapping): TensorFlow's name of `context`.
        sequence_features (Mapping): TensorFlow's name of `sequences`.
        key (str): for the attribute ``key`` of errors.

    Returns:
        (context, sequence): dicts of name to result, as `parse_sequence_example` without the first
        dimension.

    Raises:
        ValueError, TypeError: a spec is wrong.
        InvalidArgumentError: the message does not fit the specs, or is not a SequenceExample.

    Example:
        record = lv.make_sequence_example({"id": 7}, {"tokens": [[1], [2]]})
        spec = {"id": lv.FixedLenFeature([], lv.int64)}
        print(lv.parse_single_sequence_example(record, spec)[0])
    """
    context = _one_of("context", context, "context_features", context_features)
    sequences = _one_of("sequences", sequences, "sequence_features", sequence_features)
    names = None if example_name is None else [example_name]
    return _parse_sequence(serialized, context, sequences, names, True, key)[:2]
