"""Jobs of several processes (`jax.distributed`): what one of them can read, and what all must do alike."""

from __future__ import annotations

from typing import Any

import jax
from jax.experimental import multihost_utils


def is_one_of_several() -> bool:
    """Whether this is one of a job's several processes. Asking does not start JAX's backends."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def is_readable(array: Any) -> bool:
    """Whether this process holds all of an array."""
    return not isinstance(array, jax.Array) or array.is_fully_addressable or array.is_fully_replicated


def in_each(array: Any) -> Any:
    """An array that each process can read. Of one that is spread over several, all of them must ask."""
    return array if is_readable(array) else jax.numpy.asarray(multihost_utils.process_allgather(array, tiled=True))
