# SPDX-License-Identifier: Apache-2.0
"""P12: a fresh process up to its first batch of P1; the driver measures wall time.

The arguments: tf, torch, grain or levada, and the folder of the files. Prints the rows of the batch
and the peak memory of the process in KiB.
"""

import sys


def first_tf(folder):
    import tf_example

    batch = next(iter(tf_example.recipe_dataset(folder).as_numpy_iterator()))
    return batch["tokens"]


def first_torch(folder):
    from torch.utils.data import DataLoader
    from torch_loader import Buckets

    return next(iter(DataLoader(Buckets(folder, None), batch_size=None)))[0]


def first_grain(folder):
    import grain
    from common import BATCH
    from python_proto import examples_of_a, pad

    class Examples(grain.IterDataset):
        def __iter__(self):
            return GrainExamples(folder)

    class GrainExamples(grain.DatasetIterator):
        def __init__(self, where):
            super().__init__()
            self.examples = examples_of_a(where, None)

        def __next__(self):
            return next(self.examples)

        def get_state(self):
            return {}

        def set_state(self, state):
            pass

    batches = Examples().batch(BATCH, batch_fn=lambda items: pad([item[0] for item in items]))
    return next(iter(batches))


def first_levada(folder):
    import levada as lv
    from common import BATCH, BOUNDARIES, files

    spec = {"tokens": lv.VarLenFeature("int64"), "label": lv.FixedLenFeature([], "int64")}
    ds = lv.tfrecord(files.path("a", folder)).parse_example(spec)
    ds = ds.bucket_by_sequence_length("tokens", boundaries=BOUNDARIES, batch_sizes=BATCH)
    with iter(ds) as batches:
        return next(batches)["tokens"]


def peak_kib():
    """VmHWM begins at exec; ru_maxrss of a child begins with the memory of its parent."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    rows = {"tf": first_tf, "torch": first_torch, "grain": first_grain, "levada": first_levada}
    print(len(rows[sys.argv[1]](sys.argv[2])), peak_kib())
