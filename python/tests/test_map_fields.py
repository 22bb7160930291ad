# SPDX-License-Identifier: Apache-2.0
"""map(fn, fields): functions of values; and values that are missing."""

import levada as lv
import numpy as np
import pytest
from levada.errors import InvalidArgumentError


def double(x):
    return 2 * x


def swap(a, b):
    return b, a


def rows():
    return lv.from_arrays({"a": np.arange(4), "b": np.arange(4) * 10.0, "s": [b"x"] * 4})


@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"processes": True}, {"batched": True}])
def test_a_function_of_values_replaces_them(how):
    ds = rows().batch(2) if "batched" in how else rows()
    made = ds.map(double, "a", **how)
    made = made.unbatch() if "batched" in how else made
    assert [(int(r["a"]), float(r["b"]), bytes(r["s"])) for r in made] == [
        (2 * i, 10.0 * i, b"x") for i in range(4)
    ]
    assert list(made.first()) == ["a", "b", "s"]


def test_several_values_are_a_tuple_and_a_dict_adds_fields():
    record = rows().map(swap, ["a", "b"]).to_list()[3]
    assert (record["a"], record["b"]) == (30.0, 3)
    record = rows().map(lambda a: {"half": a / 2}, fields=["a"]).to_list()[3]
    assert (record["half"], record["a"]) == (1.5, 3)
    draw = rows().map(lambda a, generator: a + generator.integers(9), "a", rng=True)
    assert len({int(r["a"]) - i for i, r in enumerate(draw)}) > 1


def test_mistakes_are_named():
    with pytest.raises(InvalidArgumentError, match=r"unknown field 'c'.*available: a, b, s"):
        rows().map(double, ["c"])
    with pytest.raises(TypeError, match="returned None; it must return a value, or a dict"):
        rows().map(lambda a: None, "a").to_list()
    with pytest.raises(TypeError, match="must return a tuple of 2 values, or a dict, not float"):
        rows().map(lambda a, b: a + b, ["a", "b"]).to_list()


def test_none_is_the_default_of_its_field():
    spec = {
        "x": lv.FixedLenFeature([], lv.float32, default_value=-1.0),
        "v": lv.FixedLenFeature([2], lv.int64, default_value=[7, 8]),
    }
    given = [{"x": 1.0, "v": [1, 2]}, {"x": None, "v": [3, 4]}, {"x": 2.0, "v": None}]
    made = lv.from_records(given, spec=spec).to_list()
    assert [float(r["x"]) for r in made] == [1.0, -1.0, 2.0]
    assert [r["v"].tolist() for r in made] == [[1, 2], [3, 4], [7, 8]]
    ds = lv.range(2).map(lambda r: {"x": None, "v": [1, 2]}, spec=spec)
    assert float(ds.first()["x"]) == -1.0


def test_fixed_arrays_stay_fixed():
    images = np.arange(5 * 6).reshape(5, 2, 3)
    ds = lv.from_arrays({"image": images}, spec={"image": lv.FixedLenFeature([2, 3], lv.int64)})
    for made in (
        ds.map(double, "image"),
        ds.map(double, "image", processes=True),
        ds.with_columns(image="image * 2"),
        ds.batch(5).map(double, "image", batched=True).unbatch(),
    ):
        assert made.batch(5).first()["image"].tolist() == (2 * images).tolist()


def test_the_length_of_files_needs_an_index(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    with pytest.raises(TypeError, match="pass index=True to text_lines"):
        len(lv.text_lines(str(path)).batch(2))
