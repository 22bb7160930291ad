# SPDX-License-Identifier: Apache-2.0
"""Mistakes that every user makes once: each message says what is wrong and what to do."""

import functools
import inspect
import os
import pickle
import signal
import traceback

import levada as lv
import pytest
from levada import _levada, errors, train
from registered import examples

TOKENS = {"tokens": lv.VarLenFeature(lv.int64)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    lv.samples.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def records():
    return lv.tfrecord("train-0.tfrecord.gz")


def forgets(record):
    record["value"] + 1


def refused(kind, call, *words):
    """The mistake raises that, with those words; the traceback has no frame of levada."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert [word for word in words if word not in text] == [], text
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert set(files) == {__file__}, files
    return caught.value


def test_a_list_as_spec():
    refused(
        ValueError, lambda: records().parse_example(["tokens"]), "dict of name", "VarLenFeature"
    )
    call = lambda: records().parse_sequence_example(sequences=["a"])  # noqa: E731
    refused(ValueError, call, "dict of name to feature")


def test_a_function_that_returns_none():
    line = forgets.__code__.co_firstlineno
    for ds in (lv.range(3).map(forgets), lv.range(3).batch(2).map(forgets, batched=True)):
        refused(TypeError, ds.first, f"forgets (test_mistakes.py:{line}) returned None", "a dict")


def test_a_misspelled_option_in_python():
    error = refused(TypeError, lambda: lv.range(3).shuffle(2, sed=1), "'sed'", "mean 'seed'")
    assert str(error).startswith("shuffle: unknown option")
    refused(TypeError, lambda: lv.tfrecord("a", verfy=False), "mean 'verify'", "compression")
    refused(TypeError, lambda: lv.range(3).with_options(thread=1), "mean 'threads'")
    refused(TypeError, lambda: lv.from_records([], specs={}), "mean 'spec'")


def test_a_misspelled_option_in_text():
    refused(ValueError, lambda: lv.from_text("range:9 | shuffle:3,sed=2"), "mean 'seed'", "col")
    refused(ValueError, lambda: lv.from_text("range:9 | shufle:3"), "mean 'shuffle'")
    refused(ValueError, lambda: lv.range(3).stage("shufle"), "mean 'shuffle'")


def test_a_misspelled_method():
    with pytest.raises(AttributeError) as caught:
        _ = lv.range(3).shufle
    assert "shufle" in str(caught.value)
    with pytest.raises(AttributeError) as caught:
        _ = lv.tfrecrd
    assert caught.value.obj is lv and caught.value.name == "tfrecrd"  # Python names the nearest


def test_a_text_file_as_tfrecord():
    refused(
        errors.DataLossError, lv.tfrecord("speeches.txt").first, "not a TFRecord (looks like text)"
    )


def test_damaged_text_is_still_damage(tmp_path):
    with lv.TFRecordWriter(tmp_path / "a") as writer:
        writer.write(b"x" * 50)
    data = bytearray((tmp_path / "a").read_bytes())
    data[2] ^= 1
    (tmp_path / "a").write_bytes(data)
    error = refused(errors.DataLossError, lv.tfrecord(tmp_path / "a").first, "length checksum")
    assert "looks like" not in str(error)


def test_swapped_arguments_of_a_feature():
    for make in (lv.FixedLenFeature, lv.FixedLenSequenceFeature):
        for args in ((lv.int64, []), ("int64", [3]), (float, [2])):
            with pytest.raises(TypeError, match=r"\(shape, dtype\)"):
                make(*args)
    with pytest.raises(TypeError, match=r"VarLenFeature\(dtype\)"):
        lv.VarLenFeature([])
    import numpy as np

    assert lv.FixedLenFeature(np.array([2, 3]), np.int64) and lv.FixedLenFeature(np.int64(2), int)


def test_select_accepts_a_list():
    ds = lv.zip(lv.range(3), lv.range(3).rename({"value": "b"}))
    assert list(ds.select(["b"]).spec) == ["b"] == list(ds.select("b").spec)
    assert ds.select(["b", "value"]) == ds.select("b", "value")
    refused(ValueError, lambda: ds.select(["c"]), "unknown field 'c'")


def test_a_lambda_under_spawn():
    ds = lv.range(3).map(lambda record: record)
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(ds)


def test_a_wrong_shape():
    spec = {"tokens": lv.FixedLenFeature([3], lv.int64)}
    refused(ValueError, records().parse_example(spec).first, "tokens", "[3]", "VarLen")


def test_a_wrong_dtype():
    spec = {"tokens": lv.VarLenFeature(lv.float32)}
    refused(ValueError, records().parse_example(spec).first, "int64", "float", "spec")


def test_a_missing_file():
    error = refused(FileNotFoundError, lv.tfrecord("none.tfrecord").first, "none.tfrecord")
    assert isinstance(error, errors.NotFoundError) and isinstance(error, LookupError)
    refused(FileNotFoundError, lambda: lv.tfrecord("none*.gz").first(), "none*.gz")


def test_a_file_that_may_not_be_read(tmp_path):
    assert issubclass(errors.PermissionDeniedError, PermissionError)
    error = pickle.loads(pickle.dumps(errors.PermissionDeniedError("x", file="f", record=2)))
    assert (error.file, error.record, str(error)) == ("f", 2, "x\n  f record 2")
    assert pickle.loads(pickle.dumps(errors.NotFoundError("x", file="f"))).file == "f"


def test_batch_before_parse():
    batch = records().batch(2).parse_example(TOKENS).first()  # accepted: parsed by the batch
    assert len(batch) == 2 and len(batch["tokens"]) == 2
    with pytest.raises(ValueError, match="unbatch"):
        lv.range(4).batch(2).map(forgets)


def test_use_after_fork():
    it = iter(lv.range(10))
    next(it)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            next(it)
            text = b"no error"
        except BaseException as error:
            text = f"{type(error).__name__} {error}".encode()
        os.write(writing, text)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    text = os.read(reading, 1000).decode()
    assert "FailedPrecondition" in text and "fork" in text
    assert int(next(it)["value"]) == 1


class TestRefusedWhenWritten:
    def test_a_field_that_does_not_exist(self):
        refused(ValueError, lambda: records().decode("parse_example", "nofield", spec=TOKENS), "'n")
        lv.register_decoder("test_mistakes", lambda value, key: {"a": 1})
        call = lambda: records().decode("test_mistakes", "recrd")  # noqa: E731
        refused(ValueError, call, "unknown field 'recrd'", "mean 'record'")

    def test_others(self):
        refused(ValueError, lambda: lv.range(3).shard(3, 3), "index=3")
        refused(ValueError, lambda: lv.tfrecord("a", compression="gzp"), "gzip")
        refused(ValueError, lambda: lv.tfrecord("a", errors="skp"), "skip")
        refused(ValueError, lambda: lv.range(3).with_options(errors="skp"), "skip")
        refused(TypeError, lambda: lv.register_source("test_other", 3), "class or a function")
        refused(ValueError, lambda: lv.register_decoder("a b", len), "'a b'", "letters")

    def test_a_loader_of_something_else(self):
        pytest.importorskip("torch")
        refused(TypeError, lambda: lv.torch_dataset(3), "must be a Dataset", "got int")
        loading = lv.torch_dataset(lv.range(3))
        refused(TypeError, lambda: loading.load_state_dict(3), "state_dict()", "got int")


def public_methods(kind):
    """The public methods of a class of levada: Fronts, except those that are called often."""
    from levada import _front, _levada

    for base in (base for base in kind.__mro__ if base.__module__.startswith("levada.")):
        for name, method in vars(base).items():
            plain = getattr(method, "__func__", method)
            if name[0] != "_" and inspect.isfunction(plain):
                assert isinstance(plain, _levada.Front) or name in _front._HOT, (kind, name)
                yield plain


def public_calls():
    """Every public function and method that has a Front."""
    for module in (lv, lv.train):
        for name in module.__all__:
            value = getattr(module, name)
            yield from public_methods(value) if isinstance(value, type) else [value]


class TestFronts:
    def test_every_option_of_every_call_has_a_nearest_name(self):
        from levada import _levada

        called = 0
        fronts = [call for call in public_calls() if type(call) is _levada.Front]
        for call in fronts:
            names = inspect.signature(call).parameters
            kinds = {parameter.kind for parameter in names.values()}
            longest = max((name for name in names if name != "self"), key=len, default="")
            if inspect.Parameter.VAR_KEYWORD in kinds:
                continue
            if len(longest) > 4 and names[longest].kind != inspect.Parameter.POSITIONAL_ONLY:
                with pytest.raises(TypeError, match=f"did you mean '{longest}'"):
                    call(None, **{longest[:-2] + longest[-1]: 1})
                called += 1
        assert called > 100

    def test_they_are_functions_to_those_who_look(self):
        assert inspect.isfunction(lv.Dataset.shuffle) and inspect.isfunction(lv.tfrecord)
        assert next(iter(inspect.signature(lv.range(3).shuffle).parameters)) == "buffer_size"
        assert lv.Dataset.take.__doc__.startswith("Returns only the first")
        assert inspect.getsource(lv.from_records).startswith("def from_records")

    def test_every_public_call_suggests_the_nearest_name(self, tmp_path):
        import levada.train as lt

        batch = lv.range(4).batch(2).first()
        calls = [
            (lambda: lv.torch_dataset(lv.range(3), wrld_size=3), "torch_dataset", "world_size"),
            (lambda: lv.TFRecordWriter(tmp_path / "a", compresion=""), "Writer", "compression"),
            (lambda: lv.write(lv.range(3), tmp_path / "a", levl=3), "write", "level"),
            (lambda: lv.parse_example([b""], spc={}), "parse_example", "spec"),
            (lambda: lv.decode_raw(b"", lv.int8, little=True), "decode_raw", "little_endian"),
            (lambda: batch.torch(length=True), "torch", "lengths"),
            (lambda: batch.mask("value", sid="left"), "mask", "side"),
            (lambda: lt.FIFOQueue(3, dtype=["int32"]), "FIFOQueue", "dtypes"),
            (lambda: lt.batch([1], batchsize=3), "batch", "batch_size"),
            (lambda: iter(lv.range(3)).restore(stat=b""), "restore", "state"),
            (lambda: lt.Coordinator().join(thread=[]), "join", "threads"),
            (lambda: lt.LooperThread.loop(None, 1, targt=3), "loop", "target"),
            (lambda: lt.Coordinator(clean_stop_exception=()), "Coordinator", "clean_stop_exc"),
        ]  # fmt: skip
        for call, name, nearest in calls:
            with pytest.raises(TypeError, match=rf"{name}: unknown .*did you mean '{nearest}") as e:
                call()
            assert len(traceback.extract_tb(e.value.__traceback__)) == 2

    def test_they_are_pickled_by_name(self):
        for one in (lv.Dataset.shuffle, lv.tfrecord, lv.zip, lv.decode_raw, lv.train.batch):
            assert pickle.loads(pickle.dumps(one)) is one
        assert pickle.loads(pickle.dumps(lv.range(3).take))(2).to_list()

    def test_the_frames_can_be_kept(self, monkeypatch):
        monkeypatch.setenv("LEVADA_TRACEBACK", "full")
        with pytest.raises(ValueError) as caught:
            lv.range(3).shard(3, 3)
        assert len(traceback.extract_tb(caught.value.__traceback__)) > 2
        with pytest.raises(TypeError) as caught:
            lv.range(3).map(lambda record: lv.parse_single_example(b"", 3)).first()
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[-1] != "<lambda>"  # but the frames of levada that it called

    def test_an_error_of_a_function_of_the_user_keeps_its_lines(self):
        def fails(record):
            raise KeyError("mine")

        with pytest.raises(KeyError) as caught:
            lv.range(3).interleave(fails)
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[-1] == "fails"


class TestTracebacks:
    """No frame of levada, in methods of all classes and in errors of threads."""

    def test_methods(self):
        from levada import train as lt

        rows = lv.from_records([{"a": [1, 2]}, {"a": [1]}]).batch(2).first()
        state, barrier = iter(lv.range(3)), lt.Barrier(["int32"])
        refused(TypeError, lambda: state.restore(3), "a state must be bytes, got int")
        refused(KeyError, lambda: rows["b"], "available: a")
        refused(ValueError, lambda: rows["a"].to_padded("x"), "'x'")
        refused(TypeError, lambda: lt.Coordinator().join(3), "list of threads")
        refused(ValueError, lambda: barrier.insert_many(3, ["a"], [1]), "out of range [0, 1)")
        refused(TypeError, lambda: lt.QueueBase.from_list(2, []), "list of queues")
        refused(TypeError, lambda: lv.FixedLenFeature(lv.int64, []), "(shape, dtype)")

    def test_threads(self):
        from levada import train as lt

        def fails():
            return lv.parse_single_example(b"", {"a": lv.FixedLenFeature([], lv.int64)})["a"]

        for source, lines in ((fails, ["fails"]), (lambda: [(1, 2)], [])):
            lt.clear_collection("queue_runners")
            lt.batch(source, batch_size=2)
            coord = lt.Coordinator()
            threads = lt.start_queue_runners(coord=coord)
            with pytest.raises((ValueError, TypeError)) as caught:
                coord.join(threads)
            frames = traceback.extract_tb(caught.value.__traceback__)
            assert {frame.filename for frame in frames} == {__file__}
            assert [frame.name for frame in frames[1:]] == lines


def test_too_many_positional_arguments():
    error = refused(TypeError, lambda: lv.range(9).shuffle(3, 1), "by name: seed, reshuffle")
    assert str(error).startswith("shuffle: too many positional arguments; the positional ones are")
    error = refused(TypeError, lambda: lv.range(9).padded_batch())
    assert str(error).startswith("padded_batch() missing 1 required")
    refused(TypeError, lambda: train.FIFOQueue(), "FIFOQueue() missing")


def test_the_inputs_of_mix_one_by_one_or_as_a_list():
    one, two = lv.range(3), lv.range(4)
    assert lv.mix(one, two, seed=1) == lv.mix([one, two], seed=1)
    assert lv.mix(one) == lv.mix([one])
    refused(TypeError, lambda: lv.mix(one, [two]), "mix: every input must be a Dataset")
    refused(ValueError, lambda: lv.mix(), "mix needs at least one dataset")


@pytest.mark.parametrize("value", [1.0, 4.0, True, "4", b"4", float("nan"), [4]])
def test_only_an_integer_is_an_integer(value):
    """Every option of every name, and the arguments that only Python has."""
    ds = lv.range(9)
    calls = [
        lambda: ds.map(dict, workers=value), lambda: ds.flat_map(list, workers=value),
        lambda: ds.parts(value), lambda: ds.iterate(value), lambda: ds.to_list(value),
        lambda: ds.show(value), lambda: ds.with_options(seed=value), lambda: lv.range(value),
        lambda: ds.with_options(threads=value), lambda: ds.with_options(block_rows=value),
        lambda: ds.with_options(max_bytes=value), lambda: lv.range(1, value),
        lambda: ds.bucket_by_sequence_length("value", boundaries=[value], batch_sizes=2),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises((TypeError, errors.InvalidArgumentError)):
            call()
    tried = 0
    for row, core in examples():
        for arg in row["args"]:
            lists = arg["type"] == "ints" and isinstance(value, list)
            if arg["type"] not in ("int", "ints", "bytes") or lists:
                continue
            if arg["type"] == "bytes" and value == "4":  # a size, as in "4M"
                continue
            with pytest.raises(errors.InvalidArgumentError, match=arg["name"]):
                _levada.remake(core, tuple(core.inputs()), {arg["name"]: value})
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("value", [-1, -7, -(2**63)])
def test_negative_numbers_are_refused_where_they_mean_nothing(value):
    ds = lv.range(9)
    for call in (
        lambda: ds.bucket_by_sequence_length("value", boundaries=[value, 3], batch_sizes=2),
        lambda: ds.bucket_by_sequence_length("value", boundaries=[3], batch_sizes=value).first(),
        lambda: ds.map(dict, workers=value),
        lambda: ds.with_options(max_bytes=value),
        lambda: lv.csv("a", select_cols=[value]),
        lambda: lv.mix(ds, ds, weights=[value, 1]),
    ):
        with pytest.raises((ValueError, errors.InvalidArgumentError)):
            call()


def test_a_function_that_cannot_be_pickled_names_its_stage():
    ds = lv.range(3)
    for wrong in (
        ds.map(lambda record: record),
        ds.filter(lambda record: True).batch(2),
        ds.with_columns(a=lambda record: 1),
        lv.concat(ds, ds.map(functools.partial(lambda least, record: record, 1))),
    ):
        with pytest.raises(
            pickle.PicklingError, match=r"(map|filter): the function <lambda> .*def"
        ):
            pickle.dumps(wrong)
    assert pickle.loads(pickle.dumps(ds.map(forgets))) == ds.map(forgets)
