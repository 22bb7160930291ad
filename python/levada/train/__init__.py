# SPDX-License-Identifier: Apache-2.0
"""The names of TensorFlow 1.x, eager: queues, coordinator, queue runners, input helpers."""

from levada.train._barrier import Barrier
from levada.train._coordinator import Coordinator
from levada.train._looper import LooperThread
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
from levada.train._registry import GraphKeys, clear_collection, get_collection, register_op

__all__ = [
    "Barrier",
    "Coordinator",
    "FIFOQueue",
    "GraphKeys",
    "LooperThread",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "QueueRunner",
    "QueueRunnerDef",
    "RandomShuffleQueue",
    "add_queue_runner",
    "clear_collection",
    "get_collection",
    "register_op",
    "start_queue_runners",
    "waiters",
]
