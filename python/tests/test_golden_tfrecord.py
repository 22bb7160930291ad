# SPDX-License-Identifier: Apache-2.0
"""Replays spec/golden/tfrecord.json: good files, every truncation, every kind of damage."""

import base64
import json
from pathlib import Path

import levada as lv
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "spec" / "golden"
COMPRESSION = {"": "none", "GZIP": "gzip", "ZLIB": "zlib"}


# TensorFlow ignores them after zlib, and reports them after gzip. levada reports both.
STRICTER = {"bytes after the ZLIB stream": lv.errors.DataLossError}

# TensorFlow drops what it decompressed with the wrong checksum of a stream. levada delivers the
# records, which have checksums of their own, and then reports it.
DELIVERED = {"GZIP trailer crc changed", "ZLIB adler changed"}
ALL = [b"abc", b"", b"xyz1"]


def cases():
    path = GOLDEN / "tfrecord.json"
    if not path.exists():
        reason = f"no golden vectors at {path}"
        return [pytest.param(None, id="missing", marks=pytest.mark.skip(reason=reason))]
    listed = json.loads(path.read_text())["cases"]
    return [pytest.param(case, id=f"{i}-{case['note'][:40]}") for i, case in enumerate(listed)]


def ending(case):
    """The class of the error that ends the file, or None."""
    if case["note"] in STRICTER:
        return STRICTER[case["note"]]
    if "levada" in case:
        return getattr(lv.errors, case["levada"])
    return None if case["end"] == "eof" else getattr(lv.errors, case["end"]["class"])


@pytest.mark.parametrize("case", cases())
def test_file(case, tmp_path):
    path = tmp_path / "f.tfrecord"
    path.write_bytes(base64.b64decode(case["file_b64"]))
    compression = COMPRESSION.get(case["compression"], case["compression"])
    error = ending(case)
    found = []

    def read():
        for record in lv.tfrecord(str(path), compression=compression):
            found.append(bytes(record["record"]))

    if error is None:
        read()
    else:
        with pytest.raises(error):
            read()
    if error is not lv.errors.InvalidArgumentError:
        good = [record.encode("latin-1") for record in case["records"]]
        assert found == (ALL if case["note"] in DELIVERED else good)


@pytest.mark.parametrize("case", cases())
def test_skipping_ends(case, tmp_path):
    path = tmp_path / "f.tfrecord"
    path.write_bytes(base64.b64decode(case["file_b64"]))
    compression = COMPRESSION.get(case["compression"])
    if compression is None:
        pytest.skip("an unknown compression is not damage")
    dataset = lv.tfrecord(str(path), compression=compression, errors="skip")
    found = [bytes(record["record"]) for record in dataset]
    assert found[: len(case["records"])] == [r.encode("latin-1") for r in case["records"]]
