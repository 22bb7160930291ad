# SPDX-License-Identifier: Apache-2.0
"""ds[i] from call to call: what reads the records is kept, and notices what changes."""

import os
import random
import threading

import levada as lv
import pytest
from levada.errors import DataLossError, FailedPreconditionError

RECORDS = 900


def text(i, mark=""):
    return f"{mark}line {i} {'x' * (i % 50)}"


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    lv.index(str(path))


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "a.txt", [text(i) for i in range(RECORDS)])
    return tmp_path / "a.txt"


def records(path, **options):
    return lv.text_lines(str(path), index=True, **options).rename({"line": "text"})


def line(ds, i):
    return ds[i]["text"]


@pytest.mark.parametrize(
    "options", [{}, {"shuffle_records": True}, {"records": [100, 700]}, {"part": [1, 3]}]
)
def test_any_order_of_numbers(path, options):
    ds, first = (
        records(path, **options),
        {"records": 100, "part": 300}.get(next(iter(options), ""), 0),
    )
    n = len(ds)
    for i in [0, n - 1, 7, 7, -1, n // 2, 1, -n]:
        assert line(ds, i) == text(first + i % n)
    for i in (n, -n - 1):
        with pytest.raises(IndexError):
            ds[i]
    assert line(ds, 3) == text(first + 3)  # a failure changes nothing


def test_threads_share_a_dataset(path):
    ds, wrong = records(path), []

    def work(seed):
        for k in range(300):
            i = (seed * 131 + k * 17) % RECORDS
            if line(ds, i) != text(i):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_reads_on_its_own(path):
    ds = records(path)
    assert line(ds, 5) == text(5)
    child = os.fork()
    if child == 0:
        right = all(line(ds, i) == text(i) for i in range(0, RECORDS, 9))
        os._exit(0 if right else 1)
    assert all(line(ds, i) == text(i) for i in range(RECORDS - 1, 0, -9))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_file_that_is_written_and_indexed_again_is_noticed(path):
    """Also one with as many bytes and the same beginning, by another name or in place."""
    ds = records(path)
    assert line(ds, 800) == text(800)
    lines = [text(i) for i in range(RECORDS)]
    lines[799], lines[800] = lines[800], lines[799]
    write(path, lines)
    assert line(ds, 800) == text(799)
    assert len(ds[799]["text"]) == len(text(800))
    other = path.with_suffix(".new")
    write(other, [text(i) for i in range(RECORDS)])
    os.replace(other, path)
    os.replace(f"{other}.lvindex", f"{path}.lvindex")
    assert line(ds, 800) == text(800)
    write(path, lines[:10])
    assert line(ds, 9) == text(9)
    with pytest.raises(IndexError):
        ds[800]


def test_a_file_that_changed_since_it_was_indexed_is_an_error(path):
    ds = records(path)
    assert line(ds, 800) == text(800)
    data = path.read_bytes()
    at = data.index(text(800).encode())
    path.write_bytes(data[: at + 4] + b"\n" + data[at + 5 :])  # the line ends early
    with pytest.raises(DataLossError, match="the file has changed"):
        ds[800]
    assert line(ds, 801) == text(801)
    path.write_bytes(data + b"more\n")
    with pytest.raises(FailedPreconditionError, match="has changed"):
        ds[800]
    path.unlink()
    with pytest.raises(OSError):
        ds[800]
    path.write_bytes(data)
    assert line(ds, 800) == text(800)


def test_a_function_sees_each_record(path):
    seen = []
    ds = records(path).map(lambda r: (seen.append(1), r)[1])
    assert [line(ds, i) for i in (4, 9, 4)] == [text(4), text(9), text(4)]
    assert len(seen) == 3


def jsonl(path, draw):
    spaces = ["", "", "\n", " \n\t\n", "\n" * 700, "\n" * 70_000]
    rows = [f'{{"a":{i}}}\n{draw.choice(spaces)}' for i in range(200)]
    path.write_text("\n \n" + "".join(rows))
    return "jsonl", {"fields": {"a": lv.int64}}


def fixed_length(path, draw):
    sizes = {
        "record_bytes": draw.choice([1, 8, 500]),
        "hop_bytes": draw.choice([0, 501, 70_000]),
        "header_bytes": draw.choice([0, 3]),
        "footer_bytes": draw.choice([1, 700]),
    }
    hop = sizes["hop_bytes"] or sizes["record_bytes"]
    body = draw.randbytes(199 * hop + sizes["record_bytes"])
    path.write_bytes(b"h" * sizes["header_bytes"] + body + b"f" * sizes["footer_bytes"])
    return "fixed_length", sizes


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("write", [jsonl, fixed_length])
def test_bytes_between_records_belong_to_none(tmp_path, write, seed):
    path, draw = tmp_path / "a", random.Random(seed)
    name, options = write(path, draw)
    read = getattr(lv, name)
    ds = read(path, **options)
    lv.index(path, source=str(ds).replace(f"{path},", ""))
    want = list(ds)
    indexed = read(path, index=True, **options)
    assert len(indexed) == len(want) == 200
    numbers = draw.sample(range(200), 200)
    assert [indexed[i] for i in numbers] == [want[i] for i in numbers]
    for threads in (1, 3):
        mixed = read(path, index=True, shuffle_records=True, **options)
        got = list(mixed.with_options(threads=threads, seed=seed))
        assert len(got) == 200 and all(row in got for row in want)


def test_a_record_between_others_is_a_change(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a":1}\n' + " " * 7 + '\n{"a":3}\n')
    lv.index(path)
    ds = lv.jsonl(path, fields={"a": lv.int64}, index=True)
    assert [ds[i]["a"] for i in (1, 0)] == [3, 1]
    path.write_text('{"a":1}\n {"a":2}\n{"a":3}\n')
    with pytest.raises(FailedPreconditionError, match="has changed"):
        ds[0]
    rows = "".join(f'{{"a":{i}}}\n' for i in range(1000))  # the change is after the first 4 KiB
    path.write_text(rows + " " * 7 + '\n{"a":-1}\n')
    lv.index(path)
    assert ds[999]["a"] == 999 and ds[1000]["a"] == -1
    path.write_text(rows + '{"a":7}\n{"a":-1}\n')
    with pytest.raises(DataLossError, match="the file has changed"):
        ds[999]
    assert ds[1000]["a"] == -1
