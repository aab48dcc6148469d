"""Convert values to JSON for the option ``--json``."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def as_json(value: Any) -> Any:
    """What `json.dumps` takes, with no number that JSON lacks.

    Arrays are objects of ``dtype``, ``shape`` and ``values``; infinite and undefined numbers are ``"inf"``, ``"-inf"`` and
    ``"nan"``; complex ones are texts; a dict with keys other than texts is a list of pairs; what else there is, its ``repr``.

    >>> as_json((1.5, [True, float("inf")], np.float32([1.0])))
    [1.5, [True, 'inf'], {'dtype': 'float32', 'shape': [1], 'values': [1.0]}]
    """
    match value:
        case None | bool() | str():
            return value
        case np.generic() | np.ndarray() | jax.Array():
            if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
                return repr(value)  # keys of random numbers are no numbers
            array = np.asarray(value)
            return {"dtype": str(array.dtype), "shape": list(array.shape), "values": as_json(array.tolist())}
        case int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case complex():
            return str(value)
        case dict() if all(isinstance(key, str) for key in value):
            return {key: as_json(part) for key, part in value.items()}
        case dict():
            return [[as_json(key), as_json(part)] for key, part in value.items()]
        case list() | tuple() | set() | frozenset():
            return [as_json(part) for part in value]
    return repr(value)
