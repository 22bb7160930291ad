# SPDX-License-Identifier: Apache-2.0
"""P6 to P8: lines, CSV and JPEG with tf.data; parts of the files."""

from common import files, main
from pil_images import encoded
from stdlib_text import itertools, sized
from tf_common import tf, tuned

COLUMNS = {
    "numbers": [tf.int64] * 5 + [tf.float32] * 8,
    "quoted": [tf.int64] + [tf.string] * 4,
}


def bytes_of(name, folder, limit):
    with open(files.path(name, folder), "rb") as text:
        return sum(map(len, itertools.islice(text, limit)))


def drained(ds, name, folder, limit, block=1024):
    ds = tuned(ds.take(limit).batch(block), False)
    size = bytes_of(name, folder, limit)

    def count():
        n = 0
        for batch in ds:
            n += (batch[0] if isinstance(batch, tuple) else batch).shape[0]
        return n, size

    return sized(count)


def csv(folder, name="numbers", limit=50_000):
    ds = tf.data.experimental.CsvDataset(files.path(name, folder), COLUMNS[name])
    return drained(ds, name, folder, limit)


def lines(folder, limit=300_000):
    return drained(tf.data.TextLineDataset(files.path("text", folder)), "text", folder, limit)


def images(folder):
    """Eager calls; in `map` they take longer."""
    data = [tf.constant(one) for one in encoded("jpeg")]

    def count():
        for one in data:
            tf.io.decode_jpeg(one, channels=3).numpy()
        return len(data), 0

    return sized(count)


if __name__ == "__main__":
    main(globals())
