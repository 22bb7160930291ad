# SPDX-License-Identifier: Apache-2.0
"""The programs of other libraries on docs/coming-from.md: they run where the library is installed,
on the files that the page writes. What levada does in their place runs with all pages."""

import re

import pages
import peer_libraries
import pytest

PAGE = pages.ROOT / "docs" / "coming-from.md"
FENCES = list(pages.fences(PAGE.read_text()))
BEFORE = [fence.code for fence in FENCES if fence.words == ["python", "before"]]
SETUP = next(fence.code for fence in FENCES if fence.words == ["python"])
MISSING_DATA = {"lhotse": "the page writes no manifest of recordings"}


# What both programs of a library compute alike, of the names that they have at their ends.
ROWS = "sorted(row[:n].tolist() for tokens, n in {} for row, n in zip(tokens, n))"
ALIKE = {
    "torch": (
        ROWS.format("((b[0], b[1]) for b in loader)"),
        ROWS.format("((b['tokens'], b.lengths('tokens')) for b in ds)"),
    ),
    "datasets": (
        "sorted(list(row['tokens']) for row in dataset)",
        "sorted(record['tokens'].tolist() for record in ds)",
    ),
    "webdataset": (
        "sorted(json.loads(row)['tokens'] for row, _ in samples.to_tuple('json', 'cls'))",
        "sorted(row[:n].tolist() for b in ds for row, n in zip(b['tokens'], b.lengths('tokens')))",
    ),
    "torchvision": ("tuple(images.shape)", "ds.first()['image'].shape"),
    "tensorflow": (
        "sorted(int(x) for _, label in ds for x in label)",
        "sorted(int(x) for batch in ds for x in batch['label'])",
    ),
    "grain": (
        "sorted(int(row['label']) for row in grain.MapDataset.source(rows).map(pad))",
        "sorted(int(x) for batch in ds for x in batch['label'])",
    ),
    "streaming": (
        "sorted(i['row']['tokens'] for i in StreamingDataset(local='mds', batch_size=32))",
        "sorted(record['tokens'].tolist() for record in ds)",
    ),
    "pandas": ("int(total)", "total"),
    "polars": ("total", "total"),
}


def library(code):
    """The library of a program: the last one that it imports by its own name."""
    names = re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)
    return next(name for name in names if name not in ("json", "glob", "numpy"))


def prepared(folder, monkeypatch):
    """The names after the files of the page are written into the folder."""
    monkeypatch.chdir(folder)
    names = {"__name__": "__main__"}
    exec(SETUP, names)
    return names


@pytest.mark.parametrize("code", BEFORE, ids=library)
def test_the_program_of_the_other_library_runs(code, tmp_path, monkeypatch):
    compile(code, library(code), "exec")
    if library(code) in MISSING_DATA:
        pytest.skip(MISSING_DATA[library(code)])
    prepared(tmp_path, monkeypatch)
    peer_libraries.run(library(code), code, tmp_path)


def program_after(before):
    """The program of levada that follows that of another library."""
    codes = [fence.code for fence in FENCES if fence.words[:1] == ["python"]]
    return codes[codes.index(before) + 1]


@pytest.mark.parametrize("code", [code for code in BEFORE if library(code) in ALIKE], ids=library)
def test_both_programs_read_the_same(code, tmp_path, monkeypatch):
    names, (theirs, ours) = prepared(tmp_path, monkeypatch), ALIKE[library(code)]
    printed = peer_libraries.run(library(code), f"{code}\nprint(repr({theirs}))", tmp_path)
    exec(program_after(code), names)
    found = eval(ours, names)
    assert printed.splitlines()[-1] == repr(found) and found


def test_each_library_of_the_page_has_a_table_and_a_program():
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) == len(BEFORE) == 10
    for part in parts:
        assert "\n|---|---|\n" in part and "```python before\n" in part, part[:20]
