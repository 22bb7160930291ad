# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/biology with pysam (README.md): files, their indexes, and what pysam reads."""

import gzip
import json
import random
from pathlib import Path

import pysam

HERE = Path(__file__).parent / "biology"
draw = random.Random(31)


def letters(count: int, alphabet: str) -> str:
    return "".join(draw.choice(alphabet) for _ in range(count))


def fold(text: str, width: int, end: str) -> str:
    return "".join(text[i : i + width] + end for i in range(0, len(text), width))


def fasta(name: str, end: str) -> None:
    text = "".join(
        f">chr{i} sample {i}{end}" + fold(letters(length, "ACGTNacgt"), 20, end)
        for i, length in enumerate([50, 20, 1, 133, 40, 7, 64])
    )
    (HERE / name).write_bytes(text.encode())
    pysam.faidx(str(HERE / name))


def fastq(name: str, width: int, end: str) -> None:
    records = []
    for i in range(40):
        count = draw.randint(1, 90)
        seq, qual = letters(count, "ACGTN"), letters(count, "".join(map(chr, range(33, 127))))
        records.append(f"@read{i} lane:{i % 4}{end}{fold(seq, width, end)}+{end}")
        records.append(fold(qual, width, end))
    text = "".join(records).encode()
    if name.endswith(".gz"):
        (HERE / name).write_bytes(gzip.compress(text, mtime=0))
    else:
        (HERE / name).write_bytes(text)


def read(name: str) -> list[list[str]]:
    with pysam.FastxFile(str(HERE / name)) as file:
        return [
            [r.name, r.comment or "", r.sequence] + ([r.quality] if r.quality is not None else [])
            for r in file
        ]


HERE.mkdir(exist_ok=True)
fasta("genome.fa", "\n")
fasta("crlf.fa", "\r\n")
fastq("reads.fq", 100, "\n")
fastq("wrapped.fq", 30, "\r\n")
fastq("reads.fq.gz", 100, "\n")
pysam.fqidx(str(HERE / "reads.fq"))
names = ["genome.fa", "crlf.fa", "reads.fq", "wrapped.fq", "reads.fq.gz"]
text = json.dumps({name: read(name) for name in names}, indent=0)
(HERE / "expected.json").write_text(text + "\n")
