# SPDX-License-Identifier: Apache-2.0
"""Draws first.svg: the same records as plain batches and as batches under a budget of tokens,
and a program that is killed and resumes at the same batch. All numbers are those of a run.

    python docs/images/first.py            writes the picture
    python docs/images/first.py --check    exit status 1 if it is stale
"""

import os
import sys
import tempfile
from pathlib import Path

import levada as lv

PICTURE = Path(__file__).with_name("first.svg")
SAVED, KILLED = 6, 8  # batches read before the save, and before the crash
SCALE, ROW, TOP = 0.3, 0.6, 48  # pixels of a token, and of a record
STYLE = """\
text { font: 15px system-ui, sans-serif; fill: #1f2933; } .head { font-weight: 600; }
.note { font-size: 13px; fill: #66727f; } .inside { font-size: 11px; fill: #ffffff; }
.value { stroke: #0f766e; fill: none; } .pad { fill: #cfd8dc; } .batch { fill: #0f766e; }
.line { stroke: #66727f; fill: none; } .crash { fill: #d97706; } .lost { opacity: 0.35; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .note { fill: #9aa5b1; } .inside { fill: #0b1f1d; }
  .value { stroke: #2dd4bf; } .pad { fill: #3e4c59; } .batch { fill: #2dd4bf; }
  .line { stroke: #9aa5b1; } .crash { fill: #fbbf24; }
}"""


def runs() -> tuple[list[list[int]], list[list[int]], int, list[tuple[int, ...]]]:
    """Lengths in plain and in budgeted batches; bytes of the checkpoint; shapes after it."""
    ds = lv.open("train-*.tfrecord.gz").shuffle(10_000).with_options(seed=7)
    plain = [batch.lengths("tokens").tolist() for batch in ds.padded_batch(32)]
    ds = ds.bucket_by_sequence_length("tokens", max_tokens=4096, lookahead=4000)
    budgeted, state = [], b""
    with iter(ds) as it:
        for batch in it:
            budgeted.append(batch.lengths("tokens").tolist())
            if len(budgeted) == SAVED:
                state = it.save()
    with iter(ds) as it:
        it.restore(state)
        resumed = [batch["tokens"].shape for batch in it]
    return plain, budgeted, len(state), resumed


def padding(batches: list[list[int]]) -> float:
    cells = sum(len(batch) * max(batch) for batch in batches)
    return 1 - sum(map(sum, batches)) / cells


def panel(x: float, batches: list[list[int]]) -> list[str]:
    """Every record is a line, every batch a gray rectangle."""
    y, boxes, lines = float(TOP), [], []
    for batch in batches:
        high, wide = len(batch) * ROW, max(batch) * SCALE
        boxes.append(f"M{x:g} {y:.1f}h{wide:.1f}v{high:.1f}h{-wide:.1f}z")
        for i, n in enumerate(batch):
            lines.append(f"M{x:g} {y + (i + 0.5) * ROW:.1f}h{n * SCALE:.1f}")
        y += high + 1.5
    return [
        f'<path class="pad" d="{"".join(boxes)}"/>',
        f'<path class="value" stroke-width="{ROW}" d="{"".join(lines)}"/>',
    ]


def step(x: float, y: float, number: int, shape: tuple[int, ...], kind: str = "") -> str:
    return (
        f'<rect class="batch {kind}" x="{x:g}" y="{y:g}" width="46" height="26" rx="3"/>'
        f'<text class="inside" x="{x + 23:g}" y="{y + 11:g}" text-anchor="middle">{number}</text>'
        f'<text class="inside" x="{x + 23:g}" y="{y + 22:g}" text-anchor="middle">'
        f"{shape[0]}&#215;{shape[1]}</text>"
    )


def timeline(y: float, shapes: list[tuple[int, ...]], size: int, resumed: list) -> list[str]:
    left, gap = 120, 52
    saved = left + SAVED * gap - 3
    crash = left + KILLED * gap
    lines = [
        f'<text x="8" y="{y + 17:g}">first process</text>',
        *(step(left + i * gap, y, i, shapes[i], "lost" if i >= SAVED else "")
          for i in range(KILLED)),
        f'<path class="crash" d="M{crash + 10:g} {y - 4:g}l-12 18h8l-4 16l14 -20h-8l6 -14z"/>',
        f'<text class="note" x="{crash + 24:g}" y="{y + 17:g}">crash</text>',
        f'<path class="line" d="M{saved:g} {y - 6:g}v80" stroke-dasharray="3 3"/>',
        f'<text class="note" x="{saved - 6:g}" y="{y + 50:g}" text-anchor="end">'
        f"it.save(): {size / 1000:.1f} KB</text>",
        f'<text x="8" y="{y + 65:g}">second process</text>',
    ]  # fmt: skip
    for i, shape in enumerate(resumed[: len(shapes) - SAVED], SAVED):
        lines.append(step(left + i * gap, y + 48, i, shape))
    return lines


def picture() -> str:
    plain, budgeted, size, resumed = runs()
    shapes = [(len(batch), max(batch)) for batch in budgeted]
    assert resumed == shapes[SAVED:], "the second process reads the same batches"
    before, after = (round(100 * padding(batches)) for batches in (plain, budgeted))
    right, records = 400, sum(map(len, plain))
    bottom = TOP + records * ROW + len(budgeted) * 1.5
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {bottom + 122:.0f}" role="img" '
        f'aria-label="Padding falls from {before} % to {after} %, and a '
        'killed program resumes at the same batch">',
        f"<style>{STYLE}</style>",
        f'<text class="head" x="8" y="18">batches of 32: {before} % padding</text>',
        f'<text class="note" x="8" y="36">{records} records; a line is a record, gray is padding'
        "</text>",
        f'<text class="head" x="{right}" y="18">levada: {after} % padding</text>',
        f'<text class="note" x="{right}" y="36">the same records, at most 4,096 tokens a batch'
        "</text>",
        *panel(8, plain),
        *panel(right, budgeted),
        *timeline(bottom + 36, shapes, size, resumed),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        here = os.getcwd()
        os.chdir(folder)
        try:
            lv.samples.write(".")
            made = picture()
        finally:
            os.chdir(here)
    if "--check" in sys.argv:
        return int(not PICTURE.exists() or PICTURE.read_text() != made)
    PICTURE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
