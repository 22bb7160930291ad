# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/megatron with megatron-core (README.md): files, and what its reader returns."""

import json
import random
from pathlib import Path

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

HERE = Path(__file__).parent / "megatron"
draw = random.Random(31)
made = {}
HERE.mkdir(exist_ok=True)
for name, dtype, top in [("words", np.int32, 50_000), ("bytes", np.uint16, 256)]:
    builder = IndexedDatasetBuilder(str(HERE / f"{name}.bin"), dtype=dtype)
    documents = []
    for _ in range(20):
        lengths = [draw.randint(1, 12) for _ in range(draw.randint(1, 3))]
        tokens = [draw.randrange(top) for _ in range(sum(lengths))]
        builder.add_document(torch.tensor(tokens), lengths)
        documents.append(tokens)
    builder.finalize(str(HERE / f"{name}.idx"))
    reader = IndexedDataset(str(HERE / name))
    sequences = [reader[i].tolist() for i in range(len(reader))]
    made[name] = {"sequences": sequences, "documents": documents}
(HERE / "expected.json").write_text(json.dumps(made) + "\n")
