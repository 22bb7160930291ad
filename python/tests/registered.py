# SPDX-License-Identifier: Apache-2.0
"""The registered names that an example makes a dataset of, for tests over all of them."""

import json
from collections.abc import Iterator
from typing import Any

import levada as lv
from levada import _levada, errors


def examples() -> Iterator[tuple[dict[str, Any], Any]]:
    """Each name as ``levada stages --json`` describes it, and its stage in its example. Names of
    functions, and those that other tests have loaded from libraries, may have none."""
    for row in json.loads(_levada.stages()):
        try:
            core = lv.from_text(row["example"] or "")._core
        except errors.LevadaError:
            continue
        while core.name != row["name"] and core.inputs():
            core = core.inputs()[0]
        if core.name == row["name"]:
            yield row, core
