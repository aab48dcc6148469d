"""Describe a jaxpr as data for display: each equation with its source line, estimated cost and nested jaxprs."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterator, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from autograph.backends.described import Block, Cost, Operation, Position, Role
from autograph.backends.xla import ahead, jax_compat
from autograph.backends.xla.branches import is_select_on
from autograph.backends.xla.jax_compat import Kind
from autograph.backends.xla.recursion import RECURSION

_LONGEST_PARAMETER = 60
# What a loop of ours becomes where it is differentiated (see while_ad/).
_DIFFERENTIATED_LOOPS = MappingProxyType(
    {
        "while_recorded": "forward, keeping states for derivatives",
        "while_reversed": "backward, over the states that were kept",
    }
)
_ROLES = MappingProxyType({Kind.COND: Role.BRANCH, Kind.WHILE: Role.LOOP, Kind.SCAN: Role.LOOP})
# What moves, counts or makes values and computes nothing with them.
_WITHOUT_ARITHMETIC = frozenset(
    [
        "broadcast_in_dim",
        "concatenate",
        "convert_element_type",
        "copy",
        "dynamic_slice",
        "dynamic_update_slice",
        "expand_dims",
        "gather",
        "iota",
        "pad",
        "reshape",
        "rev",
        "scatter",
        "slice",
        "squeeze",
        "stop_gradient",
        "transpose",
    ]
)


def describe(jaxpr: Any) -> Block:
    """The whole of a program."""
    return _Describer().block("program", jaxpr)


def _names() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)


class _Describer:
    """Names variables as it meets them, each once in the whole program."""

    def __init__(self) -> None:
        self._fresh = _names()
        self._known: dict[Any, str] = {}
        self._platform = ahead.platform_here()

    def block(self, label: str, jaxpr: Any) -> Block:
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        head = " ".join(self._typed(variable) for variable in [*jaxpr.constvars, *jaxpr.invars])
        operations = tuple(map(self._operation, jaxpr.eqns))
        return Block(label, head, operations, " ".join(map(self._atom, jaxpr.outvars)))

    def _operation(self, equation: Any) -> Operation:
        kind, name = jax_compat.kind(equation), jax_compat.name_of(equation)
        blocks = tuple(self.block(label, program) for label, program in inner_blocks(kind, equation))
        role = _ROLES.get(kind, Role.CALL if blocks else Role.PLAIN)
        if name in _DIFFERENTIATED_LOOPS:
            role = Role.LOOP
        if jax_compat.is_select(equation):
            role = Role.SELECT
        parameters = " ".join(f"{key}={value}" for key, value in parameters_of(equation))
        results = " ".join(self._typed(variable) for variable in equation.outvars)
        operands = " ".join(map(self._atom, equation.invars))
        text = f"{results} = {name}{f'[{parameters}]' if parameters else ''} {operands}"
        types, trips = _results(kind, equation)
        note = _DIFFERENTIATED_LOOPS.get(name, "")
        scope = jax_compat.name_scopes(equation).rpartition("/")[2]
        if role is Role.LOOP and scope.startswith(RECURSION):
            note = "; ".join(filter(None, [note, f"the calls of {scope.removeprefix(RECURSION)}"]))
        both = kind is Kind.COND and is_select_on(self._platform, equation.params)
        return Operation(
            name, text, position(equation), role, _cost(equation, bool(blocks)), blocks, types, trips, both, note
        )

    def _atom(self, atom: Any) -> str:
        if jax_compat.is_literal(atom):
            return literal_text(atom.val)
        if atom not in self._known:
            self._known[atom] = next(self._fresh)
        return self._known[atom]

    def _typed(self, variable: Any) -> str:
        return "_" if jax_compat.is_dropped(variable) else f"{self._atom(variable)}:{_type(variable.aval)}"


def position(equation: Any) -> Position | None:
    """The user's line that an equation comes from."""
    found = jax_compat.source_position(equation)
    return None if found is None else Position(*found)


def inner_blocks(kind: Kind, equation: Any) -> list[tuple[str, Any]]:
    """The programs that an equation holds, each with what it is to the equation."""
    if hasattr(program := equation.params.get("program"), "body"):
        return [("test", program.test), ("body", program.body)]
    if kind is Kind.WHILE:
        loop = jax_compat.while_of(equation)
        return [("test", loop.test), ("body", loop.body)]
    if kind is Kind.SCAN:
        return [("body", jax_compat.scan_of(equation).body)]
    if kind is Kind.COND:
        branches = jax_compat.branches(equation)
        if len(branches) == 2:
            return [("if true", branches[1]), ("if false", branches[0])]
        return [(f"case {k}", branch) for k, branch in enumerate(branches)]
    called = jax_compat.called(equation.params)
    if called is not None:
        return [(jax_compat.function_name(equation) or "call", called)]
    return [("program", program) for program in jax_compat.inner_programs(equation)]


def _results(kind: Kind, equation: Any) -> tuple[tuple[str, ...], int | None]:
    """The types of the results, of a loop those of what it carries and of what it puts together row by row, and how often it runs, if
    that is known."""
    results = [_type(variable.aval) for variable in equation.outvars]
    if kind is Kind.SCAN:
        return tuple(results), jax_compat.scan_of(equation).options["length"]
    return tuple(results), None


def literal_text(value: Any) -> str:
    """A constant in the text of a program: JAX has integers of classes of its own."""
    return str(np.asarray(value)) if isinstance(value, int | float | np.generic) else str(value)


def parameters_of(equation: Any) -> Iterator[tuple[str, str]]:
    """An equation's parameters that can be shown in a line."""
    for key, value in equation.params.items():
        if isinstance(value, bool | int | float | str | np.dtype | Enum) or (
            isinstance(value, tuple) and value and all(isinstance(each, int | str) for each in value)
        ):
            text = str(value)
            if len(text) <= _LONGEST_PARAMETER:
                yield key, text


def _cost(equation: Any, holds_programs: bool) -> Cost:
    if holds_programs:
        return Cost()
    results = sum(_size(variable.aval) for variable in equation.outvars)
    written = sum(_bytes(variable.aval) for variable in equation.outvars)
    moved = sum(_bytes(atom.aval) for atom in equation.invars) + written
    products = jax_compat.multiply_adds(equation)
    name = jax_compat.name_of(equation)
    if products is not None:
        return Cost(2 * products, moved, written)
    if name in _WITHOUT_ARITHMETIC:
        return Cost(0, moved, written)
    if name.startswith(("reduce_", "arg", "cum")):
        return Cost(sum(_size(atom.aval) for atom in equation.invars), moved, written)
    return Cost(results, moved, written)


def _type(aval: Any) -> str:
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return str(aval)
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


def _size(aval: Any) -> int:
    """How many elements; one for each size that is known only at run time."""
    shape: Sequence[Any] = getattr(aval, "shape", ())
    return math.prod(size if isinstance(size, int) else 1 for size in shape)


def _bytes(aval: Any) -> int:
    return _size(aval) * int(getattr(getattr(aval, "dtype", None), "itemsize", 0))
