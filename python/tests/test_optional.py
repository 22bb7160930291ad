# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some decoders and stages use are loaded by the first call that needs them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from test_media import png

PACKAGE = Path(lv.__file__).parent
SHARED_OBJECT = "levada_optional.so"
LIBRARIES = "libFLAC libjpeg libkissfft libpng libsimdjson libsoxr".split()
SIZES = bytes([8, 0, 1, 0, 1, 1, 1, 0x11, 0])  # bits, height, width, channels of an image
FILES = {
    "a.flac": b"fLaC\x80\0\0\x22" + bytes([16, 0, 16, 0, *[0] * 6, 1, 0xF4, 0, 0xF0, *[0] * 20]),
    "a.jpg": b"\xff\xd8\xff\xc0\0\x0b" + SIZES + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\0" * 64,
    "a.png": png(np.zeros((1, 1, 3), np.uint8)),
    "a.jsonl": b'{"n": 1}\n' * 3,
}
USES = {
    "fft": "lv.log_mel(np.zeros(1600, np.float32), rate=16000)",
    "flac": "lv.decode_flac(open('a.flac', 'rb').read())",
    "jpeg": "lv.decode_jpeg(open('a.jpg', 'rb').read())",
    "json": "[*lv.jsonl('a.jsonl', fields={'n': lv.int64})]",
    "skipping": "[*lv.jsonl('a.jsonl', fields={'n': lv.int64}, errors='skip')]",
    "png": "lv.decode_png(open('a.png', 'rb').read())",
    "resample": "lv.resample(np.zeros(1600, np.float32), rate=8000, input_rate=16000)",
}
ASK = """
try:
    {use}
except lv.errors.UnimplementedError as e:
    print(e)
"""


def run(code, folder):
    own = f"assert lv.__file__.startswith({str(folder)!r})"
    code = f"import numpy as np, levada as lv\n{own}\n{code}"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    ).stdout


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A folder with a copy of the package, and small files."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(PACKAGE, folder / "levada", ignore=shutil.ignore_patterns("include"))
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(params=["absent", "not a library", "another library"])
def broken(request, copied, tmp_path):
    """The same, where the shared object cannot be used. Yields what an error must say, too."""
    own, kept = copied / "levada" / SHARED_OBJECT, tmp_path / "kept"
    own.rename(kept)
    if request.param == "not a library":
        own.write_bytes(b"\x7fELF")
    elif request.param == "another library":
        shutil.copy(copied / "levada" / "_levada.abi3.so", own)
    yield copied, "does not belong" if request.param == "another library" else "cannot open"
    kept.replace(own)


def test_import_loads_none_of_them_and_a_use_does(copied):
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc")
    names = [*LIBRARIES, SHARED_OBJECT]
    maps = f"print(*[n for n in {names!r} if '/' + n in open('/proc/self/maps').read()])\n"
    found = run(f"{maps}\n{ASK.format(use=USES['png'])}\n{maps}", copied).split("\n")
    assert found[0] == ""
    assert SHARED_OBJECT in found[-2].split()
    has_png = lv.show_config("dicts")["png"] is not None
    assert ("libpng" in found[-2].split()) == has_png


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_use_says_that_they_cannot_be_opened(broken, use):
    folder, reason = broken
    message = run(ASK.format(use=use), folder)
    assert reason in message and SHARED_OBJECT in message


def test_threads_may_open_them_at_the_same_time(copied):
    code = f"""
from concurrent.futures import ThreadPoolExecutor
def use(_):
    try:
        {USES["fft"]}
    except lv.errors.UnimplementedError as e:
        assert "built without" in str(e), e
with ThreadPoolExecutor(8) as pool:
    print(len([*pool.map(use, range(32))]))
"""
    assert run(code, copied).strip() == "32"
