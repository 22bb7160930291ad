# SPDX-License-Identifier: Apache-2.0
"""Indexes that lie, with valid checksums: no wrong record, length or batch comes of one."""

import random
import struct
from pathlib import Path

import levada as lv
import pytest
import wire
from levada.errors import DataLossError, FailedPreconditionError, InvalidArgumentError

PAGE = 4096
SPEC = {
    "id": lv.FixedLenFeature([], lv.int64),
    "tokens": lv.VarLenFeature(lv.int64),
    "labels": lv.VarLenFeature(lv.int64),
}
DRAWN = random.Random(8)
LENGTHS = [DRAWN.randrange(1, 40) for _ in range(400)]
LABELS = [DRAWN.randrange(0, 9) for _ in range(400)]
FIELDS = ["tokens", "labels"]
REFUSED = (DataLossError, FailedPreconditionError)


def write(path, numbers):
    with lv.TFRecordWriter(str(path)) as writer:
        for i in numbers:
            features = {"id": [i], "tokens": [i] * LENGTHS[i]}
            if LABELS[i]:  # some records lack the field
                features["labels"] = [1] * LABELS[i]
            writer.write(lv.make_example(features))


def records(files, **options):
    ds = lv.tfrecord(files, **{"index": True, **options})
    return ds.parse_example(SPEC).with_options(seed=5, threads=1)


STAGES = str(records("x")).split(" | ", 1)[1]


def ranked(files, rank=0, **options):
    ds = records(files, **options)
    ds = ds.bucket_by_sequence_length("tokens", boundaries=[10, 20, 30], batch_sizes=4)
    return ds.shard(rank, 2, sync="buckets")


def content(batches):
    return [
        (b["id"].tolist(), b["tokens"].tolist(), b["labels"].tolist(), b["is_padding"].tolist())
        for b in batches
    ]


def seal(data):
    """The index with valid checksums: that of page i begins with i, and that of the last with 0."""
    pages = [bytearray(data[at : at + PAGE]) for at in range(0, len(data), PAGE)]
    for i, page in enumerate(pages):
        number = 0 if page is pages[-1] else i
        page[-4:] = struct.pack("<I", wire.crc32c(page[:-4], number))
    return b"".join(pages)


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "a.tfrecord"
    write(made, range(200))
    lv.index(str(made), length=FIELDS, stages=STAGES)
    return made


@pytest.fixture
def index(path):
    return Path(f"{path}.lvindex")


def outcomes(path):
    """What each way of reading makes of the index: its content, or a refusal."""
    ways = {
        "records": lambda: [
            (r["id"], r["tokens"].tolist()) for r in records(path, shuffle_records=True).iterate(0)
        ],
        "own": lambda: [content(ranked(path, rank).iterate(0)) for rank in range(2)],
        "histogram": lambda: lv.length_histogram(records(path), "tokens"),
        "item": lambda: [records(path)[i]["id"] for i in (0, 99, 199)],
    }
    made = {}
    for name, way in ways.items():
        try:
            made[name] = way()
        except (*REFUSED, InvalidArgumentError, IndexError) as error:
            made[name] = type(error)
    return made


def test_the_seal_is_that_of_the_library(index):
    assert seal(index.read_bytes()) == index.read_bytes()


def field(data, at, form, value):
    changed = bytearray(data)
    struct.pack_into(form, changed, at, value)
    return seal(changed)


@pytest.mark.parametrize("count", [0, 1, 199, 201, 340, 341, 2**31, 2**62, 2**63, 2**64 - 1])
def test_another_number_of_records_is_refused_or_seen(path, index, count):
    data = index.read_bytes()
    want = outcomes(str(path))
    index.write_bytes(field(data, len(data) - PAGE + 16, "<Q", count))
    found = outcomes(str(path))
    if count >= 341:
        assert set(found.values()) <= {*REFUSED}, "it does not fit the size of the index"
    for name in ("records", "item"):
        if found[name] not in (*REFUSED, IndexError):
            assert all(record in want[name] for record in found[name])
    with pytest.raises(REFUSED):
        lv.index(str(path), check=True)


@pytest.mark.parametrize("at", [24, 32, 36, 40, 88, 104, 120, 128, 256])
def test_a_changed_last_page_is_refused_or_does_not_matter(path, index, at):
    """Size, mark, checksum, format, options, stages, number of fields and names."""
    data = index.read_bytes()
    want = outcomes(str(path))
    for bit in (0, 3, 7):
        changed = bytearray(data)
        changed[len(data) - PAGE + at] ^= 1 << bit
        index.write_bytes(seal(changed))
        found = outcomes(str(path))
        for name in want:  # own records and lengths: of the data where the index has none
            assert found[name] == want[name] or found[name] in REFUSED, (at, bit, name)


def test_names_of_fields_that_are_exchanged_are_refused(path, index):
    data = bytearray(index.read_bytes())
    at = len(data) - PAGE + 128
    data[at : at + 128], data[at + 128 : at + 256] = data[at + 128 : at + 256], data[at : at + 128]
    index.write_bytes(seal(data))
    with pytest.raises(DataLossError, match="in the index"):
        content(ranked(str(path)).iterate(0))


@pytest.mark.parametrize("page", [1, 2])
def test_changed_lengths_are_refused_by_the_ranks_that_read_them(path, index, page):
    data = index.read_bytes()
    plain = [sorted(i for b in content(ranked(str(path), r).iterate(0)) for i in b[0])
             for r in range(2)]  # fmt: skip
    assert sorted(plain[0] + plain[1])[:3] != []
    for record in range(0, 200, 17):
        index.write_bytes(field(data, page * PAGE + 4 * record, "<I", 33))
        refused, seen = 0, []
        for rank in range(2):
            try:
                batches = content(ranked(str(path), rank).iterate(0))
            except DataLossError as error:
                refused += 1
                assert "has length" in str(error) and "33 in the index" in str(error)
            else:
                seen += [i for b in batches for i, pad in zip(b[0], b[3], strict=True) if not pad]
        assert refused or (LENGTHS if page == 1 else LABELS)[record] == 33
        assert len(seen) == len(set(seen))


def test_changed_places_of_records_are_refused(path, index):
    data = index.read_bytes()
    for record in range(0, 200, 23):
        for offset in (0, 8):
            for more in (1, -1, 12, 1 << 20):
                at = record * 12 + offset
                (was,) = struct.unpack_from("<I", data, at)
                index.write_bytes(field(data, at, "<I", max(0, was + more)))
                if max(0, was + more) == was:
                    continue
                with pytest.raises(REFUSED):
                    [dict(r) for r in records(str(path), shuffle_records=True).iterate(0)]


def test_records_that_are_exchanged_are_refused_or_the_same_records(path, index):
    """Two entries in place of each other: all frames are valid, and each record is there once."""
    data = bytearray(index.read_bytes())
    data[0:12], data[120:132] = data[120:132], data[0:12]
    index.write_bytes(seal(data))
    try:
        found = [r["id"] for r in records(str(path), shuffle_records=True).iterate(0)]
    except REFUSED:
        return
    assert sorted(found) == list(range(200))


def test_the_index_of_another_or_an_older_file_is_refused(path, index, tmp_path):
    other = tmp_path / "b.tfrecord"
    write(other, range(200, 400))
    lv.index(str(other), length=FIELDS, stages=STAGES)
    old = index.read_bytes()
    index.write_bytes(Path(f"{other}.lvindex").read_bytes())
    assert set(outcomes(str(path)).values()) <= {*REFUSED}
    index.write_bytes(old)
    write(path, range(201))
    assert set(outcomes(str(path)).values()) <= {*REFUSED}
    with pytest.raises(REFUSED):
        lv.index(str(path), check=True)


def test_an_index_of_other_fields_or_stages_is_not_used(path, index):
    spec = {name: SPEC[name] for name in ("id", "tokens")}
    want = content(ranked(str(path)).iterate(0))
    for length, stages in (
        ("labels", STAGES),
        ("tokens", str(lv.tfrecord("x").parse_example(spec)).split(" | ", 1)[1]),
    ):
        lv.index(str(path), length=length, stages=stages)
        with ranked(str(path)).iterate(0) as it:
            assert "all records: the index does not have the lengths" in it.explain()
            assert content(it) == want


def test_an_index_that_is_made_again_meanwhile_is_refused(tmp_path):
    """With more files than are open at a time, other lengths are found where an index is opened."""
    for i in range(60):
        write(tmp_path / f"{i:02}.tfrecord", range(i * 5, i * 5 + 20))
    files = str(tmp_path / "*.tfrecord")
    lv.index(files, length=FIELDS, stages=STAGES)
    ds = ranked(files, shuffle_records=True)
    with ds.iterate(0) as it:
        next(it)
        lv.index(files, length=FIELDS[::-1], stages=STAGES)
        with pytest.raises(FailedPreconditionError, match="written again"):
            list(it)
    want = content(ds.iterate(0))
    lv.index(files, length=FIELDS[::-1], stages=STAGES)  # the same once more
    assert content(ds.iterate(0)) == want
