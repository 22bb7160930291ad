# SPDX-License-Identifier: Apache-2.0
"""docs/words.md names everything of ours, and words that the other libraries have."""

import json
import re

import levada as lv
import pages
import peer_libraries
import pytest
from levada import _words

PAGE = (pages.ROOT / "docs" / "words.md").read_text()
NAMED = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
DASH = "\u2013"  # the library has no such thing
TABLES = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| levada |")
]
ROWS = [row for row in TABLES if len(row) != 4]
STREAMS = [row for row in TABLES if len(row) == 4]
# Where the words of a library are looked up.
HOMES = {
    "tensorflow": ["data.Dataset", "data", "data.experimental", "", "random", "train"],
    "datasets": ["IterableDataset", "Dataset", ""],
    "grain": ["MapDataset", "IterDataset", "", "experimental", "sharding"],
    "webdataset": ["WebDataset", ""],
    "polars": ["LazyFrame", "DataFrame", ""],
    "pandas": ["DataFrame", ""],
    "streaming": [""],
    "litdata": [""],
}
COLUMNS = dict(zip(HOMES, [*range(1, 7), 1, 2], strict=True))
LOOK_UP = """
import importlib, inspect, json, sys, warnings
warnings.simplefilter("ignore")
name, homes, words = json.loads(sys.argv[1])
library = importlib.import_module(name)
if name == "grain":
    import grain.experimental

def values(path):
    for home in homes:
        value = library
        try:
            for part in filter(None, f"{home}.{path}".split(".")):
                value = getattr(value, part)
        except AttributeError:
            continue
        yield value

def options(value):
    try:
        call = value.__init__ if inspect.isclass(value) else value
        return set(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return set()

print(json.dumps([[path, given] for path, given in words
    if not any(set(given) <= options(value) for value in values(path))]))
"""


def test_every_stage_and_option_is_on_the_page():
    text = (pages.ROOT / "docs" / "stages.md").read_text()
    ours = set(re.findall(r"^### (\w+)$|^\| `(\w+)`", text, re.MULTILINE))
    missing = sorted({name or option for name, option in ours} - NAMED)
    assert missing == [] and len(ours) > 200


@pytest.mark.parametrize("kind", [lv.Dataset, lv.Batch, lv.Iterator])
def test_every_attribute_is_on_the_page(kind):
    names = {name for name in dir(kind) if name[0] != "_"}
    assert sorted(names - NAMED) == []


def test_rows_have_a_verdict():
    assert len(ROWS) > 80 and len(STREAMS) > 15
    for row in TABLES:
        *words, verdict = row[1:]
        assert len(row) in (4, 8) and re.match(r"(same|one of|own:)", verdict), row
        assert any(cell != DASH for cell in words) or "own" in verdict, row
        assert not verdict.startswith("own") or len(verdict) > len("own: "), row  # with a reason


@pytest.mark.parametrize("name", HOMES)
def test_the_words_of_the_library_exist(name, tmp_path):
    words = []
    for row in STREAMS if name in ("streaming", "litdata") else ROWS:
        for word in re.findall(r"`([^`]+)`", row[COLUMNS[name]]):
            path, _, given = word.rstrip(")").partition("(")
            options = [option.strip() for option in given.split(",") if option]
            if path != "__key__":  # a field of samples
                words.append([re.sub(r"^(tf|grain)\.", "", path), options])
    given = json.dumps([name, HOMES[name], words])
    code = f"import sys; sys.argv[1:] = [{given!r}]\n{LOOK_UP}"
    assert json.loads(peer_libraries.run(name, code, tmp_path)) == []
    assert len(words) > 5


def test_errors_name_our_word():
    ds = lv.range(3)
    for name, ours in _words.METHODS.items():
        with pytest.raises(AttributeError) as error:
            getattr(ds, name)
        assert str(error.value) == f"a Dataset has no {name!r}; levada calls it {ours}"
        first = re.match(r"\w+", ours)[0]
        assert first in ("iter", "len", "list", "levada") or hasattr(ds, first), name
    for name, ours in _words.FUNCTIONS.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; levada calls it"):
            getattr(lv, name)
        assert hasattr(lv, re.match(r"\w+", ours)[0]), name
    with pytest.raises(AttributeError, match=r"'Dataset' object has no attribute 'nothing'$"):
        ds.nothing  # noqa: B018
    assert not hasattr(ds, "columns")
