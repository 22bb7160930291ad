# SPDX-License-Identifier: Apache-2.0
"""batch_sequences_with_states: a state saver with threads that fill it."""

from __future__ import annotations

import operator
from typing import Any

from levada.errors import CancelledError, OutOfRangeError
from levada.train._input_stream import Stream
from levada.train._queue_runner import QueueRunner
from levada.train._state_saver import SequenceQueueingStateSaver


def batch_sequences_with_states(
    source: Any,
    input_key: Any,
    input_sequences: Any,
    input_context: Any,
    input_length: Any,
    initial_states: Any,
    num_unroll: int,
    batch_size: int,
    num_threads: int = 3,
    capacity: int | None = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
    *,
    zero_length: str = "error",
    state_timeout_secs: float = 30,
    check_finite: bool = False,
) -> SequenceStream:
    """Batches of segments of long sequences, read by threads of a queue runner.

    The arguments are those of `SequenceQueueingStateSaver`. `input_length` None: the length of the
    sequences (with `pad`). The result is called, or iterated, for the next
    `NextQueuedSequenceBatch`, after ``start_queue_runners``. Its ``saver`` is the state saver.

    Args:
        num_threads: threads that read the source.
        make_keys_unique_seed: currently ignored: keys get the next number, not a random one.
    """
    if not isinstance(num_unroll, int):
        raise ValueError(f"num_unroll must be an int, not {num_unroll!r}")
    if operator.index(num_threads) < 1:
        raise ValueError(f"num_threads={num_threads} must be at least 1")
    saver = SequenceQueueingStateSaver(
        source, batch_size, num_unroll, input_length, input_key, input_sequences, input_context,
        initial_states, capacity, allow_small_batch, name or "batch_sequences_with_states",
        zero_length=zero_length, state_timeout_secs=state_timeout_secs, pad=pad,
        make_keys_unique=make_keys_unique, check_finite=check_finite,
    )  # fmt: skip
    return SequenceStream(saver, num_threads)


class SequenceStream(Stream):
    """What `batch_sequences_with_states` returns: call it, or iterate it, for the next batch."""

    def __init__(self, saver: SequenceQueueingStateSaver, num_threads: int) -> None:
        self.saver = saver
        runner = QueueRunner(
            saver,
            [saver.prefetch_op] * num_threads,
            queue_closed_exception_types=(OutOfRangeError, CancelledError),
        )
        super().__init__(saver.next_batch, saver, [runner], None, self._counts_of_saver)

    def _counts_of_saver(self) -> dict[str, Any]:
        found = self.saver.stats()
        gauge = f"queue/{self.saver.name}/ready_segment_batches_"
        return {**found, gauge: float(found["ready"])}
