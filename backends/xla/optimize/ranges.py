"""Leave out of a loop what its counters and its test decide: an index of ``range(n)`` is not negative, and below ``n``.

Each index of a list is compared with its length, to raise, and with zero, to count from the end. What iterations count is known to be
within bounds where the loop's length is, what the test compares with a number is within that wherever the body runs (`narrowing`), and
so is what the body computes of these. A comparison that comes out alike within these bounds is its result; with it go selects and
conditionals. Loops and conditionals in the body are gone through with the bounds of what they take.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import Branches, is_choice, with_branches
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind, is_literal
from autograph.backends.xla.leaf_types import cast
from autograph.backends.xla.optimize.bounds import Bounds, bounds_of_result, bounds_of_type, bounds_of_value, hull
from autograph.backends.xla.optimize.narrowing import where_true
from autograph.backends.xla.optimize.unused import without_unused
from autograph.backends.xla.statements import Loop
from autograph.backends.xla.tracing import explicit_sharding

_SAME_NUMBER = frozenset({"squeeze", "reshape", "broadcast_in_dim", "expand_dims", "copy", "convert_element_type"})


def decide_by_ranges(loop: Loop) -> Loop:
    """The loop without what its counters decide."""
    spec = loop.spec
    length = spec.length if isinstance(spec.length, int) else spec.limit
    if jax_compat.checks_varying() or (length is not None and length <= 0):
        return loop
    program = spec.body.program
    index = program.jaxpr.invars[spec.inputs].aval
    results: dict[int, Any] = {}
    for k, result in enumerate(spec.results[: spec.inputs]):
        if result is not None:
            results[k] = program.jaxpr.outvars[result.index] if isinstance(result, Output) else result
    start = [bounds_of_value(value) for value, _ in spec.carry[: spec.inputs]]
    indices = _counted((0, 0), 1, length, index)
    begun = [*start, indices, *map(bounds_of_value, spec.arrays)]
    block = _settled(program, begun, results, length, test=spec.test)
    decided = block.program(program)
    fixed = {  # in each iteration, and after the last
        k
        for k, result in results.items()
        if _is_one(start[k]) and start[k] == block.of(program.jaxpr.invars[k]) == block.of(result)
    }
    if decided is program and not fixed:
        return loop
    carry = [(cast(*each), each[1]) if k in fixed else each for k, each in enumerate(spec.carry)]
    left = [None if k in fixed else result for k, result in enumerate(spec.results)]
    spec = dataclasses.replace(spec, body=Traced(decided, spec.body.leaves), carry=carry, results=left)
    return dataclasses.replace(loop, spec=spec, order=tuple(k for k in loop.order if k not in fixed))


def _is_one(bounds: Bounds | None) -> bool:
    return bounds is not None and bounds[0] == bounds[1]


def _settled(
    program: ClosedJaxpr,
    start: Sequence[Bounds | None],
    results: Mapping[int, Any],
    length: int | None,
    atoms: Any = (),
    test: Traced | None = None,
) -> _Block:
    """The body of a loop, gone through with bounds that hold in each iteration.

    Args:
      start: between what its operands are in the first iteration.
      results: what the next one has in place of some of these.
      atoms: what stands for others.
      test: of the carry, which holds where the body runs.
    """
    invars = program.jaxpr.invars
    given = {var: None if each is None else _fitting(each, var.aval) for var, each in zip(invars, start, strict=True)}
    pending = {}
    sums = {id(each.outvars[0]): each for each in program.jaxpr.eqns if jax_compat.name_of(each) == "add"}
    for k, result in results.items():
        step, first = _step(sums.get(id(result)), invars[k]), start[k]
        if step is None or first is None:
            pending[invars[k]] = result
            continue
        given[invars[k]] = _counted(first, step, length, invars[k].aval)
    while True:
        block = _Block({**given, **_tested(test, invars, given)}, dict(atoms))
        block.add_all(program.jaxpr.eqns)
        wider = {var: _widened(given[var], block.of(result), var.aval) for var, result in pending.items()}
        wider = {var: each for var, each in wider.items() if each != given[var]}
        if not wider:
            return block
        given.update(wider)


def _widened(bounds: Bounds | None, result: Bounds | None, aval: Any) -> Bounds | None:
    """The bounds of a number of the carry that hold for a result too, at once so wide that few more follow."""
    limits = bounds_of_type(aval)
    if bounds is None:
        return None
    if result is None or limits is None or not _is_within(result, limits):
        return limits  # whatever the result is, it is cast to this type
    low, high = bounds
    if result[0] < low:
        low = 0 if result[0] >= 0 else limits[0]
    if result[1] > high:
        high = limits[1]
    return low, high


def _tested(
    test: Traced | None, variables: Sequence[Any], bounds: Mapping[Any, Bounds | None]
) -> Mapping[Any, Bounds | None]:
    """Between what some of a loop's variables are where its test holds, which takes the first of them."""
    (truth,) = (None,) if test is None else test.leaves
    if test is None or not isinstance(truth, Output):
        return {}
    jaxpr = test.program.jaxpr
    carry = dict(zip(jaxpr.invars, variables, strict=False))
    block = _Block({var: bounds[outer] for var, outer in carry.items()}, {})
    block.add_all(jaxpr.eqns)
    found = where_true(block.atom(jaxpr.outvars[truth.index]), block.equations, block.of)
    return {carry[var]: each for var, each in found.items() if var in carry}


def _step(equation: Any, variable: Any) -> int | None:
    """The constant that each iteration adds to a number of the carry, as far as this addition, if any, makes the next."""
    if equation is None or variable not in equation.invars:
        return None
    (other,) = [atom for atom in equation.invars if atom is not variable] or [None]
    bounds = bounds_of_value(other.val) if other is not None and is_literal(other) else None
    return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None


def _counted(first: Bounds, step: int, length: int | None, aval: Any) -> Bounds | None:
    """The bounds of what goes up or down by a step, for so many iterations.

    For any number of them, it is taken to go on as it began: an int that wraps is not Python's any more.
    """
    limits = bounds_of_type(aval)
    if length is None and limits is not None and _is_within(first, limits):
        return (first[0] if step >= 0 else limits[0]), (first[1] if step <= 0 else limits[1])
    last = step * ((length or 1) - 1)
    return _fitting((first[0] + min(last, 0), first[1] + max(last, 0)), aval)


def _fitting(bounds: Bounds, aval: Any) -> Bounds | None:
    limits = bounds_of_type(aval)
    return bounds if _is_within(bounds, limits) else limits


def _is_within(bounds: Bounds | None, outer: Bounds | None) -> bool:
    return outer is None or (bounds is not None and outer[0] <= bounds[0] and bounds[1] <= outer[1])


class _Block:
    """A program that is gone through once, and what is left of its equations.

    Attributes: equations; has_changed (whether they are others).
    """

    def __init__(self, bounds: dict[Any, Bounds | None], atoms: dict[Any, Any]) -> None:
        self.equations: list[Any] = []
        self.has_changed = False
        self._bounds = dict(bounds)
        self._atoms = atoms  # what stands for variables
        self._sums: dict[Any, tuple[Any, int]] = {}  # a variable and a constant that a variable is the sum of
        self._equals: dict[Any, tuple[Any, int]] = {}  # what a test asks if it is this number
        self._vectors: dict[Any, list[Any]] = {}  # the numbers that a vector is made of
        self._chosen: dict[
            Any, tuple[Any, list[Bounds | None]]
        ] = {}  # a predicate, and the bounds where it is false and true

    def program(self, program: ClosedJaxpr) -> ClosedJaxpr:
        """The program with what is left; itself if that is all."""
        if not self.has_changed:
            return program
        left = jax_compat.with_equations(program, self.equations)
        return without_unused(jax_compat.with_results(left, list(map(self.atom, program.jaxpr.outvars))))

    def atom(self, atom: Any) -> Any:
        return atom if is_literal(atom) else self._atoms.get(atom, atom)

    def of(self, value: Any) -> Bounds | None:
        """The bounds of an atom, or of a number."""
        atom = self.atom(value) if hasattr(value, "aval") else value
        if is_literal(atom) or not hasattr(atom, "aval"):
            return bounds_of_value(getattr(atom, "val", atom))
        return self._bounds.get(atom) or bounds_of_type(atom.aval)

    def add_all(self, equations: Sequence[Any]) -> None:
        for equation in equations:
            self.add(equation)

    def add(self, equation: Any) -> None:
        atoms = list(map(self.atom, equation.invars))
        if any(new is not old for new, old in zip(atoms, equation.invars, strict=True)):
            self.has_changed = True
            equation = jax_compat.equation_like(equation, equation.primitive, equation.params, atoms, equation.outvars)
        kind = jax_compat.kind(equation)
        if kind is Kind.CALL and not equation.effects:
            self._call(equation)
        elif is_choice(equation) and not equation.effects:
            self._choose(equation)
        elif kind is Kind.SCAN:
            self._scan(equation)
        elif equation.effects or len(equation.outvars) != 1:
            self.equations.append(equation)
        else:
            self._operate(equation)

    def _operate(self, equation: Any) -> None:
        (result,) = equation.outvars
        name, operands = jax_compat.name_of(equation), list(map(self.of, equation.invars))
        bounds = self._compared(name, equation) or bounds_of_result(equation, operands)
        self._bounds[result] = bounds
        if self._note_choice(name, equation, operands):
            return
        if bounds is not None and bounds[0] == bounds[1] and result.aval.shape == ():
            self._replace(result, jax_compat.literal(np.asarray(bounds[0], result.aval.dtype), result.aval))
            return
        if name == "scatter" and (starts := self._starts_in_range(equation)) is not None:
            self.has_changed = True
            self.equations += jax_compat.update_in_range(equation, starts)
            return
        self._note_vector(name, equation)
        same = self._number(name, equation) or self._chosen_anyway(name, equation, operands)
        same = same or _one_of(name, equation.invars, operands)
        if same is not None and same.aval.shape == result.aval.shape and same.aval.dtype == result.aval.dtype:
            if same.aval == result.aval:
                self._replace(result, same)
                return
            self.has_changed = True
            equation = jax_compat.cast_like(equation, same)
            name = jax_compat.name_of(equation)
        self._note_sum(name, equation)
        self.equations.append(equation)

    def _replace(self, variable: Any, atom: Any) -> None:
        self.has_changed = True
        self._atoms[variable] = atom

    def _sum(self, atom: Any) -> tuple[Any, int]:
        return self._sums.get(atom, (atom, 0))

    def _note_sum(self, name: str, equation: Any) -> None:
        if not equation.invars:
            return
        (result,) = equation.outvars
        first, *others = equation.invars
        if bounds_of_type(result.aval) is None or any(atom.aval.dtype != result.aval.dtype for atom in equation.invars):
            return
        if name in _SAME_NUMBER and not is_literal(first) and _is_number(first.aval) and _is_number(result.aval):
            self._sums[result] = self._sum(first)
        elif name in ("add", "sub"):
            (second,) = others
            if name == "add" and is_literal(first):
                first, second = second, first
            bounds = self.of(second)
            if not is_literal(first) and bounds is not None and bounds[0] == bounds[1]:
                base, constant = self._sum(first)
                self._sums[result] = base, constant + (bounds[0] if name == "add" else -bounds[0])

    def _note_choice(self, name: str, equation: Any, operands: Sequence[Bounds | None]) -> bool:
        """Note how a predicate decides what an operation computes; whether it is the result."""
        (result,) = equation.outvars
        chosen = [
            (k, self._chosen[atom])
            for k, atom in enumerate(equation.invars)
            if not is_literal(atom) and atom in self._chosen
        ]
        if len(chosen) != 1:
            return False
        ((k, (predicate, sides)),) = chosen
        found = [bounds_of_result(equation, [*operands[:k], side, *operands[k + 1 :]]) for side in sides]
        self._chosen[result] = predicate, found
        if found != [(0, 0), (1, 1)] or result.aval != predicate.aval:
            return False
        self._replace(result, predicate)
        return True

    def _note_vector(self, name: str, equation: Any) -> None:
        (result,) = equation.outvars
        first = equation.invars[0] if equation.invars else None
        vector = None if first is None or is_literal(first) else self._vectors.get(first)
        if name == "broadcast_in_dim" and first is not None and (first.aval.shape, result.aval.shape) == ((), (1,)):
            self._vectors[result] = [first]
        elif name == "concatenate" and all(not is_literal(atom) and atom in self._vectors for atom in equation.invars):
            self._vectors[result] = [number for atom in equation.invars for number in self._vectors[atom]]
        elif name == "slice" and vector is not None:
            self._vectors[result] = [vector[k] for k in jax_compat.sliced_numbers(equation)]

    def _number(self, name: str, equation: Any) -> Any:
        """The number that an equation takes out of a vector made of numbers; None of another equation."""
        if name not in ("squeeze", "reshape") or equation.outvars[0].aval.shape != () or is_literal(equation.invars[0]):
            return None
        vector = self._vectors.get(equation.invars[0], ())
        return vector[0] if len(vector) == 1 else None

    def _chosen_anyway(self, name: str, equation: Any, operands: Sequence[Bounds | None]) -> Any:
        """``x`` of ``k if x == k else x``; None of another equation."""
        if name == "eq" and operands[1] is not None and operands[1][0] == operands[1][1]:
            self._equals[equation.outvars[0]] = equation.invars[0], operands[1][0]
        if name != "select_n" or is_literal(equation.invars[0]) or len(operands) != 3:
            return None
        number, constant = self._equals.get(equation.invars[0], (None, 0))
        return number if number is equation.invars[1] and operands[2] == (constant, constant) else None

    def _starts_in_range(self, scatter: Any) -> list[Any] | None:
        """Where a scatter writes, one number for each axis, if it writes one block that is in the array."""
        window = jax_compat.scatter_window(scatter) if jax_compat.drops_out_of_range(scatter) else None
        array, index, _ = scatter.invars
        numbers = None if window is None or is_literal(index) else self._vectors.get(index)
        if window is None or not numbers or len({number.aval.dtype for number in numbers}) > 1:
            return None
        if jnp.issubdtype(array.aval.dtype, jax.dtypes.extended) or explicit_sharding(array.aval) is not None:
            return None
        axes, sizes = window
        zero = jax_compat.literal(np.zeros((), numbers[0].aval.dtype), jax_compat.strong(numbers[0].aval))
        starts = dict(zip(axes, numbers, strict=True))
        found = [starts.get(axis, zero) for axis in range(len(sizes))]
        if not all(isinstance(size, int) for size in (*array.aval.shape, *sizes)):
            return None
        room = zip(map(self.of, found), array.aval.shape, sizes, strict=True)
        return found if all(_is_within(at, (0, whole - size)) for at, whole, size in room) else None

    def _compared(self, name: str, equation: Any) -> Bounds | None:
        """What a test of equality gives of two sums of one number and constants, which may wrap."""
        if name not in ("eq", "ne") or any(
            is_literal(atom) or bounds_of_type(atom.aval) is None for atom in equation.invars
        ):
            return None
        (one, first), (other, second) = map(self._sum, equation.invars)
        if one is not other:
            return None
        is_equal = (first - second) % 2 ** (8 * equation.invars[0].aval.dtype.itemsize) == 0
        return (1, 1) if is_equal == (name == "eq") else (0, 0)

    def _call(self, equation: Any) -> None:
        program = jax_compat.called(equation.params)
        is_closed = program is not None and not program.consts
        if not (is_closed and self._inline(equation, program, equation.invars, only_if_shorter=True)):
            self.equations.append(equation)

    def _inline(self, equation: Any, program: Any, operands: Sequence[Any], only_if_shorter: bool) -> bool:
        """Put what is left of a program in the place of an equation that runs it, if it is shorter; whether it was put there."""
        inner = program.jaxpr
        before, has_changed = self.equations, self.has_changed
        self.equations = []
        names = dict(zip(inner.invars, operands, strict=True))

        def renamed(atom: Any) -> Any:
            return atom if is_literal(atom) else names[atom]

        for each in inner.eqns:
            given = list(map(renamed, each.invars))
            made = [var if jax_compat.is_dropped(var) else jax_compat.variable(var.aval) for var in each.outvars]
            names.update(zip(each.outvars, made, strict=True))
            self.add(jax_compat.equation_like(each, each.primitive, each.params, given, made))
        outs = [self.atom(renamed(atom)) for atom in inner.outvars]
        for var, out in zip(equation.outvars, outs, strict=True):
            self._bounds[var] = self.of(out)
        own, self.equations = self.equations, before
        is_put = all(out.aval == var.aval for out, var in zip(outs, equation.outvars, strict=True)) and (
            not only_if_shorter or len(own) < len(inner.eqns)
        )
        self.has_changed = has_changed
        if is_put:
            self.equations += own
            for var, out in zip(equation.outvars, outs, strict=True):
                self._replace(var, out)
        return is_put

    def _choose(self, equation: Any) -> None:
        choice: Branches = equation.params["choice"]
        predicate, *operands = equation.invars
        known = self.of(predicate)
        if known is not None and known[0] == known[1]:
            branch = choice.pair[known[0]]
            if not branch.consts and self._inline(equation, branch, operands, only_if_shorter=False):
                return
        blocks = [self._inner(branch, operands) for branch in choice.pair]
        pair = [block.program(branch) for block, branch in zip(blocks, choice.pair, strict=True)]
        for k, var in enumerate(equation.outvars):
            sides = [block.of(own.jaxpr.outvars[k]) for block, own in zip(blocks, choice.pair, strict=True)]
            self._bounds[var] = hull(*sides)
            self._chosen[var] = predicate, sides
        if any(block.has_changed for block in blocks):
            self.has_changed = True
            made = Branches(pair[0], pair[1], stays=choice.stays, tested=choice.tested)
            equation = with_branches(equation, made, equation.invars, equation.outvars)
        self.equations.append(equation)

    def _inner(self, program: ClosedJaxpr, operands: Sequence[Any]) -> _Block:
        """A program of these operands, gone through."""
        invars = program.jaxpr.invars
        literals = {var: atom for var, atom in zip(invars, operands, strict=True) if is_literal(atom)}
        block = _Block({var: self.of(atom) for var, atom in zip(invars, operands, strict=True)}, literals)
        block.add_all(program.jaxpr.eqns)
        return block

    def _scan(self, equation: Any) -> None:
        scan = jax_compat.scan_of(equation)
        inner, length = scan.body.jaxpr, scan.options["length"]
        if not isinstance(length, int) or length <= 0:
            self.equations.append(equation)
            return
        results = {scan.consts + k: inner.outvars[k] for k in range(scan.carried)}
        literals = {
            var: atom
            for var, atom in zip(inner.invars[: scan.consts], equation.invars, strict=False)
            if is_literal(atom)
        }
        block = _settled(scan.body, list(map(self.of, equation.invars)), results, length, literals)
        starts = [*map(self.of, equation.invars[scan.consts :][: scan.carried])]
        for k, (var, atom) in enumerate(zip(equation.outvars, inner.outvars, strict=True)):
            self._bounds[var] = hull(starts[k], block.of(atom)) if k < scan.carried else block.of(atom)
        if block.has_changed:
            self.has_changed = True
            params = jax_compat.with_scanned_body(equation.params, block.program(scan.body))
            equation = jax_compat.equation_like(equation, equation.primitive, params, equation.invars, equation.outvars)
        self.equations.append(equation)


def _is_number(aval: Any) -> bool:
    return all(isinstance(size, int) and size == 1 for size in aval.shape)


def _one_of(name: str, atoms: Sequence[Any], operands: Sequence[Bounds | None]) -> Any:
    """The operand that is the result; None if that is not known."""
    if len(operands) < 2:
        return None
    first, second = operands[:2]
    if name == "select_n":
        return atoms[1 + first[0]] if first is not None and first[0] == first[1] and atoms[0].aval.shape == () else None
    if name == "clamp":
        least, own, most = operands
        return atoms[1] if own and least and most and least[1] <= own[0] and own[1] <= most[0] else None
    if name == "add" and first == (0, 0):
        return atoms[1]
    if name in ("add", "sub") and second == (0, 0):
        return atoms[0]
    if name not in ("max", "min") or first is None or second is None:
        return None
    if first[0] >= second[1]:
        return atoms[0 if name == "max" else 1]
    if second[0] >= first[1]:
        return atoms[1 if name == "max" else 0]
    return None
