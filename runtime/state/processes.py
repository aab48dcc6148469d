"""Jobs of several processes (`jax.distributed`): what one process can read, and what all must do alike."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils


def is_one_of_several() -> bool:
    """Whether this is one of a job's several processes. Asking does not start JAX's backends."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def is_readable(array: Any) -> bool:
    """Whether this process holds all of an array."""
    if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
        return True  # a tracer has an error of its own for who reads it
    return array.is_fully_addressable or array.is_fully_replicated


def on_host(array: Any, name: str) -> np.ndarray[Any, Any]:
    """The whole of an array as NumPy's; ``name`` is what a message calls it.

    Raises:
      RuntimeError: it is spread over several processes, so that none has all of it.
    """
    if not is_readable(array):
        raise RuntimeError(
            f"{name} is sharded over {jax.process_count()} processes, and none of them has the whole value.\n"
            "  Call jax.experimental.multihost_utils.process_allgather(….value, tiled=True) in every process to gather it; "
            "….value.addressable_shards are the parts in this process."
        )
    return np.asarray(array)


def in_each(array: Any) -> Any:
    """An array that each process can read. Of one that is spread over several, all of them must ask."""
    return array if is_readable(array) else jax.numpy.asarray(multihost_utils.process_allgather(array, tiled=True))
