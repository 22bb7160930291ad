# SPDX-License-Identifier: Apache-2.0
"""lv.write of batches of any kind: what a file holds is what the records had, without padding."""

import csv
import json
import os
import subprocess
import sys
import tarfile

import levada as lv
import numpy as np
import pytest
import wire_reference
from levada.errors import InvalidArgumentError

LENGTHS = (3, 1, 4, 2, 5, 1)
SPEC = {
    "n": lv.int64,
    "word": lv.string,
    "pair": lv.FixedLenFeature([2], lv.int64),
    "ids": lv.VarLenFeature(lv.int64),
    "words": lv.VarLenFeature(lv.string),
    "steps": lv.FixedLenSequenceFeature([2], lv.float32),
    "note": lv.text,
    "flag": lv.bool,
    "big": lv.uint64,
    "wide": lv.float64,
    "half": lv.bfloat16,
    "brains": lv.VarLenFeature(lv.bfloat16),
    "halves": lv.VarLenFeature(lv.float16),
    "grid": lv.FixedLenFeature([2, 2], lv.int64),
    "wave": lv.complex64,
}
WORDS, FLOATS = ("word", "words", "note"), ("steps", "half", "halves")


def record(i, length):
    return {
        "n": i,
        "word": f"w{i}",
        "pair": [i, i + 1],
        "ids": list(range(1, length + 1)),
        "words": [f"{i}.{k}" for k in range(length)],
        "steps": np.arange(1, 2 * length + 1, dtype=np.float32).reshape(length, 2),
        "note": f"caf\u00e9 {i}",
        "flag": i % 2 == 0,
        "big": 2**64 - 1 - i,
        "wide": 1 / (i + 1),
        "half": np.uint16(0x3F80 + i),  # the bits
        "brains": np.full(length, 0x3F80 + i, np.uint16),
        "halves": np.arange(length, dtype=np.float16) / 4,
        "grid": [[i, 1], [2, 3]],
        "wave": i + 1j,
    }


def flat():
    return lv.from_records([record(i, n) for i, n in enumerate(LENGTHS)], spec=SPEC)


def nested():
    def lists(n):
        return lv.Ragged(np.arange(1, n + 2), [np.array([0, 1, n + 1], np.int32)])

    return lv.from_records([{"n": i, "tags": lists(n)} for i, n in enumerate(LENGTHS)])


BATCHES = {
    "records": lambda ds: ds,
    "ragged": lambda ds: ds.batch(4),
    "padded": lambda ds: ds.padded_batch(4, pad_to_multiple=3),
    "left": lambda ds: ds.padded_batch(4, padding_side="left"),
    "wide": lambda ds: ds.padded_batch(4, pad_to_multiple=8),
    "wide left": lambda ds: ds.padded_batch(4, pad_to_multiple=8, padding_side="left"),
    "bucketed": lambda ds: ds.bucket_by_sequence_length("n", boundaries=[3], batch_sizes=[2, 2]),
    "window": lambda ds: ds.window(3, shift=2, padded=True),
    "packed": lambda ds: ds.pack(6, ids=True),
    "packed and padded": lambda ds: ds.pack(6, ids=True).padded_batch(2, pad_to_multiple=8),
    "segments": lambda ds: ds.unroll(2, 2),
    "mapped": lambda ds: ds.padded_batch(4).map(dict, batched=True),
    "mapped left": lambda ds: ds.padded_batch(4, padding_side="left").map(dict, batched=True),
}
FORMATS = ("tfrecord", "jsonl", "csv", "tar", "txt", "parquet", "arrow")


def plain(value):
    """Nested lists of numbers and strings."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


def values(ds, name):
    """The values of every record, without those that are padding by the mask of the batch."""
    found = []
    with ds.blocks() as blocks:
        for block in blocks:
            column = block[name]
            if isinstance(column, np.ndarray) and column.ndim > 1:
                pairs = zip(column, block.mask(name), strict=True)
                column = [row[keep] for row, keep in pairs]
            found += [plain(row) for row in column]
    return found


def read(path, name, kind):
    """The values of a field in a file: lists or, where the format has none, texts."""
    if path.suffix == ".tfrecord":
        ds, feature = lv.tfrecord(str(path)), {name: lv.VarLenFeature(kind)}
        steps = wire_reference.read(ds.first()["record"], True)[1]
        parsed = ds.parse_sequence_example({}, feature) if steps else ds.parse_example(feature)
        return values(parsed, name)
    if path.suffix in (".parquet", ".arrow"):
        return values(getattr(lv, path.suffix[1:])(path), name)
    if path.suffix == ".tar":
        with tarfile.open(path) as archive:
            return [archive.extractfile(member).read().decode() for member in archive]
    lines = path.read_text().splitlines()
    if path.suffix == ".csv":
        return [row[name] for row in csv.DictReader(lines)]
    return [json.loads(line)[name] for line in lines] if path.suffix == ".jsonl" else lines


def one_list(value, steps):
    """What a Feature or the steps of a feature list hold of a value or an array."""
    if steps:
        return [one_list(step, False) for step in value]
    return np.ravel(value).tolist() if not isinstance(value, str) else [value]


def expected(found, suffix, got):
    if suffix == "tfrecord":
        steps = any(isinstance(item, list) for value in got for item in value)
        return [one_list(value, steps) for value in found]
    if suffix in ("jsonl", "parquet", "arrow"):
        return found
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in found]


def dtype(ds):
    """Name of the dtype of the only field."""
    with ds.blocks() as blocks:
        return next(blocks)._block.fields()[0][1]


def check(ds, name, path):
    """Whether the field was written; if so, the file must hold its values."""
    found = values(ds, name)
    try:
        lv.write(ds.select(name), path)
    except InvalidArgumentError as error:
        assert path.suffix == ".txt" or repr(name) in str(error)
        assert not path.exists()
        return False
    kind = lv.string if name in WORDS else lv.float32 if name in FLOATS else lv.int64
    if path.suffix in (".parquet", ".arrow"):
        assert dtype(getattr(lv, path.suffix[1:])(path)) == dtype(ds.select(name))
    got = read(path, name, kind)
    assert got == expected(found, path.suffix[1:], got)
    return True


@pytest.mark.parametrize("how", BATCHES)
def test_a_file_holds_the_values_of_the_records_and_no_padding(tmp_path, how):
    flats, nests = BATCHES[how](flat()), BATCHES[how](nested())
    pairs = [(flats, name) for name in SPEC] + [(nests, "tags")]
    written = {
        (name, suffix)
        for ds, name in pairs
        for suffix in FORMATS
        if check(ds, name, tmp_path / f"{name}.{suffix}")
    }
    assert {(name, "tfrecord") for name in ("ids", "words", "steps")} <= written
    assert {(name, "jsonl") for name in ("ids", "pair", "steps", "grid")} <= written
    assert {name for name in SPEC if (name, "parquet") not in written} == {"wave"}
    for suffix in ("tfrecord", "jsonl", "parquet", "arrow"):
        assert (("tags", suffix) in written) == (how in UNPADDED)


UNPADDED = ("records", "ragged", "packed", "segments")


@pytest.mark.parametrize("name", ["a.tfrecord", "a.jsonl", "a.parquet", "a.arrow"])
def test_padded_lists_of_lists_are_refused_by_name(tmp_path, name):
    padded = nested().padded_batch(4)
    for ds in (padded, padded.map(dict, batched=True)):
        with pytest.raises(InvalidArgumentError, match=r"'tags' has padded lists .* batch\(\)"):
            lv.write(ds, tmp_path / name)


def sequences(ds):
    """The messages that lv.make_sequence_example makes of the records."""
    context, lists = ("n", "word", "pair"), ("ids", "words", "steps")
    for row in ds:
        yield lv.make_sequence_example(
            {name: row[name] for name in context}, {name: row[name] for name in lists}
        )


@pytest.mark.parametrize("how", ["records", "ragged", "padded", "wide left"])
def test_sequence_examples_are_those_of_the_records(tmp_path, how):
    path = tmp_path / "a.tfrecord"
    names = ("n", "word", "pair", "ids", "words", "steps")
    lv.write(BATCHES[how](flat()).select(*names), path)  # steps of two values
    assert [r["record"] for r in lv.tfrecord(path)] == [*sequences(flat())]
    few = BATCHES[how](flat()).select("n", "ids")
    lv.write(few, path, format="sequence_example")
    context, lists = {"n": lv.FixedLenFeature([], lv.int64)}, {"ids": lv.VarLenFeature(lv.int64)}
    back = lv.tfrecord(path).parse_sequence_example(context, lists)
    want = [(i, [[k] for k in range(1, length + 1)]) for i, length in enumerate(LENGTHS)]
    assert [(r["n"], r["ids"].to_list()) for r in back] == want
    messages = [wire_reference.read(r["record"], True) for r in lv.tfrecord(path)]
    assert [set(features) | set(steps) for features, steps in messages] == [{b"n", b"ids"}] * 6


OBJECTS = [
    {
        "id": i,
        "messages": [{"role": "u", "text": "x" * k, "ids": [k] * k} for k in range(i)],
        "tree": [[{"q": i}], []],
        "meta": {"n": i, "tags": [{"c": k} for k in range(2)]},
    }
    for i in range(5)
]


def objects(tmp_path):
    if lv.show_config("dicts")["simdjson"] is None:
        pytest.skip("built without simdjson")
    path = tmp_path / "objects.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in OBJECTS))
    return lv.open(path)


@pytest.mark.parametrize("how", [lambda ds: ds, lambda ds: ds.batch(2)])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_lists_of_objects_stay_lists_of_objects(tmp_path, how, suffix):
    ds, path = objects(tmp_path), tmp_path / f"a.{suffix}"
    assert lv.write(how(ds), path) == len(OBJECTS)
    back = lv.open(path) if suffix == "jsonl" else getattr(lv, suffix)(path)
    assert back.to_list() == ds.to_list()
    if suffix == "parquet":
        kind = pytest.importorskip("pyarrow.parquet").read_schema(path).field("messages").type
        assert [field.name for field in kind.value_type] == ["role", "text", "ids"]


def test_options_that_a_table_does_not_have_are_refused(tmp_path):
    ds = lv.range(5)
    for options in ({"records_per_file": 2}, {"bytes_per_file": 9}, {"compression": "nix"}):
        with pytest.raises(InvalidArgumentError):
            lv.write(ds, tmp_path / "a.parquet", **options)
    with pytest.raises(InvalidArgumentError, match="lz4"):
        lv.write(ds, tmp_path / "a.arrow", compression="gzip")
    with pytest.raises(KeyError):
        lv.write(ds.map(lambda row: {"x": row["y"]}), tmp_path / "a.parquet")
    assert not [*tmp_path.iterdir()]
    seen = []
    lv.write(ds, tmp_path / "a.arrow", compression="zstd", progress=seen.append)
    assert seen == [5] and len(lv.arrow(tmp_path / "a.arrow")) == 5


def test_each_split_has_its_files(tmp_path):
    train, test = lv.range(1000).split(0.9, 0.1)
    path = tmp_path / "a-{split}.jsonl"
    counts = lv.write({"train": train, "test": test}, path, records_per_file=500)
    assert counts == {"train": len(train.to_list()), "test": len(test.to_list())}
    names = ["a-test-00000-of-00001", "a-train-00000-of-00002", "a-train-00001-of-00002"]
    assert sorted(p.stem for p in tmp_path.iterdir()) == names
    for name, ds in (("train", train), ("test", test)):
        assert lv.open(sorted(tmp_path.glob(f"a-{name}-*"))).to_list() == ds.to_list()
    lv.write({"a": train, "b": test}, tmp_path / "{split}.parquet")
    assert lv.parquet(tmp_path / "b.parquet").to_list() == test.to_list()


def test_parts_of_a_split_are_written_in_one_pass_even_if_one_was_read_before(tmp_path):
    calls = []
    ds = lv.range(50).shuffle(9, seed=1).map(lambda row: calls.append(1) or row)
    train, test = ds.split(0.7, 0.3)
    want = {"train": train.to_list(), "test": test.to_list()}
    assert len(list(train)) == len(list(train))
    calls.clear()
    lv.write({"train": train, "test": test}, tmp_path / "{split}.jsonl")
    assert len(calls) == 50
    for name, rows in want.items():
        written = lv.open(tmp_path / f"{name}.jsonl").to_list()
        assert sorted(map(str, written)) == sorted(map(str, rows))
    assert iter(train).stats()["epoch"] == iter(test).stats()["epoch"] == 3


FULL = """
import resource, signal, sys
import levada as lv

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ds = lv.range(100_000).with_columns(text="'a longer string for each record'")
path = sys.argv[1]
ds.take(1).to_list()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    lv.write(ds, path, compression="none")
except lv.errors.ResourceExhaustedError as error:
    assert path in str(error) and error.file == path, error
else:
    raise SystemExit("no error")
"""


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tfrecord", "parquet", "arrow"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, suffix):
    if suffix in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    path = str(tmp_path / f"a.{suffix}")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_no_split_appears_if_one_cannot_be_written(tmp_path, suffix):
    good, path = lv.range(300), tmp_path / ("{split}." + suffix)
    bad = good.map(lambda row: {"x": 1 // (290 - int(row["value"]))})
    with pytest.raises(ZeroDivisionError):
        lv.write({"a": good, "b": bad}, path)
    for name in ("", "a/b", "a\0"):
        with pytest.raises(InvalidArgumentError, match="file name"):
            lv.write({name: good}, path)
    with pytest.raises(InvalidArgumentError, match=r"must contain '{split}'"):
        lv.write({"a": good}, tmp_path / "a.jsonl")
    with pytest.raises(TypeError, match="must have names"):
        lv.write(good.split(0.5, 0.5), path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_an_empty_table_has_the_columns_of_its_dataset(tmp_path, suffix):
    pytest.importorskip("pyarrow")
    ds = lv.from_records([], spec={"x": [lv.float32], "m": [{"a": lv.text}]})
    assert lv.write(ds, tmp_path / f"a.{suffix}") == 0
    back = getattr(lv, suffix)(tmp_path / f"a.{suffix}")
    assert back.spec == ds.spec
    assert back.to_list() == []


def test_a_table_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    synced, path = [], tmp_path / "a.parquet"
    monkeypatch.setattr("os.fsync", lambda file: synced.append((os.fstat(file), path.exists())))
    lv.write(lv.range(3), path)
    assert [(stat.st_ino, seen) for stat, seen in synced] == [(path.stat().st_ino, False)]


def test_a_table_that_cannot_be_closed_leaves_nothing(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")

    def full(self, close=pq.ParquetWriter.close):
        close(self)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "close", full)
    with pytest.raises(lv.errors.ResourceExhaustedError, match=r"a\.parquet: No space"):
        lv.write(lv.range(3), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
