#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading ahead from a server that answers 20 ms late, with requests in flight and one by one.

.venv/bin/python bench/remote.py [MiB]     a server of its own on this machine, no other library
"""

import http.server
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import levada as lv

LATE = 0.02
RECORD = 4096
ONE_BY_ONE = 224 << 10  # bytes of a read of a local file


class Handler(http.server.BaseHTTPRequestHandler):
    """Ranges of one file."""

    protocol_version = "HTTP/1.1"
    file = Path()
    requests = 0

    def do_GET(self):
        type(self).requests += 1
        time.sleep(LATE)
        size = self.file.stat().st_size
        first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
        last = min(last, size - 1)
        with self.file.open("rb") as file:
            file.seek(first)
            data = file.read(last - first + 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", '"a"')
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        pass


def best(fn, times=3):
    """The least seconds of a few runs, and the requests of one."""
    took = []
    Handler.requests = 0
    for _ in range(times):
        began = time.perf_counter()
        fn()
        took.append(time.perf_counter() - began)
    return min(took), Handler.requests // times


def one_by_one(url, size):
    for first in range(0, size, ONE_BY_ONE):
        last = first + ONE_BY_ONE - 1
        request = urllib.request.Request(url, headers={"Range": f"bytes={first}-{last}"})
        with urllib.request.urlopen(request) as answer:
            answer.read()


def drain(ds):
    for _ in ds:
        pass


def main(mebibytes=40):
    with tempfile.TemporaryDirectory() as folder:
        Handler.file = Path(folder) / "records.bin"
        Handler.file.write_bytes(os.urandom(mebibytes << 20))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/records.bin"
        ds = lv.fixed_length(url, record_bytes=RECORD).batch(256)
        slow, _ = best(lambda: one_by_one(url, mebibytes << 20), 1)
        print(f"{ONE_BY_ONE >> 10} KiB, one after the other: {slow:.3f} s")
        for ahead in (1, 8, 64):
            lv.io(read_ahead=ahead << 20)
            took, requests = best(lambda: drain(ds))
            times = slow / took
            print(f"read_ahead={ahead} MiB: {took:.3f} s, {requests} requests, {times:.1f} x")
        server.shutdown()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
