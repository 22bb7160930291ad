# SPDX-License-Identifier: Apache-2.0
"""Records out: TFRecord files and tf.train.Example messages."""

from __future__ import annotations

import os
import warnings

from levada import _levada
from levada._exact import check_mixed, is_text, other_value
from levada._ragged import check_mask
from levada.errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Self


class TFRecordWriter:
    """Writes records to a TFRecord file, as a context manager.

    The file appears at its path when ``close()`` succeeds, or when the ``with`` block ends without
    an exception. Otherwise the records are dropped, and an older file at that path stays. levada
    writes to a pipe or a device directly, and refuses a symbolic link. Use a writer on one thread
    at a time.

    Args:
        path (str | os.PathLike[str]): the file.
        compression (str): None, "gzip", "zlib" or "zstd".
        level (int): level of the compression; None = its default.

    Raises:
        LevadaError: the file cannot be written.

    Example:
        with lv.TFRecordWriter("out.tfrecord") as writer:
            writer.write(lv.make_example({"tokens": [1, 2]}))
    """

    _open = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        *,
        level: int | None = None,
    ) -> None:
        self._writer = _levada.Writer(path, compression, -1 if level is None else level)
        self._path, self._pid, self._open = path, os.getpid(), True

    def write(self, record: Any) -> None:
        """Appends one record.

        Args:
            record (bytes): the record, or an object with ``SerializeToString()``.

        Raises:
            TypeError: the record is not bytes.
            LevadaError: the file cannot be written.

        Example:
            with lv.TFRecordWriter("out.tfrecord") as writer:
                writer.write(b"one record")
        """
        maker = getattr(record, "SerializeToString", None)
        try:
            self._writer.write(record if maker is None else maker())
        except TypeError:
            kind = type(record).__name__
            raise TypeError(
                f"a record must be bytes, got {kind}; lv.make_example makes one from a dict"
            ) from None

    def flush(self) -> None:
        """Passes every record so far to the system, so that the other end of a pipe can read it.

        Example:
            with lv.TFRecordWriter("out.tfrecord") as writer:
                writer.write(b"one record")
                writer.flush()
        """
        self._writer.flush()

    def close(self) -> None:
        """Finishes the file, which appears at its path. May be called again.

        Example:
            writer = lv.TFRecordWriter("out.tfrecord")
            writer.write(b"one record")
            writer.close()
        """
        self._open = False
        self._writer.close()

    def discard(self) -> None:
        """Drops the records; nothing changes at the path. May be called after close().

        Example:
            writer = lv.TFRecordWriter("out.tfrecord")
            writer.write(b"one record")
            writer.discard()
        """
        self._open = False
        self._writer.discard()

    def __repr__(self) -> str:
        return f"levada.TFRecordWriter({str(self._path)!r}{'' if self._open else ', closed'})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        if self._open and self._pid == os.getpid():
            text = f"TFRecordWriter({str(self._path)!r}) was not closed: its records are dropped"
            # Not a ResourceWarning, which Python hides: the program would lose its output silently.
            warnings.warn(text, RuntimeWarning, source=self, stacklevel=2)


def write(
    ds: Any,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    compression: str | None = None,
    level: int | None = None,
    records_per_file: int = 0,
    bytes_per_file: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Any:
    """Writes every record of a dataset to files, and returns the number of records.

    Files appear when all are complete; after an exception, no file appears. A set replaces an
    older set of the same path, even with another number of files. The files of several datasets are
    renamed together, when all of them are on the disk: only if the process is killed or a rename
    fails in this moment, some of them are new and others are not.

    A path that ends in ".parquet" or ".arrow" is written with pyarrow, as one file. Ragged fields
    are lists, lists of objects are lists of structs, and byte strings are binary.

    The format tfrecord stores tf.train.Example messages, or the bytes of the only column if its
    name is "record". Columns with lists of lists, or lists of arrays, are stored in
    tf.train.SequenceExample messages, as with the format sequence_example: ragged and padded
    columns are feature lists, with a step for each item of the outer list, and other columns are
    features of the context. csv has no lists. tar names samples by the column "key", and members by
    the other columns. text_lines has one column. Padding is not written.

    Args:
        ds (Dataset): the records; or {name: dataset}, such as the parts of ``ds.split``. The path
            then contains "{split}", which is replaced by each name. Parts that ``split`` has just
            made are written in one pass over their input, in one epoch of all of them; other
            datasets are read by themselves.
        path (str): the file, or the pattern of a set.
        format (str): tfrecord, sequence_example, csv, jsonl, tar, text_lines, parquet or arrow;
            None = by the suffix of the path.
        compression (str): none, gzip, zlib or zstd; None = by the suffix ("a.jsonl.gz"), and zstd
            for parquet.
        level (int): level of the compression; None = its default.
        records_per_file (int, default 0): maximum number of records per file; 0 = one file. The
            files are named "a-00000-of-00003.csv", or as a pattern such as "%05d-of-%05d" in the
            path says.
        bytes_per_file (int, default 0): maximum size per file in bytes, before compression; 0 =
            one file.
        progress (Callable): called with the number of records after each block.

    Returns:
        int: the number of records; {name: number} for {name: dataset}.

    Raises:
        InvalidArgumentError: the format cannot store a column, a value or an option.

    Example:
        train, test = lv.range(9).split(0.7, 0.3)
        print(lv.write(lv.range(9), "numbers.csv"))
        print(lv.write({"train": train, "test": test}, "numbers-{split}.csv").keys())
    """
    given = {"format": format, "compression": compression, "level": level}
    given |= {"records_per_file": records_per_file, "bytes_per_file": bytes_per_file}
    if isinstance(ds, tuple):
        raise TypeError('write: several datasets must have names: {"train": ds, "test": other}')
    several = dict(ds) if hasattr(ds, "keys") else {None: ds}
    sinks = []
    try:
        for name, one in several.items():
            sinks.append(_sink(one, _named(path, name), **given))
        written = 0
        for source, epoch, outputs in _passes(several.values(), sinks):
            written = _fill(source, epoch, outputs, written, progress)
        for sink in sinks:
            sink.prepare()
        counts = [sink.close()[0] for sink in sinks]
    except BaseException:
        for sink in sinks:
            sink.discard()
        raise
    return counts[0] if None in several else dict(zip(several, counts, strict=True))


def _passes(datasets, sinks):
    """(dataset to read, epoch, [(part of it or None, sink)]): those of one dataset share a pass."""
    from levada._dataset import Dataset

    passes = {}
    for i, (ds, sink) in enumerate(zip(datasets, sinks, strict=True)):
        core, settings = ds._core, ds._settings
        if not core.traits()["splits"]:
            passes[i] = (ds, [ds], [(None, sink)])
            continue
        source = core.inputs()[0]
        key = (source, tuple(sorted(settings.items())))
        shared = (Dataset(source, settings, ds._home), [], [])
        passes.setdefault(key, shared)[1].append(ds)
        passes[key][2].append((core, sink))
    return [(source, _epoch_of(parts), outputs) for source, parts, outputs in passes.values()]


def _epoch_of(parts):
    """The next epoch of all parts of a dataset, of which some may have been read before."""
    epoch = max([part._epochs.take() for part in parts])
    for part in parts:
        part._epochs.seen(epoch)
    return epoch


def _fill(ds, epoch, outputs, written, progress):
    """Writes the records; returns how many there were, after those written before."""
    with ds.blocks(epoch) as blocks:
        for block in blocks:
            for part, sink in outputs:
                rows = block._block if part is None else blocks._apply(part, block._block)
                sink.add(rows)
                written += rows.rows
            if progress is not None:
                progress(written)
    return written


def _named(path, name):
    """The path of a split."""
    path = os.fspath(path)
    if name is None:
        return path
    if "{split}" not in path:
        raise InvalidArgumentError(
            f"write: the path of several datasets must contain '{{split}}', got {path!r}"
        )
    if not name or "/" in name or "\0" in name:
        raise InvalidArgumentError(f"write: {name!r} cannot be a part of a file name")
    return path.replace("{split}", name)


def _sink(ds, path, format, compression, level, records_per_file, bytes_per_file):
    """An open file, or set of files, of a dataset."""
    suffix = os.path.splitext(path)[1][1:]
    if format in _TABLES or (format is None and suffix in _TABLES):
        from levada.interop._tables import TableSink

        if records_per_file or bytes_per_file:
            raise InvalidArgumentError(
                f"write: {format or suffix} is one file: records_per_file and bytes_per_file must "
                "be 0"
            )
        return TableSink(ds, path, format or suffix, compression, level)
    level = -1 if level is None else level
    return _levada.Sink(
        path, format, compression, level, records_per_file, bytes_per_file, ds._core
    )


_TABLES = ("parquet", "arrow")


def _feature(key, value):
    """(key, kind, values) of whatever holds integers, floats or byte strings."""
    import numpy as np

    if is_text(value):
        value = [value]
    check_mask(value)
    if value is None or hasattr(value, "keys"):
        raise _odd(key, value)
    if not hasattr(value, "dtype"):
        value = list(value) if hasattr(value, "__iter__") else [value]
        if any(map(is_text, value)):
            return key, "b", [_bytes(key, item) for item in value]
    try:
        array = np.asarray(value).reshape(-1)
    except ValueError:
        raise ValueError(
            f"feature {key!r}: the parts of a list must have the same length; flatten it"
        ) from None
    if array.dtype.kind == "O" and not any(map(is_text, array.tolist())):
        raise _odd(key, next(item for item in array.tolist() if not isinstance(item, float)))
    if array.dtype.kind in "OSU":
        return key, "b", [_bytes(key, item) for item in array.tolist()]
    if array.size == 0 and not hasattr(value, "dtype"):
        return key, None, np.zeros(0, np.int64)
    if array.dtype.kind in "iub":
        return key, "i", _fits(key, array)
    if array.dtype.kind == "f":
        return key, "f", _floats(key, array, value)
    raise TypeError(f"feature {key!r} must have integers, floats or bytes, got {array.dtype}")


def _odd(key, item):
    if isinstance(item, int):
        return ValueError(f"feature {key!r}: {item} does not fit int64")
    what = type(item).__name__
    return TypeError(f"feature {key!r}: {what}; integers, floats or bytes are possible")


def _fits(key, array):
    import numpy as np

    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"feature {key!r}: {array.max()} does not fit int64")
    return np.ascontiguousarray(array, np.int64)


def _floats(key, array, value):
    """As the format has them: rounded to float32, but none larger than that holds."""
    import numpy as np

    check_mixed(array, value, "")
    with np.errstate(over="ignore"):
        made = np.ascontiguousarray(array, np.float32)
    large = other_value(array, made, rounds=True)
    if large is not None:
        raise ValueError(f"feature {key!r}: {large} does not fit float32")
    return made


def _bytes(key, item):
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, (bytes, bytearray)):
        return bytes(item)
    raise TypeError(
        f"feature {key!r} must have byte strings or numbers, not both: got {type(item).__name__}"
    )


def _features(features):
    """Those that have a kind: an empty list could be of any, and is what a missing feature is."""
    if not hasattr(features, "items"):
        raise TypeError(f"features must be {{name: values}}, got {type(features).__name__}")
    given = (_feature(key, value) for key, value in features.items())
    return [feature for feature in given if feature[1]]


def make_example(features: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a tf.train.Example.

    An empty list has no dtype and is omitted, which is equivalent for readers; an empty array is
    written.

    Args:
        features (Mapping): {name: integers, floats or byte strings}, single or several.

    Example:
        print(len(lv.make_example({"label": 1, "tokens": [5, 6]})))
    """
    return _levada.example(_features(features), [])


def _steps(key, steps):
    """The steps of a feature list; numbers in a regular form go to C as one array."""
    import numpy as np

    if not hasattr(steps, "dtype"):
        steps = list(steps)
        if steps and all(isinstance(step, (int, float)) for step in steps):
            given, steps = steps, np.asarray(steps)
            if steps.dtype.kind == "f":
                check_mixed(steps, given, "")
    if hasattr(steps, "dtype") and steps.ndim > 0 and steps.size and steps.dtype.kind in "iubf":
        _, kind, values = _feature(key, steps)
        return kind, values, steps.size // len(steps)
    return _same_kind(key, [(None, *_feature(key, step)[1:]) for step in steps])


def _same_kind(key, steps):
    """Steps of one kind: those that are empty as the others, integers among floats as floats."""

    kinds = {kind for _, kind, _ in steps if kind}
    if "b" in kinds:
        if len(kinds) > 1:
            raise TypeError(
                f"feature list {key!r} must have steps of byte strings or of numbers, got both; "
                "write two feature lists"
            )
        return [(None, kind or "b", values if kind else []) for _, kind, values in steps]
    if "f" not in kinds:
        return [(None, "i", values) for _, _, values in steps]
    return [(None, "f", _as_floats(kind, values)) for _, kind, values in steps]


def _as_floats(kind, values):
    """The float32 values of a step among others that are floats."""
    import numpy as np

    if kind == "i":
        check_mixed(values.astype(np.float64), values, "")
    return np.ascontiguousarray(values, np.float32)


def make_sequence_example(
    context: Mapping[str, Any], sequences: Mapping[str, Iterable[Any]]
) -> bytes:
    """Returns the bytes of a tf.train.SequenceExample.

    Args:
        context (Mapping): {name: values}, as in ``make_example``.
        sequences (Mapping): {name: list of steps}; a step is integers, floats or byte strings, and
            all steps of a list have the same kind.

    Example:
        print(len(lv.make_sequence_example({"label": 1}, {"frames": [[0.5], [1.5]]})))
    """
    lists = [(key, _steps(key, steps)) for key, steps in sequences.items()]
    return _levada.example(_features(context), lists)
