# SPDX-License-Identifier: Apache-2.0
"""Importing levada is cheap: neither NumPy nor anything large comes with it."""

import subprocess
import sys

import levada as lv
import pytest


def run(code, *options):
    return subprocess.run(
        [sys.executable, *options, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_imports_without_numpy():
    code = "import sys, levada; print(*({'numpy', 'torch', 'json', 'threading'} & {*sys.modules}))"
    assert run(code).strip() == ""


def test_train_waits_for_numpy_too():
    assert run("import sys, levada.train; print('numpy' in sys.modules)").strip() == "False"


def test_imports_little():
    code = "import sys; before = {*sys.modules}; import levada; print(*({*sys.modules} - before))"
    ours = {"levada", "levada._levada", "levada.errors"}
    assert {*run(code, "-I").split()} <= {*ours, "__future__"}  # others come at first use


@pytest.mark.parametrize(
    "name", ["int64", "string", "Batch", "Ragged", "TFRecordWriter", "tfrecord", "train"]
)
def test_names_are_there(name):
    assert name in dir(lv)
    assert getattr(lv, name) is getattr(lv, name)


def test_everything_that_is_listed_is_there():
    run("from levada import *")
    assert [name for name in dir(lv) if not hasattr(lv, name)] == []


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lv.nothing
