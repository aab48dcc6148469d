"""Run functions that call themselves under traced conditions as one loop with a stack.

While such a function is traced, a call of it is the operation ``recursive_call``. `run` cuts the programs of a set of
functions at these operations into blocks, of which each runs up to the next call or the end. What a block needs that
others have computed goes through registers, or, where a call lies between, through a stack; a call whose results are
those of the function itself needs none. One iteration of the loop runs one block. So it is a staged loop like any
other, for derivatives and batches too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.recursive import RecursionSpec
from autograph.backends.xla import jax_compat
from autograph.backends.xla.blocks import (
    Block,
    Branch,
    Call,
    Code,
    Cutter,
    Jump,
    Known,
    Name,
    Return,
    Source,
    find_needed,
    last_steps,
)
from autograph.backends.xla.branches import cond
from autograph.backends.xla.discharge import without_stand_ins
from autograph.backends.xla.errors import Errors, split_payloads
from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.leaf_types import as_struct, cast
from autograph.backends.xla.raising import raise_if, sites_in
from autograph.backends.xla.statements import values_of
from autograph.backends.xla.tracing import conform, trace, zeros
from autograph.backends.xla.while_ad.reverse import while_loop

RECURSION = "recursion_of_"  # begins the name of the scope that such a loop is in; the function's name follows


class _Registers:
    """Where values of any kind are put: as many of each kind as any user needs at once."""

    def __init__(self, users: Iterable[Sequence[Name]]) -> None:
        most: dict[Any, list[Any]] = {}
        for names in users:
            by_kind: dict[Any, list[Any]] = {}
            for name in names:
                by_kind.setdefault(name.kind, []).append(name.aval)
            for kind, avals in by_kind.items():
                if len(avals) > len(most.get(kind, ())):
                    most[kind] = avals
        self.avals = [aval for avals in most.values() for aval in avals]
        self._first: dict[Any, int] = {}
        for k, aval in enumerate(self.avals):
            self._first.setdefault((aval.shape, aval.dtype), k)

    def places(self, names: Sequence[Name]) -> list[int]:
        """The register of each name."""
        used: dict[Any, int] = {}
        found = []
        for name in names:
            used[name.kind] = used.get(name.kind, -1) + 1
            found.append(self._first[name.kind] + used[name.kind])
        return found

    def put(self, held: Sequence[Any], names: Sequence[Name], values: Sequence[Any]) -> list[Any]:
        """The registers with these values for these names."""
        made = list(held)
        for place, name, value in zip(self.places(names), names, values, strict=True):
            made[place] = _strong(value, name.aval)
        return made

    def take(self, held: Sequence[Any], names: Sequence[Name]) -> dict[Name, Any]:
        """The values of these names."""
        return {
            name: jax_compat.weak(held[place]) if name.is_weak else held[place]
            for place, name in zip(self.places(names), names, strict=True)
        }


def _strong(value: Any, aval: Any) -> Any:
    value = jnp.asarray(value)
    found = jax.typeof(value)
    if found.dtype == aval.dtype and not found.weak_type:
        return value
    return jax.lax.convert_element_type(value, aval.dtype)


class Machine:
    """The loop that runs the blocks of some functions."""

    def __init__(self, cut: Mapping[Any, Cutter], results: Mapping[Any, Sequence[Name]], sites: Sequence[Any]) -> None:
        self.blocks = [block for cutter in cut.values() for block in cutter.blocks]
        find_needed(self.blocks)
        for number, block in enumerate(self.blocks):
            block.number = number
        self.done = len(self.blocks)
        self.entries = {function: cutter.blocks[0] for function, cutter in cut.items()}
        self.results = results
        self.sites = sites
        resumed = [block for block in self.blocks if block.is_resumed]
        self.has_stack = bool(resumed)
        ends = [end for block in self.blocks for end in last_steps(block.code)]
        self.has_tail_calls = any(isinstance(end, Call) and end.resume is None for end in ends)
        self.registers = _Registers([*map(self._given, self.blocks), *results.values()])
        self.saved = _Registers([block.needed for block in resumed])
        self.resumed = resumed

    @staticmethod
    def _given(block: Block) -> list[Name]:
        """What a block finds in registers."""
        return block.parameters if block.is_resumed else [*block.parameters, *block.needed]

    def _run(self, block: Block, held: Sequence[Any], frame: Sequence[Any]) -> list[Any]:
        known = self.registers.take(held, self._given(block))
        if block.is_resumed:
            known |= self.saved.take(frame, block.needed)
        return self._code(block, block.code, known, Errors(self.sites), held, frame)

    def _code(
        self,
        block: Block,
        code: Code,
        known: dict[Name, Any],
        errors: Errors,
        held: Sequence[Any],
        frame: Sequence[Any],
    ) -> list[Any]:
        """The number of the next block, how many frames more there are then, how many calls in tail position if any block ends
        in one, the block to resume, and registers, frame and errors."""

        def value(source: Source) -> Any:
            return source.value if isinstance(source, Known) else known[source]

        known = dict(known)
        for step in code.steps:
            known.update(zip(step.outputs, step.run([value(s) for s in step.inputs], errors), strict=True))
        end = code.end
        if isinstance(end, Branch):

            def inner(code: Code) -> Callable[[], list[Any]]:
                return lambda: self._code(block, code, known, errors.copy(), held, frame)

            return list(end.choose(value(end.index), [inner(code) for code in end.codes]))
        values = [value(source) for source in end.values]
        following, more, tail, resumed, saved = self.done, 0, 0, 0, list(frame)
        if isinstance(end, Jump):
            following = end.block.number
            made = self.registers.put(held, self._given(end.block), [*values, *(known[n] for n in end.block.needed)])
        elif isinstance(end, Return):
            more = -1
            made = self.registers.put(held, self._names_of_results(block), values)
        else:
            entry = self.entries[end.function]
            following = entry.number
            made = self.registers.put(held, entry.parameters, values)
            if end.resume is None:
                tail = 1
            else:
                more, resumed = 1, end.resume.number
                saved = self.saved.put(saved, end.resume.needed, [known[name] for name in end.resume.needed])
        numbers = (following, more, *([tail] if self.has_tail_calls else []), resumed)
        return [*map(jnp.int32, numbers), *made, *saved, *errors.arrays()]

    def _names_of_results(self, block: Block) -> Sequence[Name]:
        return next(self.results[f] for f, entry in self.entries.items() if self._owner(block) is entry)

    def _owner(self, block: Block) -> Block:
        firsts = [entry for entry in self.entries.values() if entry.number <= block.number]
        return max(firsts, key=lambda entry: entry.number)

    def bytes_of_frame(self) -> int:
        """How much a call under way takes on the stack."""
        sizes = [math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 4) for aval in self.saved.avals]
        return int(sum(sizes)) + 4

    def run(
        self, entry: Any, operands: Sequence[Any], depth: int, limit: int | None
    ) -> tuple[list[Any], Any, list[Any]]:
        """The results of a call; whether it ended with at most ``depth`` frames, and ``limit`` calls in tail position in turn,
        if there is a limit; and the state of errors."""
        if not self.has_tail_calls:
            limit = None
        clear = Errors(self.sites)
        first = self.entries[entry]
        held = self.registers.put([zeros(aval) for aval in self.registers.avals], first.parameters, operands)
        numbers = [jnp.int32(first.number)]
        if limit is not None:
            numbers.append(jnp.int32(0))
        stack: list[Any] = []
        if self.has_stack:
            numbers.append(jnp.int32(1))
            rows = depth + 2
            avals = [jax.typeof(np.int32(0)), *self.saved.avals]
            stack = [zeros(jax_compat.stacked(rows, aval)) for aval in avals]
            stack[0] = stack[0].at[0].set(self.done)
        counts = [len(numbers), len(held), len(clear.types()), len(stack)]

        def split(carry: Sequence[Any]) -> list[list[Any]]:
            left = iter(carry)
            return [list(itertools.islice(left, count)) for count in counts]

        def goes_on(carry: Sequence[Any]) -> Any:
            numbers, _, noted, _ = split(carry)
            test = numbers[0] != self.done
            if self.has_stack:
                test &= numbers[-1] <= depth
            if limit is not None:
                test &= numbers[1] <= limit
            return test & (noted[0] == 0) if noted else test

        def step(carry: Sequence[Any]) -> list[Any]:
            numbers, held, _, stack = split(carry)
            top = numbers[-1]
            frame = [jax.lax.dynamic_index_in_dim(each, top, 0, keepdims=False) for each in stack[1:]]
            found = self._choose(numbers[0], held, frame)
            left = iter(found)
            following, more = itertools.islice(left, 2)
            tail = next(left) if self.has_tail_calls else 0
            resumed = next(left)
            held, frame = [list(itertools.islice(left, len(part))) for part in (held, frame)]
            made = [following]
            if limit is not None:
                made.append(jnp.where(tail != 0, numbers[1] + tail, jnp.where(more != 0, 0, numbers[1])))
            if self.has_stack:
                rows = [resumed, *frame]
                stack = [
                    jax.lax.dynamic_update_index_in_dim(each, row, top, 0)
                    for each, row in zip(stack, rows, strict=True)
                ]
                back = jax.lax.dynamic_index_in_dim(stack[0], jnp.maximum(top - 1, 0), 0, keepdims=False)
                made[0] = jnp.where(more < 0, back, following)
                made.append(top + more)
            return [*made, *held, *left, *stack]

        with jax.named_scope(f"{RECURSION}{entry.name}"):
            last = while_loop(goes_on, step, [*numbers, *held, *clear.arrays(), *stack])
        numbers, held, noted, _ = split(last)
        names = self.results[entry]
        taken = self.registers.take(held, names)
        return [taken[name] for name in names], numbers[0] == self.done, noted

    def _choose(self, number: Any, held: list[Any], frame: list[Any]) -> list[Any]:
        if len(self.blocks) == 1:
            return self._run(self.blocks[0], held, frame)
        codes = [lambda block=block: self._run(block, held, frame) for block in self.blocks]
        if len(codes) == 2:
            return list(cond(number != 0, codes[1], codes[0]))
        return list(jax.lax.switch(number, codes))


def run(spec: RecursionSpec) -> tuple[list[Any], Any]:
    """The results of a call of a function that calls itself, and whether it came to an end within its bounds.

    What the functions raise is raised after it.
    """
    programs = {}
    for function, body in spec.functions.items():
        made = without_stand_ins(body.traced.program)

        def pure(*operands: Any, made: ClosedJaxpr = made, body: Any = body) -> list[Any]:
            return values_of(body.results, jax_compat.replay(made, *operands), body.types)

        programs[function] = trace(pure, [as_struct(type) for type in body.operands])
    sites = sites_in(programs.values())
    entry = spec.functions[spec.entry]
    operands = [cast(*pair) for pair in zip(spec.operands, entry.operands, strict=True)]
    cut = {function: Cutter(program, {}) for function, program in programs.items()}
    if len(cut) == 1:
        fixed = _same_in_all(cut[spec.entry], spec.entry)
        cut = {spec.entry: Cutter(programs[spec.entry], {k: operands[k] for k in fixed})}
        operands = [operand for k, operand in enumerate(operands) if k not in fixed]
    results = {function: [Name(aval) for aval in program.out_avals] for function, program in programs.items()}
    machine = Machine(cut, results, sites)
    depth = spec.depth(machine.bytes_of_frame()) if machine.has_stack else 0
    found, ended, noted = machine.run(spec.entry, operands, depth, spec.limit)
    if noted:
        code, *values = noted
        raise_if(code, split_payloads(values, sites), sites)
        ended |= code != 0
    return conform(found, programs[spec.entry].out_avals), ended


def _same_in_all(cutter: Cutter, function: Any) -> set[int]:
    """The operands that every recursive call passes on unchanged."""
    same = set(range(len(cutter.parameters)))
    for block in cutter.blocks:
        for end in last_steps(block.code):
            if isinstance(end, Call) and end.function == function:
                same &= {k for k, value in enumerate(end.values) if value is cutter.parameters[k]}
    return same
