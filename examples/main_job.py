# SPDX-License-Identifier: Apache-2.0
"""The whole way once: real text into TFRecords, a look at them, and batches out of them.

Called with the folder to work in, and the levada executable where it is not on the path.
"""

import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import levada as lv
import make_corpus

BOUNDARIES = [64, 128, 256, 512, 1024, 2048, 4096]
MAX_TOKENS = 131_072
WAYS: dict[str, Any] = {  # what bucket_by_sequence_length is given besides the budget
    "7 boundaries": {"boundaries": BOUNDARIES},
    "look-ahead of 16,000": {"lookahead": 16_000},
}
SPEC = "sequences={tokens:{kind:FixedLenSequence,shape:[],dtype:int64}}"


def pipeline(path: Path, way: str) -> lv.Dataset:
    tokens = lv.FixedLenSequenceFeature([], lv.int64)
    return (
        lv.tfrecord(str(path))
        .shuffle(4096, seed=7)
        .parse_sequence_example(sequences={"tokens": tokens})
        .bucket_by_sequence_length("tokens", max_tokens=MAX_TOKENS, **WAYS[way])
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
    """Sums over all batches of a run."""

    def __init__(self) -> None:
        self.records = self.tokens = self.cells = self.batches = 0
        self.seconds = 0.0

    def add(self, batch: lv.Batch) -> None:
        self.batches += 1
        self.records += batch.num_records
        self.tokens += int(batch.lengths("tokens").sum())
        self.cells += batch["tokens"].size


def run(path: Path, way: str, total: int) -> Totals:
    totals, progress = Totals(), Progress(total)
    begun = time.monotonic()
    for batch in pipeline(path, way):
        totals.add(batch)
        progress.show(totals.records, totals.tokens)
    totals.seconds = time.monotonic() - begun
    progress.clear()
    return totals


def number(n: int) -> str:
    return f"{n:,}"


def table(path: Path, runs: dict[str, Totals]) -> None:
    names = f"{'records':>9}{'tokens':>13}{'batches':>9}{'padding':>10}{'tokens/s':>10}"
    print(f"\n{path.name:<24}{names}")
    for way, totals in runs.items():
        padding = f"{100 * (1 - totals.tokens / totals.cells):.1f} %"
        rate = f"{totals.tokens / totals.seconds / 1e6:.1f} M"
        counts = f"{number(totals.records):>9}{number(totals.tokens):>13}{totals.batches:>9}"
        print(f"  {way:<22}{counts}{padding:>10}{rate:>10}")


def main() -> None:
    folder = Path(sys.argv[1])
    command = sys.argv[2] if len(sys.argv) > 2 else shutil.which("levada")
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    total = make_corpus.make(folder)
    print(f"made {number(total)} records in {time.monotonic() - begun:.1f} s\n", flush=True)
    names = ["corpus.tfrecord.gz", "corpus.tfrecord"]
    levada = command or "levada"
    subprocess.run([levada, "info", names[0]], cwd=folder, check=True)
    print(flush=True)
    lengths = f"tfrecord:{names[1]} | shuffle:4096,seed=7 | parse_sequence_example:{SPEC}"
    subprocess.run(
        [levada, "stats", lengths, "--max-tokens", str(MAX_TOKENS), "--html", "stats.html"],
        cwd=folder,
        check=True,
    )
    for name in names:
        table(folder / name, {way: run(folder / name, way, total) for way in WAYS})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {peak:.0f} MiB; charts in {folder / 'stats.html'}")


if __name__ == "__main__":
    main()
