"""`World`: the devices that a program finds, whichever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

PROGRAMS: dict[str, Callable[[World], Any]] = {}
REFUSED: dict[str, tuple[str, tuple[str, ...]]] = {}  # by the program: what the error says, and in which settings


def program(function: Callable[[World], Any]) -> Callable[[World], Any]:
    """Register a program: it gives a container of arrays, and is called in each setting by all processes."""
    assert function.__name__ not in PROGRAMS, f"two programs are called {function.__name__}"
    PROGRAMS[function.__name__] = function
    return function


def refused(words: str, settings: tuple[str, ...] = ("one", "mesh", "processes")) -> Callable[[Any], Any]:
    """Register a program that ends with a `StagingError` that says this, at a line of its own, in these settings."""

    def register(function: Callable[[World], Any]) -> Callable[[World], Any]:
        REFUSED[function.__name__] = words, settings
        return program(function)

    return register


class World:
    """The devices of all processes, as a mesh with the axes `data` and `model`.

    Attributes:
      mesh: all devices in one row, axis `data`.
      grid: the same devices, axes `data` and `model`, of which `model` has two if there are as many.
      process: the number of this process.
      processes: how many there are.
    """

    def __init__(self) -> None:
        count = jax.device_count()
        columns = 2 if count > 1 else 1
        self.mesh = jax.make_mesh((count,), ("data",), axis_types=(AxisType.Auto,))
        self.grid = jax.make_mesh((count // columns, columns), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
        self.process, self.processes = jax.process_index(), jax.process_count()

    def sharding(self, *axes: str | None, mesh: Mesh | None = None) -> NamedSharding:
        """Dimension by dimension the axis of the mesh along which it is cut."""
        return NamedSharding(mesh or self.mesh, PartitionSpec(*axes))

    def array(self, value: Any, *axes: str | None, mesh: Mesh | None = None) -> jax.Array:
        """One array over all devices of a mesh, of which each process makes its own part."""
        value = np.asarray(value)
        return jax.make_array_from_callback(value.shape, self.sharding(*axes, mesh=mesh), lambda index: value[index])

    def of_processes(self, value: Any, *axes: str | None) -> jax.Array:
        """As `array`, of what each process has read by itself: only its own rows of the axis that is cut."""
        value = np.asarray(value)
        axis = axes.index("data")
        size = value.shape[axis] // self.processes
        own = np.take(value, range(self.process * size, (self.process + 1) * size), axis)
        return jax.make_array_from_process_local_data(self.sharding(*axes), own, value.shape)


def on_host(tree: Any) -> Any:
    """The same container with NumPy's arrays, gathered from all processes, for those of JAX."""

    def leaf_on_host(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array):
            return leaf
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return (
            multihost_utils.process_allgather(leaf, tiled=True) if not leaf.is_fully_addressable else np.asarray(leaf)
        )

    return jax.tree.map(leaf_on_host, tree)
