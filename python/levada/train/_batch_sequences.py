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
    """Returns batches of segments of long sequences, which threads of a queue runner read.

    After ``start_queue_runners``, call the result, or iterate it, for the next
    `NextQueuedSequenceBatch`. Its ``saver`` is the `SequenceQueueingStateSaver`.

    Args:
        source (Callable | Iterable | Dataset | QueueBase): where examples come from.
        input_key (str | int | Callable): key of an example, unique among live examples: a field, or
            a function of the example.
        input_sequences (dict | list): {name: field or function}, or a list of field names.
        input_context (dict | list): values that every segment repeats, in the same form; may be
            empty.
        input_length (str | int | Callable): real steps of an example; None = the length of its
            sequences (with `pad`).
        initial_states (dict): {name: array, or function of the example}.
        num_unroll (int): steps in a segment.
        batch_size (int): rows of a batch.
        num_threads (int, default 3): threads that read the source.
        capacity (int, default 1000): most live examples; None = no limit.
        allow_small_batch (bool, default True): batches may have fewer rows at the end.
        pad (bool, default True): pads sequences with 0 or ``b""`` to a multiple of `num_unroll`.
        make_keys_unique (bool, default False): appends a number to every key.
        make_keys_unique_seed (int): currently ignored: keys get the next number, not a random one.
        name (str): the name in messages.
        zero_length (str, default "error"): what to do with an example without steps: "error",
            "skip" (counted), or "segment" (one segment of padding).
        state_timeout_secs (float, default 30): seconds after which levada logs an unsaved state
            while a call waits.
        check_finite (bool, default False): ``save_state`` refuses NaN and infinity.

    Returns:
        The stream of batches.

    Raises:
        ValueError, TypeError: an argument is wrong.

    Example:
        songs = [{"name": "a", "notes": [1, 2, 3]}, {"name": "b", "notes": [4, 5]}]
        batches = lt.batch_sequences_with_states(
            songs, "name", ["notes"], [], None, {"sum": 0}, num_unroll=2, batch_size=2)
        lt.start_queue_runners()
        for batch in batches:
            batch.save_state("sum", batch.state("sum") + batch.sequences["notes"].sum(1))
    """
    if not isinstance(num_unroll, int):
        raise ValueError(f"num_unroll must be an int, got {num_unroll!r}")
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
