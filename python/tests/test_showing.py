# SPDX-License-Identifier: Apache-2.0
"""How datasets, batches and errors look."""

import traceback

import levada as lv
import numpy as np
import pytest
from levada import train as lt


def double(record):
    return {"x": record["value"] * 2}


def words():
    rows = [{"w": [b"a"] * n, "n": n} for n in (1, 3, 2)]
    return lv.from_records(rows, spec={"w": lv.VarLenFeature(lv.string), "n": lv.int64})


class TestBatches:
    def test_the_length_is_the_number_of_records(self):
        batch = lv.from_arrays({"a": [1, 2, 3], "b": [4, 5, 6]}).batch(3).first()
        assert len(batch) == batch.num_records == 3
        assert list(batch) == ["a", "b"] == list(batch.keys())
        assert {name: value.tolist() for name, value in batch.items()} == {
            "a": [1, 2, 3],
            "b": [4, 5, 6],
        }
        assert [value.tolist() for value in batch.values()] == [[1, 2, 3], [4, 5, 6]]
        assert dict(batch).keys() == {"a", "b"}
        assert batch.get("c") is None and batch.get("a") is batch["a"]
        assert bool(batch)

    def test_an_unknown_field_names_the_nearest(self):
        batch = lv.from_arrays({"tokens": [1], "label": [2]}).batch(1).first()
        with pytest.raises(KeyError, match="did you mean 'tokens'"):
            batch["token"]

    def test_html_has_the_first_rows_and_escapes(self):
        batch = lv.from_arrays({"<b>": [b"<i>"] * 9, "n": np.arange(9)}).batch(9).first()
        text = batch._repr_html_()
        assert "<i>" not in text and "<b>" not in text
        assert text.count("<tr>") == 6 and "5 of 9 records" in text


class TestDatasets:
    def test_to_list(self):
        ds = lv.range(5)
        assert [int(r["value"]) for r in ds.to_list(2)] == [0, 1]
        assert [int(r["value"]) for r in ds.to_list()] == [0, 1, 2, 3, 4]
        assert ds.to_list(0) == [] and len(ds.to_list(99)) == 5
        with pytest.raises(ValueError, match="n=-1"):
            ds.to_list(-1)
        assert int(ds.first()["value"]) == 0  # always epoch 0

    def test_show_prints_records(self, capsys):
        words().show(2)
        assert capsys.readouterr().out.splitlines() == [
            "record 0", "  w  [b'a']", "  n  1", "record 1", "  w  [b'a', b'a', b'a']", "  n  3",
        ]  # fmt: skip

    def test_show_prints_a_batch_without_padding(self, capsys):
        ds = lv.from_records([{"x": [1]}, {"x": [2, 3]}]).padded_batch(2)
        ds.show()
        out = capsys.readouterr().out
        assert "levada.Batch of 2 records" in out and "x  [1]\n" in out and "x  [2, 3]\n" in out

    def test_show_of_nothing(self, capsys):
        lv.range(3).filter("value > 5").show()
        lv.range(3).filter("value > 5").batch(2).show()
        assert capsys.readouterr().out == "no record\nno batch\n"

    def test_long_values_are_cut(self, capsys):
        lv.from_arrays({"x": np.arange(40).reshape(1, 40), "s": [b"q" * 500]}).show()
        lines = capsys.readouterr().out.splitlines()
        assert "...] (40 values)" in lines[1] and "500 bytes" in lines[2] and len(lines[2]) < 100

    def test_html_shows_stages_and_fields(self):
        ds = lv.zip(lv.range(4).map(double), lv.range(4).rename({"value": "<y>"})).batch(2)
        text = ds._repr_html_()
        for word in ("range", "map double", "zip", "batch", "&lt;y&gt;"):
            assert word in text, word

    def test_functions_have_names_and_places(self):
        ds = lv.range(4).map(double).filter(lambda record: record["x"] > 2)
        line = double.__code__.co_firstlineno
        assert f"map double (test_showing.py:{line})" in repr(ds)
        assert "<lambda> (test_showing.py:" in repr(ds)
        assert f"    calls   double (test_showing.py:{line})" in ds.explain()
        assert "range → map double" in repr(iter(ds))

    def test_a_callable_object_has_a_name(self):
        class Clean:
            def __call__(self, record):
                return record

        assert "map Clean (test_showing.py:" in repr(lv.range(2).map(Clean()))
        assert "__call__" not in repr(lv.range(2).map(Clean()))
        assert "map" in repr(lv.range(2).map(dict))


def test_public_objects_have_readable_representations(tmp_path):
    torch = pytest.importorskip("torch") and lv.torch_dataset(lv.range(3))
    queue = lt.FIFOQueue(2, [lv.int64])
    runner, watchdog = lt.QueueRunner(queue, [list]), lt.Watchdog(60)
    barrier, stream = lt.Barrier([lv.int64]), lt.batch(iter([1]), 2)
    objects = [
        lv.range(3), iter(lv.range(3)), lv.range(3).batch(2).first(), lv.range(3).spec["value"],
        lv.int64, lv.VarLenFeature(lv.int64), lv.TFRecordWriter(tmp_path / "a"), torch,
        lt.Coordinator(), queue, lt.TFRecordReader(), runner, watchdog, barrier, stream,
    ]  # fmt: skip
    objects[6].discard()
    watchdog.close()
    assert "1 thread>" in repr(runner) and "60 s" in repr(watchdog)
    assert [o for o in objects if " object at 0x" in repr(o)] == []


def frames(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


class TestTracebacks:
    @pytest.mark.parametrize("batched", [False, True])
    def test_the_traceback_of_a_function_ends_in_its_line(self, batched):
        def fails(value):
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError) as caught:
            list(
                lv.range(3).batch(2).map(fails, batched=True) if batched else lv.range(3).map(fails)
            )
        assert set(frames(caught.value)) == {__file__}

    def test_the_traceback_of_a_wrong_result_ends_in_the_loop(self):
        with pytest.raises(TypeError) as caught:
            list(lv.range(3).map(lambda record: 3))
        assert set(frames(caught.value)) == {__file__}
