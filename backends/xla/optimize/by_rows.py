"""Turn arrays that a loop reads and writes at its index into the scanned inputs and outputs of a `jax.lax.scan`.

``y = x[i]`` in a loop over ``range(n)`` is a slice of a whole array at a computed place, ``out[i] = y`` a write to
one that every iteration carries. Where each iteration touches one row of an array, at a place that is
``first + step * index``, and no other iteration touches that row, the body is given the row before and leaves the row
after: it computes with single elements, XLA copies no array and checks no index, and a reverse pass adds to no whole
array. Writes under a condition are a choice between the new row and the old one. An array that the loop never writes
may be read at several such places, and elsewhere as well.

Only a row at constant places, or at places that the loop does not change, is taken: ``a[i, j]`` in the loop over
``j`` is an element of row ``i``, and in the loop over ``i`` around it, that row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType, Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import Branches, cond
from autograph.backends.xla.jax_compat import is_literal
from autograph.backends.xla.leaf_types import cast
from autograph.backends.xla.optimize.progressions import value_of
from autograph.backends.xla.optimize.row_plan import Block, Choose, Conditional, Path, Read, RowPlan, Write
from autograph.backends.xla.optimize.unused import used_by, without_unused
from autograph.backends.xla.parts import evaluate_equations
from autograph.backends.xla.statements import Loop, Row
from autograph.backends.xla.tracing import conform


def scan_by_rows(loop: Loop) -> Loop:
    """The loop, its body given rows of arrays instead of arrays; a loop that is no `jax.lax.scan` stays."""
    if not loop.is_scan or loop.spec.length == 0:
        return loop
    plan = RowPlan(loop)
    return loop if not plan.blocks and not plan.reads else _Rewriting(loop, plan).run()


class _Rewriting:
    """The loop as the plan has it."""

    def __init__(self, loop: Loop, plan: RowPlan) -> None:
        self._loop, self._plan = loop, plan
        self._program = loop.spec.body.program
        self._constants = jax_compat.constants_of(self._program)
        self._slices: dict[tuple[Any, Block], Any] = {}

    def run(self) -> Loop:
        loop, spec, plan = self._loop, self._loop.spec, self._plan
        invars = self._program.jaxpr.invars
        count = len(invars)
        keys = [*plan.blocks.items(), *plan.reads]

        def body(*operands: Any) -> list[Any]:
            env = {**self._constants, **dict(zip(invars, operands[:count], strict=True))}
            self._slices = dict(zip(keys, operands[count:], strict=True))
            env.update((var, self._slices[var, block]) for var, block in plan.blocks.items())
            try:
                return self._evaluate(self._program.jaxpr, env, ())
            finally:
                self._slices = {}  # traced values of this body

        arrays = [self._rows_of(var, block) for var, block in keys]
        types = [jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype, weak_type=var.aval.weak_type) for var in invars]
        rows = [jax.ShapeDtypeStruct(array.shape[1:], array.dtype) for array in arrays]
        program = without_unused(jax_compat.recorded(body, [*types, *rows]))
        read = used_by(program)
        first = spec.inputs + 1  # the slices follow the carry and the index
        kept = [k for k, var in enumerate(program.jaxpr.invars[first:]) if var in read]
        taken = [*spec.arrays, *arrays]
        program = jax_compat.with_operands(
            program, [*program.jaxpr.invars[:first], *(program.jaxpr.invars[first + k] for k in kept)]
        )
        results = list(spec.results)
        for var, k in plan.places.items():
            if var in plan.blocks:
                type = results[k].type
                results[k] = Output(results[k].index, LeafType(plan.blocks[var].row_shape, type.dtype, type.weak_type))
        spec = dataclasses.replace(
            spec,
            body=Traced(program, spec.body.leaves),
            results=results,
            arrays=[taken[k] for k in kept],
        )
        placed = [Row(plan.places[var], self._putting(var, block)) for var, block in plan.blocks.items()]
        left = {row.position for row in placed}
        return dataclasses.replace(
            loop, spec=spec, order=tuple(k for k in loop.order if k not in left), rows=(*loop.rows, *placed)
        )

    def _evaluate(self, jaxpr: Any, env: dict[Any, Any], path: Path) -> list[Any]:
        """The results of a program, where ``env`` holds rows in the places of arrays."""
        pending: list[Any] = []
        rows: dict[Any, Any] = {}
        for number, equation in enumerate(jaxpr.eqns):
            here = (*path, number)
            step = self._plan.steps.get(here)
            is_reshaped = jax_compat.name_of(equation) in ("squeeze", "reshape") and not is_literal(equation.invars[0])
            row = rows.get(equation.invars[0]) if is_reshaped else None
            if row is not None and row.shape == equation.outvars[0].aval.shape:
                env[equation.outvars[0]] = row  # one value for all that read it: a derivative keeps it once
                continue
            if step is None:
                pending.append(equation)
                continue
            evaluate_equations(pending, env)
            pending = []
            with jax_compat.at_source_of(equation):
                results = self._apply(step, equation, env, here)
            env.update(zip(equation.outvars, results, strict=True))
            if isinstance(step, Read):
                rows[equation.outvars[0]] = self._row(step, env[equation.invars[0]])
        evaluate_equations(pending, env)
        return [atom.val if is_literal(atom) else env[atom] for atom in jaxpr.outvars]

    def _apply(self, step: Any, equation: Any, env: dict[Any, Any], path: Path) -> list[Any]:
        operands = [atom.val if is_literal(atom) else env[atom] for atom in equation.invars]
        if isinstance(step, Read):
            return [jax.lax.expand_dims(self._row(step, operands[0]), [step.block.axis])]
        if isinstance(step, Write):
            return [self._written(step, equation, operands, env)]
        if isinstance(step, Choose):
            return [jax.lax.select_n(*operands)]
        return self._conditional(step, equation, operands, path)

    def _row(self, step: Read, version: Any) -> Any:
        return version if step.var in self._plan.blocks else self._slices[step.var, step.block]

    def _written(self, step: Write, equation: Any, operands: Sequence[Any], env: dict[Any, Any]) -> Any:
        old, block = operands[0], step.block
        is_scatter = jax_compat.is_scatter(equation)
        new = jax.lax.reshape(operands[2 if is_scatter else 1], block.row_shape)
        combine = _COMBINED.get(jax_compat.name_of(equation))
        if combine is not None:
            new = combine(old, new)
        if step.mask is not None:
            atom, is_true = step.mask
            return jax.lax.select(env[atom], *((new, old) if is_true else (old, new)))
        if step.tested:
            window = jax_compat.scatter_window(equation)
            assert window is not None
            axes, sizes = window
            limits = np.asarray([step.var.aval.shape[axis] - sizes[axis] for axis in axes], operands[1].dtype)
            return jax.lax.select(jnp.all((operands[1] >= 0) & (operands[1] <= limits)), new, old)
        return new

    def _conditional(self, step: Conditional, equation: Any, operands: Sequence[Any], path: Path) -> list[Any]:
        choice: Branches = equation.params["choice"]
        types = [
            aval if var not in self._plan.blocks else jax.ShapeDtypeStruct(self._plan.blocks[var].row_shape, aval.dtype)
            for var, aval in zip(step.results, choice.results, strict=True)
        ]

        def side(which: int) -> Callable[[], list[Any]]:
            branch = choice.pair[which]

            def run() -> list[Any]:
                env = {**jax_compat.constants_of(branch), **dict(zip(branch.jaxpr.invars, operands[1:], strict=True))}
                return conform(self._evaluate(branch.jaxpr, env, (*path, which)), types)

            return run

        return cond(operands[0], side(1), side(0), stays=choice.stays)

    def _outside(self, var: Any) -> Any:
        """The value of a variable that no iteration changes, or that it has before the first."""
        invars, spec = self._program.jaxpr.invars, self._loop.spec
        for own, (value, type) in zip(invars[: spec.inputs], spec.carry, strict=False):
            if own is var:
                return cast(value, type)
        return jnp.asarray(self._constants[var])

    def _starts(self, block: Block, length: int) -> list[Any]:
        """Where the blocks of all iterations begin."""
        low, _ = block.item.bounds(length)
        return [
            low if axis == block.axis else value_of(start, np.int32, self._outside)
            for axis, start in enumerate(block.starts)
        ]

    def _rows_of(self, var: Any, block: Block) -> Any:
        """An array's rows, in the order of the iterations."""
        array, length, step = self._outside(var), int(self._loop.spec.length), block.item.step
        span = (length - 1) * abs(step) + 1
        sizes = [span if axis == block.axis else size for axis, size in enumerate(block.sizes)]
        array = _slice(array, self._starts(block, length), sizes)
        if abs(step) != 1:
            array = jax.lax.slice_in_dim(array, 0, span, abs(step), block.axis)
        if step < 0:
            array = jax.lax.rev(array, [block.axis])
        return array if block.axis == 0 else jnp.moveaxis(array, block.axis, 0)

    def _putting(self, var: Any, block: Block) -> Callable[[Any], Any]:
        """What makes the array of its rows."""

        def put(rows: Any) -> Any:
            length, step = int(self._loop.spec.length), block.item.step
            rows = rows if block.axis == 0 else jnp.moveaxis(rows, 0, block.axis)
            if step < 0:
                rows = jax.lax.rev(rows, [block.axis])
            if rows.shape == var.aval.shape:
                return rows
            array, starts = self._outside(var), self._starts(block, length)
            if abs(step) == 1:
                return jax.lax.dynamic_update_slice(array, rows, starts)
            places = tuple(
                slice(start, start + (length - 1) * abs(step) + 1, abs(step))
                if axis == block.axis
                else slice(start, start + size)
                for axis, (start, size) in enumerate(zip(starts, block.sizes, strict=True))
            )
            return array.at[places].set(rows)

        return put


_COMBINED: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "scatter-add": jax.lax.add,
        "scatter-mul": jax.lax.mul,
        "scatter-min": jax.lax.min,
        "scatter-max": jax.lax.max,
    }
)


def _slice(array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    if tuple(sizes) == array.shape:
        return array
    if all(isinstance(start, int | np.integer | np.ndarray) for start in starts):
        return jax.lax.slice(array, list(map(int, starts)), [int(a) + b for a, b in zip(starts, sizes, strict=True)])
    return jax.lax.dynamic_slice(array, starts, sizes)
