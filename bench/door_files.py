# SPDX-License-Identifier: Apache-2.0
"""Files of other libraries with the same 50,000 token lists, made when they are first needed."""

import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(os.path.dirname(HERE), ".venv-peers", "bin", "python")
COUNT, BATCH = 50_000, 256


def tokens():
    """(values, offsets) of lists of about 136 int32."""
    lengths = np.random.default_rng(1).lognormal(4.6, 0.8, COUNT).astype(np.int64).clip(1, 2000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(offsets[-1], dtype=np.int32), offsets


def order():
    return np.random.default_rng(0).permutation(COUNT)


def table():
    import pyarrow as pa

    values, offsets = tokens()
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))
    return pa.table({"tokens": lists})


def path(folder, name):
    """A file of this kind: arrow, parquet, megatron, mds or array_record."""
    made = os.path.join(folder, f"doors.{name}")
    if not os.path.exists(made):
        globals()["_" + name](f"{made}.part")
        os.rename(f"{made}.part", made)
    return made


def _arrow(to):
    import pyarrow as pa

    rows = table()
    with pa.OSFile(to, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=1000)


def _parquet(to):
    import pyarrow.parquet as pq

    pq.write_table(table(), to, row_group_size=5000, compression="zstd")


def _megatron(to):
    """A folder with a.bin and a.idx; each list is a document."""
    values, offsets = tokens()
    os.makedirs(to, exist_ok=True)
    values.tofile(f"{to}/a.bin")
    with open(f"{to}/a.idx", "wb") as index:
        index.write(b"MMIDIDX\0\0" + np.int64(1).tobytes() + b"\4")
        index.write(np.array([COUNT, COUNT + 1], np.int64).tobytes())
        index.write(np.diff(offsets).astype(np.int32).tobytes())
        index.write((4 * offsets[:-1]).tobytes())
        index.write(np.arange(COUNT + 1, dtype=np.int64).tobytes())


def _by_peer(code, to):
    """Runs code of the library, where it is installed, with `values`, `offsets` and `to`."""
    setup = f"import sys; sys.path.insert(0, {HERE!r})\n"
    setup += f"from door_files import *; values, offsets = tokens(); to = {to!r}\n"
    python = PEERS if os.path.exists(PEERS) else sys.executable
    subprocess.run([python, "-c", setup + code], check=True, capture_output=True)


def _mds(to):
    columns = '{"text": "str", "tokens": "ndarray:int32", "id": "int"}'
    _by_peer(f"""
from streaming import MDSWriter
with MDSWriter(out=to, columns={columns}, size_limit=1 << 23) as out:
    for i in range(COUNT):
        some = values[offsets[i] : offsets[i + 1]]
        out.write({{"text": f"doc {{i}}", "tokens": some, "id": i}})
""", to)  # fmt: skip


def _array_record(to):
    _by_peer("""
from array_record.python.array_record_module import ArrayRecordWriter
out = ArrayRecordWriter(to, "group_size:1")
for i in range(COUNT):
    out.write(values[offsets[i] : offsets[i + 1]].tobytes())
out.close()
""", to)  # fmt: skip
