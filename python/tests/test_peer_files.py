# SPDX-License-Identifier: Apache-2.0
"""Files that other libraries wrote (tests/data) have the values that these libraries read."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import levada as lv
import numpy as np
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


@pytest.mark.parametrize("name", ["genome.fa", "crlf.fa", "reads.fq"])
def test_fai_is_the_index_of_sequences(name: str, tmp_path: Path) -> None:
    rows = expected(name)
    ds = biology(name, index=True)
    assert len(ds) == len(rows)
    assert [texts(ds[i]) for i in range(len(rows))] == rows
    assert [texts(record) for record in biology(name, index=True, records=(2, 5))] == rows[2:5]
    shuffled = [texts(record) for record in biology(name, index=True, shuffle_records=True)]
    assert shuffled != rows and sorted(shuffled) == sorted(rows)


def test_an_index_of_another_file_is_refused(tmp_path: Path) -> None:
    data = (BIOLOGY / "genome.fa").read_bytes()
    index = (BIOLOGY / "genome.fa.fai").read_bytes()
    (tmp_path / "g.fa.fai").write_bytes(index)
    (tmp_path / "g.fa").write_bytes(data + b">more\nACGT\n")
    with pytest.raises(lv.errors.FailedPreconditionError, match="has changed since it was indexed"):
        len(lv.fasta(tmp_path / "g.fa", index=True))
    (tmp_path / "g.fa").write_bytes(data[:-80])
    with pytest.raises(lv.errors.DataLossError, match="make the index again with samtools faidx"):
        len(lv.fasta(tmp_path / "g.fa", index=True))
    (tmp_path / "g.fa").write_bytes(data.replace(b"sample 3", b"sampl 3") + b"\n")
    with pytest.raises(lv.errors.DataLossError, match=r"has changed|must begin with"):
        list(lv.fasta(tmp_path / "g.fa", index=True, shuffle_records=True))
    (tmp_path / "z.fa.gz").write_bytes(gzip.compress(data))
    (tmp_path / "z.fa.gz.fai").write_bytes(index)
    with pytest.raises(lv.errors.UnimplementedError, match="compressed"):
        len(lv.fasta(tmp_path / "z.fa.gz", index=True))


def test_blank_lines_between_records_are_no_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "g.fa").write_bytes(b"\n>a\nAC\nG\n\n\r\n>b\n\n>c x\nT\n\n")
    (tmp_path / "g.fa.fai").write_text("a\t3\t4\t2\t3\nb\t0\t15\t0\t0\nc\t1\t21\t1\t2\n")
    ds = lv.fasta(tmp_path / "g.fa", index=True)
    assert [texts(ds[i]) for i in (2, 0, 1)] == [["c", "x", "T"], ["a", "", "ACG"], ["b", "", ""]]
    lv.index(tmp_path / "g.fa")
    assert [texts(lv.fasta(tmp_path / "g.fa", index=True)[i]) for i in range(3)] == [
        ["a", "", "ACG"],
        ["b", "", ""],
        ["c", "x", "T"],
    ]


def test_an_index_of_levada_comes_first(tmp_path: Path) -> None:
    (tmp_path / "g.fa").write_bytes((BIOLOGY / "genome.fa").read_bytes())
    (tmp_path / "g.fa.fai").write_bytes(b"not an index\n")
    with pytest.raises(lv.errors.DataLossError, match="make the index again"):
        len(lv.fasta(tmp_path / "g.fa", index=True))
    lv.index(tmp_path / "g.fa")
    assert len(lv.fasta(tmp_path / "g.fa", index=True)) == 7


def test_idx_of_dali_is_the_index_of_tfrecords(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    sizes = [5, 0, 300, 7]
    with lv.TFRecordWriter(path) as writer:
        for size in sizes:
            writer.write(b"x" * size)
    lines, at = "", 0
    for size in sizes:
        lines += f"{at} {size + 16}\n"
        at += size + 16
    (tmp_path / "a.tfrecord.idx").write_text(lines)
    ds = lv.tfrecord(path, index=True, shuffle_records=True)
    assert sorted(len(r["record"]) for r in ds) == sorted(sizes)
    assert [len(lv.tfrecord(path, index=True)[i]["record"]) for i in range(4)] == sizes
    (tmp_path / "a.tfrecord.idx").write_text(lines[: lines.rindex("\n", 0, -1) + 1])
    with pytest.raises(lv.errors.FailedPreconditionError, match="has changed"):
        len(lv.tfrecord(path, index=True))


MEGATRON = DATA / "megatron"


@pytest.mark.parametrize("name", ["words", "bytes"])
@pytest.mark.parametrize("documents", [False, True])
def test_sequences_of_megatron(name: str, documents: bool) -> None:
    rows = json.loads((MEGATRON / "expected.json").read_text())[name]
    want = rows["documents" if documents else "sequences"]
    ds = lv.megatron(MEGATRON / f"{name}.bin", documents=documents)
    assert ds.spec["tokens"].dtype == {"words": lv.int32, "bytes": lv.uint16}[name]
    assert len(ds) == len(want)
    assert [record["tokens"].tolist() for record in ds] == want
    assert [ds[i]["tokens"].tolist() for i in range(len(ds))] == want
    parts = [
        record["tokens"].tolist()
        for i in range(3)
        for record in lv.megatron(MEGATRON / f"{name}.bin", documents=documents, part=(i, 3))
    ]
    assert parts == want


def test_lengths_of_megatron_come_from_its_index() -> None:
    rows = json.loads((MEGATRON / "expected.json").read_text())["words"]["sequences"]
    ds = lv.megatron(MEGATRON / "words.bin", shuffle_records=True)
    ds = ds.bucket_by_sequence_length("tokens", boundaries=[4, 8], max_tokens=48)
    ds = ds.with_options(seed=5, threads=1)
    ranks = [ds.shard(rank, 2, sync="buckets") for rank in range(2)]
    assert "its own records, by the lengths of all in the index" in ranks[0].explain()
    lengths = [length for one in ranks for batch in one for length in batch.lengths("tokens")]
    assert sorted(filter(None, lengths)) == sorted(map(len, rows))  # 0: a rank without a record


def plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def peer_rows(path: Path, texts_of: list[str], bytes_of: list[str]) -> list[dict[str, Any]]:
    rows = json.loads(path.read_text())
    for row in rows:
        for name in texts_of:
            row[name] = row[name] if isinstance(row[name], str) else json.dumps(row[name])
        for name in bytes_of:
            value = row[name]
            row[name] = bytes.fromhex(value) if isinstance(value, str) else bytes(value)
    return rows


def read_rows(ds: Any) -> list[dict[str, Any]]:
    return [{key: plain(value) for key, value in record.items()} for record in ds]


MDS = DATA / "mds"
LITDATA = DATA / "litdata"


@pytest.mark.parametrize(
    "files", ["plain", "plain/index.json", "plain/*.mds", "zstd", "zstd/*.zstd"]
)
def test_samples_of_mds_are_what_streaming_reads(files: str) -> None:
    want = peer_rows(MDS / "expected.json", ["text", "meta"], ["raw"])
    ds = lv.mds(MDS / files)
    assert read_rows(ds) == want
    assert ds.spec["tokens"].dtype == lv.int32 and ds.spec["text"].dtype == lv.text
    assert next(iter(ds.batch(7)))["box"].shape == (7, 2, 3)
    assert lv.from_text(str(ds)).spec == ds.spec


@pytest.mark.parametrize("name", ["set.mds", "set.mds/train", "set.bin"])
def test_a_directory_may_have_the_name_of_a_shard(tmp_path: Path, name: str) -> None:
    shutil.copytree(MDS / "plain", tmp_path / name)
    assert len(lv.mds(tmp_path / name).to_list()) == len(lv.mds(MDS / "plain").to_list())


def test_samples_of_mds_have_numbers() -> None:
    want = peer_rows(MDS / "expected.json", ["text", "meta"], ["raw"])
    ds = lv.mds(MDS / "plain", index=True)
    assert len(ds) == len(want)
    assert ds[17]["text"] == want[17]["text"]
    ds = lv.mds(MDS / "plain", index=True, shuffle_records=True)
    assert sorted(row["id"] for row in read_rows(ds)) == [row["id"] for row in want]
    with pytest.raises(lv.errors.UnimplementedError, match="compressed"):
        len(lv.mds(MDS / "zstd", index=True))


def test_pickled_columns_are_never_read() -> None:
    with pytest.raises(lv.errors.InvalidArgumentError, match="never unpickles"):
        lv.mds(MDS / "pickle")
    (row,) = lv.mds(MDS / "pickle", columns={"a": "int", "p": "bytes"})
    assert row["a"] == 1 and row["p"].startswith(b"\x80")


@pytest.mark.parametrize("files", ["plain", "plain/chunk-*.bin"])
def test_samples_of_litdata_are_what_litdata_reads(files: str) -> None:
    want = peer_rows(LITDATA / "expected.json", ["text"], ["raw"])
    assert read_rows(lv.litdata(LITDATA / files)) == want
    ds = lv.litdata(LITDATA / files, index=True)
    assert len(ds) == len(want)
    assert ds[29]["tokens"].tolist() == want[29]["tokens"]


def test_tokens_have_numbers_without_an_index(tmp_path: Path) -> None:
    tokens = np.arange(100, dtype=np.uint16)
    (tmp_path / "a.bin").write_bytes(bytes(1024) + tokens.tobytes())
    ds = lv.tokens(tmp_path / "a.bin", lv.uint16, 9, hop=8, header_bytes=1024)
    want = [tokens[i : i + 9].tolist() for i in range(0, 92, 8)]
    assert len(ds) == len(want) == 12
    assert [row["tokens"].tolist() for row in ds] == want
    assert ds[11]["tokens"].tolist() == want[11]
    shuffled = lv.tokens(
        tmp_path / "a.bin", "uint16", 9, hop=8, header_bytes=1024, shuffle_records=True
    )
    assert sorted(row["tokens"].tolist() for row in shuffled) == want
    parts = [
        row["tokens"].tolist()
        for i in range(5)
        for row in lv.tokens(tmp_path / "a.bin", np.uint16, 10, header_bytes=1024, part=(i, 5))
    ]
    assert parts == [tokens[i : i + 10].tolist() for i in range(0, 100, 10)]
    with pytest.raises(lv.errors.InvalidArgumentError, match="must be positive, got 9 and 0"):
        lv.tokens(tmp_path / "a.bin", lv.uint16, 9, hop=0)
