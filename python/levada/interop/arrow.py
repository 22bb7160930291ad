# SPDX-License-Identifier: Apache-2.0
"""Arrow: batches as record batches, over the same memory where Arrow's layout allows."""

from levada._ragged import Bytes, Ragged


def _flat(array):
    import numpy as np
    import pyarrow as pa

    if array.dtype == object:
        return pa.array(array.reshape(-1).tolist(), pa.binary())
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
        return pa.Array.from_buffers(pa.binary(), len(value), buffers)
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


def batch_to_arrow(batch):
    """pyarrow.RecordBatch of a levada.Batch."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([_column(value) for value in batch.values()], list(batch))
