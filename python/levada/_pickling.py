# SPDX-License-Identifier: Apache-2.0
"""Copies of datasets with what a description in text does not hold: functions and arrays."""

from levada import _levada


def _is_target(value):
    return hasattr(value, "handled")


def _parts(core):
    for value in core.options().values():
        if isinstance(value, _levada.Dataset):
            yield from _parts(value)
        elif isinstance(value, _levada.Block) or _is_target(value):
            yield value
    for below in core.inputs():
        yield from _parts(below)


def same_parts(one, other):
    pairs = list(zip(_parts(one), _parts(other), strict=True))
    return all(_is_target(a) and type(a) is type(b) and a.handled == b.handled for a, b in pairs)


class _Stored:
    """An option in a pickle; `kind` says what `value` is made into."""

    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def option(self):
        from levada._columns import Columns
        from levada._functions import handle_again

        if self.kind == "block":
            fields, columns = self.value
            return Columns.like(fields).batch(columns)
        return {"function": handle_again, "pipe": _grown}[self.kind](self.value)


def _stored(value):
    if isinstance(value, _levada.Dataset):
        return _Stored("pipe", _tree(value))
    if isinstance(value, _levada.Block):
        from levada._batch import Batch

        return _Stored("block", (value.fields(), Batch(value).numpy()))
    return _Stored("function", value) if _is_target(value) else value


def _tree(core):
    options = {name: _stored(value) for name, value in core.options().items()}
    return core.name, options, tuple(_tree(below) for below in core.inputs())


def _grown(tree):
    name, options, inputs = tree
    made = {k: v.option() if isinstance(v, _Stored) else v for k, v in options.items()}
    return _levada.append(name, made, tuple(_grown(below) for below in inputs))


def pickled(core):
    """What a pickle of a dataset holds: its JSON, or a tree where that is not enough."""
    return core.json() if next(_parts(core), None) is None else _tree(core)


def unpickled(given):
    """The dataset of the extension from what a pickle holds."""
    return _levada.parse(given) if isinstance(given, str) else _grown(given)
