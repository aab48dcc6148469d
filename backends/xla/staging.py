"""`XlaStaging`: how Variables are held, and effects recorded, in programs for XLA.

See `state` for how their values pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.experimental.hijax import register_hitype
from jax.extend.core import concrete_or_error, find_top_trace
from jax.interpreters.xla import canonicalize_dtype_handlers

from autograph.backends.base import LeafType, RaiseSite
from autograph.backends.xla.errors import collected
from autograph.backends.xla.leaf_types import as_struct, type_of, zeros
from autograph.backends.xla.parts import needed_for, part
from autograph.backends.xla.raising import may_raise, raise_if
from autograph.backends.xla.state import Cell, evaluate, register_stand_in, stand_ins
from autograph.backends.xla.tape import XlaTape

# What of `jax.config` shows in a recorded program.
_SETTINGS = tuple(
    name
    for name in [
        "jax_enable_x64",
        "jax_default_matmul_precision",
        "jax_numpy_dtype_promotion",
        "jax_numpy_rank_promotion",
        "jax_default_prng_impl",
        "jax_threefry_partitionable",
        "jax_debug_nans",
        "jax_debug_infs",
        "jax_softmax_custom_jvp",
        "jax_disable_jit",
    ]
    if hasattr(jax.config, name)
)
_RECORDING = ("DynamicJaxprTrace",)
_DIFFERENTIATING = ("JVPTrace", "LinearizeTrace")
_MAPPING = ("BatchTrace", "ShardMapTrace")


class XlaStaging:
    """See `backends.base.Staging`."""

    def stand_in(self, type: LeafType) -> Any:
        with jax.core.eval_context():
            ref = jax.new_ref(zeros(type))
        buffer = getattr(getattr(ref, "_refs", None), "_buf", None)
        if buffer is not None:
            buffer.delete()
        register_stand_in(ref)
        return ref

    def read(self, stand_in: Any) -> Any:
        return stand_in[...]

    def write(self, stand_in: Any, value: Any) -> None:
        stand_in[...] = value

    def place(self) -> Any:
        return find_top_trace(None)

    def is_plain(self, place: Any) -> bool:
        return type(place).__name__ == "EvalTrace"

    def is_outside(self) -> bool:
        return type(find_top_trace(None)).__name__ == "EvalTrace"

    def is_recording(self, place: Any) -> bool:
        return any(type(trace).__name__ in _RECORDING for trace in _traces(place))

    def is_mapped(self, place: Any, within: Any = None) -> bool:
        for trace in _traces(place):
            if trace is within:
                return False
            if type(trace).__name__ in _MAPPING:
                return True
        return False

    def is_within(self, place: Any, outer: Any) -> bool:
        return any(trace is outer for trace in _traces(place))

    def is_directly_in(self, place: Any, outer: Any) -> bool:
        around = getattr(place, "parent_trace", None)
        return around is not None and (self.is_plain(around) if outer is None else around is outer)

    def is_differentiated(self, value: Any, place: Any) -> bool:
        if not isinstance(value, jax.core.Tracer):
            return False
        return value._trace is place and type(place).__name__ in _DIFFERENTIATING

    def without_derivative(self, value: Any) -> Any:
        return jax.lax.stop_gradient(value)

    def concrete(self, value: Any) -> Any:
        return concrete_or_error(None, value)

    def record(self, block: Callable[..., Sequence[Any]], arrays: Sequence[Any]) -> Any:
        program = jax.make_jaxpr(block)(*arrays)
        return program.replace(consts=[_owned(const) for const in program.consts])

    def stand_ins(self, program: Any) -> list[tuple[Any, bool]]:
        return stand_ins([program])

    def run(
        self, program: Any, arrays: Sequence[Any], stand_ins: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        def run(*operands: Any) -> list[Any]:
            state = operands[len(arrays) :]
            cells = {id(ref): Cell(value) for ref, value in zip(stand_ins, state, strict=True)}
            outputs = evaluate(program, operands[: len(arrays)], cells)
            return [*outputs, *(cells[id(ref)].value for ref in stand_ins)]

        error: Any = None
        if may_raise(program):
            results, *error = collected(jax.make_jaxpr(run)(*arrays, *values), (*arrays, *values))
        else:
            results = run(*arrays, *values)
        count = len(results) - len(stand_ins)
        return results[:count], results[count:], error

    def raise_if(self, code: Any, payloads: Sequence[Sequence[Any]], sites: Sequence[RaiseSite]) -> None:
        raise_if(code, payloads, sites)

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
        return any("Callback" in type(effect).__name__ or "IO" in type(effect).__name__ for effect in program.effects)

    def may_raise(self, program: Any) -> bool:
        return may_raise(program)

    def is_bound(self, program: Any) -> bool:
        return any(isinstance(const, jax.core.Tracer) for const in program.consts)

    def large_constants(self, program: Any, least: int) -> dict[int, Any]:
        found = {}
        for position, const in enumerate(program.consts):
            if getattr(const, "nbytes", 0) < least:
                continue
            found[position] = const
        return found

    def with_constants(self, program: Any, constants: Mapping[int, Any]) -> Any:
        return program.replace(consts=[constants.get(k, const) for k, const in enumerate(program.consts)])

    def settings(self) -> Any:
        return (jax.sharding.get_abstract_mesh(), *(getattr(jax.config, name) for name in _SETTINGS))

    def wait(self, results: Any) -> None:
        jax.block_until_ready(results)
        jax.effects_barrier()

    def tape(self) -> XlaTape:
        return XlaTape()

    def accept(self, kind: type, read: Callable[[Any], Any], type_of: Callable[[Any], LeafType]) -> None:
        # Every operation of JAX passes its operands through these two tables first, so what it records is what was read.
        register_hitype(kind, lambda value: jax.typeof(as_struct(type_of(value))))
        canonicalize_dtype_handlers[kind] = read

    def call_python(self, function: Callable[..., Any], types: Any, arrays: Sequence[Any]) -> Any:
        return io_callback(function, types, *arrays, ordered=True)

    def show(self, function: Callable[..., Any], arrays: Sequence[Any]) -> None:
        if self.is_mapped(self.place()):
            jax.debug.callback(function, *arrays)  # each lane by itself, in no order
            return
        # Not `jax.debug.callback`, whose calls are in order among themselves only.
        io_callback(function, None, *map(jax.lax.stop_gradient, arrays), ordered=True)


def _traces(place: Any) -> Iterable[Any]:
    trace = place
    while trace is not None:
        yield trace
        trace = getattr(trace, "parent_trace", None)


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
            raise TypeError(f"a value is needed here, and only a type is given: {type_of(value) or value}")
    own = part(jaxpr.constvars, taken, jaxpr.outvars, equations)
    return list(jax.core.eval_jaxpr(own, program.consts, *values))


def _owned(const: Any) -> Any:
    """A constant of NumPy's as an array that nobody writes.

    JAX holds it in a wrapper, which it takes again for the same array as long as a program keeps it, whatever has been
    written to the array meanwhile.
    """
    if isinstance(const, jax.Array) or not hasattr(const, "__array__"):
        return const
    with jax.ensure_compile_time_eval():
        return jnp.array(np.array(const), const.dtype)
