# SPDX-License-Identifier: Apache-2.0
"""Options that are more than plain Python values."""

import operator
import os
import sys

from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Path = str | bytes | os.PathLike[Any]
    Paths = Path | Iterable[Path]


def integer(name, value, least, most):
    """An int between those limits, of anything that is an integer and not a bool."""
    try:
        number = operator.index(value if type(value) is not bool else None)
    except TypeError:
        raise TypeError(f"{name}={value!r} must be an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number} must be {least}..{most}")
    return number


def paths(value):
    """Names of files as text: one, or a list of them. Those of ``files`` are bytes."""
    if isinstance(value, (str, bytes, bytearray, os.PathLike)):
        return _path(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not hasattr(value, "__iter__"):
        return value
    return [_path(item) if isinstance(item, (str, bytes, os.PathLike)) else item for item in value]


def user_path(name):
    """The path with ~ and ~user replaced by the home directory; unknown users stay."""
    return os.path.expanduser(name) if name.startswith("~") else name


def _path(path):
    if isinstance(path, bytearray):
        path = bytes(path)
    name = user_path(os.fsdecode(path))
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"the name {os.fsencode(name)!r} is not UTF-8: a pattern such as '*' can find the file"
        ) from None
    return name


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
        raise TypeError(f"a function cannot be this option: {value!r}")
    if hasattr(value, "keys"):
        return {key: value[key] for key in value.keys()}
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} cannot be an option: {value!r}") from None


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
