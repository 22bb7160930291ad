# SPDX-License-Identifier: Apache-2.0
"""Options that are more than plain Python values."""

import os
import sys


def simple(value):
    """What the extension asks for where it does not know a type: something simpler.

    Objects say it themselves with ``to_value()``. Raises TypeError where nothing fits.
    """
    maker = getattr(value, "to_value", None)
    if maker is not None and not isinstance(value, type):
        return maker()
    for base, plain in ((int, int), (float, float), (str, str), (bytes, bytes)):
        if isinstance(value, base):
            return plain(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, type):
        from levada._dtypes import name_of

        return name_of(value)
    made = _of_numpy(value)
    if made is not None:
        return made
    if callable(value):
        raise TypeError(f"a function can't be this option: {value!r}")
    if hasattr(value, "keys"):
        return {key: value[key] for key in value.keys()}
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} can't be an option: {value!r}") from None


def _of_numpy(value):
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.dtype):
        from levada._dtypes import name_of

        return name_of(value)
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.tolist()
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else None
