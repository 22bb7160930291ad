# SPDX-License-Identifier: Apache-2.0
"""A small file that the process which made it shares with the workers of its loaders.

A DataLoader starts its workers without a call to the dataset in the parent process, so what the
processes have in common is a file: in memory if the system can do that, so that nothing remains
after a kill. The kernel releases the lock on the file even if a worker is killed.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import tempfile
import weakref
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from io import BufferedRandom
    from typing import Any


def _close(file: int, owner: int) -> None:
    if os.getpid() == owner:
        os.close(file)


def _remove(path: str, owner: int) -> None:
    if os.getpid() != owner:
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _spawning() -> bool:
    """Whether this pickle is for a process that multiprocessing starts now."""
    return multiprocessing.context.get_spawning_popen() is not None


class SharedFile:
    """A new file, or the one at `path`, which another process has made."""

    def __init__(self, name: str, path: str | None = None) -> None:
        self.owner = os.getpid()
        self._end: Any = None
        self._file: int | None = None  # in memory: of the process that made it, and its forks
        if path is None and hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
            self._file = os.memfd_create(name)
            path = f"/proc/{self.owner}/fd/{self._file}"
            self._end = weakref.finalize(self, _close, self._file, self.owner)
        elif path is None:
            file, path = tempfile.mkstemp(prefix=f"{name}-")
            os.close(file)
            self._end = weakref.finalize(self, _remove, path, self.owner)
        self._path = path

    def gone(self) -> bool:
        """Whether the file was removed, at the end of the program."""
        return self._end is not None and not self._end.alive

    def path_for_workers(self) -> str | None:
        """Where a process that is being started finds the file; None for any other copy of the
        object, which has a file of its own."""
        if not _spawning():
            return None
        return self._path if self._file is None else f"/proc/{os.getpid()}/fd/{self._file}"

    def opened(self, flags: int = 0) -> BufferedRandom:
        flags |= os.O_RDWR | os.O_CLOEXEC
        path = self._path if self._file is None else f"/proc/self/fd/{self._file}"
        if not path.startswith("/proc/"):
            flags |= os.O_CREAT | os.O_NOFOLLOW
        return open(os.open(path, flags, 0o600), "r+b")

    @contextmanager
    def locked(self) -> Generator[BufferedRandom]:
        with self.opened() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
