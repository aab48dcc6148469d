"""Encode shardings over named meshes as data, and decode them for the attached devices."""

from __future__ import annotations

import math
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def entry_of(value: Any) -> dict[str, Any] | None:
    """How an array lies on a mesh of more than one device; None if it does not."""
    sharding = getattr(value, "sharding", None)
    if not isinstance(sharding, NamedSharding) or sharding.mesh.size == 1:
        return None
    spec = [None if names is None else [names] if isinstance(names, str) else list(names) for names in sharding.spec]
    return {"axes": [[str(name), int(size)] for name, size in sharding.mesh.shape.items()], "spec": spec}


def sharding_of(entry: dict[str, Any] | None) -> NamedSharding | None:
    """The sharding that `entry_of` made this of; None where there was none, or here are fewer devices than it spreads over.

    Raises:
      ValueError, or what else JAX raises: it is none.
    """
    if entry is None:
        return None
    names, sizes = [name for name, _ in entry["axes"]], [size for _, size in entry["axes"]]
    count, devices = math.prod(sizes), jax.devices()
    if count < 1 or len({*names}) < len(names):
        raise ValueError(f"a mesh has no axes {entry['axes']}")
    if count > len(devices):
        return None
    # Automatic axes, whatever they were: a saved program is for any placement, and its types name no axis.
    mesh = jax.make_mesh(sizes, names, axis_types=(AxisType.Auto,) * len(names), devices=devices[:count])
    return NamedSharding(mesh, PartitionSpec(*[None if axes is None else tuple(axes) for axes in entry["spec"]]))
