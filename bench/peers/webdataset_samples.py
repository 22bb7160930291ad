# SPDX-License-Identifier: Apache-2.0
"""Samples of a tar archive with webdataset, not decoded."""

import webdataset
from common import files, main
from stdlib_text import itertools, sized


def samples(folder, limit=5_000):
    ds = webdataset.WebDataset(files.path("tar", folder), shardshuffle=False)

    def count():
        n = size = 0
        for sample in itertools.islice(ds, limit):
            n += 1
            size += 512 + len(sample["bin"])
        return n, size

    return sized(count)


if __name__ == "__main__":
    main(globals())
