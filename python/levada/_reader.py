# SPDX-License-Identifier: Apache-2.0
"""What reads the records of an object by their numbers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Reader:
    """Reads records by ascending numbers: ``reader(numbers)`` returns columns or rows.

    A subclass for a kind of object may know more than the values say: ``spec``, ``mark`` (text that
    changes with the object), ``lengths()``, how many numbers of a call are ``preferred``. Records
    of ``table`` (``_levada.pieces``) are read without a call.
    """

    spec: Any = None
    mark: str | None = None
    table: Any = None
    preferred: int = 0
    count: int

    def __init__(self, obj, name=None):
        self.obj = obj
        self.name = name or type(obj).__name__
        self.count = len(obj)

    def another(self):
        """Returns a reader of the same records for another iterator; itself if it keeps nothing."""
        return self

    def check(self):
        """Raises an error where a run begins and the object is not the one that it was."""

    def named(self):
        """How a description names it (`_identity`)."""
        known = {"mark": self.mark} if self.mark else {"object": self.obj}
        return f"random_access {type(self).__name__}", {"name": self.name, **known}
