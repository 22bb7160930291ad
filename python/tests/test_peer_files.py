# SPDX-License-Identifier: Apache-2.0
"""Files that other libraries wrote (tests/data) have the values that these libraries read."""

import gzip
import json
from pathlib import Path
from typing import Any

import levada as lv
import pytest

DATA = Path(__file__).parents[2] / "tests" / "data"
BIOLOGY = DATA / "biology"
BIOLOGY_FILES = ["genome.fa", "crlf.fa", "reads.fq", "wrapped.fq", "reads.fq.gz"]


def biology(name: str, **options: Any) -> lv.Dataset[dict[str, Any]]:
    return (lv.fasta if ".fa" in name else lv.fastq)(BIOLOGY / name, **options)


def texts(record: dict[str, Any]) -> list[str]:
    return [value.decode() for value in record.values()]


def expected(name: str) -> list[list[str]]:
    """FASTQ has no description here."""
    rows = json.loads((BIOLOGY / "expected.json").read_text())[name]
    return [[row[0], *row[2:]] if len(row) == 4 else row for row in rows]


@pytest.mark.parametrize("name", BIOLOGY_FILES)
def test_sequences_are_what_pysam_reads(name: str) -> None:
    assert [texts(record) for record in biology(name)] == expected(name)


@pytest.mark.parametrize("name", BIOLOGY_FILES)
def test_open_knows_sequences_by_their_names(name: str) -> None:
    assert [texts(record) for record in lv.open(BIOLOGY / name)] == expected(name)


def test_sequences_are_read_in_any_number_of_members(tmp_path: Path) -> None:
    data = (BIOLOGY / "wrapped.fq").read_bytes()
    parts = [data[at : at + 700] for at in range(0, len(data), 700)]
    (tmp_path / "f.fq.gz").write_bytes(b"".join(gzip.compress(part) for part in parts))
    assert [texts(record) for record in lv.fastq(tmp_path / "f.fq.gz")] == expected("wrapped.fq")


def test_a_cut_file_loses_its_last_record_alone(tmp_path: Path) -> None:
    data = (BIOLOGY / "reads.fq").read_bytes()
    (tmp_path / "f.fq").write_bytes(data[:-10])
    with pytest.raises(lv.errors.DataLossError, match="record 39 at byte"):
        list(lv.fastq(tmp_path / "f.fq"))
    rows = list(lv.fastq(tmp_path / "f.fq", errors="skip"))
    assert [texts(record) for record in rows] == expected("reads.fq")[:-1]
