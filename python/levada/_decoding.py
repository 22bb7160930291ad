# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions, kept with the specs that they were made for.

A program calls ``parse_single_example(record, features)`` with the same features again and again:
preparing a decoder costs more than a message of some hundred numbers.
"""

from collections.abc import Mapping

from levada import _levada
from levada._batch import Batch, Bytes, array_of

_MOST = 32
_kept = {}  # (make, names and ids of features): (specs, what was made); ids live as long as specs


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
    """What `make(*specs)` gives, kept for the next call with the same feature objects."""
    try:
        key = (make, *((*spec, *map(id, spec.values())) for spec in specs))
        found = _kept.get(key)
    except (AttributeError, TypeError):  # no dicts, or names that are none: make says so
        return make(*specs)
    if found is None:
        given = [dict(spec) for spec in specs]
        found = given, make(*specs)
        if any(isinstance(value, Mapping) for spec in given for value in spec.values()):
            return found[1]  # a feature that may change
        while len(_kept) >= _MOST:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = found
    return found[1]
