# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each status code.

``LevadaError`` is the base. Each has ``code`` (the number that C uses, negative), ``message``,
and where known, else ``None``: ``stage`` ("2.shuffle"), ``file``, ``offset`` (bytes), ``record``
(from 0) and ``key``. ``str()`` returns the message, then a line that says where.
"""

from __future__ import annotations

import itertools
import os

from levada._plain import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "LevadaError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
]


class LevadaError(Exception):
    """Base of everything that levada raises while data flows."""

    code = -2

    def __init__(
        self,
        message: str = "",
        *,
        stage: str | None = None,
        file: str | None = None,
        offset: int | None = None,
        record: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.stage = stage
        self.file = file
        self.offset = offset
        self.record = record
        self.key = key

    def __str__(self) -> str:
        message, place = plain(self.message, lines=True), self.place()
        return f"{message}\n  {place}" if place else message

    def __reduce__(self):
        return _again, (type(self), self.__dict__)

    def place(self) -> str:
        """Where it happened: "2.shuffle · a.tfrecord record 3 at byte 96", or ""."""
        words = [plain(self.file)] if self.file is not None else []
        words += [f"record {self.record}"] if self.record is not None else []
        words += [f"at byte {self.offset}"] if self.offset is not None else []
        words += [f"key {self.key!r}"] if self.key is not None else []
        parts = (plain(self.stage or ""), " ".join(words))
        return " · ".join(part for part in parts if part)


def _again(kind, parts):
    error = kind(parts.get("message", ""))
    error.__dict__.update(parts)
    return error


class CancelledError(LevadaError):
    """The call was cancelled, or the queue is closed for enqueues."""

    code = -1


class UnknownError(LevadaError):
    """A function of the user raised an exception that is not a LevadaError."""

    code = -2


class InvalidArgumentError(LevadaError, ValueError):
    """An option, a field or a record has an invalid value."""

    code = -3


class DeadlineExceededError(LevadaError, TimeoutError):
    """The timeout has passed; nothing is lost."""

    code = -4


class NotFoundError(LevadaError, LookupError, FileNotFoundError):
    """A file, a name or a record does not exist."""

    code = -5


class AlreadyExistsError(LevadaError):
    """The name or key exists already."""

    code = -6


class PermissionDeniedError(LevadaError, PermissionError):
    """The system denied access to a file."""

    code = -7


class ResourceExhaustedError(LevadaError):
    """A limit is exceeded, a disk is full, or memory ran out (then it is also a MemoryError)."""

    code = -8


class _OutOfMemoryError(ResourceExhaustedError, MemoryError):
    pass


class FailedPreconditionError(LevadaError):
    """The state does not allow the call: an object is closed, or a checkpoint does not fit."""

    code = -9


class AbortedError(LevadaError):
    """The call ended because another call or thread failed."""

    code = -10


class OutOfRangeError(LevadaError):
    """The data has ended, such as a queue that is closed and empty."""

    code = -11


class UnimplementedError(LevadaError, NotImplementedError):
    """levada was built without a library, or a source cannot be saved."""

    code = -12


class InternalError(LevadaError):
    """A bug in levada; please report it."""

    code = -13


class UnavailableError(LevadaError):
    """The system could not do this now; a later attempt may succeed."""

    code = -14


class DataLossError(LevadaError):
    """Damaged bytes."""

    code = -15


_CLASSES = {kind.code: kind for kind in LevadaError.__subclasses__()}
_Kept = dict[int, tuple[BaseException, "Any"]]
_originals: _Kept = {}  # token of a status: the exception of a user's function, its traceback
_further: _Kept = {}  # exceptions after the first one of a block
_tokens = itertools.count(1)
_KEEP, _KEEP_FURTHER, _KEEP_FRAMES = 512, 2048, 16  # of the first two, up to twice as many
_GENERATORS = 0x20 | 0x80 | 0x200  # and coroutines, in co_flags
_whole: list[BaseException] = []  # the newest: what their frames hold is there, too


def keep(exception: BaseException, first: bool = True) -> tuple[int, str, int]:
    """(code, message, token) of an exception on its way through C; from_status finds it again.

    Not `first`: it follows another one of the same block, and may never be asked for.
    """
    if isinstance(exception, StopIteration):  # would look like the end of the data
        told = RuntimeError("a function raised StopIteration")
        told.__cause__ = exception
        exception = told.with_traceback(exception.__traceback__)
    if isinstance(exception, LevadaError):
        code, message = exception.code, str(exception.message)
    else:
        code, message = UnknownError.code, f"{type(exception).__name__}: {exception}"
    exception.__traceback__ = of_the_user(exception.__traceback__)
    message = message.replace("\0", " ").encode("utf-8", "replace").decode()
    message = message or type(exception).__name__
    kept, most = (_originals, _KEEP) if first else (_further, _KEEP_FURTHER)
    token = next(_tokens)
    kept[token] = exception, exception.__traceback__
    if len(kept) > 2 * most:
        for oldest in list(kept)[:-most]:
            kept.pop(oldest, None)
    if not first:
        _empty(exception)
        return code, message, token
    _whole.append(exception)
    while len(_whole) > _KEEP_FRAMES:
        _empty(_whole.pop(0))
    return code, message, token


def of_the_user(trace):
    """A traceback without the frames of levada at its two ends, unless all of it is wanted."""
    if os.environ.get("LEVADA_TRACEBACK") == "full":
        return trace
    while trace is not None and is_ours(trace):
        trace = trace.tb_next
    last = at = trace
    while at is not None:
        if not is_ours(at):
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None
    return trace


def is_ours(trace):
    return str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "levada"


def _empty(exception):
    """Lets go what the frames of an exception hold, records above all; the places stay."""
    seen = set()
    while exception is not None and id(exception) not in seen:
        seen.add(id(exception))
        trace = exception.__traceback__
        while trace is not None:
            _clear(trace.tb_frame)
            trace = trace.tb_next
        exception = exception.__context__


def _clear(frame):
    if frame.f_code.co_flags & _GENERATORS:  # would be closed where it waits
        return
    try:
        frame.clear()
    except RuntimeError:  # it runs
        return


def from_status(code, message, stage, file, offset, record, key, token=0):
    """The exception for a status of C: the original one if a user's function raised it."""
    message = message or ""
    original = _originals.get(token) or _further.get(token)
    if original is None:
        kind = _CLASSES.get(code, UnknownError)
        if kind is ResourceExhaustedError and message.startswith("out of memory"):
            kind = _OutOfMemoryError
        return kind(message, stage=stage, file=file, offset=offset, record=record, key=key)
    exception, trace = original
    error = exception.with_traceback(trace)
    place = LevadaError(message, stage=stage, file=file, offset=offset, record=record, key=key)
    if isinstance(error, LevadaError):
        for name, value in vars(place).items():
            if getattr(error, name, None) is None:
                setattr(error, name, value)
        return error
    note = f"levada: {place.place()}"
    if place.place() and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
