"""Programs as terms: what is computed, written so that equal computations are one term.

A term represents a value of a program's operands. Terms are numbers, and two that were made alike are the same number; a few
laws are applied as they are made (a select by a known predicate, ``and`` with false, a sum with the integer zero), so that a program on
partly known operands comes down to what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind, is_literal


@dataclass(frozen=True)
class Node:
    """What a term is: an operation on others, ``("operand", k)`` or ``("constant", value)``, of a shape and a dtype."""

    name: str
    detail: Any
    parts: tuple[int, ...]
    shape: tuple[Any, ...]
    dtype: Any


class Terms:
    """The terms of programs on the same operands.

    Attributes:
      nodes: what each term is.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._known: dict[int, int] = {}

    def operand(self, k: int, aval: Any) -> int:
        return self._made(Node("operand", k, (), aval.shape, aval.dtype))

    def constant(self, value: Any, shape: tuple[Any, ...], dtype: Any) -> int:
        """The value, a single number, everywhere in an array of this shape."""
        return self._made(Node("constant", np.asarray(value, dtype).tobytes(), (), shape, np.dtype(dtype)))

    def truth(self, term: int) -> bool | None:
        """True or false if a term of truth values is that everywhere; None if that is not known."""
        node = self.nodes[term]
        if node.name != "constant" or node.dtype != np.bool_:
            return None
        return bool(np.frombuffer(node.detail, np.bool_)[0])

    def assuming(self, truths: Mapping[int, bool]) -> Terms:
        """Terms of the same numbers, to which more can be added as if these were true, or false, everywhere."""
        made = self.assuming_nothing()
        made._known = dict(self._known)
        for term, truth in truths.items():
            made._known[term] = made.constant(truth, self.nodes[term].shape, np.bool_)
        return made

    def assuming_nothing(self) -> Terms:
        """Terms of the same numbers, to which more can be added as they are."""
        made = Terms()
        made.nodes, made._numbers = list(self.nodes), dict(self._numbers)
        return made

    def of(self, program: Any, operands: Sequence[int]) -> list[int]:
        """The results of a program, closed over nothing but constants."""
        return self.with_values(program, operands)[0]

    def with_values(self, program: Any, operands: Sequence[int]) -> tuple[list[int], dict[Any, int]]:
        """The results of a program, and what each of its variables is."""
        jaxpr = program.jaxpr
        values = dict(zip(jaxpr.invars, map(self._as_known, operands), strict=True))
        for variable, const in jax_compat.constants_of(program).items():
            values[variable] = self._made(
                Node("constant of the program", id(const), (), variable.aval.shape, variable.aval.dtype)
            )

        def term(atom: Any) -> int:
            if not is_literal(atom):
                return values[atom]
            value = np.asarray(atom.val)
            if value.size == 1:
                return self.constant(value.reshape(()), atom.aval.shape, atom.aval.dtype)
            return self._made(Node("constant of the program", id(atom.val), (), atom.aval.shape, atom.aval.dtype))

        for equation in jaxpr.eqns:
            results = self._equation(equation, [term(atom) for atom in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
        return [term(atom) for atom in jaxpr.outvars], values

    def substituted(self, term: int, others: Mapping[int, int]) -> int:
        """A term with some operands replaced."""
        done = dict(others)

        def replaced(each: int) -> int:
            if each not in done:
                node = self.nodes[each]
                parts = tuple(map(replaced, node.parts))
                done[each] = each if parts == node.parts else self._simplified(Node(**{**vars(node), "parts": parts}))
            return done[each]

        return replaced(term)

    def operands_in(self, term: int) -> set[int]:
        """Which operands a term depends on, by their numbers."""
        return {self.nodes[each].detail for each in self.within(term) if self.nodes[each].name == "operand"}

    def within(self, term: int) -> set[int]:
        """The terms that a term is computed from, itself among them."""
        pending, seen = [term], set()
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending += self.nodes[each].parts
        return seen

    def _equation(self, equation: Any, parts: list[int]) -> list[int]:
        kind = jax_compat.kind(equation)
        if kind in (Kind.CALL, Kind.RULED) and not equation.effects:
            program = jax_compat.called(equation.params)
            if program is not None and len(program.jaxpr.invars) == len(parts):
                return self.of(program, parts)
        if kind is Kind.COND and not equation.effects:
            chosen = self._chosen(equation, parts)
            if chosen is not None:
                return chosen
        name = jax_compat.name_of(equation)
        detail = tuple(sorted((key, _hashable(value)) for key, value in equation.params.items()))
        return [
            self._simplified(Node(name, (k, detail), tuple(parts), variable.aval.shape, variable.aval.dtype))
            for k, variable in enumerate(equation.outvars)
        ]

    def _chosen(self, equation: Any, parts: list[int]) -> list[int] | None:
        """A conditional of truth values, as a select of what its branches return."""
        branches = jax_compat.branches(equation)
        predicate = self.nodes[parts[0]]
        if len(branches) != 2 or predicate.shape != () or predicate.dtype != np.bool_:
            return None
        sides = [self.of(branch, parts[1:]) for branch in branches]
        return [
            self._simplified(Node("select_n", _PLAIN, (parts[0], a, b), variable.aval.shape, variable.aval.dtype))
            for a, b, variable in zip(*sides, equation.outvars, strict=True)
        ]

    def _as_known(self, term: int) -> int:
        return self._known.get(term, term)

    def _made(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return self._as_known(number)

    def _simplified(self, node: Node) -> int:
        law = _LAWS.get(node.name)
        found = None if law is None else law(self, node)
        return self._made(node) if found is None else found

    def _alike(self, term: int, node: Node) -> int | None:
        """A term as the value of a node, if it has the node's type."""
        own = self.nodes[term]
        return term if own.shape == node.shape and own.dtype == node.dtype else None

    def _select(self, node: Node) -> int | None:
        predicate, *cases = node.parts
        truth = self.truth(predicate)
        if truth is not None and len(cases) == 2:
            return self._alike(cases[truth], node)
        if all(case == cases[0] for case in cases):
            return self._alike(cases[0], node)
        asked = self.nodes[predicate]
        if node.dtype != np.bool_ or len(cases) != 2 or asked.dtype != np.bool_ or asked.shape != node.shape:
            return None
        if self.truth(cases[0]) is False:
            return self._simplified(Node("and", _PLAIN, (predicate, cases[1]), node.shape, node.dtype))
        if self.truth(cases[1]) is True:
            return self._simplified(Node("or", _PLAIN, (predicate, cases[0]), node.shape, node.dtype))
        opposite = self._simplified(Node("not", _PLAIN, (predicate,), node.shape, node.dtype))
        if self.truth(cases[1]) is False:
            return self._simplified(Node("and", _PLAIN, (opposite, cases[0]), node.shape, node.dtype))
        if self.truth(cases[0]) is True:
            return self._simplified(Node("or", _PLAIN, (opposite, cases[1]), node.shape, node.dtype))
        return None

    def _and(self, node: Node) -> int | None:
        return self._of_truths(node, neutral=True)

    def _or(self, node: Node) -> int | None:
        return self._of_truths(node, neutral=False)

    def _of_truths(self, node: Node, neutral: bool) -> int | None:
        if node.dtype != np.bool_:
            return None
        for k, part in enumerate(node.parts):
            truth = self.truth(part)
            if truth is neutral:
                return self._alike(node.parts[1 - k], node)
            if truth is not None:
                return self.constant(truth, node.shape, np.bool_)
        return None

    def _not(self, node: Node) -> int | None:
        (part,) = node.parts
        truth = self.truth(part)
        if truth is not None:
            return self.constant(not truth, node.shape, np.bool_)
        inner = self.nodes[part]
        return inner.parts[0] if inner.name == "not" else None

    def _convert(self, node: Node) -> int | None:
        (part,) = node.parts
        if self._alike(part, node) is not None:
            return part
        truth = self.truth(part)
        return None if truth is None else self.constant(truth, node.shape, node.dtype)

    def _broadcast(self, node: Node) -> int | None:
        inner = self.nodes[node.parts[0]]
        if len(node.parts) == 1 and inner.name == "constant":
            return self._made(Node("constant", inner.detail, (), node.shape, node.dtype))
        return None

    def _sum(self, node: Node) -> int | None:
        for k, part in enumerate(node.parts):
            if jnp.issubdtype(node.dtype, jnp.integer) and self._is_zero(part):
                return self._alike(node.parts[1 - k], node)
        return None

    def _difference(self, node: Node) -> int | None:
        a, b = node.parts
        return self._alike(a, node) if jnp.issubdtype(node.dtype, jnp.integer) and self._is_zero(b) else None

    def _is_zero(self, term: int) -> bool:
        node = self.nodes[term]
        return node.name == "constant" and not any(node.detail)

    def _same(self, node: Node) -> int | None:
        return self._alike(node.parts[0], node)


_PLAIN = (0, ())  # the detail of an operation without parameters
_LAWS: Mapping[str, Callable[[Terms, Node], int | None]] = MappingProxyType(
    {
        "select_n": Terms._select,
        "and": Terms._and,
        "or": Terms._or,
        "not": Terms._not,
        "convert_element_type": Terms._convert,
        "broadcast_in_dim": Terms._broadcast,
        "add": Terms._sum,
        "sub": Terms._difference,
        "copy": Terms._same,
        "stop_gradient": Terms._same,
    }
)


def _hashable(value: Any) -> Any:
    """A parameter of an operation as it can be compared; one that cannot is like no other."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
