# SPDX-License-Identifier: Apache-2.0
"""P1 with mlx-data: records of the file, Python protobuf, and its dynamic batches."""

import mlx.data as dx
from common import WINDOW, main, timed
from lengths import BUDGET
from python_proto import examples_of_a


def buckets(folder, limit=50_000):
    def records():
        for tokens, label in examples_of_a(folder, limit):
            yield {"tokens": tokens, "label": label}

    def count():
        stream = dx.stream_python_iterable(records)
        return sum(len(batch["tokens"]) for batch in stream.dynamic_batch(WINDOW, "tokens", BUDGET))

    return timed(count)


if __name__ == "__main__":
    main(globals())
