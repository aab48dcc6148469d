"""The data structures of staged statements that the passes of `optimize` transform."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from autograph.backends.base import LeafType, LoopSpec, Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, replay
from autograph.backends.xla.leaf_types import cast, type_of_aval
from autograph.backends.xla.parts import needed_for
from autograph.backends.xla.tracing import Composed, trace


@dataclass(frozen=True)
class Conditional:
    """A conditional of two blocks, and the types of its results.

    Attributes:
      branches: of a true and of a false predicate; each block with those of its leaves that are results.
    """

    predicate: Any
    branches: Sequence[tuple[Traced, Sequence[Any]]]
    types: Sequence[LeafType]

    def block(self, which: int) -> Replayed:
        """A branch as a function of nothing."""
        traced, leaves = self.branches[which]
        return Replayed(traced.program, (), leaves, self.types)


@dataclass(frozen=True)
class Row:
    """An array of a loop's carry that goes by rows: the body takes none of it but slices, and its result is a row.

    ``put`` makes the array after the loop of all rows, in the order of the iterations.
    """

    position: int
    put: Callable[[Any], Any]


@dataclass(frozen=True)
class Loop:
    """A loop, and how it is to be carried out.

    Attributes:
      order: positions of the carry that changes, in the order in which XLA carries it.
      counter: start and step of the item that the body takes instead of the index; None if it takes the index.
      rows: arrays that change, and are not in ``order``.
      is_mapped: whether no iteration reads what another computes, and all are to be taken at once (see `optimize.mapped`).
    """

    spec: LoopSpec
    order: tuple[int, ...]
    counter: tuple[Any, Any] | None = None
    rows: tuple[Row, ...] = ()
    is_mapped: bool = False

    @property
    def is_scan(self) -> bool:
        """Whether it becomes a `jax.lax.scan`, as it runs a known number of times."""
        spec = self.spec
        is_counted = spec.test is None and isinstance(spec.length, int) and spec.checkpoints is None
        # JAX's own scan would check what our blocks do not say: along which axes of a mesh values vary.
        return is_counted and not jax_compat.checks_varying()


@dataclass(frozen=True)
class Given:
    """An operand of a program that is one of a function's, by number."""

    number: int


class Replayed(Composed):
    """A program as a function of a list of arrays: its operands are items of that (`Given`) or values around it.

    Its results are ``leaves`` of a block that the program computes, cast to ``types``.
    """

    def __init__(
        self, program: ClosedJaxpr, operands: Sequence[Any], leaves: Sequence[Any], types: Sequence[LeafType]
    ) -> None:
        self._program, self._operands = program, operands
        self._leaves, self._types = leaves, types

    def __call__(self, given: Sequence[Any] = ()) -> Any:
        return self.listed(*given)

    def listed(self, *given: Any) -> list[Any]:
        operands = [given[each.number] if isinstance(each, Given) else each for each in self._operands]
        return values_of(self._leaves, replay(self._program, *operands), self._types)

    def program_of(self, avals: Sequence[Any]) -> ClosedJaxpr | None:
        """None if something has to be cast, or what it reads is no array."""
        if self._program.effects:
            return None
        jaxpr, around = self._program.jaxpr, _Around(jax_compat.constants_of(self._program))
        invars = list(map(jax_compat.variable, avals))
        unknown = set()
        for variable, operand in zip(jaxpr.invars, self._operands, strict=True):
            if isinstance(operand, Given):
                if variable.aval != avals[operand.number]:
                    return None
                invars[operand.number] = variable
            elif not around.take(variable, operand):
                unknown.add(variable)
        outvars = []
        for leaf, type in zip(self._leaves, self._types, strict=True):
            atom = jaxpr.outvars[leaf.index] if isinstance(leaf, Output) else around.atom(leaf, type)
            if atom is None or type_of_aval(atom.aval) != type:
                return None
            outvars.append(atom)
        equations, needed = needed_for(jaxpr.eqns, outvars)
        if not unknown.isdisjoint(needed):
            return None
        return jax_compat.program_of(equations, invars, outvars, around.only(needed))


class Tested(Replayed):
    """The same with one result, which it returns by itself."""

    def __call__(self, given: Sequence[Any] = ()) -> Any:
        return self.listed(*given)[0]


class _Around:
    """The values that a program is closed over, by its variables for them."""

    def __init__(self, values: dict[Any, Any]) -> None:
        self._values = values
        self._variables = {id(value): variable for variable, value in values.items()}

    def take(self, variable: Any, value: Any) -> bool:
        """Let a variable represent a value; whether it may."""
        if not isinstance(value, jax.Array) or id(value) in self._variables or jax.typeof(value) != variable.aval:
            return False
        self._values[variable] = value
        self._variables[id(value)] = variable
        return True

    def atom(self, value: Any, type: LeafType) -> Any:
        """What represents a value in a program; None if that takes operations."""
        if isinstance(value, jax.Array):
            if id(value) not in self._variables:
                self.take(jax_compat.variable(jax.typeof(value)), value)
            return self._variables[id(value)]
        return _literal(value, type) if type.sharding is None and not type.varying else None

    def only(self, needed: set[Any]) -> dict[Any, Any]:
        """The values of those variables."""
        return {variable: value for variable, value in self._values.items() if variable in needed}


def _literal(value: Any, type: LeafType) -> Any:
    """A Python number as a constant in the text of a program; None for anything else."""
    if type.shape or value.__class__ not in (bool, int, float, complex):
        return None
    kind: Any = value.__class__
    atom = _known_literal(kind, repr(value), type)
    return atom and jax_compat.literal(atom.val, atom.aval)  # a new one: its value may be replaced


@functools.lru_cache(1024)
def _known_literal(kind: Callable[[str], Any], text: str, type: LeafType) -> Any:
    value = text == "True" if kind is bool else kind(text)
    program = trace(lambda: [cast(value, type)], ())
    (atom,) = program.jaxpr.outvars
    return atom if jax_compat.is_literal(atom) else None


def values_of(leaves: Sequence[Any], outputs: Sequence[Any], types: Sequence[LeafType]) -> list[Any]:
    """The leaves of a block, of which ``outputs`` are what its program has computed, cast to their types."""
    return [
        cast(outputs[leaf.index] if isinstance(leaf, Output) else leaf, type)
        for leaf, type in zip(leaves, types, strict=True)
    ]
