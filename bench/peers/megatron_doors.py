# SPDX-License-Identifier: Apache-2.0
"""The reader of Megatron-LM: sequences one by one."""

import logging
import os

import door_files
from common import main, timed
from megatron.core.datasets.indexed_dataset import IndexedDataset

logging.disable(logging.CRITICAL)


def sequences(folder, shuffled=False):
    own = IndexedDataset(os.path.join(door_files.path(folder, "megatron"), "a"), mmap=True)
    order = door_files.order().tolist() if shuffled else range(door_files.COUNT)
    return timed(lambda: sum(len(own[i]) > 0 for i in order))


if __name__ == "__main__":
    main(globals())
