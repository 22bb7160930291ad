# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers that stop together: the classic program of the Coordinator.

Threads draw numbers, others take them from a queue; one that is done or fails stops all.
First with threads of our own, then with a queue runner, which does the tedious half by itself.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from levada import train as lt

ENOUGH = 0.001  # half the width of the interval around the mean, in numbers


class Mean:
    """A running mean, and how far it may be off (twice the standard error)."""

    def __init__(self) -> None:
        self.n, self.sum, self.squares = 0, 0.0, 0.0

    def add(self, values: Any) -> None:
        self.n += len(values)
        self.sum += values.sum()
        self.squares += (values * values).sum()

    def __call__(self) -> tuple[float, float]:
        mean = self.sum / self.n
        return mean, 2 * ((self.squares / self.n - mean * mean) / self.n) ** 0.5


def consume(coord: lt.Coordinator, queue: lt.FIFOQueue, mean: Mean, lock: threading.Lock) -> None:
    """Adds up batches until the mean is good enough, then asks everybody to stop."""
    with coord.stop_on_exception():
        while not coord.should_stop():
            values = queue.dequeue_many(64)  # waits until there are as many
            with lock:
                mean.add(values)
                if mean.n > 10_000 and mean()[1] < ENOUGH:
                    coord.request_stop()


def produce(coord: lt.Coordinator, queue: lt.FIFOQueue, seed: int) -> None:
    """Squares of random numbers, which are 1/3 on average."""
    draw = random.Random(seed)
    with coord.stop_on_exception():
        while not coord.should_stop():
            queue.enqueue(draw.random() ** 2)  # waits while the queue is full


def with_threads() -> Mean:
    """Everything by hand: start, wait for the stop, free those who wait in the queue, join."""
    coord, mean, lock = lt.Coordinator(), Mean(), threading.Lock()
    queue = lt.FIFOQueue(1000, ["float64"], shapes=[()])
    threads = [threading.Thread(target=produce, args=(coord, queue, seed)) for seed in range(4)]
    threads += [threading.Thread(target=consume, args=(coord, queue, mean, lock)) for _ in range(2)]
    for thread in threads:
        thread.start()
    coord.wait_for_stop()
    queue.close(cancel_pending_enqueues=True)
    coord.join(threads)
    return mean


def with_a_queue_runner() -> Mean:
    """The runner makes the producing threads, frees them at the stop and closes the queue."""
    coord, mean = lt.Coordinator(), Mean()
    queue = lt.RandomShuffleQueue(1000, 100, ["float64"], shapes=[()], seed=7)
    draw = random.Random(7)
    runner = lt.QueueRunner(queue, [lambda: queue.enqueue(draw.random() ** 2)] * 4)
    threads = runner.create_threads(coord=coord, start=True)
    while not coord.should_stop():
        mean.add(queue.dequeue_many(64))
        if mean.n > 10_000 and mean()[1] < ENOUGH:
            coord.request_stop()
    coord.join(threads)
    return mean


if __name__ == "__main__":
    for program in (with_threads, with_a_queue_runner):
        value, width = program()()
        print(f"{program.__name__}: {value:.3f} +- {width:.4f}")
