# SPDX-License-Identifier: Apache-2.0
"""The part of a batch that one rank of a context-parallel group computes."""

from __future__ import annotations

from levada._ragged import Bytes, Ragged
from levada.errors import InvalidArgumentError


def _fields(batch):
    """The packed fields; without any, all fields of sequences."""
    packed = [name for name in batch if f"{name}_segment_lengths" in batch]
    return packed or [name for name in batch if _is_sequence(batch, name)]


def _is_sequence(batch, name):
    column = batch[name]
    if isinstance(column, Ragged):
        return not isinstance(column.values, Bytes) and len(column.nested) == 1
    return batch._block.lengths(batch._index(name)) is not None and column.ndim > 1


def _segments(batch, name):
    """Sequences of each record."""
    import numpy as np

    if f"{name}_segment_lengths" in batch:
        return batch.lengths(f"{name}_segment_lengths")
    return np.ones(len(batch), np.int32)


class Part:
    """Where the values of a rank are among those of the batch, without padding."""

    def __init__(self, batch, name, rank, size):
        import numpy as np

        starts = batch.cu_seqlens(name).astype(np.int64)
        lengths = np.diff(starts)
        chunk = -(-lengths // (2 * size))
        self.steps = 2 * chunk  # of the rank, of each sequence
        self.of = np.repeat(np.arange(len(lengths)), self.steps)
        ends = np.cumsum(self.steps)
        at = np.arange(int(self.steps.sum())) - np.repeat(ends - self.steps, self.steps)
        chunk = chunk[self.of]
        second = at >= chunk
        at = np.where(second, (2 * size - 2 - rank) * chunk + at, rank * chunk + at)
        self.real = at < lengths[self.of]
        self.positions = np.where(self.real, at, 0).astype(np.int32)
        self.index = (starts[:-1][self.of] + at)[self.real]
        segments = _segments(batch, name)
        if int(segments.sum()) != len(lengths):
            raise InvalidArgumentError(
                f"{name}_segment_lengths must have the {len(lengths)} segments of {name}, got "
                f"{int(segments.sum())}"
            )
        row = np.repeat(np.arange(len(batch)), segments)
        self.first = np.cumsum(segments) - segments
        self.row = row[self.of]
        self.widths = np.bincount(row, weights=self.steps, minlength=len(batch)).astype(np.int64)
        self.cu_seqlens = np.concatenate([[0], np.cumsum(self.steps * size)]).astype(np.int32)

    def spread(self, values, value):
        """The values of the rank, flat, with `value` where a sequence is padded."""
        import numpy as np

        out = np.full((len(self.of), *values.shape[1:]), value, values.dtype)
        out[self.real] = values[self.index]
        return out

    def rows(self, flat, width, value):
        """[records, width] of flat values."""
        import numpy as np

        out = np.full((len(self.widths), width, *flat.shape[1:]), value, flat.dtype)
        begin = np.cumsum(self.widths) - self.widths
        out[self.row, np.arange(len(flat)) - begin[self.row]] = flat
        return out


def _width(part, name, length, size):
    """Steps of a record of a rank."""
    widest = int(part.widths.max(initial=0))
    if length is None:
        return widest
    if length % size or widest * size > length:
        raise InvalidArgumentError(
            f"context_parallel: length={length} must be a multiple of size={size}, and field "
            f"{name!r} needs {widest * size} steps; use pack(length, multiple_of={2 * size})"
        )
    return length // size


def _cut(batch, name, part, length, size, value):
    import numpy as np

    column = batch[name]
    ragged = isinstance(column, Ragged)
    values = batch.ragged(name).values
    ids = part.of - (0 if ragged else part.first[part.row]) + 1
    made = {
        name: (part.spread(values, value), value),
        f"{name}_positions": (part.positions, 0),
        f"{name}_segment_ids": (np.where(part.real, ids, 0).astype(np.int32), 0),
    }
    if ragged:
        made = {key: flat for key, (flat, _) in made.items()}
    else:
        width = _width(part, name, length, size)
        made = {key: part.rows(flat, width, fill) for key, (flat, fill) in made.items()}
    return made | {f"{name}_cu_seqlens": part.cu_seqlens}


def part_of(batch, rank, size, fields, length, values):
    """See ``Batch.context_parallel``."""
    if size < 1 or not 0 <= rank < size:
        raise InvalidArgumentError(
            f"context_parallel: rank={rank} must be 0 to {size - 1}, size={size} at least 1"
        )
    names = [fields] if isinstance(fields, str) else list(fields or _fields(batch))
    if not names:
        raise InvalidArgumentError(
            "context_parallel: the batch must have a sequence of numbers, got none; add pack()"
        )
    made = {}
    for name in names:
        if not _is_sequence(batch, name):
            raise InvalidArgumentError(
                f"context_parallel: {name!r} must be a sequence of numbers, got "
                f"{type(batch[name]).__name__}"
            )
        fill = values.get(name, 0) if hasattr(values, "get") else values
        made |= _cut(batch, name, Part(batch, name, rank, size), length, size, fill)
    return {name: batch[name] for name in batch if name not in made} | made
