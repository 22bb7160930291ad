# SPDX-License-Identifier: Apache-2.0
"""What becomes of an exception on its way out of a public function.

``_levada.Front`` calls this. Where the environment variable LEVADA_TRACEBACK is "full", frames of
levada stay in tracebacks.
"""

from __future__ import annotations

import os
import re

from levada import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_UNKNOWN = re.compile(r"^(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(.*)'")


def mended(fn: Callable[..., Any], error: BaseException) -> BaseException:
    """The exception to raise: without frames of levada, with the nearest name of an option."""
    if error.__traceback__ is None and type(error) is TypeError:
        error = _with_nearest(fn, error)
    elif os.environ.get("LEVADA_TRACEBACK") != "full" and isinstance(error, Exception):
        error.__traceback__ = errors.of_the_user(error.__traceback__)
    return error


def _with_nearest(fn, error):
    """The TypeError of a call that does not fit the signature."""
    from inspect import signature

    from levada._nearest import unknown

    found = _UNKNOWN.match(str(error))
    if found is None:
        return error
    known = [name for name in signature(fn).parameters if name != "self"]
    return TypeError(f"{found[1]}: {unknown('option', found[2], known)}")
