# SPDX-License-Identifier: Apache-2.0
"""JAX: batches as jax arrays."""

from levada._ragged import Bytes, Ragged


def _array(value):
    import jax.numpy as jnp

    if isinstance(value, Ragged):
        return Ragged(_array(value.values), [jnp.asarray(level) for level in value.nested])
    if isinstance(value, Bytes) or value.dtype == object:
        return value
    return jnp.asarray(value)


def batch_to_jax(batch):
    """Dict of name to jax.Array; byte fields stay as they are."""
    return {name: _array(value) for name, value in batch.items()}
