# SPDX-License-Identifier: Apache-2.0
"""levada: records in; padded, ragged, packed or state-carrying batches of sequences out.

import levada as lv

ds = lv.tfrecord("train-*.tfrecord").parse_example(spec).padded_batch(32).prefetch()
for batch in ds:
    step(batch["tokens"], batch.lengths("tokens"))
"""

from levada import _levada, _sources, errors
from levada._combined import (
    concat,
    from_arrays,
    from_json,
    from_records,
    from_text,
    mix,
    open,
    range,
    source,
    zip,
)
from levada._dataset import Dataset
from levada._dtypes import DTYPES as _DTYPES
from levada._sources import *  # noqa: F403  tfrecord, text_lines, range, ...

TYPE_CHECKING = False
if TYPE_CHECKING:  # what __getattr__ brings when it is asked for
    from levada import samples, train
    from levada._batch import Batch
    from levada._checkpoint import load_checkpoint, save_checkpoint
    from levada._config import show_config
    from levada._decoders import (
        decode_csv,
        decode_json,
        decode_npy,
        decode_padded_raw,
        decode_raw,
    )
    from levada._dtypes import DType
    from levada._features import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        RaggedFeature,
        SparseFeature,
        VarLenFeature,
    )
    from levada._indexes import index
    from levada._iterator import Iterator
    from levada._lengths import (
        LengthHistogram,
        PaddingReport,
        length_histogram,
        optimal_boundaries,
        padding_report,
    )
    from levada._media import (
        audio_info,
        decode_and_crop_jpeg,
        decode_flac,
        decode_image,
        decode_jpeg,
        decode_png,
        decode_wav,
        image_info,
        log_mel,
        resample,
    )
    from levada._parsing import (
        parse_example,
        parse_sequence_example,
        parse_single_example,
        parse_single_sequence_example,
    )
    from levada._plugins import load_library, load_op_library, register_decoder, register_source
    from levada._ragged import Bytes, Padded, Ragged
    from levada._writing import TFRecordWriter, make_example, make_sequence_example, write
    from levada.interop.torch import torch_dataset

    bool: DType
    int8: DType
    int16: DType
    int32: DType
    int64: DType
    uint8: DType
    uint16: DType
    uint32: DType
    uint64: DType
    float16: DType
    bfloat16: DType
    float32: DType
    float64: DType
    complex64: DType
    complex128: DType
    string: DType

__version__ = _levada.VERSION

_LAZY = {
    "Batch": "_batch",
    "Bytes": "_ragged",
    "Padded": "_ragged",
    "Ragged": "_ragged",
    "Iterator": "_iterator",
    "load_library": "_plugins",
    "load_op_library": "_plugins",
    "register_decoder": "_plugins",
    "register_source": "_plugins",
    "audio_info": "_media",
    "decode_and_crop_jpeg": "_media",
    "decode_flac": "_media",
    "decode_image": "_media",
    "decode_jpeg": "_media",
    "decode_png": "_media",
    "decode_wav": "_media",
    "image_info": "_media",
    "log_mel": "_media",
    "resample": "_media",
    "decode_csv": "_decoders",
    "decode_json": "_decoders",
    "decode_npy": "_decoders",
    "decode_padded_raw": "_decoders",
    "decode_raw": "_decoders",
    "load_checkpoint": "_checkpoint",
    "save_checkpoint": "_checkpoint",
    "show_config": "_config",
    "TFRecordWriter": "_writing",
    "make_example": "_writing",
    "make_sequence_example": "_writing",
    "write": "_writing",
    "torch_dataset": "interop.torch",
    "samples": "samples",
    "train": "train",
}
_LAZY["index"] = "_indexes"
_FEATURES = "FixedLenFeature VarLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature"
_LAZY.update(dict.fromkeys(_FEATURES.split(), "_features"))
_PARSING = (
    "parse_example parse_single_example parse_sequence_example parse_single_sequence_example"
).split()
_LAZY.update(dict.fromkeys(_PARSING, "_parsing"))
_LENGTHS = "LengthHistogram PaddingReport length_histogram optimal_boundaries padding_report"
_LAZY.update(dict.fromkeys(_LENGTHS.split(), "_lengths"))

# Written out, because type checkers read it.
__all__ = [
    "Batch",
    "Bytes",
    "Dataset",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "Iterator",
    "LengthHistogram",
    "Padded",
    "PaddingReport",
    "Ragged",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordWriter",
    "VarLenFeature",
    "audio_info",
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "concat",
    "decode_and_crop_jpeg",
    "decode_csv",
    "decode_flac",
    "decode_image",
    "decode_jpeg",
    "decode_json",
    "decode_npy",
    "decode_padded_raw",
    "decode_png",
    "decode_raw",
    "decode_wav",
    "errors",
    "float16",
    "float32",
    "float64",
    "from_arrays",
    "from_json",
    "from_records",
    "from_text",
    "image_info",
    "index",
    "int8",
    "int16",
    "int32",
    "int64",
    "length_histogram",
    "load_checkpoint",
    "load_library",
    "load_op_library",
    "log_mel",
    "make_example",
    "make_sequence_example",
    "mix",
    "open",
    "optimal_boundaries",
    "padding_report",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "range",
    "register_decoder",
    "register_source",
    "resample",
    "samples",
    "save_checkpoint",
    "show_config",
    "source",
    "string",
    "torch_dataset",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "write",
    "zip",
]
__all__ += _sources.__all__


def __getattr__(name):
    if name in _DTYPES:
        value = _DTYPES[name]
    elif name in _LAZY:
        import importlib

        module = importlib.import_module(f"levada.{_LAZY[name]}")
        value = module if name == _LAZY[name] else _public(name, getattr(module, name))
    else:
        raise AttributeError(f"module 'levada' has no attribute {name!r}")
    globals()[name] = value
    return value


def _public(name, value):
    from levada._front import fronted

    return value if name.startswith("parse_single_") else fronted(value)  # those are hot


def __dir__():
    return sorted({*globals(), *__all__})
