"""Record, for each staged statement, the variables that it carries, their types, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend, LeafType, LoopSpec
from autograph.backends.selected import STAGING
from autograph.runtime.containers.iterables import StagedIterable
from autograph.runtime.layouts.kinds import ABSENT, NOTHING, Array, leaves_of, tags_in
from autograph.runtime.layouts.statement_variables import Slot
from autograph.runtime.staging.statements.loop_state import Carried
from autograph.runtime.state.variables import touched_by
from autograph.runtime.tracing.locations import user_position_now
from autograph.runtime.tracing.statements import (
    CarriedVariable,
    StagedBranch,
    StagedLoop,
    is_taken_down,
    take_down,
)


def record_loop(
    backend: Backend, spec: LoopSpec, carried: Sequence[Carried], found: set[int], iterable: StagedIterable
) -> None:
    """Take down a loop that is emitted.

    Args:
      carried: its variables, in the order of the programs' operands.
      found: by identity, those that were found to be written while the body was traced.
    """
    if not is_taken_down():
        return
    read: set[int] = set()
    for program in (spec.body, spec.test):
        used, passed_on = (set(), {}) if program is None else backend.operands_used(program)
        read |= used | set(passed_on.values())
    variables: list[CarriedVariable] = []
    fixed: list[str] = []
    first = 0
    for each in carried:
        types = tuple(type for type in each.types if type is not None)
        operands, first = range(first, first + len(types)), first + len(types)
        if isinstance(each.variable, Slot) or not types:
            continue
        if each.is_input and all(result is None for result in each.results):
            fixed.append(each.variable.name)
            continue
        is_read = each.is_input and not read.isdisjoint(operands)
        reasons = tuple(_reasons(each, types, is_read, id(each.variable) in found))
        variables.append(CarriedVariable(each.variable.name, _before(each), types, reasons))
    variables += _state(spec)
    take_down(StagedLoop(user_position_now(), tuple(variables), tuple(fixed), _trips(spec)))


def record_branch(results: Sequence[tuple[str, Sequence[LeafType]]]) -> None:
    """Take down a conditional that is emitted, with the names and types of what comes out of it."""
    if is_taken_down():
        named = tuple((name, tuple(types)) for name, types in results if types)
        take_down(StagedBranch(user_position_now(), named))


def _before(carried: Carried) -> tuple[LeafType, ...]:
    return tuple(leaf.type for leaf in leaves_of(carried.before) if isinstance(leaf, Array))


def _reasons(carried: Carried, types: Sequence[LeafType], is_read: bool, is_found: bool) -> Iterator[str]:
    before = _before(carried)
    verb = "The body, or what it calls, writes it" if is_found else "The body binds it"
    reader = "the next iteration reads it" if is_read else "it is read after the loop"
    start = {NOTHING: "It is unbound before the loop. ", ABSENT: "It is None before the loop. "}
    yield f"{start.get(carried.before.inner, '')}{verb}, and {reader}."
    values = types[:-1] if carried.types[-1] is not None else types
    if before and len(before) == len(values):
        for old, new in zip(before, values, strict=True):
            if old.strong() != new.strong():
                yield f"It is {old.strong()} before the loop; {new.strong()} holds that and what an iteration leaves."
    if carried.types[-1] is not None or any(True for _ in tags_in(carried.layout)):
        yield "A flag says whether it has a value: it may be unbound or None."


def _state(spec: LoopSpec) -> Iterator[CarriedVariable]:
    """The Variables that a loop touches, and the exceptions that it may raise."""
    programs = [spec.body.program] + ([] if spec.test is None else [spec.test.program])
    touched: dict[int, tuple[Any, bool]] = {}
    for program in programs:
        for variable, is_written in touched_by(program):
            was_written = touched.get(id(variable), (variable, False))[1]
            touched[id(variable)] = variable, was_written or is_written
    for variable, is_written in touched.values():
        if is_written:
            type = LeafType(tuple(variable.shape), variable.dtype)
            name = getattr(variable, "name", None) or "a Variable"
            yield CarriedVariable(name, (type,), (type,), ("A Variable that the loop assigns.",))
    sites = {
        (site.name, site.where.partition(": ")[0]): None for program in programs for site in STAGING.sites(program)
    }
    for name, where in sites:
        yield CarriedVariable(
            name,
            (),
            (),
            (f"May be raised at {os.path.basename(where)}: a number says whether it was, and ends the loop.",),
        )


def _trips(spec: LoopSpec) -> str:
    if spec.length is None:
        return "until its test is false"
    length = str(spec.length) if isinstance(spec.length, int) else "a traced number of"
    if spec.test is not None:
        return f"at most {length} iterations, until its test is false"
    return f"{length} iterations"
