# SPDX-License-Identifier: Apache-2.0
"""JAX: batches as jax arrays."""

from levada._ragged import Bytes, Ragged, part_of


def _array(value, sharding):
    import jax

    if isinstance(value, Ragged):
        levels = [_array(level, sharding) for level in value.nested]
        return part_of(_array(value.values, sharding), levels)
    if isinstance(value, Bytes) or value.dtype == object:
        return value
    if sharding is None:
        return jax.numpy.asarray(value)
    if getattr(sharding, "is_fully_addressable", True):
        return jax.device_put(value, sharding)
    return jax.make_array_from_process_local_data(sharding, value)  # this process has a part of it


def batch_to_jax(batch, sharding=None):
    """Dict of name to jax.Array, placed by `sharding`; byte fields stay as they are."""
    return {name: _array(value, sharding) for name, value in batch.items()}
