# SPDX-License-Identifier: Apache-2.0
"""levada.open: formats by content, specs by the first records; and columns that are added."""

import json
import pickle
import re
import tarfile
from pathlib import Path

import levada as lv
import numpy as np
import pytest
from cli_support import levada
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)

DATA = Path(__file__).resolve().parents[3] / "shared/data/tfrecord"


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
        assert lv.open(tmp_path / "a.txt").to_list()[1] == {"line": "and another"}

    @pytest.mark.parametrize("kind", ["tfrecord", "jsonl", "csv"])
    def test_files_that_change_are_noticed(self, tmp_path, kind):
        path = tmp_path / f"a.{kind}"

        def write_rows(x):
            if kind == "tfrecord":
                write(path, *(lv.make_example({"x": x, "i": i}) for i in range(600)))
            elif kind == "jsonl":
                path.write_text("".join(json.dumps({"x": x, "i": i}) + "\n" for i in range(600)))
            else:
                path.write_text("x,i\n" + "".join(f"{x},{i}\n" for i in range(600)))

        write_rows(1)
        ds = lv.open(path)
        with iter(ds) as it:
            next(it)
            state = it.save()
        write_rows("text")
        with pytest.raises(InvalidArgumentError, match="int64") as caught:
            ds.to_list()
        assert caught.value.record == 0 and "x" in str(caught.value)
        other = lv.open(path)
        assert other.spec["x"].dtype == (lv.string if kind == "tfrecord" else lv.text)
        cases = [
            (other, "belongs to another pipeline"),
            (lv.from_text(str(ds)), "was changed since"),
        ]
        for opened, message in cases:
            with iter(opened) as it, pytest.raises(FailedPreconditionError, match=message):
                it.restore(state)

    def test_json_lines(self, tmp_path):
        path = tmp_path / "a.jsonl"
        rows = [{"id": i, "x": i / 2 if i % 2 else i, "t": list(range(i))} for i in range(4)]
        rows[2] |= {"s": "two", "meta": {"lang": "pt"}}
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ds = lv.open(path)
        assert {name: repr(field) for name, field in ds.spec.items()} == {
            "id": "int64[]", "x": "float64[]", "t": "int64[?], ragged", "s": "text[]",
            "meta.lang": "text[]",
        }  # fmt: skip
        assert [(int(r["id"]), float(r["x"]), r["t"].tolist()) for r in ds] == [
            (0, 0.0, []), (1, 0.5, [0]), (2, 2.0, [0, 1]), (3, 1.5, [0, 1, 2]),
        ]  # fmt: skip
        assert [r["s"] for r in ds] == ["", "", "two", ""]
        assert lv.from_text(str(ds)) == ds
        assert list(lv.open(path, spec=None).spec) == ["line"]
        assert list(lv.open(path, spec={"id": lv.int32}).spec) == ["id"]
        assert str(lv.jsonl(path, fields="auto")) == str(ds)
        assert list(lv.text_lines(path).decode_json("line", "auto").spec) == list(ds.spec)

    def test_a_spec_is_not_for_every_format(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,b\n1,2\n")
        with pytest.raises(InvalidArgumentError, match=r"the files are csv; call lv\.csv"):
            lv.open(tmp_path / "a.csv", spec={"a": lv.FixedLenFeature([], lv.int64)})
        (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
        for spec, message in [
            (["a"], "fields must be {name: dtype, ...} or 'auto', got ['a']"),
            ({"a": lv.FixedLenFeature([], lv.int64)}, "is for tf.train.Example messages; write"),
        ]:
            with pytest.raises(InvalidArgumentError, match=re.escape(message)):
                lv.open(tmp_path / "a.jsonl", spec=spec)
        with pytest.raises(InvalidArgumentError, match="a map of 1 to 4096 names and dtypes"):
            lv.decode_json([b"{}"], "auto")

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
        with pytest.raises(
            InvalidArgumentError, match="'x' has float32 and int64 values; pass a spec"
        ):
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
        with pytest.raises(InvalidArgumentError, match="is empty"):
            lv.open(write(tmp_path / "empty"))

    @pytest.mark.parametrize("files", [3, None, [3], {"a": 1}.items()])
    def test_what_is_no_path_is_named(self, files):
        with pytest.raises(TypeError, match="must be a path, a glob, or a list of them") as caught:
            lv.open(files)
        assert repr(files) in str(caught.value)

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
        assert lv.open(tmp_path / "q.txt").to_list() == [{"line": text[:-1]}]


def test_other_data_is_named(tmp_path):
    shared = Path(__file__).resolve().parents[3] / "shared/data"
    kinds = {
        b"\x10\0\0\0\0": "binary data",
        b"PAR1" + bytes(90): "a Parquet file",
        b"\x89PNG\r\n\x1a\n" + bytes(40): "a PNG image",
        b"\x80\x04" + bytes(9): "a Python pickle",
    }
    for data, what in kinds.items():
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(InvalidArgumentError, match=f"(unknown format .* like|this is) {what}"):
            lv.open(tmp_path / "x")
    if shared.exists():
        with pytest.raises(InvalidArgumentError, match="this is a FLAC file"):
            lv.open(next(shared.glob("audio/flac-ietf/subset/*.flac")))


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08\xa4", b"\x1f\x8b\x08\x00"])
def test_a_damaged_compressed_file_is_named(tmp_path, head):
    path = tmp_path / "records.gz"  # reserved flags: the bytes do not look like gzip, the name does
    path.write_bytes(head + b"\xff" * 3000)
    with pytest.raises(InvalidArgumentError, match="looks like a damaged compressed file"):
        lv.open(path)
    damage = json.loads(levada("verify", "--json", path, status=1).stdout)
    assert damage["compression"] == "gzip" and "gzip: " in damage["damage"][0]["text"]


def test_a_checksum_wins_over_the_name_and_nothing_else_does(tmp_path):
    path = write(tmp_path / "a.txt", *examples())
    assert "t" in lv.open(path).spec
    (tmp_path / "a.tfrecord").write_text("<html>not found</html>\n" * 9)
    with pytest.raises(
        InvalidArgumentError, match="the name of a tfrecord file, but looks like text"
    ):
        lv.open(tmp_path / "a.tfrecord")
    assert "line" in lv.open(tmp_path / "a.tfrecord", source="text_lines").spec


def test_a_first_empty_file_does_not_decide(tmp_path):
    (tmp_path / "a-0").write_bytes(b"")
    write(tmp_path / "a-1", *examples())
    assert len(lv.open(tmp_path / "a-*").to_list()) == 3


def test_damage_among_the_first_records_is_left_to_the_run(tmp_path):
    path = write(tmp_path / "a", *examples(5))
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    ds = lv.open(path)
    assert len(ds.with_options(errors="skip").to_list()) == 4
    with pytest.raises(DataLossError):
        ds.to_list()
    data[13] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError, match="record 0"):
        lv.open(path)


def test_text_finds_the_same_spec_for_every_order_and_part(tmp_path):
    write(tmp_path / "a", *examples(200))
    text = f"tfrecord:{tmp_path}/a"
    ds = lv.from_text(f"{text} | parse_example:auto")
    assert ds == lv.open(tmp_path / "a") == lv.tfrecord(tmp_path / "a").parse_example("auto")
    assert "auto" not in str(ds) and "auto" not in ds.explain()
    mixed = [
        lv.from_text(f"{text} | shuffle:9,seed=3 | shard:index={rank},count=2 | parse_example:auto")
        for rank in range(2)
    ]
    assert [m.spec for m in mixed] == [ds.spec, ds.spec]
    with iter(ds) as it:
        rows = [next(it) for _ in range(3)]
        state = it.save()
    with iter(lv.from_text(str(ds))) as it:
        it.restore(state)
        assert int(next(it)["label"]) == 3 and len(rows) == 3


def test_auto_refuses_what_it_cannot_know(tmp_path):
    (tmp_path / "t.txt").write_text("a line\n")
    sequence = lv.make_sequence_example({"id": 3}, {"x": [1, 2]})
    path = write(tmp_path / "s", sequence)
    cases = {
        f"text_lines:{tmp_path}/t.txt | parse_example:auto": "is not an Example; pass a spec",
        f"tfrecord:{path} | parse_example:auto": "use parse_sequence_example:auto",
        f"tfrecord:{path} | take:0 | parse_example:auto": "the input has no records",
        "range:3 | parse_example:auto": "no column of bytes",
    }
    for text, message in cases.items():
        kind = DataLossError if "pass a spec" in message else InvalidArgumentError
        with pytest.raises(kind, match=message):
            lv.from_text(text)
    with pytest.raises(NotFoundError):
        lv.from_text("tfrecord:/nowhere | parse_example:auto")


def test_sequences_found_and_context_given(tmp_path):
    message = lv.make_sequence_example({"id": 3, "x": 1}, {"x": [1, 2], "y": [[b"a"], []]})
    path = write(tmp_path / "s", message)
    ds = lv.from_text(f"tfrecord:{path} | parse_sequence_example:auto")
    assert sorted(ds.spec) == ["id", "sequence/x", "x", "y"] and ds == lv.open(path)
    assert ds.first()["sequence/x"].tolist() == [1, 2]
    some = lv.tfrecord(path).parse_sequence_example(
        {"id": lv.FixedLenFeature([], lv.int64)}, "auto"
    )
    assert sorted(some.spec) == ["id", "x", "y"] or sorted(some.spec) == ["id", "sequence/x", "y"]


@pytest.mark.skipif(not DATA.exists(), reason="shared/data is not here")
def test_public_files_open_alike_in_python_and_text():
    files = [f for f in sorted(DATA.rglob("*")) if f.is_file() and "LICENSE" not in f.name]
    parsed: list[Path] = []
    assert len(files) > 20
    for path in files:
        ds = lv.open(path)
        name = "parse_sequence_example" if "sequence" in str(ds).split("|")[-1] else "parse_example"
        raw = lv.tfrecord(path).to_list()
        if "parse" not in str(ds):
            assert ds.to_list() == raw
            continue
        parsed.append(path)
        assert lv.from_text(f"tfrecord:{path} | {name}:auto") == ds
        try:
            assert len(ds.to_list()) == len(raw), path
        except InvalidArgumentError as error:  # a scalar that a later record lacks
            assert error.record >= 1000 and "required but could not be found" in error.message
    assert len(parsed) > 15


def test_rows_and_samples_are_told_by_their_names(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\n1,"2\n3"\n')
    ds = lv.open(tmp_path / "a.csv")
    assert ds.to_list() == [{"x": 1, "y": "2\n3"}]
    assert lv.from_text(str(ds)).to_list() == ds.to_list()  # columns are in the description
    assert len(lv.open(tmp_path / "a.csv", source="text_lines").to_list()) == 3
    (tmp_path / "one.txt").write_bytes(b"first")
    for name, mode in (("b.tar", "w"), ("b.tgz", "w:gz"), ("b.tar.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.add(tmp_path / "one.txt", "one.txt")
        (sample,) = lv.open([str(tmp_path / name)]).to_list()
        assert sample["key"] == b"one" and list(sample["values"]) == [b"first"]


@pytest.mark.parametrize("text", ["[1, 2]", '[\n["a"]\n]\n', '{\n  "a": [{"b": 1}]\n}\n'])
def test_a_json_document_is_refused_and_the_remedy_named(tmp_path, text):
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match="is a JSON document, but not a list"):
        lv.open(path)
    assert lv.open(path, source="text_lines").to_list()[0]["line"] == text.splitlines()[0]


@pytest.mark.parametrize("text", ['{"a": 1}\n{"a": 2}\n', '\ufeff\n {"a": 1} \r\n{"a": 2}'])
def test_json_lines_may_end_in_json(tmp_path, text):
    path = tmp_path / "notes.json"
    path.write_text(text, encoding="utf-8")
    assert [record["a"] for record in lv.open(path)] == [1, 2]
