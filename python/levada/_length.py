# SPDX-License-Identifier: Apache-2.0
"""len(ds): what can be known without reading."""


def length(core):
    """Records or batches of a dataset of the extension. TypeError where it is not known."""
    count = core.length()
    if count is None:
        raise TypeError(
            f"the length of {core.text()!r} is not known before it is read (for PyTorch write "
            "DataLoader(lv.torch_dataset(ds), batch_size=None))"
        )
    return count


def known_now(core):
    """The same, and None where it is not known, or files or their indexes are not there yet."""
    from levada.errors import LevadaError

    try:
        return core.length()
    except LevadaError:
        return None
