# SPDX-License-Identifier: Apache-2.0
"""What this build and this machine have."""

from __future__ import annotations

import json
from typing import Any

from levada import _levada


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Prints the features of this build: version, CPU level of the kernels, options, libraries.

    A missing library shows as "off": without isal levada reads gzip files more slowly, and without
    zstd it cannot read .zst files.

    Args:
        mode (str, default "stdout"): "stdout" prints; "dicts" returns a dict instead, in which None
            stands for a missing library.

    Returns:
        None, or the dict.

    Raises:
        ValueError: `mode` is unknown.

    Example:
        print(lv.show_config("dicts")["version"])
    """
    config: dict[str, Any] = json.loads(_levada.config())
    if mode == "dicts":
        return config
    if mode != "stdout":
        raise ValueError(f"mode={mode!r} must be 'stdout' or 'dicts'")
    for key, value in config.items():
        shown = "off" if value in (None, False) else "on" if value is True else value
        print(f"{key:<14}{shown}")
    return None


def io(*, attempts: int = 5, deadline: float = 120.0, read_ahead: int = 64 << 20) -> None:
    """Sets how files of web servers and object stores are read from now on.

    A request that fails for a while (no connection, status 429 or 503, an answer that is too short)
    is repeated after a random pause, which grows. The settings hold for the whole process; local
    files do not use them.

    Args:
        attempts (int, default 5): tries of one request, at least 1.
        deadline (float, default 120.0): seconds for all tries of one request.
        read_ahead (int, default 67108864): bytes of all open remote files that are kept or on
            their way, at least 1 MiB.

    Raises:
        ValueError: an argument is out of range.

    Example:
        lv.io(attempts=8, read_ahead=256 << 20)
    """
    if not 0 < deadline < 1e9:
        raise ValueError(f"deadline={deadline!r} must be a number of seconds between 0 and 1e9")
    _levada.io(attempts, deadline, read_ahead)
