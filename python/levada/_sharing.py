# SPDX-License-Identifier: Apache-2.0
"""Dividing a dataset between processes: workers of a loader, ranks."""

import os
import socket
import sys
import warnings

from levada import _levada
from levada.errors import FailedPreconditionError, LevadaError


def share(dataset, index, count, seed=None, equal=None):
    """Part `index` of `count` of a dataset: each record is in exactly one of the parts.

    The shard directly follows each source (inside the pipe of an ``interleave``), so that only the
    part is decoded, shuffled and batched. If there is a stage that counts records (``take``,
    ``skip``, ``enumerate``, ``shard``), a ``zip`` whose inputs may drop some, or a stage without
    traits, the shard follows that instead. Stages before the shard run in all parts and must have
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
    made = _divide(dataset, index, count, seed, equal)
    return dataset if count == 1 and made._core.json() == dataset._core.json() else made


def _divide(dataset, index, count, seed=None, equal=None, files=False):
    def divided(ds, seeded):
        skips = ds._settings.get("errors") not in (None, "fail")
        part = _levada.divide(ds._core, index, count, equal, files, seeded, skips)
        return type(ds)(part, ds._settings)

    return _seeded(dataset, seed, divided)


def _seeded(dataset, seed, make):
    """make(dataset, whether it has a seed), with `seed` only where one is needed."""
    if dataset._settings.get("seed") is not None:
        return make(dataset, True)
    try:
        return make(dataset, False)
    except FailedPreconditionError:
        if seed is None:
            raise
        return make(dataset.with_options(seed=seed), True)


def checked(dataset, count, seed=None):
    """The same demand on a dataset in which its user placed a shard of `count` parts."""

    def check(ds, seeded):
        if not seeded and count > 1:
            _levada.check_divided(ds._core)
        return ds

    return _seeded(dataset, seed, check)


def in_step(dataset, count):
    """The dataset, whose buckets have `count` ranks. Raises FailedPreconditionError where something
    before them draws without a seed."""
    return checked(dataset, count)


def parts(dataset, count):
    """`count` datasets that have each record of `dataset` once, and read nothing else.

    Each is the dataset with other sources. A source of files has the option ``part``: a range of
    the records where it has an index, else whole files. A shard follows any other source, and
    follows a stage that counts records or needs all of them (``take``, ``skip``, ``enumerate``).

    Raises FailedPreconditionError as `share`.
    """
    return [_divide(dataset, index, count, files=True) for index in range(count)]


def equal_parts(dataset, made, equal):
    """(parts of which ranks can make equal numbers of batches, their numbers of batches).

    Raises FailedPreconditionError if they are not known before the data are read.
    """
    from levada._length import length

    if _found(dataset._core, _skips) or dataset._settings.get("errors") not in (None, "fail"):
        raise FailedPreconditionError(
            f"parts= with {equal=} counts the batches of the parts before they are read, and "
            'errors= other than "fail" may skip records: omit errors= or parts='
        )
    try:
        counts = [length(part._core) for part in made]
    except TypeError as error:
        raise FailedPreconditionError(
            f"parts= with {equal=} needs parts whose numbers of batches are known before they are "
            f"read: {_cause(made[0]._core)}; or leave parts= out, or pass equal=False and end each "
            "epoch after the same number of steps on all ranks"
        ) from error
    if equal == "pad":
        made = [part._stage("shard", index=0, count=1, equal="pad") for part in made]
    return made, counts


def _cause(core):
    """Why the length of a dataset is not known, and what to do."""
    from levada._length import without_index

    below = [each for each in core.inputs() if each.length() is None]
    if below:
        return _cause(below[0])
    name = without_index(core)
    if name is not None and not core.inputs():
        return f"pass index=True to {name}"
    return f"{core.name} makes numbers of them that depend on the data"


def _skips(core):
    return core.options().get("errors") not in (None, "fail")


def padding(part):
    """A copy of the first batch (record) of a part of `equal_parts`, as padding."""
    core = part._core.inputs()[0]  # without the shard that adds is_padding
    one = type(part)(_levada.append("take", {"count": 1}, (core,)), part._settings)
    return one._stage("shard", index=1, count=2, equal="pad")


def _found(core, test):
    """The first stage for which test(stage) is true, from the last one on, pipes included; None."""
    if test(core):
        return core
    return next((found for below in _below(core) if (found := _found(below, test))), None)


def _below(core):
    """What its records come from: its inputs, and a pipe among its options."""
    values = core.options().values()
    return [*core.inputs(), *(value for value in values if isinstance(value, _levada.Dataset))]


def _divides(core):
    """Whether a stage has a part of the records: a shard, parts of files, ranks of batches."""
    options = core.options()
    placed = core.traits()["shards"] and options["count"] > 1
    return bool(placed or options.get("part") or options.get("records") or options.get("ranks"))


def _divided(core):
    return _found(core, _divides) is not None


def warn_in_worker(dataset):
    """Warns in a worker of a DataLoader of several that opens an iterator of all records. A dataset
    whose sources the worker made itself may have files or items of this worker alone: then another
    worker must have opened the same one."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data else None
    if info is None or info.num_workers == 1 or _divided(dataset._core):
        return
    if dataset._home == os.getpid() and not _open_elsewhere(dataset._core, info):
        return
    warnings.warn(
        f"each of the {info.num_workers} workers of this DataLoader reads all records of the "
        "dataset, so the loader returns every record that many times; pass "
        "lv.torch_dataset(ds) to the DataLoader, or iterate over "
        "ds.shard(worker_info.id, worker_info.num_workers)",
        stacklevel=4,
    )


_opened: dict[str, socket.socket] = {}  # abstract sockets, which vanish with this process


def _open_elsewhere(core, info):
    """Whether another living worker of the loader has opened a dataset of the same description.
    False if the description does not contain the records."""
    from levada._contents import digest
    from levada._pickling import described

    if not described(core):
        return False
    loader = f"{os.getppid()}-{info.seed - info.id}"  # the base seed is that of all workers
    name = f"\0levada-{loader}-{digest(core.json().encode())}"
    if name not in _opened:
        held = socket.socket(socket.AF_UNIX)
        try:
            held.bind(name)
        except OSError:
            held.close()
            return True
        _opened[name] = held
    return False


def warn_of_whole(made, function, count):
    """Warns if a function of (index, count) returns the same dataset for each part."""
    if count == 1 or _divided(made._core) or made != function(1, count):
        return
    warnings.warn(
        f"torch_dataset: the function returned the same dataset for parts 0 and 1 of {count}, so "
        "each rank and worker reads all of its records; return one part, such as "
        "ds.shard(index, count)",
        stacklevel=5,
    )


def has_ranks(dataset):
    """Whether its user has divided the batches of a stage between ranks."""
    return _found(dataset._core, lambda core: bool(core.options().get("ranks"))) is not None


def drawing(core):
    """What draws random numbers in a description, with a seed or without, or None."""
    found = _found(core, lambda core: core.traits()["random"] or _draws_by_function(core))
    if found is None:
        return None
    if _draws_by_function(found):
        return f"{found.name}(rng=True)"
    files = not found.inputs() and "seed" not in found.options()
    return f"the order of the files of {found.name}" if files else found.name


def warn_of_leak(made):
    """Warns if a stage takes records by their numbers, which are others in each epoch. `made` was
    just made by a method of the user's dataset."""
    found = _reordering(made.inputs()[0]) if made.traits()["counts"] and made.inputs() else None
    if found is None:
        return
    warnings.warn(
        f"{made.name} returns other records in each epoch, because {found.name} upstream changes "
        "their order, so training and validation records leak into each other; divide a dataset "
        "with split(), or fix the order with reshuffle=False",
        stacklevel=4,
    )


def _reordering(core):
    """What changes the order of records in each epoch; None if nothing does, or a repeat follows,
    which makes one epoch of many."""
    traits = core.traits()
    if traits["reorders"]:
        return core
    below = () if traits["repeats"] else _below(core)
    return next((found for each in below if (found := _reordering(each))), None)


def _draws_by_function(core):
    return any(getattr(value, "rng", False) for value in core.options().values())


def equalized(core):
    """Whether a shard with `equal` stands in a description."""
    return (
        _found(core, lambda c: c.traits()["shards"] and c.options()["equal"] is not None)
        is not None
    )


INDEX = "write an index with `levada index` and pass index=True"


def filled(dataset, count):
    """(n, text, advice): only the first n of `count` parts have records, because the sources, which
    the text describes, have too few files or records; the advice is INDEX, or "" where an index
    makes no more parts. None if all parts may have some."""
    cut = _levada.divide(dataset._core, 0, 2, None, True, True, False)
    found = [_units(source) for source in _sources(cut)]
    if any(units is None or units[0] >= count for units in found):
        return None
    return max(found)


def _units(source):
    """(number of files or records, text, advice) of a source that is divided by them, or None."""
    options = source.options()
    try:
        if "pattern" in options:
            names = source
        elif not options.get("part"):
            return None
        elif options.get("index", True):
            n = _levada.count(_levada.remake(source, (), {"part": None}))
            return n, f"{source.name} has {_several(n, 'record')}", ""
        else:
            names = _levada.append("files", {"pattern": options["files"]}, ())
        n = sum(block.rows for block in _levada.Iter(names, threads=1))
    except LevadaError:
        return None  # an iterator raises it
    if names is source:
        return n, f"{source.name} has {_several(n, 'file')}", ""
    return n, f"{source.name} has {_several(n, 'file')} and no index", INDEX


def _several(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _sources(core):
    inputs = core.inputs()
    if not inputs:
        yield core
    for below in inputs:
        yield from _sources(below)
