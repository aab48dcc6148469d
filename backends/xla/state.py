"""State in staged programs: a `jax.Ref` stands for each Variable while a program is recorded, and is a plain
value once it is emitted.

JAX orders reads and writes of a Ref through every statement. But under ``vmap``, forward differentiation and in the
test of a ``while_loop`` Refs are refused or stale, so no program leaves here with one: `evaluate` runs a recorded
program with the Refs among its constants replaced by values, which it hands through ``cond``, ``scan`` and
``while`` as ordinary operands and results.

The stand-ins have no buffer. A recorded program that reaches XLA with one fails loudly instead of reading a stale
value.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
from jax.extend.core import (
    DropVar,
    Literal,
    jaxpr_as_fun,
)

from autograph.backends.base import LeafType, LoopSpec, Output, Traced
from autograph.backends.xla.dependence import scan_counts
from autograph.backends.xla.leaf_types import as_struct
from autograph.backends.xla.parts import evaluate_equations, part

_STAND_INS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class Cell:
    """Holds what a stand-in's variable is worth at this point of a program."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def register_stand_in(ref: Any) -> None:
    """From now on ``ref`` stands for a Variable."""
    _STAND_INS[id(ref)] = ref


def stand_ins(programs: Iterable[Any]) -> list[tuple[Any, bool]]:
    """The stand-ins among the constants of recorded programs, in order, and whether any program writes each."""
    found: dict[int, tuple[Any, bool]] = {}
    for program in programs:
        mine = {
            var: const
            for var, const in zip(program.jaxpr.constvars, program.consts, strict=True)
            if _is_stand_in(const)
        }
        written = _written(program.jaxpr, set(mine)) if mine else set()
        for var, const in mine.items():
            _, before = found.get(id(const), (const, False))
            found[id(const)] = const, before or var in written
    return list(found.values())


def _is_stand_in(const: Any) -> bool:
    return _STAND_INS.get(id(const)) is const


# Staged statements.


def staged_cond(
    emit: Callable[[Any, Any, Any], list[Any]],
    predicate: Any,
    branches: Sequence[tuple[Traced, Sequence[Any]]],
    types: Sequence[LeafType],
) -> list[Any]:
    """Emit a conditional whose branches may touch state: what they write comes out as further results."""
    touched = stand_ins(traced.program for traced, _ in branches)
    if not touched:
        return emit(predicate, branches, types)
    refs = [ref for ref, _ in touched]
    written = [ref for ref, is_written in touched if is_written]
    start = [ref[...] for ref in refs]
    state_types = [_type(ref) for ref in written]

    def pure(traced: Traced, leaves: Sequence[Any]) -> tuple[Traced, Sequence[Any]]:
        def run() -> list[Any]:
            cells = {id(ref): Cell(value) for ref, value in zip(refs, start, strict=True)}
            return [*evaluate(traced.program, (), cells), *(cells[id(ref)].value for ref in written)]

        program = jax.make_jaxpr(run)()
        before = len(traced.program.jaxpr.outvars)
        state = [Output(before + k, type) for k, type in enumerate(state_types)]
        return Traced(program, (*traced.leaves, *state)), [*leaves, *state]

    values = emit(predicate, [pure(*branch) for branch in branches], [*types, *state_types])
    for ref, value in zip(written, values[len(types) :], strict=True):
        ref[...] = value
    return values[: len(types)]


def staged_loop(emit: Callable[[LoopSpec], list[Any]], spec: LoopSpec) -> list[Any]:
    """Emit a loop whose body and test may touch state: the state is carried."""
    touched = stand_ins([spec.body.program] + ([spec.test.program] if spec.test is not None else []))
    if not touched:
        return emit(spec)
    refs = [ref for ref, _ in touched]
    written = [ref for ref, is_written in touched if is_written]
    types = [_type(ref) for ref in refs]
    head, count = spec.inputs, len(refs)
    outputs = len(spec.body.program.jaxpr.outvars)
    positions = {id(ref): Output(outputs + k, _type(ref)) for k, ref in enumerate(written)}

    def pure(traced: Traced, results: Sequence[Any]) -> Traced:
        def run(*operands: Any) -> list[Any]:
            state = operands[head : head + count]
            cells = {id(ref): Cell(value) for ref, value in zip(refs, state, strict=True)}
            values = evaluate(traced.program, [*operands[:head], *operands[head + count :]], cells)
            return [*values, *(cells[id(ref)].value for ref in results)]

        taken = [_leaf_type(aval) for aval in traced.program.in_avals]
        program = jax.make_jaxpr(run)(*map(as_struct, [*taken[:head], *types, *taken[head:]]))
        return Traced(program, (*traced.leaves, *(positions[id(ref)] for ref in results)))

    carried = [(ref[...], type) for ref, type in zip(refs, types, strict=True)]
    lifted = dataclasses.replace(
        spec,
        body=pure(spec.body, written),
        test=None if spec.test is None else pure(spec.test, ()),
        carry=[*spec.carry[:head], *carried, *spec.carry[head:]],
        inputs=head + count,
        results=[*spec.results[:head], *(positions.get(id(ref)) for ref in refs), *spec.results[head:]],
    )
    values = emit(lifted)
    for ref, value in zip(refs, values[head : head + count], strict=True):
        if id(ref) in positions:
            ref[...] = value
    return [*values[:head], *values[head + count :]]


def _type(ref: Any) -> LeafType:
    return LeafType(tuple(ref.shape), ref.dtype)


def _leaf_type(aval: Any) -> LeafType:
    return LeafType(tuple(aval.shape), aval.dtype, bool(getattr(aval, "weak_type", False)))


# Evaluation.


def evaluate(program: Any, operands: Sequence[Any], cells: dict[int, Cell]) -> list[Any]:
    """Run a recorded program, with a cell in the place of each stand-in (by its id) among its constants."""
    if not any(_is_stand_in(const) for const in program.consts):
        return jaxpr_as_fun(program)(*operands)
    consts = [cells[id(const)] if _is_stand_in(const) else const for const in program.consts]
    return _evaluate(program.jaxpr, consts, operands)


def _evaluate(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr some of whose inputs are cells; those are written in place."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    stateless: list[Any] = []

    def flush() -> None:
        if stateless:
            evaluate_equations(stateless, known)
            stateless.clear()

    for equation in jaxpr.eqns:
        atoms = equation.invars
        if not any(not isinstance(atom, Literal) and isinstance(known.get(atom), Cell) for atom in atoms):
            stateless.append(equation)
            continue
        flush()
        results = _RULES.get(equation.primitive.name, _natively)(equation, [value(atom) for atom in atoms])
        known.update(zip(equation.outvars, results, strict=True))
    flush()
    return [value(atom) for atom in jaxpr.outvars]


def _get(equation: Any, operands: Sequence[Any]) -> list[Any]:
    if len(operands) != 1:
        return _natively(equation, operands)
    return [operands[0].value]


def _swap(equation: Any, operands: Sequence[Any]) -> list[Any]:
    if len(operands) != 2:
        return _natively(equation, operands)
    cell, new = operands
    old, cell.value = cell.value, new
    return [old]


def _cond(equation: Any, operands: Sequence[Any]) -> list[Any]:
    index, *rest = operands
    cells, written = _cells_of(equation, operands)

    def branch(closed: Any) -> Callable[[], Any]:
        def run() -> Any:
            copies = _copies(cells)
            outputs = _evaluate(closed.jaxpr, closed.consts, _with(rest, copies))
            return outputs, [copies[id(cell)].value for cell in written]

        return run

    branches = [branch(closed) for closed in equation.params["branches"]]
    if len(branches) == 2:
        outputs, state = jax.lax.cond(index != 0, branches[1], branches[0])
    else:
        outputs, state = jax.lax.switch(index, branches)
    return _settle(written, state, outputs)


def _scan(equation: Any, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    count, carried = scan_counts(equation)
    consts, init, arrays = operands[:count], operands[count : count + carried], operands[count + carried :]
    cells, written = _cells_of(equation, operands)
    closed = params["jaxpr"]

    def body(carry: Any, slices: Any) -> Any:
        values, state = carry
        copies = _copies(cells)
        for cell, new in zip(written, state, strict=True):
            copies[id(cell)].value = new
        outputs = _evaluate(closed.jaxpr, closed.consts, [*_with(consts, copies), *values, *slices])
        return (outputs[:carried], [copies[id(cell)].value for cell in written]), outputs[carried:]

    (last, state), stacked = jax.lax.scan(
        body,
        (list(init), [cell.value for cell in written]),
        list(arrays),
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return _settle(written, state, [*last, *stacked])


def _while(equation: Any, operands: Sequence[Any]) -> list[Any]:
    params = equation.params
    first, second = params["cond_nconsts"], params["body_nconsts"]
    test_consts, body_consts = operands[:first], operands[first : first + second]
    init = operands[first + second :]
    cells, written = _cells_of(equation, operands)
    test, body = params["cond_jaxpr"], params["body_jaxpr"]

    def copies_at(state: Sequence[Any]) -> dict[int, Cell]:
        copies = _copies(cells)
        for cell, new in zip(written, state, strict=True):
            copies[id(cell)].value = new
        return copies

    def goes_on(carry: Any) -> Any:
        values, state = carry
        return _evaluate(test.jaxpr, test.consts, [*_with(test_consts, copies_at(state)), *values])[0]

    def step(carry: Any) -> Any:
        values, state = carry
        copies = copies_at(state)
        outputs = _evaluate(body.jaxpr, body.consts, [*_with(body_consts, copies), *values])
        return outputs, [copies[id(cell)].value for cell in written]

    last, state = jax.lax.while_loop(goes_on, step, (list(init), [cell.value for cell in written]))
    return _settle(written, state, last)


def _inline(equation: Any, operands: Sequence[Any]) -> list[Any]:
    closed = _inner(equation)
    return _evaluate(closed.jaxpr, closed.consts, operands)


def _checkpoint(equation: Any, operands: Sequence[Any]) -> list[Any]:
    cells, written = _cells_of(equation, operands)
    jaxpr = equation.params["jaxpr"]

    def run(state: Sequence[Any], rest: Sequence[Any]) -> Any:
        copies = _copies(cells)
        for cell, new in zip(cells, state, strict=True):
            copies[id(cell)].value = new
        pending = iter(rest)
        filled = [copies[id(o)] if isinstance(o, Cell) else next(pending) for o in operands]
        return _evaluate(jaxpr, (), filled), [copies[id(cell)].value for cell in written]

    options = {key: equation.params[key] for key in ("prevent_cse", "policy") if key in equation.params}
    plain = [operand for operand in operands if not isinstance(operand, Cell)]
    outputs, state = jax.checkpoint(run, **options)([cell.value for cell in cells], plain)
    return _settle(written, state, outputs)


def _natively(equation: Any, operands: Sequence[Any]) -> list[Any]:
    """A statement with no rule here meets a Ref after all, one that lives for this statement only."""
    refs = {id(operand): jax.new_ref(operand.value) for operand in operands if isinstance(operand, Cell)}
    known = {
        atom: refs.get(id(operand), operand)
        for atom, operand in zip(equation.invars, operands, strict=True)
        if not isinstance(atom, Literal)
    }
    names = list(known)
    given = [var for var in equation.outvars if not isinstance(var, DropVar)]
    own = part((), names, given, [equation])
    known.update(zip(given, jax.core.eval_jaxpr(own, (), *(known[name] for name in names)), strict=True))
    for operand in operands:
        if id(operand) in refs and isinstance(operand, Cell):
            operand.value = jax.freeze(refs.pop(id(operand)))
    return [known.get(var) for var in equation.outvars]


_RULES: dict[str, Callable[[Any, Sequence[Any]], list[Any]]] = {
    "get": _get,
    "swap": _swap,
    "cond": _cond,
    "scan": _scan,
    "while": _while,
    "jit": _inline,
    "pjit": _inline,
    "closed_call": _inline,
    "eval_jaxpr": _inline,
    "checkpoint": _checkpoint,
    "remat2": _checkpoint,
}


def _inner(equation: Any) -> Any:
    return equation.params["jaxpr"] if "jaxpr" in equation.params else equation.params["call_jaxpr"]


def _cells_of(equation: Any, operands: Sequence[Any]) -> tuple[list[Cell], list[Cell]]:
    """The cells among an equation's operands, and those of them that it writes."""
    cells = {id(operand): operand for operand in operands if isinstance(operand, Cell)}
    written = _written_operands(equation)
    return list(cells.values()), list(
        {id(operands[k]): operands[k] for k in sorted(written) if isinstance(operands[k], Cell)}.values()
    )


def _copies(cells: Sequence[Cell]) -> dict[int, Cell]:
    return {id(cell): Cell(cell.value) for cell in cells}


def _with(operands: Sequence[Any], copies: dict[int, Cell]) -> list[Any]:
    return [copies[id(operand)] if isinstance(operand, Cell) else operand for operand in operands]


def _settle(written: Sequence[Cell], state: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    for cell, value in zip(written, state, strict=True):
        cell.value = value
    return list(outputs)


# Which state a program writes.


def _written(jaxpr: Any, variables: set[Any]) -> set[Any]:
    """Those of a jaxpr's inputs (Refs) that it writes."""
    found: set[Any] = set()
    for equation in jaxpr.eqns:
        if any(not isinstance(atom, Literal) and atom in variables for atom in equation.invars):
            found |= {equation.invars[k] for k in _written_operands(equation)} & variables
    return found


def _written_operands(equation: Any) -> set[int]:
    """The positions of the operands (Refs) that an equation writes."""
    name, params = equation.primitive.name, equation.params
    refs = {k for k, atom in enumerate(equation.invars) if "Ref" in type(atom.aval).__name__}
    if name == "get":
        return set()
    if name == "cond":
        return {
            k + 1
            for closed in params["branches"]
            for k in _positions(closed.jaxpr, {position - 1 for position in refs})
        }
    if name in ("scan", "jit", "pjit", "closed_call", "eval_jaxpr"):
        return _positions(_inner(equation).jaxpr, refs)
    if name in ("checkpoint", "remat2"):
        return _positions(params["jaxpr"], refs)
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        in_test = _positions(params["cond_jaxpr"].jaxpr, {k for k in refs if k < first})
        in_body = _positions(params["body_jaxpr"].jaxpr, {k - first for k in refs if first <= k < first + second})
        return in_test | {k + first for k in in_body}
    return refs


def _positions(jaxpr: Any, refs: set[int]) -> set[int]:
    written = _written(jaxpr, {jaxpr.invars[k] for k in refs})
    return {k for k in refs if jaxpr.invars[k] in written}
