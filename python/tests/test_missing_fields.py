# SPDX-License-Identifier: Apache-2.0
"""Fields that no record has: named with counts at the end of a pass."""

import json
import logging

import levada as lv
import numpy as np
import pytest

N = 300


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fields")
    with lv.TFRecordWriter(folder / "a.tfrecord") as to:
        for i in range(N):
            to.write(
                lv.make_example({"tokens": [i, 2], "label": i, "late": [1] if i > 290 else []})
            )
    with lv.TFRecordWriter(folder / "s.tfrecord") as to:
        for i in range(N):
            to.write(lv.make_sequence_example({"label": i}, {"words": [1, 2]}))
    rows = [{"tokens": [i], "label": i, "null": None, "a": {"b": [1]}} for i in range(N)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def example(spec):
    return lambda files: lv.tfrecord(files / "a.tfrecord").parse_example(spec)


def sequence(context, lists):
    return lambda files: lv.tfrecord(files / "s.tfrecord").parse_sequence_example(context, lists)


def lines(fields):
    return lambda files: lv.jsonl(files / "a.jsonl", fields=fields)


def text(fields):
    return lambda files: lv.text_lines(files / "a.jsonl").decode_json("line", fields)


VAR = lv.VarLenFeature(lv.int64)
HAVE = f"in none of {N} records; the records have "
MISSING = {
    "var": (example({"tokn": VAR}), f"field 'tokn' was {HAVE}tokens, label"),
    "steps": (
        example({"tokn": lv.FixedLenSequenceFeature([], lv.int64, allow_missing=True)}),
        "field 'tokn'",
    ),
    "ragged": (example({"tokn": lv.RaggedFeature(lv.int64)}), "field 'tokn'"),
    "sparse": (example({"t": lv.SparseFeature("i", "v", lv.int64, 9)}), "field 't/"),
    "two": (example({"x": VAR, "y": VAR, "tokens": VAR}), "fields 'x', 'y' were "),
    "many": (example({f"x{i}": VAR for i in range(30)}), "'x7' and 22 more were "),
    "context": (sequence({"x": VAR}, {"words": VAR}), f"field 'x' was {HAVE}label, words"),
    "list": (sequence(None, {"word": VAR}), f"field 'word' was {HAVE}label, words"),
    "jsonl": (lines({"m": ["string"]}), f"field 'm' was {HAVE}tokens, label, null, a"),
    "path": (lines({"m": {"dtype": ["string"], "path": "a.c"}}), "field 'm' was "),
    "json": (text({"m": ["string"]}), f"field 'm' was {HAVE}tokens, label, null, a"),
}
PRESENT = {
    "some": example({"late": VAR, "tokens": VAR}),
    "default": example({"x": lv.FixedLenFeature([], lv.int64, default_value=3)}),
    "lists": sequence({"label": VAR}, {"words": VAR}),
    "null": lines({"null": ["int64"], "tokens": ["int64"]}),
    "path": lines({"m": {"dtype": ["int64"], "path": "a.b"}}),
    "told": lines({"x": {"dtype": "string", "default": ""}}),
    "text": lambda files: lv.jsonl(files / "a.jsonl"),
}


def notes(ds, caplog, passes=1):
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="levada"), iter(ds) as it:
        count = sum(1 for _ in it)
        problems = it.stats()["problems"]
    assert all(not problem["lost"] for problem in problems)
    assert [record.getMessage() for record in caplog.records] == [
        f"{problem['stage']}: {problem['message']}" for problem in problems
    ]
    return count, [problem["message"] for problem in problems]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", MISSING)
def test_fields_that_no_record_has_are_named(files, caplog, name, threads):
    make, message = MISSING[name]
    ds = make(files).with_options(threads=threads)
    count, (note,) = notes(ds, caplog)
    assert count == N and message in note
    count, told = notes(ds.shuffle(50, seed=1).batch(7).with_options(threads=threads), caplog)
    assert count == -(-N // 7) and told == [note]
    count, (twice,) = notes(ds.repeat(2), caplog)
    assert count == 2 * N and twice == note  # of the first pass
    assert notes(ds.take(N - 1), caplog) == (N - 1, [])  # not the end of a pass


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Four files, of which only the third has the field `rare`, and nobody `none`."""
    folder = tmp_path_factory.mktemp("parts")
    for part in range(4):
        with lv.TFRecordWriter(folder / f"{part}.tfrecord") as to:
            for i in range(50):
                to.write(lv.make_example({"tokens": [i], **({"rare": [1]} if part == 2 else {})}))
    return [str(folder / f"{part}.tfrecord") for part in range(4)]


THREE = {"tokens": VAR, "rare": VAR, "none": VAR}
PIPE = lv.tfrecord("{path}").parse_example(THREE)
SOURCES = {
    "files": lambda parts: lv.tfrecord(parts).parse_example(THREE),
    "decoder downstream": lambda parts: (
        lv.files(parts).interleave(lv.tfrecord("{path}")).parse_example(THREE)
    ),
    "pipes": lambda parts: lv.files(parts).interleave(PIPE),
    "one at a time": lambda parts: lv.files(parts).interleave(PIPE, cycle_length=1),
    "in twos": lambda parts: lv.files(parts).interleave(PIPE, cycle_length=2, block_length=7),
    "batches": lambda parts: lv.files(parts).interleave(PIPE.batch(3)),
    "parts of pipes": lambda parts: lv.files(parts).interleave(PIPE.repeat(2).take(60)),
    "mixed pipes": lambda parts: lv.files(parts).interleave(lv.concat(PIPE.take(9), PIPE)),
    "pipes of pipes": lambda parts: lv.files(parts).interleave(
        lv.files("{path}").interleave(PIPE), cycle_length=3
    ),
}
AROUND = {
    "alone": lambda ds: ds,
    "concat": lambda ds: lv.concat(ds.take(3), ds),
    "mix": lambda ds: lv.mix([ds, ds.take(3)], seed=1),
    "zip": lambda ds: lv.zip(ds, lv.range(1000)),
    "shuffle": lambda ds: ds.shuffle(20, seed=1),
    "prefetch": lambda ds: ds.prefetch(2),
    "rank": lambda ds: ds.shard(1, 2),
    "batch": lambda ds: ds.batch(7),
    "repeat(3)": lambda ds: ds.repeat(3),
    "repeat()": lambda ds: ds.repeat().take(900),
    "repeat of a shuffle": lambda ds: ds.shuffle(20, seed=1).repeat().take(900),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("around", AROUND)
def test_fields_that_no_pipe_of_a_pass_has_are_named_once(parts, caplog, around, threads):
    for name, source in SOURCES.items():
        if name == "batches" and around not in ("alone", "prefetch", "repeat(3)", "repeat()"):
            continue
        ds = AROUND[around](source(parts)).with_options(threads=threads)
        _, told = notes(ds, caplog)
        assert len(told) == 1, (name, told)
        assert "field 'none' was in none of " in told[0] and "have tokens" in told[0], (name, told)


@pytest.mark.parametrize("name", SOURCES)
def test_nothing_is_named_before_the_end_of_a_pass(parts, caplog, name):
    rows = 199 if name not in ("batches", "parts of pipes") else 60
    for ds in (SOURCES[name](parts).take(rows), SOURCES[name](parts).repeat().take(rows)):
        assert notes(ds.with_options(threads=3), caplog)[1] == []


@pytest.mark.parametrize("name", ["files", "pipes", "pipes of pipes"])
def test_the_number_of_records_is_that_of_the_pass(parts, caplog, name):
    ds = SOURCES[name](parts)
    texts = {notes(ds.with_options(threads=n).repeat(n), caplog)[1][0] for n in (1, 2, 3)}
    assert len(texts) == 1 and "none of 200 records" in texts.pop()


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", SOURCES)
def test_a_pass_that_was_not_read_whole_names_nothing(parts, caplog, name, around):
    if name == "batches" and around not in ("alone", "prefetch", "repeat(3)", "repeat()"):
        return
    made = AROUND[around](SOURCES[name](parts.copy()))
    if "repeat" in around:
        made = SOURCES[name](parts).repeat(1)
    ds = made.with_options(threads=2, block_rows=8)
    count = sum(1 for _ in ds)
    for cut in (1, count // 2, count - 1):
        with iter(ds) as it:
            for _ in range(cut):
                next(it)
            state = it.save()
        caplog.clear()
        with iter(ds) as it:
            it.restore(state)
            assert sum(1 for _ in it) == count - cut
            told = [problem["message"] for problem in it.stats()["problems"]]
        assert not any("rare" in text for text in told), cut  # of a pass read whole before the save


def test_the_next_pass_after_a_resumed_one_names_them(parts):
    ds = SOURCES["files"](parts).repeat(3).with_options(block_rows=8)
    with iter(ds) as it:
        for _ in range(190):  # of 200: the field `rare` came before
            next(it)
        state = it.save()
    with iter(ds) as it:
        it.restore(state)
        assert sum(1 for _ in it) == 410
        (problem,) = it.stats()["problems"]
        assert problem["message"].startswith("field 'none' was in none of 2")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", PRESENT)
def test_fields_that_are_there_or_have_a_default_are_not(files, caplog, name, threads):
    ds = PRESENT[name](files).with_options(threads=threads)
    assert notes(ds, caplog) == (N, [])


@pytest.mark.parametrize(("dtype", "good"), [(["string"], '["x"]'), ("string", '"x"')])
def test_a_path_through_a_list_is_a_bad_record(tmp_path, dtype, good):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"a": [{"b": "hi"}]}\n{"a": {"b": ' + good + '}}\n{"a": [[{"b": 1}]]}\n')
    ds = lv.jsonl(path, fields={"c": {"dtype": dtype, "path": "a.b"}})
    with pytest.raises(lv.errors.InvalidArgumentError, match="leads through a list"):
        ds.to_list()
    (kept,) = ds.with_options(errors="skip").to_list()
    assert np.ravel(kept["c"]).tolist() == [b"x"]
