# SPDX-License-Identifier: Apache-2.0
"""``Dataset.group_by_window`` with functions: they become fields that the stage reads."""

import re

from levada import errors
from levada._batch import Batch
from levada._functions import Key, decode_key, with_field, with_length
from levada._ragged import Bytes


class _OfKey:
    """fn(key) of a record, and of a batch whose records share the key."""

    def __init__(self, fn, field):
        self.fn, self.field = fn, field
        self.__wrapped__ = fn  # error messages name it

    def named(self):
        return "of_key", {"fn": self.fn, "field": self.field}

    def __call__(self, record):
        if isinstance(record, Batch):
            return self.fn(self._key(_items(record[self.field])[0]), record)
        return self.fn(self._key(record[self.field]))

    def _key(self, value):
        """The key as its user knows it."""
        if self.field == _KEY:
            return decode_key(value)
        return value if isinstance(value, (bytes, str)) else int(value)


_KEY = "window_key"  # field of what a function of the key returns, encoded
_EXPRESSION = re.compile(r" *(len\( *)?([^ ()%]+?) *(?(1)\)) *(?:(//|%) *(\d+) *)?", re.ASCII)


class _Expression:
    """The key of a record as the stage computes it from a text such as ``"len(tokens) // 16"``."""

    def __init__(self, text):
        self.text = text
        length, self.field, self.op, number = _EXPRESSION.fullmatch(text).groups()
        self.length, self.number = bool(length), int(number or 1)

    def named(self):
        return "expression", {"text": self.text}

    def __call__(self, record):
        value = record[self.field]
        if not self.length and isinstance(value, (bytes, str)):
            return value
        if self.length and isinstance(value, str):
            value = value.encode()  # levada counts bytes
        value = len(value) if self.length else min(int(value), (1 << 63) - 1)
        if self.op == "//":
            return value // self.number
        return value % self.number if self.op else value


def _items(column):
    """The values of a column as records have them."""
    return column.items() if isinstance(column, Bytes) else column


class _Without:
    """A batch without some of its fields."""

    def __init__(self, names):
        self.names = names

    def named(self):
        return "without", {"names": sorted(self.names)}

    def __call__(self, batch):
        return {name: batch[name] for name in batch if name not in self.names}


def windows(ds, key, reduce, size_func, options):
    """``Dataset.group_by_window``: functions become fields that the stage reads."""
    if (size_func is None) == ("window_size" not in options):
        found = "both" if size_func else "neither"
        raise errors.InvalidArgumentError(
            f"set exactly one of window_size and window_size_func, got {found}"
        )
    known = None if ds._core.flags & 1 else tuple(ds.spec)
    if (reduce or size_func) and isinstance(key, str) and key not in (known or ()):
        ds._append("group_by_window", {"key": key, "window_size": 1})  # says what is wrong with it
        key = _Expression(key)
    made, helpers = ds, []
    if callable(key):
        made, key = with_field(made, Key(key, _KEY)), _KEY
        helpers.append(key)
    if size_func:
        helpers.append("window_size")
        made = with_length(made, _OfKey(size_func, key), "window_size")
        options["window_size_field"] = "window_size"
    made = made._append("group_by_window", {"key": key, **options})
    if reduce:
        return made.map(_OfKey(reduce, key), batched=True)
    if not helpers:
        return made
    return made.select(*known) if known else made.map(_Without(helpers), batched=True)
