# SPDX-License-Identifier: Apache-2.0
"""Tries the installed wheel as a user would. The argument is the largest size in bytes.

Called by ci/wheel.sh, with the Python of a new virtual environment.
"""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import levada as lv
import numpy as np


def output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def files() -> list[importlib.metadata.PackagePath]:
    return importlib.metadata.files("levada") or []


def installed_bytes() -> int:
    found = [Path(file.locate()) for file in files()]
    return sum(path.stat().st_size for path in found if path.exists())


def main() -> None:
    assert sys.prefix in lv.__file__, f"not the wheel: {lv.__file__}"
    lv.samples.write(".")
    spec = {"tokens": lv.VarLenFeature(lv.int64), "label": lv.FixedLenFeature([], lv.int64)}
    ds = lv.tfrecord("train-*.tfrecord.gz").parse_example(spec).padded_batch(32)
    assert sum(batch.num_records for batch in ds) == 300
    output("levada", "convert", "train-0.tfrecord.gz", "a.tfrecord.zst")
    for name in ("train-0.tfrecord.gz", "a.tfrecord.zst"):
        assert "150 records" in output("levada", "info", name)
    version = output("levada", "--version")
    for name in ("curl", "flac", "isal", "jpeg", "kissfft", "png", "simdjson", "zlib", "zstd"):
        assert name in version.lower(), version
    texts = [str(f) for f in files() if "licenses/libraries" in str(f)]
    assert any("jpeg" in t for t in texts) and any("zstd" in t for t in texts), texts
    sound = np.zeros(1600, np.float32)
    assert np.isfinite(lv.log_mel(sound, rate=16000)).all()
    try:
        lv.resample(sound, rate=8000, input_rate=16000)
    except lv.errors.UnimplementedError as e:
        assert "libsoxr" in str(e), e
    else:
        raise AssertionError("resample: libsoxr is not in the wheel")
    size = installed_bytes()
    assert size <= int(sys.argv[1]), f"{size} bytes installed, more than {sys.argv[1]}"
    print(version.strip())
    print(f"works without a compiler; {size / 1e6:.1f} MB installed")


if __name__ == "__main__":
    main()
