# SPDX-License-Identifier: Apache-2.0
"""Features to parse hostile messages with, and what each of them must return.

Results have one plain form for every reader: a list of values, or of lists of values, for one
record. Floats are their four bytes, so that NaN compares equal.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import levada as lv
import numpy as np
from wire_reference import Refused, examine, feature_of, fields, note, noted, read

KIND = {"string": 1, "float32": 2, "int64": 3}


@dataclass(frozen=True)
class Case:
    """One feature: `kind`, the key that holds its values, and its options."""

    name: str
    kind: str
    key: str = "a"
    dtype: str = "int64"
    shape: tuple = ()
    default: Any = None
    parts: tuple = ()  # (type, key) of each partition
    index: tuple = ()
    steps: bool = False
    missing: bool = True

    @property
    def column(self):
        """What the feature is called: most kinds find their key by it."""
        return self.key if self.kind in ("fixed", "var", "sequence") else self.name

    def feature(self, io, dtypes):
        """The feature as levada or tf.io makes it."""
        dtype = getattr(dtypes, self.dtype)
        if self.kind == "fixed":
            return io.FixedLenFeature(list(self.shape), dtype, self.default)
        if self.kind == "var":
            return io.VarLenFeature(dtype)
        if self.kind == "sequence":
            return io.FixedLenSequenceFeature(list(self.shape), dtype, self.missing)
        if self.kind == "sparse":
            keys = self.index[0] if len(self.index) == 1 else list(self.index)
            size = 100 if len(self.index) == 1 else [100] * len(self.index)
            return io.SparseFeature(keys, self.key, dtype, size)
        parts = [getattr(io.RaggedFeature, kind)(key) for kind, key in self.parts]
        return io.RaggedFeature(dtype, self.key, parts)


EXAMPLE = [
    Case("fixed", "fixed"),
    Case("fixed default", "fixed", default=7),
    Case("fixed two", "fixed", shape=(2,), default=[8, 9]),
    Case("fixed float", "fixed", "f", "float32", default=0.5),
    Case("fixed floats", "fixed", "f", "float32", (2,)),
    Case("fixed string", "fixed", "s", "string", default=b"d"),
    Case("fixed strings", "fixed", "s", "string", (2,)),
    Case("var", "var"),
    Case("var float", "var", "f", "float32"),
    Case("var string", "var", "s", "string"),
    Case("sequence", "sequence"),
    Case("sequence two", "sequence", shape=(2,)),
    Case("sequence float", "sequence", "f", "float32"),
    Case("sequence string", "sequence", "s", "string"),
    Case("ragged", "ragged"),
    Case("ragged float", "ragged", "f", "float32"),
    Case("ragged string", "ragged", "s", "string"),
    Case("ragged lengths", "ragged", parts=(("RowLengths", "p"),)),
    Case("ragged splits", "ragged", "s", "string", parts=(("RowSplits", "p"),)),
    Case("sparse", "sparse", index=("x",)),
    Case("sparse 2", "sparse", "f", "float32", index=("x", "y")),
]
CONTEXT = [
    case
    for case in EXAMPLE
    if case.kind in ("fixed", "var") or (case.kind == "ragged" and not case.parts)
]
LISTS = [
    Case("steps", "sequence", steps=True),
    Case("steps two", "sequence", shape=(2,), steps=True),
    Case("steps required", "sequence", steps=True, missing=False),
    Case("steps float", "sequence", "f", "float32", (2,), steps=True),
    Case("steps string", "sequence", "s", "string", steps=True),
    Case("steps var", "var", steps=True),
    Case("steps var float", "var", "f", "float32", steps=True),
    Case("steps var string", "var", "s", "string", steps=True),
    Case("steps ragged", "ragged", steps=True),
    Case("steps ragged string", "ragged", "s", "string", steps=True),
    Case("steps ragged lengths", "ragged", steps=True, parts=(("RowLengths", "p"),)),
]


def plain(case, value):
    """A default as the reference decoder returns values."""
    return struct.pack("<f", value) if case.dtype == "float32" else value


def of_kind(feature, kind):
    if feature.kind not in (0, kind):
        raise Refused("another kind")
    return feature.values


def values_of(features, key, kind):
    """Values of the last entry; without a kind there are none."""
    bodies = features.get(key.encode(), [])
    return of_kind(feature_of(bodies[-1]), kind) if bodies else []


def fixed(case, features, sequence):
    """In an Example entries without a kind do not count; in a context they are refused."""
    need = 1
    for dim in case.shape:
        need *= dim
    for body in reversed(features.get(case.key.encode(), [])):
        feature = feature_of(body)
        if feature.kind == 0:
            note("no kind")
            if sequence:
                raise Refused("a feature of a context without a kind")
            continue
        if len(of_kind(feature, KIND[case.dtype])) != need:
            raise Refused("another number of values")
        return feature.values
    if case.default is None:
        raise Refused("missing")
    default = case.default if isinstance(case.default, list) else [case.default]
    return [plain(case, value) for value in default]


def rows_of(kind, values, numbers):
    """Values divided by one partition."""
    if kind == "RowLengths":
        ends, end = [], 0
        for n in numbers:
            if n < 0:
                raise Refused("a negative length")
            end += n
            ends.append(end)
    else:
        if numbers and numbers[0] != 0:
            raise Refused("splits begin with 0")
        ends = numbers[1:]
    start, rows = 0, []
    for end in ends:
        if not start <= end <= len(values):
            raise Refused("a partition goes beyond the values")
        rows.append(values[start:end])
        start = end
    if start != len(values):
        raise Refused("a partition does not cover the values")
    return rows


def divided(case, values, features):
    for kind, key in case.parts:
        values = rows_of(kind, values, values_of(features, key, 3))
    return values


def strided(case, values):
    need = case.shape[0] if case.shape else 1
    if len(values) % need:
        raise Refused("not a multiple of the stride")
    return values


def sparse(case, features):
    values = values_of(features, case.key, KIND[case.dtype])
    index = [values_of(features, key, 3) for key in case.index]
    if any(len(numbers) != len(values) for numbers in index):
        raise Refused("other numbers of indices and values")
    found = list(zip(zip(*index, strict=True), values, strict=True))
    if len({pair[0] for pair in found}) < len(found):
        note("equal indices")
    return sorted(found, key=lambda pair: pair[0])


def expect_example(case, features, sequence=False):
    """What a feature of an Example or of a context is, or Refused."""
    if case.kind == "fixed":
        return fixed(case, features, sequence)
    if case.kind == "sparse":
        return sparse(case, features)
    values = values_of(features, case.key, KIND[case.dtype])
    return divided(case, strided(case, values), features)


def steps_of(lists, key, kind):
    """Values of each step of the last list of a key; None if there is none."""
    bodies = lists.get(key.encode())
    if not bodies:
        return None
    steps = bodies[-1]
    if isinstance(steps, bytes):
        steps = [value for number, wire, value in fields(steps) if (number, wire) == (1, 2)]
    return [of_kind(feature_of(step), kind) for step in steps]


def expect_list(case, lists):
    steps = steps_of(lists, case.key, KIND[case.dtype])
    if steps is None and not case.missing:
        raise Refused("missing")
    steps = steps or []
    if case.kind == "sequence":
        need = case.shape[0] if case.shape else 1
        if any(len(step) != need for step in steps):
            raise Refused("another number of values")
        return steps
    for kind, key in case.parts:
        numbers = steps_of(lists, key, 3) or []
        if len(numbers) != len(steps):
            raise Refused("other numbers of steps")
        steps = [rows_of(kind, *pair) for pair in zip(steps, numbers, strict=True)]
    return steps


# -- results of the functions of levada and TensorFlow in the plain form


def atoms(array, dtype):
    """Values of an array as bytes (strings, floats) or int."""
    if isinstance(array, bytes):
        return [array]  # NumPy would drop zeros at its end
    array = np.asarray(array)
    if dtype == "float32":
        return [value.tobytes() for value in array.ravel()]
    return array.ravel().tolist()


def nested(values, splits):
    """Rows of flat values; `splits` outermost first."""
    for level in reversed(splits):
        ends = [int(end) for end in level]
        values = [values[a:b] for a, b in pairwise(ends)]
    return values


def by_index(indices, values):
    """Values by the leading dimensions of their indices."""
    rows = {}
    for index, value in zip(indices.tolist(), values, strict=True):
        rows.setdefault(tuple(index[:-1]), []).append(value)
    return rows


def result_of(case, result):
    """What a function for one message returned, in the plain form."""
    if case.kind in ("var", "sparse"):
        indices, values, shape = result
        values = atoms(values, case.dtype)
        if case.kind == "sparse":
            return list(zip(map(tuple, indices.tolist()), values, strict=True))
        if not case.steps:
            return values
        rows = by_index(indices, values)
        return [rows.get((step,), []) for step in range(int(shape[0]))]
    if case.kind == "ragged" and isinstance(result, tuple):
        values, splits = result
        return nested(atoms(values, case.dtype), splits if isinstance(splits, tuple) else (splits,))
    values = atoms(result, case.dtype)
    if case.kind == "sequence" and case.steps:
        need = case.shape[0] if case.shape else 1
        return [values[i : i + need] for i in range(0, len(values), need)]
    return values


def column_of(case, batch):
    """A column of a stage: a list of records in the plain form."""
    if case.kind == "sparse":
        indices, values = batch[f"{case.column}/indices"], batch[f"{case.column}/values"]
        values = leaves(case, values.to_list())
        pairs = zip(indices.to_list(), values, strict=True)
        return [
            list(zip((tuple(index) for index in row), row_values, strict=True))
            for row, row_values in pairs
        ]
    column = batch[case.column]
    if case.kind == "fixed":
        column = column.to_list() if hasattr(column, "to_list") else np.asarray(column).tolist()
        rows = [np.ravel(np.array(row, object)).tolist() for row in column]
        return leaves(case, rows)
    rows = leaves(case, column.to_list())
    if case.kind != "sequence":
        return rows
    if case.steps:
        return [[step if case.shape else [step] for step in row] for row in rows]
    return [[value for item in row for value in item] if case.shape else row for row in rows]


def leaves(case, value):
    if isinstance(value, list):
        return [leaves(case, item) for item in value]
    if hasattr(value, "tolist"):
        return leaves(case, value.tolist())
    return struct.pack("<f", value) if case.dtype == "float32" else value


# -- running

OTHER = "another message"  # refused, since it looks like a message of the other type


def expected(case, message, sequence=False):
    """The plain result, or None where the message must be refused."""
    try:
        noted.clear()
        features, lists = read(message, sequence)
        examine(features, lists)
        return expect_list(case, lists) if case.steps else expect_example(case, features, sequence)
    except Refused:
        return None


def arguments(case, spec, sequence):
    if not sequence:
        return (spec,)
    return ({}, spec) if case.steps else (spec, {})


def parsed(case, message, sequence=False, batch=False):
    """What levada's function for one message returns, or that for a list of one."""
    specs = arguments(case, {case.column: case.feature(lv, lv)}, sequence)
    single = lv.parse_single_sequence_example if sequence else lv.parse_single_example
    several = lv.parse_sequence_example if sequence else lv.parse_example
    try:
        got = several([message], *specs) if batch else single(message, *specs)
    except lv.errors.InvalidArgumentError as error:
        return OTHER if "looks like a tf.train." in str(error) else None
    got = (got[case.steps] if sequence else got)[case.column]
    return first_of(case, got) if batch else result_of(case, got)


def first_of(case, result):
    """The result of the only message of a list, as that of a function for one."""
    if case.kind in ("var", "sparse"):
        indices, values, shape = result
        return result_of(case, (indices[:, 1:], values, shape[1:]))
    if case.kind == "ragged":
        values, splits = result
        splits = splits if isinstance(splits, tuple) else (splits,)
        assert splits[0].tolist() == [0, len(splits[1]) - 1 if len(splits) > 1 else len(values)]
        return result_of(case, (values, splits[1:]) if len(splits) > 1 else values)
    return result_of(case, result[0])
