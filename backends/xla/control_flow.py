"""`XlaBackend`: staged statements as `jax.lax` control flow.

Each block is traced once, to a jaxpr (as by `jax.make_jaxpr` of a closure, inside any other trace), and the
jaxpr is replayed inside ``cond``, ``while_loop`` or ``scan``. User code runs in the first step only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import MISSING, LeafType, LoopSpec, Output, RolledLoop, Traced
from autograph.backends.recursive import RecursionSpec
from autograph.backends.thread import LOCAL
from autograph.backends.xla import (
    congruence,
    jax_compat,
    leaf_types,
    parts,
    recursion,
    recursive_calls,
    rolled,
    stateful,
    transforms,
    upper_bounds,
)
from autograph.backends.xla.jax_compat import Kind, replay
from autograph.backends.xla.leaf_types import as_struct, cast
from autograph.backends.xla.optimize.passes import emitted, optimized_block, optimized_loop
from autograph.backends.xla.optimize.selects import size_of
from autograph.backends.xla.optimize.unused import used_by
from autograph.backends.xla.platforms import EVERYWHERE
from autograph.backends.xla.scans import scan
from autograph.backends.xla.statements import Conditional, Given, Loop, Replayed, Tested, values_of
from autograph.backends.xla.tracing import trace
from autograph.backends.xla.while_ad.reverse import while_loop


class XlaBackend:
    """Stages on `jax.lax`. Holds no state."""

    def is_traced(self, value: Any) -> bool:
        if type(value) in _PYTHON:  # what plain Python is tested by, at every statement
            return False
        if not jax_compat.is_tracer(value):
            return bool(jax.export.is_symbolic_dim(value))  # a size that is known only at run time
        return jax_compat.known_value(value) is None  # Python may branch on one that has its value at hand

    def is_eager(self) -> bool:
        return jax_compat.does(jax_compat.current_trace(), "running")

    def around_another(self, called: Any, replace: Callable[[Any], Any], begun: Callable[[Any], object]) -> Any:
        return transforms.around_another(called, replace, begun)

    def rules_of(self, called: Any) -> tuple[Any, ...]:
        return tuple(jax_compat.rules_so_far(called).values())

    def compilation_options(self, jitted: Any) -> dict[str, Any] | None:
        return jax_compat.jit_options(jitted)

    def keeps_traces(self, transformed: Any) -> bool:
        return jax_compat.keeps_traces(transformed)

    def is_tracing(self) -> bool:
        if self.is_eager():  # asked at every loop there
            return False
        return jax_compat.is_tracer(jnp.zeros(()))

    def is_array(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def indexed_by_at(self, value: Any) -> Any:
        return jax_compat.indexed_by_at(value)

    def predicate(self, value: Any) -> Any:
        if not jax_compat.is_tracer(value) and not isinstance(value, jax.Array):
            value = jnp.asarray(value)
        shape = value.shape
        if shape != () and value.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        scalar = value if shape == () else jnp.reshape(value, ())
        return scalar if scalar.dtype == _BOOL.dtype else scalar != 0

    def trace(
        self,
        block: Callable[..., Sequence[Any]],
        operand_types: Sequence[LeafType],
        unchanged: Sequence[Any] = (),
    ) -> Traced:
        leaves: list[Any] = []

        def run(*operands: Any) -> list[Any]:
            outputs: list[Any] = []
            here = jax_compat.current_trace()
            LOCAL.blocks.append(here)
            followed = LOCAL.followed
            counts = None if followed is None else followed.counts()
            try:
                given = block(*operands)
            finally:
                LOCAL.blocks.pop()
            kept = {id(leaf) for leaf in unchanged}  # the block may have added to them, its own values among others
            for leaf in given:
                is_own = jax_compat.trace_of(leaf) is here
                if type(leaf) in (bool, int, float, complex) or (id(leaf) in kept and not is_own):
                    leaves.append(leaf)
                elif (leaf_type := leaf_types.type_of(leaf)) is not None:
                    leaves.append(Output(len(outputs), leaf_type))
                    if followed is not None:
                        followed.note(leaves[-1], leaf)
                    outputs.append(leaf)
                else:
                    leaves.append(leaf)
            if followed is not None:
                followed.forget(counts, lambda value: jax_compat.trace_of(value) is here)
            return outputs

        run.__wrapped__ = block  # type: ignore[attr-defined] # JAX's errors name the code that is traced
        program = jax_compat.unaware(jax_compat.recorded(run, list(map(as_struct, operand_types))))
        return Traced(optimized_block(program), tuple(leaves))

    def blocks_around(self) -> list[Any]:
        found = []
        here = jax_compat.current_trace()
        for block in reversed(LOCAL.blocks):
            if block is not here:
                break
            found.append(block)
            here = jax_compat.trace_around(here)
        return found

    def is_small(self, array: Any) -> bool:
        return size_of(array.shape) <= EVERYWHERE.elements

    def untraced(self, leaves: Sequence[Any]) -> Traced:
        return Traced(jax_compat.program_of((), (), (), {}), tuple(leaves))

    def with_results(
        self, traced: Traced, more: Sequence[tuple[Output, Callable[[Any], Any]]]
    ) -> tuple[Traced, list[Output]]:
        first = len(traced.program.out_avals)

        def run(*operands: Any) -> list[Any]:
            results = replay(traced.program, *operands)
            return [*results, *(function(results[of.index]) for of, function in more)]

        program = trace(run, [as_struct(leaf_types.type_of_aval(aval)) for aval in traced.program.in_avals])
        types = map(leaf_types.type_of_aval, program.out_avals[first:])
        return Traced(program, traced.leaves), [Output(first + k, type) for k, type in enumerate(types)]

    def strengthened(self, traced: Traced, operands: Sequence[int]) -> Traced | None:
        return leaf_types.strengthened(traced, operands)

    def type_of(self, leaf: Any) -> LeafType | None:
        return leaf_types.type_of(leaf)

    def has_ended(self, value: Any) -> bool:
        return leaf_types.has_ended(value)

    def line_of(self, traced: Traced, leaf: Any) -> str | None:
        return leaf_types.line_of(traced, leaf)

    def join(self, left: LeafType, right: LeafType) -> LeafType | None:
        return leaf_types.join(left, right)

    def known_result(self, spec: LoopSpec, position: int) -> int | None:
        return parts.known_result(spec, position)

    def alike(self, spec: LoopSpec) -> Sequence[Mapping[int, bool]]:
        return congruence.alike(spec)

    def at_most(self, spec: LoopSpec, position: int, starts: Mapping[int, int], trips: int | None) -> int | None:
        return upper_bounds.at_most(spec, position, starts, trips)

    def rolled(self, spec: LoopSpec) -> RolledLoop | None:
        return rolled.rolled(spec)

    def iterations(self, spec: LoopSpec) -> int | None:
        return rolled.iterations(spec)

    def operations(self, traced: Traced) -> int:
        return sum(map(_weight, jax_compat.all_equations(traced.program.jaxpr)))

    def operations_recorded(self) -> int:
        return jax_compat.equations_recorded()

    def copy_constants(self) -> None:
        if not self.is_eager():
            jax_compat.copy_constants()

    def has_copied_constants(self) -> bool:
        return not self.is_eager() and jax_compat.has_copied_constants()

    def zeros(self, type: LeafType) -> Any:
        return leaf_types.zeros(type)

    def select(self, which: Any, values: Sequence[Any], type: LeafType) -> Any:
        return jax.lax.select_n(which, *(leaf_types.cast(value, type) for value in values))

    def window(self, array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
        return jax.lax.dynamic_slice(array, starts, sizes)

    def put_window(self, array: Any, window: Any, starts: Sequence[Any]) -> Any:
        return jax.lax.dynamic_update_slice(array, window, starts)

    def cond(
        self, predicate: Any, branches: Sequence[tuple[Traced, Sequence[Any]]], types: Sequence[LeafType]
    ) -> list[Any]:
        return stateful.staged_cond(self._cond, predicate, branches, types)

    def loop(self, spec: LoopSpec) -> list[Any]:
        return stateful.staged_loop(self._loop, spec)

    def recursive_call(self, function: Any, operands: Sequence[Any], types: Sequence[LeafType]) -> list[Any]:
        return recursive_calls.recursive_call(function, operands, types)

    def functions_called(self, traced: Traced) -> list[Any]:
        return recursive_calls.functions_called([traced.program])

    def closes_over(self, traced: Traced, place: Any) -> bool:
        for here in map(jax_compat.trace_of, traced.program.consts):
            while here is not None:
                if here is place:
                    return True
                here = jax_compat.trace_around(here)
        return False

    def recursion(self, spec: RecursionSpec) -> tuple[list[Any], Any]:
        return recursion.run(spec)

    def _cond(
        self, predicate: Any, branches: Sequence[tuple[Traced, Sequence[Any]]], types: Sequence[LeafType]
    ) -> list[Any]:
        values = emitted(Conditional(predicate, branches, types))
        return leaf_types.varying_as(values, types, jax_compat.varying_axes([predicate]))

    def _loop(self, spec: LoopSpec) -> list[Any]:
        changing = tuple(k for k, result in enumerate(spec.results) if result is not None)
        values = _Emission(optimized_loop(Loop(spec, changing))).run()
        return leaf_types.varying_as(values, [type for _, type in spec.carry], leaf_types.axes_of_length(spec))

    def is_static(self, traced: Traced, static_operands: set[int]) -> bool:
        return leaf_types.is_static(traced, static_operands)

    def operands_used(self, traced: Traced) -> tuple[set[int], dict[int, int]]:
        return leaf_types.operands_used(traced)

    def test_is_static(self, spec: LoopSpec, static_leaves: set[int]) -> bool:
        return leaf_types.test_is_static(spec, static_leaves)


_PYTHON = frozenset({bool, int, float, str, type(None)})
_BOOL = LeafType((), jnp.dtype(bool))


def _weight(equation: Any) -> int:
    """What an equation costs to compile, beside what is in it: XLA on a CPU takes that much longer for control flow."""
    return 10 if jax_compat.kind(equation) in (Kind.COND, Kind.WHILE, Kind.SCAN) else 1


class _Emission:
    """A loop as `jax.lax` control flow: the one that its length and its test allow."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._spec = loop, loop.spec
        self._types = [self._spec.carry[k][1] for k in loop.order]

    def run(self) -> list[Any]:
        """The last value of each carried leaf."""
        spec = self._spec
        start = [cast(*spec.carry[k]) for k in self._loop.order]
        if spec.length is None:
            last = while_loop(self._test(), self._iteration(), start, slots=spec.checkpoints)
        elif spec.limit == 0:  # such as one over a list that has no room for an element: there is none to slice
            last = start
        elif self._loop.is_mapped:
            return self._map(start)
        elif self._loop.is_scan:
            return self._scan(start)
        else:
            last = self._bounded_while(start)
        return self._whole(last)

    def _whole(self, changed: Sequence[Any]) -> list[Any]:
        """All of the carry, where what changes has these values."""
        values = [cast(*each) if each[0] is MISSING else each[0] for each in self._spec.carry]
        for k, value in zip(self._loop.order, changed, strict=True):
            values[k] = value
        return values

    def _step(self, carry: Sequence[Any], index: Any, slices: Sequence[Any]) -> list[Any]:
        results = [self._spec.results[k] for k in self._loop.order]
        return values_of(results, self._outputs(carry, index, slices), self._types)

    def _outputs(self, carry: Sequence[Any], index: Any, slices: Sequence[Any]) -> list[Any]:
        spec = self._spec
        wanted = spec.body.program.in_avals[spec.inputs].dtype
        if getattr(index, "dtype", wanted) != wanted:
            index = jax.lax.convert_element_type(index, wanted)
        return replay(spec.body.program, *self._whole(carry)[: spec.inputs], index, *slices)

    def _operands(self) -> list[Any]:
        """What iterations and the test take, of what is carried and of what does not change."""
        return self._whole(list(map(Given, range(len(self._loop.order)))))[: self._spec.inputs]

    def _iteration(self) -> Replayed:
        """The body of a loop that does not count, as a function of what is carried."""
        results = [self._spec.results[k] for k in self._loop.order]
        return Replayed(self._spec.body.program, [*self._operands(), 0], results, self._types)

    def _test(self) -> Tested:
        """The test, as a function of what is carried."""
        test = self._spec.test
        assert test is not None
        return Tested(test.program, self._operands(), test.leaves, [_BOOL])

    def _scan(self, start: list[Any]) -> list[Any]:
        spec = self._spec

        changed = [*self._loop.order, *(row.position for row in self._loop.rows)]
        types = [*self._types, *(spec.results[row.position].type for row in self._loop.rows)]

        program = spec.body.program
        counts = program.jaxpr.invars[spec.inputs] in used_by(program)  # else it carries no index

        def body(carry: Any, slices: Any) -> tuple[Any, list[Any]]:
            index, values = carry
            place = index[0] if counts else jnp.int32(0)
            after = values_of([spec.results[k] for k in changed], self._outputs(values, place, slices), types)
            return ([each + 1 for each in index], after[: len(values)]), after[len(values) :]

        first = ([jnp.int32(0)] if counts else [], start)
        (_, last), rows = scan(body, first, list(spec.arrays), length=spec.length, unroll=spec.step)
        return self._with_rows(self._whole(last), rows)

    def _map(self, start: list[Any]) -> list[Any]:
        """All iterations at once. What the loop carries, none of them reads: it is what the last one leaves."""
        spec, rows = self._spec, self._loop.rows
        results = [spec.results[row.position] for row in rows]
        types = [spec.results[row.position].type for row in rows]

        def iteration(index: Any, slices: Any) -> list[Any]:
            return values_of(results, self._outputs(start, index, slices), types)

        found = jax.vmap(iteration)(jnp.arange(spec.length, dtype=jnp.int32), list(spec.arrays))
        last = self._step(start, jnp.int32(spec.length - 1), [array[-1] for array in spec.arrays])
        return self._with_rows(self._whole(last), found)

    def _with_rows(self, whole: list[Any], rows: Sequence[Any]) -> list[Any]:
        for row, values in zip(self._loop.rows, rows, strict=True):
            whole[row.position] = row.put(values)
        return whole

    def _bounded_while(self, start: list[Any]) -> list[Any]:
        spec = self._spec
        limit = spec.length if isinstance(spec.length, int) else None
        bound = np.int32(limit) if limit is not None else jnp.asarray(spec.length)
        if not jnp.issubdtype(bound.dtype, jnp.signedinteger):
            bound = bound.astype(jnp.int32)
        elif limit is None:
            bound = jax.lax.convert_element_type(bound, bound.dtype)

        counter = self._loop.counter
        first, stride = (jnp.zeros((), bound.dtype), 1) if counter is None else counter
        end = None if counter is None else first + jnp.maximum(jnp.asarray(bound, jnp.int32), 0) * stride

        goes_on = None if spec.test is None else self._test()

        def test(carry: Sequence[Any]) -> Any:
            index, *values = carry
            within = index < bound if end is None else index != end
            return within if goes_on is None else within & goes_on(values)

        def body(carry: Sequence[Any]) -> list[Any]:
            index, *values = carry
            slices = [jax.lax.dynamic_index_in_dim(array, index, keepdims=False) for array in spec.arrays]
            return [index + stride, *self._step(values, index, slices)]

        known = spec.limit if limit is None else limit
        return while_loop(test, body, [first, *start], bound=known, slots=spec.checkpoints)[1:]
