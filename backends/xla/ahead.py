"""Programs compiled ahead of time, for machines that need not be here: `Lowered`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies

from autograph.backends.xla import jax_compat
from autograph.runtime.errors import StagingError


class Lowered:
    """A program for arguments of some types, as `jax.stages.Lowered`: what is not said here is that object's.

    Args:
      trace: gives the program, as `jax.stages.Traced`, for these types.
      types: those of its arguments.
      platforms: which it is lowered for; None for the one that is here.
    """

    def __init__(self, trace: Callable[..., Any], types: Sequence[Any], platforms: Sequence[str] | None) -> None:
        if isinstance(platforms, str):
            raise TypeError(f"platforms is a sequence of names, as in platforms=[{platforms!r}]; got a string")
        self._trace, self._types = trace, types
        traced = trace(*types)
        for platform in platforms or ():
            _refuse_what_cannot_be(traced.jaxpr.jaxpr, platform)
        self._lowered = traced.lower(lowering_platforms=None if platforms is None else tuple(platforms))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)

    def compile(self, target: str | None = None, **options: Any) -> Any:
        """The program compiled, as `jax.stages.Compiled`, with ``cost_analysis()`` and ``memory_analysis()``.

        Args:
          target: what it is compiled for, such as ``"tpu:v5e:2x2"``: a platform and a topology of it, which need not be
            here. All arguments are on the first device of it. Without, for the machine that is here.
          options: as those of `jax.stages.Lowered.compile`.

        Raises:
          ValueError: there is no such target, or what compiles for it is not installed.
          StagingError: the program does what the target cannot do.
        """
        if target is None:
            return self._lowered.compile(**options)
        platform, devices = _devices_of(target)
        place = jax.sharding.SingleDeviceSharding(devices[0])
        placed = [
            jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=bool(getattr(t, "weak_type", False)), sharding=place)
            for t in self._types
        ]
        traced = self._trace(*placed)
        _refuse_what_cannot_be(traced.jaxpr.jaxpr, platform)
        return traced.lower(lowering_platforms=(platform,)).compile(**options)


def _devices_of(target: str) -> tuple[str, Sequence[Any]]:
    """The platform of a target such as ``"tpu:v5e:2x2"``, and its devices."""
    platform, _, topology = target.partition(":")
    if platform != "tpu" or not topology:
        raise ValueError(f"{target!r} is no target to compile for; targets are topologies of TPUs, as in 'tpu:v5e:2x2'")
    for name, value in _NO_TPU_HERE.items():
        os.environ.setdefault(name, value)
    try:
        description = topologies.get_topology_desc(topology_name=topology, platform=platform)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"programs cannot be compiled for {target!r}: {reason}. It takes the package libtpu (pip install 'jax[tpu]') and "
            "the name of a topology, as in 'tpu:v5e:2x2'"
        ) from None
    return platform, description.devices


# What libtpu would look for on the machine that it runs on.
_NO_TPU_HERE = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
}


def _refuse_what_cannot_be(jaxpr: Any, platform: str) -> None:
    """Raise for the first equation that a platform has no form for."""
    if platform != "tpu":
        return
    for equation in jax_compat.all_equations(jaxpr):
        where = jax_compat.source_line(equation)
        if any(getattr(v.aval, "dtype", None) in _TOO_WIDE for v in equation.outvars):
            raise StagingError(
                f"{where}\n  Numbers of 64 bits in floating point are computed here, which {platform} has not. Use float32, or "
                "leave jax_enable_x64 off."
            )
        if jax_compat.is_call_of_python(equation.primitive):
            raise StagingError(
                f"{where}\n  Python is called here when the program runs (a print, a callback), and a program that is "
                f"compiled for {platform} ahead of time has no Python to call. Leave it out of what is compiled."
            )


_TOO_WIDE = (np.dtype(np.float64), np.dtype(np.complex128))
