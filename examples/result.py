# SPDX-License-Identifier: Apache-2.0
"""The result of `make run`: what was read, how fast, and how well batches by length fit.

python result.py FOLDER        reads the corpus.tfrecord that main_job.py made there
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import levada as lv

MAX_TOKENS = 131_072
LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096]  # rows of the picture
BAR = 32
NEXT = """\
where to go next
  your own files    levada info FILE        levada head FILE
  this corpus       levada head build/run/corpus.tfrecord
  all stages        levada stages           docs/stages.md
  in Python         docs/quick-start.md     docs/train-with-pytorch.md
  less padding      levada stats            docs/packing.md
  all of it         make docs, then build/docs/index.html"""


@dataclass
class Row:
    """Batches whose longest record has a length of this range."""

    batches: int = 0
    records: int = 0
    tokens: int = 0
    cells: int = 0

    @property
    def padding(self) -> float:
        return 100 * (1 - self.tokens / self.cells) if self.cells else 0.0


def pipeline(path: Path) -> lv.Dataset:
    tokens = lv.FixedLenSequenceFeature([], lv.int32)
    return (
        lv.tfrecord(str(path))
        .shuffle(4096, seed=7)
        .parse_sequence_example(sequences={"tokens": tokens})
        .bucket_by_sequence_length("tokens", max_tokens=MAX_TOKENS, lookahead=16_000)
        .prefetch(4)
    )


def read(path: Path) -> tuple[list[Row], float]:
    """A row for each range of lengths, and the seconds."""
    rows = [Row() for _ in range(len(LENGTHS) + 1)]
    begun = time.monotonic()
    for batch in pipeline(path):
        lengths = batch.lengths("tokens")
        longest = int(lengths.max())
        row = rows[sum(longest >= bound for bound in LENGTHS)]
        row.batches += 1
        row.records += batch.num_records
        row.tokens += int(lengths.sum())
        row.cells += batch["tokens"].size
    return rows, time.monotonic() - begun


def number(n: int) -> str:
    return f"{n:,}"


def bar(share: float) -> str:
    """A bar of BAR columns at most, in eighths of a column."""
    eighths = round(8 * BAR * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def picture(rows: list[Row]) -> None:
    most = max(row.records for row in rows)
    print(f"\n  {'longest record':<16}{'records':<{BAR + 10}}{'batches':>8}{'padding':>10}")
    for i, row in enumerate(rows):
        name = f"below {LENGTHS[i]:>5}" if i < len(LENGTHS) else f"{LENGTHS[-1]} and more"
        drawn = f"{bar(row.records / most)} {number(row.records)}"
        padding = f"{row.padding:.1f} %"
        print(f"  {name:<16}{drawn:<{BAR + 10}}{row.batches:>8}{padding:>10}")


def summary(path: Path, rows: list[Row], seconds: float) -> None:
    total = Row(*(sum(getattr(row, name) for row in rows) for name in vars(rows[0])))
    size = path.stat().st_size
    counts = f"{number(total.records)} records, {number(total.tokens)} tokens"
    cores = len(os.sched_getaffinity(0))
    print(f"\nlevada read {counts}, in {seconds:.2f} s on {cores} core{'s' * (cores != 1)}")
    print(
        f"  {total.tokens / seconds / 1e6:.0f} M tokens/s · {size / seconds / 2**20:.0f} MiB/s · "
        f"{number(total.batches)} batches · {total.padding:.1f} % padding"
    )


def main() -> None:
    path = Path(sys.argv[1]) / "corpus.tfrecord"
    rows, seconds = read(path)
    summary(path, rows, seconds)
    picture(rows)
    print(f"\n{NEXT}")


if __name__ == "__main__":
    main()
