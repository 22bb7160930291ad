# SPDX-License-Identifier: Apache-2.0
"""What producers and batchers return, and queues whose types the first example fixes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from levada.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from levada.train._queue_runner import QueueRunner, add_queue_runner

_LOG = logging.getLogger("levada")


class LateQueue:
    """A queue that is made when its types are known: by the first example.

    Until then it is empty; who wants an element waits. Closing and cancelling work from the start.
    Afterwards everything is the queue's own. Any thread.

    Args:
        make: function (dtypes, shapes) -> queue.
        name: of the queue.
    """

    def __init__(self, make: Callable[[list[Any], Any], Any], name: str) -> None:
        self._make = make
        self.name = name
        self._changed = threading.Condition()
        # -- guarded by _changed
        self._queue: Any = None
        self._closed = False
        self._cancels = 0
        self._error: BaseException | None = None

    def settle(self, dtypes: list[Any], shapes: Any) -> Any:
        """The queue, made now unless it is there already."""
        with self._changed:
            if self._queue is None:
                queue = self._make(dtypes, shapes)
                if self._error is not None:
                    queue._producers_failed(self._error)
                if self._closed:
                    queue.close(cancel_pending_enqueues=True)
                self._queue = queue
                self._changed.notify_all()
            return self._queue

    def _settled(self, n: int, timeout: float | None) -> tuple[Any, float | None]:
        """The queue, waited for, and what is left of the timeout."""
        if self._queue is not None:
            return self._queue, timeout
        begin = time.monotonic()
        with self._changed:
            cancels = self._cancels
            while self._queue is None:
                if self._closed:
                    raise self._error or OutOfRangeError(
                        f"queue '{self.name}' is closed and has insufficient elements (requested "
                        f"{n}, current size 0)"
                    )
                if self._cancels != cancels:
                    raise CancelledError(f"queue '{self.name}': the dequeue was cancelled")
                left = None if timeout is None else timeout - (time.monotonic() - begin)
                if left is not None and left <= 0:
                    raise DeadlineExceededError(
                        f"queue '{self.name}': no example came within {timeout} s"
                    )
                self._changed.wait(left)
        return self._queue, timeout and max(timeout - (time.monotonic() - begin), 0)

    def dequeue(self, timeout: float | None = None) -> Any:
        """One element: a bare value, or a list of components."""
        queue, timeout = self._settled(1, timeout)
        return queue.dequeue(timeout=timeout)

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """n elements, stacked."""
        queue, timeout = self._settled(n, timeout)
        return queue.dequeue_many(n, timeout=timeout)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """n elements, stacked; fewer once it is closed."""
        queue, timeout = self._settled(n, timeout)
        return queue.dequeue_up_to(n, timeout=timeout)

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        """Closes it; who waits for a first example gets OutOfRangeError."""
        with self._changed:
            queue = self._queue
            if queue is None:
                if self._closed and not cancel_pending_enqueues:
                    raise CancelledError(f"queue '{self.name}' is already closed.")
                self._closed = True
                self._changed.notify_all()
        if queue is not None:
            queue.close(cancel_pending_enqueues=cancel_pending_enqueues, timeout=timeout)

    def cancel(self) -> None:
        """Ends every waiting call with CancelledError; the queue stays usable."""
        with self._changed:
            self._cancels += 1
            self._changed.notify_all()
            queue = self._queue
        if queue is not None:
            queue.cancel()

    def _producers_failed(self, error: BaseException) -> None:
        """Consumers get this error in place of OutOfRangeError once the queue is drained."""
        with self._changed:
            self._error = error
            queue = self._queue
        if queue is not None:
            queue._producers_failed(error)

    def size(self) -> int:
        """Elements in it."""
        return 0 if self._queue is None else self._queue.size()

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed if self._queue is None else self._queue.is_closed()

    def __iter__(self) -> Iterator[Any]:
        return elements(self.dequeue)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._queue is None:
            if name in ("dtypes", "shapes", "names"):  # not known before the first example
                return None
            raise AttributeError(f"{name}: the queue '{self.name}' has not had an example yet")
        return getattr(self._queue, name)

    def __repr__(self) -> str:
        return f"<levada.train.LateQueue {self.name!r}, size {self.size()}>"


def elements(take: Callable[[], Any]) -> Iterator[Any]:
    """What `take` gives until it raises OutOfRangeError."""
    while True:
        try:
            value = take()
        except OutOfRangeError:
            return
        yield value


class Gauge:
    """How full a queue is: ``max(0, size - least) / (capacity - least)``, from 0 to 1."""

    def __init__(self, scope: str, capacity: int, least: int | None = None) -> None:
        room = capacity - (least or 0)
        middle = f"of_{capacity}" if least is None else f"over_{least}_of_{room}"
        self.name = f"{scope}/fraction_{middle}_full"
        self._least, self._room = least or 0, room

    def value(self, size: float) -> float:
        """Of a queue of that size; an unbounded one is never full."""
        full = (size - self._least) / self._room if self._room > 0 else 0.0
        return min(max(full, 0.0), 1.0)


class Stream:
    """What producers and batchers return: call it, or iterate it, for the next value.

    A call raises OutOfRangeError at the end, where a loop ends. Any thread. A Stream is accepted
    wherever a queue of file names or a source is.

    Attributes:
        queue: the queue behind it.
        queue_runners: what fills the queue; also in the collection "queue_runners".
    """

    def __init__(
        self,
        take: Callable[..., Any],
        queue: Any,
        queue_runners: Sequence[QueueRunner],
        gauge: Gauge | None = None,
        counts: Callable[[], dict[str, int]] | None = None,
    ) -> None:
        self._take = take
        self.queue = queue
        self.queue_runners = list(queue_runners)
        self._gauge = gauge
        self._counts = counts
        for runner in self.queue_runners:
            add_queue_runner(runner)

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    def __call__(self, timeout: float | None = None) -> Any:
        """The next value; `timeout` in seconds, past it DeadlineExceededError, nothing lost."""
        return self._take(timeout)

    def __iter__(self) -> Iterator[Any]:
        return elements(self)

    def mapped(self, take: Callable[..., Any]) -> Stream:
        """The same queue and runners, with other values; not added to the collection again."""
        other = Stream(take, self.queue, (), self._gauge, self._counts)
        other.queue_runners = self.queue_runners
        return other

    def stats(self) -> dict[str, float]:
        """Gauges under TensorFlow's names, and counts: see the function that made it."""
        found: dict[str, float] = {"size": self.queue.size()}
        if self._gauge is not None:
            found[self._gauge.name] = self._gauge.value(found["size"])
        return {**found, **(self._counts() if self._counts else {})}

    def __repr__(self) -> str:
        return f"<levada.train.Stream from {self.name!r}>"
