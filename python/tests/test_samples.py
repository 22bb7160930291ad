# SPDX-License-Identifier: Apache-2.0
"""The parts of plug-ins that the pages show are parts of files that are built, and work.
test_pages.py runs everything else that the pages show."""

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(c|python)\b[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def samples(page, language):
    return [code for word, code in _FENCE.findall(page.read_text()) if word == language]


def run(code, folder):
    """A sample as a program of its own, in a folder; what it prints."""
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def compile_plugin(name, folder):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    source = ROOT / "plugins" / "example" / f"{name}.c"
    words = [compiler, "-shared", "-fPIC", "-I", ROOT / "include", source, "-o", f"{name}.so"]
    subprocess.run(words, check=True, cwd=folder)


def test_parts_of_plugins_are_on_pages_that_are_compared_below():
    parts = re.compile(r"^```c$", re.MULTILINE)
    pages = {page.name for page in DOCS.rglob("*.md") if parts.search(page.read_text())}
    assert pages == {
        "adding-a-decoder.md",
        "adding-a-source.md",
        "adding-a-stage.md",
        "your-own-format.md",
    }


# -- C


def not_shown(plugin, codes):
    """The lines of a plug-in that these samples skip, comments aside."""
    rest = (ROOT / "plugins" / "example" / plugin).read_text()
    assert all(code in rest for code in codes)
    for code in codes:
        rest = rest.replace(code, "")
    return [line for line in rest.splitlines() if line and line[:2] not in ("/*", " *")]


def test_the_stage_of_the_page_is_the_file_that_is_built():
    codes = samples(DOCS / "adding-a-stage.md", "c")
    (pure,) = [code for code in codes if "divide_apply" in code]
    assert pure in (ROOT / "plugins" / "example" / "divide.c").read_text()
    rest = [code for code in codes if code != pure]
    assert len(rest) == 4
    assert not_shown("every.c", rest) == []


def test_the_format_and_the_decoder_of_the_pages_are_the_file_that_is_built():
    pages = ["adding-a-source.md", "adding-a-decoder.md"]
    codes = [code for page in pages for code in samples(DOCS / page, "c")]
    assert not_shown("prefixed.c", codes) == ["#include <string.h>"]


def test_the_format_and_the_decoder_of_the_pages_work(tmp_path):
    compile_plugin("prefixed", tmp_path)
    points = [struct.pack("<Iqff", 16, i, i / 2, -i) for i in range(300)]
    (tmp_path / "points.bin").write_bytes(b"".join(points))
    (tmp_path / "bad.bin").write_bytes(points[0] + struct.pack("<Iq", 8, 1) + points[2])
    (tmp_path / "cut.bin").write_bytes(points[0] + points[1][:-1])
    code = """
import logging
import levada as lv
logging.disable()  # a skipped record is logged
lv.load_library("./prefixed.so")
ds = lv.from_text("prefixed:points.bin | decode_point")
points = [(int(r["id"]), r["xy"].tolist()) for r in ds]
assert points == [(i, [i / 2, -i]) for i in range(300)]
ds = lv.from_text("prefixed:bad.bin | decode_point").with_options(errors="skip")
assert [int(r["id"]) for r in ds] == [0, 2]
for name in ("bad", "cut"):
    try:
        list(lv.from_text(f"prefixed:{name}.bin | decode_point"))
    except lv.errors.DataLossError as e:
        print(e)
"""
    told = run(code, tmp_path)
    bad = "a point of 8 bytes, not 16\n  1.decode_point · bad.bin record 1 at byte 20\n"
    cut = "19 bytes of 20: the file ends in a record\n  0.prefixed · cut.bin record 1 at byte 20\n"
    assert told == bad + cut


def test_the_stage_of_the_page_works(tmp_path):
    compile_plugin("every", tmp_path)
    code = """
import levada as lv
lib = lv.load_op_library("./every.so")
for rows in (1, 7, 256):
    for threads in (1, 2):
        ds = lib.every(lv.range(1000), n=3).with_options(block_rows=rows, threads=threads)
        it, seen = iter(ds), []
        for record in it:
            seen.append(int(record["value"]))
            if len(seen) % 50 == 0:
                other = iter(ds)
                other.restore(it.save())
                it.close()
                it = other
                break
        seen += [int(record["value"]) for record in it]
        assert seen == list(range(0, 1000, 3)), (rows, threads, len(seen))
try:
    lib.every(lv.range(10).batch(2), n=3)
except lv.errors.InvalidArgumentError as e:
    print(e)
"""
    assert "records were batched before" in run(code, tmp_path)


def test_the_program_in_c_is_short_and_the_one_that_is_built():
    (code,) = samples(DOCS / "quick-start.md", "c")
    assert len(code.splitlines()) < 30
    assert (ROOT / "examples/quick_start.c").read_text().split("\n", 1)[1] == code


def test_the_program_in_python_is_the_example():
    code, _ = samples(DOCS / "quick-start.md", "python")
    assert (ROOT / "examples/quick_start.py").read_text().split("\n", 1)[1] == code


def test_the_format_of_the_tutorial_is_the_file_that_is_built():
    rest = not_shown("idx.c", samples(DOCS / "your-own-format.md", "c"))
    assert rest == []


def test_the_format_of_the_tutorial_reads_mnist(tmp_path):
    folder = ROOT.parent / "shared" / "data" / "fixed" / "mnist-t10k"
    if not folder.is_dir():
        pytest.skip("no ../shared/data")
    compile_plugin("idx", tmp_path)
    code = f"""
import levada as lv
lv.load_library("./idx.so")
images = lv.from_text("idx:{folder}/t10k-images-idx3-ubyte.gz,shape=[28,28]").batch(100)
labels = lv.from_text("idx:{folder}/t10k-labels-idx1-ubyte").batch(10_000).first()["value"]
print(sum(len(batch["value"]) for batch in images), labels[:5].tolist())
try:
    list(lv.from_text("idx:{folder}/t10k-images-idx3-ubyte.gz,shape=[28,27]"))
except lv.errors.DataLossError as error:
    print("dimension 1 of the file is 28, not 27" in str(error))
"""
    assert run(code, tmp_path) == "10000 [7, 2, 1, 0, 4]\nTrue\n"


# -- Python


def test_a_source_outside_the_tree_as_the_page_says(tmp_path):
    compile_plugin("my_reader", tmp_path)
    (code,) = samples(DOCS / "adding-a-source.md", "python")
    assert run(code, tmp_path).count("MyReader!") == 10
