# SPDX-License-Identifier: Apache-2.0
"""``Dataset[T]`` and ``Iterator[T]`` for type checkers, without an import of ``typing``.

T is what iterating returns: ``Batch`` after a batching stage, ``dict[str, Any]`` before one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic

    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any, covariant=True)

    class Typed(Generic[T]):
        """A class with a type parameter."""

        __slots__ = ()
else:
    T = None

    class Typed:
        """A class with a type parameter, which has no meaning at run time."""

        __slots__ = ()
        __class_getitem__ = classmethod(type(list[int]))
