# SPDX-License-Identifier: Apache-2.0
"""mlx-data: dynamic batches of sequences in memory, and P1 from records parsed in Python."""

import ctypes
import functools

import mlx.data as dx
from common import main
from lengths import BUDGET, padded, sequences


@functools.cache
def records():
    return dx.buffer_from_vector([{"tokens": tokens} for tokens in sequences()])


def lookahead(folder, window):
    """A window of records is sorted, and cut into batches within the budget.

    The stream is never freed: in about one of five runs the destructor of a drained DynamicBatch
    (mlx-data 0.1.0) waits forever for its own pool of threads.
    """
    stream = records().to_stream().dynamic_batch(window, "tokens", BUDGET)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))

    def batches():
        for batch in stream:
            tokens = batch["tokens"]
            yield len(tokens), tokens.size

    return padded(batches)


if __name__ == "__main__":
    main(globals())
