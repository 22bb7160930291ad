#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the text of the sample files into a C array: gen_sample.py OUTPUT TEXT"""

import sys
from pathlib import Path

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by ci/gen_sample.py from src/sink/sample.txt. */
#include "sink/sample.h"

"""


def main(output: str, text: str) -> None:
    data = Path(text).read_bytes()
    rows = [data[i : i + 16] for i in range(0, len(data), 16)]
    lines = ["    " + " ".join(f"{byte}," for byte in row) for row in rows]
    array = [f"const char   levada_sample_text[{len(data)}] = {{", *lines, "};"]
    array += [f"const size_t levada_sample_text_size = {len(data)};", ""]
    Path(output).write_text(HEAD + "\n".join(array), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
