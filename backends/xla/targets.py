"""`Target`: the devices of a topology to compile for, which need not be attached."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jax.experimental import mesh_utils, topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from autograph.runtime.errors import TargetError


@dataclass(frozen=True)
class Target:
    """The devices of a topology.

    Attributes:
      name: as the user wrote it, ``"tpu:v5e:2x2"``.
      platform: what JAX calls it: ``"tpu"``.
      devices: for compiling only; nothing can run on them, or be put there.
    """

    name: str
    platform: str
    devices: Sequence[Any]

    @classmethod
    def named(cls, name: object) -> Target:
        """The target of this name; `TargetError` where there is none, or its compiler is not installed."""
        if not isinstance(name, str) or (match := _NAME.fullmatch(name)) is None:
            raise TargetError(
                f"{name!r} is not a target to compile for; a target is a TPU topology such as 'tpu:v5e:2x2': a "
                "generation, and the number of chips along each side"
            )
        sides = [int(side) for side in match["sides"].split("x")]
        if min(sides) < 1:  # which ends the process in libtpu
            raise TargetError(f"{name!r} is not a target to compile for: one side has no chips")
        if importlib.util.find_spec("libtpu") is None and not os.environ.get("TPU_LIBRARY_PATH"):
            raise TargetError(
                f"programs are compiled for {name!r} by the package libtpu, which is not installed: pip install 'jax[tpu]'"
            )
        try:
            with _without_looking_for_tpus():
                found = topologies.get_topology_desc(
                    topology_name=f"{match['kind']}:{match['sides']}",
                    platform="tpu",
                    chips_per_host_bounds=[*(min(2, side) for side in sides[:2]), 1],
                )
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            raise TargetError(f"libtpu does not support the target {name!r}: {reason}") from None
        return cls(name, "tpu", found.devices)

    def shardings(self, given: Sequence[Any], count: int) -> list[Any]:
        """Where operands are on these devices, given where they are on those that the program was written for.

        Args:
          given: for each operand its sharding; None, or any but a `NamedSharding`, is none.
          count: how many devices the program is for.

        Raises:
          TargetError: the program's mesh has another size.
        """
        if count == 1:
            return [SingleDeviceSharding(self.devices[0])] * len(given)
        if count != len(self.devices):
            raise TargetError(
                f"the program is laid out on a mesh of {count} devices, and {self.name!r} has {len(self.devices)}: name a "
                f"topology of {count}, or give shardings over a mesh of {len(self.devices)}"
            )
        meshes = [sharding.mesh for sharding in given if isinstance(sharding, NamedSharding)]
        sides = meshes[0].axis_sizes if meshes else (count,)
        # One order of the devices, whatever meshes there are: XLA knows a program by it.
        order = mesh_utils.create_device_mesh(sides, list(self.devices)).ravel()
        everywhere = NamedSharding(Mesh(order, ("devices",)), PartitionSpec())

        def here(sharding: Any) -> Any:
            if not isinstance(sharding, NamedSharding):
                return everywhere
            mesh = sharding.mesh
            return NamedSharding(Mesh(np.reshape(order, mesh.axis_sizes), mesh.axis_names), sharding.spec)

        return [here(sharding) for sharding in given]


_NAME = re.compile(r"tpu:(?P<kind>\w+):(?P<sides>\d+(x\d+){1,2})")


@contextlib.contextmanager
def _without_looking_for_tpus() -> Iterator[None]:
    """In its block libtpu does not ask the machine, nor its network, for the TPUs that it has."""
    added = [name for name in _NO_TPU_HERE if name not in os.environ]
    os.environ.update({name: _NO_TPU_HERE[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


_NO_TPU_HERE = MappingProxyType(
    {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": "v5litepod-4",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # several processes may compile, where one only may run
    }
)
