# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, quiet and on the CPU, with the options that the tf.data peers share."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf


def records(path, limit=None, gzip=False):
    ds = tf.data.TFRecordDataset(path, compression_type="GZIP" if gzip else "")
    return ds.take(limit) if limit else ds


def tuned(ds, autotune=True, threads=None):
    """The dataset with autotuning on or off and a pool of `threads`."""
    options = tf.data.Options()
    options.autotune.enabled = autotune
    if threads:
        options.threading.private_threadpool_size = threads
    return ds.with_options(options)


def drain(ds, field):
    """Takes every batch as NumPy arrays; the number of rows of `field`."""
    n = 0
    for batch in ds.as_numpy_iterator():
        n += len(batch[field])
    return n
