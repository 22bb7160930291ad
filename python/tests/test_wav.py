# SPDX-License-Identifier: Apache-2.0
"""WAV data whose header does not say how long it is, or says it wrong."""

import itertools
import struct

import levada as lv
import numpy as np
import pytest

UNKNOWN = [0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFFFDB, 0x7FFFF000, 0x7FFFF024, 0xFFFFFFDB, 0]
SAMPLES = np.arange(1000, 3000, dtype="<i2")
NAMES = {b"RIFF": "<", b"RIFX": ">"}
NO_LENGTH, TOO_MUCH, NO_CHUNK, PART = (
    "declares no length",
    "declares more bytes",
    "not a chunk",
    "middle of a frame",
)


def wav(declared=None, riff=None, after=b"", data=None, kind=b"RIFF", bits=16):
    """Mono WAV; `declared` and `riff`: lengths in its headers, None = the right ones."""
    order = NAMES.get(kind, "<")
    data = SAMPLES.astype(order + "i2").tobytes() if data is None else data
    form = struct.pack(order + "HHIIHH", 1, 1, 8000, 8000 * bits // 8, bits // 8, bits)
    body = b"WAVEfmt " + struct.pack(order + "I", 16) + form + b"data"
    size = len(data) if declared is None else declared
    whole = body + struct.pack(order + "I", size) + data + after
    riff = len(whole) if riff is None else riff
    return kind + struct.pack(order + "I", riff) + whole


def decoded(data):
    """Samples, and what was noted, as a stage."""
    it = iter(lv.from_records([{"record": data}]).decode_wav("record", channels=1, dtype="int16"))
    records = list(it)
    stats = it.stats()
    assert stats["skipped_records"] == 0
    notes = [problem["message"] for problem in stats["problems"]]
    return [record["audio"].reshape(-1) for record in records], notes


def check(data, want, note):
    made, notes = decoded(data)
    assert np.array_equal(made[0], want)
    assert [note in text for text in notes] == ([True] if note else [])


@pytest.mark.parametrize("kind", NAMES)
def test_a_pipe_is_read_to_its_end(kind):
    for declared, riff in itertools.product(UNKNOWN, [*UNKNOWN, 36]):
        check(wav(declared, riff, kind=kind), SAMPLES, NO_LENGTH)
        check(wav(declared, riff, kind=kind, data=b""), SAMPLES[:0], NO_LENGTH if declared else "")


def test_no_samples_and_a_chunk_are_no_samples():
    check(wav(data=b"", after=b"LIST\4\0\0\0abcd"), SAMPLES[:0], "")
    check(wav(after=b"LIST\4\0\0\0abcd"), SAMPLES, "")


def test_rf64_of_a_pipe():
    """Its length is in a chunk of its own, which a pipe leaves zero."""
    plain = wav(0xFFFFFFFF)
    for size, note in [(0, NO_LENGTH), (SAMPLES.nbytes, ""), (2**64 - 1, NO_LENGTH)]:
        ds64 = b"ds64" + struct.pack("<IQQQI", 28, size, size, 0, 0)
        check(b"RF64" + plain[4:12] + ds64 + plain[12:], SAMPLES, note)


@pytest.mark.parametrize("slip", [1, 2, 7, 8, 36, 44, 64])
def test_a_length_that_is_a_little_wrong_costs_no_record(slip):
    check(wav(SAMPLES.nbytes + slip), SAMPLES, TOO_MUCH)
    short = SAMPLES.nbytes - slip
    check(wav(short), SAMPLES[: short // 2], PART if slip % 2 else NO_CHUNK)


def test_functions_warn_and_loops_log(caplog):
    data = wav(0xFFFFFFFF)
    with pytest.warns(RuntimeWarning, match=NO_LENGTH):
        assert len(lv.decode_wav(data)[0]) == len(SAMPLES)
    assert lv.audio_info(data)[2] == len(SAMPLES)
    for _ in lv.from_records([{"record": data}]).decode_wav("record"):
        pass
    assert NO_LENGTH in caplog.text


def test_what_is_cut_short_stays_damage():
    for data in (wav(SAMPLES.nbytes + 66), wav(10, data=b""), wav(SAMPLES.nbytes * 2)):
        with pytest.raises(lv.errors.DataLossError, match="truncated WAV data"):
            lv.decode_wav(data)
    with pytest.warns(RuntimeWarning, match=TOO_MUCH):
        made, _ = lv.decode_wav(wav(SAMPLES.nbytes * 2), "int16", try_recover_truncated=True)
    assert np.array_equal(made.reshape(-1), SAMPLES)


def test_every_length_is_read_noted_or_refused():
    """All lengths up to twice the samples, with and without a padding byte and a chunk."""
    data = bytes(range(1, 22))
    chunk = b"LIST\4\0\0\0abcd"
    for n, after in itertools.product(range(43), (b"", b"\0", chunk, b"\0" + chunk)):
        made, notes = decoded(wav(n, data=data, after=after, bits=8))
        rest = data + after
        assert len(made[0]) == min(n, len(rest))
        good = any(rest[at:] in (b"", chunk) for at in ([n, n + 1] if n % 2 else [n]))
        assert bool(notes) == (n > len(rest) or not good), (n, after, notes)


def test_notes_travel_with_their_records(tmp_path):
    """Any threads and block sizes: one note for each record, none twice after a restore."""
    path = str(tmp_path / "a.tfrecord")
    with lv.TFRecordWriter(path) as writer:
        for i in range(60):
            bad = b"junk" if i % 10 == 3 else None
            writer.write(bad or wav(0xFFFFFFFF if i % 3 == 0 else None, data=bytes([i] * 20)))
    for threads, rows in itertools.product((1, 3), (1, 4, 256)):
        ds = lv.tfrecord(path).decode_wav("record", channels=1, dtype="int16").padded_batch(4)
        ds = ds.with_options(threads=threads, block_rows=rows, errors="skip")
        it, seen = iter(ds), 0
        for _ in range(5):
            seen += next(it).num_records
        again = iter(ds)
        again.restore(it.save())
        for run in (it, again):
            assert seen + sum(batch.num_records for batch in run) == 54
            stats = run.stats()
            noted = [p["record"] for p in stats["problems"] if NO_LENGTH in p["message"]]
            assert noted == [i for i in range(60) if i % 3 == 0 and i % 10 != 3]
            assert stats["skipped_records"] == 6
