# SPDX-License-Identifier: Apache-2.0
"""Python functions inside pipelines."""

import gc
import itertools
import threading
import time
import traceback
import weakref

import levada as lv
import numpy as np
import pytest
from levada import errors


def double(record):
    return {"x": record["value"] * 2}


def test_map():
    assert [row["x"] for row in lv.range(600).map(double)] == [2 * i for i in range(600)]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, 256])
def test_map_keeps_order(threads, workers, rows):
    ds = lv.range(100).map(double, workers=workers).batch(9)
    ds = ds.with_options(threads=threads, block_rows=rows)
    assert np.concatenate([batch["x"] for batch in ds]).tolist() == list(range(0, 200, 2))


def test_functions_run_on_threads_of_python():
    seen = set()

    def fn(record):
        seen.add(threading.current_thread())
        return record

    assert len(list(lv.range(500).map(fn))) == 500
    assert threading.main_thread() not in seen
    assert all(thread.daemon for thread in seen)


def test_map_of_other_shapes(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\nthree\n\n")
    ds = lv.text_lines(path).map(lambda r: {"tokens": np.frombuffer(r["line"].encode(), np.uint8)})
    assert [row["tokens"].tobytes() for row in ds] == [b"one", b"three", b""]
    batch = ds.padded_batch(3).first()
    assert batch["tokens"].shape == (3, 5)
    assert batch.lengths("tokens").tolist() == [3, 5, 0]


def test_map_over_batches():
    ds = lv.range(10).map(
        lambda b: {"y": b["value"] + 1, "n": np.full(len(b["value"]), 1)}, batched=True
    )
    assert [row["y"] for row in ds] == list(range(1, 11))


def test_a_spec_fixes_dtypes():
    ds = lv.range(3).map(lambda r: {"x": int(r["value"])}, spec={"x": lv.float32})
    assert ds.batch(3).first()["x"].dtype == np.float32


def test_the_original_exception_is_caught():
    def fails(record):
        if record["value"] == 5:
            raise KeyError("my own")
        return record

    it = iter(lv.range(10).map(fails))
    with pytest.raises(KeyError, match="my own") as caught:
        list(it)
    text = "".join(traceback.format_exception(caught.value))
    assert "in fails" in text
    with pytest.raises(KeyError):
        next(it)


@pytest.mark.parametrize("policy", ["fail", "skip:400"])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_original_exception_is_caught_where_all_records_fail(threads, policy):
    def fails(record):
        raise KeyError(f"my own {record['value']}")

    ds = lv.range(3000).map(fails, workers=threads).with_options(threads=threads, errors=policy)
    with pytest.raises(KeyError, match=f"my own {0 if policy == 'fail' else 400}'") as caught:
        list(ds)
    assert "fails" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_failures_with_one_message_keep_their_own_exceptions():
    """Two functions fail alike; each iterator raises the exception of its own function."""

    def one(record):
        raise KeyError("alike")

    def other(record):
        raise KeyError("alike")

    iterators = [iter(lv.range(3).map(fn).with_options(threads=1)) for fn in (one, other)]
    found = []
    for it in iterators:
        with pytest.raises(KeyError, match="alike") as caught:
            next(it)
        found.append(caught.value)
    for it, name, error in zip(iterators, ("one", "other"), found, strict=True):
        with pytest.raises(KeyError, match="alike") as caught:
            next(it)
        assert caught.value is error
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert name in names
        assert len({"one", "other"} & set(names)) == 1


def test_a_message_of_any_length_and_content_finds_its_exception():
    for text in ("", "a\nb\0c", "x" * 5000, "\udcff", "\U0001f600" * 400):
        error = ValueError(text)

        def fails(record, error=error):
            raise error

        with pytest.raises(ValueError) as caught:
            list(lv.range(1).map(fails))
        assert caught.value is error


def test_exceptions_are_kept_while_another_one_is_looked_for():
    """The collector may run in the middle of a look, and with it any code, on any thread."""
    kept = itertools.count()

    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            errors.keep(KeyError(f"kept {next(kept)}"), first=False)

    place = (None,) * 5
    thresholds = gc.get_threshold()
    gc.set_threshold(10)
    try:
        for number in range(2000):
            Cycle()
            mine = KeyError(f"mine {number}")
            code, message, token = errors.keep(mine)
            assert errors.from_status(code, message, *place, token) is mine
    finally:
        gc.set_threshold(*thresholds)
    assert next(kept) > 1000


def test_what_failed_functions_held_is_let_go():
    class Local:
        pass

    seen = []

    def fails(record):
        local = Local()
        seen.append(weakref.ref(local))
        raise KeyError(f"{record['value']}")

    assert list(lv.range(2000).map(fails).with_options(errors="skip")) == []
    gc.collect()
    assert len(seen) == 2000
    assert sum(ref() is not None for ref in seen) <= 16


def test_bad_records_can_be_skipped():
    def fails(record):
        if record["value"] % 3 == 0:
            raise ValueError("three")
        return record

    it = iter(lv.range(10).map(fails).with_options(errors="skip"))
    assert [row["value"] for row in it] == [1, 2, 4, 5, 7, 8]
    assert it.stats()["skipped_records"] == 4


ODD = {
    "lacks": ({"a": 1, "b": 2}, {"a": 1}, "a record lacks field 'b'; it has a"),
    "dtype": ({"a": 1, "b": 2}, {"a": "x", "b": 2}, "expected int64 values, got string"),
    "shape": (
        {"a": 1, "b": 2},
        {"a": [[1, 2]], "b": 2},
        "expected a single value, got a value of",
    ),
    "object": (
        {"a": 1, "b": 2},
        {"a": object(), "b": 2},
        "must be a number, a byte string or an array",
    ),
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("at", [0, 5, 300])
@pytest.mark.parametrize("usual, odd, text", ODD.values(), ids=ODD)
def test_a_record_that_does_not_fit_the_spec_is_bad_alone(usual, odd, text, at, threads):
    ds = lv.range(600).map(
        lambda r: {**(odd if r["value"] == at else usual), "n": r["value"]},
        spec={"a": "int64", "b": "int64", "n": "int64"},
    )
    with iter(ds.with_options(errors="skip", threads=threads)) as it:
        assert [int(row["n"]) for row in it] == [i for i in range(600) if i != at]
        (problem,) = it.stats()["problems"]
    assert problem["record"] == at
    assert text in problem["message"]
    with pytest.raises(errors.InvalidArgumentError, match=text) as info:
        list(ds.with_options(threads=threads))
    assert (info.value.record, info.value.stage) == (at, "1.map")


def test_without_a_spec_no_record_is_the_odd_one():
    ds = lv.range(10).map(lambda r: {"a": "x" if r["value"] == 0 else 1})
    with pytest.raises(errors.InvalidArgumentError, match="expected a byte string, got "):
        list(ds.with_options(errors="skip"))


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("threads", [1, 4])
def test_stop_iteration_is_not_the_end(batched, threads):
    ds = lv.range(10).map(lambda _: next(iter([])), batched=batched)
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(ds.with_options(threads=threads))


def test_nothing_is_no_record():
    ds = lv.range(10).map(lambda r: r if r["value"] % 3 else None)
    with pytest.raises(TypeError, match="returned None"):
        list(ds)
    kept = [int(row["value"]) for row in ds.with_options(errors="skip")]
    assert kept == [1, 2, 4, 5, 7, 8]
    with pytest.raises(TypeError, match="returned None"):
        list(lv.range(3).filter(lambda _: None))


def test_a_filter_that_always_raises_says_so():
    with pytest.raises(ZeroDivisionError):
        list(lv.range(3).filter(lambda _: 1 / 0))
    assert list(lv.range(3).filter(lambda _: 1 / 0).with_options(errors="skip")) == []


def test_dtypes_that_there_are_not():
    for dtype in ("M8[D]", [("a", "i4")], np.longdouble):
        with pytest.raises((TypeError, ValueError), match="is not a dtype"):
            list(lv.range(3).batch(3).map(lambda _, d=dtype: {"v": np.zeros(3, d)}, batched=True))


def test_errors_of_levada_keep_their_class():
    def fails(record):
        raise errors.DataLossError("mine", key="k")

    with pytest.raises(errors.DataLossError) as caught:
        list(lv.range(3).map(fails))
    assert caught.value.key == "k"


def test_a_batched_function_that_raises_fails_the_pipeline():
    def fails(batch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(lv.range(3).map(fails, batched=True).with_options(errors="skip"))


def test_rng_depends_on_seed_epoch_and_record():
    base = lv.range(300).map(lambda r, g: {"x": g.integers(1 << 30)}, rng=True)

    def values(ds, epoch=0):
        return [int(r["x"]) for r in ds.iterate(epoch=epoch)]

    once = values(base.with_options(seed=1))
    assert len(set(once)) > 290
    assert values(base.with_options(seed=1, threads=1, block_rows=7)) == once
    assert values(base.with_options(seed=2)) != once
    assert values(base.with_options(seed=1), epoch=1) != once


def test_filter():
    assert [row["value"] for row in lv.range(9).filter(lambda r: r["value"] % 2)] == [1, 3, 5, 7]
    assert [row["value"] for row in lv.range(9).filter("value < 3")] == [0, 1, 2]


def test_buckets_by_a_function():
    ds = lv.from_arrays({"x": [[1] * (i % 5) for i in range(40)]})
    batches = list(
        ds.bucket_by_sequence_length(lambda r: len(r["x"]), boundaries=[2, 4], batch_sizes=5)
    )
    assert sum(batch.num_records for batch in batches) == 40
    assert all(list(batch) == ["x"] for batch in batches)
    assert {batch.max_seqlen("x") for batch in batches} <= {1, 3, 4}


@pytest.mark.parametrize("length", [None, "abc", 2.5, [1, 2], np.arange(3)])
def test_a_length_is_an_integer(length):
    ds = lv.range(40).bucket_by_sequence_length(lambda r: length, boundaries=[2, 4], batch_sizes=5)
    with pytest.raises(TypeError, match="must return an integer"):
        list(ds)
    ds = lv.range(40).bucket_by_sequence_length(
        lambda r: np.int32(3), boundaries=[2, 4], batch_sizes=5
    )
    assert sum(batch.num_records for batch in ds) == 40


def test_nested_pipelines():
    inner = lv.range(3).map(double)

    def outer(record):
        return {"sum": sum(row["x"] for row in inner.iterate(epoch=0)) + record["value"]}

    assert [row["sum"] for row in lv.range(4).map(outer)] == [6, 7, 8, 9]


def test_functions_are_let_go():
    class Target:
        def __call__(self, record):
            return record

    target = Target()
    gone = weakref.ref(target)
    ds = lv.range(10).map(target)
    assert len(list(ds)) == 10
    del ds, target
    for _ in range(10):
        gc.collect()
        list(lv.range(2).map(double))
    assert gone() is None


def test_cancel_frees_a_waiting_call():
    never = threading.Event()

    def source():
        never.wait(30)
        yield {"x": 1}

    it = iter(lv.from_records(source).map(lambda r: r))
    timer = threading.Timer(0.2, it.cancel)
    timer.start()
    with pytest.raises(errors.CancelledError):
        next(it)
    it.close()
    never.set()


class Twice:
    """An iterator of a class that does not start again."""

    def __init__(self, rows):
        self.rows = iter(rows)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.rows)


class Restarting:
    def __iter__(self):
        self.left = 3
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return {"x": self.left}


class TestRecords:
    def test_iterables(self):
        rows = [{"x": i, "s": f"{i}"} for i in range(5)]
        ds = lv.from_records(rows)
        assert list(ds) == [{"x": i, "s": str(i)} for i in range(5)]
        assert len(list(ds)) == 5

    def test_factories(self):
        ds = lv.from_records(lambda: ({"x": i} for i in range(600))).shuffle(100, seed=1)
        assert sorted(row["x"] for row in ds) == list(range(600))

    @pytest.mark.parametrize(
        "once",
        [
            lambda rows: (row for row in rows),
            iter,
            lambda rows: map(dict, rows),
            lambda rows: (lambda generator: lambda: generator)(row for row in rows),
            Twice,
        ],
    )
    def test_what_can_be_read_once_has_no_second_pass(self, once):
        ds = lv.from_records(once([{"x": i} for i in range(600)]))
        assert len(list(ds)) == 600
        for _ in range(2):
            with pytest.raises(errors.FailedPreconditionError, match=r"from_records\(lambda"):
                list(ds)

    def test_not_even_after_a_first_record(self):
        ds = lv.from_records({"x": i} for i in range(600))
        ds.first()
        with pytest.raises(errors.FailedPreconditionError, match="only once"):
            next(iter(ds))

    def test_nor_in_a_repeat(self):
        it = iter(lv.from_records({"x": i} for i in range(3)).repeat(2))
        assert [next(it)["x"] for _ in range(3)] == [0, 1, 2]
        with pytest.raises(errors.FailedPreconditionError, match="only once"):
            next(it)

    def test_what_begins_anew_has_one(self):
        ds = lv.from_records(Restarting())
        assert [len(list(ds)) for _ in range(3)] == [3, 3, 3]
        assert [len(list(lv.from_records(iter([])))) for _ in range(2)] == [0, 0]

    def test_many(self):
        ds = lv.from_records(lambda: ({"x": i} for i in range(10_000)))
        assert sum(row["x"] for row in ds) == sum(range(10_000))
        it = iter(ds)
        for _ in range(5000):
            next(it)
        with pytest.raises(errors.UnimplementedError, match="cannot be saved"):
            it.save()
        assert next(it) == {"x": 5000}

    def test_errors_come_out(self):
        def source():
            yield {"x": 1}
            raise OSError("disk")

        with pytest.raises(OSError, match="disk"):
            list(lv.from_records(source))

    def test_neither_is_a_type_error(self):
        with pytest.raises(TypeError):
            lv.from_records(3)

    def test_generators_cannot_be_saved(self):
        it = iter(lv.from_records(lambda: ({"x": i} for i in range(9))).batch(2))
        next(it)
        with pytest.raises(errors.UnimplementedError, match="save"):
            it.save()

    @pytest.mark.parametrize("threads", [1, 4])
    @pytest.mark.parametrize("cut", [0, 1, 7, 299, 300, 599, 600])
    def test_sequences_are_saved_by_position(self, threads, cut):
        rows = [{"x": i, "s": f"{i}"} for i in range(600)]
        for given in (rows, tuple(rows), lambda: rows):
            ds = lv.from_records(given).map(lambda r: {"x": r["x"]}).with_options(threads=threads)
            it = iter(ds)
            for _ in range(cut):
                next(it)
            other = iter(ds.with_options(threads=5 - threads))
            next(other)
            other.restore(it.save())
            assert [row["x"] for row in other] == list(range(cut, 600))

    @pytest.mark.parametrize("kind", ["items", "batches of items"])
    def test_map_style_datasets_are_sequences(self, kind):
        """Those of torch have items alone; those of Hugging Face iterate, and get many at once."""

        class Rows:
            def __len__(self):
                return 9

            def __getitem__(self, i):
                return {"x": range(9)[i]}

        class Iterated(Rows):
            def __iter__(self):
                return (self[i] for i in range(9))

            def __getitems__(self, numbers):
                return [self[i] for i in numbers]

        ds = lv.from_records(Rows() if kind == "items" else Iterated()).batch(2)
        assert [batch["x"].tolist() for batch in ds] == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
        it = iter(ds)
        next(it)
        other = iter(ds)
        other.restore(it.save())
        assert [batch["x"].tolist() for batch in other] == [[2, 3], [4, 5], [6, 7], [8]]

    def test_a_table_that_iterates_over_columns_is_not_a_sequence(self):
        class Table:
            def __len__(self):
                return 2

            def __getitem__(self, name):
                raise KeyError(name)

            def __iter__(self):
                return iter([{"x": 1}, {"x": 2}, {"x": 3}])

        assert [row["x"] for row in lv.from_records(Table())] == [1, 2, 3]

    def test_sequences_wait_in_shuffles_and_batches(self):
        ds = lv.from_records([{"x": i} for i in range(100)]).shuffle(30, seed=3).batch(7)
        expected = [batch["x"].tolist() for batch in ds.iterate(epoch=0)]
        for cut in range(len(expected)):
            it = ds.iterate(epoch=0)
            for _ in range(cut):
                next(it)
            other = ds.iterate(epoch=0)
            other.restore(it.save())
            assert [batch["x"].tolist() for batch in other] == expected[cut:]

    def test_another_sequence_is_refused(self):
        class Rows(list):  # by its class, as every sequence but a list or a tuple
            pass

        for kind, words in (Rows, "8 records, but had 9"), (list, "records"):
            it = iter(lv.from_records(kind({"x": i} for i in range(9))).batch(2))
            next(it)
            other = iter(lv.from_records(kind({"x": i} for i in range(8))).batch(2))
            with pytest.raises(errors.FailedPreconditionError, match=words):
                other.restore(it.save())

    def test_iterators_with_save_can(self):
        ds = lv.from_records(Counter).batch(4).with_options(threads=1)
        it = iter(ds)
        expected = [batch["x"].tolist() for batch in ds]
        next(it)
        state = it.save()
        other = iter(ds)
        other.restore(state)
        assert [batch["x"].tolist() for batch in other] == expected[1:]


class Counter:
    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 1000:
            raise StopIteration
        self.at += 1
        return {"x": self.at}

    def save(self):
        return str(self.at).encode()

    def restore(self, state):
        self.at = int(state)


class TestRegistered:
    def test_sources(self):
        class Numbers:
            spec = {"x": lv.int32}  # noqa: RUF012

            def __init__(self, n=3):
                self.n = n

            def __iter__(self):
                return ({"x": i} for i in range(self.n))

        lv.register_source("test_numbers", Numbers)
        assert [row["x"] for row in lv.source("test_numbers", n=4)] == [0, 1, 2, 3]
        assert lv.source("test_numbers").batch(3).first()["x"].dtype == np.int32
        with pytest.raises(errors.AlreadyExistsError):
            lv.register_source("test_numbers", Numbers)
        with pytest.raises(errors.AlreadyExistsError):
            lv.register_source("batch", Numbers)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_decoders_get_the_key_of_their_record(self, tmp_path, threads):
        name = f"test_keyed_{threads}"
        lv.register_decoder(name, lambda value, key, tail="": {"key": key + tail, "n": len(value)})
        files = [str(tmp_path / f"{i}-\u00e9.txt") for i in range(3)]
        for i, path in enumerate(files):
            with open(path, "w") as file:
                file.write("".join("x" * k + "\n" for k in range(50 * i)))
        ds = lv.text_lines(files).with_options(threads=threads, block_rows=7)
        zipped = lv.zip(lv.range(150), ds.shuffle(20, seed=1).decode(name, "line"))
        for decoded in (ds.decode(name).shuffle(30, seed=2), zipped):
            given = list(decoded.batch(8).iterate(epoch=0))
            keys = [key.decode() for batch in given for key in batch["key"].to_list()]
            assert sorted(keys) == sorted(
                f"{path}:{k}" for i, path in enumerate(files) for k in range(50 * i)
            )
            if decoded is not zipped:  # whose records have the origin of the first input
                assert keys == [key for batch in given for key in batch.record_keys]
        row = lv.from_records([{"v": b"a"}]).decode(name, "v", tail="!").first()
        assert row == {"key": "0.0:0!", "n": 1}

    def test_decoders(self):
        lv.register_decoder("test_upper", lambda value, key: {"up": value.upper(), "n": len(value)})
        ds = lv.from_arrays({"s": [b"a", b"bc"], "i": [1, 2]}).decode("test_upper", "s")
        assert list(ds) == [{"i": 1, "up": b"A", "n": 1}, {"i": 2, "up": b"BC", "n": 2}]


@pytest.mark.parametrize("pause", [0, 0.02])
def test_the_first_eight_records_of_an_iterator_fix_the_columns_however_slow_it_is(pause):
    def source(first_float):
        for i in range(20):
            time.sleep(pause)
            yield {"x": i + 0.5 if i == first_float else i}

    assert [record["x"] for record in lv.from_records(lambda: source(7))][7:9] == [7.5, 8.0]
    with pytest.raises(errors.InvalidArgumentError, match="expected int64 values, got float64"):
        list(lv.from_records(lambda: source(8)))


def test_the_first_256_records_of_a_list_fix_the_columns():
    records = [{"x": i} for i in range(300)]
    records[255] = {"x": 0.5}
    assert list(lv.from_records(records))[255] == {"x": 0.5}
    records[255:257] = records[256], records[255]
    with pytest.raises(errors.InvalidArgumentError, match="spec= says what all records have"):
        list(lv.from_records(records))


@pytest.mark.parametrize(
    "stage",
    [
        lambda ds: ds.map(lambda record: 5 if record["value"] == 3 else record),
        lambda ds: ds.filter(lambda record: np.zeros(record["value"] // 3 * 2 or 1) < 1),
    ],
)
def test_a_result_that_is_none_makes_one_record_bad(stage):
    ds = stage(lv.range(5))
    with pytest.raises((TypeError, ValueError)) as caught:
        list(ds)
    assert "record 3" in "".join(caught.value.__notes__)
    it = iter(ds.with_options(errors="skip"))
    assert [record["value"] for record in it][:3] == [0, 1, 2]
    assert it.stats()["skipped_records"] in (1, 2)


def test_a_function_of_batches_gives_columns():
    with pytest.raises(TypeError, match="must return a dict of columns, not ndarray"):
        list(lv.range(5).map(lambda batch: batch["value"], batched=True))


@pytest.mark.parametrize("count", [0, 3, 8, 20, 300])
def test_records_before_an_exception_of_their_source_come_first(count):
    def source():
        yield from ({"x": i} for i in range(count))
        raise KeyError("gone")

    it, got = iter(lv.from_records(source)), []
    with pytest.raises(KeyError, match="gone"):
        for record in it:
            got.append(int(record["x"]))
    assert got == list(range(count))
    with pytest.raises(KeyError, match="gone"):
        next(it)
