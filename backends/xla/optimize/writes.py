"""Turn a conditional item assignment into an unconditional one whose index is out of range where it must not write.

XLA copies an array in every iteration of a loop that carries it through a branch in which it is read and written (20
to 30 times the time of a bubble sort of 200 numbers), and under ``vmap`` such a branch becomes a select of the whole
array. So a conditional whose blocks leave an array as it was but for a few small writes (``x[i] = v`` is a scatter
that drops what is out of range) is split: what the blocks read of the array is read before it, the conditional
chooses indices and values, and the writes come after it. A block that does not make a write sets its index beyond
any array. On a CPU that stays a conditional for XLA, however short (`platforms`): after a select XLA would read the
array again in each operation that needs the element, some of them after the write, and copy the array to be able to.
Only in the body of a loop that never reads an array that it writes, or writes it once, whatever the conditional chooses
(`release_conditionals`), nothing of the kind can happen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType, Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import Stays, cond
from autograph.backends.xla.jax_compat import ClosedJaxpr, is_literal, program_of, replay
from autograph.backends.xla.leaf_types import cast, retyped, type_of
from autograph.backends.xla.optimize.earlier import MAX_INDEX_COST
from autograph.backends.xla.optimize.rows import skip_rows_around
from autograph.backends.xla.optimize.selects import equation_cost
from autograph.backends.xla.parts import needed_for
from autograph.backends.xla.statements import Conditional, Loop
from autograph.backends.xla.tracing import zeros

_READS = frozenset({"gather", "dynamic_slice"})
_MAX_UPDATE = 1024


def write_after(conditional: Conditional) -> list[Any] | None:
    """Emit a conditional and the writes of its blocks after it; None if there are no such writes."""
    branches, types = conditional.branches, conditional.types
    if any(traced.program.effects for traced, _ in branches):
        return None  # what a block prints or raises stays where it is
    sides = [_Side(traced, leaves) for traced, leaves in branches]
    arrays = {}
    for k, type in enumerate(types):
        (base, writes), (other, others) = (side.origin(k) for side in sides)
        if base is not None and base is other and (writes or others) and type_of(base) == type:
            arrays[k] = _Array(base, writes, others)
    if not arrays:
        return None
    for side in sides:
        side.read_before([array.base for array in arrays.values()])
    rest = [k for k in range(len(types)) if k not in arrays]
    parts = [part for array in arrays.values() for part in array.parts(*sides)]
    rest_types = [types[k] for k in rest]

    def block(which: int) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            given = [p[which] for p in parts if p[0] is not p[1]]
            atoms = [atom for kind, atom in given if kind == "atom"]
            values, computed = sides[which].evaluate(rest, rest_types, atoms)
            pending = iter(computed)
            return [*values, *(next(pending) if kind == "atom" else atom for kind, atom in given)]

        return run

    results = cond(conditional.predicate, block(0), block(1), stays=Stays.FOR_WRITES)
    found = dict(zip(rest, results, strict=False))
    pending = iter(results[len(rest) :])
    chosen = iter([next(pending) if p[0] is not p[1] else p[0][1] for p in parts])
    for k, array in arrays.items():
        found[k] = array.written(chosen)
    return [found[k] for k in range(len(types))]


def release_conditionals(loop: Loop) -> Loop:
    """The loop, its body's conditionals free to become selects if no read of an array that it writes can come after a write."""
    body = loop.spec.body
    released = _released(body.program)
    if released is body.program:
        return loop
    return dataclasses.replace(loop, spec=dataclasses.replace(loop.spec, body=Traced(released, body.leaves)))


def _released(program: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr = program.jaxpr
    chosen = {var for equation in jaxpr.eqns if _is_held(equation) for var in equation.outvars}
    if not chosen:
        return program
    writes = [equation for equation in jaxpr.eqns if jax_compat.is_scatter(equation)]
    results = {write.outvars[0] for write in writes}
    # XLA computes what is written to an array, and then writes it in place, where that is one write to one place.
    once = {write.invars[0] for write in writes if write.outvars[0] in jaxpr.outvars and write.invars[1] not in chosen}
    written = results | ({write.invars[0] for write in writes} - (once - results))
    for equation in jaxpr.eqns:
        reading = equation.invars[1:] if jax_compat.is_scatter(equation) else equation.invars
        if any(not is_literal(atom) and atom in written for atom in reading):
            return program

    def free(equation: Any) -> Any:
        if not _is_held(equation):
            return equation
        params = {**equation.params, "choice": equation.params["choice"].staying(Stays.NOT)}
        return jax_compat.equation_like(equation, equation.primitive, params, equation.invars, equation.outvars)

    return jax_compat.with_equations(program, list(map(free, jaxpr.eqns)))


def _is_held(equation: Any) -> bool:
    """Whether this is a conditional that is none for XLA but for the writes after it."""
    choice = equation.params.get("choice")
    return choice is not None and choice.stays is Stays.FOR_WRITES


class _Side:
    """One block: its program, and which of its values are computed before the conditional."""

    def __init__(self, traced: Traced, leaves: Sequence[Any]) -> None:
        self.leaves = leaves
        program = skip_rows_around(traced.program)
        self.jaxpr = program.jaxpr
        self.constants = jax_compat.constants_of(program)
        self.outer = dict(self.constants)
        self.made = {var: equation for equation in self.jaxpr.eqns for var in equation.outvars}

    def origin(self, k: int) -> tuple[Any, list[Any]]:
        """The array outside that a result is, but for writes, and these in order; (None, []) if it is no such thing.

        JAX writes to an array of a weak type, such as `jnp.full(n, -1)`, between two casts.
        """
        leaf, writes = self.leaves[k], []
        if not isinstance(leaf, Output):
            return (leaf if isinstance(leaf, jax.Array) else None), []
        atom = self.jaxpr.outvars[leaf.index]
        while not is_literal(atom) and atom in self.made:
            equation = self.made[atom]
            if not jax_compat.is_cast_of_weakness(equation):
                if not is_small_write(equation):
                    return None, []
                writes.append(equation)
            atom = equation.invars[0]
        base = None if is_literal(atom) else self.outer.get(atom)
        return (base if isinstance(base, jax.Array) else None), writes[::-1]

    def read_before(self, arrays: Sequence[Any]) -> None:
        """Compute outside what is read of these arrays, where the index is cheap to have."""
        known = {id(array) for array in arrays}
        reads = [
            equation
            for equation in self.jaxpr.eqns
            if jax_compat.name_of(equation) in _READS
            and id(self.outer.get(_variable(equation.invars[0]))) in known
            and np.prod(equation.outvars[0].aval.shape) <= _MAX_UPDATE
        ]
        for read in reads:
            equations, _ = needed_for(self.jaxpr.eqns, read.invars)
            if sum(map(equation_cost, equations)) <= MAX_INDEX_COST:
                (value,) = replay(program_of([*equations, read], (), read.outvars, self.constants))
                self.outer[read.outvars[0]] = value

    def evaluate(
        self, rest: Sequence[int], types: Sequence[LeafType], atoms: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Some results of the block, cast to their types, and values of its program."""
        leaves = [self.leaves[k] for k in rest]
        wanted = [*(self.jaxpr.outvars[leaf.index] for leaf in leaves if isinstance(leaf, Output)), *atoms]
        equations = [e for e in self.jaxpr.eqns if e.effects or not all(v in self.outer for v in e.outvars)]
        values = replay(program_of(needed_for(equations, wanted)[0], (), wanted, self.outer))
        pending = iter(values)
        results = [
            cast(next(pending) if isinstance(leaf, Output) else leaf, type)
            for leaf, type in zip(leaves, types, strict=True)
        ]
        return results, list(pending)

    def value(self, atom: Any) -> tuple[str, Any]:
        """A value as the conditional's branch returns it: ("atom", …) if it is computed there, ("value", …) if not."""
        if is_literal(atom):
            return "value", jnp.asarray(atom.val, atom.aval.dtype)
        return ("value", self.outer[atom]) if atom in self.outer else ("atom", atom)


class _Array:
    """An array with what either block writes to it: pairs of writes, alike but for their indices and values."""

    def __init__(self, base: Any, on_true: list[Any], on_false: list[Any]) -> None:
        self.base = base
        self.pairs: list[tuple[Any, Any]] = []
        if len(on_true) == len(on_false) and all(map(are_alike, on_true, on_false)):
            self.pairs = list(zip(on_true, on_false, strict=True))
        else:
            self.pairs = [*((write, None) for write in on_true), *((None, write) for write in on_false)]

    def parts(self, on_true: _Side, on_false: _Side) -> list[tuple[Any, Any]]:
        """Index and value of each write, as either block returns them; one object twice where the other does not care."""
        found = []
        for pair in self.pairs:
            sides = [(side, write) for side, write in zip((on_true, on_false), pair, strict=True) if write is not None]
            nowhere = ("value", _nowhere(sides[0][1].invars[1].aval))
            indices = [side.value(write.invars[1]) for side, write in sides]
            values = [side.value(write.invars[2]) for side, write in sides]
            if len(sides) == 2:
                found += [_same(*indices), _same(*values)]
                continue
            zero = ("value", zeros(sides[0][1].invars[2].aval))
            other_value = values[0] if values[0][0] == "value" else zero
            ordered = [(indices[0], nowhere), (values[0], other_value)]
            found += ordered if pair[1] is None else [(b, a) for a, b in ordered]
        return found

    def written(self, chosen: Any) -> Any:
        array = self.base
        for pair in self.pairs:
            write = pair[0] or pair[1]
            array = write.primitive.bind(array, next(chosen), next(chosen), **write.params)
        return retyped(array, self.base.dtype, jax.typeof(self.base).weak_type)


def _same(a: tuple[str, Any], b: tuple[str, Any]) -> tuple[Any, Any]:
    return (a, a) if a[0] == b[0] == "value" and a[1] is b[1] else (a, b)


def _variable(atom: Any) -> Any:
    return None if is_literal(atom) else atom


def is_small_write(equation: Any) -> bool:
    """Whether this writes one small window to an array, and nothing at all where its index is out of range."""
    if not jax_compat.is_scatter(equation) or not jax_compat.drops_out_of_range(equation):
        return False
    operand, indices, updates = (atom.aval for atom in equation.invars)
    shapes = (*operand.shape, *indices.shape, *updates.shape)
    if not all(isinstance(size, int) for size in shapes) or jnp.issubdtype(operand.dtype, jax.dtypes.prng_key):
        return False
    one_window = np.prod(indices.shape[:-1]) == 1
    fits = max(operand.shape, default=0) < np.iinfo(indices.dtype).max
    size = np.prod(updates.shape)
    return bool(one_window and fits and indices.shape[-1] > 0 and size <= _MAX_UPDATE and size < np.prod(operand.shape))


def are_alike(a: Any, b: Any) -> bool:
    """Whether two writes differ in the arrays, the indices and the values at most."""
    return jax_compat.are_one_scatter(a, b) and all(
        x.aval.shape == y.aval.shape and x.aval.dtype == y.aval.dtype for x, y in zip(a.invars, b.invars, strict=True)
    )


def _nowhere(aval: Any) -> Any:
    return jnp.full(aval.shape, np.iinfo(aval.dtype).max, aval.dtype)
