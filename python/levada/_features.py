# SPDX-License-Identifier: Apache-2.0
"""Features of tf.train.Example and SequenceExample: what a spec consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from levada._dtypes import STRINGS, DType, name_of


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
        raise ValueError(f"Missing type for feature {name}: pass dtype, such as lv.int64")
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
    kinds = (bytes,) if dtype in STRINGS else (int, float)
    for leaf in leaves:
        if not isinstance(leaf, kinds):
            raise TypeError(f"default of feature {name}: {leaf!r} does not fit into {dtype}")
        if isinstance(leaf, float) and "float" not in dtype:
            raise TypeError(f"default of feature {name}: {leaf!r} does not fit into {dtype}")


@dataclass(frozen=True)
class FixedLenFeature:
    """Declares a feature with values of one shape in each record; batches have an array [n,
    *shape].

    Args:
        shape (list[int]): the shape of a value; [] for a scalar.
        dtype (dtype): int64, float32 or string; smaller dtypes are converted.
        default_value (value): the value of records without the feature; None = the feature is
            required.

    Example:
        record = lv.make_example({"label": 3})
        print(lv.parse_single_example(record, {"label": lv.FixedLenFeature([], lv.int64)}))
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self):
        _check_feature("FixedLenFeature", self.dtype, self.shape)

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """Returns the feature as plain data, as the text of a pipeline contains it.

        Args:
            name (str): the name of the feature, for error messages. With a name, shape and default
                are checked too.

        Returns:
            A dict of plain Python values.

        Raises:
            ValueError, TypeError: the shape, the dtype or the default is wrong.

        Example:
            print(lv.FixedLenFeature([2], lv.int64).to_value())
        """
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
    """Declares a feature with any number of values in each record.

    Batches have a ``Ragged`` column. The functions ``parse_example`` and ``parse_single_example``
    return a sparse value, as in TensorFlow.

    Args:
        dtype (dtype): int64, float32 or string; smaller dtypes are converted.

    Example:
        record = lv.make_example({"tokens": [1, 2, 3]})
        ds = lv.from_arrays({"record": [record]})
        print(ds.parse_example({"tokens": lv.VarLenFeature(lv.int64)}).first())
    """

    dtype: Any

    def __post_init__(self):
        _check_feature("VarLenFeature", self.dtype)

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """Returns the feature as plain data, as the text of a pipeline contains it.

        Args:
            name (str): the name of the feature, for error messages.

        Returns:
            A dict of plain Python values.

        Raises:
            ValueError: the dtype is missing.

        Example:
            print(lv.VarLenFeature(lv.int64).to_value())
        """
        return {"kind": "VarLen", "dtype": _dtype(name, self.dtype)}


@dataclass(frozen=True)
class FixedLenSequenceFeature:
    """Declares a feature with any number of values of one shape.

    Batches have a ``Ragged`` column. The functions ``parse_example`` and ``parse_sequence_example``
    return padded arrays.

    Args:
        shape (list[int]): the shape of a value; [] for a scalar.
        dtype (dtype): int64, float32 or string; smaller dtypes are converted.
        allow_missing (bool, default False): must be True in an Example, where the feature may be
            missing.
        default_value (value): one value that pads arrays; None = 0 or ``b""``.

    Example:
        frames = lv.FixedLenSequenceFeature([2], lv.float32, allow_missing=True)
        record = lv.make_example({"frames": [1.0, 2.0, 3.0, 4.0]})
        print(lv.parse_single_example(record, {"frames": frames})["frames"].shape)
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self):
        _check_feature("FixedLenSequenceFeature", self.dtype, self.shape)

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """Returns the feature as plain data, as the text of a pipeline contains it.

        Args:
            name (str): the name of the feature, for error messages. With a name, the default is
                checked too.

        Returns:
            A dict of plain Python values.

        Raises:
            ValueError, TypeError: the shape, the dtype or the default is wrong.

        Example:
            print(lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True).to_value())
        """
        shape, dtype = _shape(name, self.shape, sequence=True), _dtype(name, self.dtype)
        default = None if self.default_value is None else _plain(self.default_value)
        if isinstance(default, list):
            default = list(_leaves(default))
            if len(default) != 1:
                raise ValueError(
                    f"default_value of feature {name} must be one value, which pads, "
                    f"got {len(default)}"
                )
            default = default[0]
        if default is not None and name is not None:
            _check_default(name, dtype, [default])
        return {
            "kind": "FixedLenSequence", "dtype": dtype, "shape": shape, "default": default,
            "allow_missing": bool(self.allow_missing),
        }  # fmt: skip


@dataclass(frozen=True)
class SparseFeature:
    """Declares a sparse tensor in each record, made of features with its indices and its values.

    Datasets have two ragged fields instead: ``<name>/indices`` and ``<name>/values``.

    Args:
        index_key (str | list[str]): the int64 feature with the indices, one for each dimension.
        value_key (str): the feature with the values.
        dtype (dtype): dtype of the values.
        size (int | list[int]): the shape of the tensor.
        already_sorted (bool, default False): the indices ascend already, so they are not sorted
            again.

    Example:
        record = lv.make_example({"at": [4, 1], "value": [0.5, 0.25]})
        spec = {"x": lv.SparseFeature("at", "value", lv.float32, 8)}
        print(lv.parse_single_example(record, spec)["x"])
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """Returns the feature as plain data, as the text of a pipeline contains it.

        Args:
            name (str): the name of the feature, for error messages.

        Returns:
            A dict of plain Python values.

        Raises:
            ValueError: a key, the dtype or the size is missing, or their numbers differ.

        Example:
            print(lv.SparseFeature("at", "value", lv.float32, 8).to_value())
        """
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
    """Divides into rows of one length; as the last partition, it adds a dimension to the values."""

    def __init__(self, length: int) -> None:
        if int(length) < 1:
            raise ValueError(f"UniformRowLength({length}): the length must be at least 1")
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
    """Declares ragged values in each record, divided by partitions (outermost first).

    levada always checks partitions against the values, even without `validate`.

    Args:
        dtype (dtype): dtype of the values.
        value_key (str): the feature with the values; None = the name in the spec.
        partitions (list, default ()): ``RaggedFeature.RowLengths(key)`` and similar, each with the
            name of an int64 feature; or ``RaggedFeature.UniformRowLength(length)``.
        row_splits_dtype (dtype, default "int32"): int32 or int64: dtype of the offsets that the
            functions return.
        validate (bool, default False): ignored; TensorFlow's signature has it.

    Raises:
        ValueError, TypeError: a partition is wrong, or partitions have no `value_key`.

    Example:
        record = lv.make_example({"words": [1, 2, 3], "rows": [2, 1]})
        spec = {"x": lv.RaggedFeature(lv.int64, "words", [lv.RaggedFeature.RowLengths("rows")])}
        print(lv.parse_single_example(record, spec)["x"])
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
                raise TypeError(
                    "a partition must be RaggedFeature.RowSplits(key), UniformRowLength(length) "
                    f"or similar, got {part!r}"
                )
        if (
            self.partitions
            and self.value_key is None
            and any(isinstance(part, _Keyed) for part in self.partitions)
        ):
            raise ValueError("a RaggedFeature with partitions needs a value_key")

    def to_value(self, name: str | None = None) -> dict[str, Any]:
        """Returns the feature as plain data, as the text of a pipeline contains it.

        Args:
            name (str): the name of the feature, for error messages.

        Returns:
            A dict of plain Python values.

        Raises:
            ValueError: the dtype is missing, or `row_splits_dtype` is neither int32 nor int64.

        Example:
            print(lv.RaggedFeature(lv.int64).to_value())
        """
        splits = name_of(self.row_splits_dtype)
        if splits not in ("int32", "int64"):
            raise ValueError(f"row_splits_dtype of feature {name} is {splits}, not int32 or int64")
        return {
            "kind": "Ragged", "dtype": _dtype(name, self.dtype), "value_key": self.value_key,
            "partitions": [part.to_value() for part in self.partitions],
            "row_splits_dtype": splits, "validate": bool(self.validate),
        }  # fmt: skip


def not_a_spec(spec):
    """Text of an error: what a spec looks like."""
    names = ", ".join(map(str, spec)) if isinstance(spec, (list, tuple, set)) else ""
    hint = f" (a list of names has no dtypes: {names[:80]})" if names else ""
    return (
        f"a spec is a dict of name to feature, such as {{'tokens': lv.VarLenFeature(lv.int64)}}, "
        f"not {type(spec).__name__}{hint}"
    )


def _check_feature(kind, dtype, shape=None):
    """Refuses arguments of the other kind when a feature is made: FixedLenFeature(int64, [])."""
    if isinstance(dtype, (list, tuple)) or (shape is not None and _is_dtype(shape)):
        shown = f"{kind}({'' if shape is None else f'{shape!r}, '}{dtype!r})"
        order = "dtype" if shape is None else "shape, dtype"
        raise TypeError(f"{shown}: the arguments must be {kind}({order})")


def _is_dtype(value):
    return isinstance(value, (str, type, DType)) or hasattr(value, "char")  # NumPy's


def spec_value(features, steps=False):
    """{name: feature} as data; raises ValueError and TypeError where a feature is wrong."""
    if not isinstance(features, Mapping):
        raise TypeError(not_a_spec(features))
    known = ("VarLen", "FixedLenSequence", "Ragged") if steps else None
    spec = {}
    for name, feature in features.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a feature must be a str, got {name!r}")
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
