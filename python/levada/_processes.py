# SPDX-License-Identifier: Apache-2.0
"""Python functions in processes: ``map(fn, processes=True)``.

A thread that has a block to map takes an idle process of the function, or starts one. The columns
of the block travel through memory that both share, what the function returned comes back the same
way, and the columns of the result are made here: order, states and dtypes are those of threads.

The memory has no name and belongs to the two processes, so nothing stays when one of them is
killed. A process ends when this one does, or after some seconds without work. It is stopped where
nobody waits for its block any more. If it dies by itself, the error names its record.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import struct
import sys
import threading
import time
import traceback
import weakref
from multiprocessing import reduction
from typing import Any

from levada import errors
from levada._batch import Batch, columns_of_fields, rows_of
from levada._columns import Columns
from levada._exact import own
from levada._functions import Map, generators, wrong_result
from levada._ragged import Padded
from levada._show import function_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from levada import _levada

_HEAD = 64  # bytes at the beginning of the memory: the row that the process is at
_NOTHING = -1  # that row before the first one
_LOOK = 0.05  # seconds between two looks whether the block is still wanted
_IDLE = 10.0  # seconds after which a process without work ends
_starting = threading.Lock()
_all: weakref.WeakSet[_Process] = weakref.WeakSet()


def _forked() -> None:
    """The processes are the parent's: the child only lets go of its copies of their ends."""
    global _starting
    _starting = threading.Lock()
    for process in list(_all):
        process.let_go()


os.register_at_fork(after_in_child=_forked)


class _Memory:
    """Memory that two processes share: a file without a name."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.map = mmap.mmap(fd, os.fstat(fd).st_size)

    @classmethod
    def new(cls) -> _Memory:
        fd = os.memfd_create("levada")
        try:
            os.ftruncate(fd, 1 << 16)
            return cls(fd)
        except BaseException:
            os.close(fd)
            raise

    def view(self, size: int) -> memoryview:
        """At least `size` bytes of it; it grows. Raises OSError without memory."""
        if len(self.map) < size:
            if os.fstat(self.fd).st_size < size:
                os.posix_fallocate(self.fd, 0, 1 << (size - 1).bit_length())
            self.map = mmap.mmap(self.fd, os.fstat(self.fd).st_size)
        return memoryview(self.map)

    def put(self, value: Any) -> list[int]:
        """Writes a value; returns what `get` needs. Arrays are copied once."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, 5, buffer_callback=buffers.append)
        parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        sizes = [part.nbytes for part in parts]
        to, at = self.view(_HEAD + sum(size + 63 for size in sizes)), _HEAD
        for part, size in zip(parts, sizes, strict=True):
            to[at : at + size] = part
            at += (size + 63) & ~63
        return sizes

    def get(self, sizes: list[int]) -> Any:
        """The value, whose arrays lie in this memory: they change with the next `put`."""
        data, at, parts = self.view(_HEAD + sum(size + 63 for size in sizes)), _HEAD, []
        for size in sizes:
            parts.append(data[at : at + size])
            at += (size + 63) & ~63
        return pickle.loads(parts[0], buffers=parts[1:])

    @property
    def row(self) -> int:
        return int(struct.unpack_from("<q", self.map)[0])

    @row.setter
    def row(self, value: int) -> None:
        struct.pack_into("<q", self.map, 0, value)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


# -- here


class _EndedError(Exception):
    """The process is gone."""


class _Process:
    """A process that runs one function; used by one thread at a time."""

    def __init__(self, target: InProcesses) -> None:
        self.memory = _Memory.new()
        self.memory.row = _NOTHING
        self.owner = os.getpid()
        context = multiprocessing.get_context("spawn")
        self.end, theirs = context.Pipe()
        given = (
            theirs,
            _Descriptor(self.memory.fd),
            self.owner,
            target.code,
            target.batched,
            _IDLE,
        )
        self.process = context.Process(target=_serve, args=given, name="levada map", daemon=True)
        _all.add(self)
        try:
            _start(self.process)
        except BaseException:
            self.let_go()
            raise
        finally:
            theirs.close()

    def ask(self, sizes: Any, go_on: Callable[[], None]) -> Any:
        """Sends something and waits for the answer. Raises _EndedError; what go_on raises."""
        try:
            if sizes is not None:
                self.end.send(sizes)
            while not self.end.poll(_LOOK):
                go_on()
                if not self.process.is_alive() and not self.end.poll(0):
                    raise _EndedError
            return self.end.recv()
        except (EOFError, OSError):
            raise _EndedError from None

    def how(self) -> str:
        """How it ended."""
        self.process.join(5)
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    def stop(self) -> None:
        """Ends it now, whatever it does."""
        if self.owner == os.getpid() and self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.let_go()

    def let_go(self) -> None:
        """An idle process ends by itself when nobody can ask it any more."""
        _all.discard(self)
        self.end.close()
        self.memory.close()


class _Descriptor:
    """A file descriptor among the arguments of a process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> Any:
        return _detach, (reduction.DupFd(self.fd),)


def _detach(given: Any) -> int:
    return int(given.detach())


def _start(process: multiprocessing.process.BaseProcess) -> None:
    """Starts it with Ctrl-C blocked, which is for this process. Raises where there can be none."""
    me = multiprocessing.current_process()
    if getattr(me, "_inheriting", False):
        raise errors.FailedPreconditionError(
            "map(processes=True) starts processes that import the main script: its own work must "
            'stand under `if __name__ == "__main__":`'
        )
    if me.daemon:
        raise errors.FailedPreconditionError(
            "map(processes=True) runs in a process that may not start others, such as a worker of "
            "a DataLoader: use DataLoader(num_workers=0), or map without processes"
        )
    with _starting:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _stop_all(idle: list[_Process]) -> None:
    while idle:
        idle.pop().let_go()


class InProcesses(Map):
    """Map and BatchMap with the function in processes; its handle is made with ``keyed=True``.

    Raises TypeError where the function cannot be sent to another process.
    """

    def __init__(self, fn: Any, spec: Any, rng: bool, batched: bool) -> None:
        super().__init__(fn, spec, rng)
        self.batched = batched
        self.code = _code_of(fn)

    def arguments(self) -> dict[str, Any]:
        return {**({"batched": True} if self.batched else {}), **super().arguments()}

    def _begin(self) -> None:
        super()._begin()
        self.idle: list[_Process] = []
        weakref.finalize(self, _stop_all, self.idle)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "idle"}

    def call(self, run: int, block: _levada.Block) -> _levada.Block:
        worker, kind, value = self._answer(run, block)
        if kind == "error":
            self.idle.append(worker)
            raise _there(value)
        made, failed = value
        try:
            if self.batched:
                return self.finish_batch(run, block, made)
            rejects: list[Any] = []
            for i, error in failed:
                rejects.append((i, *errors.keep(_there(error), first=not rejects)))
            return self.finish(run, block, made, rejects)
        finally:
            self.idle.append(worker)  # from now on its memory may change

    def _answer(self, run: int, block: _levada.Block) -> tuple[_Process, str, Any]:
        """(process, "made" or "error", value); the value lies in the memory of the process."""
        while True:
            idle = self._idle()
            worker = idle or self._begun(run)
            try:
                worker.memory.row = _NOTHING
                sizes = worker.memory.put(self._request(run, block))
                kind, sizes = worker.ask(sizes, lambda: self.go_on(run))
                return worker, kind, worker.memory.get(sizes)
            except _EndedError:
                at, how = worker.memory.row, worker.how()
                worker.stop()
                if at == _NOTHING and idle:  # it left before it saw the block; all may have
                    continue
                raise self._ended(run, at, how) from None
            except BaseException:
                worker.stop()
                raise

    def _idle(self) -> _Process | None:
        while True:
            try:
                worker = self.idle.pop()
            except IndexError:
                return None
            if worker.owner == os.getpid():  # after a fork they are the parent's
                return worker

    def _begun(self, run: int) -> _Process:
        """A new process, once it has the function."""
        worker = _Process(self)
        try:
            kind, sizes = worker.ask(None, lambda: self.go_on(run))
            if kind == "error":
                raise _there(worker.memory.get(sizes))
            return worker
        except _EndedError:
            how = worker.how()
            worker.stop()
            raise errors.UnavailableError(
                f"a process for the function {function_text(self.fn)} ended with {how} before it "
                "began; it imports the main script, whose own work must stand under "
                '`if __name__ == "__main__":`'
            ) from None
        except BaseException:
            worker.stop()
            raise

    def _request(self, run: int, block: _levada.Block) -> Any:
        batch, fields, marks = Batch(block), block.fields(), block.objects()
        some = columns_of_fields(block, getattr(self.fn, "fields", None)) or range(len(fields))
        columns: dict[str, Any] = {}
        for name, _, _, _, padded, *_ in (fields[i] for i in some):
            if padded and block.measure(block.find(name))[7]:
                raise errors.UnimplementedError(
                    f"map(processes=True) of batches: field {name!r} is padded on the left; use "
                    "threads"
                )
            columns[name] = Padded(batch[name], batch.lengths(name)) if padded else batch[name]
        draw = (self.draws[run], block.origins()) if self.rng else None
        marks = marks and [marks[i] for i in some]
        return [fields[i] for i in some], marks, columns, block.flags, draw

    def _ended(self, run: int, row: int, how: str) -> errors.UnavailableError:
        keys = [os.fsdecode(key) for key in self.keys[run].split(b"\0")[:-1]]
        key = f"{keys[0]} to {keys[-1]}" if self.batched or row == _NOTHING else keys[row]
        return errors.UnavailableError(
            f"a process that ran the function {function_text(self.fn)} ended with {how} at record "
            f"{key}"
        )


def _code_of(fn: Any) -> bytes:
    """The function for another process. Raises TypeError where it cannot be found there."""
    name = function_text(fn)
    try:
        code = pickle.dumps(fn)
    except Exception as error:
        raise TypeError(
            f"map(processes=True) sends the function {name} to other processes by its name, and "
            f"it has none there: define it with `def` at the top level of a module ({error})"
        ) from None
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    known = getattr(main, "__spec__", None) is not None or (path and os.path.exists(path))
    if b"__main__" in code and not known:
        raise TypeError(
            f"map(processes=True) sends the function {name} to other processes by its name, and "
            "they cannot import an interactive session: define it in a file, and import that"
        )
    return code


class _RemoteTraceback(Exception):
    """The traceback of an error in another process, as text."""

    def __str__(self) -> str:
        return str(self.args[0])


def _there(given: tuple[bytes, str]) -> BaseException:
    """The exception of another process, with its traceback as the cause."""
    error: BaseException = pickle.loads(given[0])
    error.__cause__ = _RemoteTraceback(f"in a process of map:\n{given[1]}")
    return error


# -- there


def _told(error: BaseException) -> tuple[bytes, str]:
    """An exception for the other side, which surely can read it."""
    trace = errors.of_the_user(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, trace))
    try:
        told = pickle.dumps(error)
        pickle.loads(told)
    except Exception:
        told = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return told, text


class _Away(Batch):
    """A batch in another process, which knows its columns alone."""

    __slots__ = ()

    @property
    def lanes(self) -> list[Any]:
        raise errors.UnimplementedError("lanes are not available in map(processes=True)")


class _Work:
    """What a process does for its blocks."""

    def __init__(self, memory: _Memory, fn: Any, batched: bool) -> None:
        self.memory, self.fn, self.batched = memory, fn, batched

    def answer(self, sizes: list[int]) -> tuple[str, list[int]]:
        try:
            self.memory.row = 0
            fields, marks, columns, flags, draw = self.memory.get(sizes)
            block = Columns.like(fields, marks).batch(columns, flags & 2)
            more = generators(draw[1], draw[0]) if draw else None
            made = self.batch(block, more) if self.batched else self.rows(block, more)
            return "made", self.memory.put(made)
        except BaseException as error:
            return "error", self.memory.put(_told(error))

    def batch(self, block: _levada.Block, more: Any) -> Any:
        columns = self.fn(_Away(block), *([next(more)] if more else []))
        if not hasattr(columns, "keys"):
            raise TypeError(wrong_result(self.fn, columns, "a dict of columns"))
        return dict(columns), []

    def rows(self, block: _levada.Block, more: Any) -> Any:
        rows: list[Any] = []
        failed: list[Any] = []
        for i, record in enumerate(rows_of(block, getattr(self.fn, "fields", None))):
            self.memory.row = i
            row = None
            try:
                row = self.fn(record, next(more)) if more else self.fn(record)
                if not hasattr(row, "keys"):
                    raise TypeError(wrong_result(self.fn, row, "a dict"))
                row = own(row)
            except Exception as error:
                row = None
                failed.append((i, _told(error)))
            rows.append(row)
        return rows, failed


def _leave_with(parent: int) -> None:
    """Ends the process where its parent is gone, even in the middle of a record."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _serve(end: Connection, fd: int, parent: int, code: bytes, batched: bool, idle: float) -> None:
    """Answers requests until none has come for `idle` seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    memory = _Memory(fd)
    try:
        work = _Work(memory, pickle.loads(code), batched)
    except BaseException as error:
        end.send(("error", memory.put(_told(error))))
        return
    end.send(("ready", []))
    with contextlib.suppress(EOFError, OSError):
        while end.poll(idle):
            end.send(work.answer(end.recv()))
