# SPDX-License-Identifier: Apache-2.0
"""Batches: what an iterator returns, as NumPy arrays over the memory of levada."""

from __future__ import annotations

from threading import current_thread
from types import FunctionType
from typing import Any

from levada import _levada
from levada._dtypes import STRINGS
from levada._nearest import unknown
from levada._plain import plain
from levada._ragged import Bytes, Ragged, array_of, is_left, objects, part_of
from levada.errors import FailedPreconditionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]
    _Files = Callable[[int, int, int], str | None]

ORIGIN = [
    ("source", "<i4"), ("pass", "<i4"), ("shard", "<i4"), ("sub", "<i4"),
    ("record", "<i8"), ("offset", "<i8"),
]  # fmt: skip


def _unsendable():
    """What arrives of a Batch, in any container, through a queue of multiprocessing. The thread of
    the queue that pickles would only print an error, and a DataLoader would wait forever."""
    raise TypeError(
        "a Batch cannot be sent from one process to another, such as from a worker of a "
        "DataLoader: send its torch() or numpy(), or pass num_workers=0"
    )


_CU_SEQLENS, _POSITIONS, _SEGMENT_IDS, _MASK = range(4)  # kinds of Block.fill_view


def column_of(block: _levada.Block, i: int) -> Any:
    """Column `i` of a block: array, Ragged or Bytes."""
    view = block.values(i)
    if view is not None:
        return array_of(view)
    values, offsets = block.parts(i)
    levels = [array_of(level) for level in offsets]
    if values.dtype not in STRINGS:
        return part_of(array_of(values), levels)
    strings = Bytes(array_of(values), levels.pop(), values.dtype == "text")
    dims = block.dims(i)
    if levels:
        inner = int(levels[-1][-1]), *dims  # its number, as one of the others may be 0
        return part_of(objects(strings.items(), inner) if dims else strings, levels)
    return objects(strings.items(), (block.rows, *dims)) if dims else strings


def _rows_of_column(block, i):
    """List of the values of column `i`, one for each record."""
    strings = block.strings(i)
    if strings is not None:
        return strings
    column = column_of(block, i)
    if isinstance(column, Ragged) and len(column.nested) == 1:
        values = column.values
        return _levada.slices(
            objects(values.items()) if isinstance(values, Bytes) else values, column.offsets
        )
    if isinstance(column, Ragged) and isinstance(column.values, Bytes):
        column = part_of(objects(column.values.items()), column.nested)
    return list(column)


def columns_of_fields(block: _levada.Block, fields: Iterable[str] | None) -> list[int]:
    """The numbers of the columns of these fields and of their members; None = of all."""
    names = enumerate(block.names)
    if fields is None:
        return [i for i, _ in names]
    return [i for i, name in names if any(f"{name}.".startswith(f"{f}.") for f in fields)]


def rows_of(block: _levada.Block, fields: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """The records of a block as dicts: NumPy scalars and arrays, ``str``,
    ``bytes``, ``Ragged``. `fields`: only these, and their members."""
    names, marks, some = block.names, block.objects(), columns_of_fields(block, fields)
    if marks is not None and any(any(marks[i]) for i in some):
        return _with_objects(block, marks, some)
    columns = [_rows_of_column(block, i) for i in some]
    return _levada.dicts(tuple(names[i] for i in some), columns, block.rows)


def _with_objects(block, marks, some):
    """The records of a block with lists of objects: those are lists of dicts."""
    from levada._objects import nested, records

    fields, columns = [], []
    known = block.fields()
    for i in some:
        name, _, depth, *_ = known[i]
        fields.append((name, depth, marks[i]))
        member = depth and any(marks[i])
        columns.append(nested(column_of(block, i)) if member else _rows_of_column(block, i))
    return records(fields, columns)


class Batch(_levada.Batch):
    """Holds the records of a batch, by field name.

    ``batch["x"]`` is a NumPy array [n, ...] (FIXED: over the memory of the batch, without a copy,
    and writable), a ``Ragged``, or ``Bytes``; FIXED byte strings with dimensions are object
    arrays. An unknown name raises KeyError.

    ``len(batch)`` is the number of records, as in pandas. Iteration, ``in``, ``keys()``,
    ``items()`` and ``dict(batch)`` apply to fields.

    Example:
        batch = lv.range(6).batch(4).first()
        print(len(batch), list(batch), batch["value"])
        print(batch.origins["record"], len(batch.lanes))
    """

    __slots__ = ("__weakref__", "_position")

    if TYPE_CHECKING:
        _position: bytes

        def __init__(self, block: _levada.Block, files: _Files | None = None) -> None: ...

        def __getitem__(self, name: str) -> Any: ...

        def __iter__(self) -> Iterator[str]: ...

    # The extension's part keeps the values. It makes those that are plain arrays, and calls
    # _other() for the others.

    def _other(self, i):
        return column_of(self._block, i)

    def _index(self, name: str) -> int:
        i = self._block.find(name) if isinstance(name, str) else -1
        if i < 0:
            raise KeyError(unknown("field", name, self.keys()))
        return i

    def keys(self) -> tuple[str, ...]:
        """Returns the names of the fields, in order.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(list(batch.keys()))
        """
        return self._block.names

    def values(self) -> list[Any]:
        """Returns the values of the fields, in order.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(len(batch.values()))
        """
        return [self[name] for name in self._block.names]

    def items(self) -> list[tuple[str, Any]]:
        """Returns (name, value) of each field, in order.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            for name, column in batch.items():
                print(name, column)
        """
        return [(name, self[name]) for name in self._block.names]

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a field, or `default` if the batch does not have the field.

        Args:
            name (str): the field.
            default (object): the value for a missing field.

        Example:
            print(lv.range(6).batch(4).first().get("label", 0))
        """
        return self[name] if name in self else default

    def receipt(self) -> str:
        """Returns the receipt of this batch, 59 characters for the log of a training run.
        ``levada replay --receipt`` and ``Iterator.replay`` rebuild the batch later.

        Receipts are equal if the batches have the same values under the same names, at the same
        place of the same epoch of the same pipeline with the same seed. All values are read.

        Raises:
            FailedPreconditionError: no iterator returned this batch: it was built, or cut out.

        Example:
            it = iter(lv.range(9).batch(2).with_options(seed=1))
            receipt = next(it).receipt()
            print(it.replay(0).receipt() == receipt)
        """
        if self._files is None:
            raise FailedPreconditionError("no iterator returned this batch, so it has no receipt")
        return self._files.receipt(self._block)

    @property
    def position(self) -> bytes | None:
        """The position after this batch, as bytes for ``Iterator.restore``. None unless the batch
        is from ``ds.iterate(position=True)``. It does not depend on how far a loop reads ahead."""
        return getattr(self, "_position", None)

    def __len__(self) -> int:
        return self._block.rows

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._block.find(name) >= 0

    def __repr__(self):
        records = "1 record" if self.num_records == 1 else f"{self.num_records} records"
        lines = [f"levada.Batch of {records}"]
        for name, dtype, depth, _, padded, _ in self._block.fields():
            dims = [str(d) for d in (self.num_records, *self._block.dims(self._index(name)))]
            dims[1:1] = ["*"] * depth
            text = f"{dtype}[{', '.join(dims)}]{'  padded' if padded else ''}"
            lines.append(f"  {plain(name)}  {text}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        from levada._show import batch_html

        return batch_html(self)

    def __copy__(self):
        return Batch(self._block, self._files)

    def __reduce__(self):
        if current_thread().name == "QueueFeederThread":
            return _unsendable, ()
        raise TypeError("a Batch is memory of levada and cannot be pickled: pickle its numpy()")

    @property
    def num_records(self) -> int:
        """Records in the batch; the same as ``len(batch)``."""
        return self._block.rows

    @property
    def nbytes(self) -> int:
        """Total memory in bytes that this batch holds."""
        return self._block.bytes

    def column(self, name: str) -> _levada.View:
        """Returns the memory of a FIXED column, or of the values of another column, without a copy.

        Args:
            name (str): the field.

        Returns:
            An object with the buffer protocol, ``__dlpack__`` and ``__dlpack_device__``.

        Example:
            print(memoryview(lv.range(6).batch(4).first().column("value")).nbytes)
        """
        i = self._index(name)
        view = self._block.values(i)
        return self._block.parts(i)[0] if view is None else view

    def lengths(self, name: str) -> Array:
        """Returns the length of each record before padding, int32 [n]; for a ragged field its row
        lengths.

        Records that ``shard(equal="pad")`` added (field ``is_padding``) have length 0, except in
        ragged fields, which have the lengths of their values.

        Args:
            name (str): the field.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).padded_batch(2).first().lengths("x"))
        """
        if self._lengths is None:
            self._lengths = {}
        value = self._lengths.get(name)
        if value is None:
            value = self._lengths[name] = self._lengths_of(name)
        return value

    def _lengths_of(self, name):
        import numpy as np

        i = self._index(name)
        view = self._block.lengths(i)
        value = array_of(view) if view is not None else self[name]
        if isinstance(value, (Ragged, Bytes)):
            return value.lengths
        if view is None:
            steps = value.shape[1] if value.ndim > 1 else 1
            value = np.full(self.num_records, steps, np.int32)
        return self._without_padding_records(value)

    def _without_padding_records(self, lengths):
        """Lengths with 0 for the records that ``shard(equal="pad")`` has added."""
        import numpy as np

        if "is_padding" not in self:
            return lengths
        added = self["is_padding"]
        if getattr(added, "dtype", "") != "bool" or added.ndim != 1 or not added.any():
            return lengths
        return np.where(added, 0, lengths).astype(np.int32)

    def mask(self, name: str, *, side: str = "right") -> Array:
        """Returns a mask, bool [n, T]: True for values, False for padding.

        The mask is False in all of a record that ``shard(equal="pad")`` added.

        Args:
            name (str): the field.
            side (str, default "right"): side on which ``batch.padded(name, side=)`` pads a ragged
                field. A padded field has its own side.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).padded_batch(2).first().mask("x"))
        """
        _, _, width, *_ = self._block.measure(self._index(name))
        return self._view(name, _MASK, (self.num_records, width), "bool", is_left(side))

    def _view(self, name, kind, shape, dtype="int32", left=False):
        import numpy as np

        out = np.empty(shape, dtype)
        self._block.fill_view(self._index(name), kind, out, left)
        return out

    def cu_seqlens(self, name: str) -> Array:
        """Returns the start of each sequence and the end of the last: int32 [sequences + 1].

        Attention kernels for variable lengths expect this form. A packed field has one sequence
        per segment, any other field one per record. For a ragged field that is not packed, the
        result is its offsets, without a copy.

        Args:
            name (str): the field.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).batch(2).first().cu_seqlens("x"))
        """
        sequences, *_, packed, _ = self._block.measure(self._index(name))
        value = None if packed else self[name]
        if isinstance(value, Ragged):
            return value.offsets
        return self._view(name, _CU_SEQLENS, sequences + 1)

    def max_seqlen(self, name: str) -> int:
        """Returns the length of the longest sequence (of a packed field: of the longest segment).

        Args:
            name (str): the field.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).batch(2).first().max_seqlen("x"))
        """
        return self._block.measure(self._index(name))[4]

    def positions(self, name: str) -> Array:
        """Returns the position of each value in its sequence: int32 [n, T], 0 in padding; ragged:
        [values].

        Positions restart in each segment of a packed field. If a field that is not packed has a
        field ``<name>_positions`` next to it, that field is returned.

        Args:
            name (str): the field.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).padded_batch(2).first().positions("x"))
        """
        return self._numbers(name, _POSITIONS, "positions")

    def segment_ids(self, name: str) -> Array:
        """Returns the number of each value's sequence, from 1: int32 [n, T], 0 in padding; ragged:
        [values].

        Numbers restart in each record of a padded field. If a field that is not packed has a field
        ``<name>_segment_ids`` next to it, that field is returned.

        Args:
            name (str): the field.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).padded_batch(2).first().segment_ids("x"))
        """
        return self._numbers(name, _SEGMENT_IDS, "segment_ids")

    def _numbers(self, name, kind, what):
        _, _, width, elements, _, padded, packed, _ = self._block.measure(self._index(name))
        if not packed and f"{name}_{what}" in self:
            return self[f"{name}_{what}"]
        return self._view(name, kind, (self.num_records, width) if padded else elements)

    def padded(
        self, name: str, value: Any = None, length: int | None = None, *, side: str = "right"
    ) -> Array:
        """Returns a field as an array [n, T, ...]; a ragged field is copied and padded.

        Args:
            name (str): the field.
            value (object): padding value of a ragged field; None = 0 or b"".
            length (int): padded length, default the longest record.
            side (str, default "right"): side of the padding, "left" or "right".

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).batch(2).first().padded("x", -1))
        """
        column = self[name]
        if isinstance(column, Ragged):
            return column.to_padded(value, length, side=side)
        left = self._block.measure(self._index(name))[7]
        if value is not None or length is not None or (is_left(side) and not left):
            place = "in front of" if left else "after"
            raise ValueError(
                f"field {name!r} is padded already, {place} its values; pad it in the stage that "
                "makes the batch"
            )
        return column

    def ragged(self, name: str) -> Ragged:
        """Returns a field without padding; the values of a padded field are copied.

        Args:
            name (str): the field.

        Returns:
            A ``Ragged``.

        Example:
            print(lv.from_arrays({"x": [[1, 2], [3]]}).padded_batch(2).first().ragged("x"))
        """
        column = self[name]
        if isinstance(column, Ragged):
            return column
        if isinstance(column, Bytes) or column.ndim < 2:
            raise ValueError(f"field {name!r} must be a sequence, got one value per record")
        import numpy as np

        offsets = np.zeros(self.num_records + 1, np.int32)
        np.cumsum(self.lengths(name), out=offsets[1:])
        return part_of(column[self.mask(name)], (offsets,))

    def flash_attention(
        self, name: str, *, labels: str | None = None, tensors: bool = False, device: Any = None
    ) -> dict[str, Any]:
        """Returns the arguments of a model with variable-length attention, all sequences in one
        row.

        The names are those of the flattening collator of Hugging Face: ``input_ids`` [1, values],
        ``position_ids`` [1, values] (int32, restarting in each sequence), ``cu_seq_lens_q`` and
        ``cu_seq_lens_k`` (int32), ``max_length_q`` and ``max_length_k``. Values of a ragged field
        are not copied.

        Args:
            name (str): the field with the tokens.
            labels (str): field with the targets; the first target of each sequence becomes -100,
                because no value precedes it.
            tensors (bool, default False): returns torch.Tensor over the same memory, not arrays.
            device (device): copies the tensors to this device; None = no copy.

        Example:
            print(sorted(lv.from_arrays({"x": [[1, 2],
            [3]]}).batch(2).first().flash_attention("x")))
        """
        marks, longest = self.cu_seqlens(name), self.max_seqlen(name)
        sizes = self._block.measure(self._index(name))
        positions = self.positions(name)
        if sizes[5]:
            positions = positions[self.mask(name)]
        made = {"input_ids": self.ragged(name).values[None], "position_ids": positions[None]}
        if labels is not None:
            targets = self.ragged(labels).values.copy()
            starts = marks[:-1]
            targets[starts[starts < marks[1:]]] = -100
            made["labels"] = targets[None]
        made |= {"cu_seq_lens_q": marks, "cu_seq_lens_k": marks}
        if tensors or device is not None:
            from levada.interop._tensors import as_tensor

            made = {key: as_tensor(value, device) for key, value in made.items()}
        return made | {"max_length_q": longest, "max_length_k": longest}

    def context_parallel(
        self,
        rank: int,
        size: int,
        *,
        fields: str | Iterable[str] | None = None,
        length: int | None = None,
        value: Any = 0,
    ) -> dict[str, Any]:
        """Returns the part of the batch for one rank of a context-parallel group.

        Each sequence is padded to a multiple of ``2 * size`` steps and cut into ``2 * size``
        chunks. The rank gets chunk ``rank`` and chunk ``2 * size - 1 - rank``, so that all ranks
        have equal work under a causal mask. Shapes are equal on all ranks. Shift targets before
        you pack: the next value may be on another rank.

        Args:
            rank (int): the rank in the group, from 0.
            size (int): ranks in the group.
            fields (str | Iterable[str]): fields to cut. None = the packed fields; if there are
                none, all fields that are sequences of numbers.
            length (int): steps of a padded record over all ranks, such as the length of ``pack``;
                None = the steps of the longest record.
            value (object, default 0): padding value, or a mapping of fields to padding values.

        Returns:
            A dict of all fields. Of the fields that are cut, a padded field has the shape [n, T /
            size, ...], and a ragged field [values / size, ...]. Next to it are ``<name>_positions``
            (int32, positions in the sequence, 0 in padding), ``<name>_segment_ids`` (int32, from 1,
            0 in padding) and ``<name>_cu_seqlens`` (int32 [sequences + 1]: starts of the padded
            sequences over all ranks).

        Raises:
            InvalidArgumentError: `rank` is not below `size`, a field has no sequences of numbers,
                or a record does not fit in `length`; use ``pack(multiple_of=2 * size)``.

        Example:
            ds = lv.from_arrays({"x": [[1, 2, 3], [4, 5]]}).pack(8, multiple_of=4)
            print(ds.padded_batch(1).first().context_parallel(0, 2)["x"])
        """
        from levada._context_parallel import part_of

        return part_of(self, rank, size, fields, length, value)

    @property
    def origins(self) -> Array:
        """Where records come from: structured array (source, pass_, shard, sub, record, offset).

        For a ``zip``, these are the origins of its first input; `lanes` has all of them.
        """
        return self.lanes[0]

    @property
    def lanes(self) -> list[Array]:
        """Arrays like `origins`: one for each input of a ``zip`` (at most four).

        If a record has no origin in an array, its source is -1.
        """
        import numpy as np

        return [np.frombuffer(self._block.origins(i), ORIGIN) for i in range(self._block.lanes)]

    @property
    def record_keys(self) -> list[str]:
        """Permanent names of the records: ["train-3.tfrecord:17", ...].

        For a ``zip``: ["a.tfrecord:17 + b.tfrecord:3", ...].
        """
        rows = zip(*(lane.tolist() for lane in self.lanes), strict=True)
        return [" + ".join(self._key(lane) for lane in row if lane[0] >= 0) for row in rows]

    def _key(self, origin: tuple[int, ...]) -> str:
        source, pass_, shard, sub, record, _ = origin
        key = f"{self._place(source, pass_, shard)}:{record}"
        return f"{key}.{sub}" if sub else key

    def _place(self, source: int, pass_: int, shard: int) -> str:
        """The file, or the number of a source without files."""
        path = self._files(source, pass_, shard) if self._files else None
        return path or f"{source}.{shard}"

    def numpy(self) -> dict[str, Any]:
        """Returns a dict of name to value.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(batch.numpy()["x"])
        """
        return {name: self[name] for name in self.keys()}

    def torch(
        self,
        device: Any = None,
        *,
        lengths: bool = False,
        mask: bool = False,
        cu_seqlens: bool = False,
        segment_ids: bool = False,
        positions: bool = False,
        ragged: str = "ragged",
    ) -> dict[str, Any]:
        """Returns a dict of name to torch.Tensor over the same memory; byte fields become lists of
        ``bytes``.

        Args:
            device (device): copies the tensors to this device; None = no copy.
            lengths (bool, default False): adds ``<name>_lengths`` (int32 [n]) for each field of
                sequences.
            mask (bool, default False): adds ``<name>_mask`` (bool [n, T]) for each padded field.
            cu_seqlens (bool, default False): adds ``<name>_cu_seqlens`` (int32 [n + 1]).
            segment_ids (bool, default False): adds ``<name>_segment_ids``, as `segment_ids`.
            positions (bool, default False): adds ``<name>_positions``, as `positions`.
            ragged (str, default "ragged"): "ragged" returns ragged fields as ``Ragged`` of
                tensors, "nested" as ``torch.nested`` tensors with the jagged layout.

        Raises:
            InvalidArgumentError: a field already has the name of an added tensor.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).padded_batch(2).first()
            tensors = batch.torch(mask=True)
            print(tensors["x"], tensors["x_mask"])
        """
        from levada.interop._tensors import batch_to_torch

        added = {
            "lengths": lengths, "mask": mask, "cu_seqlens": cu_seqlens,
            "segment_ids": segment_ids, "positions": positions,
        }  # fmt: skip
        return batch_to_torch(self, device, [kind for kind, on in added.items() if on], ragged)

    def to(self, device: Any, non_blocking: bool = True) -> dict[str, Any]:
        """Returns a dict of name to torch.Tensor on a device, as Lightning and accelerate expect.

        Args:
            device (device): a device of PyTorch, or its name such as ``"cuda"``.
            non_blocking (bool, default True): copies asynchronously from page-locked memory.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(batch.to("cpu")["x"])
        """
        from levada.interop._tensors import batch_to_torch

        return batch_to_torch(self, device, non_blocking=non_blocking)

    def pin_memory(self) -> dict[str, Any]:
        """Returns a dict of name to torch.Tensor in page-locked memory.

        Copies from page-locked memory to a GPU are asynchronous. A DataLoader with
        ``pin_memory=True`` calls this method.

        Example:
            import torch
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            if torch.cuda.is_available():
                batch = batch.pin_memory()
        """
        from levada.interop._tensors import pinned

        return {name: pinned(value) for name, value in self.torch().items()}

    def jax(self, sharding: Any = None) -> dict[str, Any]:
        """Returns a dict of name to jax.Array; byte fields are not converted.

        Args:
            sharding (Sharding): a ``jax.sharding.Sharding`` or a device that places the arrays. If
                it has devices of several processes, each passes its part of a global array.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(batch.jax()["x"])
        """
        from levada.interop.jax import batch_to_jax

        return batch_to_jax(self, sharding)

    def to_arrow(self) -> Any:
        """Returns a pyarrow.RecordBatch over the memory of the batch.

        Padded fields become lists of their values without the padding.

        Example:
            batch = lv.from_arrays({"x": [[1], [2, 3]]}).batch(2).first()
            print(batch.to_arrow().schema)
        """
        from levada.interop._pyarrow import pyarrow

        return pyarrow().record_batch(self)

    def __arrow_c_array__(self, requested_schema=None):
        return _levada.arrow_export(self._block)

    def __arrow_c_stream__(self, requested_schema=None):
        return _levada.arrow_stream(self._block, (self._block,))

    def __arrow_c_schema__(self):
        return _levada.arrow_schema(self._block)


for _name, _method in [*vars(Batch).items()]:  # errors end in the line of the caller
    if (_name[0] != "_" or _name == "_index") and isinstance(_method, FunctionType):
        setattr(Batch, _name, _levada.Front(_method))
