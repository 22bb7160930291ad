# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions, kept with the specs that they were made for.

A program calls ``parse_single_example(record, features)`` with the same features again and again:
preparing a decoder costs more than a message of some hundred numbers.
"""

from collections.abc import Mapping

from levada import _levada
from levada._batch import Batch, Bytes, array_of

_MOST = 32
# (make, names, and ids or values of features): (specs, what was made); ids live as long as specs.
_kept = {}


class Prepared:
    """Specs as data, and decoders for them that nobody uses now. Any thread."""

    __slots__ = ("decoder", "idle", "options", "plain", "specs")

    def __init__(self, decoder, options, specs):
        self.decoder, self.options, self.specs = decoder, options, specs
        self.idle = []
        self.plain = None

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

    def single(self, string):
        """{name: array} of one Example whose features are plain: numbers, and nothing sparse.

        None where they are not.
        """
        if self.plain is None:
            self.plain = _plain(self.specs)
        if not self.plain:
            return None
        block, found = self.block([string]), {}
        for i, (name, shape) in enumerate(self.plain):
            if shape is None:
                found[name] = array_of(block.parts(i)[0])
            else:
                found[name] = array_of(block.values(i)).reshape(shape)
        return found


def _plain(specs):
    """[(name, shape, or None for all values)], or () where a feature needs more than an array."""
    plain = []
    for name, value in specs.items():
        kind = value["kind"]
        if value["dtype"] == "string" or (kind == "Ragged" and value.get("partitions")):
            return ()
        if kind not in ("FixedLen", "FixedLenSequence", "Ragged"):
            return ()
        plain.append((name, tuple(value["shape"]) if kind == "FixedLen" else None))
    return plain


def prepare(make, *specs):
    """What `make(*specs)` gives, kept for the next call with the same or equal features."""
    try:
        key = (make, *((*spec, *map(id, spec.values())) for spec in specs))
        found = _kept.get(key)
        if found is None:
            by_value = (make, *((*spec, *map(_frozen, spec.values())) for spec in specs))
            found = _kept.get(by_value)
    except (AttributeError, TypeError):  # no dicts, features that may change, wrong ones
        return make(*specs)
    if found is None:
        found = [dict(spec) for spec in specs], make(*specs)
        while len(_kept) >= _MOST:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = _kept[by_value] = found
    return found[1]


def _frozen(value):
    """A feature, or what is in it, as a key; TypeError where there is none."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return (type(value), *(_frozen(getattr(value, name)) for name in fields))
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    if isinstance(value, Mapping) or hasattr(value, "__array__"):
        raise TypeError("it may change")
    return type(value), value
