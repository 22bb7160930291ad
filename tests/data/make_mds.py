# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/mds with mosaicml-streaming (README.md), and what StreamingDataset returns."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from streaming import MDSWriter, StreamingDataset

HERE = Path(__file__).parent / "mds"
COLUMNS = {
    "text": "str",
    "raw": "bytes",
    "id": "int",
    "tokens": "ndarray:int32",
    "box": "ndarray:float32:2,3",
    "small": "uint8",
    "score": "float16",
    "meta": "json",
}
draw = np.random.default_rng(31)
shutil.rmtree(HERE, ignore_errors=True)


def sample(i: int) -> dict:
    return {
        "text": f"doc {i} é",
        "raw": bytes(range(i)),
        "id": i - 3,
        "tokens": draw.integers(0, 1 << 30, 1 + i % 7, np.int32),
        "box": draw.random((2, 3), np.float32),
        "small": np.uint8(i),
        "score": np.float16(i / 8),
        "meta": {"i": i},
    }


def shown(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value.hex() if isinstance(value, bytes) else value


rows = [sample(i) for i in range(30)]
for name, compression in [("plain", None), ("zstd", "zstd")]:
    with MDSWriter(
        out=str(HERE / name), columns=COLUMNS, size_limit=1500, compression=compression
    ) as writer:
        for row in rows:
            writer.write(row)
with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(HERE / "plain", folder, dirs_exist_ok=True)
    reader = StreamingDataset(local=folder, shuffle=False, batch_size=1)
    made = [{key: shown(value) for key, value in reader[i].items()} for i in range(len(reader))]
(HERE / "expected.json").write_text(json.dumps(made) + "\n")
with MDSWriter(out=str(HERE / "pickle"), columns={"a": "int", "p": "pkl"}) as writer:
    writer.write({"a": 1, "p": {1, 2}})
sys.stdout.flush()
