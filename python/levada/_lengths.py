# SPDX-License-Identifier: Apache-2.0
"""How long sequences are, which boundaries pad them least, and what padding costs."""

from __future__ import annotations

import json

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    import numpy as np

    from levada._dataset import Dataset


class LengthHistogram:
    """Counts how often each length occurs.

    Args:
        lengths (Iterable[int]): ascending lengths, stored as int64.
        counts (Iterable[int]): number of records of each length, stored as int64.

    Raises:
        ValueError: the numbers of lengths and counts differ.
        TypeError: a length or a count is not an integer.

    Example:
        lengths = lv.LengthHistogram([2, 5, 9], [10, 30, 1])
        print(lengths.records, lengths.tokens, dict(zip(lengths.lengths, lengths.counts)))
    """

    __slots__ = ("counts", "lengths")

    def __init__(self, lengths: Iterable[int], counts: Iterable[int]) -> None:
        self.lengths = _integers("lengths", lengths)
        self.counts = _integers("counts", counts)
        if len(self.lengths) != len(self.counts):
            raise ValueError(
                f"counts must have an entry for each of {len(self.lengths)} lengths, got "
                f"{len(self.counts)}"
            )

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @property
    def tokens(self) -> int:
        return int(self.lengths @ self.counts)

    def quantile(self, share: float) -> int:
        """Returns the smallest length that `share` of the records do not exceed.

        Args:
            share (float): share of the records, from 0 to 1; 0.5 returns the median.

        Returns:
            A length.

        Raises:
            ValueError: `share` is out of range, or the histogram has no records.

        Example:
            print(lv.LengthHistogram([2, 5, 9], [10, 30, 1]).quantile(0.5))
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share={share!r} must be 0 to 1")
        if not len(self.lengths):
            raise ValueError("a histogram without records has no quantiles")
        at = self.counts.cumsum().searchsorted(share * self.records)
        return int(self.lengths[min(at, len(self.lengths) - 1)])

    def expand(self) -> np.ndarray:
        """Returns the length of each record, in ascending order.

        Example:
            print(lv.LengthHistogram([2, 5], [3, 1]).expand())
        """
        return self.lengths.repeat(self.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LengthHistogram):
            return NotImplemented
        mine, theirs = (self.lengths, self.counts), (other.lengths, other.counts)
        return all(a.tolist() == b.tolist() for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not len(self.lengths):
            return "LengthHistogram(0 records)"
        shown = " · ".join(f"{name} {self.quantile(at):,}" for name, at in _QUANTILES.items())
        return f"LengthHistogram({self.records:,} records · {shown})"


_QUANTILES = {"min": 0, "median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1}


def _integers(name, values):
    import numpy as np

    array = np.asarray(values if hasattr(values, "__len__") else list(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a list of integers, got {array.dtype}{list(array.shape)}")
    return np.ascontiguousarray(array, np.int64)


def _lengths_of(batch, field):
    """The lengths of a field as bucket_by_sequence_length counts them."""
    import numpy as np

    value = batch[field]
    if hasattr(value, "lengths"):
        return value.lengths
    if hasattr(value, "offsets"):
        return np.diff(value.offsets)
    if value.ndim > 1:
        return batch.lengths(field)
    return value


def _indexed(dataset, field):
    """The lengths of all records from the index of the files; None: it does not have them."""
    import numpy as np

    found = _levada.lengths(dataset._core, field)
    return None if found is None else np.frombuffer(found, np.int64)


def length_histogram(dataset: Dataset, field: str) -> LengthHistogram:
    """Counts how often each length of a field occurs. Reads the dataset once, or only its index.

    Only the index is read if ``lv.index(files, length=field, stages=...)`` wrote it, the source
    has ``index=True`` and reads all records in order, and the same stages follow.

    Args:
        dataset (Dataset): the records.
        field (str): a sequence, whose first dimension is the length, a byte string, or an integer
            field with the length, as in ``bucket_by_sequence_length``.

    Returns:
        A ``LengthHistogram``.

    Example:
        print(lv.length_histogram(lv.from_arrays({"x": [[1, 2], [3]]}), "x"))
    """
    import numpy as np

    known = _indexed(dataset, field)
    if known is not None:
        return LengthHistogram(*np.unique(known, return_counts=True))
    counts: dict[int, int] = {}
    with dataset.blocks(epoch=0) as blocks:
        for block in blocks:
            lengths = np.maximum(np.asarray(_lengths_of(block, field), np.int64), 0)
            for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
                counts[int(length)] = counts.get(int(length), 0) + int(count)
    found = sorted(counts)
    return LengthHistogram(found, [counts[length] for length in found])


def _histogram(value):
    if isinstance(value, LengthHistogram):
        return value
    if hasattr(value, "items"):
        pairs = sorted(value.items())
        return LengthHistogram([a for a, _ in pairs], [b for _, b in pairs])
    import numpy as np

    return LengthHistogram(*np.unique(_integers("lengths", value), return_counts=True))


def optimal_boundaries(
    histogram: LengthHistogram | Mapping[int, int] | Iterable[int],
    num_buckets: int,
    multiple_of: int = 1,
) -> list[int]:
    """Returns the boundaries of at most ``num_buckets`` buckets that pad the least.

    Args:
        histogram (LengthHistogram | Mapping[int, int] | Iterable[int]): a result of
            ``length_histogram``, a dict {length: count}, or the length of each record.
        num_buckets (int): maximum number of buckets.
        multiple_of (int, default 1): records are padded to the longest record of their bucket,
            rounded up to a multiple of this number.

    Example:
        print(lv.optimal_boundaries([3, 5, 90, 100], num_buckets=2))
    """
    given = _histogram(histogram)
    return _levada.optimal_boundaries(
        given.lengths.tobytes(), given.counts.tobytes(), num_buckets, multiple_of
    )


class PaddingReport:
    """Compares the padding of several batching strategies; ``str(report)`` is a table.

    ``padding_report`` and ``levada stats`` make reports. ``report[strategy]`` is the dict of one
    strategy.

    Args:
        records (int): number of records.
        tokens (int): sum of the lengths.
        strategies (list[dict[str, Any]]): a dict for each strategy, with its padding and its
            batches.
        field (str, default "length"): the field whose lengths were counted.
        quantiles (dict[str, int]): {name: length}: minimum, median, and others.
        histogram (list[list[int]]): lists ``[from, to, records]``, from the shortest length to the
            longest.
        recommended (dict[str, str]): the keys ``strategy``, ``stage`` (pipeline text) and ``call``
            (in Python).

    Example:
        report = lv.padding_report(lv.LengthHistogram([2, 5, 9], [10, 30, 1]), max_tokens=64)
        print(report.recommended["call"], report.quantiles["median"], list(report.strategies))
        print(report.field, report.histogram[0])
    """

    __slots__ = (
        "field", "histogram", "quantiles", "recommended", "records", "strategies", "tokens"
    )  # fmt: skip

    def __init__(
        self,
        records: int,
        tokens: int,
        strategies: list[dict[str, Any]],
        *,
        field: str = "length",
        quantiles: dict[str, int] | None = None,
        histogram: list[list[int]] | None = None,
        recommended: dict[str, str] | None = None,
    ) -> None:
        self.records, self.tokens, self.strategies = records, tokens, strategies
        self.field, self.quantiles, self.histogram = field, quantiles or {}, histogram or []
        self.recommended = recommended or {}

    def __getitem__(self, strategy: str) -> dict[str, Any]:
        for row in self.strategies:
            if row["strategy"] == strategy:
                return row
        raise KeyError(strategy)

    def __repr__(self) -> str:
        head = [f"{self.records:,} records", f"{self.tokens:,} tokens"]
        head += [f"{name} {length:,}" for name, length in self.quantiles.items()]
        lines = [f"{'strategy':<20} {'padding':>8} {'tokens per batch':>16} {'shapes':>7}"]
        lines += [
            f"{row['strategy']:<20} {row['padding']:>8.2%} {row['tokens_per_batch']:>16,.0f} "
            f"{row['shapes']:>7,}"
            for row in self.strategies
        ]
        if self.recommended:
            lines += [f"recommended: ds.{self.recommended['call']}"]
        return "\n".join([" · ".join(head), *lines])


def with_boundaries(options):
    """The options of a bucketing stage with the best boundaries of a histogram."""
    buckets, multiple = options.get("num_buckets") or 16, options.get("pad_to_multiple") or 1
    lengths = _histogram(options["boundaries"])
    boundaries = optimal_boundaries(lengths, buckets, multiple)
    if options.get("pad_to_bucket_boundary") and len(lengths.lengths):
        ends = [*boundaries, int(lengths.lengths[-1]) + 1]  # the last bucket has one, too
        boundaries = sorted({-(-(end - 1) // multiple) * multiple + 1 for end in ends})
    return {**options, "boundaries": boundaries, "num_buckets": None}


def padding_report(
    lengths: Dataset | LengthHistogram | Mapping[int, int] | Iterable[int],
    field: str | None = None,
    *,
    max_tokens: int = 16_384,
    batch_size: int = 64,
    multiple_of: int = 1,
    boundaries: Iterable[int] | None = None,
    num_buckets: int | None = None,
    pack_length: int | None = None,
    seed: int = 0,
) -> PaddingReport:
    """Reports the padding of several batching strategies for these records.

    A dataset is read once, or only its index as in ``length_histogram``. The order of the records
    counts; a histogram has no order, so its records are shuffled with ``seed``. Every strategy
    runs the stage in its report.

    Args:
        lengths (Dataset | LengthHistogram | Mapping[int, int] | Iterable[int]): a dataset, a
            histogram, a dict {length: count}, or the length of each record.
        field (str): the sequence field of a dataset.
        max_tokens (int, default 16384): budget per batch, in elements.
        batch_size (int, default 64): records per batch without a budget.
        multiple_of (int, default 1): padded lengths are rounded up to a multiple of this number.
        boundaries (Iterable[int]): boundaries of an additional strategy.
        num_buckets (int): number of buckets of an additional strategy.
        pack_length (int): length of packed records; None = chosen from the lengths.
        seed (int, default 0): seed of the shuffle.

    Returns:
        A ``PaddingReport``, which prints as a table.

    Example:
        print(lv.padding_report([3, 5, 90, 100], max_tokens=200).recommended)
    """
    import numpy as np

    if hasattr(lengths, "blocks"):
        if field is None:
            raise TypeError("padding_report of a dataset needs field=")
        each = _indexed(lengths, field)
        if each is None:
            with lengths.blocks(epoch=0) as blocks:
                found = [np.asarray(_lengths_of(block, field), np.int64) for block in blocks]
            each = np.concatenate(found) if found else np.empty(0, np.int64)
    elif isinstance(lengths, LengthHistogram) or hasattr(lengths, "items"):
        each = np.random.default_rng(seed).permutation(_histogram(lengths).expand())
    else:
        each = _integers("lengths", lengths)
    given = b"" if boundaries is None else _integers("boundaries", boundaries).tobytes()
    text = _levada.padding_report(
        each.tobytes(), max_tokens, batch_size, multiple_of, given, boundaries is not None,
        field or "length", num_buckets or 0, pack_length or 0,
    )  # fmt: skip
    return PaddingReport(**json.loads(text))
