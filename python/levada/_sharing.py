# SPDX-License-Identifier: Apache-2.0
"""Dividing a dataset between processes: workers of a loader, ranks."""

import sys
import warnings

from levada import _levada, _names
from levada.errors import FailedPreconditionError, LevadaError

# One record out for each record in, in the same order; decoders are such, too.
_SAME = frozenset(
    "cast log_mel map prefetch rename resample reshape resize_image select slice".split()
)
# What comes out of these together, and when, depends on the part; whether it does, does not.
_FREE = _SAME.union(
    "batch bucket_by_sequence_length group_by_window pack padded_batch unbatch unroll".split(),
    "call concat filter flat_map mix repeat shuffle window_steps".split(),
)

# Equal numbers of records (batches) stay equal through these, whatever the records are. The others
# may also reject records, which ends the run unless `errors` says otherwise.
_EVEN = frozenset("prefetch rename repeat select shuffle".split())
_EVEN_OR_FAIL = frozenset("batch call cast map padded_batch".split())
_LOSES_COLUMNS = frozenset("call map select".split())


def share(dataset, index, count, seed=None, equal=None):
    """Part `index` of `count` of a dataset: each record is in exactly one of the parts.

    The shard directly follows each source (inside the pipe of an ``interleave``), so that only the
    part is decoded, shuffled and batched. If there is a stage that counts records (``take``,
    ``skip``, ``enumerate``, ``shard``), a ``zip`` whose inputs may drop some, or a stage of a
    plug-in, the shard follows that instead. Stages before the shard run in all parts and must have
    the same results there: they draw from the seed of ``with_options``, or else from `seed`.

    `equal`: "drop" or "pad", as of the stage ``shard``: every part then has the same number of
    batches (records where nothing was batched). There is one shard then: as near to the source as
    the stages downstream of it keep equal numbers equal. A filter, buckets or an ``interleave``
    do not, so they run in all parts.

    The batches of ``unroll`` follow each other: for `equal`, each part has slots of its own, and
    all parts read all records.

    Raises FailedPreconditionError where such a seed is needed and there is none, and for `equal`
    where other stages than ``prefetch`` follow ``unroll``.
    """
    if equal is not None and _has(dataset._core, "unroll"):
        return _in_slots(dataset, [index, count], equal, seed)
    if count == 1 and equal != "pad":
        return dataset
    dealer = _Dealer(index, count, dataset._settings.get("errors") in (None, "fail"), equal)
    made = type(dataset)(dealer.deal(dataset._core), dataset._settings)
    return _seeded(made, dealer.drawn if count > 1 else None, seed)


def checked(dataset, count, seed=None):
    """The same demand on a dataset in which its user placed a shard of `count` parts."""
    return _seeded(dataset, _before(dataset._core, count), seed) if count > 1 else dataset


def _divided(core):
    """Whether a description has a part of the records: a shard, parts of files, ranks of slots."""
    options = core.options()
    placed = core.name == "shard" and options["count"] > 1
    part = options.get("part") or options.get("records") or options.get("ranks")
    return bool(placed or part) or any(map(_divided, _below(core)))


def warn_in_worker(dataset):
    """Warns in a worker of a DataLoader of several, where an iterator of all records is opened."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    if info is None or info.num_workers == 1 or _divided(dataset._core):
        return
    warnings.warn(
        f"each of the {info.num_workers} workers of this DataLoader reads all records of the "
        "dataset, so the loader returns every record that many times; pass "
        "lv.torch_dataset(ds) to the DataLoader, or iterate over "
        "ds.shard(worker_info.id, worker_info.num_workers)",
        stacklevel=4,
    )


def has_ranks(dataset):
    """Whether its user has divided the batches of buckets between ranks."""
    return _ranked(dataset._core)


def _ranked(core):
    ranked = core.name == "bucket_by_sequence_length" and core.options()["ranks"]
    return bool(ranked) or any(map(_ranked, core.inputs()))


def _has(core, name):
    """Whether a stage of this name is upstream, or is the last one."""
    return core.name == name or any(_has(one, name) for one in core.inputs())


def _seeded(dataset, drawn, seed):
    if drawn is None or dataset._settings.get("seed") is not None:
        return dataset
    if seed is not None:
        return dataset.with_options(seed=seed)
    raise FailedPreconditionError(
        f"{drawn} stands before the shard and has no seed: each process would draw an order of its "
        "own, so that records are lost and doubled; give a seed to it, or to with_options(seed=)"
    )


class _Dealer:
    """Puts the shard into a description; `drawn` is then what needs a common seed, or None."""

    def __init__(self, index, count, strict, equal=None):
        self.options = {"index": index, "count": count}
        if equal is not None:
            self.options["equal"] = equal
        self.equal = equal
        self.strict = strict
        self.drawn = None
        self.draws = False  # whether anything before a shard draws, with a seed or without
        self.decoders = {name for name, family in _names.names().items() if family == "decoder"}

    def deal(self, core):
        name, inputs = core.name, tuple(core.inputs())
        if self.equal is None and name == "interleave" and not _by_slot(core.options()["pipe"]):
            return self.deal_pipe(core, inputs)
        if inputs and self.passes(core):
            return _levada.remake(core, tuple(map(self.deal, inputs)), {})
        self.drawn = self.drawn or _order(core)
        self.draws = self.draws or _order(core, seeded=True) is not None
        return _levada.append("shard", self.options, (core,))

    def deal_pipe(self, core, inputs):
        """The pipe is opened for all records; what it draws depends on which one it is."""
        pipe = self.deal(core.options()["pipe"])
        self.drawn = self.drawn or (_order if self.draws else self.choice)(inputs[0])
        return _levada.remake(core, inputs, {"pipe": pipe})

    def passes(self, core):
        if self.equal is not None:
            return self.evens(core)
        if core.name == "zip":
            return self.strict and self.aligned(core)
        return core.name in _FREE or core.name in self.decoders

    def evens(self, core):
        if self.equal == "pad" and core.name in _LOSES_COLUMNS:
            return False
        may_fail = core.name in _EVEN_OR_FAIL or core.name in self.decoders
        return core.name in _EVEN or (self.strict and may_fail)

    def aligned(self, core):
        """Whether record i is made of record i of the source, or of each source."""
        inputs = core.inputs()
        same = core.name in _SAME or core.name in self.decoders or core.name == "zip"
        return (same or not inputs) and all(map(self.aligned, inputs))

    def choice(self, core):
        """What decides without a seed which records there are, in whatever order, or None."""
        if core.inputs() and not self.passes(core):
            return _order(core)
        return _first(self.choice, core.inputs())


def _below_prefetch(core):
    """The last stage that is not a prefetch, and a function that puts those back on top of one."""
    if core.name != "prefetch":
        return core, lambda stage: stage
    below, rest = _below_prefetch(core.inputs()[0])
    return below, lambda stage: _levada.remake(core, (rest(stage),), {})


def _in_slots(dataset, ranks, equal, seed):
    """The dataset with the slots of one rank."""
    core, on_top = _below_prefetch(dataset._core)
    if core.name != "unroll" or core.options()["layout"] != "slots":
        raise FailedPreconditionError(
            f"equal={equal!r} divides batches, and a sequence of unroll would miss those of other "
            "ranks; use parts=, or layout='slots' as the last stage"
        )
    drawn = _order(core) if ranks[1] > 1 else None
    changes = {"ranks": ranks, "allow_small_batch": equal == "pad"}
    core = on_top(_levada.remake(core, tuple(core.inputs()), changes))
    return _seeded(type(dataset)(core, dataset._settings), drawn, seed)


def in_step(dataset, count):
    """The dataset, whose buckets have `count` ranks. Raises FailedPreconditionError where something
    before them draws without a seed."""
    core, _ = _below_prefetch(dataset._core)
    return _seeded(dataset, _order(core) if count > 1 else None, None)


def parts(dataset, count):
    """`count` datasets that have each record of `dataset` once, and read nothing else.

    Each is the dataset with other sources. A source of files has the option ``part``: a range of
    the records where it has an index, else whole files. A shard follows any other source, and
    follows a stage that counts records or needs all of them (``take``, ``skip``, ``enumerate``).

    Raises FailedPreconditionError as `share`.
    """
    strict = dataset._settings.get("errors") in (None, "fail")
    dealers = [_Cutter(index, count, strict) for index in range(count)]
    cores = [dealer.deal(dataset._core) for dealer in dealers]
    drawn = dealers[0].drawn if count > 1 else None
    return [_seeded(type(dataset)(core, dataset._settings), drawn, None) for core in cores]


def filled(dataset, count):
    """(n, text): only the first n of `count` parts have records, because the sources, which the
    text describes, have too few files or records. None if all parts may have some."""
    found = [_units(source) for source in _sources(_Cutter(0, 2, strict=True).deal(dataset._core))]
    if any(units is None or units[0] >= count for units in found):
        return None
    return max(found)


def _units(source):
    """(number of files or records, text) of a source that is divided by them, or None."""
    options = source.options()
    try:
        if source.name == "files":
            names = source
        elif not options.get("part"):
            return None
        elif options["index"]:
            n = _levada.count(_levada.remake(source, (), {"part": None}))
            return n, f"{source.name} has {_several(n, 'record')}"
        else:
            names = _levada.append("files", {"pattern": options["files"]}, ())
        n = sum(block.rows for block in _levada.Iter(names, threads=1))
    except LevadaError:
        return None  # an iterator raises it
    index = "" if source.name == "files" else " and no index"
    return n, f"{source.name} has {_several(n, 'file')}{index}"


def _several(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


class _Cutter(_Dealer):
    """Puts parts into a description, and shards where there can be none."""

    def __init__(self, index, count, strict):
        super().__init__(index, count, strict)
        self.part = [index, count]
        names = _names.names()
        self.formats = {name for name, family in names.items() if family == "format"}
        self.cuts = True  # whether sources of files may be cut

    def deal(self, core):
        inputs = tuple(core.inputs())
        if core.name in self.formats and self.cuts and not core.options()["part"]:
            return _levada.remake(core, (), {"part": self.part})
        if core.name == "interleave":
            return _levada.remake(core, tuple(map(self.deal, inputs)), {})
        if core.name == "zip" and self.cuts and not self.splits_alike(core):
            self.cuts = False
            made = super().deal(core)
            self.cuts = True
            return made
        return super().deal(core)

    def splits_alike(self, core):
        """Whether equal parts of all sources of a zip have the records that belong together."""
        if not (self.strict and self.aligned(core)):
            return False
        sources = list(_sources(core))
        indexed = all(s.name in self.formats and s.options()["index"] for s in sources)
        shuffled = any(s.name in self.formats and s.options()["shuffle_records"] for s in sources)
        return indexed and not shuffled and len({_levada.count(s) for s in sources}) == 1


def _sources(core):
    inputs = core.inputs()
    if not inputs:
        yield core
    for below in inputs:
        yield from _sources(below)


def _by_slot(core):
    """Whether what comes out depends on which of the open pipes of an interleave this is, as what
    draws by origins does. Parts have other records in a slot, so a shard must follow it."""
    drawing = core.name in ("map", "filter", "flat_map", "call")  # a function may draw by origins
    return drawing or _shuffles_files(core) or any(map(_by_slot, _below(core)))


def _shuffles_files(core):
    options = core.options()
    shuffles = options.get("shuffle_files") or options.get("shuffle_records")
    return bool(shuffles or (core.name == "files" and options["shuffle"]))


def _below(core):
    """What its records come from: its inputs, and the pipe of an interleave."""
    pipes = [core.options()["pipe"]] if core.name == "interleave" else []
    return [*core.inputs(), *pipes]


def _first(ask, cores):
    return next((found for found in map(ask, cores) if found is not None), None)


def _order(core, seeded=False):
    """What decides about the order by drawing without a seed of its own (or with one), or None."""
    options = core.options()
    if "seed" in options and (seeded or options["seed"] is None):
        return core.name
    if _shuffles_files(core):
        return f"the order of the files of {core.name}"
    return _first(lambda below: _order(below, seeded), _below(core))


def drawing(core):
    """What draws random numbers in a description, with a seed or without, or None."""
    values = core.options().values()
    if any(getattr(value, "rng", False) for value in values):
        return f"{core.name}(rng=True)"
    if core.options().get("random_crop"):
        return f"{core.name}(random_crop=...)"
    return _order(core, seeded=True) or _first(drawing, _below(core))


def equalized(core):
    """Whether a shard with `equal` stands in a description."""
    placed = core.name == "shard" and core.options()["equal"] is not None
    return placed or any(map(equalized, _below(core)))


def _before(core, count):
    """What draws without a seed before a shard of `count` parts, or None."""
    if core.name == "shard" and core.options()["count"] == count:
        return _order(core)
    return _first(lambda below: _before(below, count), _below(core))
