# SPDX-License-Identifier: Apache-2.0
"""MosaicML Streaming: samples of MDS shards one by one."""

import door_files
from common import main, timed
from streaming import StreamingDataset


def samples(folder, limit=5000):
    ds = StreamingDataset(local=door_files.path(folder, "mds"), shuffle=False, batch_size=1)
    return timed(lambda: sum(len(ds[i]["tokens"]) > 0 for i in range(limit)))


if __name__ == "__main__":
    main(globals())
