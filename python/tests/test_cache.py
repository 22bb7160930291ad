# SPDX-License-Identifier: Apache-2.0
"""cache: the records of the first pass again."""

import os
import signal
import subprocess
import sys
import textwrap

import levada as lv
import numpy as np
import pytest
from levada import errors

calls = []


def counted(record):
    calls.append(int(record["value"]))
    return {"x": record["value"] * 2, "r": np.arange(record["value"] % 3)}


def drawn(record, generator):
    return {"x": generator.integers(9)}


@pytest.fixture(autouse=True)
def fresh():
    calls.clear()


def plain(ds):
    def value(v):
        return v.to_list() if hasattr(v, "to_list") else np.asarray(v).tolist()

    return [{name: value(v) for name, v in row.items()} for row in ds]


@pytest.mark.parametrize("threads", [1, 4])
def test_a_function_is_called_once_for_each_record(threads):
    ds = lv.range(600).map(counted).cache().with_options(threads=threads)
    epochs = [plain(ds.iterate(epoch)) for epoch in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert sorted(calls) == list(range(600))
    assert len(plain(ds.shuffle(9).batch(7))) == 86
    assert len(calls) == 600


def test_a_pass_that_ends_early_fills_nothing():
    ds = lv.range(600).map(counted).cache().with_options(threads=1)
    ds.first()
    assert len(plain(ds)) == 600
    assert len(plain(ds)) == 600
    assert sorted(set(calls)) == list(range(600))
    assert len(calls) < 1200


def test_a_file_is_for_later_programs(tmp_path):
    path = tmp_path / "a.cache"
    first = plain(lv.range(600).map(counted).cache(path))
    assert plain(lv.range(600).map(counted).cache(str(path))) == first
    assert len(calls) == 600
    assert len(plain(lv.range(601).map(counted).cache(path))) == 601  # another description
    assert len(calls) == 1201
    path.write_bytes(b"something else" * 10)
    with pytest.raises(errors.DataLossError, match="not a cache"):
        list(lv.range(600).map(counted).cache(path))
    assert path.read_bytes()[:9] == b"something"


def test_text_and_python_are_the_same():
    ds = lv.from_text("range:5 | cache | repeat:2")
    assert [int(r["value"]) for r in ds] == [0, 1, 2, 3, 4] * 2
    assert str(lv.range(5).cache()) == str(lv.from_text("range:5 | cache"))


@pytest.mark.parametrize("cut", [0, 1, 255, 256, 599, 600])
def test_resume_is_exact_without_the_content(cut, tmp_path):
    def make(path):
        return lv.range(600).map(counted).cache(path).shuffle(50).batch(9).with_options(seed=1)

    for path in (None, tmp_path / "b.cache"):
        ds = make(path)
        expected = [plain(ds.iterate(e)) for e in range(2)][1]
        for other in (ds, make(path)):
            with ds.iterate(1) as it, other.iterate(1) as again:
                head = [next(it) for _ in range(cut // 9)]
                again.restore(it.save())
                assert plain(head) + plain(again) == expected


def test_what_is_random_is_refused_when_it_is_written():
    for ds in (
        lv.range(9).shuffle(3),
        lv.range(9).shuffle(3, seed=1).batch(2),
        lv.range(9).map(drawn, rng=True),
        lv.tfrecord(["a", "b"], shuffle_files=True),
    ):
        with pytest.raises(errors.InvalidArgumentError, match="write it before"):
            ds.cache()


def test_a_file_needs_functions_that_are_known(tmp_path):
    seen = []
    counted = lv.range(3).map(lambda record: seen.append(record) or record)
    with pytest.raises(errors.InvalidArgumentError, match="variable that it captures"):
        list(counted.cache(tmp_path / "a"))
    assert len(list(counted.cache())) == 3
    with pytest.raises(errors.InvalidArgumentError, match="not batches"):
        lv.range(3).batch(2).cache(tmp_path / "a")


def test_skipped_records_are_skipped_once():
    def fails(record):
        if record["value"] % 3 == 0:
            raise ValueError("three")
        return record

    ds = lv.range(30).map(fails).cache().with_options(errors="skip")
    counts = []
    for _ in range(2):
        with iter(ds) as it:
            assert len(list(it)) == 20
            counts.append(it.stats()["skipped_records"])
    assert counts == [10, 0]


def test_skipped_records_fail_where_none_may_be_skipped(tmp_path):
    (tmp_path / "n.txt").write_text("1\nx\n3\n")
    ds = lv.text_lines(tmp_path / "n.txt").decode_csv("line", [lv.int64], columns=["v"])
    for cached in (ds.cache(), ds.cache(tmp_path / "a")):
        for _ in range(2):
            assert [int(r["v"]) for r in cached.with_options(errors="skip")] == [1, 3]
            assert [int(r["v"]) for r in cached.with_options(errors="skip:1")] == [1, 3]
            for strict in ("fail", "skip:0"):
                with pytest.raises(errors.InvalidArgumentError, match="record 1"):
                    list(cached.with_options(errors=strict))
    (tmp_path / "n.txt").write_text("1\n2\n3\n")
    for _ in range(2):
        assert [int(r["v"]) for r in ds.cache(tmp_path / "a")] == [1, 2, 3]


def test_a_file_holds_byte_strings_with_gaps_between(tmp_path):
    (tmp_path / "t.txt").write_text("a\n\nccc\r\ndd\n" * 200)
    (tmp_path / "t.csv").write_text('a,"b""c",1\n"e e",d,2\n' * 200)
    makers = (
        lambda: lv.text_lines(tmp_path / "t.txt"),
        lambda: lv.text_lines(tmp_path / "t.txt").filter("line != 'a'"),
        lambda: lv.csv(tmp_path / "t.csv", record_defaults=[lv.string, lv.string, lv.int64]),
    )
    for i, make in enumerate(makers):
        for _ in range(2):
            assert plain(make().cache(tmp_path / str(i))) == plain(make())


def test_a_file_is_of_one_folder_and_one_part(tmp_path):
    path = tmp_path / "a"
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.txt").write_text(name)
    for name in ("x", "y", "x"):
        rows = lv.text_lines(tmp_path / name / "t.txt").cache(path)
        assert [r["line"] for r in rows] == [name]
    for part in (0, 1, 0):
        rows = lv.range(10).shard(part, 2).cache(path)
        assert [int(r["value"]) for r in rows] == list(range(part, 10, 2))
    with pytest.raises(errors.InvalidArgumentError, match="of an array"):
        list(lv.from_arrays({"x": [1, 2]}).cache(path))


@pytest.mark.parametrize("decoder", ["decode_png", "decode_jpeg", "decode_image"])
def test_windows_at_random_places_are_not_kept(decoder):
    images = lv.from_arrays({"image": [b"?"]})
    random = getattr(images, decoder)("image", random_crop=[2, 2])
    with pytest.raises(errors.InvalidArgumentError, match=decoder):
        random.cache()
    with pytest.raises(errors.InvalidArgumentError, match=f"upstream of '{decoder}'"):
        list(random.stage("cache"))
    getattr(images, decoder)("image", crop=[0, 0, 2, 2]).cache()


def test_a_crash_while_it_is_written_leaves_no_file(tmp_path):
    program = """
        import os, signal, sys
        import levada as lv
        for i, row in enumerate(lv.range(100000).cache(sys.argv[1])):
            if i == 50000:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "a.cache"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), path])
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_an_error(tmp_path):
    program = """
        import resource, sys
        import levada as lv
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            list(lv.range(100000).cache(sys.argv[1]))
        except lv.errors.ResourceExhaustedError:
            print("refused")
    """
    words = [sys.executable, "-c", textwrap.dedent(program), tmp_path / "a.cache"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "refused\n"
    assert os.listdir(tmp_path) == []
