"""An interpreter that turns recorded programs with state and exceptions into pure functions.

While a program is recorded a Ref represents each Variable (see `stand_ins`), which JAX orders reads and writes of,
and an exception is the operation ``raise_if`` (see `raising`). XLA has neither: under ``vmap``, forward
differentiation and in the test of a ``while_loop`` Refs are refused or stale, and a program cannot raise. So a
program is evaluated with a `Cell` instead of each Ref, and `Errors` for the first exception that it raises;
both go through ``cond``, ``scan`` and ``while`` as ordinary operands and results. After an error no ``while`` goes
on, and nothing is printed or called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.exceptions import RaiseSite
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import cond as branch_of
from autograph.backends.xla.errors import Errors, split_payloads
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind, is_literal, replay
from autograph.backends.xla.parts import evaluate_equations
from autograph.backends.xla.raising import RAISES, find_sites, raise_if, raise_p
from autograph.backends.xla.stand_ins import is_stand_in, written_operands
from autograph.backends.xla.tracing import trace, zeros
from autograph.backends.xla.while_ad.primitive import bind_loop
from autograph.backends.xla.while_ad.program import LoopProgram
from autograph.runtime.errors import StagingError


class Cell:
    """Holds what a Variable is worth at this point of a program."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def evaluate(program: ClosedJaxpr, operands: Sequence[Any], cells: dict[int, Cell], errors: Errors) -> list[Any]:
    """Run a recorded program: ``cells`` (by the id of the stand-in) and ``errors`` are left as they are after it."""
    consts = [cells[id(const)] if is_stand_in(const) else const for const in program.consts]
    if not errors.sites and not any(isinstance(const, Cell) for const in consts):
        return replay(program, *operands)
    return _evaluate(program.jaxpr, consts, operands, errors)


def _evaluate(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], errors: Errors) -> list[Any]:
    """Evaluate a jaxpr some of whose inputs are cells, from an error state on."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, operands, strict=True))
    evaluate_some(jaxpr.eqns, known, errors)
    return [atom.val if is_literal(atom) else known[atom] for atom in jaxpr.outvars]


def evaluate_some(equations: Sequence[Any], known: dict[Any, Any], errors: Errors) -> None:
    """Evaluate equations from an error state on; ``known``, the values of variables and cells, gets those of their results."""

    def value(atom: Any) -> Any:
        return atom.val if is_literal(atom) else known[atom]

    harmless: list[Any] = []
    for equation in equations:
        rule = _rule_for(equation, known, errors)
        if rule is None:
            harmless.append(equation)
            continue
        evaluate_equations(harmless, known)
        harmless = []
        with jax_compat.at_source_of(equation):
            results = rule(equation, [value(atom) for atom in equation.invars], errors)
        known.update(zip(equation.outvars, results, strict=True))
    evaluate_equations(harmless, known)


class _Passed(Errors):
    """Leaves exceptions in what is recorded."""

    def note(self, code: Any, values: Sequence[Any], sites: Sequence[RaiseSite]) -> None:
        raise_if(code, split_payloads(values, sites), sites)


def without_stand_ins(program: ClosedJaxpr) -> ClosedJaxpr:
    """A program that takes its Variables' values as they are here, and whose writes are seen only in itself."""
    stand_ins = [const for const in program.consts if is_stand_in(const)]
    if not stand_ins:
        return program
    values = list(map(jax_compat.of_ref, stand_ins))

    def run(*operands: Any) -> list[Any]:
        cells = {id(ref): Cell(value) for ref, value in zip(stand_ins, values, strict=True)}
        return evaluate(program, operands, cells, _Passed([]))

    return trace(run, program.in_avals)


_Rule = Callable[[Any, Sequence[Any], Errors], list[Any]]


def _rule_for(equation: Any, known: dict[Any, Any], errors: Errors) -> _Rule | None:
    """How to evaluate an equation that touches state; None for one that does not."""
    kind = jax_compat.kind(equation)
    if equation.primitive is raise_p:
        return _raise
    if RAISES in equation.effects:
        return _HOLDS_PROGRAMS.get(kind, _refuse)
    if any(not is_literal(atom) and isinstance(known.get(atom), Cell) for atom in equation.invars):
        return _HOLDS_PROGRAMS.get(kind, _ON_CELLS.get(kind, _natively))
    if errors.code is None:
        return None
    if equation.effects and _is_call_of_python(equation):
        return _call_unless_failed
    return _HOLDS_PROGRAMS.get(kind, _natively) if equation.effects or _may_not_end(equation) else None


def _is_call_of_python(equation: Any) -> bool:
    on_refs = any(jax_compat.is_ref(atom.aval) for atom in (*equation.invars, *equation.outvars))
    return not on_refs and not any(True for _ in jax_compat.inner_programs(equation))


def _may_not_end(equation: Any) -> bool:
    return jax_compat.kind(equation) is Kind.WHILE or any(
        _may_not_end(inner) for jaxpr in jax_compat.inner_programs(equation) for inner in jaxpr.eqns
    )


# Equations that touch state themselves: (equation, operands, errors) -> results.


def _raise(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    code, *values = operands
    errors.note(code, values, equation.params["sites"])
    return []


def _read(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    return [operands[0].value] if len(operands) == 1 else _natively(equation, operands, errors)


def _write(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    if len(operands) != 2:
        return _natively(equation, operands, errors)
    cell, new = operands
    old, cell.value = cell.value, errors.unless_caught(new, cell.value)
    return [old]


def _natively(equation: Any, operands: Sequence[Any], _: Errors) -> list[Any]:
    """An equation with no rule here meets a Ref after all, one that lives for this equation only."""
    refs = {id(operand): jax.new_ref(operand.value) for operand in operands if isinstance(operand, Cell)}
    known = {
        atom: refs.get(id(operand), operand)
        for atom, operand in zip(equation.invars, operands, strict=True)
        if not is_literal(atom)
    }
    evaluate_equations([equation], known)
    for operand in operands:
        if id(operand) in refs and isinstance(operand, Cell):
            operand.value = jax.freeze(refs.pop(id(operand)))
    return [known.get(var) for var in equation.outvars]


def _call_unless_failed(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    """A print or a call of Python, which an error before it prevents, unless it puts something in order."""
    if getattr(jax_compat.python_function(equation), "runs_always", False):
        return _natively(equation, operands, errors)
    types = [var.aval for var in equation.outvars]

    def run() -> list[Any]:
        return _natively(equation, operands, errors)

    return list(jax.lax.cond(errors.is_clear, run, lambda: list(map(zeros, types))))


def _refuse(equation: Any, _: Sequence[Any], __: Errors) -> list[Any]:
    found: dict[RaiseSite, None] = {}
    for inner in jax_compat.inner_programs(equation):
        find_sites(inner, found)
    site = next(iter(found))
    raise StagingError(
        f"{site.where}\n  {site.name} is raised under a traced condition here, inside a JAX {jax_compat.name_of(equation)!r}, "
        "which cannot carry exceptions.\n  Check before it or after it, or return a flag."
    )


# Equations that hold programs: what those may change goes in and comes out as further operands and results.


class _Nested:
    """The state of an equation that holds programs: the cells among its operands, and errors.

    Attributes:
      cells: those that its programs may read.
      written: those of them that its programs write.
      raises: whether its programs may raise.
    """

    def __init__(self, equation: Any, operands: Sequence[Any], errors: Errors) -> None:
        writes = written_operands(equation)
        cells = {id(o): (o, False) for o in operands if isinstance(o, Cell)}
        cells |= {id(operands[k]): (operands[k], True) for k in sorted(writes) if isinstance(operands[k], Cell)}
        self.cells = [cell for cell, _ in cells.values()]
        self.written = [cell for cell, written in cells.values() if written]
        self.raises = RAISES in equation.effects
        self.errors = errors

    def values(self) -> list[Any]:
        """What goes in."""
        return [*(cell.value for cell in self.written), *(self.errors.arrays() if self.raises else ())]

    def inside(self, values: Sequence[Any], runs_once: bool = False) -> _Inside:
        """The state inside, where these values have gone in; ``runs_once``: it begins as the state outside is now."""
        copies = {id(cell): Cell(cell.value) for cell in self.cells}
        count = len(self.written)
        for cell, new in zip(self.written, values[:count], strict=True):
            copies[id(cell)].value = new
        errors = self.errors.copy()
        if self.raises and not (runs_once and errors.code is None):
            errors.install(values[count:])
        return _Inside(self, copies, errors)

    def settle(self, values: Sequence[Any]) -> None:
        """Take over what has come out."""
        count = len(self.written)
        for cell, new in zip(self.written, values[:count], strict=True):
            cell.value = new
        if self.raises:
            self.errors.install(values[count:])


class _Inside:
    """The state within a program that an equation holds."""

    def __init__(self, nested: _Nested, copies: dict[int, Cell], errors: Errors) -> None:
        self.nested, self.copies, self.errors = nested, copies, errors

    def run(self, program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        given = [self.copies[id(o)] if isinstance(o, Cell) else o for o in operands]
        return _evaluate(program.jaxpr, program.consts, given, self.errors)

    def values(self) -> list[Any]:
        """What comes out."""
        written = [self.copies[id(cell)].value for cell in self.nested.written]
        return [*written, *(self.errors.arrays() if self.nested.raises else ())]


def _call(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    program = jax_compat.called(equation.params)
    assert program is not None
    return _evaluate(program.jaxpr, program.consts, operands, errors)


def _cond(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    index, *rest = operands
    nested = _Nested(equation, operands, errors)
    start = nested.values()

    def branch(program: ClosedJaxpr) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            inside = nested.inside(start, runs_once=True)
            return [*inside.run(program, rest), *inside.values()]

        return run

    branches = [branch(program) for program in jax_compat.branches(equation)]
    if "choice" in equation.params:
        values = branch_of(index, branches[1], branches[0])
    elif len(branches) == 2:
        values = jax.lax.cond(index != 0, branches[1], branches[0])
    else:
        values = jax.lax.switch(index, branches)
    count = len(equation.outvars)
    nested.settle(values[count:])
    return list(values[:count])


def _scan(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    scan = jax_compat.scan_of(equation)
    first = scan.consts + scan.carried
    consts, start, arrays = operands[: scan.consts], operands[scan.consts : first], operands[first:]
    nested = _Nested(equation, operands, errors)

    def body(carry: Any, slices: Any) -> Any:
        values, state = carry
        inside = nested.inside(state)
        outputs = inside.run(scan.body, [*consts, *values, *slices])
        return (outputs[: scan.carried], inside.values()), outputs[scan.carried :]

    (last, state), stacked = jax.lax.scan(body, (list(start), nested.values()), list(arrays), **scan.options)
    nested.settle(state)
    return [*last, *stacked]


def _while(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    if "program" in equation.params:
        return _own_while(equation, operands, errors)
    loop = jax_compat.while_of(equation)
    if RAISES in loop.test.effects:
        return _refuse(equation, operands, errors)
    first, second = loop.test_consts, loop.test_consts + loop.body_consts
    test_consts, body_consts, start = operands[:first], operands[first:second], operands[second:]
    nested = _Nested(equation, operands, errors)
    lanes = loop.test.out_avals[0].ndim  # of a loop that was mapped; each lane ends by itself

    def truth(values: Sequence[Any], inside: _Inside) -> Any:
        return inside.run(loop.test, [*test_consts, *values])[0]

    def goes_on(carry: Any) -> Any:
        values, state = carry
        inside = nested.inside(state)
        found = truth(values, inside)
        found = jnp.any(found) if lanes else found
        return found if inside.errors.code is None else found & inside.errors.is_clear

    def step(carry: Any) -> Any:
        values, state = carry
        inside = nested.inside(state)
        new = inside.run(loop.body, [*body_consts, *values])
        if lanes:
            active = truth(values, nested.inside(state))
            new = [
                jnp.where(active.reshape(active.shape + (1,) * (old.ndim - lanes)), value, old)
                for value, old in zip(new, values, strict=True)
            ]
        return new, inside.values()

    last, state = jax.lax.while_loop(goes_on, step, (list(start), nested.values()))
    nested.settle(state)
    return list(last)


def _own_while(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    """A loop of ours, which touches no state: it does not start after an error."""
    program: LoopProgram = equation.params["program"]
    avals = [*program.const_avals, jax.typeof(np.bool_(True)), *program.carry_avals]

    def without_flag(closed: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        return replay(closed, *operands[: program.consts], *operands[program.consts + 1 :])

    body = trace(lambda *values: without_flag(program.body, values), avals)
    test = trace(lambda *values: [without_flag(program.test, values)[0] & values[program.consts]], avals)
    smooth = (
        None if program.smooth is program.body else lambda: trace(lambda *v: without_flag(program.smooth, v), avals)
    )
    guarded = LoopProgram(body, test, program.consts + 1, program.bound, program.slots, smooth)
    consts, start = program.split(operands)
    return bind_loop(guarded, [*consts, errors.is_clear], start)


def _checkpoint(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    nested = _Nested(equation, operands, errors)
    program = jax_compat.called(equation.params)
    assert program is not None

    def run(state: Sequence[Any], read: Sequence[Any], plain: Sequence[Any]) -> Any:
        inside = nested.inside(state, runs_once=True)
        for cell, value in zip(nested.cells, read, strict=True):
            if cell not in nested.written:
                inside.copies[id(cell)].value = value
        pending = iter(plain)
        outputs = inside.run(program, [o if isinstance(o, Cell) else next(pending) for o in operands])
        return outputs, inside.values()

    plain = [operand for operand in operands if not isinstance(operand, Cell)]
    run_again = jax.checkpoint(run, **jax_compat.checkpoint_options(equation))
    outputs, state = run_again(nested.values(), [cell.value for cell in nested.cells], plain)
    nested.settle(state)
    return list(outputs)


_ON_CELLS: Mapping[Kind, _Rule] = MappingProxyType({Kind.READ: _read, Kind.WRITE: _write})
_HOLDS_PROGRAMS: Mapping[Kind, _Rule] = MappingProxyType(
    {
        Kind.CALL: _call,
        Kind.CHECKPOINT: _checkpoint,
        Kind.COND: _cond,
        Kind.SCAN: _scan,
        Kind.WHILE: _while,
    }
)
