# SPDX-License-Identifier: Apache-2.0
"""The example examples/char_model.py: its gradients are right, and carrying the state helps."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "char_model.py"
TEXT = Path(__file__).resolve().parents[2] / "src" / "sink" / "sample.txt"


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("char_model", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gradients_equal_finite_differences(model):
    assert model.largest_gradient_error() < 1e-6


def test_a_carried_state_beats_one_that_is_reset(model):
    speeches = TEXT.read_text().split("\n\n")
    text = "\n\n".join("\n".join(speeches[i : i + 8]) for i in range(0, 200, 8))
    carried, reset = model.compare(text, 250)
    assert carried[-1] < carried[0] - 0.5
    assert reset[-1] < reset[0] - 0.5
    assert carried[-1] < reset[-1] - 0.02
