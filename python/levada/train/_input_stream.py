# SPDX-License-Identifier: Apache-2.0
"""What producers and batchers return, and queues whose types the first example fixes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from levada import _levada
from levada._front import with_fronts
from levada.errors import DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from levada.train._queue_runner import QueueRunner, add_queue_runner
from levada.train._queues import remember
from levada.train._signature import Signature

_LOG = logging.getLogger("levada")
_MOMENT = 1.0  # seconds that a reader waits for runners to start


@with_fronts
class LateQueue:
    """A queue that is made when its types are known: by the first example.

    Until then it is empty, and consumers wait in a gate: an empty queue. So this wait is listed and
    watched like every other, and ends by a timeout, a close, a cancel or Ctrl-C. Afterwards all
    calls go to the real queue. Any thread.

    Args:
        make: function (dtypes, shapes) -> queue.
        name: of the queue.
    """

    def __init__(self, make: Callable[[Any, Any], Any], name: str) -> None:
        self._make = make
        self.name = name
        self._lock = threading.RLock()  # a signal handler may cancel while its thread holds it
        # -- guarded by _lock
        self._queue: Any = None
        self._closed = False
        self._error: BaseException | None = None
        self._gate: _levada.Queue | None = None
        self._process = 0  # whose gate it is: a child of a fork has one of its own
        self._name, self._shared_name = name, None
        remember(self)

    def settle(self, dtypes: Any, shapes: Any) -> Any:
        """The queue, made now unless it is there already."""
        with self._lock:
            if self._queue is None:
                queue = self._make(dtypes, shapes)
                if self._error is not None:
                    queue._producers_failed(self._error)
                if self._closed:
                    queue.close(cancel_pending_enqueues=True)
                self._queue = queue
                self._gate_locked().close(True, None)
            return self._queue

    def _gate_locked(self) -> _levada.Queue:
        if self._gate is None or self._process != os.getpid():
            self._process = os.getpid()
            self._gate = _new_gate(self.name)
            if self._closed:
                self._gate.close(True, None)
        return self._gate

    def _settled(
        self, n: int | None, up_to: bool | None, timeout: float | None
    ) -> tuple[Any, float | None]:
        """The queue, once it exists, and the rest of the timeout.

        Until then it waits at the gate as it would in the queue.
        """
        if self._queue is not None:
            return self._queue, timeout
        begin = time.monotonic()
        with self._lock:
            gate = self._gate_locked()
        try:
            gate[n, up_to, timeout]
        except OutOfRangeError as error:
            if self._queue is None:
                raise self._error or error from None
        return self._queue, timeout and max(timeout - (time.monotonic() - begin), 0)

    def dequeue(self, timeout: float | None = None) -> Any:
        """One element: a bare value, or a list of components."""
        queue, timeout = self._settled(None, None, timeout)
        return queue.dequeue(timeout=timeout)

    def dequeue_many(self, n: int, timeout: float | None = None) -> Any:
        """n elements, stacked."""
        queue, timeout = self._settled(n or 1, False, timeout)
        return queue.dequeue_many(n, timeout=timeout)

    def dequeue_up_to(self, n: int, timeout: float | None = None) -> Any:
        """n elements, stacked; fewer once it is closed."""
        queue, timeout = self._settled(n or 1, True, timeout)
        return queue.dequeue_up_to(n, timeout=timeout)

    def close(self, cancel_pending_enqueues: bool = False, timeout: float | None = None) -> None:
        """Closes it; callers that wait for a first example receive OutOfRangeError."""
        with self._lock:
            queue = self._queue
            if queue is None:
                self._gate_locked().close(bool(cancel_pending_enqueues), timeout)
                self._closed = True
        if queue is not None:
            queue.close(cancel_pending_enqueues=cancel_pending_enqueues, timeout=timeout)

    def cancel(self) -> None:
        """Ends every waiting call with CancelledError; the queue stays usable."""
        with self._lock:
            queue = self._gate_locked() if self._queue is None else self._queue
        queue.cancel()

    def _producers_failed(self, error: BaseException) -> None:
        """Consumers get this error in place of OutOfRangeError once the queue is drained."""
        with self._lock:
            self._error = self._error or error
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


def _new_gate(name: str) -> _levada.Queue:
    signature = Signature(name, ["bool"], [()])
    return _levada.Queue(
        0, 1, -1, 0, -1, signature.components(), None, signature, name, None
    )  # first in, first out; nothing goes in


def elements(take: Callable[[], Any]) -> Iterator[Any]:
    """The values of `take` until it raises OutOfRangeError."""
    while True:
        try:
            value = take()
        except OutOfRangeError:
            return
        yield value


class Made:
    """What `make` makes of each value that `take` returns.

    A value that a Ctrl-C kept from being handed over is the next one. Any thread.
    """

    def __init__(self, take: Callable[[float | None], Any], make: Callable[[Any], Any]) -> None:
        self._take, self._make = take, make
        self._back: list[Any] = []

    def next(self, timeout: float | None) -> Any:
        """The next value; raises what `take` raises."""
        if self._back:
            value = self._back[-1]
            del self._back[-1]
        else:
            value = self._take(timeout)
        try:
            return self._make(value)
        except BaseException:
            self._back.append(value)
            raise


class Gauge:
    """How full a queue is: ``max(0, size - least) / (capacity - least)``, from 0 to 1."""

    def __init__(self, scope: str, capacity: int, least: int | None = None) -> None:
        span = capacity - (least or 0)
        middle = f"of_{capacity}" if least is None else f"over_{least}_of_{span}"
        self.name = f"{scope}/fraction_{middle}_full"
        self._least, self._span = least or 0, span

    def value(self, size: float) -> float:
        """Of a queue of that size; an unbounded one is never full."""
        full = (size - self._least) / self._span if self._span > 0 else 0.0
        return min(max(full, 0.0), 1.0)


@with_fronts
class Stream:
    """What producers and batchers return: call it, or iterate it, for the next value.

    A call raises OutOfRangeError at the end, where a loop ends. If the threads that fill the queue
    have not been started, it waits one second for them, and then raises FailedPreconditionError.
    Any thread. A Stream is accepted wherever a queue of file names or a source is.

    Attributes:
        queue: the queue that it fills.
        queue_runners: what fills the queue; also in the collection "queue_runners".
    """

    def __init__(
        self,
        take: Callable[..., Any],
        queue: Any,
        queue_runners: Sequence[QueueRunner],
        gauge: Gauge | None = None,
        counts: Callable[[], Mapping[str, float]] | None = None,
    ) -> None:
        self._take = take
        self.queue = queue
        self.queue_runners = list(queue_runners)
        self._gauge = gauge
        self._counts = counts
        self._filled = False  # something fills the queue, as far as we know
        for runner in self.queue_runners:
            add_queue_runner(runner)

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name

    def __call__(self, timeout: float | None = None) -> Any:
        """The next value. DeadlineExceededError after `timeout` seconds; nothing is lost."""
        if not self._filled:
            self._filled = self._is_filled()
            if not self._filled and (timeout is None or timeout > _MOMENT):
                return self._take_unfilled(timeout)
        return self._take(timeout)

    def _is_filled(self) -> bool:
        """Whether the runners were started; others may fill a queue that is shared."""
        shared = getattr(self.queue, "_shared_name", None) is not None
        return shared or all(runner.was_started() for runner in self.queue_runners)

    def _take_unfilled(self, timeout: float | None) -> Any:
        """The next value, if there is one or the runners start within a moment."""
        try:
            return self._take(_MOMENT)
        except DeadlineExceededError:
            pass
        if not self._is_filled():
            raise FailedPreconditionError(
                f"no thread fills the queue '{self.name}': its queue runner was not started; "
                "call levada.train.start_queue_runners() before you read from it"
            )
        return self._take(None if timeout is None else timeout - _MOMENT)

    def __iter__(self) -> Iterator[Any]:
        return elements(self.__call__)  # a method: Python looks for no signals when it returns

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
