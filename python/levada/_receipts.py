# SPDX-License-Identifier: Apache-2.0
"""Receipts: which records were delivered, and how often."""

from __future__ import annotations

import json
from collections.abc import Mapping

from levada import _levada
from levada._iterator import opened
from levada._plain import plain
from levada.errors import FailedPreconditionError, InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from levada._dataset import Dataset


def _found(given: Any) -> Iterator[str]:
    """The receipts in texts, checkpoints, and dicts and lists of them, at any depth."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, (bytes, bytearray, memoryview)):
        yield _levada.receipt_of(opened(bytes(given))[2])
    elif isinstance(given, Mapping):
        parts = given.get("states")
        if "parts" in given and isinstance(parts, Mapping) and None in parts.values():
            raise FailedPreconditionError(
                "the state of a loader has no receipts of the parts that were read to their ends; "
                "pass the receipts of iterators of ds.shard(i, n) instead"
            )
        for value in given.values():  # also of other things, such as the weights of a model
            position = isinstance(value, bytes) and value.startswith(b"LVD")
            if position or isinstance(value, (Mapping, list, tuple)):
                yield from _found(value)
    elif isinstance(given, (list, tuple)):
        for value in given:
            yield from _found(value)
    else:
        raise TypeError(
            "a receipt must be a str of stats()['receipt'], a checkpoint (bytes), or a dict or "
            f"list of them; got {type(given).__name__}"
        )


def merge_receipts(*receipts: Any) -> str:
    """Adds up epoch receipts, such as those of all ranks.

    Args:
        receipts (str | bytes | dict | list): texts of ``it.stats()["receipt"]``, checkpoints, or
            dicts and lists of checkpoints, such as ``load_checkpoint`` returns.

    Returns:
        str: the receipt of all their records.

    Raises:
        InvalidArgumentError: a text is not a receipt, or no argument contains a receipt.

    Example:
        ranks = [iter(lv.range(9).shard(k, 2).batch(2)) for k in (0, 1)]
        for it in ranks:
            list(it)
        print(lv.check_receipts(lv.range(9), *[it.stats()["receipt"] for it in ranks]))
    """
    found = tuple(_found(list(receipts)))
    if not found:
        raise InvalidArgumentError("no receipts or checkpoints to check; pass at least one")
    return _levada.receipts_merge(found)


def _counted(n, one):
    return f"{n:,} {one}{'' if n == 1 else 's'}"


def _difference(found):
    n, first, last = found["records"], found["first"], found["last"]
    part = "" if found["all"] else f"{abs(n):,} of "
    which = f"record {first}" if first == last else f"records {first} to {last}"
    where = plain(found["file"]) if found["file"] is not None else "a source without files"
    return f"{'missing' if n < 0 else 'too often'}: {part}{which} of {where}"


class ReceiptReport(dict):
    """Says which records were delivered: a dict that prints as text, of ``check_receipts``.

    Its keys: complete (bool), epochs, delivered, expected, skipped, unknown (records without an
    origin), files, differences (a list of dicts: file, first, last, records, all; records below 0
    are missing, above 0 came too often) and named (False: further places differ, too many to list).

    Example:
        it = iter(lv.range(9).batch(2))
        next(it)
        report = lv.check_receipts(lv.range(9), it.stats()["receipt"])
        print(report["complete"], report["differences"][0]["first"])
    """

    def __str__(self) -> str:
        head = _counted(self["delivered"], "record")
        if self["files"]:
            head += f" of {_counted(self['files'], 'file')}"
        if self["complete"]:
            times = "once" if self["epochs"] == 1 else f"{self['epochs']} times"
            return f"{head} were delivered: every record {times}"
        lines = [f"{head} were delivered, {self['expected']:,} were expected"]
        lines += [f"  {_difference(each)}" for each in self["differences"]]
        if not self["named"]:
            lines.append("  others differ, too, in too many places to be named")
        if self["skipped"]:
            lines.append(f"  {_counted(self['skipped'], 'record')} skipped as bad")
        if self["unknown"]:
            lines.append(f"  {_counted(self['unknown'], 'record')} of unknown origin")
        return "\n".join(lines)

    __repr__ = __str__


def check_receipts(
    dataset: Dataset[Any], *receipts: Any, epochs: int | None = None
) -> ReceiptReport:
    """Checks whether each record of a dataset was delivered the right number of times.

    Runs the dataset from beginning to end, and compares its records with epoch receipts
    (``it.stats()["receipt"]``). Each iterator keeps an epoch receipt, which its checkpoints
    contain, so the receipts of all ranks add up to the receipt of the epoch, even after crashes.

    A receipt identifies a record by its number and the name of its file, without directories. A
    record that ``zip`` joined counts as each of its parts. A row that ``pack``, ``collect`` or
    ``group_by`` made of several records counts as the first record.

    Args:
        dataset (Dataset): the records that had to be delivered: the pipeline, or its source alone.
        receipts (str | bytes | dict | list): receipts, checkpoints, or dicts and lists of them,
            which are added up.
        epochs (int): number of times that each record must be delivered; None = the nearest number.

    Returns:
        ReceiptReport: a dict that prints as text, with the files and records that are missing or
        came too often. Differences in more than about ten ranges of 4,096 records are counted, but
        not all named.

    Example:
        it = iter(lv.range(9).shuffle(4).batch(2))
        list(it)
        print(lv.check_receipts(lv.range(9), it.stats()["receipt"]))
    """
    it = dataset._open(0)
    try:
        text = it._check_receipt(merge_receipts(*receipts), 0 if epochs is None else epochs)
    finally:
        it.close()
    return ReceiptReport(json.loads(text))
