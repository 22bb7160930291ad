# SPDX-License-Identifier: Apache-2.0
"""Programs that each run as two ranks with gloo: `run(name, folder)` starts them and returns what
each printed, a JSON value."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

WORLD = 2
LARGEST = 9
RECORDS = 208  # accelerate repeats records where the last step is not whole


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(name, *words, timeout=180):
    port = str(free_port())
    started = []
    for rank in range(WORLD):
        told = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(WORLD)}
        told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, name, *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env={**os.environ, **told}, **pipes))
    try:
        told = [one.communicate(timeout=timeout) for one in started]
    finally:
        for one in started:
            one.kill()
    assert [one.returncode for one in started] == [0] * WORLD, told
    return [json.loads(out.splitlines()[-1]) for out, _ in told]


def numbers(batch, field="value"):
    return batch[field].reshape(-1).tolist()


def accelerated(dispatch, workers, whole):
    """What accelerate's loader returns on this rank, or the error it raises."""
    import levada as lv
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration
    from torch.utils.data import DataLoader

    config = DataLoaderConfiguration(
        dispatch_batches=None if dispatch == "None" else dispatch == "True"
    )
    accelerator = Accelerator(cpu=True, dataloader_config=config)
    ranks = {"rank": 0, "world_size": 1} if whole == "whole" else {}
    ds = lv.range(RECORDS)
    if dispatch == "False" and whole == "whole":  # accelerate divides records, not batches
        loader = DataLoader(lv.torch_dataset(ds, **ranks), batch_size=4, num_workers=int(workers))
    else:
        made = lv.torch_dataset(ds.batch(4), **ranks)
        loader = DataLoader(made, batch_size=None, num_workers=int(workers))
    if whole == "not prepared":
        return [n for batch in loader for n in numbers(batch)]
    loader = accelerator.prepare(loader)
    try:
        return [n for batch in loader for n in numbers(batch)]
    except Exception as error:
        return str(error)


def trained(pattern, workers, equal):
    """Trains a model under DistributedDataParallel; the lines of each epoch."""
    import levada as lv
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader

    torch.distributed.init_process_group("gloo")
    spec = {"line": lv.FixedLenFeature([], lv.int64), "bytes": lv.VarLenFeature(lv.int64)}
    pipe = lv.tfrecord(pattern).shuffle(50, seed=3).parse_example(spec)
    pipe = pipe.bucket_by_sequence_length("bytes", boundaries=[20, 60], batch_sizes=[LARGEST, 7, 5])
    made = lv.torch_dataset(pipe, equal=equal)
    loader = DataLoader(made, batch_size=None, num_workers=int(workers))
    model = DistributedDataParallel(torch.nn.Linear(1, 1))
    seen = []
    for _ in range(2):
        seen.append([])
        for batch in loader:
            model(batch["line"].float().reshape(-1, 1)).sum().backward()
            rows = batch["line"]
            if equal == "pad":
                rows = rows[~batch["is_padding"]]
            seen[-1].append(rows.tolist())
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    return seen


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
