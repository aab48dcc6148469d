"""Cut the program of a recursive function into blocks at its recursive calls. See `recursion`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import cond
from autograph.backends.xla.discharge import evaluate_some
from autograph.backends.xla.errors import Errors
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind, is_literal
from autograph.backends.xla.recursive_calls import CALLS, call_p, functions_called, refuse_transform
from autograph.backends.xla.tracing import zeros


class Name:
    """A value that blocks compute or pass on. Names are ordered as they were made."""

    _numbers = itertools.count()

    def __init__(self, aval: Any) -> None:
        self.aval = jax_compat.strong(aval)
        self.is_weak = bool(getattr(aval, "weak_type", False))
        self.number = next(self._numbers)

    @property
    def kind(self) -> Any:
        """Names of one kind share registers."""
        return self.aval.shape, self.aval.dtype


@dataclass(frozen=True)
class Known:
    """A value that is the same in all blocks."""

    value: Any


Source = Name | Known


@dataclass
class Step:
    """Computes ``outputs``; ``run`` takes the inputs' values and the error state."""

    run: Callable[[Sequence[Any], Errors], Sequence[Any]]
    inputs: Sequence[Source]
    outputs: Sequence[Name]


@dataclass
class Branch:
    """Goes on with one of several codes; ``choose`` runs one of functions of nothing by the value of ``index``."""

    choose: Callable[[Any, Sequence[Callable[[], Any]]], Any]
    index: Source
    codes: Sequence[Code]


@dataclass
class Jump:
    """Goes on with a block, which gets ``values`` for its parameters."""

    block: Block
    values: Sequence[Source]


@dataclass
class Call:
    """Calls a function; ``resume`` goes on with its results, and is None in tail position."""

    function: Any
    values: Sequence[Source]
    resume: Block | None


@dataclass
class Return:
    values: Sequence[Source]


@dataclass
class Code:
    """Steps, and what comes after them."""

    steps: list[Step]
    end: Branch | Jump | Call | Return


@dataclass(eq=False)
class Block:
    """What one iteration runs.

    Attributes:
      parameters: what it is given.
      needed: what else it reads that other blocks have computed; from the stack if ``is_resumed``.
      number: its number in the loop.
    """

    parameters: list[Name]
    is_resumed: bool = False
    code: Code = field(default_factory=lambda: Code([], Return(())))
    needed: list[Name] = field(default_factory=list)
    number: int = 0


class Cutter:
    """Cuts the program of a function into blocks. Attributes: blocks (the first is where it begins)."""

    def __init__(self, program: ClosedJaxpr, fixed: Mapping[int, Any]) -> None:
        """``fixed``: by position, operands that are the same in all calls."""
        self.parameters = [Name(aval) for aval in program.in_avals]
        self._fixed = set(fixed)
        entry = Block(self._left(self.parameters))
        self.blocks = [entry]
        sources: list[Source] = [Known(fixed[k]) if k in fixed else name for k, name in enumerate(self.parameters)]
        entry.code = self._program(program, sources, Return)

    def _left(self, operands: Sequence[Any]) -> list[Any]:
        """Those operands of the function that calls are given."""
        return [operand for k, operand in enumerate(operands) if k not in self._fixed]

    def _block(self, parameters: Sequence[Name], is_resumed: bool = False) -> Block:
        made = Block(list(parameters), is_resumed)
        self.blocks.append(made)
        return made

    def _program(self, program: ClosedJaxpr, operands: Sequence[Source], then: Any) -> Code:
        jaxpr = program.jaxpr
        scope: dict[Any, Source] = dict(zip(jaxpr.constvars, map(Known, program.consts), strict=True))
        scope.update(zip(jaxpr.invars, operands, strict=True))
        return self._equations(list(jaxpr.eqns), scope, jaxpr.outvars, then)

    def _equations(self, equations: Sequence[Any], scope: dict[Any, Source], outvars: Sequence[Any], then: Any) -> Code:
        """Code for equations, and then for what ``then`` returns for the values of ``outvars``; `Return` ends the function."""

        def source(atom: Any) -> Source:
            return Known(atom.val) if is_literal(atom) else scope[atom]

        count = next((k for k, equation in enumerate(equations) if CALLS in equation.effects), len(equations))
        steps = [_computed(equations[:count], scope)] if count else []
        if count == len(equations):
            values = [source(atom) for atom in outvars]
            if then is Return:
                return Code(steps, Return(values))
            code: Code = then(values)
            return Code([*steps, *code.steps], code.end)
        equation, rest = equations[count], equations[count + 1 :]
        operands = [source(atom) for atom in equation.invars]
        ends = not rest and list(outvars) == list(equation.outvars)

        def go_on(values: Sequence[Source]) -> Code:
            """The code after this equation, whose results are these."""
            inner = {**scope, **dict(zip(equation.outvars, values, strict=True))}
            return self._equations(rest, inner, outvars, then)

        code = self._equation(equation, operands, then if ends else go_on)
        return Code([*steps, *code.steps], code.end)

    def _equation(self, equation: Any, operands: Sequence[Source], then: Any) -> Code:
        if equation.primitive is call_p:
            function = equation.params["callee"]
            if then is Return:
                return Code([], Call(function, self._left(operands), None))
            resume = self._block([Name(var.aval) for var in equation.outvars], is_resumed=True)
            resume.code = then(resume.parameters)
            return Code([], Call(function, self._left(operands), resume))
        kind = jax_compat.kind(equation)
        if kind is Kind.CALL:
            program = jax_compat.called(equation.params)
            assert program is not None
            return self._program(program, operands, then)
        if kind is Kind.COND:
            return self._conditional(equation, operands, then)
        if kind is Kind.WHILE:
            return self._while(equation, operands, then)
        if kind is Kind.SCAN:
            return self._scan(equation, operands, then)
        (function, *_) = functions_called([equation_program(equation)])
        return refuse_transform(callee=function)

    def _joined(self, equation: Any, then: Any) -> Any:
        """What several codes go on with, of which each computes the results of an equation."""
        if then is Return:
            return then
        block = self._block([Name(var.aval) for var in equation.outvars])
        block.code = then(block.parameters)
        if isinstance(block.code.end, Return) and len(block.code.steps) == 0:
            self.blocks.remove(block)
            return then
        return lambda values: Code([], Jump(block, values))

    def _conditional(self, equation: Any, operands: Sequence[Source], then: Any) -> Code:
        index, *rest = operands
        then = self._joined(equation, then)
        codes = [self._program(branch, rest, then) for branch in jax_compat.branches(equation)]
        return Code([], Branch(_chooser(equation, len(codes)), index, codes))

    def _while(self, equation: Any, operands: Sequence[Source], then: Any) -> Code:
        if "program" in equation.params:
            loop = equation.params["program"]
            consts, start = loop.split(operands)
            test, body = loop.test, loop.body
            of_test = of_body = consts
        else:
            loop = jax_compat.while_of(equation)
            first, second = loop.test_consts, loop.test_consts + loop.body_consts
            of_test, of_body, start = operands[:first], operands[first:second], operands[second:]
            test, body = loop.test, loop.body
        header = self._block([Name(var.aval) for var in equation.outvars])

        def again(values: Sequence[Source]) -> Code:
            return Code([], Jump(header, values))

        def tested(values: Sequence[Source]) -> Code:
            carry = header.parameters
            codes = [then(carry) if then is not Return else Code([], Return(carry))]
            codes.append(self._program(body, [*of_body, *carry], again))
            return Code([], Branch(_either, values[0], codes))

        header.code = self._program(test, [*of_test, *header.parameters], tested)
        return again(start)

    def _scan(self, equation: Any, operands: Sequence[Source], then: Any) -> Code:
        scan = jax_compat.scan_of(equation)
        first = scan.consts + scan.carried
        consts, start, arrays = operands[: scan.consts], operands[scan.consts : first], operands[first:]
        length, is_reverse = scan.options["length"], scan.options["reverse"]
        index = Name(jax.typeof(np.int32(0)))
        header = self._block([index, *(Name(var.aval) for var in equation.outvars)])
        carry, stacks = header.parameters[1 : 1 + scan.carried], header.parameters[1 + scan.carried :]
        place, following, goes_on = Name(index.aval), Name(index.aval), Name(jax.typeof(np.bool_(True)))

        def count(values: Sequence[Any], _: Errors) -> list[Any]:
            (number,) = values
            return [length - 1 - number if is_reverse else number, number + 1, number < length]

        rows = [Name(aval) for aval in scan.body.in_avals[first:]]

        def take(values: Sequence[Any], _: Errors) -> list[Any]:
            return [jax.lax.dynamic_index_in_dim(array, values[0], 0, keepdims=False) for array in values[1:]]

        def put(values: Sequence[Any], _: Errors) -> list[Any]:
            number, *both = values
            held, new = both[: len(stacks)], both[len(stacks) :]
            pairs = zip(held, new, strict=True)
            return [jax.lax.dynamic_update_index_in_dim(a, b.astype(a.dtype), number, 0) for a, b in pairs]

        def again(values: Sequence[Source]) -> Code:
            written = [Name(name.aval) for name in stacks]
            step = Step(put, [place, *stacks, *values[scan.carried :]], written)
            return Code([step], Jump(header, [following, *values[: scan.carried], *written]))

        body = self._program(scan.body, [*consts, *carry, *rows], again)
        body.steps.insert(0, Step(take, [place, *arrays], rows))
        last = header.parameters[1:]
        after = Code([], Return(last)) if then is Return else then(last)
        header.code = Code([Step(count, [index], [place, following, goes_on])], Branch(_either, goes_on, [after, body]))
        blank = [Known(zeros(name.aval)) for name in stacks]
        return Code([], Jump(header, [Known(np.int32(0)), *start, *blank]))


def equation_program(equation: Any) -> Any:
    """A program of one equation, to look into."""
    return jax_compat.program_of([equation], [], [], {})


def _computed(equations: Sequence[Any], scope: dict[Any, Source]) -> Step:
    """Equations without calls, which add the names of their results to ``scope``."""
    made = {var for equation in equations for var in equation.outvars}
    atoms = [atom for equation in equations for atom in equation.invars]
    taken = list(dict.fromkeys(atom for atom in atoms if not is_literal(atom) and atom not in made))
    given = [var for equation in equations for var in equation.outvars if not jax_compat.is_dropped(var)]
    inputs = [scope[var] for var in taken]
    outputs = [Name(var.aval) for var in given]
    scope.update(zip(given, outputs, strict=True))

    def run(values: Sequence[Any], errors: Errors) -> list[Any]:
        known = dict(zip(taken, values, strict=True))
        evaluate_some(equations, known, errors)
        return [known[var] for var in given]

    return Step(run, inputs, outputs)


def _chooser(equation: Any, count: int) -> Any:
    def choose(index: Any, codes: Sequence[Callable[[], Any]]) -> list[Any]:
        with jax_compat.at_source_of(equation):
            if count == 2:
                return _either(index if "choice" in equation.params else index != 0, codes)
            return list(jax.lax.switch(index, codes))

    return choose


def _either(predicate: Any, codes: Sequence[Callable[[], Any]]) -> list[Any]:
    return cond(predicate, codes[1], codes[0])


# What is live.


def last_steps(code: Code) -> Iterator[Jump | Call | Return]:
    if isinstance(code.end, Branch):
        for inner in code.end.codes:
            yield from last_steps(inner)
    else:
        yield code.end


def _read(code: Code) -> dict[Name, None]:
    """The names that code reads and does not compute."""
    found: dict[Name, None] = {}
    if isinstance(code.end, Branch):
        found.update(_names([code.end.index]))
        for inner in code.end.codes:
            found.update(_read(inner))
    else:
        found.update(_names(code.end.values))
        if isinstance(code.end, Jump):
            found.update(dict.fromkeys(code.end.block.needed))
        elif isinstance(code.end, Call) and code.end.resume is not None:
            found.update(dict.fromkeys(code.end.resume.needed))
    for step in reversed(code.steps):
        for name in step.outputs:
            found.pop(name, None)
        found.update(_names(step.inputs))
    return found


def _names(sources: Iterable[Source]) -> dict[Name, None]:
    return dict.fromkeys(source for source in sources if isinstance(source, Name))


def find_needed(blocks: Sequence[Block]) -> None:
    """Settle what each block needs of others: a block that leads to another needs what that needs."""
    changes = True
    while changes:
        changes = False
        for block in reversed(blocks):
            found = _read(block.code)
            for name in block.parameters:
                found.pop(name, None)
            needed = sorted(found, key=lambda name: name.number)
            changes |= len(needed) != len(block.needed)
            block.needed = needed
