# SPDX-License-Identifier: Apache-2.0
"""The files that the benches read: made once, from fixed seeds, with NumPy alone.

- a: 200,000 Examples, packed int64 `tokens` (lognormal lengths) and `label`
- b: 100,000 Examples of 40 scalars: f00 int64, f01 float, f02 int64, ...
- f: Examples of one 512-float `feat` and a `label`, 64 MB
- s: 50,000 SequenceExamples: `id`, `name`; per step `tokens` int64[1] and `feat` float[16]
- plain64, plain1k, plain64k: TFRecord files of random payloads, mean size +-50 %, 256 MB each
- text: 64 MiB of lines of 36 bytes on average
- a.gz, text.gz, text.zst: the same, compressed
- numbers: 32 MiB of CSV, 5 columns of integers and 8 of floats
- quoted: 16 MiB of CSV, a number and 4 strings in quotes, of which some hold delimiters and quotes
- jsonl: 64 MiB of lines of 1 KB with a text, a number, a list and an object
- tar: 64 MiB of members of 4 KB, one in a sample
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zlib

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crc

FILES = {
    "a": "a.tfrecord",
    "b": "b.tfrecord",
    "f": "f.tfrecord",
    "s": "s.tfrecord",
    "plain64": "plain64.tfrecord",
    "plain1k": "plain1k.tfrecord",
    "plain64k": "plain64k.tfrecord",
    "a.gz": "a.tfrecord.gz",
    "text": "text.txt",
    "text.gz": "text.txt.gz",
    "text.zst": "text.txt.zst",
    "numbers": "numbers.csv",
    "quoted": "quoted.csv",
    "jsonl": "rows.jsonl",
    "tar": "samples.tar",
}
COUNTS = {"a": 200_000, "b": 100_000, "f": 30_720, "s": 50_000}
BATCH_BYTES = 32 << 20
DEFAULT_DIR = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "bench-data"
)


# -- TFRecord --------------------------------------------------------------------------------------


def frame(flat, lengths):
    """TFRecord bytes of the records of `flat`."""
    lengths = np.asarray(lengths, np.int64)
    total = len(flat) + 16 * len(lengths)
    start = np.cumsum(lengths + 16) - (lengths + 16)
    head = np.empty((len(lengths), 12), np.uint8)
    head[:, :8] = lengths.astype("<u8").view(np.uint8).reshape(-1, 8)
    length_crc = crc.masked(crc.crc32c(head[:, :8].reshape(-1), np.full(len(lengths), 8)))
    head[:, 8:] = length_crc.astype("<u4").view(np.uint8).reshape(-1, 4)
    foot = crc.masked(crc.crc32c(flat, lengths)).astype("<u4").view(np.uint8).reshape(-1, 4)
    out = np.empty(total, np.uint8)
    # The foot of a record and the head of the next one are neighbours: one gap of 16 bytes.
    gap = np.append(start - 4, total - 4)
    size = np.full(len(gap), 16)
    gap[0], size[0], size[-1] = 0, 12, 4
    out[crc.gaps(gap, size, total)] = flat
    out[start[:, None] + np.arange(12)] = head
    out[(start + 12 + lengths)[:, None] + np.arange(4)] = foot
    return out


def write_records(to, flat, lengths):
    """Writes records in batches, so that the temporary arrays stay small."""
    ends = np.cumsum(lengths)
    at = 0
    while at < len(lengths):
        base = int(ends[at - 1]) if at else 0
        stop = max(at + 1, int(np.searchsorted(ends, base + BATCH_BYTES, "right")))
        to.write(frame(flat[base : int(ends[stop - 1])], lengths[at:stop]).data)
        at = stop


def write_list(to, records):
    lengths = np.fromiter(map(len, records), np.int64, len(records))
    write_records(to, np.frombuffer(b"".join(records), np.uint8), lengths)


# -- protobuf --------------------------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(tag, body):
    """A length-delimited protobuf field."""
    return bytes([tag]) + varint(len(body)) + body


def entry(key, value):
    """An entry of a map from names to messages."""
    return field(0x0A, field(0x0A, key) + field(0x12, value))


def varints(values, width):
    """Non-negative integers below 2**(7 * width) as varints: their bytes and sizes."""
    values = np.asarray(values, np.uint64)
    shift = np.arange(width, dtype=np.uint64) * np.uint64(7)
    parts = values[:, None] >> shift
    used = parts != 0
    used[:, 0] = True
    wide = (parts & np.uint64(127)).astype(np.uint8)
    wide[:, :-1] |= np.where(used[:, 1:], 128, 0).astype(np.uint8)
    return wide[used], used.sum(axis=1)


def token_ids(rng, count):
    """Ids below 50,000 whose varints take 1.65 bytes on average."""
    kind = rng.random(count, np.float32)
    skew = rng.random(count, np.float32)  # log-uniform inside a size: small ids are more frequent
    small = (np.float32(127.999) ** skew).astype(np.int32)
    middle = (128 * np.float32(127.999) ** skew).astype(np.int32)
    large = (16384 * np.float32(3.05) ** skew).astype(np.int32)
    return np.where(kind < 0.38, small, np.where(kind < 0.97, middle, large))


def token_lengths(rng, count, mean, sigma, cap):
    return np.clip(rng.lognormal(mean, sigma, count), 1, cap).astype(np.int64)


# -- the files -------------------------------------------------------------------------------------


def make_a(to, count=None):
    count = count or COUNTS["a"]
    rng = np.random.default_rng(1)
    lengths = token_lengths(rng, count, 5.2, 0.8, 2048)
    labels = rng.integers(0, 2, count)
    labelled = [entry(b"label", field(0x1A, field(0x0A, varint(k)))) for k in range(2)]
    for at in range(0, count, 20_000):
        part = lengths[at : at + 20_000]
        flat, sizes = varints(token_ids(rng, int(part.sum())), 3)
        flat = flat.tobytes()
        ends = np.cumsum(sizes)[np.cumsum(part) - 1].tolist()
        records = []
        begin = 0
        for end, label in zip(ends, labels[at : at + 20_000].tolist(), strict=True):
            tokens = field(0x1A, field(0x0A, flat[begin:end]))
            records.append(field(0x0A, labelled[label] + entry(b"tokens", tokens)))
            begin = end
        write_list(to, records)


def scalar_columns(rng, rows):
    """[rows, 40, 18] bytes and a mask: the 40 map entries of each record of b."""
    wide = np.zeros((rows, 40, 18), np.uint8)
    mask = np.zeros((rows, 40, 18), bool)
    names = np.array([list(b"f%02d" % k) for k in range(40)], np.uint8)
    wide[:, :, 0] = wide[:, :, 2] = 0x0A
    wide[:, :, 3] = 3
    wide[:, :, 4:7] = names
    wide[:, :, 7] = 0x12
    bits = np.array([5, 7, 10, 14, 20])[np.arange(20) % 5]
    values = rng.integers(0, 1 << bits, (rows, 20)).reshape(-1)
    flat, sizes = varints(values, 5)
    sizes = sizes.reshape(rows, 20)
    number = np.zeros((rows, 20, 5), np.uint8)
    inside = np.arange(5) < sizes[:, :, None]
    number[inside] = flat
    ints, floats = wide[:, 0::2], wide[:, 1::2]
    ints[:, :, 8] = sizes + 4
    ints[:, :, 1] = sizes + 11
    ints[:, :, 9], ints[:, :, 10], ints[:, :, 11], ints[:, :, 12] = 0x1A, sizes + 2, 0x0A, sizes
    ints[:, :, 13:18] = number
    mask[:, 0::2, :13] = True
    mask[:, 0::2, 13:18] = inside
    floats[:, :, 1], floats[:, :, 8:13] = 15, [8, 0x12, 6, 0x0A, 4]
    drawn = rng.standard_normal((rows, 20), np.float32).astype("<f4")
    floats[:, :, 13:17] = drawn.view(np.uint8).reshape(rows, 20, 4)
    mask[:, 1::2, :17] = True
    return wide, mask


def make_b(to, count=None):
    count = count or COUNTS["b"]
    rng = np.random.default_rng(2)
    for at in range(0, count, 20_000):
        rows = min(20_000, count - at)
        wide, mask = scalar_columns(rng, rows)
        body = mask.sum(axis=(1, 2))
        whole = np.zeros((rows, 3 + 40 * 18), np.uint8)
        used = np.ones(whole.shape, bool)
        whole[:, 0], whole[:, 1], whole[:, 2] = 0x0A, body & 127 | 128, body >> 7
        whole[:, 3:] = wide.reshape(rows, -1)
        used[:, 3:] = mask.reshape(rows, -1)
        write_records(to, whole[used], body + 3)


def make_f(to, count=None):
    count = count or COUNTS["f"]
    rng = np.random.default_rng(3)
    floats = entry(b"feat", field(0x12, field(0x0A, bytes(2048))))
    label = entry(b"label", field(0x1A, field(0x0A, b"\x00")))
    record = np.frombuffer(field(0x0A, floats + label), np.uint8)
    begin = len(record) - len(label) - 2048
    for at in range(0, count, 8192):
        rows = min(8192, count - at)
        out = np.tile(record, (rows, 1))
        drawn = rng.standard_normal((rows, 512), np.float32).astype("<f4")
        out[:, begin : begin + 2048] = drawn.view(np.uint8).reshape(rows, 2048)
        out[:, -1] = rng.integers(0, 10, rows)
        write_records(to, out.reshape(-1), np.full(rows, len(record)))


def step_entries(rng, steps):
    """Feature list members of `steps` steps: tokens (bytes, ends) and feats (bytes, 70 a step)."""
    flat, sizes = varints(token_ids(rng, steps), 3)
    wide = np.zeros((steps, 9), np.uint8)
    used = np.arange(9) < 6 + sizes[:, None]
    number = np.zeros((steps, 3), np.uint8)
    number[np.arange(3) < sizes[:, None]] = flat
    wide[:, 0], wide[:, 1] = 0x0A, sizes + 4
    wide[:, 2], wide[:, 3] = 0x1A, sizes + 2
    wide[:, 4], wide[:, 5], wide[:, 6:9] = 0x0A, sizes, number
    feats = np.empty((steps, 70), np.uint8)
    feats[:, :6] = [0x0A, 68, 0x12, 66, 0x0A, 64]
    drawn = rng.standard_normal((steps, 16), np.float32).astype("<f4")
    feats[:, 6:] = drawn.view(np.uint8).reshape(steps, 64)
    return wide[used].tobytes(), np.cumsum(sizes + 6), feats.tobytes()


def make_s(to, count=None):
    count = count or COUNTS["s"]
    rng = np.random.default_rng(4)
    lengths = token_lengths(rng, count, 4.43, 0.6, 600)
    for at in range(0, count, 5000):
        part = lengths[at : at + 5000]
        steps = np.cumsum(part)
        tokens, token_ends, feats = step_entries(rng, int(steps[-1]))
        ends = token_ends[steps - 1].tolist()
        records = []
        begin = first = 0
        for k, (end, last) in enumerate(zip(ends, steps.tolist(), strict=True), at):
            context = entry(b"id", field(0x1A, field(0x0A, varint(k))))
            context += entry(b"name", field(0x0A, field(0x0A, b"sequence-%06d" % k)))
            lists = entry(b"feat", feats[70 * first : 70 * last])
            lists += entry(b"tokens", tokens[begin:end])
            records.append(field(0x0A, context) + field(0x12, lists))
            begin, first = end, last
        write_list(to, records)


def make_plain(mean, seed):
    def make(to, total=256 << 20):
        rng = np.random.default_rng(seed)
        done = 0
        while done < total:
            count = max(1, min(BATCH_BYTES, total - done) // mean)
            lengths = rng.integers(mean // 2, mean + mean // 2 + 1, count)
            flat = np.frombuffer(rng.bytes(int(lengths.sum())), np.uint8)
            write_records(to, flat, lengths)
            done += len(flat)

    return make


def make_text(to, total=64 << 20):
    """Lines of 36 bytes on average, of phrases from a small language, so that they compress."""
    rng = np.random.default_rng(8)
    letters = np.frombuffer(b"etaoinshrdlucmfwypvbgk", np.uint8)
    words = [bytes(rng.choice(letters, rng.integers(2, 9))) for _ in range(4000)]
    rank = 1 / np.arange(1, 4001)
    draws = rng.choice(4000, (6000, 3), p=rank / rank.sum())
    phrases = [b" ".join(words[k] for k in row[: 1 + i % 3]) for i, row in enumerate(draws)]
    rank = 1 / np.arange(1, 6001) ** 0.9
    done = 0
    while done < total:
        picks = rng.choice(6000, 1 << 20, p=rank / rank.sum()).tolist()
        breaks = rng.random(1 << 20) < 0.36
        out = b"".join(
            phrases[p] + (b"\n" if stop else b" ")
            for p, stop in zip(picks, breaks.tolist(), strict=True)
        )
        out = out[: total - done] if done + len(out) > total else out
        to.write(out)
        done += len(out)


def repeat(to, part, total):
    """Writes `part` again and again: it is too long for a processor to learn."""
    for _ in range(total // len(part) + 1):
        to.write(part)


def make_numbers(to, total=32 << 20):
    rng = np.random.default_rng(9)
    rows = 20_000
    ints = (10.0 ** (rng.random((rows, 5)) * 7)).astype(np.int64).tolist()
    floats = (rng.standard_normal((rows, 8)) * 1000).tolist()
    part = "".join(
        ",".join([*map(str, whole), *(f"{x:.3f}" for x in broken)]) + "\n"
        for whole, broken in zip(ints, floats, strict=True)
    )
    repeat(to, part.encode(), total)


def phrases(rng, count, words):
    """`count` texts of `words` words of a small language."""
    letters = list("etaoinshrdlucmfwypvbgk")
    language = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(2000)]
    return [" ".join(row) for row in rng.choice(language, (count, words)).tolist()]


def make_quoted(to, total=16 << 20):
    rng = np.random.default_rng(10)
    rows = 10_000
    texts = phrases(rng, 4 * rows, 5)
    for i in range(0, len(texts), 5):
        texts[i] = texts[i].replace(" ", ", ", 2)
    for i in range(0, len(texts), 20):
        texts[i] = '""' + texts[i].replace(" ", '"" ', 1)
    part = "".join(
        f"{i}," + ",".join(f'"{text}"' for text in texts[4 * i : 4 * i + 4]) + "\n"
        for i in range(rows)
    )
    repeat(to, part.encode(), total)


def make_jsonl(to, total=64 << 20):
    rng = np.random.default_rng(11)
    rows = 4000
    part = "".join(
        json.dumps({
            "id": i, "tags": [i % 7, i % 11, i % 13], "text": text,
            "meta": {"lang": "pt", "score": i / 7, "quoted": 'a "word"'},
        })
        + "\n"
        for i, text in enumerate(phrases(rng, rows, 160))
    )  # fmt: skip
    repeat(to, part.encode(), total)


def make_tar(to, total=64 << 20):
    body = np.random.default_rng(12).bytes(4096)
    with tarfile.open(fileobj=to, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for i in range(total // (4096 + 512)):
            member = tarfile.TarInfo(f"{i:08d}.bin")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def make_gzip(source):
    def make(to):
        pack = zlib.compressobj(6, zlib.DEFLATED, 31)
        with open(source, "rb") as stream:
            while chunk := stream.read(1 << 20):
                to.write(pack.compress(chunk))
        to.write(pack.flush())

    return make


def make_zstd(source):
    def make(to):
        if shutil.which("zstd") is None:
            raise FileNotFoundError("no zstd command")
        subprocess.run(["zstd", "-q", "-3", "-c", source], stdout=to, check=True)

    return make


def makers(folder):
    text, a = os.path.join(folder, FILES["text"]), os.path.join(folder, FILES["a"])
    return {
        "a": make_a,
        "b": make_b,
        "f": make_f,
        "s": make_s,
        "plain64": make_plain(64, 5),
        "plain1k": make_plain(1 << 10, 6),
        "plain64k": make_plain(64 << 10, 7),
        "a.gz": make_gzip(a),
        "text": make_text,
        "text.gz": make_gzip(text),
        "text.zst": make_zstd(text),
        "numbers": make_numbers,
        "quoted": make_quoted,
        "jsonl": make_jsonl,
        "tar": make_tar,
    }


def path(name, folder=None):
    return os.path.join(folder or DEFAULT_DIR, FILES[name])


def ensure(names=None, folder=None, say=None):
    """Makes the files of `names` (default: all) that are not there yet, where that is possible."""
    folder = folder or DEFAULT_DIR
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".gitignore"), "w") as out:
        out.write("*\n")
    made = makers(folder)
    for name in made:
        whole = path(name, folder)
        if (names is not None and name not in names) or os.path.exists(whole):
            continue
        if say:
            say(f"making {whole}")
        try:
            with open(whole + ".part", "wb") as out:
                made[name](out)
        except FileNotFoundError as error:
            print(f"bench: {whole} was not made: {error}", file=sys.stderr)
            os.remove(whole + ".part")
        else:
            os.replace(whole + ".part", whole)


def main():
    args = argparse.ArgumentParser(description="make the bench files")
    args.add_argument("--dir", default=DEFAULT_DIR)
    args.add_argument("names", nargs="*", choices=[[], *FILES])
    args = args.parse_args()
    ensure(args.names or None, args.dir, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
