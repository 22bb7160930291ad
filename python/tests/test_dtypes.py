# SPDX-License-Identifier: Apache-2.0
"""Dtypes: light objects that NumPy knows."""

import pickle

import levada as lv
import numpy as np
import pytest
from documents import rows_of
from levada._dtypes import DTYPES, name_of

OF_C = dict(rows_of("spec.h", r'X\((\w+), [A-Z0-9]+, \d+, \d+, "(.\w+)"\)'))


def test_there_is_one_for_each_dtype_of_c():
    assert len(OF_C) > 10
    assert set(DTYPES) == {*OF_C, "string", "text"}


@pytest.mark.parametrize("name", [n for n in OF_C if n != "bfloat16"])
def test_numpy_takes_them(name):
    made = np.zeros(3, getattr(lv, name))
    assert made.dtype == np.dtype(OF_C[name])
    assert getattr(lv, name) == made.dtype
    assert getattr(lv, name) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (np.int32, "int32"), (np.dtype("<f4"), "float32"), ("int", "int64"), (bytes, "string"),
        (str, "text"), (float, "float64"), (lv.uint8, "uint8"), (np.dtype("S5"), "string"),
        (bool, "bool"), ("bfloat16", "bfloat16"),
    ],
)  # fmt: skip
def test_many_ways_to_say_one(given, name):
    assert name_of(given) == name


@pytest.mark.parametrize("given", [3, None, object()])
def test_other_things_are_type_errors(given):
    with pytest.raises(TypeError):
        name_of(given)


def test_can_be_pickled_and_hashed():
    assert pickle.loads(pickle.dumps(lv.int64)) is lv.int64
    assert len({lv.int64, lv.int32, lv.int64}) == 2
