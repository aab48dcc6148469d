"""Ahead-of-time compilation, for machines that need not be attached: `Lowered`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.export
import numpy as np
from jax.sharding import AbstractMesh, Mesh

from autograph.backends.xla import jax_compat
from autograph.backends.xla.compiler import OperationByOperation
from autograph.backends.xla.targets import Target
from autograph.runtime.errors import StagingError, TargetError


class Lowered:
    """A program for operands of some types, as `jax.stages.Lowered`: what is not said here is that object's.

    Args:
      program: jitted.
      operands: arrays, or types of arrays; of an array its type is what counts.
      platforms: which it is lowered for; None for the one that is here.
      options: what it was jitted with, to be compiled in the same way for other targets.
    """

    def __init__(
        self, program: Any, operands: Sequence[Any], platforms: Sequence[str] | None, options: Mapping[str, Any]
    ) -> None:
        platforms = known_platforms(platforms)
        self._program = program.jitted if isinstance(program, OperationByOperation) else program
        self._operands, self._options = operands, options
        self._traced = self._program.trace(*operands)
        self._platforms = platforms
        for platform in platforms or ():
            refuse_what_cannot_be(self._traced.jaxpr.jaxpr, platform)
        # JAX asks devices for their platform; a mesh may be of none.
        is_abstract = platforms is None and any(map(_has_no_devices, operands))
        self._lowered = self._traced.lower(lowering_platforms=(platform_here(),) if is_abstract else platforms)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)

    def compile(self, target: str | None = None, **options: Any) -> Any:
        """The program compiled, as `jax.stages.Compiled`, with ``cost_analysis()`` and ``memory_analysis()``.

        Args:
          target: what it is compiled for, such as ``"tpu:v5e:2x2"``: a platform and a topology of it, which need not be
            here. A program with shardings is laid out on a mesh of the same shape there, which takes all devices of the
            target; any other is for the first of them. Without, for the machine that is here.
          options: as those of `jax.stages.Lowered.compile`.

        Raises:
          TargetError: there is no such target, what compiles for it is not installed, or it has not as many devices as the
            program's mesh.
          StagingError: the program does what the target cannot do.
        """
        if target is None:
            return self._compile_here(options)
        found = Target.named(target)
        self._check_lowered_for(found.platform)
        refuse_what_cannot_be(self._traced.jaxpr.jaxpr, found.platform)
        # An exported program is free of the devices it was traced for, shardings and meshes within it included.
        exported = jax.export.export(self._program, platforms=[found.platform])(*self._operands)
        places = found.shardings([_sharding(operand) for operand in self._operands], exported.nr_devices)

        def whole(*operands: Any) -> Any:
            return exported.call(*operands)

        whole.__name__ = whole.__qualname__ = exported.fun_name
        marked = jax.tree.leaves(self._traced.args_info, is_leaf=lambda info: hasattr(info, "donated"))
        jitted = jax.jit(
            whole,
            donate_argnums=[k for k, info in enumerate(marked) if info.donated],
            # Without operands nothing else says where the program is.
            out_shardings=None if self._operands else found.shardings([None], exported.nr_devices)[0],
            **self._options,
        )
        placed = [_placed(operand, place) for operand, place in zip(self._operands, places, strict=True)]
        # A mesh that is set is of devices that are here; and what JAX keeps on disk it cannot load for those that are not.
        with jax.set_mesh(_NO_MESH), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
            return jitted.trace(*placed).lower(lowering_platforms=(found.platform,)).compile(**options)

    def _compile_here(self, options: Mapping[str, Any]) -> Any:
        if "device_assignment" not in options and any(map(_has_no_devices, self._operands)):
            raise TargetError(
                "the shardings are over an AbstractMesh, which has no devices: pass a mesh of attached devices, or name a "
                "target, as in compile('tpu:v5e:2x2')"
            )
        if self._platforms is None or self._platforms == (platform_here(),):
            return self._lowered.compile(**options)
        self._check_lowered_for(platform_here())
        return self._traced.lower(lowering_platforms=(platform_here(),)).compile(**options)

    def _check_lowered_for(self, platform: str) -> None:
        if self._platforms is not None and platform not in self._platforms:
            raise TargetError(
                f"the program was lowered for {', '.join(self._platforms)}, and is to be compiled for {platform}: name that "
                "platform where it is lowered, or none"
            )


def platform_here() -> str:
    """The platform that is here, as programs are lowered for it."""
    return jax.export.default_export_platform()


_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
_NO_MESH = Mesh(np.empty((), object), ())


def _has_no_devices(operand: Any) -> bool:
    return isinstance(getattr(_sharding(operand), "mesh", None), AbstractMesh)


def _sharding(operand: Any) -> Any:
    return getattr(operand, "sharding", None)


def _placed(operand: Any, place: Any) -> Any:
    aval = operand if isinstance(operand, jax.ShapeDtypeStruct) else jax.typeof(operand)
    weak = bool(getattr(aval, "weak_type", False))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak, sharding=place)


def known_platforms(platforms: Sequence[str] | None) -> tuple[str, ...] | None:
    """The names of platforms that a user names, if there are such platforms; None for the one that is here."""
    if platforms is None:
        return None
    if isinstance(platforms, str):
        raise TypeError(f"platforms must be a sequence of names, as in platforms=[{platforms!r}]; got a string")
    found = tuple(platforms)
    if not found:
        raise TargetError("platforms is empty; omit it for the attached platform")
    for platform in found:
        if platform not in _PLATFORMS:
            raise TargetError(f"{platform!r} is not a platform to lower for; use one of {', '.join(_PLATFORMS)}")
    return found


def refuse_what_cannot_be(jaxpr: Any, platform: str) -> None:
    """Raise for the first equation that a platform has no form for."""
    if platform != "tpu":
        return
    for equation in jax_compat.all_equations(jaxpr):
        where = jax_compat.source_line(equation)
        if any(getattr(v.aval, "dtype", None) in _TOO_WIDE for v in (*equation.invars, *equation.outvars)):
            raise StagingError(
                f"{where}\n  64-bit floating point is used here, and {platform} does not support it. Use float32, or "
                "leave jax_enable_x64 off."
            )
        if jax_compat.is_call_of_python(equation.primitive):
            raise StagingError(
                f"{where}\n  Python is called at run time here (a print, a callback), and a program that is "
                f"compiled for {platform} ahead of time has no Python to call. Remove the call from "
                "what is compiled."
            )


_TOO_WIDE = (np.dtype(np.float64), np.dtype(np.complex128))
