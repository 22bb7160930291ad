# SPDX-License-Identifier: Apache-2.0
"""What users call says its types."""

import ast
import inspect

import levada as lv
import pytest
from levada import _levada, _sources, errors, train

FROM_C = {item for item in vars(_levada).values() if inspect.isclass(item)}


def public(module):
    names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
    return [(name, getattr(module, name)) for name in names]


def methods(owner):
    """(name, function) of a class, as written in it."""
    for name, member in vars(owner).items():
        member = getattr(member, "__func__", member)  # of class methods and static ones
        member = member.fget if isinstance(member, property) else member
        if name == "__new__" and hasattr(owner, "_fields"):
            continue  # made by NamedTuple, of annotated fields
        if inspect.isfunction(member) and (name[0] != "_" or name in SPECIAL):
            yield name, member


SPECIAL = {"__init__", "__new__", "__getitem__", "__iter__", "__next__", "__enter__", "__exit__"}


def untyped(function):
    signature = inspect.signature(function)
    names = [
        name
        for i, (name, parameter) in enumerate(signature.parameters.items())
        if parameter.annotation is parameter.empty and not (i == 0 and name in ("self", "cls"))
    ]
    given = function.__name__ in ("__init__",) or signature.return_annotation is not signature.empty
    return names + ([] if given else ["return"])


def ours(item):
    """The classes of the package that a public class is made of."""
    return [k for k in item.__mro__ if k.__module__.startswith("levada") and k not in FROM_C]


def functions(module):
    for name, item in public(module):
        if inspect.isfunction(item):
            yield f"{module.__name__}.{name}", item
        for owner in ours(item) if inspect.isclass(item) else ():
            for method, function in methods(owner):
                yield f"{module.__name__}.{name}.{method}", function


@pytest.mark.parametrize("module", [lv, train, errors], ids=lambda module: module.__name__)
def test_public_names_have_types(module):
    wrong = {name: missing for name, item in functions(module) if (missing := untyped(item))}
    assert not wrong, "\n".join(f"{name}: {', '.join(what)}" for name, what in wrong.items())


def test_the_list_of_names_is_whole():
    """Type checkers see the names that a program finds."""
    for_checkers = ast.parse(inspect.getsource(lv)).body
    (names,) = [part.body for part in for_checkers if isinstance(part, ast.If)]
    shown = {name.asname for part in names if hasattr(part, "names") for name in part.names}
    shown |= {part.target.id for part in names if isinstance(part, ast.AnnAssign)}
    assert {*shown - {None}, *_sources.__all__, "errors"} == {*lv.__all__}
    assert len({*lv.__all__}) == len(lv.__all__)
    assert all(getattr(lv, name) is not None for name in lv.__all__)
