"""Two writes to one place of an array become one, and what is read between them is read before.

In ``x[i] = a``, and then ``if …: x[i] = max(x[i], b)``, a read stands between two writes, and XLA copies the array in each iteration of
a loop. So the first write is left out where the second is at its index, or nowhere (see `writes`), and the second makes it where that
is nowhere. An element that was read between them is read before, and is what the first wrote if that was at its index.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import Branches, is_choice, with_branches
from autograph.backends.xla.jax_compat import ClosedJaxpr, is_literal
from autograph.backends.xla.optimize.terms import Terms
from autograph.backends.xla.optimize.unused import without_unused
from autograph.backends.xla.optimize.writes import are_alike, is_small_write
from autograph.backends.xla.parts import evaluate_equations
from autograph.backends.xla.tracing import trace


def merge_writes(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program with one write in place of two to the same place.

    >>> import jax, jax.numpy as jnp
    >>> def block(x, i):
    ...     x = x.at[i].set(1.0)
    ...     return x.at[i].set(x[i] + 2.0)
    >>> two = jax.make_jaxpr(block)(jnp.zeros(3), 1)
    >>> one = merge_writes(two)
    >>> [str(program).count("scatter[") for program in (two, one)]
    [2, 1]
    >>> jax_compat.replay(one, jnp.zeros(3), 1)
    [Array([0., 3., 0.], dtype=float32)]
    """
    while pairs := _pairs(program):
        program = _merged(program, pairs)
    return program


@dataclass(frozen=True)
class _Pair:
    """Two writes that can become one. ``is_sure``: whether the first is made in any case."""

    first: Any
    second: Any
    is_sure: bool


def _pairs(program: ClosedJaxpr) -> list[_Pair]:
    """Pairs of writes that can become one each, no write in two: of a chain of writes, half are left each time."""
    jaxpr = program.jaxpr
    made = {each.outvars[0]: each for each in jaxpr.eqns if jax_compat.name_of(each) == "scatter"}
    others = [each for each in made.values() if not is_literal(each.invars[0])]
    behind = [(made[each.invars[0]], each) for each in others if each.invars[0] in made]
    if not behind:
        return []
    readers: dict[Any, list[Any]] = {first.outvars[0]: [] for first, _ in behind}
    for equation in jaxpr.eqns:
        for atom in {id(atom): atom for atom in equation.invars if not is_literal(atom)}.values():
            if atom in readers:
                readers[atom].append(equation)
    results = {atom for atom in jaxpr.outvars if not is_literal(atom)}
    pairs = [
        (first, second)
        for first, second in behind
        if first.outvars[0] not in results and _may_merge(first, second, readers[first.outvars[0]])
    ]
    if not pairs:
        return []
    terms = Terms()
    values = terms.with_values(program, [terms.operand(k, var.aval) for k, var in enumerate(jaxpr.invars)])[1]
    found: list[_Pair] = []
    taken: set[int] = set()
    for first, second in pairs:
        places, others_places = (_places(terms, values[write.invars[1]]) for write in (first, second))
        if len(places | others_places) == 1 and taken.isdisjoint((id(first), id(second))):
            found.append(_Pair(first, second, places == {values[first.invars[1]]}))
            taken.update((id(first), id(second)))
    return found


def _may_merge(first: Any, second: Any, readers: Sequence[Any]) -> bool:
    """Whether one write follows another, and what the first makes of the array is read in elements at most."""
    (array,) = first.outvars
    if not is_small_write(first) or not is_small_write(second) or not are_alike(first, second):
        return False
    if any(map(is_literal, (first.invars[1], second.invars[1]))) or any(atom is array for atom in second.invars[1:]):
        return False
    window = jax_compat.scatter_window(first)
    reads = [each for each in readers if each is not second]
    if window is None or not reads:
        return window is not None
    axes, sizes = window
    is_element = set(sizes) == {1} and len(axes) == len(sizes)
    return is_element and _are_reads(reads, array, first.invars[1].aval.dtype)


def _are_reads(equations: Sequence[Any], array: Any, index: Any) -> bool:
    """Whether equations take of an array nothing but elements, at indices of this dtype."""

    def is_read(equation: Any) -> bool:
        places = [k for k, atom in enumerate(equation.invars) if atom is array]
        if not places:
            return True
        if jax_compat.name_of(equation) == "dynamic_slice":
            return equation.outvars[0].aval.size == 1 and all(
                start.aval.dtype == index for start in equation.invars[1:]
            )
        return is_choice(equation) and all(
            _gives_elements(branch.jaxpr, branch.jaxpr.invars[place - 1], index)
            for branch in jax_compat.branches(equation)
            for place in places
        )

    return all(map(is_read, equations))


def _gives_elements(jaxpr: Any, array: Any, index: Any) -> bool:
    """Whether a program takes of an array nothing but elements, at indices of this dtype."""
    return _are_reads(jaxpr.eqns, array, index) and all(atom is not array for atom in jaxpr.outvars)


def _places(terms: Terms, index: int) -> set[int]:
    """The indices that one may be, by the conditionals that choose it, apart from those beyond any array."""
    node = terms.nodes[index]
    if node.name == "select_n" and terms.nodes[node.parts[0]].shape == ():
        return set().union(*(_places(terms, case) for case in node.parts[1:]))
    is_nowhere = node.name == "constant" and np.all(np.frombuffer(node.detail, node.dtype) == np.iinfo(node.dtype).max)
    return set() if is_nowhere else {index}


def _merged(program: ClosedJaxpr, pairs: Sequence[_Pair]) -> ClosedJaxpr:
    """The program with the second write of each pair alone."""
    jaxpr = program.jaxpr
    firsts, seconds = ({id(getattr(pair, name)): pair for pair in pairs} for name in ("first", "second"))

    def run(*operands: Any) -> list[Any]:
        replay = _Replay({**jax_compat.constants_of(program), **dict(zip(jaxpr.invars, operands, strict=True))})
        for equation in jaxpr.eqns:
            if id(equation) in firsts:
                window = jax_compat.scatter_window(equation)
                assert window is not None
                array, index, value = replay.values(equation.invars)
                replay.writes[equation.outvars[0]] = _Write(array, index, value, window[0])
            elif (pair := seconds.get(id(equation))) is not None:
                write = replay.writes[equation.invars[0]]
                index, value = replay.values(equation.invars[1:])
                is_made = jax.lax.index_in_dim(index, 0, keepdims=False) < write.array.shape[write.axes[0]]
                index = write.index if pair.is_sure else jax.lax.select(is_made, index, write.index)
                value = jax.lax.select(is_made, value, write.value)
                made = equation.primitive.bind(write.array, index, value, **equation.params)
                replay.known[equation.outvars[0]] = made
            else:
                replay.evaluate(equation)
        return replay.values(jaxpr.outvars)

    return without_unused(trace(run, program.in_avals))


@dataclass(frozen=True)
class _Write:
    """A write that is not made: an array, and what is written to it, where. The numbers of an index are of these axes."""

    array: Any
    index: Any
    value: Any
    axes: tuple[int, ...]

    def element(self, read: Any, starts: Sequence[Any]) -> Any:
        """The element that a read has after this write."""
        before = read.primitive.bind(self.array, *starts, **read.params)
        hits = [
            jax.lax.index_in_dim(self.index, k, keepdims=False) == jnp.clip(starts[axis], 0, self.array.shape[axis] - 1)
            for k, axis in enumerate(self.axes)
        ]
        return jax.lax.select(functools.reduce(operator.and_, hits), jnp.reshape(self.value, before.shape), before)


class _Replay:
    """A program that is evaluated without writes: of an array that one makes, elements are read.

    Attributes: known (the values of variables), writes (what is not made, by the variables of the arrays).
    """

    def __init__(self, known: dict[Any, Any]) -> None:
        self.known = known
        self.writes: dict[Any, _Write] = {}
        self._pending: list[Any] = []  # equations that are evaluated in one go

    def values(self, atoms: Sequence[Any]) -> list[Any]:
        pending, self._pending = self._pending, []
        evaluate_equations(pending, self.known)
        return [jnp.asarray(atom.val, atom.aval.dtype) if is_literal(atom) else self.known[atom] for atom in atoms]

    def evaluate(self, equation: Any) -> None:
        taken = [atom for atom in equation.invars if not is_literal(atom) and atom in self.writes]
        if not taken:
            self._pending.append(equation)
        elif is_choice(equation):
            self._choose(equation, list(dict.fromkeys(taken)))
        else:
            (result,) = equation.outvars
            with jax_compat.at_source_of(equation):
                self.known[result] = self.writes[taken[0]].element(equation, self.values(equation.invars[1:]))

    def _choose(self, equation: Any, arrays: Sequence[Any]) -> None:
        """A conditional whose branches read elements of these arrays."""
        writes = [self.writes[array] for array in arrays]
        parts = [[jax_compat.variable(jax.typeof(part)) for part in (w.array, w.index, w.value)] for w in writes]
        for names, write in zip(parts, writes, strict=True):
            self.known.update(zip(names, (write.array, write.index, write.value), strict=True))
        kept = [k for k, atom in enumerate(equation.invars[1:]) if is_literal(atom) or atom not in arrays]
        operands = [*(equation.invars[1 + k] for k in kept), *(name for names in parts for name in names)]

        def branch(own: ClosedJaxpr) -> ClosedJaxpr:
            inner = own.jaxpr

            def run(*given: Any) -> list[Any]:
                replay = _Replay(dict(zip((inner.invars[k] for k in kept), given, strict=False)))
                pending = iter(given[len(kept) :])
                made = {
                    array: _Write(next(pending), next(pending), next(pending), w.axes)
                    for array, w in zip(arrays, writes, strict=True)
                }
                replay.writes.update(
                    {
                        var: made[atom]
                        for var, atom in zip(inner.invars, equation.invars[1:], strict=True)
                        if not is_literal(atom) and atom in made
                    }
                )
                for each in inner.eqns:
                    replay.evaluate(each)
                return replay.values(inner.outvars)

            return trace(run, [atom.aval for atom in operands])

        choice: Branches = equation.params["choice"]
        on_false, on_true = map(branch, choice.pair)
        tested = None if choice.tested is None else kept.index(choice.tested)
        chosen = Branches(on_false, on_true, stays=choice.stays, tested=tested)
        self._pending.append(with_branches(equation, chosen, [equation.invars[0], *operands], equation.outvars))
