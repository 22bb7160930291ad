# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files out."""

import contextlib
import errno
import os

from levada import errors
from levada.errors import InvalidArgumentError
from levada.interop._pyarrow import pyarrow

_GROUP = 8192  # about as many records become a row group, or a record batch


def _check(block):
    """Raises for columns that would be read back as other ones."""
    for name, dtype, _, dims, padded, *_ in block.fields():
        if dtype.startswith("complex"):
            raise InvalidArgumentError(
                f"column {name!r} is {dtype}, which Arrow does not have; select other columns"
            )
        if padded and any(size is None or size < 0 for size in dims[1:]):
            raise InvalidArgumentError(
                f"column {name!r} has padded lists of lists, and a batch does not have the "
                "lengths of the inner ones; write batches of batch()"
            )


_STATUS = {
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.ENOENT: errors.NotFoundError,
    errno.ENOTDIR: errors.NotFoundError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
}


@contextlib.contextmanager
def _writing(path):
    """Raises errors of the system as those of other formats, with the file."""
    try:
        yield
    except OSError as error:
        kind = _STATUS.get(error.errno, errors.UnavailableError)
        why = os.strerror(error.errno) if error.errno else error
        raise kind(f"cannot write {path}: {why}", file=os.fspath(path)) from error


class TableSink:
    """A Parquet or Arrow file that appears when it is closed. It is used like ``_levada.Sink``."""

    def __init__(self, ds, path, format, compression, level):
        pyarrow()
        self.ds, self.path, self.part = ds, path, f"{path}.part-{os.getpid()}"
        self.format, self.level = format, level
        self.compression = compression or ("zstd" if format == "parquet" else "none")
        self.writer = self.schema = None
        self.held, self.nheld, self.records = [], 0, 0

    def _open(self):
        pa = pyarrow()
        import pyarrow.parquet as pq

        try:
            if self.format == "parquet":
                kind = {"compression": self.compression, "compression_level": self.level}
                return pq.ParquetWriter(self.part, self.schema, **kind)
            codec = None
            if self.compression != "none":
                codec = pa.Codec(self.compression, self.level)
            options = pa.ipc.IpcWriteOptions(compression=codec)
            return pa.ipc.new_file(self.part, self.schema, options=options)
        except (ValueError, pa.ArrowException) as error:
            raise InvalidArgumentError(f"cannot write {self.path}: {error}") from error

    def _flush(self):
        with _writing(self.path):
            self.writer = self.writer or self._open()
            self.writer.write_table(pyarrow().Table.from_batches(self.held, self.schema))
        self.held, self.nheld = [], 0

    def add(self, block):
        from levada._batch import Batch

        _check(block)
        batch = pyarrow().record_batch(Batch(block))
        self.schema = self.schema or batch.schema
        if batch.schema != self.schema:
            raise InvalidArgumentError(
                f"record {self.records} has other columns than the first record; select or cast "
                "them"
            )
        self.held.append(batch)
        self.nheld += batch.num_rows
        self.records += batch.num_rows
        if self.nheld >= _GROUP:
            self._flush()

    def prepare(self):
        self.schema = self.schema or pyarrow().schema(self.ds)
        if self.held or self.writer is None:
            self._flush()
        with _writing(self.path):
            self.writer.close()
            with open(self.part, "rb") as file:
                os.fsync(file.fileno())

    def close(self):
        with _writing(self.path):
            os.replace(self.part, self.path)
        return (self.records,)

    def discard(self):
        if self.writer is not None:
            with contextlib.suppress(OSError):  # a full disk
                self.writer.close()
        if os.path.exists(self.part):
            os.unlink(self.part)
