"""Names of dtypes, those of random keys included: ``float32``, ``key<threefry2x32>``."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_KEY = re.compile(r"key<(\w+)>")


def name_of(dtype: Any) -> str:
    """The name of a dtype.

    >>> name_of(jnp.dtype("bfloat16")), name_of(jax.random.key(0).dtype)
    ('bfloat16', 'key<threefry2x32>')
    """
    if jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return f"key<{jax.random.key_impl(jnp.empty((), dtype))}>"
    return jnp.dtype(dtype).name


def dtype_of(name: str) -> Any:
    """The dtype of a name.

    Raises:
      ValueError, TypeError: no arrays of JAX's have it.
    """
    kind = implementation(name)
    if kind is not None:
        return jax.random.key(0, impl=kind).dtype
    found = jnp.dtype(name)
    if found.name != name or not (found == np.bool_ or jnp.issubdtype(found, np.number)):
        raise ValueError(f"{name!r} is not a dtype of arrays")
    return found


def implementation(name: str) -> str | None:
    """Of a dtype of keys, the name of JAX's implementation of them; None of another.

    >>> implementation("key<rbg>"), implementation("int8")
    ('rbg', None)
    """
    match = _KEY.fullmatch(name)
    return None if match is None else match[1]
