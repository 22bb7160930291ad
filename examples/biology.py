# SPDX-License-Identifier: Apache-2.0
"""DNA and proteins: FASTA files to k-mers, random crops, and batches for attention over pairs.

    python examples/biology.py [FOLDER]

FASTA has records of several lines, which no format of levada reads. So the program converts it
once, and then trains from TFRecord. DNA becomes overlapping 3-mers of a random crop. Proteins go
into batches by the square of their length, which is what a map of contacts costs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np

CROP, K = 128, 3
CODE = np.full(256, -1)
CODE[np.frombuffer(b"ACGT", np.uint8)] = np.arange(4)


def write_fasta(path: Path, letters: str, longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with open(path, "w") as file:
        for i in range(300):
            text = "".join(rng.choice(list(letters), rng.integers(30, longest)))
            lines = [text[at : at + 60] for at in range(0, len(text), 60)]
            file.write(f">sequence{i}\n" + "\n".join(lines) + "\n")


def fasta(path: Path) -> Iterator[dict[str, bytes]]:
    for entry in path.read_text().split(">")[1:]:
        name, _, lines = entry.partition("\n")
        yield {"name": name.encode(), "letters": lines.replace("\n", "").encode()}


def convert(path: Path) -> str:
    """A TFRecord file of the same records."""
    made = str(path.with_suffix(".tfrecord"))
    with lv.TFRecordWriter(made) as writer:
        for record in fasta(path):
            writer.write(lv.make_example(record))
    return made


def read(path: str) -> lv.Dataset:
    text = lv.FixedLenFeature([], lv.string)
    return lv.tfrecord(path).shuffle(1000).parse_example({"name": text, "letters": text})


def kmers(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Numbers from 0 to 63 of a random crop. The same draw after a resume."""
    bases = CODE[np.frombuffer(record["letters"], np.uint8)]
    start = rng.integers(0, max(1, len(bases) - CROP))
    bases = bases[start : start + CROP]
    return {"kmers": sum(bases[i : len(bases) - K + 1 + i] * 4 ** (K - 1 - i) for i in range(K))}


def main(folder: Path) -> None:
    write_fasta(folder / "dna.fasta", "ACGT", 2000, seed=7)
    write_fasta(folder / "proteins.fasta", "ACDEFGHIKLMNPQRSTVWY", 400, seed=8)

    dna = read(convert(folder / "dna.fasta")).map(kmers, rng=True)
    batch = dna.padded_batch(32).with_options(seed=1).first()
    print("DNA:", batch["kmers"].shape, "3-mers up to", batch["kmers"].max())

    proteins = (
        read(convert(folder / "proteins.fasta"))
        .decode_raw("letters", lv.uint8)
        .bucket_by_sequence_length("letters", max_tokens=256_000, cost="quadratic", lookahead=300)
        .with_options(seed=1)
    )
    pairs = [rows * steps * steps for rows, steps in (b["letters"].shape for b in proteins)]
    print(f"proteins: {len(pairs)} batches, at most {max(pairs):,} pairs")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else made))
