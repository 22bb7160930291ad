# SPDX-License-Identifier: Apache-2.0
"""Libraries that add sources, stages and decoders, and those written in Python."""

from __future__ import annotations

import functools
import json
import os
from types import SimpleNamespace

from levada import _identity, _levada
from levada._names import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

sources: dict[str, Any] = {}  # name: class (register_source)
decoders: dict[str, Any] = {}  # name: fn (register_decoder)
_loaded: dict[str, SimpleNamespace] = {}  # path: namespace


def load_library(path: str | os.PathLike[str]) -> str:
    """Loads a plug-in and returns its name. Loading it again does nothing.

    Args:
        path (str): the shared object.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not a plug-in, or was compiled for a newer levada.
        AlreadyExistsError: a name of the plug-in is registered already.

    Example:
        try:
            lv.load_library("my_reader.so")  # a plug-in
        except lv.errors.NotFoundError as error:
            print(error)
    """
    return _levada.load(os.fspath(path))


def load_op_library(path: str | os.PathLike[str]) -> SimpleNamespace:
    """Loads a plug-in and returns its contents as functions.

    ``lib.my_reader(**options)`` is a Dataset; ``lib.my_stage(ds, **options)`` and
    ``lib.my_decoder(ds, field, **options)`` return a new dataset.

    Args:
        path (str): the shared object.

    Example:
        try:
            lv.load_op_library("my_reader.so")  # a plug-in
        except lv.errors.NotFoundError as error:
            print(error)
    """
    key = os.path.realpath(path)
    if key not in _loaded:
        library = load_library(path)
        rows = [row for row in json.loads(_levada.stages()) if row["plugin"] == library]
        made = {row["name"]: _function(row) for row in rows}
        _loaded[key] = SimpleNamespace(__name__=library, **made)
    return _loaded[key]


def _function(row):
    """The function for a row of the table of stages."""
    from levada._dataset import Dataset

    name = row["name"]

    def reader(**options):
        return Dataset(_levada.append(name, options, ()))

    def stage(ds, **options):
        return ds.stage(name, **options)

    def decoder(ds, field=None, **options):
        return ds.decode(name, field, **options)

    made = {"stage": stage, "decoder": decoder}.get(row["family"], reader)
    made.__name__ = made.__qualname__ = name
    options = [f"    {arg['name']} ({arg['type']}): {arg['doc'] or ''}" for arg in row["args"]]
    made.__doc__ = "\n".join([row["doc"] or name, "", "Args:", *options])
    return made


def register_source(name: str, cls: Callable[..., Any]) -> None:
    """Registers a source that is written in Python: ``levada.source(name, **options)`` calls
    ``cls(**options)``.

    Name and options are part of the text and of the fingerprint of a dataset, so pass plain
    values. For an object of another class, they contain only the class.

    Args:
        name (str): the name.
        cls (Callable): a class whose instances have ``spec`` ({field: dtype or feature}, may be
            None) and ``__iter__`` (records as dicts). If the iterator has ``save() -> bytes`` and
            ``restore(bytes)``, it can be saved.

    Example:
        class Squares:
            spec = {"value": lv.int64}

            def __init__(self, count):
                self.count = count

            def __iter__(self):
                return ({"value": i * i} for i in range(self.count))

        lv.register_source("squares", Squares)
        print([record["value"] for record in lv.source("squares", count=3)])
    """
    _new_name(name, cls, "a class or a function that returns the source")
    sources[name] = cls


def register_decoder(name: str, fn: Callable[..., Mapping[str, Any]]) -> None:
    """Registers a decoder that is written in Python: ``ds.decode(name, field)`` calls ``fn(value,
    key)``.

    Args:
        name (str): the name.
        fn (Callable): fn(value, key) -> dict of arrays. `key` is the key of the record, as in
            ``Batch.record_keys`` and errors: ``"train-3.tfrecord:17"``.

    Example:
        lv.register_decoder("as_text", lambda value, key: {"text": bytes(value).decode()})
        ds = lv.from_arrays({"b": [b"ab"]}).decode("as_text", "b")
    """
    _new_name(name, fn, "a function of (value, key)")
    decoders[name] = fn


def _new_name(name, maker, expected):
    from levada.errors import AlreadyExistsError

    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} must be a name of letters, digits and underscores")
    if not callable(maker):
        raise TypeError(f"{name}: expected {expected}, not {maker!r:.60}")
    if name in sources or name in decoders or name in names():
        raise AlreadyExistsError(f"the name {name!r} is registered already")


def open_source(name, cls, options):
    """The dataset of a registered source."""
    from levada._dataset import Dataset, with_spec

    handle, spec = _source_handle(name, cls, options)
    return Dataset(_levada.append("records", with_spec(handle, spec), ()))


def _source_handle(name, cls, options):
    from levada import _functions

    spec = getattr(cls(**options), "spec", None)
    target = _functions.Records(functools.partial(cls, **options), spec, name)
    target.text = _identity.text_of_registered(name, options)
    return _functions.handle(target, cls, source=True), spec


def made_again(text):
    """The handle that a description names by the text of a registered source or decoder."""
    name, options = _identity.options_of(text) or (None, {})
    if name in sources:
        return _source_handle(name, sources[name], options)[0]
    if name in decoders and "field" in options:
        return _decoder_handle(name, decoders[name], options)
    return None


def apply_decoder(ds, name, fn, field, **options):
    """The dataset with one field decoded by a registered function."""
    from levada._nearest import unknown
    from levada.errors import InvalidArgumentError

    if field is None:
        field = next(iter(ds.spec), "record")
    if field not in ds.spec and not ds._core.flags & 1:
        raise InvalidArgumentError(f"decode: {unknown('field', field, ds.spec)}")

    return ds._append("map", {"fn": _decoder_handle(name, fn, {"field": field, **options})})


def _decoder_handle(name, fn, options):
    from levada import _functions

    rest = {key: value for key, value in options.items() if key != "field"}
    target = _functions.Decode(_Decoder(fn, options["field"], rest))
    target.text = _identity.text_of_registered(name, options)
    return _functions.handle(target, fn, keyed=True, per_record=True)


class _Decoder:
    """(record, key) -> record with one field decoded."""

    def __init__(self, fn, field, options):
        self.fn, self.field, self.options = fn, field, options

    def __call__(self, record, key):
        rest = dict(record)
        value = rest.pop(self.field)
        if isinstance(value, str):
            value = value.encode()  # decoders read bytes, of text too
        return {**rest, **self.fn(value, key, **self.options)}
