# SPDX-License-Identifier: Apache-2.0
"""Values from Python as arrays, and arrays as other dtypes: exactly, or with an error."""

from __future__ import annotations

import sys
from typing import Any

from levada._dtypes import DTYPES, name_of
from levada._ragged import Bytes, check_mask, objects

ADVICE = "; spec= says what all records have"
_WHOLE = 2**53  # floats from here on are further apart than integers


def shown(value):
    """A value and its type, for messages."""
    text = repr(value)
    return f"{text if len(text) < 40 else text[:36] + ' ...'} ({type(value).__name__})"


def is_text(value):
    return isinstance(value, (bytes, str, bytearray))


def encode(value, text=False):
    """The byte string of a value; TypeError where it is none. `text`: it must be UTF-8."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        made = bytes(value)
        if text:
            made.decode()
        return made
    raise TypeError(f"expected a byte string, got {shown(value)}")


def array_type(name):
    """NumPy dtype for a dtype's name."""
    return DTYPES[name].dtype


def as_array(value: Any) -> Any:
    """The array of one value: of numbers, or of dtype object for byte strings. Lists without an
    element are of dtype object, too: they say nothing of theirs."""
    import numpy as np

    if isinstance(value, Bytes):
        return objects(value.to_list())
    value = of_tensor(value)
    if isinstance(value, np.ndarray):
        return _of_numpy(value)
    try:
        array = np.asarray(value)
    except ValueError:  # parts that differ, or bytes that are no text
        array = np.array(value, object)
        _texts(array, value)
        return array
    if array.dtype.kind in "USO":  # fixed widths would lose the last zero bytes
        array = np.array(value, object)
        _texts(array, value)
    elif array.size == 0 and isinstance(value, (list, tuple)):
        return array.astype(object)
    elif array.dtype.kind in "fc":
        check_mixed(array, value)
    return array


def of_tensor(value: Any) -> Any:
    """The array of a tensor of PyTorch, also on a device or with a gradient; other values as they
    are."""
    if not (hasattr(value, "detach") and hasattr(value, "cpu")):
        return value
    from levada.interop._tensors import to_array

    return to_array(value)


def _of_numpy(array):
    import numpy as np

    check_mask(array)
    if array.dtype.kind in "US":
        return array.astype(object)
    if array.dtype.kind == "O":
        _texts(array, array)
    return np.asarray(array)


def _texts(array, value):
    """Raises where an element of an object array is not a byte string."""
    items = array.reshape(-1).tolist()
    for item in items:
        if isinstance(item, (list, tuple)) or hasattr(item, "__array__"):
            raise ValueError(
                "a list whose parts differ in length is not an array; a Ragged can hold it"
            )
        if isinstance(item, int) and not -(2**63) <= item < 2**64:
            raise ValueError(f"{item} fits neither int64 nor uint64")
    for item in items:
        if is_text(item):
            continue
        what = shown(item) if array.ndim == 0 else f"{shown(item)} in {shown(value)}"
        kind = type(item).__name__
        raise TypeError(f"{what} must be a number, a byte string or an array, got {kind}")


def check_mixed(array, items, advice=ADVICE):
    """Raises where integers of a list became floats that are other numbers."""
    import numpy as np

    if array.dtype == np.float16:  # all integers that become one fit; 2**53 is none
        return
    if not array.size or not (np.abs(array) >= _WHOLE).any():
        return
    for made, given in zip(array.reshape(-1).tolist(), _flat(items), strict=True):
        if made != given and given == given:
            raise ValueError(f"{given} among floats is {made}: they cannot represent it{advice}")


def _flat(items):
    import numpy as np

    if hasattr(items, "__array__") or hasattr(items, "tolist"):  # of one dtype
        return np.asarray(items).reshape(-1).tolist()
    if hasattr(items, "__len__"):
        return [number for item in items for number in _flat(item)]
    return [items]


def common(dtypes):
    """The name of the dtype that values of all these dtypes have in common."""
    import numpy as np

    if any(dtype.kind in "OSU" for dtype in dtypes):
        if not all(dtype.kind in "OSU" for dtype in dtypes):
            other = next(name_of(dtype) for dtype in dtypes if dtype.kind not in "OSU")
            raise TypeError(f"expected {other} values, got strings{ADVICE}")
        return "string"
    return name_of(np.result_type(*dtypes) if len(dtypes) > 1 else next(iter(dtypes)))


def cast(array: Any, name: str, rounds: bool = False) -> Any:
    """The array in another dtype, contiguous. Values stay the same, or this raises.

    `rounds`: floats may lose digits, as the user has said this dtype; never their size.
    """
    import numpy as np

    target = array_type(name)
    if name == "bfloat16" and array.dtype == np.uint16:  # the bits, even with ml_dtypes
        made = array
    elif array.dtype == target or not array.size:
        made = array.astype(target, copy=False) if array.size else np.empty(array.shape, target)
    else:
        _comparable(array.dtype, target, name)
        with np.errstate(over="ignore", invalid="ignore"):
            made = array.astype(target)
        _same_values(array, made, name, rounds)
    made = np.ascontiguousarray(made).reshape(array.shape)
    return made.view(np.uint16) if name == "bfloat16" else made


def _comparable(given, target, name):
    """Raises where one dtype is never converted to the other implicitly."""
    import numpy as np

    raw = name == "bfloat16" and target.kind == "u"
    if raw and given.kind in "biufc":
        raise TypeError(f"expected bfloat16 values, got {given}; import ml_dtypes, or pass uint16")
    whole = given.kind in "biu" and target.kind not in "OSU"
    if not whole and not np.can_cast(given, target, "same_kind"):
        text = "string" if given.kind in "OSU" else given
        raise TypeError(f"expected {name} values, got {text}{ADVICE}")


def _same_values(array, made, name, rounds):
    value = other_value(array, made, rounds)
    if value is not None:
        raise ValueError(f"{value} does not fit {name}{ADVICE}")


def other_value(array, made, rounds):
    """The first value of `array` that is another one in `made`, the same in another dtype; or
    None."""
    import numpy as np

    if array.dtype.kind in "biu":
        bad = _other_integers(array, made)
    else:
        real = made.dtype.kind == "c" and array.dtype.kind != "c"
        back = (made.real if real else made).astype(array.dtype)
        bad = (back != array) & ~(np.isnan(array) & np.isnan(back))
        if rounds:
            bad &= ~np.isfinite(back) | ~np.isfinite(array)
    return array.reshape(-1)[bad.reshape(-1)][0] if bad.any() else None


def _other_integers(array, made):
    """Where `made` are other numbers than the integers of `array`."""
    import numpy as np

    kind = made.dtype.kind
    if kind == "b":
        return (array != 0) & (array != 1)
    if kind in "iu":
        limits, least, most = np.iinfo(made.dtype), int(array.min()), int(array.max())
        if limits.min <= least and most <= limits.max:
            return np.zeros(array.shape, bool)
        numbers = array.astype(object)
        return np.asarray((numbers < limits.min) | (numbers > limits.max), bool)
    if kind != "V" and max(-int(array.min()), int(array.max())) <= 2 ** (_digits(made.dtype)):
        return np.zeros(array.shape, bool)
    wide = made.astype("complex128" if kind == "c" else "float64").real
    pairs = zip(wide.reshape(-1).tolist(), array.reshape(-1).tolist(), strict=True)
    return np.array([a != b for a, b in pairs], bool).reshape(array.shape)


def _digits(dtype):
    """Binary digits of the numbers of a float dtype."""
    import numpy as np

    return np.finfo(dtype).nmant + 1


def own(row):
    """A record that nobody else changes: functions and generators may use their arrays, lists and
    dicts again for the next one."""
    if not hasattr(row, "keys"):
        return row
    return {name: _own(row[name]) for name in row.keys()}


_PLAIN = {int, float, complex, bool, str, bytes, type(None)}  # what nobody can change


def _own(value):
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.copy() if value.flags.writeable else value
    if isinstance(value, (list, tuple)):
        return list(value) if set(map(type, value)) <= _PLAIN else [_own(item) for item in value]
    if isinstance(value, dict):
        return {name: _own(item) for name, item in value.items()}
    return bytes(value) if isinstance(value, bytearray) else value


def is_weak(values: Any) -> bool:
    """Whether all values are numbers of Python, in lists of any depth: they have the dtype of what
    they are put into, as in NumPy."""
    kinds = set(map(type, values))
    if kinds <= {list, tuple}:
        return all(map(is_weak, values))
    return kinds <= {int, float}


def fits(array: Any, name: str) -> bool:
    """Whether numbers of Python, as an array, have values of that dtype; floats may lose digits."""
    if array_type(name).kind not in "iuf":
        return False
    try:
        cast(array, name, rounds=True)
    except (TypeError, ValueError):
        return False
    return True
