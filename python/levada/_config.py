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
