# SPDX-License-Identifier: Apache-2.0
"""Features of tf.train.Example and SequenceExample, and parsing lists of such messages.

Sparse results are (indices, values, dense_shape), ragged ones (values, row_splits), where
row_splits is one array, or a tuple of them, outermost first, where there are several levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from levada import _levada
from levada._decoding import Prepared, keep_lone, kept, lones, prepare
from levada._dtypes import name_of
from levada._ragged import Bytes
from levada.errors import InvalidArgumentError, LevadaError


def _plain(default):
    """A default as nested lists of Python values."""
    if isinstance(default, str):
        return default.encode()
    if isinstance(default, (list, tuple)):
        return [_plain(item) for item in default]
    if hasattr(default, "tolist"):
        return _plain(default.tolist())
    return default


def _leaves(value):
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


# Features do not know their names. Where a name is given (by the plain functions) they check
# everything; without one, in the spec of a dataset, the core does, and says which feature is wrong.


def _dtype(name, dtype):
    if dtype is None:
        raise ValueError(f"Missing type for feature {name}.")
    return name_of(dtype)


def _shape(name, shape, sequence=False):
    """A list of sizes, all known."""
    if shape is None:
        if name is None:
            return None
        raise ValueError(f"Missing shape for feature {name}")
    if isinstance(shape, int):
        shape = [shape]
    shape = [None if size is None or size == -1 else int(size) for size in shape]
    if name is None:
        return shape
    if shape and shape[0] is None and not sequence:
        raise ValueError(
            f"First dimension of shape for feature {name} unknown. "
            "Consider using FixedLenSequenceFeature."
        )
    if any(size is None or size < 0 for size in shape):
        raise ValueError(
            f"All dimensions of shape for feature {name} need to be known but received "
            f"{tuple(shape)}."
        )
    return shape


def _check_default(name, dtype, leaves):
    """The values of a default must be of the feature's dtype."""
    kinds = (bytes,) if dtype == "string" else (int, float)
    for leaf in leaves:
        if not isinstance(leaf, kinds):
            raise TypeError(f"default of feature {name}: {leaf!r} does not fit into {dtype}")
        if isinstance(leaf, float) and "float" not in dtype:
            raise TypeError(f"default of feature {name}: {leaf!r} does not fit into {dtype}")


@dataclass(frozen=True)
class FixedLenFeature:
    """Values of one shape in each record: an array [n, *shape].

    Without a default the feature is required.
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """The feature as data, as it stands in descriptions."""
        shape, dtype = _shape(name, self.shape), _dtype(name, self.dtype)
        default = None if self.default_value is None else _plain(self.default_value)
        if default is not None and name is not None:
            leaves, size = list(_leaves(default)), 1
            for dim in shape:
                size *= dim
            if len(leaves) != size:
                raise ValueError(
                    f"Cannot reshape a tensor with {len(leaves)} elements to shape {shape} "
                    f"({size} elements): the default of feature {name}"
                )
            _check_default(name, dtype, leaves)
        return {"kind": "FixedLen", "dtype": dtype, "shape": shape, "default": default}


@dataclass(frozen=True)
class VarLenFeature:
    """Any number of values in each record: ragged (sparse from the plain functions)."""

    dtype: Any

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """The feature as data, as it stands in descriptions."""
        return {"kind": "VarLen", "dtype": _dtype(name, self.dtype)}


@dataclass(frozen=True)
class FixedLenSequenceFeature:
    """Any number of values of one shape: ragged with dimensions inside (padded from the plain
    functions, with the scalar default, 0 or b"").

    In an Example `allow_missing` must be True.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """The feature as data, as it stands in descriptions."""
        shape, dtype = _shape(name, self.shape, sequence=True), _dtype(name, self.dtype)
        default = None if self.default_value is None else _plain(self.default_value)
        if isinstance(default, list):
            default = list(_leaves(default))
            if len(default) != 1:
                raise ValueError(f"the default of feature {name} pads: it must be one value")
            default = default[0]
        if default is not None and name is not None:
            _check_default(name, dtype, [default])
        return {
            "kind": "FixedLenSequence", "dtype": dtype, "shape": shape, "default": default,
            "allow_missing": bool(self.allow_missing),
        }  # fmt: skip


@dataclass(frozen=True)
class SparseFeature:
    """A sparse tensor of shape `size` in each record, from features that hold its indices (one key
    for each dimension) and its values. Sorted by index unless `already_sorted`.

    In datasets: two ragged fields, ``<name>/indices`` and ``<name>/values``.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """The feature as data, as it stands in descriptions."""
        keys = [self.index_key] if isinstance(self.index_key, str) else list(self.index_key or ())
        sizes = [self.size] if isinstance(self.size, int) else list(self.size or ())
        if not keys:
            raise ValueError(f"Missing index_key for SparseFeature {name}.")
        if not self.value_key:
            raise ValueError(f"Missing value_key for SparseFeature {name}.")
        if not sizes:
            raise ValueError(f"Missing size for SparseFeature {name}.")
        if len(keys) != len(sizes):
            raise ValueError(f"index_key and size of feature {name} should have the same length.")
        return {
            "kind": "Sparse", "dtype": _dtype(name, self.dtype), "index_key": keys,
            "value_key": self.value_key, "size": [int(size) for size in sizes],
            "already_sorted": bool(self.already_sorted),
        }  # fmt: skip


class _Keyed:
    """A partition whose numbers stand in an int64 feature."""

    def __init__(self, key: str) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a partition names a feature, not {key!r}")
        self.key = key

    def to_value(self) -> dict[str, Any]:
        return {"type": type(self).__name__, "key": self.key}

    def __repr__(self):
        return f"RaggedFeature.{type(self).__name__}({self.key!r})"

    def __eq__(self, other):
        return type(self) is type(other) and self.key == other.key

    def __hash__(self):
        return hash((type(self), self.key))


def _partition(name):
    return type(name, (_Keyed,), {"__doc__": f"{name} in an int64 feature."})


class UniformRowLength:
    """Rows of one length; at the end of the partitions a dimension of the values."""

    def __init__(self, length: int) -> None:
        if int(length) < 1:
            raise ValueError(f"UniformRowLength({length}): a row has at least one value")
        self.length = int(length)

    def to_value(self) -> dict[str, Any]:
        return {"type": "UniformRowLength", "length": self.length}

    def __repr__(self):
        return f"RaggedFeature.UniformRowLength({self.length})"

    def __eq__(self, other):
        return isinstance(other, UniformRowLength) and self.length == other.length

    def __hash__(self):
        return hash(self.length)


@dataclass(frozen=True)
class RaggedFeature:
    """Ragged values in each record, divided by partitions (outermost first).

    Partitions are always checked against the values, whatever `validate` says.
    """

    dtype: Any
    value_key: str | None = None
    partitions: Any = field(default=())
    row_splits_dtype: Any = "int32"
    validate: bool = False

    RowSplits: ClassVar = _partition("RowSplits")
    RowLengths: ClassVar = _partition("RowLengths")
    RowStarts: ClassVar = _partition("RowStarts")
    RowLimits: ClassVar = _partition("RowLimits")
    ValueRowIds: ClassVar = _partition("ValueRowIds")
    UniformRowLength: ClassVar = UniformRowLength

    def __post_init__(self):
        object.__setattr__(self, "partitions", tuple(self.partitions))
        for part in self.partitions:
            if not isinstance(part, (_Keyed, UniformRowLength)):
                raise TypeError(f"not a partition of a RaggedFeature: {part!r}")
        if (
            self.partitions
            and self.value_key is None
            and any(isinstance(part, _Keyed) for part in self.partitions)
        ):
            raise ValueError("a RaggedFeature with partitions needs a value_key")

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """The feature as data, as it stands in descriptions."""
        splits = name_of(self.row_splits_dtype)
        if splits not in ("int32", "int64"):
            raise ValueError(f"row_splits_dtype of feature {name} is {splits}, not int32 or int64")
        return {
            "kind": "Ragged", "dtype": _dtype(name, self.dtype), "value_key": self.value_key,
            "partitions": [part.to_value() for part in self.partitions],
            "row_splits_dtype": splits, "validate": bool(self.validate),
        }  # fmt: skip


def spec_value(features, steps=False):
    """{name: feature} as data; raises ValueError and TypeError where a feature is wrong."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features are a dict of name to feature, not {type(features).__name__}")
    known = ("VarLen", "FixedLenSequence", "Ragged") if steps else None
    spec = {}
    for name, feature in features.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a feature is a str, not {name!r}")
        value = dict(feature) if isinstance(feature, Mapping) else None
        if value is None and not hasattr(feature, "to_value"):
            raise ValueError(f"Invalid feature {name}: {feature!r}")
        value = feature.to_value(name) if value is None else value
        if known and value.get("kind") not in known:
            raise ValueError(f"Unsupported feature of a feature list: {name}: {feature!r}")
        if not steps and value.get("kind") == "FixedLenSequence" and not value.get("allow_missing"):
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
        spec[name] = value
    return spec


# -- columns to results


def _flat(values):
    """Values of a Ragged, or a column, as an array: byte strings become an object array."""
    from levada._ragged import objects

    return objects(values.to_list()) if isinstance(values, Bytes) else values


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
        raise ValueError("Input serialized must be a scalar")
    if isinstance(serialized, (bytes, bytearray, memoryview, str)):
        raise ValueError("Input serialized must be a list of byte strings, not one")
    if isinstance(serialized, Bytes):
        return serialized
    return [item if isinstance(item, bytes) else _as_bytes(item) for item in serialized]


def _as_bytes(item):
    if isinstance(item, (bytearray, memoryview)):
        return bytes(item)
    raise TypeError(f"serialized messages are bytes, not {type(item).__name__}")


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
    spec: Mapping[str, Any],
    example_names: Sequence[str | bytes] | None = None,
    *,
    key: str | None = None,
) -> dict[str, Any]:
    """Parses a list of serialized tf.train.Example messages.

    Args:
        serialized: a list or array of ``bytes``.
        spec: dict of name to feature.
        example_names: names for error messages, one for each.
        key: for the attribute ``key`` of errors.

    Returns:
        Dict of name to result: FixedLen and FixedLenSequence are arrays [n, ...], the others
        sparse or ragged ones (see the module).

    Raises:
        ValueError, TypeError: the spec is wrong.
        InvalidArgumentError: a message does not fit the spec, or is none.
    """
    return _parse(serialized, spec, example_names, False, key)


def parse_single_example(
    serialized: Any,
    spec: Mapping[str, Any],
    example_names: str | bytes | Sequence[str | bytes] | None = None,
    *,
    key: str | None = None,
) -> dict[str, Any]:
    """Parses one serialized tf.train.Example: as `parse_example`, without the first dimension."""
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
        raise ValueError("Missing: at least one of context and sequence must name features.")
    context, sequence = spec_value(context or {}), spec_value(sequence or {}, steps=True)
    columns = {}
    for name, value in sequence.items():
        columns[name] = name
        if name in context:
            columns[name] = f"sequence/{name}"
            if not value.get("value_key"):
                value["key"] = value.get("key", name)
    options = {
        "context": context, "sequence": {columns[name]: value for name, value in sequence.items()}
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


def parse_sequence_example(
    serialized: Sequence[bytes] | Bytes,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Sequence[str | bytes] | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    sequence: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parses a list of serialized tf.train.SequenceExample messages.

    Args:
        serialized: a list or array of ``bytes``.
        context_features: dict of name to feature, for the context; also `context`.
        sequence_features: dict of name to feature, for the feature lists; also `sequence`.
        example_names: names for error messages, one for each.
        key: for the attribute ``key`` of errors.

    Returns:
        (context, sequence, lengths): dicts of name to result. FixedLenSequence yields arrays
        [n, longest, ...], whose lengths (int64 [n]) are in the third dict.

    Raises:
        ValueError, TypeError: a spec is wrong.
        InvalidArgumentError: a message does not fit the specs, or is none.
    """
    context, sequence = context or context_features, sequence or sequence_features
    return _parse_sequence(serialized, context, sequence, example_names, False, key)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: str | bytes | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    sequence: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized tf.train.SequenceExample.

    Returns (context, sequence), as `parse_sequence_example` without the first dimension.
    """
    context, sequence = context or context_features, sequence or sequence_features
    names = None if example_name is None else [example_name]
    return _parse_sequence(serialized, context, sequence, names, True, key)[:2]
