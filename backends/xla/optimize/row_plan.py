"""Plan which arrays of a loop become scanned rows, and rewrite the equations of its body. See `by_rows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Output
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import is_choice
from autograph.backends.xla.jax_compat import is_literal
from autograph.backends.xla.optimize.progressions import (
    Integer,
    Progression,
    Vector,
    Vectors,
    either,
    is_integer,
    known,
    one,
    result_of,
    variable,
)
from autograph.backends.xla.statements import Loop
from autograph.backends.xla.tracing import explicit_sharding

Path = tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """A part of an array that one iteration touches: ``sizes`` elements from ``starts`` on, one along ``axis``."""

    axis: int
    starts: Vector
    sizes: tuple[int, ...]

    @property
    def item(self) -> Progression:
        item = self.starts[self.axis]
        assert isinstance(item, Progression)
        return item

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self.sizes[: self.axis] + self.sizes[self.axis + 1 :]

    def is_known(self) -> bool:
        return all(isinstance(start, Progression) for start in self.starts)


@dataclass(frozen=True)
class Whole:
    """An array as it was before the iteration, but for the block that the iteration writes. ``var`` is the body's variable."""

    var: Any


@dataclass(frozen=True)
class Read:
    """Equation: a block of an array."""

    var: Any
    block: Block


@dataclass(frozen=True)
class Write:
    """Equation: a block of an array replaced, or combined with what it was.

    ``mask``: the predicate that says if it is, and for which of its values; None if it always is.
    ``tested``: whether only the index itself says so.
    """

    var: Any
    block: Block
    mask: tuple[Any, bool] | None
    tested: bool


@dataclass(frozen=True)
class Choose:
    """Equation: one of several versions of an array."""

    var: Any


@dataclass(frozen=True)
class Conditional:
    """Equation: a conditional of the arrays ``inputs``, whose results are versions of the arrays ``results``, or of none."""

    inputs: frozenset[Any]
    results: tuple[Any, ...]


class RowPlan:
    """Which arrays can go by rows, and what that makes of equations.

    Attributes:
      places: the positions in the carry of the arrays that are written, by their variables.
      blocks: what an iteration touches of those that can go by rows.
      reads: blocks of arrays that no iteration writes.
      steps: what becomes of an equation, by its path: its number, that of a branch, the equation's in that, and so on.
    """

    def __init__(self, loop: Loop) -> None:
        spec = loop.spec
        self._spec, self._length = spec, int(spec.length)
        self._jaxpr = spec.body.program.jaxpr
        invars = self._jaxpr.invars
        changing = [k for k in loop.order if k < spec.inputs]
        fixed = {*self._jaxpr.constvars, *(var for k, var in enumerate(invars[: spec.inputs]) if k not in changing)}
        self.places = {invars[k]: k for k in changing if _has_rows(invars[k].aval)}
        self._read_only = {var for var in fixed if _has_rows(var.aval)}
        self._refused: set[Any] = set()
        self._touched: dict[Any, set[Block]] = {}
        self._steps: dict[Path, Any] = {}
        self._refuse_results(self._walk(self._jaxpr, self._start(fixed, changing), ()))
        self.blocks = {
            var: next(iter(found))
            for var, found in self._touched.items()
            if var in self.places and var not in self._refused and len(found) == 1
        }
        self.steps = {path: step for path, step in self._steps.items() if self._is_taken(step)}
        around = {path[:n] for path in self.steps for n in range(1, len(path), 2)}
        self.steps.update((path, self._steps[path]) for path in around)
        found = [step for step in self.steps.values() if isinstance(step, Read) and step.var in self._read_only]
        self.reads = list(dict.fromkeys((step.var, step.block) for step in found))

    def _is_taken(self, step: Any) -> bool:
        if isinstance(step, Conditional):
            return any(var in self.blocks for var in step.inputs)
        return step.var in self.blocks or step.var in self._read_only

    def _start(self, fixed: set[Any], changing: Sequence[int]) -> dict[Any, Any]:
        """What is known of a body's variables to begin with."""
        spec, invars = self._spec, self._jaxpr.invars
        found: dict[Any, Any] = {var: Whole(var) for var in (*self.places, *self._read_only)}
        found.update((var, variable(var)) for var in fixed if is_integer(var.aval))
        for k in range(spec.inputs):
            value = spec.carry[k][0]
            step = self._added(k) if k in changing else 0
            if type(value) is int and step is not None and is_integer(invars[k].aval):
                found[invars[k]] = one(Progression(value, step))
        found[invars[spec.inputs]] = one(Progression(0, 1))
        return found

    def _added(self, k: int) -> int | None:
        """The constant that each iteration adds to a leaf of the carry."""
        result, own = self._spec.results[k], self._jaxpr.invars[k]
        atom = self._jaxpr.outvars[result.index] if isinstance(result, Output) else None
        for equation in self._jaxpr.eqns:
            if jax_compat.name_of(equation) == "add" and equation.outvars[0] is atom:
                others = [other for other in equation.invars if other is not own]
                if len(others) == 1 and is_literal(others[0]) and np.ndim(others[0].val) == 0:
                    return int(others[0].val)
        return None

    def _walk(self, jaxpr: Any, found: dict[Any, Any], path: Path) -> list[Any]:
        """What the results of a program are, where ``found`` says that of its operands."""
        for number, equation in enumerate(jaxpr.eqns):
            operands = [known(atom, found) for atom in equation.invars]
            here = (*path, number)
            results: Sequence[Any]
            if is_choice(equation) and not isinstance(operands[0], Whole):
                results = self._conditional(equation, operands, here)
            elif not any(isinstance(operand, Whole) for operand in operands):
                results = [result_of(equation, operands, self._length)]
            else:
                step = self._step(equation, operands, is_inner=bool(path))
                if step is None:
                    self._refuse(operands)
                else:
                    self._steps[here] = step
                results = [Whole(step.var) if isinstance(step, Write | Choose) else None]
            found.update((var, r) for var, r in zip(equation.outvars, results, strict=False) if r is not None)
        return [known(atom, found) for atom in jaxpr.outvars]

    def _refuse(self, operands: Sequence[Any]) -> None:
        self._refused.update(operand.var for operand in operands if isinstance(operand, Whole))

    def _refuse_results(self, outputs: Sequence[Any]) -> None:
        """Leave out arrays that end elsewhere than where they began."""
        kept = set()
        for k, result in enumerate(self._spec.results):
            if isinstance(result, Output) and isinstance(outputs[result.index], Whole):
                var = outputs[result.index].var
                if self.places.get(var) != k or var in kept:
                    self._refused.add(var)
                kept.add(var)
        self._refused.update(var for var in self.places if var not in kept)

    def _conditional(self, equation: Any, operands: Sequence[Any], path: Path) -> list[Any]:
        sides = []
        for which, branch in enumerate(jax_compat.branches(equation)):
            inner = branch.jaxpr
            start = {var: o for var, o in zip(inner.invars, operands[1:], strict=True) if o is not None}
            sides.append(self._walk(inner, start, (*path, which)))
        results: list[Any] = []
        for on_false, on_true in zip(*sides, strict=True):
            if isinstance(on_false, Whole) or isinstance(on_true, Whole):
                is_one = on_false == on_true
                if not is_one or _size(on_true.var.aval.shape[1:]) > _MOST_IN_BRANCHES:
                    self._refuse([on_false, on_true])
                results.append(on_true if is_one else None)
            else:
                results.append(either(on_false, on_true, equation.invars[0]))
        inputs = frozenset(operand.var for operand in operands if isinstance(operand, Whole))
        self._steps[path] = Conditional(inputs, tuple(r.var if isinstance(r, Whole) else None for r in results))
        return results

    def _step(self, equation: Any, operands: Sequence[Any], is_inner: bool) -> Any:
        """What becomes of an equation on arrays; None if it needs them whole."""
        name, first = jax_compat.name_of(equation), operands[0]
        if name == "select_n" and not isinstance(first, Whole) and equation.invars[0].aval.shape == ():
            versions = operands[1:]
            is_one = all(version == versions[0] for version in versions)
            return Choose(versions[0].var) if is_one and versions[0].var in self.places else None
        if not isinstance(first, Whole) or any(isinstance(operand, Whole) for operand in operands[1:]):
            return None
        if name == "dynamic_slice":
            block = self._block(first.var, _together(operands[1:]), equation.outvars[0].aval.shape)
            if block is None or (is_inner and _size(block.row_shape) > _MOST_IN_BRANCHES):
                return None
            self._touched.setdefault(first.var, set()).add(block)
            return Read(first.var, block)
        if first.var not in self.places:
            return None
        if name == "dynamic_update_slice":
            block = self._block(first.var, _together(operands[2:]), equation.invars[1].aval.shape)
            step = None if block is None else Write(first.var, block, None, False)
        elif (window := jax_compat.scatter_window(equation)) is not None:
            step = self._scatter(equation, first.var, operands[1], *window)
        else:
            step = None
        if step is not None:
            self._touched.setdefault(first.var, set()).add(step.block)
        return step

    def _scatter(self, equation: Any, var: Any, indices: Any, axes: Sequence[int], sizes: tuple[int, ...]) -> Any:
        if not isinstance(indices, Vectors):
            return None

        def at(vector: Vector) -> Vector:
            starts: list[Integer] = [Progression(0)] * len(sizes)
            for axis, integer in zip(axes, vector, strict=True):
                starts[axis] = integer
            return tuple(starts)

        def is_dropped(vector: Vector) -> bool:
            return drops and self._is_outside(var, at(vector), sizes)

        drops = jax_compat.drops_out_of_range(equation)
        written = [vector for vector in indices.found if not is_dropped(vector)]
        if len(written) != 1:
            return None
        block = self._block(var, at(written[0]), sizes)
        if block is None:
            return None
        if len(indices.found) == 1:
            return Write(var, block, None, not block.is_known())
        choice = indices.choice
        if _size(block.row_shape) > _MOST_IN_BRANCHES:
            return None
        if choice is not None and block.is_known() and _is_flag(choice.predicate):
            for is_true, taken, other in (
                (True, choice.on_true, choice.on_false),
                (False, choice.on_false, choice.on_true),
            ):
                if taken == {written[0]} and all(map(is_dropped, other)):
                    return Write(var, block, (choice.predicate, is_true), False)
        return Write(var, block, None, True)

    def _block(self, var: Any, starts: Vector | None, sizes: tuple[int, ...]) -> Block | None:
        """The block at these places, if it is one that only this iteration touches."""
        if starts is None:
            return None
        moving = [axis for axis, start in enumerate(starts) if isinstance(start, Progression) and start.step]
        if len(moving) != 1 or sizes[moving[0]] != 1:
            return None
        for start, size, whole in zip(starts, sizes, var.aval.shape, strict=True):
            if isinstance(start, Progression):
                low, high = start.bounds(self._length)
                if low < 0 or high + size > whole:
                    return None
        block = Block(moving[0], starts, tuple(sizes))
        return block if block.is_known() or abs(block.item.step) == 1 else None

    def _is_outside(self, var: Any, starts: Vector, sizes: tuple[int, ...]) -> bool:
        """Whether no iteration finds a block of the array there."""
        for start, size, whole in zip(starts, sizes, var.aval.shape, strict=True):
            if isinstance(start, Progression):
                low, high = start.bounds(self._length)
                if high < 0 or low + size > whole:
                    return True
        return False


# A write of no more elements than these may be a choice between them and what was there.
_MOST_IN_BRANCHES = 1024


def _together(starts: Sequence[Any]) -> Vector | None:
    """Scalars as one vector."""
    vectors = [start.only if isinstance(start, Vectors) else None for start in starts]
    return None if None in vectors else tuple(vector[0] for vector in vectors if vector is not None)


def _is_flag(atom: Any) -> bool:
    return not is_literal(atom) and atom.aval.shape == () and bool(atom.aval.dtype == jnp.bool_)


def _has_rows(aval: Any) -> bool:
    """Whether slices of values of this type can be taken along any axis."""
    shape = getattr(aval, "shape", ())
    if not shape or jax_compat.is_ref(aval) or not all(isinstance(size, int) for size in shape):
        return False
    return not jnp.issubdtype(aval.dtype, jax.dtypes.extended) and explicit_sharding(aval) is None


def _size(shape: Sequence[int]) -> int:
    return int(np.prod(shape))
