# SPDX-License-Identifier: Apache-2.0
"""len(ds): what can be known without reading."""


def length(core):
    """Records or batches of a dataset of the extension. TypeError where it is not known."""
    count = core.length()
    if count is None:
        name = without_index(core)
        hint = f"; pass index=True to {name}, which then counts its records" if name else ""
        raise TypeError(
            f"the length of {core.text()!r} is not known before it is read{hint} (for PyTorch "
            "write DataLoader(lv.torch_dataset(ds), batch_size=None))"
        )
    return count


def without_index(core):
    """The name of a source that could have an index, or None."""
    inputs = core.inputs()
    if not inputs:
        return core.name if core.options().get("index") is False else None
    return next((name for below in inputs if (name := without_index(below))), None)


def known_now(core):
    """The same, and None where it is not known, or files or their indexes are not there yet."""
    from levada.errors import LevadaError

    try:
        return core.length()
    except LevadaError:
        return None
