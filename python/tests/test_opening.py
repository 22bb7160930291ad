# SPDX-License-Identifier: Apache-2.0
"""levada.open: formats by content, specs by the first records; and columns that are added."""

import pickle
import tarfile
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from levada.errors import DataLossError, InvalidArgumentError, NotFoundError


def write(path, *messages, compression=None):
    with lv.TFRecordWriter(path, compression) as writer:
        for message in messages:
            writer.write(message)
    return path


def examples(n=3):
    return [
        lv.make_example({"t": list(range(i)), "label": i, "f": [1.5], "s": b"x"}) for i in range(n)
    ]


class TestOpen:
    def test_examples_with_their_spec(self, tmp_path):
        ds = lv.open(write(tmp_path / "a.anything", *examples(), compression="gzip"))
        assert {name: repr(field) for name, field in ds.spec.items()} == {
            "f": "float32[]", "label": "int64[]", "s": "string[]", "t": "int64[?], ragged",
        }  # fmt: skip
        assert [int(r["label"]) for r in ds] == [0, 1, 2]
        assert [r["t"].tolist() for r in ds] == [[], [0], [0, 1]]

    def test_the_description_has_the_spec(self, tmp_path):
        path = write(tmp_path / "a", *examples())
        ds = lv.open(str(path))
        assert "parse_example:" in str(ds) and lv.from_text(str(ds)) == ds
        with iter(ds) as it:
            next(it)
            state = it.save()
        write(path.with_name("b"), *examples())
        with iter(lv.open(path)) as it:
            it.restore(state)
            assert int(next(it)["label"]) == 1

    def test_sequence_examples(self, tmp_path):
        message = lv.make_sequence_example(
            {"id": 3}, {"x": [1, 2], "w": [[1.0, 2.0]], "v": [[1], [2, 3]]}
        )
        ds = lv.open(write(tmp_path / "a", message, message))
        row = ds.first()
        assert int(row["id"]) == 3 and row["x"].tolist() == [1, 2]
        assert row["w"].tolist() == [[1.0, 2.0]] and row["v"].to_list() == [[1], [2, 3]]

    def test_lines_of_text(self, tmp_path):
        (tmp_path / "a.txt").write_text("one line\nand another\n")
        assert lv.open(tmp_path / "a.txt").to_list()[1] == {"line": b"and another"}

    def test_other_records_stay_bytes(self, tmp_path):
        for record in (b"plain", b"\xff" * 40, b"\x0a\x05ab", b"\0"):
            ds = lv.open(write(tmp_path / "a", record))
            assert ds.first() == {"record": record}
        assert lv.open(write(tmp_path / "a", b"")).first() == {"record": b""}

    def test_every_cut_of_a_message_is_bytes_or_a_message(self, tmp_path):
        (message,) = examples(1)
        for size in range(len(message)):
            lv.open(write(tmp_path / "a", message[:size]))

    def test_packed_and_single_values_count_alike(self, tmp_path):
        import wire

        assert wire
        numbers = [0, 1, 127, 128, 2**40, -1]
        ds = lv.open(write(tmp_path / "a", lv.make_example({"x": numbers})))
        assert ds.first()["x"].tolist() == numbers

    def test_two_dtypes_are_refused(self, tmp_path):
        path = write(tmp_path / "a", lv.make_example({"x": 1}), lv.make_example({"x": 1.5}))
        with pytest.raises(InvalidArgumentError, match="float32 and int64; pass spec="):
            lv.open(path)

    def test_what_is_asked_for_is_done(self, tmp_path):
        path = write(tmp_path / "a", *examples())
        assert list(lv.open(path, spec=None).spec) == ["record"]
        assert list(lv.open(path, spec={"label": lv.FixedLenFeature([], lv.int64)}).spec) == [
            "label"
        ]
        assert list(lv.open(path, source="text_lines").spec) == ["line"]
        with pytest.raises(InvalidArgumentError, match="source='csb'"):
            lv.open(path, source="csb")

    def test_nothing_to_open(self, tmp_path):
        with pytest.raises(NotFoundError):
            lv.open(tmp_path / "none-*")
        with pytest.raises(InvalidArgumentError, match="no records"):
            lv.open(write(tmp_path / "empty"))

    def test_home_is_expanded(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        write(tmp_path / "a", *examples())
        for name in ("~/a", Path("~/a"), ["~/a"], b"~/a"):
            assert len(lv.open(name).to_list()) == 3
        assert str(tmp_path) in str(lv.tfrecord("~/a"))


def twice(record):
    return record["value"] * 2


class TestColumns:
    def test_constants_and_functions(self):
        ds = lv.range(3).with_columns(source=b"web", n=twice, value=lambda r: r["value"] + 1)
        assert [(int(r["value"]), r["source"], int(r["n"])) for r in ds] == [
            (1, b"web", 0), (2, b"web", 2), (3, b"web", 4),
        ]  # fmt: skip
        assert lv.range(3).with_columns().to_list() == lv.range(3).to_list()

    def test_they_can_be_pickled(self):
        ds = lv.range(3).with_columns(n=twice, k=np.float32(2))
        assert pickle.loads(pickle.dumps(ds)).to_list() == ds.to_list()


def test_workers_are_not_capped_by_threads():
    import threading
    import time

    lock, inside, most = threading.Lock(), [0], [0]

    def waits(record):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.05)
        with lock:
            inside[0] -= 1
        return record

    ds = lv.range(24).map(waits, workers=4).with_options(threads=2, block_rows=1)
    assert [int(r["value"]) for r in ds] == list(range(24))
    assert most[0] in (3, 4)
    assert len(lv.range(4).map(dict, workers=4).with_options(threads=1).to_list()) == 4


def test_short_text_is_not_a_damaged_tfrecord(tmp_path):
    for text in ("a\n", "hello\n", "12 bytes ok\n"):
        (tmp_path / "q.txt").write_text(text)
        assert lv.open(tmp_path / "q.txt").to_list() == [{"line": text[:-1].encode()}]
    (tmp_path / "cut").write_bytes(b"\x10\x00\x00\x00\x00")
    with pytest.raises(DataLossError):
        lv.open(tmp_path / "cut")


def test_rows_and_samples_are_told_by_their_names(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\n1,"2\n3"\n')
    ds = lv.open(tmp_path / "a.csv")
    assert ds.to_list() == [{"x": 1, "y": b"2\n3"}]
    assert lv.from_text(str(ds)).to_list() == ds.to_list()  # columns are in the description
    assert len(lv.open(tmp_path / "a.csv", source="text_lines").to_list()) == 3
    (tmp_path / "one.txt").write_bytes(b"first")
    for name, mode in (("b.tar", "w"), ("b.tgz", "w:gz"), ("b.tar.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.add(tmp_path / "one.txt", "one.txt")
        (sample,) = lv.open([str(tmp_path / name)]).to_list()
        assert sample["key"] == b"one" and list(sample["values"]) == [b"first"]
