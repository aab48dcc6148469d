"""Determine the types of branch results and loop carries before they reach `jax.lax`.

Handing `lax` a carry that starts as ``0`` and turns float makes it trace the body again, once per level of nesting.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import MISSING, LeafType, LoopSpec, Output, Traced
from autograph.backends.large_ints import is_far_beyond
from autograph.backends.xla import jax_compat
from autograph.backends.xla.tracing import explicit_sharding, is_whole, laid
from autograph.runtime.errors import place_of

_NUMBERS = (bool, int, float, complex)
_ARRAYS = (jax.Array, np.ndarray, np.generic)


def type_of(leaf: Any) -> LeafType | None:
    """The `LeafType` of arrays, Python numbers and program outputs; None for anything else."""
    if isinstance(leaf, Output):
        return leaf.type
    if jax_compat.is_tracer(leaf):  # to ask one whether it is a `jax.Array` takes long
        aval = jax.typeof(leaf)
        return type_of_aval(aval) if jax_compat.is_array_type(aval) else None
    if is_far_beyond(leaf):  # no array is this int
        return None
    if not (type(leaf) in _NUMBERS or jax_compat.is_typed_number(leaf)):
        if jax.export.is_symbolic_dim(leaf):
            leaf = jnp.asarray(leaf)
        elif not isinstance(leaf, _ARRAYS):
            return None
    try:
        aval = jax.typeof(leaf)
    except TypeError:  # NumPy arrays of strings or objects
        return None
    except OverflowError:
        aval = jax.typeof(np.asarray(leaf))
    return type_of_aval(aval)


def type_of_aval(aval: Any) -> LeafType:
    """The `LeafType` of arrays of this aval."""
    return _known_type(aval, jax_compat.varying_axes([aval]))


@functools.lru_cache(1024)  # most leaves of a program have one of few types
def _known_type(aval: Any, varying: frozenset[Any]) -> LeafType:
    weak = bool(aval.weak_type) and aval.dtype != np.bool_
    return LeafType(tuple(aval.shape), aval.dtype, weak, explicit_sharding(aval), varying)


def has_ended(value: Any) -> bool:
    """See `Backend.has_ended`."""
    return jax_compat.is_tracer(value) and not jax_compat.is_live(value)


def line_of(traced: Traced, leaf: Any) -> str | None:
    """See `Backend.line_of`."""
    if not isinstance(leaf, Output):
        return None
    wanted = traced.program.jaxpr.outvars[leaf.index]
    for equation in traced.program.jaxpr.eqns:
        if any(made is wanted for made in equation.outvars):
            found = jax_compat.source_position(equation)
            return None if found is None else place_of(*found[:2])
    return None


def join(left: LeafType, right: LeafType) -> LeafType | None:
    """The least type for both by `jax.numpy`'s promotion, weak only if both are.

    It is cut over the axes of a mesh as one of them is, where the other lies whole on each device.
    """
    if left == right:
        return left
    if left.shape != right.shape:
        return None
    given = [each.sharding for each in (left, right) if each.sharding is not None]
    cut = {sharding for sharding in given if not is_whole(sharding)}
    if len(cut) > 1:
        return None
    sharding, varying = next(iter(cut or given), None), left.varying | right.varying
    if left.dtype == right.dtype:
        return LeafType(left.shape, left.dtype, left.weak_type and right.weak_type, sharding, varying)
    try:
        joined = jax.eval_shape(lambda a, b: jnp.add(a, b), as_struct(left), as_struct(right))
        dtype = jnp.promote_types(left.dtype, right.dtype) if joined.dtype == jnp.bool_ else joined.dtype
    except (TypeError, ValueError):
        return None
    return LeafType(left.shape, dtype, left.weak_type and right.weak_type, sharding, varying)


@functools.lru_cache(1024)
def as_struct(type: LeafType) -> jax.ShapeDtypeStruct:
    """The stand-in that `jax.make_jaxpr` and `jax.eval_shape` take."""
    struct = jax.ShapeDtypeStruct(type.shape, type.dtype, weak_type=type.weak_type, sharding=type.sharding)
    return jax_compat.struct_varying_along(struct, type.varying) if type.varying else struct


def cast(value: Any, type: LeafType) -> Any:
    """``value`` as an array of ``type``. Python numbers become weak arrays where the type is weak."""
    if value is MISSING:
        return zeros(type)
    if isinstance(value, _NUMBERS) and not isinstance(value, np.generic) and type.weak_type:
        kind = jnp.dtype(type.dtype).kind
        number = {"b": bool, "i": int, "u": int, "f": float, "c": complex}.get(kind, lambda v: v)(value)
        return jax_compat.varying_along(jnp.asarray(number), type.varying)
    array = jnp.asarray(float(value) if is_far_beyond(value) else value)
    is_weak = jax.typeof(array).weak_type  # a key that is no tracer has no such attribute
    is_stronger = is_weak and not type.weak_type and array.dtype != np.bool_
    if array.dtype != type.dtype or is_stronger:
        array = jax.lax.convert_element_type(array, type.dtype)
    if array.shape != type.shape:  # it is of traced length, and has less room
        array = in_room(array, type.shape[0])
    return jax_compat.varying_along(laid(array, type.sharding), type.varying)


def retyped(array: Any, dtype: Any, is_weak: bool) -> Any:
    """The array with this dtype and weakness."""
    if array.dtype != dtype or (not is_weak and jax.typeof(array).weak_type and array.dtype != np.bool_):
        array = jax.lax.convert_element_type(array, dtype)
    return jax_compat.weak(array) if is_weak and not jax.typeof(array).weak_type else array


def varying_as(values: Sequence[Any], types: Sequence[LeafType], tested: frozenset[Any]) -> list[Any]:
    """The results of a statement, of which it is known along which axes they vary: by their types, and with what was ``tested``."""
    if not jax_compat.checks_varying():
        return list(values)
    return [
        jax_compat.same_along(value, jax_compat.varying_axes([value]) - type.varying - tested)
        for value, type in zip(values, types, strict=True)
    ]


def axes_of_length(spec: LoopSpec) -> frozenset[Any]:
    """The axes along which it varies how often a loop runs."""
    tested = [
        leaf.type.varying for leaf in (spec.test.leaves if spec.test is not None else ()) if isinstance(leaf, Output)
    ]
    return jax_compat.varying_axes([spec.length] if isinstance(spec.length, jax.Array) else ()).union(*tested)


def in_room(array: Any, capacity: int) -> Any:
    """See `Staging.in_room`."""
    more = capacity - array.shape[0]
    if more <= 0:
        return array
    shape = (more, *array.shape[1:])
    if array.shape[0]:
        beyond = jnp.broadcast_to(jax.lax.stop_gradient(array[:1]), shape)
    else:
        beyond = jnp.ones(shape, array.dtype)
    return jnp.concatenate([array, beyond])


def zeros(type: LeafType) -> Any:
    """A value of ``type`` that stands where no value is defined."""
    if type.weak_type and type.sharding is None:
        zero = {"b": False, "f": 0.0, "c": 0j}.get(jnp.dtype(type.dtype).kind, 0)
        return retyped(jnp.full(type.shape, zero), type.dtype, True)
    return retyped(jnp.zeros(type.shape, type.dtype, out_sharding=type.sharding), type.dtype, type.weak_type)


def strengthened(traced: Traced, operands: Sequence[int]) -> Traced | None:
    """See `Backend.strengthened`: weakness shows in a program only where a weak value was cast to another's dtype."""
    jaxpr = traced.program.jaxpr
    tainted = {jaxpr.invars[k] for k in operands}
    for equation in jaxpr.eqns:
        if any(not jax_compat.is_literal(atom) and atom in tainted for atom in equation.invars):
            if _casts_weak(equation):
                return None
            tainted.update(equation.outvars)

    def strong(leaf: Any) -> Any:
        if not isinstance(leaf, Output):
            return leaf
        atom = jaxpr.outvars[leaf.index]
        is_tainted = not jax_compat.is_literal(atom) and atom in tainted
        return Output(leaf.index, leaf.type.strong()) if is_tainted else leaf

    return Traced(traced.program, tuple(map(strong, traced.leaves)))


def _casts_weak(equation: Any) -> bool:
    """Whether this equation casts a weak value to another dtype, itself or in a program that it holds."""
    new = jax_compat.cast_to(equation)
    if new is not None:
        source = equation.invars[0].aval
        return source.weak_type and source.dtype != new
    return any(_casts_weak(nested) for jaxpr in jax_compat.inner_programs(equation) for nested in jaxpr.eqns)


def operands_used(traced: Traced) -> tuple[set[int], dict[int, int]]:
    """See `Backend.operands_used`."""
    jaxpr = traced.program.jaxpr
    position = {variable: k for k, variable in enumerate(jaxpr.invars)}
    atoms = [atom for equation in jaxpr.eqns for atom in equation.invars if not jax_compat.is_literal(atom)]
    outputs = {k: atom for k, atom in enumerate(jaxpr.outvars) if not jax_compat.is_literal(atom)}
    return (
        {position[atom] for atom in atoms if atom in position},
        {k: position[atom] for k, atom in outputs.items() if atom in position},
    )


def is_static(traced: Traced, static_operands: set[int]) -> bool:
    """See `Backend.is_static`."""
    return _is_static_leaf(traced.leaves[0], _static_outputs(traced, static_operands, -1))


def test_is_static(spec: LoopSpec, static_leaves: set[int]) -> bool:
    """Whether the loop's test depends on nothing but Python numbers (see `Backend.test_is_static`)."""
    assert spec.test is not None
    static = set(static_leaves)
    while True:
        computed = _static_outputs(spec.body, static, spec.inputs)
        still = {k for k in static if _is_static_leaf(spec.results[k], computed)}
        if still == static:
            break
        static = still
    truth = spec.test.leaves[0]
    return _is_static_leaf(truth, _static_outputs(spec.test, static, spec.inputs))


def _is_static_leaf(leaf: Any, computed: Sequence[bool]) -> bool:
    return computed[leaf.index] if isinstance(leaf, Output) else True


def _static_outputs(traced: Traced, static: set[int], inputs: int) -> list[bool]:
    """For each output of the program: is it computed from static operands and literals alone? A loop index is
    static.
    """
    jaxpr = traced.program.jaxpr
    known = {v for k, v in enumerate(jaxpr.invars) if k in static or k == inputs}

    def is_known(atom: Any) -> bool:
        return jax_compat.is_literal(atom) or atom in known

    for equation in jaxpr.eqns:
        # A symbolic size is made of nothing, and no Python number for all that.
        if not jax_compat.is_symbolic_size(equation) and all(is_known(atom) for atom in equation.invars):
            known.update(equation.outvars)
    return [is_known(atom) for atom in jaxpr.outvars]
