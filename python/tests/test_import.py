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
    ours = {"levada", "levada._levada", "levada._plain", "levada.errors", "itertools"}
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


def test_threads_that_use_a_name_first_get_the_same():
    """Each thread asks for all names at the same time; functions stay those that pickle finds."""
    code = """
import pickle, sys, threading
import levada as lv

sys.setswitchinterval(1e-6)
start, got = threading.Barrier(8), [None] * 8

def ask(i):
    start.wait()
    got[i] = {name: getattr(lv, name) for name in lv.__all__}

threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
for name, value in got[0].items():
    assert all(value is names[name] for names in got) and value is getattr(lv, name), name
    if callable(value):
        assert pickle.loads(pickle.dumps(value)) is value, name
print(len(got[0]))
"""
    assert int(run(code)) == len(lv.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lv.nothing
