# SPDX-License-Identifier: Apache-2.0
"""The text by which a description names a function and its arguments.

``module:function`` or a registered name, then what the function has besides its arguments, then its
arguments: ``data:lines[limit=9](path='a.txt')``. ``#`` and a hash of the code follow for functions
that no import finds (of ``__main__``, lambdas, nested functions): the code is a part of the key of
a cache file, not of a fingerprint, so that a corrected function fits the states that were saved
before. ``#?``: the text does not say everything, and no file may be reused for it.
"""

from __future__ import annotations

import ast
import dis
import functools
import sys
import types

from levada._contents import Contents, changes, digest, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

RECORDS = 4096  # of a list that its text describes
_LONGEST = 64 << 10  # characters of a text; a digest stands for more
_MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)


class Identity(Contents):
    """Collects the text of one function."""

    def __init__(self) -> None:
        super().__init__()
        self._helpers: set[int] = set()

    def top(self, fn: Any) -> str:
        """The text of the function that a stage calls."""
        self._inside.append(id(fn))
        return self.function(fn) or (self.plain(fn) if callable(fn) else self._records(fn))

    def _records(self, records: Any) -> str:
        """The text of what is not called: a list or a tuple of records has a hash of its length
        and of `RECORDS` of them, spread evenly. An object of another class has its class only."""
        if type(records) not in (list, tuple):
            return self._object(records)
        n = min(len(records), RECORDS)
        some = [self.value(records[i * len(records) // n]) for i in range(n)]
        self.whole = False  # it may change until it is read
        made = digest("\n".join(some).encode("utf-8", "surrogatepass"))
        return f"{path_of(type(records))}[{len(records)}]~{made}"

    def suffix(self) -> str:
        if not self.whole:
            return "#?"
        return "#" + digest("\n".join(self.code).encode()) if self.code else ""

    def function(self, fn: Any, code: bool = False) -> str | None:
        if hasattr(type(fn), "named"):
            name, arguments = fn.named()
            texts = [f"{key}={self.function(v) or self.value(v)}" for key, v in arguments.items()]
            return f"{name}({', '.join(texts)})" if texts else name
        if isinstance(fn, functools.partial):
            numbered = {f"_{i}": argument for i, argument in enumerate(fn.args)}
            inner = self.function(fn.func, code) or self.plain(fn.func)
            return self.call(f"partial {inner}", {**numbered, **fn.keywords})
        if not callable(fn) or not hasattr(fn, "__qualname__"):
            return None
        owner = getattr(fn, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            return f"{self.value(owner)}.{fn.__name__}"
        found = _imported(fn)
        text = path_of(fn) if found else self._unnamed(fn, code)
        if isinstance(fn, types.FunctionType):
            has = ", ".join(f"{name}={text}" for name, text in self._has(fn, found))
            return f"{text}[{has}]" if has else text
        return text

    def _unnamed(self, fn: Any, code: bool) -> str:
        """The path of what no import finds again, whose code is noted."""
        text = path_of(fn)
        if isinstance(fn, types.FunctionType):
            made = _instructions(fn.__code__)
            self.code.append(f"{text}: {made}")
            return f"{text}~{digest(made.encode())}" if code else text
        if isinstance(fn, type):
            self._methods(fn, text)
        elif hasattr(fn, "__wrapped__"):  # functools.lru_cache
            return self.function(fn.__wrapped__, code) or text
        else:
            self.whole = False
        return text

    def _methods(self, kind: type, path: str) -> None:
        """Notes the code of a class, without what dataclasses and reprlib made."""
        for name, value in sorted(vars(kind).items()):
            value = getattr(value, "__func__", value)  # of classmethod and staticmethod
            value = getattr(value, "fget", value)
            if isinstance(value, types.FunctionType):
                skip = name == "__repr__" or value.__code__.co_filename == "<string>"
            else:
                skip = name.startswith(("__", "_abc_")) or isinstance(value, _MEMBERS)
            if not skip:
                self.code.append(f"{path}.{name}: {self._captured(value)}")

    def _has(self, fn: types.FunctionType, found: bool) -> Iterator[tuple[str, str]]:
        """The names and the texts of what the function captured, of its defaults, and of the
        globals that it reads. What it assigns is its state, which no text has."""
        assigned = {name for op, name in _operations(fn.__code__) if op in _ASSIGN}
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            if name in assigned:
                self.whole = False
            else:
                yield name, self._captured(_content(cell))
        defaults = fn.__defaults__ or ()
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            yield name, self._captured(value)
        for name, value in (fn.__kwdefaults__ or {}).items():
            yield name, self._captured(value)
        reads = {name for op, name in _operations(fn.__code__) if op in _READ}
        for name in sorted(reads & fn.__globals__.keys()):
            text = None
            if name in assigned:
                self.whole = self.whole and found
            elif not name.startswith("__"):
                text = self._global(fn.__globals__[name], found)
            if text:
                yield name, text

    def _captured(self, value: Any) -> str:
        """What may change until it is used does not count as known."""
        self.whole = self.whole and not changes(value)
        return self.short(value)

    def _global(self, value: Any, found: bool) -> str | None:
        """The text of a global variable of a function; None if it has none of its own. A function
        that can be imported has the constants of its module, and not what its module may change.
        """
        if isinstance(value, types.ModuleType):
            return None
        if isinstance(value, (type, types.FunctionType)):
            return None if found else self._helper(value)
        if not found:
            return self._captured(value)
        whole, self.whole = self.whole, True
        text = self._captured(value)
        known, self.whole = self.whole, whole
        return text if known else None

    def _helper(self, fn: Any) -> str | None:
        """The text of a function that another one calls: with its own globals only."""
        if id(fn) in self._inside or id(fn) in self._helpers:
            return None
        self._helpers.add(id(fn))
        text = self.function(fn) or ""
        self.code.append(text)
        return text if "[" in text else None


def text_of(fn: Any, arguments: Mapping[str, Any]) -> str:
    """The text for a function that is called in the way that `arguments` say."""
    made = Identity()
    text = made.call(made.top(fn), arguments)
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
        text = f"{text[:100]}...~{digest(text.encode('utf-8', 'surrogatepass'))}"
    return _printable(text) + suffix


def _printable(text: str) -> str:
    """Surrogates, which UTF-8 does not have, as Python escapes them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _imported(fn: Any) -> bool:
    """Whether an import finds this very function again."""
    found: Any = sys.modules.get(getattr(fn, "__module__", None) or "builtins")
    if found is None or found.__name__ in ("__main__", "__mp_main__"):
        return False
    for name in fn.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is fn


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


_READ = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ASSIGN = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def _operations(code: types.CodeType) -> Iterator[tuple[str, Any]]:
    """The instructions on variables, also of the functions inside."""
    for each in dis.get_instructions(code):
        yield each.opname, each.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _operations(inner)


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
