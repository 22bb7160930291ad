# SPDX-License-Identifier: Apache-2.0
"""The whole way once: real text into TFRecords, a look at them, and batches out of them.

Called with the folder to work in, and the levada executable where it is not on the path.
"""

import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import levada as lv
import make_corpus

BOUNDARIES = [64, 128, 256, 512, 1024, 2048, 4096]
MAX_TOKENS = 131_072


def pipeline(path: Path) -> lv.Dataset:
    tokens = lv.FixedLenSequenceFeature([], lv.int64)
    return (
        lv.tfrecord(str(path))
        .shuffle(4096, seed=7)
        .parse_sequence_example(sequence={"tokens": tokens})
        .bucket_by_sequence_length("tokens", boundaries=BOUNDARIES, max_tokens=MAX_TOKENS)
        .prefetch(4)
    )


class Progress:
    """A line that moves, on a terminal only."""

    def __init__(self, total: int) -> None:
        self.total, self.shown = total, sys.stderr.isatty()
        self.begun = self.drawn = time.monotonic()

    def show(self, records: int, tokens: int) -> None:
        now = time.monotonic()
        if not self.shown or now - self.drawn < 0.1:
            return
        self.drawn = now
        part = records / self.total
        bar = "━" * round(24 * part)
        rate = tokens / (now - self.begun) / 1e6
        line = f"\r{bar:─<24} {part:4.0%}   {number(records)} records · {rate:.1f} M tokens/s"
        print(line, end="\x1b[K", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Totals:
    """What the table at the end tells."""

    def __init__(self) -> None:
        self.records = self.tokens = self.cells = 0
        self.batches: Counter[int] = Counter()  # by upper bound of the bucket

    def add(self, batch: lv.Batch) -> None:
        lengths = batch.lengths("tokens")
        longest = int(lengths.max())
        bucket = next((bound for bound in BOUNDARIES if longest < bound), 0)
        self.batches[bucket] += 1
        self.records += batch.num_records
        self.tokens += int(lengths.sum())
        self.cells += batch["tokens"].size


def run(path: Path, total: int) -> None:
    totals, progress = Totals(), Progress(total)
    begun = time.monotonic()
    for batch in pipeline(path):
        totals.add(batch)
        progress.show(totals.records, totals.tokens)
    seconds = time.monotonic() - begun
    progress.clear()
    table(path, totals, seconds)


def number(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def table(path: Path, totals: Totals, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{path.name}")
    print(f"  records         {number(totals.records)}")
    print(f"  tokens          {number(totals.tokens)}")
    print(f"  batches         {number(sum(totals.batches.values()))}")
    for bound in [*BOUNDARIES, 0]:
        name = f"below {bound}" if bound else f"{BOUNDARIES[-1]} and more"
        print(f"    {name:<14}{number(totals.batches[bound]):>8}")
    print(f"  padding waste   {100 * (1 - totals.tokens / totals.cells):.1f} %")
    print(f"  tokens/s        {totals.tokens / seconds / 1e6:.1f} M   ({seconds:.2f} s)")
    print(f"  peak memory     {peak:.0f} MiB")


def main() -> None:
    folder = Path(sys.argv[1])
    command = sys.argv[2] if len(sys.argv) > 2 else shutil.which("levada")
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    total = make_corpus.make(folder)
    print(f"made {number(total)} records in {time.monotonic() - begun:.1f} s\n", flush=True)
    names = ["corpus.tfrecord.gz", "corpus.tfrecord"]
    subprocess.run([command or "levada", "info", names[0]], cwd=folder, check=True)
    for name in names:
        run(folder / name, total)


if __name__ == "__main__":
    main()
