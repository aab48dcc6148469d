"""Elements of rows, ``x[i][j]``, as elements of the array: no row is read or written for one element.

``x[i][j]`` reads a row and an element of that, and where a list of lists is held in an array ``x[i][j] = v`` writes an element of a
row and the row. XLA copies rows that go through a conditional, or that a loop's body reads before it writes the array: for a
table of 200 by 200 that took 12 times the time of the loop. Staging may have read a row before a conditional whose blocks read and write
elements of it; they do so without it, too (`skip_rows_around`).

Indices out of range mean the same: a read takes the nearest, axis by axis, and a write to a row or of a row that is out of range
is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, is_literal
from autograph.backends.xla.optimize.earlier import Earlier
from autograph.backends.xla.optimize.terms import Terms
from autograph.backends.xla.optimize.unused import used_by, without_unused


def skip_rows(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program, its reads and writes of elements of rows those of the array."""
    rows = _Rows()
    for equation in program.jaxpr.eqns:
        rows.add(equation)
    return without_unused(jax_compat.with_equations(program, rows.equations)) if rows.has_skipped else program


def skip_rows_around(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program of a block of a conditional, also without rows that were read before it of arrays that it has."""
    earlier = Earlier(program)
    rows = earlier.rows()
    if not rows:
        return program
    skipped = skip_rows(earlier.program())
    kept = used_by(skipped).intersection(rows)
    return earlier.having(each for each in skipped.jaxpr.eqns if each.outvars[0] not in kept)


class _Rows:
    """A program's equations so far.

    Attributes: equations; has_skipped (whether any is another than was added).
    """

    def __init__(self) -> None:
        self.equations: list[Any] = []
        self.has_skipped = False
        self._places: dict[Any, int] = {}  # of the equation that makes a variable

    def add(self, equation: Any) -> None:
        name = jax_compat.name_of(equation)
        found = None
        if name == "dynamic_slice":
            found = self._read(equation)
        elif name == "scatter":
            found = self._written(equation)
        self.has_skipped = self.has_skipped or found is not None
        for each in [equation] if found is None else found:
            self._places.update(dict.fromkeys(each.outvars, len(self.equations)))
            self.equations.append(each)

    def _making(self, atom: Any, name: str) -> Any:
        """The equation that makes a value, if it is of this name."""
        place = None if is_literal(atom) else self._places.get(atom)
        equation = None if place is None else self.equations[place]
        return equation if equation is not None and jax_compat.name_of(equation) == name else None

    def _row(self, atom: Any) -> tuple[Any, Any] | None:
        """The equations by which a value is the rest of an array at indices of some of its axes: the slice, and the squeeze."""
        squeeze = self._making(atom, "squeeze")
        sliced = None if squeeze is None else self._making(squeeze.invars[0], "dynamic_slice")
        if sliced is None:
            return None
        axes = jax_compat.squeezed_axes(squeeze)
        sizes = zip(sliced.invars[0].aval.shape, sliced.outvars[0].aval.shape, strict=True)
        is_whole = all(after == (1 if axis in axes else before) for axis, (before, after) in enumerate(sizes))
        return (sliced, squeeze) if is_whole else None

    def _read(self, equation: Any) -> list[Any] | None:
        row = self._row(equation.invars[0])
        if row is None:
            return None
        sliced, squeeze = row
        axes = jax_compat.squeezed_axes(squeeze)
        array, *starts = sliced.invars
        inner, sizes = iter(equation.invars[1:]), iter(equation.outvars[0].aval.shape)
        starts = [start if axis in axes else next(inner) for axis, start in enumerate(starts)]
        if len({start.aval.dtype for start in starts}) > 1:
            return None
        shape = tuple(1 if axis in axes else next(sizes) for axis in range(len(starts)))
        block = jax_compat.variable(equation.outvars[0].aval.update(shape=shape))
        return [
            jax_compat.slice_like(sliced, array, starts, block),
            jax_compat.equation_like(squeeze, squeeze.primitive, squeeze.params, [block], equation.outvars),
        ]

    def _written(self, equation: Any) -> list[Any] | None:
        array, indices, new_row = equation.invars
        inner = self._making(new_row, "scatter")
        row = None if inner is None else self._row(inner.invars[0])
        if inner is None or row is None or row[0].invars[0] is not array:
            return None
        if not all(map(jax_compat.drops_out_of_range, (equation, inner))):
            return None
        window = jax_compat.scatter_window(equation)
        components = self._components(indices)
        axes = jax_compat.squeezed_axes(row[1])
        if window is None or jax_compat.scatter_window(inner) is None or components is None:
            return None
        if set(window[0]) != set(axes) or indices.aval.dtype != inner.invars[1].aval.dtype:
            return None
        starts = [row[0].invars[1 + axis] for axis in window[0]]
        if not all(map(self._are_equal, components, starts)):
            return None
        return jax_compat.scatter_within(equation, inner)

    def _components(self, vector: Any) -> list[Any] | None:
        """The numbers that a vector of indices is made of."""
        if (parts := self._making(vector, "concatenate")) is not None:
            found = [self._components(atom) for atom in parts.invars]
            return None if None in found else [each for some in found for each in some or ()]
        made = self._making(vector, "broadcast_in_dim") or self._making(vector, "reshape")
        return [made.invars[0]] if made is not None and made.invars[0].aval.shape == () else None

    def _are_equal(self, one: Any, other: Any) -> bool:
        """Whether two values are computed alike."""
        if one is other:
            return True
        atoms = [one, other]
        equations, given = self._computing(atoms)
        terms = Terms()
        operands = [terms.operand(k, var.aval) for k, var in enumerate(given)]
        first, second = terms.of(jax_compat.program_of(equations, given, atoms, {}), operands)
        return first == second

    def _computing(self, atoms: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The equations that compute some values, in order, and the variables that they need and do not compute."""
        places: set[int] = set()
        given: dict[Any, None] = {}
        pending = list(atoms)
        while pending:
            atom = pending.pop()
            place = None if is_literal(atom) else self._places.get(atom)
            if place is not None and place not in places:
                places.add(place)
                pending += self.equations[place].invars
            elif place is None and not is_literal(atom):
                given[atom] = None
        return [self.equations[place] for place in sorted(places)], list(given)
