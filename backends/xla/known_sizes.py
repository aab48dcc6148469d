"""Instances of programs with symbolic dimensions for concrete sizes.

A program that was traced once for all sizes is copied for each size that it is called with: the size replaces the symbolic
dimension in types and parameters. The result is an ordinary program, which every transform accepts. An opaque parameter,
such as a function, may contain sizes: such a program is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import jax
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import Branches, Lanes
from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.while_ad.program import LoopProgram
from autograph.backends.xla.while_ad.reverse_sweep import Sweep
from autograph.backends.xla.while_ad.rows import RowSweep


class OpaqueError(Exception):
    """A program has a parameter that may hold symbolic sizes where nobody can look."""


def with_known_sizes(program: ClosedJaxpr, sizes: Mapping[str, Any]) -> ClosedJaxpr:
    """The same program for these sizes, by the names of the symbolic dimensions.

    Raises:
      OpaqueError: it cannot be told what the program is then.
    """
    return _Known(sizes).program(program)


def is_known_for(program: ClosedJaxpr, sizes: Mapping[str, Any]) -> bool:
    """Whether `with_known_sizes` has an answer, for these sizes and for all others."""
    known = _Known(sizes)
    try:
        known.program(program)
        for rule in tuple(known.rules):  # which may hold the same rules again
            rule()
    except Exception:  # whatever a rule of the user's for derivatives may raise, too
        return False
    return True


class _Known:
    """Substitutes sizes for symbolic dimensions, in each shared part of a program once.

    Attributes:
      rules: what makes the derivatives that parts of the programs have of their own.
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self._sizes = sizes
        self.rules: list[Callable[[], object]] = []
        # By id: what it was made of, which lives as long, and what was made.
        self._made: dict[int, tuple[Any, Any]] = {}

    def size(self, size: Any) -> Any:
        return jax_compat.size_at(size, self._sizes) if jax.export.is_symbolic_dim(size) else size

    def aval(self, aval: Any) -> Any:
        shape = getattr(aval, "shape", ())
        if all(type(size) is int for size in shape):
            return aval
        if not jax_compat.is_array_type(aval):
            raise OpaqueError(f"it holds a value of type {type(aval).__name__}")
        return jax_compat.with_shape(aval, [self.size(size) for size in shape])

    def program(self, program: ClosedJaxpr) -> ClosedJaxpr:
        return ClosedJaxpr(self._jaxpr(program.jaxpr), program.consts)

    def _jaxpr(self, jaxpr: Any) -> Any:
        return jax_compat.retyped(jaxpr, self.aval, self.size, self.part, self.rules)

    def part(self, name: str, value: Any) -> Any:
        """A parameter of an operation, or a part of one."""
        if name in jax_compat.SIZELESS or value is None or isinstance(value, _WITHOUT_SIZES):
            return value
        if jax.export.is_symbolic_dim(value):
            return self.size(value)
        if jax_compat.is_array_type(value):
            return self.aval(value)
        if isinstance(value, list | tuple):
            parts = [self.part("", each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {key: self.part("", each) for key, each in value.items()}
        if id(value) not in self._made:
            self._made[id(value)] = value, self._shared(name, value)
        return self._made[id(value)][1]

    def _shared(self, name: str, value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return self.program(value)
        if jax_compat.is_jaxpr(value):
            return self._jaxpr(value)
        if isinstance(value, Branches | Lanes | LoopProgram | Sweep | RowSweep):
            return value.with_parts(lambda part: self.part("", part))
        if dataclasses.is_dataclass(value) and not callable(value):
            fields = {f.name: self.part(f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
            return dataclasses.replace(value, **fields)
        raise OpaqueError(f"nobody can tell what `{name or type(value).__name__}` of an operation is for other sizes")


_WITHOUT_SIZES: tuple[type, ...] = (
    bool, int, float, complex, str, bytes, Enum, frozenset, np.dtype, np.generic, np.ndarray, jax.Array,
    jax.sharding.Sharding, jax.sharding.Mesh, jax.sharding.AbstractMesh, jax.sharding.PartitionSpec,
    *jax_compat.sizeless_classes(),
)  # fmt: skip
