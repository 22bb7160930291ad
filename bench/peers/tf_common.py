# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, quiet and on the CPU: what the peers of tf.data and those of sessions share."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

HERE = -1  # in place of a number of threads: the one that calls


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


def session(graph, executor="SINGLE_THREADED_EXECUTOR"):
    """A session that runs an op in the thread that asks for it."""
    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=HERE
    )
    config.experimental.executor_type = executor
    return tf.compat.v1.Session(graph=graph, config=config)


def compiled(session, fetches, feeds=()):
    """A function of the values of the placeholders `feeds` that returns a list of arrays.

    As Keras has it: Session.run and Session.make_callable with feeds look at what they are asked
    for in Python again at every call, which takes longer than an op on a queue.
    """
    options = config_pb2.CallableOptions(feed=[feed.name for feed in feeds])
    options.run_options.inter_op_thread_pool = HERE
    if isinstance(fetches, tf.Operation):
        options.target.append(fetches.name)
    else:
        options.fetch.extend(tensor.name for tensor in tf.nest.flatten(fetches))
    return session._make_callable_from_options(options)
