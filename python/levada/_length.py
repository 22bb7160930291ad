# SPDX-License-Identifier: Apache-2.0
"""len(ds): what can be known without reading."""

from levada import _levada, _names

_SAME = set("map cast select rename slice reshape shuffle prefetch cache enumerate".split())


def length(core):
    """Records or batches of a dataset of the extension. TypeError where it is not known."""
    count = known(core)
    if count is None:
        raise TypeError(
            f"the length of {core.text()!r} is not known before it is read (for PyTorch write "
            "DataLoader(lv.torch_dataset(ds), batch_size=None))"
        )
    return count


def known(core):
    """The same, or None."""
    name, options, inputs = core.name, core.options(), core.inputs()
    if name == "range":
        return _range(options)
    if name == "memory":
        return options["data"].rows
    if not inputs:
        return _levada.count(core) if options.get("index") else None
    below = [known(source) for source in inputs]
    if not below or any(n is None for n in below):
        return None
    if name == "zip":
        return min(below)
    if name == "concat":
        return sum(below)
    return _stage(name, options, below[0])


def known_now(core):
    """The same, and None where files or their indexes are not there yet."""
    from levada.errors import LevadaError

    try:
        return known(core)
    except LevadaError:
        return None


def _range(options):
    first, last = options.get("start") or 0, options.get("stop")
    count, step = options.get("count"), options.get("step") or 1
    if count is not None:
        return count
    return len(range(first, last, step)) if last is not None else None


def _stage(name, options, n):
    if name in _SAME or _is_decoder(name):
        return n
    count = options.get("count")
    if name == "take":
        return min(n, count)
    if name == "skip":
        return max(n - count, 0)
    if name == "repeat":
        return n * count if count is not None and count >= 0 else None
    if name == "shard" and options["equal"] is not None:
        return n // options["count"] if options["equal"] == "drop" else -(-n // options["count"])
    if name == "shard":
        return len(range(options["index"], n, options["count"]))
    if name in ("batch", "padded_batch"):
        size = options["batch_size"]
        return n // size if options.get("drop_remainder") else -(-n // size)
    return None


def _is_decoder(name):
    return _names.names().get(name) == "decoder"
