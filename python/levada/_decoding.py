# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions, kept with the specs that they were made for.

A program calls ``parse_single_example(record, features)`` with the same features again and again:
preparing a decoder costs more than a message of some hundred numbers.
"""

import math
from collections.abc import Mapping
from typing import Any

from levada import _levada
from levada._batch import Batch
from levada._dtypes import DTYPES
from levada._ragged import Bytes

_MOST = 32
_MOST_DIMS = 4
_MOST_VALUES = 1 << 16
# (make, names, and ids or values of features): (specs, what was made); ids live as long as specs.
kept: dict[Any, Any] = {}
# id of a dict of features: a decoder for `_levada.single`, which looks whether it still has them
lones: dict[int, Any] = {}


class Prepared:
    """Specs as data, and decoders for them that nobody uses now. Any thread."""

    __slots__ = ("decoder", "idle", "lone", "options", "specs")

    def __init__(self, decoder, options, specs):
        self.decoder, self.options, self.specs = decoder, options, specs
        self.idle = []
        self.lone = None  # a decoder for `_levada.single`; False where a feature needs more

    def block(self, strings):
        """Block of the decoder's columns, of a list of ``bytes`` or of ``Bytes``."""
        try:
            decoder = self.idle.pop()
        except IndexError:
            decoder = _levada.decoder(self.decoder, self.options)
        try:
            if isinstance(strings, Bytes):
                return _levada.decode_column(decoder, strings.data, strings.offsets)
            return _levada.decode(decoder, strings)
        finally:
            self.idle.append(decoder)

    def decode(self, strings):
        """The same as a Batch."""
        return Batch(self.block(strings))

    def lone_for(self, features):
        """Makes `lone`, where all features are plain: no partitions, no indices of their own."""
        found = _components(self.specs)
        self.lone = bool(found) and _levada.decoder(self.decoder, self.options, features, found)
        return self.lone


def _components(specs):
    """Of the columns, for the extension; () where a feature needs more than an array.

    Sparse columns are those of any shape; one for their indices then follows the others.
    """
    components = []
    for value in specs.values():
        dtype, shape = value.get("dtype"), tuple(value.get("shape") or ())
        if value.get("kind") not in ("FixedLen", "FixedLenSequence", "Ragged", "VarLen"):
            return ()
        if value.get("partitions") or len(shape) > _MOST_DIMS or _is_large(shape):
            return ()
        if dtype not in DTYPES or dtype == "bfloat16":  # what NumPy may see otherwise
            return ()
        dims = shape if value["kind"] == "FixedLen" else (-1, *shape)
        components.append(_component(dtype, None if value["kind"] == "VarLen" else dims))
    if any(dims is None for _, dims, *_ in components):
        components.append(_component("int64", (-1, 1)))
    return tuple(components)


def _component(dtype, dims):
    return dtype, dims, *[DTYPES[dtype].dtype] * 2


def _is_large(shape):
    """Whether filling in a default takes so long that others should have the interpreter."""
    return not all(isinstance(n, int) for n in shape) or math.prod(shape) > _MOST_VALUES


def prepare(make, *specs):
    """The result of `make(*specs)`, kept for the next call with the same or equal features."""
    try:
        key = (make, *((*spec, *map(id, spec.values())) for spec in specs))
        found = kept.get(key)
        if found is None:
            by_value = (make, *((*spec, *map(_frozen, spec.values())) for spec in specs))
            found = kept.get(by_value)
    except (AttributeError, TypeError):  # no dicts, features that may change, wrong ones
        return make(*specs)
    if found is None:
        found = [dict(spec) for spec in specs], make(*specs)
        while len(kept) >= _MOST:
            kept.pop(next(iter(kept)), None)
        kept[key] = kept[by_value] = found
    return found[1]


def keep_lone(features, decoder):
    """Puts the decoder of features that `kept` has into `lones`."""
    if len(lones) >= _MOST:
        lones.clear()
    lones[id(features)] = decoder


def _frozen(value):
    """A feature, or what is in it, as a key; TypeError if there is none."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return (type(value), *(_frozen(getattr(value, name)) for name in fields))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping) or hasattr(value, "__array__"):
        raise TypeError("it may change")
    return type(value), value
