# SPDX-License-Identifier: Apache-2.0
"""levada: records in; padded, ragged, packed or state-carrying batches of sequences out.

import levada as lv

ds = lv.tfrecord("train-*.tfrecord").parse_example(spec).padded_batch(32).prefetch()
for batch in ds:
    step(batch["tokens"], batch.lengths("tokens"))
"""

from levada import _levada
from levada import errors as errors

TYPE_CHECKING = False
if TYPE_CHECKING:  # what __getattr__ imports; "as" makes a name public
    from levada import samples as samples
    from levada import train as train
    from levada._batch import Batch as Batch
    from levada._checkpoint import load_checkpoint as load_checkpoint
    from levada._checkpoint import save_checkpoint as save_checkpoint
    from levada._combined import concat as concat
    from levada._combined import from_arrays as from_arrays
    from levada._combined import from_json as from_json
    from levada._combined import from_records as from_records
    from levada._combined import from_text as from_text
    from levada._combined import mix as mix
    from levada._combined import open as open
    from levada._combined import range as range
    from levada._combined import source as source
    from levada._combined import tokens as tokens
    from levada._combined import zip as zip
    from levada._config import io as io
    from levada._config import show_config as show_config
    from levada._dataset import Dataset as Dataset
    from levada._decoders import decode_csv as decode_csv
    from levada._decoders import decode_json as decode_json
    from levada._decoders import decode_npy as decode_npy
    from levada._decoders import decode_padded_raw as decode_padded_raw
    from levada._decoders import decode_raw as decode_raw
    from levada._dtypes import DType
    from levada._features import FixedLenFeature as FixedLenFeature
    from levada._features import FixedLenSequenceFeature as FixedLenSequenceFeature
    from levada._features import RaggedFeature as RaggedFeature
    from levada._features import SparseFeature as SparseFeature
    from levada._features import VarLenFeature as VarLenFeature
    from levada._indexes import index as index
    from levada._iterator import Iterator as Iterator
    from levada._lengths import LengthHistogram as LengthHistogram
    from levada._lengths import PaddingReport as PaddingReport
    from levada._lengths import length_histogram as length_histogram
    from levada._lengths import optimal_boundaries as optimal_boundaries
    from levada._lengths import padding_report as padding_report
    from levada._media import audio_info as audio_info
    from levada._media import decode_and_crop_jpeg as decode_and_crop_jpeg
    from levada._media import decode_flac as decode_flac
    from levada._media import decode_image as decode_image
    from levada._media import decode_jpeg as decode_jpeg
    from levada._media import decode_png as decode_png
    from levada._media import decode_wav as decode_wav
    from levada._media import image_info as image_info
    from levada._media import log_mel as log_mel
    from levada._media import resample as resample
    from levada._parsing import parse_example as parse_example
    from levada._parsing import parse_sequence_example as parse_sequence_example
    from levada._parsing import parse_single_example as parse_single_example
    from levada._parsing import parse_single_sequence_example as parse_single_sequence_example
    from levada._plugins import load_library as load_library
    from levada._plugins import load_op_library as load_op_library
    from levada._plugins import register_decoder as register_decoder
    from levada._plugins import register_source as register_source
    from levada._ragged import Bytes as Bytes
    from levada._ragged import Padded as Padded
    from levada._ragged import Ragged as Ragged
    from levada._random_access import from_random_access as from_random_access
    from levada._receipts import ReceiptReport as ReceiptReport
    from levada._receipts import check_receipts as check_receipts
    from levada._receipts import merge_receipts as merge_receipts
    from levada._record_log import RecordLog as RecordLog
    from levada._sampler import Sampler as Sampler
    from levada._sources import *  # noqa: F403  tfrecord, text_lines, ...
    from levada._writing import TFRecordWriter as TFRecordWriter
    from levada._writing import make_example as make_example
    from levada._writing import make_sequence_example as make_sequence_example
    from levada._writing import write as write
    from levada.interop._arrow import arrow as arrow
    from levada.interop._arrow import from_arrow as from_arrow
    from levada.interop._arrow import from_hf as from_hf
    from levada.interop._arrow import parquet as parquet
    from levada.interop.torch import torch_dataset as torch_dataset

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
    text: DType

__version__ = _levada.VERSION

# The public names of each module, which is imported when one of them is first used. Those of
# sources and dtypes are in their modules.
_MODULES = {
    "_batch": "Batch",
    "_checkpoint": "load_checkpoint save_checkpoint",
    "_combined": (
        "concat from_arrays from_json from_records from_text mix open range source tokens zip"
    ),
    "_config": "io show_config",
    "_dataset": "Dataset",
    "_decoders": "decode_csv decode_json decode_npy decode_padded_raw decode_raw",
    "_features": (
        "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature"
    ),
    "_indexes": "index",
    "_iterator": "Iterator",
    "_lengths": "LengthHistogram PaddingReport length_histogram optimal_boundaries padding_report",
    "_media": (
        "audio_info decode_and_crop_jpeg decode_flac decode_image decode_jpeg decode_png "
        "decode_wav image_info log_mel resample"
    ),
    "_parsing": (
        "parse_example parse_sequence_example parse_single_example parse_single_sequence_example"
    ),
    "_plugins": "load_library load_op_library register_decoder register_source",
    "_ragged": "Bytes Padded Ragged",
    "_random_access": "from_random_access",
    "_record_log": "RecordLog",
    "_receipts": "ReceiptReport check_receipts merge_receipts",
    "_sampler": "Sampler",
    "_writing": "TFRecordWriter make_example make_sequence_example write",
    "interop._arrow": "arrow from_arrow from_hf parquet",
    "interop.torch": "torch_dataset",
    "samples": "samples",
    "train": "train",
}


def __getattr__(name):
    if name.startswith("_") and name != "__all__":
        raise _unknown(name)
    globals()[name] = value = _all() if name == "__all__" else _imported(name)
    return value


def __dir__():
    return sorted({*globals(), *_all()})


def _all():
    from levada._dtypes import DTYPES
    from levada._sources import __all__ as sources

    return sorted(["errors", *" ".join(_MODULES.values()).split(), *DTYPES, *sources])


def _imported(name):
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            value = import_module(f"levada.{module}")
            return value if name == module else _public(name, getattr(value, name))
    from levada._dtypes import DTYPES

    if name in DTYPES:
        return DTYPES[name]
    sources = import_module("levada._sources")
    if name in sources.__all__:
        return _public(name, getattr(sources, name))
    raise _unknown(name)


def _unknown(name):
    import sys

    from levada._words import FUNCTIONS

    message = f"module 'levada' has no attribute {name!r}"
    if name in FUNCTIONS:
        message += f"; levada calls it {FUNCTIONS[name]}"
    return AttributeError(message, name=name, obj=sys.modules[__name__])  # Python adds the nearest


def _public(name, value):
    from levada._front import fronted

    return value if name.startswith("parse_single_") else fronted(value)  # those are hot
