# SPDX-License-Identifier: Apache-2.0
"""Tries the installed wheel as a user would. The argument is the largest size in bytes.

Called by ci/wheel.sh, with the Python of a new virtual environment.
"""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import levada as lv


def output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def installed_bytes() -> int:
    files = importlib.metadata.files("levada") or []
    return sum(Path(file.locate()).stat().st_size for file in files if Path(file.locate()).exists())


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
    assert "isal" in version and "zstd" in version, version
    size = installed_bytes()
    assert size <= int(sys.argv[1]), f"{size} bytes installed, more than {sys.argv[1]}"
    print(version.strip())
    print(f"works without a compiler; {size / 1e6:.1f} MB installed")


if __name__ == "__main__":
    main()
