# SPDX-License-Identifier: Apache-2.0
"""The arrays of batches: those that asarray makes of the same memory, with every dtype."""

import gc
import subprocess
import sys
import weakref

import levada as lv
import numpy as np
import pytest

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128"
).split()
NO_TABLE = """
import sys, numpy
for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
    if name in sys.modules:
        sys.modules[name]._ARRAY_API = None
"""
UNKNOWN_ABI = """
import ctypes, sys, numpy
abi = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 0x03000000)
table = (ctypes.c_void_p * 400)(ctypes.cast(abi, ctypes.c_void_p))
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
    if name in sys.modules:
        sys.modules[name]._ARRAY_API = new(ctypes.addressof(table), None, None)
"""
PROGRAM = """
import levada as lv, numpy as np
ds = lv.from_arrays({"x": np.arange(12.0).reshape(6, 2), "y": np.arange(6)}).padded_batch(4)
for batch in ds:
    for name in batch:
        array = batch[name]
        print(name, array.dtype, array.shape, array.flags.writeable, array.tolist())
print(type(array.base).__name__)
"""


def batches(arrays, rows=4):
    return list(lv.from_arrays(arrays).padded_batch(rows))


def alike(array, other):
    """Whether two arrays are over the same memory, in the same way."""
    assert array.__array_interface__ == other.__array_interface__
    assert array.dtype is other.dtype
    assert str(array.flags) == str(other.flags)
    return type(array) is type(other)


@pytest.mark.parametrize("dims", [(), (3,), (1,), (0,), (2, 1, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_those_of_asarray(dtype, dims):
    values = np.arange(9 * int(np.prod(dims))).reshape(9, *dims).astype(dtype)
    found = batches({"x": values})
    for k, batch in enumerate(found):
        assert alike(batch["x"], np.asarray(batch.column("x")))
        np.testing.assert_array_equal(batch["x"], values[4 * k : 4 * k + 4])
        assert batch["x"].dtype == dtype and batch["x"] is batch["x"]


def test_an_array_can_be_locked_and_unlocked():
    array = batches({"x": np.arange(4)})[0]["x"]
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 7
    array.flags.writeable = True
    array[0] = 7
    assert array.tolist() == [7, 1, 2, 3]


def test_an_array_outlives_its_batch_and_its_iterator():
    with iter(lv.from_arrays({"x": np.arange(8)}).batch(4)) as it:
        batch = next(it)
        gone = weakref.ref(batch)
        array = batch["x"]
        del batch
    gc.collect()
    assert gone() is None
    assert array.tolist() == [0, 1, 2, 3]


def test_batches_with_other_fields_in_turns():
    one = iter(lv.from_arrays({"x": np.arange(6), "y": np.arange(6)}).batch(2))
    two = iter(lv.from_arrays({"y": np.arange(6.0), "z": np.arange(6.0)}).batch(2))
    for a, b in zip(one, two, strict=True):
        assert (list(a), list(b)) == (["x", "y"], ["y", "z"])
        assert a["y"].dtype == np.int64 and b["y"].dtype == np.float64
        with pytest.raises(KeyError, match="unknown field 'z'"):
            a["z"]
        with pytest.raises(KeyError, match="unknown field 'x'"):
            b["x"]


@pytest.mark.parametrize("name", [0, None, "x\0", "\ud800", "X", ("x",)])
def test_a_key_that_is_not_a_field(name):
    batch = batches({"x": np.arange(4)})[0]
    with pytest.raises(KeyError, match="unknown field"):
        batch[name]
    assert name not in batch


def test_fields_cannot_be_changed_through_a_batch():
    batch = batches({"x": np.arange(4), "y": np.arange(4)})[0]
    names = batch.keys()
    assert names == ("x", "y") == tuple(batch) and dict(batch).keys() == {"x", "y"}
    with pytest.raises(TypeError):
        batch["x"] = 1
    with pytest.raises(TypeError):
        del batch["x"]
    with pytest.raises(AttributeError):
        batch._block = None


@pytest.mark.parametrize("made", [(), (1,), ({"x": 1},), (None, None), (1, 2, 3)])
def test_a_batch_is_made_of_a_block(made):
    with pytest.raises(TypeError):
        lv.Batch(*made)


def test_a_numpy_without_the_table_changes_nothing_but_the_base():
    """asarray makes the arrays."""
    found = [
        subprocess.run(
            [sys.executable, "-c", code + PROGRAM], capture_output=True, text=True, timeout=60
        )
        for code in ("", NO_TABLE, UNKNOWN_ABI)
    ]
    assert [one.returncode for one in found] == [0, 0, 0], found
    lines = [one.stdout.splitlines() for one in found]
    assert "x float64 (4, 2) True [[0.0, 1.0]" in found[0].stdout
    assert lines[0][:-1] == lines[1][:-1] == lines[2][:-1]
    assert [one[-1] for one in lines] == ["Block", "memoryview", "memoryview"]
