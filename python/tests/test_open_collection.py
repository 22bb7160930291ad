# SPDX-License-Identifier: Apache-2.0
"""Every text file and tar of ../shared/data: lv.open reads it, or says why not and where."""

import re
from collections import Counter
from pathlib import Path

import levada as lv
import pytest

DATA = Path(__file__).resolve().parents[3] / "shared/data"
NAMES = re.compile(r"\.(csv|tsv|json|jsonl|ndjson|txt|tar)(\.gz|\.zst)?$")

# How many files are read, of each kind; all others are refused.
READ = {"csv": 17, "json": 24, "jsonl": 4, "ndjson": 2, "tar": 27, "txt": 11}
# Why the others are refused: the kind of file, what its message must match, and how many there are.
REFUSED = [
    ("csv", r"row \d+: Unquoted fields cannot have quotes inside", 1),
    ("csv", r"row \d+: Quote inside a string has to be escaped by another quote \(field", 1),
    ("csv", r"line \d+: Field \d+ is required but missing in record! \(column '", 1),
    ("csv", r"line \d+: field '.*' must be UTF-8, got byte 0x.. at position \d+.*encoding=", 1),
    ("csv", r"all columns are strings.*set header=true, or record_defaults", 2),
    ("tsv", r"all columns are strings.*set header=true, or record_defaults", 1),
    ("json", r"line \d+: invalid JSON: (key '.*', )?byte \d+: .* must be here, got", 22),
    (
        "json",
        r"line \d+: invalid JSON: key '.*', byte \d+: .*invalid=replace reads it as U\+FFFD",
        2,
    ),
    ("json", r"line \d+: invalid JSON document: it ends inside of the list of records", 2),
    (
        "json",
        r"line \d+: invalid JSON document: brackets are nested more than [\d,]+ levels deep",
        1,
    ),
    ("json", r"line \d+: invalid JSON document: something follows the end of the document", 1),
    ("json", r"not a list of objects, nor one object per line; read a list in it with the", 20),
    ("json", r"not a list of objects: the value at byte \d+ is not an object; write one", 463),
    ("json", r"has the name of a jsonl file, but looks like text_lines; set source=", 1),
    ("json", r"is empty, so its format is unknown; set source=", 1),
    ("json", r"field '.*' has a name that is empty or has a dot.*; pass the fields", 2),
    ("json", r"(no records|have no fields); pass the fields", 5),
    ("tar", r"sample '.*': a member is sparse, which is not supported", 3),
]


def refusal(path):
    """Why lv.open or a whole pass refuses the file; None if it is read."""
    try:
        with lv.open(path).blocks() as blocks:
            for _ in blocks:
                pass
    except lv.errors.LevadaError as error:
        assert str(path) in str(error), error
        return str(error)
    return None


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_file_is_read_or_refused_for_a_listed_reason():
    files = sorted(path for path in DATA.rglob("*") if NAMES.search(path.name))
    read, refused = Counter(), Counter()
    for path in files:
        kind = NAMES.search(path.name)[1]
        why = refusal(path)
        if why is None:
            read[kind] += 1
            continue
        rules = [i for i, (k, rule, _) in enumerate(REFUSED) if k == kind and re.search(rule, why)]
        assert len(rules) == 1, why
        refused[rules[0]] += 1
    assert read == READ, read
    assert [refused[i] for i in range(len(REFUSED))] == [n for *_, n in REFUSED], refused
    assert sum(read.values()) + sum(refused.values()) == len(files) == 615
