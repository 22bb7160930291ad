# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/litdata with litdata (README.md), and what StreamingDataset returns."""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from litdata import StreamingDataset
from litdata.streaming.cache import Cache

HERE = Path(__file__).parent / "litdata"
shutil.rmtree(HERE, ignore_errors=True)
draw = torch.Generator().manual_seed(31)


def sample(i: int) -> dict:
    return {
        "text": f"doc {i} é",
        "raw": bytes(range(i)),
        "id": i - 3,
        "score": i / 8,
        "good": i % 3 == 0,
        "tokens": torch.randint(0, 1 << 30, (1 + i % 7,), generator=draw, dtype=torch.int32),
        "wave": np.arange(i % 4, dtype=np.float32),
    }


def shown(value: object) -> object:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.hex() if isinstance(value, bytes) else value


cache = Cache(str(HERE / "plain"), chunk_bytes=700)
for i in range(30):
    cache[i] = sample(i)
cache.done()
cache.merge()
reader = StreamingDataset(str(HERE / "plain"), shuffle=False)
made = [{key: shown(value) for key, value in reader[i].items()} for i in range(len(reader))]
(HERE / "expected.json").write_text(json.dumps(made) + "\n")
