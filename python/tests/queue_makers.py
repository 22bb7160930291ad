# SPDX-License-Identifier: Apache-2.0
"""The kinds of queues that tests go through, and what they put in."""

import pytest
from levada import errors, train

OUT, CANCELLED = errors.OutOfRangeError, errors.CancelledError
LATE, INVALID = errors.DeadlineExceededError, errors.InvalidArgumentError


def fifo(capacity, dtypes, shapes=None, **more):
    return train.FIFOQueue(capacity, dtypes, shapes, **more)


def padding(capacity, dtypes, shapes=None, **more):
    return train.PaddingFIFOQueue(capacity, dtypes, shapes, **more)


def shuffle(capacity, dtypes, shapes=None, **more):
    return train.RandomShuffleQueue(capacity, 0, dtypes, shapes, **more)


ORDERED = pytest.mark.parametrize("make", [fifo, padding])
EVERY = pytest.mark.parametrize("make", [fifo, padding, shuffle])
SCALAR = [()]


def numbers(make, capacity=10):
    return make(capacity, ["int64"], SCALAR)


def drain(queue):
    return [int(value) for value in queue]
