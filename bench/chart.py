# SPDX-License-Identifier: Apache-2.0
"""Draws the main job of bench/RESULTS.md as bench/main_job.svg: ours against the others.

python bench/chart.py            writes the picture
python bench/chart.py --check    exit status 1 where it is stale
"""

import re
import sys
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE, PICTURE = HERE / "RESULTS.md", HERE / "main_job.svg"
ROW = "A to buckets to padded NumPy, 1 core"
NAMES = {  # of the columns of the page, as the picture shows them
    "ours": "levada",
    "tf recipe": "tf.data, bucket_by_sequence_length",
    "tf window sort": "tf.data, windows sorted by length",
    "protobuf + own buckets": "Python, protobuf",
    "torch DataLoader": "PyTorch DataLoader",
    "grain": "Grain",
    "mlx-data": "mlx-data",
}
LEFT, WIDTH, BAR, GAP, TOP = 250, 380, 20, 10, 46
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2933; }
.title { font-weight: 600; font-size: 13px; } .note { font-size: 11px; fill: #66727f; }
.ours { fill: #0f766e; } .other { fill: #a9b4c0; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .note { fill: #9aa5b1; } .ours { fill: #2dd4bf; }
  .other { fill: #616e7c; }
}"""


def median(cell: str) -> float:
    """Of a cell such as "1,747 (1,681..1,788)"."""
    return float(cell.split("(")[0].replace(",", ""))


def values(page: str) -> dict[str, float]:
    """Name to thousands of examples per second, the fastest first; limits are not peers."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    head = next(row for row in rows if row[:2] == ["#", "workload"])
    lines = [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]
    start = next(i for i, line in enumerate(lines) if line["workload"] == ROW)
    found = {"ours": median(lines[start]["ours"])}
    for line in lines[start:]:
        if line is not lines[start] and line["workload"]:
            break
        if line["against"] and not line["against"].endswith("(limit)") and line["its value"] != "-":
            found[line["against"]] = median(line["its value"])
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def machine(page: str) -> str:
    found = re.search(r"^Machine: (.*?), (\d+) cores", page, re.MULTILINE)
    return f"{found[1]}, 1 of {found[2]} cores"


def bar(i: int, name: str, value: float, most: float) -> str:
    y, width = TOP + i * (BAR + GAP), max(1.0, WIDTH * value / most)
    kind = "ours" if name == "ours" else "other"
    label = escape(NAMES.get(name, name))
    times = "" if name == "ours" else f"  (1/{most / value:.0f})"
    return (
        f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{label}</text>'
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR}" rx="2"/>'
        f'<text x="{LEFT + width + 6:.0f}" y="{y + 15}">{value:,.0f}{times}</text>'
    )


def picture(page: str) -> str:
    found = values(page)
    most, height = found["ours"], TOP + len(found) * (BAR + GAP) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {height}" role="img" '
        'aria-label="Speed of the main job, levada against other libraries">',
        f"<style>{STYLE}</style>",
        '<text class="title" x="8" y="20">TFRecord files to padded batches by length: '
        "thousand examples per second, 1 core</text>",
        *(bar(i, name, value, most) for i, (name, value) in enumerate(found.items())),
        f'<text class="note" x="8" y="{height - 10}">{escape(machine(page))}. '
        "Made by make bench; bench/RESULTS.md has all rows.</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    made = picture(PAGE.read_text())
    if "--check" in sys.argv:
        return int(not PICTURE.exists() or PICTURE.read_text() != made)
    PICTURE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
