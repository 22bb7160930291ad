# SPDX-License-Identifier: Apache-2.0
"""What the peer scripts share: buckets, timing, and a way to try one by hand.

Each peer is a function `peer(data, limit=None, **options)` that returns a dict with `n` (records)
and `seconds`; the driver runs it in a worker (bench/worker.py) that is pinned before the import.
By hand: `python bench/peers/tf_example.py recipe --limit 2000`.
"""

import argparse
import inspect
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import data as files

BOUNDARIES = [64, 96, 128, 160, 192, 256, 320, 448, 640, 1024]
SEQUENCE_BOUNDARIES = [32, 48, 64, 80, 96, 128, 160, 224, 320, 448]
BATCH = 64
WINDOW = 4096


def timed(count, size=None):
    """Runs `count`, which returns the number of records, and times it: also by processor time.

    `size`: the bytes that it reads, for rows of bytes.
    """
    begin, cpu = time.perf_counter(), time.process_time()
    n = count()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    result = {"n": int(n), "seconds": seconds, "cpu": cpu}
    return result if size is None else {**result, "bytes": size}


def main(namespace):
    """Runs one function of a peer script from the command line."""
    peers = {
        name: value
        for name, value in namespace.items()
        if inspect.isfunction(value) and "folder" in inspect.signature(value).parameters
    }
    args = argparse.ArgumentParser()
    args.add_argument("peer", choices=sorted(peers))
    args.add_argument("--dir", default=files.DEFAULT_DIR)
    args.add_argument("--limit", type=int)
    args.add_argument("--set", nargs="*", default=[], metavar="NAME=JSON")
    args = args.parse_args()
    options = {k: json.loads(v) for k, v in (pair.split("=", 1) for pair in args.set)}
    if args.limit:
        options["limit"] = args.limit
    print(json.dumps(peers[args.peer](args.dir, **options)))
