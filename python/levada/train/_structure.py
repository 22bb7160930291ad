# SPDX-License-Identifier: Apache-2.0
"""Examples and where they come from: a structure of fields, and sources as functions.

An example is one array-like, or a list, tuple or dict of array-likes. Its fields travel as the
components of a queue, in order; those of a dict sorted by the text of their keys, as in
TensorFlow's ``python/training/input.py`` (class _ListHelper and similar). Sparse tensors do not
exist in levada: what varies in length is a field of its own, ``dynamic_pad`` or ragged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from levada._batch import Batch
from levada._parsing import RaggedValue
from levada.errors import InvalidArgumentError, OutOfRangeError
from levada.train._locks import Listed, own_lock

_Source = Callable[[], Any]


def _remedy(field: Any) -> str:
    if isinstance(field, tuple) and [getattr(part, "ndim", 0) for part in field] == [2, 1, 1]:
        return "RaggedFeature in place of VarLenFeature, whose values are sparse"
    return "np.asarray(field) for an array, iter(examples) for a list of examples"


class Structure:
    """How the fields of an example lie in it: fixed by the first example.

    ``kind`` is list, tuple, dict or None (bare); ``keys`` names the fields: numbers, or the keys of
    a dict sorted by text; ``pick`` returns their values, a tuple where there are several. One
    thread at a time may call ``of``, any number the methods.
    """

    __slots__ = ("keys", "kind", "pick")

    def __init__(self, kind: type | None, keys: list[Any]) -> None:
        if not keys:
            raise InvalidArgumentError("an example must have at least one field, got an empty list")
        self.kind = kind
        self.keys = keys
        self.pick = itemgetter(*keys)

    @classmethod
    def of(cls, example: Any) -> Structure:
        """The structure of an example; a dict or list inside a list is a TypeError."""
        example = dict(example) if isinstance(example, Batch) else example
        if isinstance(example, Mapping):
            keys = sorted(example.keys(), key=str)
            structure = cls(dict, keys)
        elif _is_list(example):
            structure = cls(tuple if isinstance(example, tuple) else list, [*range(len(example))])
            for i, value in enumerate(example):
                if _is_list(value) or isinstance(value, Mapping):
                    raise TypeError(
                        f"field {i} of the example is a {type(value).__name__}: an example is one "
                        "list, tuple or dict of arrays, not one inside another; pass "
                        + _remedy(value)
                    )
        else:
            structure = cls(None, [0])
        return structure

    def flatten(self, example: Any) -> Sequence[Any]:
        """The values of the fields in order.

        Raises InvalidArgumentError where the example has other fields than the first.
        """
        if self.kind is dict:
            if type(example) is not dict and isinstance(example, Batch):
                example = dict(example)
            if type(example) is dict or isinstance(example, Mapping):
                try:
                    if len(example) == len(self.keys):
                        picked = self.pick(example)
                        return picked if len(self.keys) > 1 else [picked]
                except KeyError:
                    pass
                raise self._misfit(example)
        elif self.kind is None:
            if not _is_list(example) and not isinstance(example, Mapping):
                return [example]
        elif _is_list(example) and len(example) == len(self.keys):
            return list(example)
        raise InvalidArgumentError(
            f"the example is {_described(example)}, the first was {self}; "
            "every example has the same structure"
        )

    def _misfit(self, example: Mapping) -> InvalidArgumentError:
        missing = [key for key in self.keys if key not in example]
        extra = [key for key in example if key not in self.keys]
        what = f"lacks field {missing[0]!r}" if missing else f"has a new field {extra[0]!r}"
        return InvalidArgumentError(
            f"the example {what}; it has {', '.join(repr(key) for key in example)}: "
            "all dictionaries must have the same keys"
        )

    def build(self, values: Sequence[Any], bare: bool = True) -> Any:
        """Values, one for each field, in this structure; a list of one field may come back bare."""
        if self.kind is dict:
            return dict(zip(self.keys, values, strict=True))
        if self.kind is None or (bare and len(self.keys) == 1):
            return values[0]
        return tuple(values) if self.kind is tuple else list(values)

    def index(self, field: Hashable) -> int:
        """Which component the field is; InvalidArgumentError names those that there are."""
        if self.kind is not dict and isinstance(field, int) and field < 0:
            field += len(self.keys)
        if field in self.keys:
            return self.keys.index(field)
        present = ", ".join(repr(key) for key in self.keys)
        raise InvalidArgumentError(f"no field {field!r} in the example; it has {present}")

    def in_order(self, given: Any, what: str) -> list[Any]:
        """`given`, one entry a field (a list in order or a dict), as a list in order."""
        if isinstance(given, Mapping):
            if set(given) != set(self.keys):
                raise ValueError(f"{what} has the keys {list(given)}, the fields are {self.keys}")
            return [given[key] for key in self.keys]
        if len(given) != len(self.keys):
            raise ValueError(
                f"len({what})={len(given)}, but an example has {len(self.keys)} fields"
            )
        return list(given)

    def __repr__(self) -> str:
        if self.kind is None:
            return "one array"
        names = ", ".join(repr(key) for key in self.keys)
        return f"a {self.kind.__name__} of the fields {names}"


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not isinstance(value, RaggedValue)


def _described(example: Any) -> str:
    if _is_list(example) or isinstance(example, Mapping):
        return f"a {type(example).__name__} of {len(example)}"
    return f"one {type(example).__name__}"


# -- sources


class _Iterated:
    """An iterable as a function: read under a lock, from the first call on."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._iterator: Iterator[Any] | None = None
        self._lock = own_lock(self)
        self.__name__ = type(source).__name__

    def __call__(self) -> Any:
        with Listed(self.__name__, "its turn") as wait, self._lock:
            wait.over()
            if self._iterator is None:
                self._iterator = iter(self._source)
            try:
                return next(self._iterator)
            except StopIteration:
                raise OutOfRangeError(f"the end of the {self.__name__}") from None


class Fields:
    """A list, tuple or dict of fields as a function that returns one example. Any thread.

    A field is a source of its own (a function, a queue, an iterator) or a value, which every
    example repeats, as a constant tensor does in TensorFlow. One thread at a time reads an example,
    so that its fields belong together. The first source that ends is the end. A call that is
    interrupted keeps the fields that it has read for the next one.
    """

    def __init__(self, fields: Any, who: str) -> None:
        self._structure = Structure.of(fields)
        values = self._structure.flatten(fields)
        self._reads = [
            _field(*field, who) for field in zip(self._structure.keys, values, strict=True)
        ]
        self._lock = own_lock(self)
        self._got: list[Any] = []  # guarded by _lock
        self.__name__ = type(fields).__name__

    def __call__(self) -> Any:
        with Listed(self.__name__, "its turn") as wait, self._lock:
            wait.over()
            got = self._got
            for read in self._reads[len(got) :]:
                got.append(read())
            self._got = []
            return self._structure.build(got, bare=False)


def _field(key: Hashable, value: Any, who: str) -> _Source:
    """A function that returns the values of one field."""
    if isinstance(value, type):
        raise TypeError(f"{who}: field {key!r} is the class {value.__name__}; pass a value of it")
    if callable(value) or hasattr(value, "dequeue") or hasattr(value, "__next__"):
        return as_source(value, who)
    return lambda: value


def as_source(source: Any, who: str) -> _Source:
    """The source as a function of no arguments that returns one example.

    Raises TypeError, with a hint, if it is not a source. Nothing is read before the function is
    called.
    """
    if hasattr(source, "dequeue"):
        return source.dequeue
    if isinstance(source, type) or isinstance(source, (str, bytes, int, float, Mapping)):
        raise TypeError(
            f"{who}: the source is {source!r}; it must be a function that returns one example, an "
            "iterable of examples, a Dataset or a queue (where TensorFlow takes tensors)"
        )
    if callable(source):
        return source
    if hasattr(source, "__iter__") or hasattr(source, "__getitem__"):
        return _Iterated(source)
    hint = "levada has no sessions: " if hasattr(source, "run") else ""
    raise TypeError(
        f"{who}: {hint}the source must be a function that returns one example, an iterable of "
        f"examples, a Dataset or a queue, got {type(source).__name__}"
    )
