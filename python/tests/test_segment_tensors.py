# SPDX-License-Identifier: Apache-2.0
"""Tensors of packed batches: segment ids, positions, and the arguments of attention."""

import levada as lv
import numpy as np
import pytest

torch = pytest.importorskip("torch")


def packed(**options):
    ds = lv.from_arrays({"x": [[1, 2, 3], [4], [5, 6]]})
    return ds.pack(8, **options).batch(1).first()


@pytest.mark.parametrize("options", [{}, {"ids": True}])
def test_torch_adds_segment_ids_and_positions(options):
    made = packed(**options).torch(segment_ids=True, positions=True)
    ids, positions = made["x_segment_ids"], made["x_positions"]
    flat = [v if isinstance(v, torch.Tensor) else v.values for v in (ids, positions)]
    assert [v.tolist() for v in flat] == [[1, 1, 1, 2, 3, 3], [0, 1, 2, 0, 0, 1]]
    assert "x_positions" not in packed().torch(segment_ids=True)


def test_attention_takes_tensors_over_the_same_memory():
    batch = packed()
    arrays, tensors = batch.flash_attention("x"), batch.flash_attention("x", tensors=True)
    assert list(arrays) == list(tensors) and isinstance(tensors["max_length_q"], int)
    for name, value in arrays.items():
        if isinstance(value, np.ndarray):
            assert isinstance(tensors[name], torch.Tensor)
            assert tensors[name].tolist() == value.tolist()
    on_cpu = batch.flash_attention("x", device="cpu")
    assert on_cpu["cu_seq_lens_q"].dtype == torch.int32
