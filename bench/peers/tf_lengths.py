# SPDX-License-Identifier: Apache-2.0
"""tf.data: buckets of sequences in memory, as many records in a batch as the budget allows."""

import functools

import numpy as np
from common import main
from lengths import BOUNDARIES, BUDGET, padded, sequences
from tf_common import tf, tuned


@functools.cache
def records():
    tokens = sequences()
    flat, sizes = np.concatenate(tokens), np.array([len(one) for one in tokens])
    ragged = tf.RaggedTensor.from_row_lengths(flat, sizes)
    return tf.data.Dataset.from_tensor_slices(ragged).map(tf.identity)


def buckets(folder):
    sizes = [BUDGET // (bound - 1) for bound in BOUNDARIES]
    ds = records().bucket_by_sequence_length(tf.size, BOUNDARIES, [*sizes, 1])

    def batches():
        for batch in tuned(ds, autotune=False).as_numpy_iterator():
            yield len(batch), batch.size

    return padded(batches)


if __name__ == "__main__":
    main(globals())
