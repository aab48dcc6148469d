"""Trace functions of arrays to programs, and track which operands are differentiated or batched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind


def trace(function: Callable[..., Sequence[Any]], avals: Sequence[Any]) -> ClosedJaxpr:
    """The program of a function of arrays of these types. It says nothing of manual axes along which values vary."""
    with jax_compat.unchecked():
        return jax_compat.unaware(jax_compat.recorded(function, list(map(jax_compat.everywhere, avals))))


class Composed:
    """A function of a list of arrays, put together of programs: what `trace` makes of it is known without evaluating it."""

    def __call__(self, given: Sequence[Any] = ()) -> Any:
        """What it returns for these."""
        raise NotImplementedError

    def listed(self, *given: Any) -> list[Any]:
        """The same as a list, for operands one by one."""
        raise NotImplementedError

    def program_of(self, avals: Sequence[Any]) -> ClosedJaxpr | None:
        """The program of it for operands of these types; None if it is to be traced."""
        raise NotImplementedError


def close_all(
    functions: Sequence[tuple[Callable[..., Sequence[Any]], Sequence[Any]]],
) -> tuple[list[ClosedJaxpr], list[Any]] | None:
    """Functions of operands, each with its types, as programs that take what any of them closes over as first operands.

    None if one has effects.
    """
    programs = [_program(function, avals) for function, avals in functions]
    if any(map(jax_compat.has_side_effects, programs)):
        return None
    found = {
        id(value): (value, variable)
        for program in programs
        for value, variable in zip(program.consts, program.jaxpr.constvars, strict=True)
    }

    def closed(program: ClosedJaxpr) -> ClosedJaxpr:
        own = {id(v): var for v, var in zip(program.consts, program.jaxpr.constvars, strict=True)}
        outer = [own.get(key) or jax_compat.variable(variable.aval) for key, (_, variable) in found.items()]
        return jax_compat.closed_over_nothing(program, outer)

    return list(map(closed, programs)), [value for value, _ in found.values()]


def _program(function: Callable[..., Sequence[Any]], avals: Sequence[Any]) -> ClosedJaxpr:
    if not isinstance(function, Composed):
        return trace(function, avals)
    known = None if jax_compat.checks_varying() else function.program_of(avals)
    return trace(function.listed, avals) if known is None else known


# Functions of operands, some of which are marked.


def jvp(
    function: Callable[..., list[Any]], operands: Sequence[Any], marked: Sequence[bool], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """`jax.jvp` with respect to the marked operands."""
    return jax.jvp(_of_marked(function, operands, marked), only(operands, marked), list(tangents))


def vjp(
    function: Callable[..., list[Any]], operands: Sequence[Any], marked: Sequence[bool]
) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """`jax.vjp` with respect to the marked operands."""
    outputs, pull = jax.vjp(_of_marked(function, operands, marked), *only(operands, marked))
    return outputs, lambda cotangents: list(pull(cotangents))


def _of_marked(
    function: Callable[..., list[Any]], operands: Sequence[Any], marked: Sequence[bool]
) -> Callable[..., list[Any]]:
    return lambda *some: function(*merge(operands, marked, some))


def mapped(
    function: Callable[..., list[Any]], axis: Any, marked: Sequence[bool], results: Sequence[bool]
) -> Callable[..., list[Any]]:
    """`jax.vmap` over the leading axis of what is marked."""
    return jax.vmap(
        function,
        in_axes=tuple(0 if mark else None for mark in marked),
        out_axes=[0 if mark else None for mark in results],
        axis_size=axis.size,
        axis_name=axis.name,
        spmd_axis_name=axis.spmd_name,
    )


def leading(values: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    """``values``, the batched ones with the batch for their leading axis."""
    return [value if dim is None else jnp.moveaxis(value, dim, 0) for value, dim in zip(values, dims, strict=True)]


def only(values: Iterable[Any], marked: Iterable[bool]) -> list[Any]:
    return [value for value, mark in zip(values, marked, strict=True) if mark]


def merge(values: Sequence[Any], marked: Sequence[bool], some: Iterable[Any]) -> list[Any]:
    """``values``, the marked ones replaced by ``some``."""
    pending = iter(some)
    return [next(pending) if mark else value for value, mark in zip(values, marked, strict=True)]


# Values and their types.

INTEGER: Any = jax.typeof(np.int32(0))  # the type of a step's number


def lifted(aval: Any, axis: Any, mark: bool) -> Any:
    """The type in a batch."""
    aval = jax_compat.strong(aval)
    return jax_compat.stacked(axis.size, aval) if mark else aval


def conform(values: Iterable[Any], avals: Iterable[Any]) -> list[Any]:
    """``values`` cast where their dtype or weakness is not that of ``avals``."""
    return [_conform(value, aval) for value, aval in zip(values, avals, strict=True)]


def _conform(value: Any, aval: Any) -> Any:
    found = jax.typeof(value)
    if found.dtype != aval.dtype or (found.weak_type and not aval.weak_type):
        value = jax.lax.convert_element_type(value, aval.dtype)
    return laid(value, explicit_sharding(aval))


def as_weak_as(values: Iterable[Any], avals: Iterable[Any]) -> list[Any]:
    """The values, those of weak type where these types are weak: a program of batches has none."""
    return [
        jax_compat.weak(value) if aval.weak_type and not jax.typeof(value).weak_type else value
        for value, aval in zip(values, avals, strict=True)
    ]


def on_mesh(aval: Any) -> Any:
    """The type of what is made of such values where a mesh with axes of the type Explicit is set: it lies whole on each device."""
    mesh = jax.sharding.get_abstract_mesh()
    if AxisType.Explicit not in mesh.axis_types or not aval.sharding.mesh.empty:
        return aval
    return aval.update(sharding=NamedSharding(mesh, PartitionSpec(*[None] * aval.ndim)))


def zeros(aval: Any) -> Any:
    """Zeros that lie where this type says, if it says so."""
    return jnp.zeros(aval.shape, aval.dtype, out_sharding=explicit_sharding(aval))


def explicit_sharding(aval: Any) -> Any:
    """How arrays of this type lie, where that is part of the type: on a mesh with axes of the type Explicit; else None."""
    sharding = getattr(aval, "sharding", None)
    is_part = sharding is not None and AxisType.Explicit in sharding.mesh.axis_types
    return sharding if is_part else None


def is_whole(sharding: Any) -> bool:
    """Whether such arrays lie whole on each device."""
    return all(axes is None for axes in sharding.spec)


def laid(value: Any, sharding: Any) -> Any:
    """``value`` with this sharding, if it is one."""
    if sharding is None or explicit_sharding(jax.typeof(value)) in (None, sharding):
        return value
    return jax.reshard(value, sharding)


def choose(active: Any, taken: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Lane by lane, one of two lists of batched values."""
    return [jnp.where(_beside(active, new), new, old) for new, old in zip(taken, other, strict=True)]


def has_loop(program: ClosedJaxpr) -> bool:
    """Whether there is a loop in it that ends by a test: from a state that it was never meant for it may not end."""
    return any(map(_is_loop, jax_compat.all_equations(program.jaxpr)))


# Of our own: loops, and what may have one in it that is no program among the parameters.
_WITH_LOOPS = frozenset(["while_recorded", "while_reversed", "recursive_call", "saved", "exported_for", "linear"])


def _is_loop(equation: Any) -> bool:
    name = jax_compat.name_of(equation)
    if name == "cond_lanes":
        return bool(equation.params["lanes"].has_loop)
    return jax_compat.kind(equation) is Kind.WHILE or name in _WITH_LOOPS


def one_for_all(active: Any, operands: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """``operands``, those of inactive lanes replaced by those of one active lane."""
    lane = jnp.argmax(active)
    return [
        jnp.where(_beside(active, value), value, jax.lax.dynamic_index_in_dim(value, lane, 0, keepdims=True))
        if mark
        else value
        for value, mark in zip(operands, batched, strict=True)
    ]


def _beside(active: Any, value: Any) -> Any:
    return jax.lax.expand_dims(active, range(1, value.ndim))
