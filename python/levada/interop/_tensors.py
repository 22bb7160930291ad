# SPDX-License-Identifier: Apache-2.0
"""PyTorch: batches as tensors."""

from __future__ import annotations

from levada._dtypes import bfloat16_dtype, name_of
from levada._ragged import Bytes, Ragged, part_of
from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from levada._batch import Batch


def as_tensor(value: Any, device: Any = None, non_blocking: bool = True) -> Any:
    """A tensor over the memory of an array; a Ragged with tensors inside; a list of strings."""
    import torch

    if isinstance(value, Bytes):
        return value.items()
    if isinstance(value, Ragged):
        return ragged_to(value, device, non_blocking)
    if isinstance(value, torch.Tensor):
        return value if device is None else value.to(device, non_blocking=non_blocking)
    if value.dtype == object:
        return value
    bfloat16 = name_of(value.dtype) == "bfloat16"
    if bfloat16:
        value = value.view("int16")
    tensor = torch.from_numpy(value if value.flags.writeable else value.copy())
    tensor = tensor.view(torch.bfloat16) if bfloat16 else tensor
    return tensor if device is None else tensor.to(device, non_blocking=non_blocking)


def taken(array: Any, numbers: Any) -> Any:
    """The rows `numbers` of a tensor, as an array of NumPy."""
    import torch

    return array[torch.from_numpy(numbers.copy())].numpy()


def to_array(value: Any) -> Any:
    """The array of a tensor. NumPy has no bfloat16, so such a tensor cannot convert itself."""
    import torch

    tensor = value.detach().cpu()
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    return tensor.contiguous().view(torch.int16).numpy().view(bfloat16_dtype())


def ragged_to(value: Ragged, device: Any, non_blocking: bool = True) -> Ragged:
    """A Ragged of tensors. The offsets were checked when they were arrays."""
    inner, levels = value.values, value.nested
    inner = inner if isinstance(inner, Bytes) else as_tensor(inner, device, non_blocking)
    return part_of(inner, [as_tensor(level, device, non_blocking) for level in levels])


def pinned(value: Any) -> Any:
    """The same in page-locked memory; values that are neither tensors nor Ragged stay."""
    if isinstance(value, Ragged):
        value = ragged_to(value, None)
        return part_of(pinned(value.values), [pinned(level) for level in value.nested])
    if isinstance(value, (Bytes, list)) or not hasattr(value, "pin_memory"):
        return value
    return value.pin_memory()


def _nested(name, value):
    """A jagged torch.nested tensor of a Ragged of one level; strings stay."""
    import torch

    if isinstance(value.values, Bytes):
        return value
    if len(value.nested) > 1:
        raise InvalidArgumentError(
            f'ragged="nested": field {name!r} has {len(value.nested)} ragged levels, and '
            'torch.nested has one; use ragged="ragged"'
        )
    offsets = value.nested[0].long()
    first = int(offsets[0]) if len(offsets) else 0  # of rows that were cut out of a larger batch
    return torch.nested.nested_tensor_from_jagged(value.values[first:], offsets - first)


def _added(batch, kinds):
    """Fields that the caller wants besides: lengths, masks and cumulative lengths."""
    made: dict[str, Any] = {}
    kind_of: dict[str, str] = {}
    for name, _, _, _, padded, _ in batch._block.fields() if kinds else ():
        ragged = not padded and isinstance(batch[name], Ragged)
        for kind in kinds if ragged or padded else ():
            there = kind in ("segment_ids", "positions") and f"{name}_{kind}" in batch
            if (kind != "mask" or padded) and not there:
                made[f"{name}_{kind}"] = getattr(batch, kind)(name)
                kind_of[f"{name}_{kind}"] = kind
    for name in made:
        if name in batch:
            raise InvalidArgumentError(
                f"torch(): the batch has a field {name!r} already; rename() it, or call "
                f"batch.{kind_of[name]}() yourself"
            )
    return made


def batch_to_torch(
    batch: Batch,
    device: Any = None,
    added: Sequence[str] = (),
    ragged: str = "ragged",
    non_blocking: bool = True,
) -> dict[str, Any]:
    """Dict of name to tensor over the memory of the batch; `added`: names of methods of Batch."""
    if ragged not in ("ragged", "nested"):
        raise InvalidArgumentError(f'{ragged=} must be "ragged" or "nested"')
    values = {**dict(batch.items()), **_added(batch, added)}
    made = {name: as_tensor(value, device, non_blocking) for name, value in values.items()}
    if ragged == "nested":
        for name, value in made.items():
            if isinstance(value, Ragged):
                made[name] = _nested(name, value)
    return made
