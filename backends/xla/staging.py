"""`XlaStaging`: how programs for XLA hold Variables and record effects.

See `discharge` for how their values pass through.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec

from autograph.backends.base import LeafType
from autograph.backends.described import Exported, Node
from autograph.backends.exceptions import RaiseSite
from autograph.backends.xla import jax_compat
from autograph.backends.xla.ahead import Lowered
from autograph.backends.xla.compared_sizes import forget_compared_sizes, undecided_sizes
from autograph.backends.xla.dataflow import nodes_of
from autograph.backends.xla.discharge import Cell, evaluate
from autograph.backends.xla.errors import Errors
from autograph.backends.xla.export import SavedProgram, exported
from autograph.backends.xla.leaf_types import as_struct, in_room, retyped, type_of, type_of_aval, zeros
from autograph.backends.xla.modular_powers import power_modulo
from autograph.backends.xla.parts import needed_for
from autograph.backends.xla.raising import may_raise, raise_if, sites_in
from autograph.backends.xla.receivers import Receiver, is_clear, receiving, unless_thrown, written_unless_thrown
from autograph.backends.xla.stand_ins import new_stand_in, stand_ins
from autograph.backends.xla.tape import XlaTape
from autograph.backends.xla.tracing import explicit_sharding, is_whole, laid

# A closure's array of so many bytes is an input of the program: baked in, XLA would read it while compiling, and hold
# a copy. Below, a call with one more input costs more.
_LARGE_CONSTANT = 2**20


class XlaStaging:
    """See `backends.base.Staging`."""

    __slots__ = ()

    def stand_in(self, type: LeafType, owner: Any) -> Any:
        return new_stand_in(type, owner)

    def owner(self, stand_in: Any) -> Any:
        return jax_compat.owner_of_ref(stand_in)

    def read(self, stand_in: Any) -> Any:
        return jax_compat.of_ref(stand_in)

    def write(self, stand_in: Any, value: Any) -> None:
        jax_compat.write_ref(stand_in, written_unless_thrown(value, lambda: jax_compat.of_ref(stand_in)))

    def place(self) -> Any:
        return jax_compat.current_trace()

    def is_plain(self, place: Any) -> bool:
        return jax_compat.does(place, "running")

    def is_outside(self) -> bool:
        return jax_compat.does(jax_compat.current_trace(), "running")

    def running(self) -> tuple[Callable[[None], Any], Any]:
        return jax_compat.find_top_trace, jax_compat.running_trace()

    def is_recording(self, place: Any) -> bool:
        return any(jax_compat.does(trace, "recording") for trace in _traces(place))

    def is_mapped(self, place: Any, within: Any = None) -> bool:
        for trace in _traces(place):
            if trace is within:
                return False
            if jax_compat.does(trace, "mapping"):
                return True
        return False

    def is_divided(self) -> bool:
        return bool(jax.sharding.get_abstract_mesh().manual_axes)

    def is_within(self, place: Any, outer: Any) -> bool:
        return any(trace is outer for trace in _traces(place))

    def is_directly_in(self, place: Any, outer: Any) -> bool:
        around = jax_compat.trace_around(place)
        return around is not None and (self.is_plain(around) if outer is None else around is outer)

    def row_type(self, type: LeafType) -> LeafType:
        return dataclasses.replace(type, shape=type.shape[1:], sharding=type.sharding and _of_one_row(type.sharding))

    def viewed(self, value: Any) -> Any:
        return jax_compat.viewed(value)

    def with_whole_rows(self, array: Any) -> Any:
        lies = explicit_sharding(jax.typeof(array))
        return laid(array, lies and _of_rows(_of_one_row(lies)))

    def power_modulo(self, base: Any, exp: Any, mod: Any) -> tuple[Any, Any]:
        return power_modulo(base, exp, mod)

    def no_rows(self, type: LeafType) -> Any:
        return _room(0, type)

    def more_room(self, count: Any, buffer: Any) -> Any:
        return _room(count, self.row_type(type_of_aval(jax.typeof(buffer))))

    def in_room(self, values: Any, capacity: int) -> Any:
        return in_room(values, capacity)

    def in_rows_of(self, buffer: Any, type: LeafType) -> Any:
        lies = type.sharding
        if lies is None or is_whole(lies):
            return buffer
        return laid(buffer, _of_rows(lies))

    def type_of(self, value: Any) -> LeafType:
        found = type_of(value)
        assert found is not None
        return found

    def is_differentiated(self, value: Any, place: Any) -> bool:
        return jax_compat.trace_of(value) is place and jax_compat.does(place, "differentiating")

    def without_derivative(self, value: Any) -> Any:
        return jax.lax.stop_gradient(value)

    def concrete(self, value: Any) -> Any:
        return jax_compat.concrete(value)

    def record(self, block: Callable[..., Sequence[Any]], arrays: Sequence[Any]) -> Any:
        program = jax.make_jaxpr(block)(*arrays)
        jax_compat.replace_literals(program, _owned_scalar)
        return program.replace(consts=[_owned(const) for const in program.consts])

    def opened(self, function: Callable[..., Any], operands: Sequence[Any]) -> tuple[list[Any], Callable[..., Any]]:
        closed = jax.make_jaxpr(function)(*operands)
        return list(closed.consts), lambda consts, arrays: jax_compat.replay(
            closed.replace(consts=list(consts)), *arrays
        )

    def stand_ins(self, program: Any) -> list[tuple[Any, bool]]:
        return stand_ins([program])

    def run(
        self, program: Any, arrays: Sequence[Any], stand_ins: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        sites = sites_in([program])

        def evaluated() -> list[Any]:
            cells = {id(ref): Cell(value) for ref, value in zip(stand_ins, values, strict=True)}
            errors = Errors(sites)
            results = evaluate(program, arrays, cells, errors)
            return [*results, *(cells[id(ref)].value for ref in stand_ins), *errors.values()]

        found = unless_thrown(evaluated, [program])
        first, second = len(program.jaxpr.outvars), len(program.jaxpr.outvars) + len(stand_ins)
        errors = Errors(sites, found[second:]) if sites else None
        return found[:first], found[first:second], None if errors is None else (errors.code, errors.payloads, sites)

    def raise_if(self, code: Any, payloads: Sequence[Sequence[Any]], sites: Sequence[RaiseSite]) -> None:
        raise_if(code, payloads, sites)

    def receiving(self, catches: Callable[[RaiseSite], bool]) -> AbstractContextManager[Receiver]:
        return receiving(catches)

    def is_clear(self) -> Any:
        clear = is_clear()
        return True if clear is None else clear

    def is_of(self, value: Any, place: Any) -> bool:
        return self.is_within(place, jax_compat.trace_of(value))

    def run_part(
        self,
        program: Any,
        arrays: Sequence[Any],
        stand_ins: Sequence[Any],
        values: Sequence[Any],
        outputs: range,
    ) -> list[Any]:
        def pure(*operands: Any) -> list[Any]:
            every, *_ = self.run(program, operands[: len(arrays)], stand_ins, operands[len(arrays) :])
            return [every[k] for k in outputs]

        return _run_needed(jax.make_jaxpr(pure)(*arrays, *values), [*arrays, *values])

    def has_effects(self, program: Any) -> bool:
        return jax_compat.calls_python(program)

    def calls_python(self, program: Any) -> bool:
        return any(
            jax_compat.is_call_of_python(equation.primitive) or jax_compat.python_function(equation) is not None
            for equation in jax_compat.all_equations(program.jaxpr)
        )

    def sites(self, program: Any) -> Sequence[RaiseSite]:
        return sites_in([program])

    def may_raise(self, program: Any) -> bool:
        return may_raise(program)

    def is_bound(self, program: Any) -> bool:
        return any(map(jax_compat.is_tracer, program.consts))

    def large_constants(self, program: Any) -> dict[int, Any]:
        return {
            position: const
            for position, const in enumerate(program.consts)
            if getattr(const, "nbytes", 0) >= _LARGE_CONSTANT or not getattr(const, "is_fully_addressable", True)
        }

    def with_constants(self, program: Any, constants: Mapping[int, Any]) -> Any:
        return jax_compat.with_constants(program, [constants.get(k, const) for k, const in enumerate(program.consts)])

    def undecided_sizes(self) -> Collection[tuple[str, int]]:
        return undecided_sizes()

    def forget_compared_sizes(self) -> None:
        forget_compared_sizes()

    def settings(self) -> Any:
        return (jax.sharding.get_abstract_mesh(), *jax_compat.recording_settings())

    def wait(self, results: Any) -> None:
        try:
            jax.block_until_ready(results)
            jax.effects_barrier()
        except Exception:
            jax_compat.forget_order_of_effects()
            raise

    def tape(self) -> XlaTape:
        return XlaTape()

    def traced(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return jax.jit(function).trace(*args, **kwargs)

    def lowered(
        self, program: Any, operands: Sequence[Any], platforms: Sequence[str] | None, options: Mapping[str, Any]
    ) -> Lowered:
        return Lowered(program, operands, platforms, options)

    def drawn(self, program: Any, inputs: Sequence[tuple[str, str]], outputs: Sequence[str]) -> list[Node]:
        return nodes_of(program, inputs, outputs)

    def exported(self, program: Any, name: str, platforms: Sequence[str] | None, derivatives: int | None) -> Exported:
        return exported(program, name, platforms, derivatives)

    def artifact(self, data: bytes) -> SavedProgram:
        return SavedProgram(data)

    def weak(self, value: Any) -> Any:
        return jax_compat.weak(value)

    def number(self, value: Any, kind: type) -> Any:
        if not jax_compat.is_tracer(value) or value.ndim:
            return value
        dtype = jnp.result_type(kind)
        is_larger = value.dtype.kind == "u" and value.dtype.itemsize >= dtype.itemsize
        return retyped(value, value.dtype if is_larger and kind is int else dtype, True)

    def retyped(self, value: Any, type: LeafType) -> Any:
        return retyped(value, type.dtype, type.weak_type)

    def accept(self, kind: type, read: Callable[[Any], Any], type_of: Callable[[Any], LeafType]) -> None:
        jax_compat.accept(kind, read, lambda value: as_struct(type_of(value)))

    def call_python(self, function: Callable[..., Any], types: Any, arrays: Sequence[Any]) -> Any:
        treedef = jax.tree_util.tree_structure(types)

        def call() -> Sequence[Any]:
            return jax.tree_util.tree_leaves(io_callback(function, types, *arrays, ordered=True))

        runs_always = getattr(function, "runs_always", False)
        return jax.tree_util.tree_unflatten(treedef, call() if runs_always else unless_thrown(call))

    def show(self, function: Callable[..., Any], arrays: Sequence[Any]) -> None:
        def call() -> list[Any]:
            if self.is_mapped(place):
                jax.debug.callback(function, *arrays)  # each lane by itself, in no order
            else:
                # Not `jax.debug.callback`, whose calls are in order among themselves only.
                io_callback(function, None, *map(jax.lax.stop_gradient, arrays), ordered=True)
            return []

        place = self.place()
        unless_thrown(call)


def _room(count: Any, row: LeafType) -> Any:
    """Zeros for so many rows of this type."""
    lies = row.sharding and _of_rows(row.sharding)
    return zeros(dataclasses.replace(row, shape=(count, *row.shape), sharding=lies))


def _of_rows(sharding: NamedSharding) -> NamedSharding:
    """How an array lies whose rows lie so, and all of which are where one is."""
    return NamedSharding(sharding.mesh, PartitionSpec(None, *sharding.spec))


def _of_one_row(sharding: NamedSharding) -> NamedSharding:
    """How each row of an array lies that lies so."""
    return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[1:]))


def _traces(place: Any) -> Iterable[Any]:
    trace = place
    while trace is not None:
        yield trace
        trace = jax_compat.trace_around(trace)


def _run_needed(program: Any, operands: Sequence[Any]) -> list[Any]:
    """Run only the equations that the program's results are computed from: no prints, no callbacks for their own
    sake.
    """
    jaxpr = program.jaxpr
    equations, needed = needed_for(jaxpr.eqns, jaxpr.outvars)
    taken = [var for var in jaxpr.invars if var in needed]
    values = [value for var, value in zip(jaxpr.invars, operands, strict=True) if var in needed]
    for value in values:
        if isinstance(value, jax.ShapeDtypeStruct):
            raise TypeError(f"this operation needs a value, and got the type {type_of(value) or value}")
    own = jax_compat.program_of(equations, taken, jaxpr.outvars, jax_compat.constants_of(program))
    return jax_compat.replay(own, *values)


def _owned_scalar(value: Any) -> Any:
    """A scalar of NumPy's, which JAX holds in a wrapper, as one that nobody writes; anything else as it is."""
    is_wrapped = hasattr(value, "__array__") and not isinstance(value, np.generic | jax.Array)
    if not is_wrapped:
        return value
    owned = np.array(value)
    is_known = (
        owned.dtype.isbuiltin == 1 or owned.dtype == jnp.bfloat16
    )  # others JAX lowers in arrays only: of int4, float8
    return owned[()] if is_known else owned


def _owned(const: Any) -> Any:
    """A constant of NumPy's as an array that nobody writes.

    JAX holds it in a wrapper, which it takes again for the same array as long as a program keeps it, whatever has been
    written to the array meanwhile.
    """
    if isinstance(const, jax.Array) or not hasattr(const, "__array__"):
        return const
    with jax.ensure_compile_time_eval():
        return jnp.array(np.array(const), const.dtype)
