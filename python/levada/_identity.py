# SPDX-License-Identifier: Apache-2.0
"""The text by which a description names a function and its arguments.

``module:function`` or a registered name, then the arguments: ``lines(path='a.txt')``. ``#`` and a
hash of the code follow for functions of ``__main__``, lambdas and nested functions: the code is a
part of the key of a cache file, not of a fingerprint, so that a corrected function fits the states
that were saved before. ``#?``: the text does not say everything, and no file may be reused for it.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import hashlib
import os
import sys
import types

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LITERALS = (type(None), bool, int, float, str, bytes)
_LISTS = (list, tuple, set, frozenset)
_LONGEST = 64 << 10  # characters of a text; a digest stands for more


class Identity:
    """Collects the text of one function."""

    def __init__(self) -> None:
        self.code: list[str] = []  # texts of the code that no module has under a name
        self.whole = True
        self._inside: list[int] = []

    def suffix(self) -> str:
        if not self.whole:
            return "#?"
        return "#" + _digest("\n".join(self.code).encode()) if self.code else ""

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        if not arguments:
            return name
        given = [f"{key}={self.value(value)}" for key, value in arguments.items()]
        return f"{name}({', '.join(given)})"

    def value(self, value: Any) -> str:
        if type(value) in _LITERALS:
            return repr(value)
        if id(value) in self._inside:
            return "..."
        self._inside.append(id(value))
        try:
            return self._compound(value)
        finally:
            self._inside.pop()

    def _compound(self, value: Any) -> str:
        if type(value) in _LISTS:
            return self._list(value)
        if type(value) is dict:
            items = [f"{self.value(k)}: {self.value(v)}" for k, v in value.items()]
            return f"{{{', '.join(items)}}}"
        if callable(value):
            return self.function(value)
        if hasattr(value, "to_value"):  # dtypes, features and datasets of levada
            plain = value.to_value()
            plain = plain.json() if isinstance(plain, _levada.Dataset) else plain
            return self.call(_path(type(value)), {"value": plain})
        if isinstance(value, enum.Enum):
            return f"{_path(type(value))}.{value.name}"
        if isinstance(value, os.PathLike):
            return f"{_path(type(value))}({os.fspath(value)!r})"
        if dataclasses.is_dataclass(value):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return self.call(_path(type(value)), fields)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self.call(_path(type(value)), value._asdict())
        return self._numpy(value) or self._object(value)

    def _list(self, value: Any) -> str:
        texts = [self.value(item) for item in value]
        if type(value) is tuple:
            return f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        if type(value) is list:
            return f"[{', '.join(texts)}]"
        return f"{{{', '.join(sorted(texts))}}}" if texts else f"{type(value).__name__}()"

    def _numpy(self, value: Any) -> str | None:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        if isinstance(value, numpy.dtype):
            return f"numpy:{value.str}"
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            return None
        if value.dtype.hasobject:
            return self.value(value.tolist())
        data = numpy.ascontiguousarray(value).tobytes()
        return f"numpy:{value.dtype.str}{list(value.shape)}~{_digest(data)}"

    def _object(self, value: Any) -> str:
        self.whole = False
        return f"{_path(type(value))}()"

    def function(self, fn: Any) -> str:
        """The text of anything that can be called."""
        named = getattr(type(fn), "named", None)
        if named is not None:
            name, arguments = fn.named()
            return self.call(name, arguments)
        if isinstance(fn, functools.partial):
            numbered = {f"_{i}": argument for i, argument in enumerate(fn.args)}
            return self.call(f"partial {self.value(fn.func)}", {**numbered, **fn.keywords})
        if isinstance(fn, types.MethodType):
            return f"{self.value(fn.__self__)}.{fn.__name__}"
        if not hasattr(fn, "__qualname__"):
            return self._object(fn)
        path = _path(fn)
        if not _importable(path):
            self._unnamed(fn, path)
        return path

    def _unnamed(self, fn: Any, path: str) -> None:
        """The code of what no import finds again."""
        if isinstance(fn, types.FunctionType):
            self.code.append(f"{path}: {self._code_of(fn)}")
        elif isinstance(fn, type):
            for name, value in sorted(vars(fn).items()):
                value = getattr(value, "__func__", value)  # of classmethod and staticmethod
                value = getattr(value, "fget", value)
                if isinstance(value, types.FunctionType) or not name.startswith("__"):
                    self.code.append(f"{path}.{name}: {self._captured(value)}")
        else:
            self.whole = False

    def _code_of(self, fn: types.FunctionType) -> str:
        """Its instructions, defaults, what it captured, and the functions of its module that it
        names, if nothing imports them either."""
        cells = fn.__closure__ or ()
        captured = [self._captured(_content(cell)) for cell in cells]
        parts = [_instructions(fn.__code__), self.value(fn.__defaults__)]
        parts += [self.value(fn.__kwdefaults__), *captured]
        for name in sorted(_names(fn.__code__)):
            helper = fn.__globals__.get(name)
            if isinstance(helper, (types.FunctionType, type)) and not _importable(_path(helper)):
                parts.append(self.value(helper))
        return " ".join(parts)

    def _captured(self, value: Any) -> str:
        """What may change until it is used does not count as known."""
        if isinstance(value, (list, dict, set, bytearray)):
            return self._object(value)
        return self._code_of(value) if isinstance(value, types.FunctionType) else self.value(value)


def text_of(fn: Any, arguments: Mapping[str, Any]) -> str:
    """The text for a function that is called in the way that `arguments` say."""
    made = Identity()
    text = made.call(made.function(fn), arguments)
    return _fitting(text, made.suffix())


def text_of_registered(name: str, options: Mapping[str, Any]) -> str:
    """The text for a registered source or decoder with options."""
    made = Identity()
    return _fitting(made.call(name, options), made.suffix())


def options_of(text: str) -> tuple[str, dict[str, Any]] | None:
    """The registered name and the options of a text; None if it has more than literals."""
    try:
        call = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        given = {str(word.arg): _literal(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError):
        return None
    return call.func.id, given


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
        return -_literal(node.operand)
    return ast.literal_eval(node)


def _fitting(text: str, suffix: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[:100]}...~{_digest(text.encode('utf-8', 'surrogatepass'))}"
    return _printable(text) + suffix


def _printable(text: str) -> str:
    """Surrogates, which UTF-8 does not have, as Python escapes them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _path(fn: Any) -> str:
    module = getattr(fn, "__module__", None) or "builtins"
    module = "__main__" if module == "__mp_main__" else module  # a process of multiprocessing
    return f"{module}:{getattr(fn, '__qualname__', type(fn).__name__)}"


def _importable(path: str) -> bool:
    return "<" not in path and not path.startswith("__main__:")


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _names(code: types.CodeType) -> set[str]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _instructions(code: types.CodeType) -> str:
    """The code without the names of files and numbers of lines."""
    consts = [
        _instructions(const) if isinstance(const, types.CodeType) else _constant(const)
        for const in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {consts}"


def _constant(value: Any) -> str:
    """A constant of code; the order of a set depends on the process."""
    if isinstance(value, tuple):
        return f"({','.join(map(_constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_constant, value)))}}}"
    return repr(value)
