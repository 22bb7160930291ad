# SPDX-License-Identifier: Apache-2.0
"""Dtypes as light objects: known to NumPy, but made without it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np


class DType:
    """Type of the elements of a column: ``levada.int64``, ``levada.text`` (str), ...

    NumPy accepts it as a dtype, and it equals the NumPy dtype and the name.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype. bfloat16 is uint16 unless ml_dtypes is imported; strings are object."""
        import numpy as np

        if self.name in STRINGS:
            return np.dtype(object)
        if self.name == "bfloat16":
            extra = sys.modules.get("ml_dtypes")
            return np.dtype(extra.bfloat16 if extra else np.uint16)
        return np.dtype(self.name)

    @property
    def as_numpy_dtype(self) -> np.dtype[Any]:
        return self.dtype

    def to_value(self) -> str:
        return self.name

    def __repr__(self):
        return f"levada.{self.name}"

    def __str__(self):
        return self.name

    def __eq__(self, other: object) -> bool:
        try:
            return self.name == name_of(other)
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self):
        return as_dtype, (self.name,)


NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128 string text"
).split()
STRINGS = ("string", "text")  # bytes, and UTF-8
DTYPES = {name: DType(name) for name in NAMES}
_ALIASES = {
    "bytes": "string", "str": "text", "object": "string", "int": "int64", "float": "float64",
    "half": "float16", "double": "float64", "single": "float32", "bool_": "bool",
}  # fmt: skip
_numpy_names: dict[np.dtype[Any], str] = {}  # dtypes of NumPy, which takes long to say their names
_BUILTIN = {bytes: "string", str: "text", bool: "bool", int: "int64", float: "float64"}


def name_of(dtype: Any) -> str:
    """The name of a dtype given as an object of levada, of NumPy, as a Python type or a name.

    Raises TypeError for anything else.
    """
    if isinstance(dtype, DType):
        return dtype.name
    if isinstance(dtype, type) and dtype in _BUILTIN:
        return _BUILTIN[dtype]
    if isinstance(dtype, str) and _ALIASES.get(dtype, dtype) in DTYPES:
        return _ALIASES.get(dtype, dtype)
    numpy = sys.modules.get("numpy")
    if numpy is not None and (isinstance(dtype, (numpy.dtype, str)) or hasattr(dtype, "dtype")):
        made = numpy.dtype(dtype)
        if made.metadata and "levada" in made.metadata:
            return str(made.metadata["levada"])
        if made in _numpy_names:
            return _numpy_names[made]
        if made.kind not in "OSU" and made.name not in DTYPES:
            raise TypeError(f"{made} is not a dtype of levada; convert the values first")
        name = {"O": "string", "S": "string", "U": "text"}.get(made.kind, made.name)
        if made.kind in "biufc":
            _numpy_names[made] = name
        return name
    if numpy is not None and isinstance(dtype, type) and issubclass(dtype, numpy.generic):
        return name_of(numpy.dtype(dtype))
    raise TypeError(f"{dtype!r} is not a dtype, such as lv.int64, np.float32 or 'string'")


def bfloat16_dtype() -> np.dtype[Any]:
    """The NumPy dtype of bfloat16 values: of ml_dtypes, or else uint16 that knows what it holds."""
    import numpy as np

    extra = sys.modules.get("ml_dtypes")
    return np.dtype(extra.bfloat16 if extra else np.dtype("u2", metadata={"levada": "bfloat16"}))


def as_dtype(dtype: Any) -> DType:
    """The levada dtype of whatever names one."""
    return DTYPES[name_of(dtype)]
