# SPDX-License-Identifier: Apache-2.0
"""levada: records in; padded, ragged, packed or state-carrying batches of sequences out.

import levada as lv

ds = lv.tfrecord("train-*.tfrecord").parse_example(spec).padded_batch(32).prefetch()
for batch in ds:
    step(batch["tokens"], batch.lengths("tokens"))
"""

from levada import _levada, _sources, errors
from levada._dataset import (
    Dataset,
    concat,
    from_arrays,
    from_json,
    from_records,
    from_text,
    mix,
    range,
    source,
    torch_dataset,
    zip,
)
from levada._dtypes import DTYPES as _DTYPES
from levada._sources import *  # noqa: F403  tfrecord, text_lines, range, ...

__version__ = _levada.VERSION

_LAZY = {
    "Batch": "_batch",
    "Bytes": "_batch",
    "Ragged": "_batch",
    "Iterator": "_iterator",
    "load_library": "_plugins",
    "load_op_library": "_plugins",
    "register_decoder": "_plugins",
    "register_source": "_plugins",
    "load_checkpoint": "_checkpoint",
    "save_checkpoint": "_checkpoint",
    "TFRecordWriter": "_writing",
    "make_example": "_writing",
    "make_sequence_example": "_writing",
    "train": "train",
}
_PARSING = (
    "FixedLenFeature VarLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature "
    "parse_example parse_single_example parse_sequence_example parse_single_sequence_example"
).split()
_LAZY.update(dict.fromkeys(_PARSING, "_parsing"))

__all__ = [
    "Dataset",
    "concat",
    "errors",
    "from_arrays",
    "from_json",
    "from_records",
    "from_text",
    "mix",
    "range",
    "source",
    "torch_dataset",
    "zip",
    *_sources.__all__,
    *_DTYPES,
    *_LAZY,
]


def __getattr__(name):
    if name in _DTYPES:
        value = _DTYPES[name]
    elif name in _LAZY:
        import importlib

        module = importlib.import_module(f"levada.{_LAZY[name]}")
        value = module if name == _LAZY[name] else getattr(module, name)
    else:
        raise AttributeError(f"module 'levada' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
