# SPDX-License-Identifier: Apache-2.0
"""Arrow: batches as record batches, over the same memory where Arrow's layout allows."""

import itertools

from levada._ragged import Bytes, Ragged


def _flat(array):
    import numpy as np
    import pyarrow as pa

    if array.dtype == object:
        items = array.reshape(-1).tolist()
        text = bool(items) and all(isinstance(item, str) for item in items)
        return pa.array(items, pa.utf8() if text else pa.binary())
    if array.dtype == bool or array.dtype.kind == "c":
        kind = array.astype(bool) if array.dtype == bool else array.view(array.real.dtype)
        return pa.array(np.ascontiguousarray(kind).reshape(-1))
    flat = np.ascontiguousarray(array).reshape(-1)
    kind = pa.from_numpy_dtype(flat.dtype)
    return pa.Array.from_buffers(kind, len(flat), [None, pa.py_buffer(flat)])


def _column(value):
    import numpy as np
    import pyarrow as pa

    if isinstance(value, Bytes):
        marks = np.ascontiguousarray(value.offsets)
        buffers = [None, pa.py_buffer(marks), pa.py_buffer(value.data)]
        kind = pa.utf8() if value.text else pa.binary()
        return pa.Array.from_buffers(kind, len(value), buffers)
    if isinstance(value, Ragged):
        below = _column(value._inner)
        buffers = [None, pa.py_buffer(np.ascontiguousarray(value.offsets))]
        kind = pa.list_(below.type)
        return pa.Array.from_buffers(kind, len(value), buffers, children=[below])
    flat = _flat(value)
    sizes = value.shape[1:] + ((2,) if value.dtype.kind == "c" else ())
    for size in reversed(sizes):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    return flat


def batch_to_arrow(batch, padded="fixed"):
    """pyarrow.RecordBatch of a levada.Batch. Padded fields are lists of fixed size, or with
    `padded` "list" lists of their lengths, which have one type in all batches."""
    import pyarrow as pa

    columns = {name: batch[name] for name in batch}
    for name, _, _, _, is_padded, *_ in batch._block.fields():
        if is_padded and padded == "list":
            columns[name] = batch.ragged(name)
    return pa.RecordBatch.from_arrays([_column(value) for value in columns.values()], list(columns))


def reader_of(batches):
    """pyarrow.RecordBatchReader over an iterator of batches; the first one sets the schema."""
    import pyarrow as pa

    converted = (batch_to_arrow(batch, padded="list") for batch in batches)
    first = next(converted, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(pa.schema([]), [])
    return pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], converted))


def stream_of(batches, requested_schema):
    """The capsule of such a reader."""
    return reader_of(batches).__arrow_c_stream__(requested_schema)
