# SPDX-License-Identifier: Apache-2.0
"""Copies of datasets with what a description in text does not hold: functions and arrays."""

import pickle
import sys
import types

from levada import _levada


def _is_target(value):
    return hasattr(value, "handled")


def parts(core):
    """The functions and arrays of a dataset, in the order of its stages."""
    for value in core.options().values():
        if isinstance(value, _levada.Dataset):
            yield from parts(value)
        elif isinstance(value, _levada.Block) or _is_target(value):
            yield value
    for below in core.inputs():
        yield from parts(below)


def same_parts(one, other):
    pairs = list(zip(parts(one), parts(other), strict=True))
    return all(_is_target(a) and type(a) is type(b) and _same_target(a, b) for a, b in pairs)


def described(core):
    """Whether the text of a dataset says everything, without arrays and unknown functions."""
    return all(_is_target(part) and not part.text.endswith("#?") for part in parts(core))


def _same_target(one, other):
    """Their texts are equal, as parts of equal descriptions; `#?`: they do not say everything."""
    (fn, options), (other_fn, other_options) = one.handled, other.handled
    return options == other_options and (fn == other_fn or not one.text.endswith("#?"))


class _Stored:
    """An option in a pickle; `kind` says what `value` is made into."""

    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def option(self):
        from levada._columns import Columns
        from levada._functions import handle_again

        if self.kind == "block":
            fields, marks, columns = self.value
            return Columns.like(fields, marks).batch(columns)
        return {"function": handle_again, "pipe": _grown}[self.kind](self.value)


def _stored(value):
    if isinstance(value, _levada.Dataset):
        return _Stored("pipe", _tree(value))
    if isinstance(value, _levada.Block):
        from levada._batch import Batch

        return _Stored("block", (value.fields(), value.objects(), Batch(value).numpy()))
    return _Stored("function", value) if _is_target(value) else value


def _unpicklable(fn):
    """The function that pickle cannot find by its name, or None."""
    parts = [getattr(fn, "func", None), getattr(fn, "fn", None)]  # of a partial, of a decoder
    parts += [value for value in getattr(fn, "columns", {}).values() if callable(value)]
    if type(fn) is not types.FunctionType:
        return next((found for found in map(_unpicklable, filter(callable, parts)) if found), None)
    found = sys.modules.get(fn.__module__)
    for name in fn.__qualname__.split("."):
        found = getattr(found, name, None)
    return None if getattr(found, "__wrapped__", found) is fn or found is fn else fn


def _pickles_code():
    """Whether cloudpickle or dill calls, which pickle functions by their code."""
    frame = sys._getframe(2)
    while frame is not None:
        names = frame.f_globals.get("__name__", "").split(".")
        if "cloudpickle" in names or "dill" in names:
            return True
        frame = frame.f_back
    return False


def _check(core):
    """Raises PicklingError with the stage, which pickle would not name."""
    for value in core.options().values():
        fn = _unpicklable(value.handled[0]) if _is_target(value) else None
        if fn is not None:
            from levada._show import function_text

            raise pickle.PicklingError(
                f"{core.name}: the function {function_text(fn)} cannot be pickled, because its "
                "module does not have it under its name; define it with def at the top level of a "
                "module, or start the processes with fork"
            )
        if isinstance(value, _levada.Dataset):
            _check(value)
    for below in core.inputs():
        _check(below)


def _tree(core):
    options = {name: _stored(value) for name, value in core.options().items()}
    return core.name, options, tuple(_tree(below) for below in core.inputs())


def _grown(tree):
    name, options, inputs = tree
    made = {k: v.option() if isinstance(v, _Stored) else v for k, v in options.items()}
    return _levada.append(name, made, tuple(_grown(below) for below in inputs))


def pickled(core):
    """What a pickle of a dataset holds: its JSON, or a tree where that is not enough."""
    if next(parts(core), None) is None:
        return core.json()
    if not _pickles_code():
        _check(core)
    return _tree(core)


def unpickled(given):
    """The dataset of the extension from what a pickle holds."""
    return _levada.parse(given) if isinstance(given, str) else _grown(given)
