# SPDX-License-Identifier: Apache-2.0
"""The names of TensorFlow 1.x, eager: queues, coordinator, queue runners, input helpers."""

from levada._front import fronted
from levada.train._barrier import Barrier
from levada.train._batch_sequences import batch_sequences_with_states
from levada.train._bucket import bucket, bucket_by_sequence_length
from levada.train._coordinator import Coordinator
from levada.train._input import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from levada.train._looper import LooperThread
from levada.train._producers import (
    input_producer,
    limit_epochs,
    match_filenames_once,
    range_input_producer,
    slice_input_producer,
    string_input_producer,
)
from levada.train._protos import QueueRunnerDef
from levada.train._queue_runner import QueueRunner, add_queue_runner, start_queue_runners
from levada.train._queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
    waiters,
)
from levada.train._readers import (
    FixedLengthRecordReader,
    IdentityReader,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from levada.train._registry import GraphKeys, clear_collection, get_collection, register_op
from levada.train._state_saver import NextQueuedSequenceBatch, SequenceQueueingStateSaver
from levada.train._state_saver_fields import SparseTensorValue
from levada.train._watchdog import Watchdog

__all__ = [
    "Barrier",
    "Coordinator",
    "FIFOQueue",
    "FixedLengthRecordReader",
    "GraphKeys",
    "IdentityReader",
    "LooperThread",
    "NextQueuedSequenceBatch",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "QueueRunner",
    "QueueRunnerDef",
    "RandomShuffleQueue",
    "SequenceQueueingStateSaver",
    "SparseTensorValue",
    "TFRecordReader",
    "TextLineReader",
    "Watchdog",
    "WholeFileReader",
    "add_queue_runner",
    "batch",
    "batch_join",
    "batch_sequences_with_states",
    "bucket",
    "bucket_by_sequence_length",
    "clear_collection",
    "get_collection",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "range_input_producer",
    "register_op",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "waiters",
]

for _name in __all__:
    globals()[_name] = fronted(globals()[_name])
