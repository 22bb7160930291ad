# SPDX-License-Identifier: Apache-2.0
"""Nothing that levada prints obeys data, and help() has the docstring of every public callable."""

import logging
import pydoc
import traceback
import warnings

import levada as lv
import numpy as np
import pytest
from levada import train as lt
from levada._plain import plain

HOSTILE = [
    "\x1b]0;own\x07\x1b[31m", "a\rb", "tab\there", "line\nend", "del\x7f", "csi\x9b31m", "nel\x85",
    "rlo\u202edcba", "isolate\u2066x\u2069", "mark\u200f\u061c", "para\u2029", "<b>\x1b<i>",
]  # fmt: skip
names = pytest.mark.parametrize("name", HOSTILE, ids=ascii)


def obeyed(text, lines=True):
    return [c for c in text if plain(c, lines=lines) != c]


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (lv, lt)
    for name in module.__all__
    if callable(getattr(module, name))
}


@pytest.mark.parametrize("value", PUBLIC.values(), ids=PUBLIC)
def test_help_has_the_docstring(value):
    assert pydoc.getdoc(value) and value.__doc__.strip().splitlines()[0] in pydoc.plain(
        pydoc.render_doc(value)
    )
    for name, method in vars(value).items() if isinstance(value, type) else ():
        if name[0] != "_" and callable(method) and method.__doc__:
            assert pydoc.getdoc(method), name


def dataset(name):
    rows = [{name: i, "text": name, "bytes": name.encode(), "list": [name] * 2} for i in range(3)]
    return lv.from_records(rows)


def datasets(name):
    ds = dataset(name)
    yield from (ds, ds.batch(2), ds.select([name]).padded_batch(2), ds.rename({name: f"{name}x"}))
    yield ds.filter(lambda record: True)
    yield lv.mix([ds, dataset(name)])
    yield lv.tfrecord(f"{name}.tfrecord")


@names
def test_datasets_and_batches_show_names(name, capsys):
    for ds in datasets(name):
        for shown in (repr(ds), ds._repr_html_(), ds.explain(), repr(iter(lv.range(1)))):
            assert not obeyed(shown)
        assert not obeyed(str(ds), lines=False)
        if "tfrecord" in str(ds):
            continue
        first = ds.first()
        if isinstance(first, lv.Batch):
            assert not obeyed(repr(first) + str(first) + first._repr_html_())
        ds.show(2)
        with iter(ds) as it:
            next(it)
            assert not obeyed(repr(it) + str(it.report()) + str(it.stats()))
    assert not obeyed(capsys.readouterr().out)
    assert lv.from_text(str(lv.tfrecord(f"{name}.tfrecord"))) == lv.tfrecord(f"{name}.tfrecord")


def mistakes(name, folder):
    ds = dataset(name)
    damaged = folder / f"{name}.tfrecord"
    damaged.write_bytes(b"junk" * 50)
    return {
        "unknown field": lambda: ds.rename({"zz": "y"}).first(),
        "known fields": lambda: ds.select(["zz"]).first(),
        "field of a batch": lambda: ds.batch(1).first()["zz"],
        "hostile field": lambda: ds.select([f"{name}z"]).first(),
        "damaged file": lambda: lv.tfrecord(str(damaged)).first(),
        "missing file": lambda: lv.tfrecord(str(folder / f"{name}.none")).first(),
        "opened": lambda: lv.open(str(folder / f"{name}.none")),
        "feature": lambda: ds.parse_example({name: lv.FixedLenFeature((None,), None)}),
        "column": lambda: lv.from_arrays({name: [1, 2], "b": [1]}),
        "rows": lambda: lv.from_records([{name: 1}, {name: [1, 2]}, {name: "x"}]).batch(3).first(),
        "text": lambda: lv.from_text(f"{name}:1"),
        "option": lambda: lv.from_text(f'range:1 | batch:1,"{name}"=2'),
        "queue": lambda: lt.FIFOQueue(1, ["int64"], names=[name]).enqueue({"zz": 1}),
        "reader": lambda: lv.open(str(folder), format=name),
        "mix": lambda: lv.mix([ds, lv.range(3)]).first(),
        "concat": lambda: lv.concat([ds, lv.range(3)]).to_list(),
        "zip": lambda: lv.zip(ds, ds).first(),
        "batch": lambda: ds.bucket_by_sequence_length(name, [2], [1, 1]).first(),
        "bucket": lambda: ds.bucket_by_sequence_length(f"{name}z", [2], [1, 1]).first(),
        "unroll": lambda: ds.unroll(2, batch_size=1, key=f"{name}z").first(),
    }


@names
def test_errors_show_names(name, tmp_path):
    shown = 0
    for what, mistake in mistakes(name, tmp_path).items():
        try:
            mistake()
        except Exception as error:
            text = "".join(traceback.format_exception_only(error)) + str(error) + repr(error)
            assert not obeyed(text), (what, ascii(text))
            shown += 1
        else:
            print("no error:", what)
    assert shown >= 15


@names
def test_errors_keep_their_attributes(name, tmp_path):
    damaged = tmp_path / f"{name}.tfrecord"
    damaged.write_bytes(b"junk" * 50)
    with pytest.raises(lv.errors.DataLossError) as raised:
        lv.tfrecord(str(damaged)).first()
    assert raised.value.file == str(damaged)


@names
def test_warnings_and_logs_show_names(name, tmp_path, caplog):
    damaged, whole = tmp_path / f"{name}.tfrecord", tmp_path / f"{name}2.tfrecord"
    damaged.write_bytes(b"junk" * 50)
    with lv.TFRecordWriter(str(whole)) as writer:
        writer.write(b"a")
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG, "levada"):
        warnings.simplefilter("always")
        list(lv.tfrecord(str(damaged)).with_options(errors="skip"))
        list(lv.tfrecord([str(damaged), str(whole)]).with_options(errors="skip"))
        writer = lv.TFRecordWriter(str(tmp_path / f"{name}3.tfrecord"))
        del writer
    assert len(caught) >= 2 and caplog.messages
    for text in [*(str(each.message) for each in caught), *caplog.messages]:
        assert not obeyed(text, lines=False), ascii(text)


@pytest.mark.parametrize("text", [*HOSTILE, "two\nlines\n", "\0"], ids=ascii)
def test_an_error_of_the_user_stays_as_it_is(text):
    thrown = []

    def fails(record):
        thrown.append(ValueError(text))
        raise thrown[0]

    with pytest.raises(ValueError) as raised:
        lv.range(3).map(fails, spec={"x": lv.int64}).first()
    assert raised.value is thrown[0] and str(raised.value) == text


def test_two_names_that_look_alike_stay_two_rows():
    ds = lv.from_arrays({"\x1b": np.arange(2), "\\x1b": np.arange(2)})
    assert repr(ds).count("\\x1b") == 2


def test_bytes_that_are_not_utf8_are_shown():
    assert plain("a\udcff\ud800\n\t") == "a\\xff\\ud800\\n\\t"
    assert plain("é😀\n\t", lines=True) == "é😀\n\t"
