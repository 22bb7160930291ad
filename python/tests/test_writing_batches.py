# SPDX-License-Identifier: Apache-2.0
"""lv.write of batches of any kind: what a file holds is what the records had, without padding."""

import csv
import json
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
}


def record(i, length):
    return {
        "n": i,
        "word": f"w{i}",
        "pair": [i, i + 1],
        "ids": list(range(1, length + 1)),
        "words": [f"{i}.{k}" for k in range(length)],
        "steps": np.arange(1, 2 * length + 1, dtype=np.float32).reshape(length, 2),
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
FORMATS = ("tfrecord", "jsonl", "csv", "tar", "txt")


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
    if path.suffix == ".tar":
        with tarfile.open(path) as archive:
            return [archive.extractfile(member).read().decode() for member in archive]
    lines = path.read_text().splitlines()
    if path.suffix == ".csv":
        return [row[name] for row in csv.DictReader(lines)]
    return [json.loads(line)[name] for line in lines] if path.suffix == ".jsonl" else lines


def expected(found, suffix):
    if suffix == "tfrecord":  # an Example has lists alone
        return [value if isinstance(value, list) else [value] for value in found]
    return found if suffix == "jsonl" else [str(value) for value in found]


def check(ds, name, path):
    """Whether the field was written; if so, the file must hold its values."""
    found = values(ds, name)
    try:
        lv.write(ds.select(name), path)
    except InvalidArgumentError as error:
        assert path.suffix == ".txt" or repr(name) in str(error)
        assert not path.exists()
        return False
    kind = lv.string if "word" in name else lv.float32 if name == "steps" else lv.int64
    assert read(path, name, kind) == expected(found, path.suffix[1:])
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
    assert {(name, "jsonl") for name in ("ids", "pair", "steps")} <= written
    assert ({("tags", "tfrecord"), ("tags", "jsonl")} <= written) == (how in UNPADDED)


UNPADDED = ("records", "ragged", "packed", "segments")


@pytest.mark.parametrize("name", ["a.tfrecord", "a.jsonl"])
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
    lv.write(BATCHES[how](flat()), path)  # steps of two values
    assert [r["record"] for r in lv.tfrecord(path)] == [*sequences(flat())]
    few = BATCHES[how](flat()).select("n", "ids")
    lv.write(few, path, format="sequence_example")
    context, lists = {"n": lv.FixedLenFeature([], lv.int64)}, {"ids": lv.VarLenFeature(lv.int64)}
    back = lv.tfrecord(path).parse_sequence_example(context, lists)
    want = [(i, [[k] for k in range(1, length + 1)]) for i, length in enumerate(LENGTHS)]
    assert [(r["n"], r["ids"].to_list()) for r in back] == want
    messages = [wire_reference.read(r["record"], True) for r in lv.tfrecord(path)]
    assert [set(features) | set(steps) for features, steps in messages] == [{b"n", b"ids"}] * 6
