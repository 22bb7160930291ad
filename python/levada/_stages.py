# SPDX-License-Identifier: Apache-2.0
"""Made by ci/gen_python.py from the option tables; do not edit."""

__all__ = []


class Stages:
    """Methods that are a name and options."""

    __slots__ = ()
