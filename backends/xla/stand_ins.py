"""Stand-ins: the `jax.Ref`s that replace Variables while a program is recorded.

A stand-in has no buffer, which tells it from a user's Ref. A recorded program that reaches XLA with one fails loudly
instead of reading a stale value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from autograph.backends.base import LeafType
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind, is_literal
from autograph.backends.xla.leaf_types import zeros


def new_stand_in(type: LeafType, owner: Any) -> Any:
    """A new Ref of this type that represents ``owner``, a Variable."""
    ref = _ref_without_buffer(type)
    jax_compat.set_owner_of_ref(ref, owner)
    return ref


def _ref_without_buffer(type: LeafType) -> Any:
    is_number = not jax.numpy.issubdtype(type.dtype, jax.dtypes.extended)
    with jax_compat.outside_traces():
        if is_number and not type.weak_type:
            # By NumPy: `zeros` compiles a program for each shape, and the value is dropped.
            return jax_compat.ref_without_buffer(jax.device_put(np.zeros(type.shape, type.dtype)))
        ref = jax.new_ref(zeros(type))
    jax_compat.drop_buffer(ref)
    return ref


def is_stand_in(const: Any) -> bool:
    return jax_compat.is_ref_without_buffer(const)


def stand_ins(programs: Iterable[Any]) -> list[tuple[Any, bool]]:
    """The stand-ins among the constants of recorded programs, in order, and whether any program writes each."""
    found: dict[int, tuple[Any, bool]] = {}
    for program in programs:
        mine = {var: const for var, const in jax_compat.constants_of(program).items() if is_stand_in(const)}
        written = _written(program.jaxpr, set(mine)) if mine else set()
        for var, const in mine.items():
            _, before = found.get(id(const), (const, False))
            found[id(const)] = const, before or var in written
    return list(found.values())


def written_operands(equation: Any) -> set[int]:
    """The positions of the operands (Refs) that an equation writes."""
    refs = {k for k, atom in enumerate(equation.invars) if jax_compat.is_ref(atom.aval)}
    kind = jax_compat.kind(equation)
    if kind is Kind.READ:
        return set()
    if kind is Kind.COND:
        inner = {k - 1 for k in refs}
        return {k + 1 for branch in jax_compat.branches(equation) for k in _positions(branch.jaxpr, inner)}
    if kind is Kind.SCAN:
        return _positions(jax_compat.scan_of(equation).body.jaxpr, refs)
    if kind in (Kind.CALL, Kind.CHECKPOINT) and (program := jax_compat.called(equation.params)) is not None:
        return _positions(program.jaxpr, refs)
    if kind is Kind.WHILE:
        loop = jax_compat.while_of(equation)
        first, second = loop.test_consts, loop.body_consts
        in_test = _positions(loop.test.jaxpr, {k for k in refs if k < first})
        in_body = _positions(loop.body.jaxpr, {k - first for k in refs if first <= k < first + second})
        return in_test | {k + first for k in in_body}
    return refs


def _written(jaxpr: Any, variables: set[Any]) -> set[Any]:
    """Those of a jaxpr's inputs (Refs) that it writes."""
    found: set[Any] = set()
    for equation in jaxpr.eqns:
        if any(not is_literal(atom) and atom in variables for atom in equation.invars):
            found |= {equation.invars[k] for k in written_operands(equation)} & variables
    return found


def _positions(jaxpr: Any, refs: set[int]) -> set[int]:
    written = _written(jaxpr, {jaxpr.invars[k] for k in refs})
    return {k for k in refs if jaxpr.invars[k] in written}
