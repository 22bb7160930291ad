# SPDX-License-Identifier: Apache-2.0
"""mlx-data: dynamic batches of sequences in memory, and P1 from records parsed in Python."""

import functools

import mlx.data as dx
from common import main
from lengths import BUDGET, padded, sequences


@functools.cache
def records():
    return dx.buffer_from_vector([{"tokens": tokens} for tokens in sequences()])


def lookahead(folder, window):
    """A window of records is sorted, and cut into batches within the budget."""
    stream = records().to_stream().dynamic_batch(window, "tokens", BUDGET)

    def batches():
        for batch in stream:
            tokens = batch["tokens"]
            yield len(tokens), tokens.size

    return padded(batches)


if __name__ == "__main__":
    main(globals())
