# SPDX-License-Identifier: Apache-2.0
"""Names that a description may contain."""

import json

from levada import _levada


def names() -> dict[str, str]:
    """{name: family} of all that can stand in a description."""
    return {row["name"]: row["family"] for row in json.loads(_levada.stages())}
