# SPDX-License-Identifier: Apache-2.0
"""Saved states and cache files that were forged under good checksums: errors, and no other data."""

import struct

import levada as lv
import numpy as np
import pytest
from levada import train as lt
from levada.errors import DataLossError, LevadaError
from wire import crc32c

I64, BYTES, I64S = 1, 2, 3  # types of entries
HEAD = 48  # bytes of a state before its entries
EMPTY = b"LVDASTAT" + struct.pack("<HH", 4, 0) + bytes(32)
CACHE_HEAD = 24
INT8, INT64, STRING = 1 << 1, 5, 16

# -- states


def varints(numbers):
    out, before = bytearray(), 0
    for number in numbers:
        step = (number - before + 2**63) % 2**64 - 2**63
        before, zigzag = number, (step << 1 ^ step >> 63) % 2**64
        while zigzag >= 128:
            out.append(zigzag & 127 | 128)
            zigzag >>= 7
        out.append(zigzag)
    return bytes(out)


class Entries(dict):
    """{(path, key): [version, type, bytes]} of a state."""

    def __init__(self, state=EMPTY):
        super().__init__()
        self.head, at = state[: HEAD - 4], HEAD
        for _ in range(struct.unpack_from("<I", state, HEAD - 4)[0] if len(state) > HEAD else 0):
            names = []
            for _ in range(2):
                names.append(state[at + 1 : at + 1 + state[at]].decode())
                at += 1 + state[at]
            version, kind, size = struct.unpack_from("<IBI", state, at)
            self[tuple(names)] = [version, kind, state[at + 9 : at + 9 + size]]
            at += 9 + size

    def put(self, path, key, value):
        kind = BYTES if isinstance(value, bytes) else I64 if isinstance(value, int) else I64S
        version = next((v[0] for k, v in self.items() if k[0] == path), 0)
        data = value if kind == BYTES else varints([value] if kind == I64 else value)
        self[path, key] = [version, kind, data]

    def encode(self):
        out = bytearray(self.head + struct.pack("<I", len(self)))
        for (path, key), (version, kind, data) in sorted(self.items()):
            for name in (path, key):
                out += bytes([len(name)]) + name.encode()
            out += struct.pack("<IBI", version, kind, len(data)) + data
        return bytes(out + struct.pack("<I", crc32c(bytes(out))))


# -- caches


def field(dtype, depth=0, dims=(), padded=0):
    return [dtype, depth, len(dims), padded, 0, 0, *dims, *[0] * (8 - len(dims))]


INTS = {"values": b"\1" * 24}
TEXTS = {"levels": [[1, 2, 3]], "values": b"abc"}


def block(columns):
    """A block of three records; columns: {name: (field, content)}."""
    made = Entries()
    made.put("cache", "rows.fields", [n for f, _ in columns.values() for n in f])
    made.put("cache", "rows.names", b"".join(name.encode() + b"\0" for name in columns))
    made.put("cache", "rows.origins", [0] * 18)
    for i, (_, content) in enumerate(columns.values()):
        made.put("cache", f"rows.{i}.dims", content.get("dims", []))
        for level, ends in enumerate(content.get("levels", [])):
            made.put("cache", f"rows.{i}.{level}", ends)
        if "lengths" in content:
            made.put("cache", f"rows.{i}.len", struct.pack("<3i", *[content["lengths"]] * 3))
        made.put("cache", f"rows.{i}.values", content["values"])
    return made.encode()


def cache(head, blocks):
    out, index = bytearray(head), bytearray()
    for data in blocks:
        index += struct.pack("<qq", len(out), 3)
        out += data
    index += struct.pack("<qqq", len(out), len(blocks), 0)
    return bytes(out + index + struct.pack("<I", crc32c(bytes(index))))


GOOD = block({"i": (field(INT64), INTS), "s": (field(STRING), TEXTS)})
PADDED = field(INT64, dims=[-1], padded=1)
WIDE = {"dims": [2], "values": b"\1" * 48}
CACHES = {
    "lengths": [
        block({"i": (PADDED, WIDE | {"lengths": 2000}), "s": (field(STRING), TEXTS)}),
    ],
    "beyond": [
        block({"i": (PADDED, WIDE | {"lengths": 2**31 - 1}), "s": (field(STRING), TEXTS)}),
    ],
    "fewer": [GOOD, block({"i": (field(INT64), INTS)})],
    "kind": [
        block(
            {
                "i": (field(INT64, depth=1), INTS | {"levels": [[1, 2, 3]]}),
                "s": (field(STRING), TEXTS),
            }
        ),
        GOOD,
    ],
    "no lengths": [
        block({"i": (field(INT64), INTS | {"lengths": 7}), "s": (field(STRING), TEXTS)}),
        GOOD,
    ],
    "dtype": [GOOD, block({"i": (field(INT8), {"values": b"abc"}), "s": (field(STRING), TEXTS)})],
    "name": [GOOD, block({"i": (field(INT64), INTS), "t": (field(STRING), TEXTS)})],
    "order": [GOOD, block({"s": (field(STRING), TEXTS), "i": (field(INT64), INTS)})],
    "empty": [GOOD, block({})],
}
TAILS = ["", " | batch:4", " | padded_batch:4", " | shuffle:5 | batch:2"]


def declared(path, tail=""):
    (path / "n.csv").write_text("1,a\n2,b\n3,c\n")
    csv = f"csv:{path}/n.csv,record_defaults=[int64,string],columns=[i,s]"
    return lv.from_text(f"{csv} | cache:{path}/cache{tail}")


def as_record(record):
    return {"i": int(record["value"]), "s": b"text"}


def undeclared(path, tail=""):
    made = lv.from_text("range:3").map(as_record).cache(f"{path}/cache")
    for stage in tail.split("|")[1:]:
        name, number = stage.strip().split(":")
        made = getattr(made, name)(int(number))
    return made


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("case", CACHES)
@pytest.mark.parametrize("dataset", [declared, undeclared])
def test_a_forged_cache_is_an_error(tmp_path, dataset, case, tail):
    assert sum(1 for _ in dataset(tmp_path)) > 0
    file = tmp_path / "cache"
    head = file.read_bytes()[:CACHE_HEAD]
    file.write_bytes(cache(head, [GOOD, GOOD]))
    assert sum(1 for _ in dataset(tmp_path, tail)) > 0
    file.write_bytes(cache(head, CACHES[case]))
    with pytest.raises(DataLossError, match=r"cache is damaged: block \d+, byte \d+"):
        for _ in dataset(tmp_path, tail):
            pass


# -- states


def saved_after_one(text):
    it = lv.from_text(text).iterate()
    next(it)
    return it.save()


def test_lengths_of_a_column_that_is_not_padded_are_refused(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"{i}\n" for i in range(2000)))
    text = f'files:{tmp_path}/lines.txt | interleave:(text_lines:"{{path}}") | batch:3'
    entries = Entries(saved_after_one(text))
    entries.put("2.batch", "rows.0.0", [1])
    entries.put("2.batch", "rows.0.values", b"x")
    entries.put("2.batch", "rows.origins", [1] * 6)
    entries.put("2.batch", "total", 1)
    entries.put("2.batch", "rows.0.len", bytes(4))
    with pytest.raises(LevadaError, match=r"'2\.batch/rows"):
        lv.from_text(text).iterate().restore(entries.encode())


@pytest.mark.parametrize("tail", ["", ' | cache:"{path}.cache"'])
def test_a_state_names_no_file_that_the_dataset_does_not(tmp_path, tail):
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / "in" / f"{name}.txt").write_text(f"{name}\n" * 2000)
    secret = tmp_path / "secret.txt"
    secret.write_text("secret\n" * 2000)
    pipe = f'(text_lines:"{{path}}"{tail})'
    text = f"files:{tmp_path}/in/*.txt | interleave:{pipe},cycle_length=2 | take:100000"
    entries = Entries(saved_after_one(text))
    other = Entries(saved_after_one(f"text_lines:{secret} | take:100000"))
    path = str(secret).encode()
    for where, key in list(entries):
        if where == "1.interleave" and key.startswith("rest0"):
            del entries[where, key]
        if where == "1.interleave/0/0.text_lines" and key in ("names", "sizes"):
            entries[where, key] = other["0.text_lines", key]
        if where.startswith("1.interleave/0/") and key in ("offset", "record", "records", "at"):
            entries.put(where, key, 0)
    entries["1.interleave", "record0.origins"] = entries.pop(("1.interleave", "record0"))
    del entries["1.interleave", "record0.sums"]
    entries.put("1.interleave", "record0.0.dims", [])
    entries.put("1.interleave", "record0.0.0", [len(path)])
    entries.put("1.interleave", "record0.0.values", path)
    entries.put("1.interleave", "rest0.n", 0)
    with pytest.raises(LevadaError, match="buffered record has changed"):
        lv.from_text(text).iterate().restore(entries.encode())
    assert not (tmp_path / "secret.txt.cache").exists()


def example(key):
    return {
        "key": key,
        "length": 4,
        "x": np.zeros((4, 2), np.float32),
        "start": np.zeros(3, np.float32),
    }


def saver():
    return lt.SequenceQueueingStateSaver(
        [example(f"k{i}") for i in range(6)],
        2,
        2,
        input_length="length",
        input_key="key",
        input_sequences=["x"],
        input_context=[],
        initial_states={"s": lambda e: e["start"]},
        capacity=100,
    )


def test_an_unknown_dtype_in_a_state_saver_is_refused():
    source = saver()
    for _ in range(3):
        source.prefetch_op()
    batch = source.next_batch()
    batch.save_state("s", batch.state("s"))
    state = source.save(True)
    at = state.find(b"LVDASTAT")
    entries = Entries(state[at:])
    names = entries["state_saver", "names"]
    assert b"float32" in names[2]
    names[2] = names[2].replace(b"float32", b"float33", 1)
    with pytest.raises(DataLossError, match=r"'state_saver/names': .*'float33'"):
        saver().restore(state[:at] + entries.encode())
