# SPDX-License-Identifier: Apache-2.0
"""P4: TFRecordDataset, checksums verified; records are counted in batches and stay in C++."""

from common import files, main, timed
from tf_common import records, tuned


def scan(folder, name="plain64", limit=None, block=1024):
    ds = tuned(records(files.path(name, folder), limit, name.endswith(".gz")).batch(block), False)

    def count():
        n = 0
        for batch in ds:
            n += batch.shape[0]
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
