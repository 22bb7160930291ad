# SPDX-License-Identifier: Apache-2.0
"""Values of Python as texts that are the same in each process, and different for different values.

Without addresses, hashes of Python and orders of sets. What cannot be told apart reliably is named
by its type: objects of most classes, and what exceeds `VALUES` or `BYTES` for one function.
"""

from __future__ import annotations

import collections
import copyreg
import dataclasses
import enum
import hashlib
import os
import sys
import types

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

VALUES = 1 << 20  # that one text describes
BYTES = 64 << 20  # of arrays and strings that one text describes
_LITERALS = (type(None), bool, int, float, str, bytes, type(...))
_LISTS = (list, tuple, set, frozenset)
_LONG = 64  # characters of a captured value; a digest stands for more
# Modules whose objects pickle takes apart into what they were made of.
_STANDARD = {"array", "builtins", "collections", "datetime", "decimal", "fractions", "logging",
             "operator", "re", "uuid", "zoneinfo"}  # fmt: skip


class Contents:
    """Collects the texts of the values of one function."""

    def __init__(self) -> None:
        self.code: list[str] = []  # texts of the code that no module has under a name
        self.whole = True  # whether the texts say everything
        self._inside: list[int] = []
        self._values, self._bytes = VALUES, BYTES

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        if not arguments:
            return name
        given = [f"{key}={self.value(value)}" for key, value in arguments.items()]
        return f"{name}({', '.join(given)})"

    def function(self, fn: Any, code: bool = False) -> str | None:
        """The text of anything that can be called; None if it is an object of another class.
        `code`: with a hash of the code of what no import finds."""
        raise NotImplementedError

    def value(self, value: Any) -> str:
        self._values -= 1
        if type(value) in _LITERALS:
            return self._literal(value)
        if id(value) in self._inside:
            return "..."
        self._inside.append(id(value))
        try:
            return self._compound(value)
        finally:
            self._inside.pop()

    def short(self, value: Any) -> str:
        """The text of a value, or a hash of it."""
        text = self.value(value)
        if len(text) <= _LONG:
            return text
        return f"{type(value).__name__}~{digest(text.encode('utf-8', 'surrogatepass'))}"

    def _literal(self, value: Any) -> str:
        if isinstance(value, (str, bytes)):
            self._bytes -= len(value)
            if self._bytes < 0:
                return f"{self._object(value)}[{len(value)}]"
        return repr(value)

    def _compound(self, value: Any) -> str:
        if type(value) in _LISTS:
            return self._list(value)
        if type(value) is dict:
            items = [f"{self.value(k)}: {self.value(v)}" for k, v in self._some(value.items())]
            return f"{{{', '.join(items)}}}{self._rest(value, items)}"
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        return self._numpy(value) or self.function(value, code=True) or self.plain(value)

    def plain(self, value: Any) -> str:
        """What is neither a collection nor a function."""
        if dataclasses.is_dataclass(value):
            fields = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
            return self.call(self._class(value), fields)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self.call(self._class(value), value._asdict())
        if hasattr(value, "to_value"):  # dtypes, features and datasets of levada
            plain = value.to_value()
            plain = plain.json() if isinstance(plain, _levada.Dataset) else plain
            return self.call(path_of(type(value)), {"value": plain})
        if isinstance(value, enum.Enum):
            return f"{path_of(type(value))}.{value.name}({self.value(value.value)})"
        if isinstance(value, os.PathLike):
            return f"{path_of(type(value))}({os.fspath(value)!r})"
        return self._subclass(value) or self._standard(value) or self._object(value)

    def _list(self, value: Any) -> str:
        texts = [self.value(item) for item in self._some(value)]
        rest = self._rest(value, texts)
        if type(value) is tuple:
            return f"({', '.join(texts)}{',' * (len(texts) == 1)}){rest}"
        if type(value) is list:
            return f"[{', '.join(texts)}]{rest}"
        if rest:  # in which order a set has them depends on the process
            return f"{type(value).__name__}(){rest}"
        return f"{{{', '.join(sorted(texts))}}}" if texts else f"{type(value).__name__}()"

    def _some(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, as far as they are described."""
        for item in items:
            if self._values <= 0:
                return
            yield item

    def _rest(self, value: Any, texts: list[str]) -> str:
        if len(texts) == len(value):
            return ""
        self.whole = False
        return f" of {len(value)}"

    def _subclass(self, value: Any) -> str | None:
        """An object of a class that was made of a literal."""
        kinds: tuple[Any, ...] = (str, bytes, int, float)
        for kind in kinds:
            if isinstance(value, kind):
                self.whole = False  # it may have more than that
                return f"{path_of(type(value))}({self._literal(kind(value))})"
        return None

    def _numpy(self, value: Any) -> str | None:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        if isinstance(value, numpy.dtype):
            return f"numpy:{_dtype(value)}"
        if isinstance(value, numpy.ufunc):
            return f"numpy:{value.__name__}"
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            return self._tensor(value)
        kind = type(value)
        if isinstance(value, numpy.ndarray) and kind not in (numpy.ndarray, numpy.memmap):
            self.whole = False  # a subclass may have more than that
            return f"{path_of(kind)} {self._numpy(numpy.asarray(value))}"
        if value.dtype.hasobject or value.dtype.names:
            return f"numpy:{_dtype(value.dtype)}{list(value.shape)}{self.value(value.tolist())}"
        shape = list(value.shape) if isinstance(value, numpy.ndarray) else ""
        return f"numpy:{_dtype(value.dtype)}{shape}~{self._array(value)}"

    def _array(self, value: Any) -> str:
        """A hash of the bytes, piece by piece: no copy of the whole is made."""
        import numpy

        made = hashlib.blake2b(digest_size=8)
        flat = value.reshape(-1) if value.flags.c_contiguous else value.flat
        step = max(1, (1 << 20) // max(1, value.itemsize))
        for at in range(0, value.size, step):
            if self._bytes < value.itemsize:
                self.whole = False
                return f"{made.hexdigest()} of {at}"
            piece = numpy.ascontiguousarray(
                flat[at : at + min(step, self._bytes // value.itemsize)]
            )
            self._bytes -= piece.nbytes
            made.update(piece.tobytes())
            if len(piece) < min(step, value.size - at):
                self.whole = False
                return f"{made.hexdigest()} of {at + len(piece)}"
        return made.hexdigest()

    def _tensor(self, value: Any) -> str | None:
        torch = sys.modules.get("torch")
        if torch is None:
            return None
        if isinstance(value, (torch.dtype, torch.device)):
            return f"{path_of(type(value))}({value})"
        if type(value) is not torch.Tensor or value.layout != torch.strided:
            return None
        if value.device.type != "cpu" or value.is_quantized:
            return None
        data = value.detach().resolve_conj().resolve_neg().contiguous()
        data = data.reshape(-1).view(torch.uint8).numpy()
        return f"torch:{value.dtype}{list(value.shape)}~{self._array(data)}"

    def _standard(self, value: Any) -> str | None:
        """An object of the standard library, taken apart as `pickle` does."""
        if type(value).__module__ not in _STANDARD or hasattr(value, "__next__"):
            return None
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            made: Any = reduce(value) if reduce else value.__reduce_ex__(4)
        except TypeError:
            return None
        if isinstance(made, str):
            return None
        parts = [list(part) if hasattr(part, "__next__") else part for part in made[1:]]
        return self.call(self.value(made[0]), {f"_{i}": part for i, part in enumerate(parts)})

    def _object(self, value: Any) -> str:
        self.whole = False
        return f"{path_of(type(value))}()"

    def _class(self, value: Any) -> str:
        """The path of the class of a value; its code is a part of the code."""
        return self.function(type(value)) or path_of(type(value))


def changes(value: Any) -> bool:
    """Whether a value may be another one until a function is called."""
    kinds = (list, dict, set, bytearray, collections.deque)
    return isinstance(value, kinds) or hasattr(value, "__next__")


def _dtype(dtype: Any) -> str:
    """A dtype of NumPy; those of other packages share the letters of its size."""
    if dtype.names:
        return repr(dtype.descr)
    return dtype.str if dtype.kind != "V" else f"{dtype.name} {dtype.str}"


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def path_of(fn: Any) -> str:
    module = getattr(fn, "__module__", None) or "builtins"
    module = "__main__" if module == "__mp_main__" else module  # a process of multiprocessing
    return f"{module}:{getattr(fn, '__qualname__', type(fn).__name__)}"
