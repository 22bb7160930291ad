# SPDX-License-Identifier: Apache-2.0
"""Running datasets."""

from __future__ import annotations

import atexit
import itertools
import json
import logging
import sys
import warnings
import weakref
from collections.abc import Mapping
from contextlib import contextmanager

from levada import _levada
from levada._batch import Batch, rows_of
from levada._front import with_fronts
from levada._plain import plain
from levada._prefix import body_of, prefixed
from levada._typed import T, Typed
from levada.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Generator
    from typing import Any, Literal, Self

    from levada._dataset import Dataset

_live: weakref.WeakValueDictionary[int, Iterator[Any]] = weakref.WeakValueDictionary()  # by id
_MAGIC = b"LVDROWS1"
# Messages of problems that cost no record.
_log = logging.getLogger("levada")


@atexit.register
def _close_all():
    """Threads of C that wait for Python must be gone before Python is."""
    for reference in _live.valuerefs():  # one step: daemon threads may still open iterators
        iterator = reference()
        if iterator is None:
            continue
        iterator.cancel()
        try:
            iterator.close()
        except FailedPreconditionError:  # a daemon thread is inside; it gets CancelledError
            pass
    if functions := sys.modules.get("levada._functions"):
        functions.end()


class Report(dict):
    """A wait report; prints as text."""

    def __str__(self):
        rows = self.get("threads", [])
        stages = f"{len(rows)} stage{'s' * (len(rows) != 1)} with workers"
        lines = [f"levada: {stages}" if rows else "levada: everything on the caller"]
        for row in rows:
            name, state, *more = row.values()
            ready = f"{row['ready']} of {row['window']} ready" if "window" in row else more
            lines.append(f"  {name:<28} {state:<18} {ready}")
        for row in self.get("stages", []):
            numbers = [f"{key} {value}" for key, value in row.items() if key != "path"]
            lines.append(f"  {row['path']:<28} {', '.join(numbers)}")
        return plain("\n".join(lines), lines=True)

    __repr__ = __str__


class _Files:
    """Paths of the files of an iterator, and what the receipts of its batches share, also after it
    was closed: its batches hold this."""

    __slots__ = ("__weakref__", "known", "owner", "stamp")

    def __init__(self, owner):
        self.owner = weakref.ref(owner)
        self.known = {}
        self.stamp = None

    def receipt(self, block):
        owner = self.owner()
        stamp = owner._stamp() if owner is not None and self.stamp is None else self.stamp
        return _levada.receipt(stamp or b"", block)

    def __call__(self, source, pass_, shard):
        # The files of a source that was closed are known without its pass_.
        key = (source, pass_, shard) if (source, pass_, shard) in self.known else (source, shard)
        if key not in self.known:
            owner = self.owner()
            path = owner._file(source, pass_, shard) if owner is not None else None
            if path is None:
                return None
            key = source, pass_, shard
            self.known[key] = path
        return self.known[key]

    def keep(self, owner):
        """Notes what batches may ask for that live longer than the iterator."""
        self.stamp = owner._stamp()
        for i in itertools.count():
            source = owner._source(i)
            if source < 0:
                break
            for shard in itertools.count():
                path = owner._file(source, -1, shard)
                if path is None:
                    break
                self.known[source, shard] = path
        self.known.update(owner._opened())


def opened(state: bytes) -> tuple[list[Any] | None, int | None, bytes]:
    """Takes a position apart: columns of functions, records after it that were returned (None: it
    is not inside a block), and the position of C. Raises DataLossError."""
    from levada._chosen import split

    chosen, position = split(state)
    body = body_of(_MAGIC, position)
    if body is None:
        return chosen, None, position
    return chosen, int.from_bytes(body[:8], "little"), body[8:]


def _state(state):
    if isinstance(state, (int, str)) or state is None:
        raise TypeError(f"a state must be bytes, got {type(state).__name__}")
    return bytes(state)


def _problem_text(problem):
    place = problem["file"] or problem["stage"]
    if problem["record"] >= 0:
        place += f" record {problem['record']}"
    return plain(f"{place}: {problem['message']}")


@with_fronts
class Iterator(Typed[T], _levada.Iter):
    """Runs a dataset: yields ``Batch`` objects, or records as dicts if nothing is batched.

    ``iter(ds)`` makes an iterator. Use it on one thread at a time; other threads may only call
    ``cancel()``, ``report()``, ``stats()`` and ``trace()``. As a context manager it stops and joins
    its threads at the end. After an error each call raises the error again until ``restore()`` or
    ``close()``. A Ctrl-C loses no value: the next call returns a value that a ``for`` loop did not
    receive, and ``save()`` counts it as not returned.

    Args:
        dataset (Dataset): the pipeline to run.
        epoch (int, default 0): number of the epoch, from 0; it selects the order of shuffles.
        blocks (bool, default False): yields records as ``Batch`` objects of up to 256 records.

    Example:
        with iter(lv.range(5).batch(2)) as it:
            print(next(it)["value"])
            checkpoint = it.save()
    """

    if TYPE_CHECKING:

        def __next__(self) -> T: ...

        def __iter__(self) -> Self: ...

    # The extension's part calls _made() and returns its result, with nothing of Python run in
    # between; while something was raised it keeps the block.

    def __new__(cls, dataset: Dataset[Any], epoch: int = 0, blocks: bool = False) -> Self:
        functions = sys.modules.get("levada._functions")
        if functions is not None:
            functions.ensure()
        return dataset._open(epoch, kind=cls)

    def __init__(self, dataset: Dataset[Any], epoch: int = 0, blocks: bool = False) -> None:
        self._dataset = dataset
        self._batched = blocks or bool(dataset._core.flags & 2)
        self._restored = False
        self._states: dict[str, str] | None = dict(self._feeds() or ()) or None
        self._files: weakref.ref[_Files] | None = None  # a weak reference to what its batches share
        self._choosing = dataset._choosing()
        self._columns = [target.columns for target in self._choosing]  # also after other restores
        _live[id(self)] = self

    def _made(self, block: _levada.Block) -> Any:
        if not self._batched:
            return rows_of(block)
        files = self._files() if self._files is not None else None
        if files is None:
            files = _Files(self)
            self._files = weakref.ref(files)
        if self._states is not None:
            from levada._states import StateBatch

            return StateBatch(block, files, self)
        return Batch(block, files)

    _done = False  # True once its end was reached

    def _ended(self) -> None:
        self._done = True
        stats = self.stats()
        for problem in stats["problems"]:
            if not problem["lost"]:
                _log.warning("%s", _problem_text(problem))
        skipped = stats["skipped_records"]
        if skipped == 0:
            return
        problems = [each for each in stats["problems"] if each["lost"]]
        first = f", the first one for: {_problem_text(problems[0])}" if problems else ""
        if stats["records"] > 0 or self._restored:  # a for loop and a DataLoader have no stats()
            were = "1 record or file was" if skipped == 1 else f"{skipped} records or files were"
            _log.warning("%s skipped%s", were, first)
            return
        were = "1 record was" if skipped == 1 else f"{skipped} records were"
        warnings.warn(
            f"no record was delivered: {were} skipped{first}",
            RuntimeWarning,
            stacklevel=2,
        )

    def _keep_files(self):
        files = self._files() if self._files is not None else None
        if files is not None:
            files.keep(self)

    def save(self) -> bytes:
        """Returns the position after the last value that the iterator returned, as bytes for
        ``restore``.

        Raises:
            UnimplementedError: a source cannot be saved.
            FailedPreconditionError: the iterator has failed, and records may be lost.

        Example:
            it = iter(lv.range(9))
            next(it)
            state = it.save()
        """
        state, drop = super().save(), self._left_out()
        if drop:
            state = prefixed(_MAGIC, drop.to_bytes(8, "little") + state)
        if not self._choosing:
            return state
        from levada._chosen import added, places

        return added(state, self._columns, places(self._dataset._core))

    def restore(  # type: ignore[override]
        self, state: bytes, *, mix: Literal["keep positions"] | None = None
    ) -> None:
        """Restores the position that ``save()`` returned. Iteration then continues with exactly
        the same values.

        If the call fails, the iterator does not change.

        Args:
            state (bytes): a result of ``save()``.
            mix ("keep positions" | None): "keep positions" accepts the state of a pipeline whose
                mixtures with names (``lv.mix({"web": web, ...})``) have other weights or inputs.
                Inputs are matched by name: inputs of the checkpoint continue, new inputs begin, and
                removed inputs are listed in ``stats()["problems"]`` (logged at the end) with the
                number of records drawn from them. Buffered records of removed inputs are still
                returned, so the files and functions of these inputs must exist.

        Raises:
            FailedPreconditionError: the checkpoint belongs to a different pipeline (the message
                shows the first difference), or files have changed.
            DataLossError: the checkpoint is corrupt.
            UnimplementedError: a stage divides what the mixture emits among ranks.

        Example:
            it = iter(lv.mix({"a": lv.range(9), "b": lv.range(9)}, seed=1))
            next(it)
            state = it.save()
            it.restore(state)
            more = iter(lv.mix({"a": lv.range(9), "c": lv.range(5)}, weights=[1, 2], seed=1))
            more.restore(state, mix="keep positions")
        """
        if mix not in (None, "keep positions"):
            raise InvalidArgumentError(f"mix={mix!r} must be 'keep positions' or None")
        chosen, inside, state = opened(_state(state))
        if inside is not None and self._batched:
            raise FailedPreconditionError(
                "the checkpoint is inside a block; restore it with an iterator of records, not "
                "with blocks()"
            )
        drop = inside or 0
        if drop and mix:
            raise FailedPreconditionError(
                "the checkpoint is inside a block, as its restore was interrupted; restore it with "
                "the pipeline that it belongs to, and save again"
            )
        self._restore(chosen, state, drop, mix is not None)
        self._restored, self._done = True, False
        self._dataset._epochs.seen(self.stats()["epoch"])
        if not self._skip():
            raise FailedPreconditionError(
                "the dataset ends before the position of the checkpoint: it has fewer records than "
                "when the checkpoint was saved"
            )

    def _restore(self, chosen, state, drop, mix):
        """Restores a position of C, and the columns that the functions have from there on."""
        if chosen is None:
            super().restore(state, drop, mix)
            return
        from levada._chosen import begin_as, placed, places

        if mix:
            chosen = placed(chosen, places(self._dataset._core)) or []
        if len(chosen) != len(self._choosing):
            self._dataset._open(0).restore(state)  # says how the pipelines differ
            raise DataLossError("the checkpoint is corrupt: it has columns of other functions")
        before = begin_as(self._choosing, chosen)
        try:
            super().restore(state, drop, mix)
        except BaseException:
            for target, columns in zip(self._choosing, before, strict=True):
                target.begin_with(columns)
            raise
        self._columns = [target.columns for target in self._choosing]

    def skip_batches(self, n: int) -> int:
        """Skips the next `n` batches, such as a bad stretch of the data after a restore. Iteration
        continues as after `n` calls of ``next``.

        The skipped batches are read and decoded. If Ctrl-C ends the call, fewer batches were
        skipped, and ``save()`` returns the actual position.

        Args:
            n (int): batches to skip.

        Returns:
            int: the number of skipped batches, less than `n` at the end of the data.

        Raises:
            TypeError: the iterator returns records, not batches.

        Example:
            it = iter(lv.range(9).batch(2))
            it.skip_batches(3)
            print(next(it)["value"])
        """
        if not self._batched:
            raise TypeError("skip_batches needs batches: batch the dataset, or use ds.skip(n)")
        if n < 0:
            raise InvalidArgumentError(f"skip_batches: n={n} must be at least 0")
        return self._pass(n)

    def replay(self, n: int, *, state: bytes | None = None) -> T:
        """Returns batch `n` of this epoch again, bit for bit. The iterator does not move.

        A second iterator with the same seed reads from the beginning of the epoch up to the batch,
        or from a checkpoint before the batch. Its functions are called again, so random numbers
        that do not come from ``rng`` may differ; ``Batch.receipt`` shows whether they do.

        Args:
            n (int): number of the batch, from 0 at the beginning of the epoch.
            state (bytes): a checkpoint of this run, from before the batch.

        Raises:
            OutOfRangeError: the epoch has fewer batches.
            FailedPreconditionError: the checkpoint is later than the batch, or the batches have
                states that a model computes.

        Example:
            it = iter(lv.range(100).shuffle(50).batch(4))
            batches = [next(it) for _ in range(9)]
            print((it.replay(3)["value"] == batches[3]["value"]).all())
        """
        if not self._batched:
            raise TypeError("replay needs batches: batch the dataset, or use blocks()")
        if n < 0:
            raise InvalidArgumentError(f"replay: n={n} must be at least 0")
        if self._states is not None:
            name = next(iter(self._states))
            raise FailedPreconditionError(
                f"replay: the batches have states of the model, such as {name!r}, so they cannot "
                "be rebuilt without it"
            )
        stats = self.stats()
        again = self._dataset.with_options(seed=stats["seed"])
        with Iterator(again, stats["epoch"], blocks=True) as it:
            if state is not None:
                it.restore(state)
            done = it.stats()["batches"]
            if done > n:
                raise FailedPreconditionError(
                    f"the checkpoint is later than batch {n}: it begins with batch {done}; use an "
                    "earlier one, or none"
                )
            it.skip_batches(n - done)
            batch = next(it, None)
            if batch is None:
                raise OutOfRangeError(
                    f"batch {n} does not exist: the epoch has {it.stats()['batches']} batches"
                )
            return batch

    def state_dict(self) -> dict[str, Any]:
        """Returns the checkpoint of ``save()`` as a dict, which training loops store.

        Example:
            it = iter(lv.range(9).batch(2))
            next(it)
            state = it.state_dict()
        """
        return {"levada": self.save()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores the position from a dict of ``state_dict()``.

        Args:
            state (Mapping): a result of ``state_dict()``.

        Example:
            it = iter(lv.range(9))
            it.load_state_dict(it.state_dict())
        """
        if not isinstance(state, Mapping) or "levada" not in state:
            got = list(state) if isinstance(state, Mapping) else type(state).__name__
            raise TypeError(
                f"a state must be a dict of state_dict(), with the key 'levada'; got {got}"
            )
        self.restore(state["levada"])

    def stats(self) -> dict[str, Any]:  # type: ignore[override]
        """Returns counters as a dict. Any thread may call, at any time.

        Counts of what the iterator has returned; they do not depend on threads, and continue after
        a restore: ``records``, ``batches``, ``skipped_records``, ``damaged_bytes``,
        ``missing_files``, ``empty_files``, ``dropped_records``, ``elements`` of padded columns, of
        which ``padding`` are padding, ``padding_fraction``; also ``seed`` and ``epoch``.

        Work since the iterator was opened or restored, including work of threads that read ahead:

        - ``wait_seconds``: the time that your loop spent in ``next``; ``seconds``: the time from
          its first call to the end of its last one. ``wait_seconds / seconds`` is the share of the
          time in which your program waited for data.
        - ``ready``: batches that ``next`` can return at once; ``threads``.
        - ``bytes`` of the input files; of remote files, ``requests``, ``retries`` and
          ``received_bytes``.
        - ``stages``: a dict for each stage: ``path``, ``records``, ``blocks``, ``seconds`` (of the
          stage itself, without its inputs, added up over threads), and if threads work ahead,
          ``ready`` of ``window`` results that wait downstream of the stage.

        ``problems``: the first 64 problems (skipped records and files, and files without records),
        each a dict {stage, file, record, offset, message}. ``receipt``: the epoch receipt, which
        says which records were delivered (``check_receipts``).

        Example:
            it = iter(lv.range(9).batch(2))
            next(it)
            print(it.stats()["records"])
        """
        return json.loads(super().stats())

    @contextmanager
    def trace(self, path: str | os.PathLike[str]) -> Generator[None]:
        """Records what each thread does in a ``with`` block, and writes it to a file at its end.

        Open the file at https://ui.perfetto.dev or in chrome://tracing: one row for each thread,
        with the stages, and ``next`` where your loop waits for a batch. A trace has the newest
        65,536 events; a trace that is longer logs how many are missing.

        Args:
            path (str | os.PathLike): the JSON file to write. It is replaced.

        Raises:
            OSError: the file cannot be written.

        Example:
            it = iter(lv.range(1000).shuffle(100).batch(10))
            with it.trace("trace.json"):
                for batch in it:
                    pass
        """
        self._trace(True)
        try:
            yield
        finally:
            self._trace(False)
            text = self._trace_json()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            data = json.loads("{" + text[text.rindex('"otherData"') :])["otherData"]
            if data["dropped_events"] != "0":
                _log.warning("%s lacks the first %s events", path, data["dropped_events"])

    def explain(self) -> str:
        """Returns ``Dataset.explain``, with the choices that stages made from the data.

        The boundaries of ``bucket_by_sequence_length(num_buckets=)`` are such a choice. Any thread
        may call.

        Example:
            it = iter(lv.range(9).batch(2))
            print(it.explain())
        """
        return super().explain()

    def report(self) -> Report:  # type: ignore[override]
        """Returns the wait report, a dict that prints as text. Any thread may call.

        Example:
            print(iter(lv.range(9).batch(2)).report())
        """
        return Report(json.loads(super().report()))

    def close(self) -> None:
        """Stops and joins its threads. May be called again.

        Example:
            it = iter(lv.range(9).batch(2))
            it.close()
        """
        self._keep_files()
        super().close()
        self._files = None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if not self._batched:
            raise TypeError("an Arrow stream has batches: iterate over ds.blocks() or ds.batch(n)")
        batches: Any = self
        return _levada.arrow_stream(self._dataset._core, (batch._block for batch in batches))

    def __del__(self):
        if hasattr(self, "_files"):
            self._keep_files()

    def __reduce__(self):
        raise TypeError("an Iterator cannot be copied or pickled: save() and restore() move it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self):
        return f"levada.Iterator of {self._dataset!r}"


@with_fronts
class PositionIterator(Iterator[T]):
    """An iterator whose batches carry their position (``Batch.position``)."""

    def __next__(self) -> T:
        batch: Any = super().__next__()
        batch._position = self.save()
        return batch
