# SPDX-License-Identifier: Apache-2.0
"""PyTorch: batches as tensors."""

from __future__ import annotations

from levada._ragged import Bytes, Ragged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada._batch import Batch


def _tensor(value, device):
    import torch

    if isinstance(value, Bytes):
        return value.to_list()
    if isinstance(value, Ragged):
        levels = [_tensor(level, device) for level in value.nested]
        inner = value.values
        return Ragged(inner if isinstance(inner, Bytes) else _tensor(inner, device), levels)
    if value.dtype == object:
        return value
    bfloat16 = value.dtype.name == "bfloat16"
    if bfloat16:
        value = value.view("int16")
    tensor = torch.from_numpy(value if value.flags.writeable else value.copy())
    tensor = tensor.view(torch.bfloat16) if bfloat16 else tensor
    return tensor if device is None else tensor.to(device, non_blocking=True)


def batch_to_torch(batch: Batch, device: Any = None) -> dict[str, Any]:
    """Dict of name to tensor over the memory of the batch."""
    return {name: _tensor(value, device) for name, value in batch.items()}
