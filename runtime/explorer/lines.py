"""Collect what is known of each source line: its cost, what was staged there, and how."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from autograph.backends.described import Block, Operation, Role
from autograph.runtime.explorer.view import Listing
from autograph.runtime.tracing.statements import Record, Remark, StagedBranch, StagedLoop

Line = tuple[str, int]  # file and number
Staged = TypeVar("Staged", StagedLoop, StagedBranch)
Rule = Callable[[StagedLoop | StagedBranch, Sequence[Operation]], bool]
_KEYWORDS = MappingProxyType(
    {ast.For: "for", ast.AsyncFor: "for", ast.While: "while", ast.If: "if", ast.Match: "match"}
    | {ast.Try: "try", ast.TryStar: "try"}
)
SELECT = "a select: both branches run, and one value of each pair is chosen"
LOWERED = "a select: the branches are short and pure, so both run when it is compiled for XLA"
COND = "a conditional: the branch that is taken runs, and no other"
EFFECT = "no value comes out: what it writes or raises is chosen where that happens"


@dataclass
class LineFacts:
    """What is known of one line.

    Attributes:
      operations: how many operations come from it.
      flops, bytes, results: what they compute, read and write, and leave, in one call.
      per_iteration: whether that is for each iteration of a loop whose number of iterations is known only at run time.
      loops: the staged loops that begin there, branches: the staged conditionals with their form.
      remarks: what was said of it.
    """

    operations: int = 0
    flops: float = 0
    bytes: int = 0
    results: int = 0
    per_iteration: bool = False
    loops: list[tuple[StagedLoop, Sequence[Operation]]] = field(default_factory=list)
    branches: list[tuple[StagedBranch, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Statement:
    """A compound statement of the source: its keyword, and its last line."""

    keyword: str
    last: int


@dataclass
class Box:
    """A loop or a branch in the drawing of a program.

    Attributes:
      kind: ``loop``, ``cond`` or ``select``.
      line: where it is in the source; None where that is not known.
      keyword: how it is written there; the operation's name where it is not.
      detail: what else is said of it.
      groups: what is in it, by block.
      count: how many such there are, one after the other.
    """

    kind: str
    line: Line | None
    keyword: str
    detail: str
    groups: list[tuple[str, list[Box]]] = field(default_factory=list)
    count: int = 1


def line_of(operation: Operation) -> Line | None:
    """The line that an operation comes from."""
    return None if operation.position is None else (operation.position.file, operation.position.line)


def every_operation(block: Block) -> Iterator[Operation]:
    """The operations of a program, each before those that it holds."""
    pending = [block]
    while pending:
        for operation in pending.pop().operations:
            yield operation
            pending += operation.blocks


def facts_by_line(program: Block, records: Iterable[Record]) -> dict[Line, LineFacts]:
    """What is known of each line that the program or a record comes from."""
    found: dict[Line, LineFacts] = {}
    at: dict[Line, list[Operation]] = {}
    _add_costs(found, program)
    for operation in every_operation(program):
        if (line := line_of(operation)) is not None:
            at.setdefault(line, []).append(operation)
    staged: dict[Line, list[StagedLoop | StagedBranch]] = {}
    for record in records:
        line = record.place[0], record.place[1]
        if isinstance(record, Remark):
            facts = found.setdefault(line, LineFacts())
            facts.remarks += [record.text] if record.text not in facts.remarks else []
        else:
            staged.setdefault(line, []).append(record)
    for line, recorded in staged.items():
        operations = at.get(line, [])
        loops = [each for each in operations if each.role is Role.LOOP]
        choices = [each for each in operations if each.role in (Role.BRANCH, Role.SELECT)]
        for loop in _fitting([each for each in recorded if isinstance(each, StagedLoop)], loops, *_LOOP_RULES):
            found[line].loops.append((loop, _fitted(loop, loops)))
        conditionals = [each for each in recorded if isinstance(each, StagedBranch)]
        for branch in _fitting(conditionals, choices, _together, _always):
            found[line].branches.append((branch, _form(branch, choices)))
    return found


def _add_costs(found: dict[Line, LineFacts], program: Block) -> None:
    pending: list[tuple[Block, int, bool]] = [(program, 1, False)]
    while pending:
        block, times, is_open = pending.pop()
        for operation in block.operations:
            is_loop = operation.role is Role.LOOP
            inner = times * (operation.trips if is_loop and operation.trips is not None else 1)
            opens = is_open or (is_loop and operation.trips is None)
            pending += [(each, inner, opens) for each in operation.blocks]
            line = line_of(operation)
            if line is None:
                continue
            facts = found.setdefault(line, LineFacts())
            facts.operations += 1
            facts.flops += times * operation.cost.flops
            facts.bytes += times * operation.cost.bytes
            facts.results += times * operation.cost.results
            facts.per_iteration |= is_open


def _types(record: StagedLoop | StagedBranch) -> list[str]:
    groups = (
        [each.types for each in record.carried] if isinstance(record, StagedLoop) else [t for _, t in record.results]
    )
    return [str(type.strong()) for types in groups for type in types]


def _holds(types: Iterable[str], wanted: Iterable[str]) -> bool:
    return not Counter(wanted) - Counter(types)


def _exactly(record: StagedLoop | StagedBranch, operations: Sequence[Operation]) -> bool:
    return any(_holds(each.types, _types(record)) for each in operations)


def _by_dtype(record: StagedLoop | StagedBranch, operations: Sequence[Operation]) -> bool:
    """As where JAX has transformed what was staged, so that shapes are others (vmap), or more is carried (derivatives)."""
    wanted = [type.partition("[")[0] for type in _types(record)]
    return any(_holds([type.partition("[")[0] for type in each.types], wanted) for each in operations)


def _in_part(record: StagedLoop | StagedBranch, operations: Sequence[Operation]) -> bool:
    """As where the optimization has found some of what is carried not to be needed."""
    return any(_holds(_types(record), each.types) for each in operations)


_LOOP_RULES: tuple[Rule, ...] = (_exactly, _by_dtype, _in_part)


def _together(record: StagedLoop | StagedBranch, operations: Sequence[Operation]) -> bool:
    return bool(operations) and _holds([type for each in operations for type in each.types], _types(record))


def _always(record: StagedLoop | StagedBranch, operations: Sequence[Operation]) -> bool:
    return bool(operations)


def _fitting(records: Sequence[Staged], operations: Sequence[Operation], *rules: Rule) -> Sequence[Staged]:
    """The records that some of the operations at their line are of, by the first rule that finds any.

    There are more where a line was traced for several types, and where a trace was abandoned.
    """
    for rule in rules:
        if found := [each for each in records if rule(each, operations)]:
            return found
    return []


def _fitted(record: StagedLoop, loops: Sequence[Operation]) -> list[Operation]:
    for rule in _LOOP_RULES:
        if found := [each for each in loops if rule(record, [each])]:
            return found
    return []


def _form(record: StagedBranch, choices: Sequence[Operation]) -> str:
    """What became of a conditional."""
    branches = [each for each in choices if each.role is Role.BRANCH]
    if branches:
        return LOWERED if all(each.runs_both for each in branches) else COND
    return SELECT if record.results else EFFECT


def statements_of(listings: Iterable[Listing]) -> dict[Line, Statement]:
    """The compound statements of the listed functions, by the lines at which they begin."""
    found: dict[Line, Statement] = {}
    for listing in listings:
        try:
            tree = ast.parse(textwrap.dedent("\n".join(listing.source)))
        except SyntaxError:  # a lambda's line, which is part of something else
            continue
        for node in ast.walk(tree):
            if (keyword := _KEYWORDS.get(type(node))) is not None:
                assert isinstance(node, ast.stmt)
                shift = listing.first - 1
                last = (node.end_lineno or node.lineno) + shift
                found.setdefault((listing.file, node.lineno + shift), Statement(keyword, last))
    return found


def boxes_of(program: Block, facts: dict[Line, LineFacts], statements: dict[Line, Statement]) -> list[Box]:
    """The loops and branches of a program, in each other as they run."""
    found: list[Box] = []
    for operation in program.operations:
        line = line_of(operation)
        groups = [(block.label, boxes_of(block, facts, statements)) for block in operation.blocks]
        known = None if line is None else statements.get(line)
        keyword = operation.name if known is None else known.keyword
        if operation.role is Role.LOOP:
            recorded = [] if line is None else [r for r, loops in facts[line].loops if operation in loops]
            trips = recorded[0].trips if recorded else f"{operation.trips} iterations" if operation.trips else ""
            trips = "; ".join(filter(None, [trips, operation.note]))
            box = Box("loop", line, keyword, trips, [(label, inner) for label, inner in groups if inner])
        elif operation.role is Role.BRANCH:
            box = Box("select" if operation.runs_both else "cond", line, keyword, _of_expression(line, known))
            for label, inner in groups:  # selects of this very conditional are no others
                box.groups.append((label, [b for b in inner if (b.kind, b.line) != ("select", line) or b.groups]))
        elif operation.role is Role.SELECT and line is not None and facts[line].branches:
            box = Box("select", line, keyword, _of_expression(line, known))
        else:
            for _, inner in groups:
                for each in inner:
                    _append(found, each)
            continue
        _append(found, box)
    whole = {box.line for box in found if box.kind != "loop" and box.groups}
    one = {line for line in whole if line is not None and len(facts[line].branches) == 1}
    return _nested([box for box in found if box.groups or box.kind != "select" or box.line not in one], statements)


def is_conditional(statement: Statement | None) -> bool:
    """Whether a statement is itself a conditional: ``try`` is one on whether an exception was raised."""
    return statement is not None and statement.keyword in ("if", "match", "try")


def _of_expression(line: Line | None, statement: Statement | None) -> str:
    """What is said of a branch that is no statement: ``and``, ``or``, a conditional expression, what is called."""
    return "" if line is None or is_conditional(statement) else "in an expression of this line"


def _append(boxes: list[Box], box: Box) -> None:
    """Add a box; several of one form in a row are one, counted, and the selects of one conditional are one."""
    last = boxes[-1] if boxes else None
    if box.kind == "select" and not box.groups and any(b.kind == "select" and b.line == box.line for b in boxes):
        return
    if last is not None and _outline(last) == _outline(box):
        last.count += box.count
    else:
        boxes.append(box)


def _outline(box: Box) -> tuple[object, ...]:
    inner = tuple((label, tuple((_outline(each), each.count) for each in boxes)) for label, boxes in box.groups)
    return box.kind, box.line, box.keyword, box.detail, inner


def _nested(boxes: list[Box], statements: dict[Line, Statement]) -> list[Box]:
    """Selects of inner statements in those of the statements around them: in the program they are side by side."""
    selects = [each for each in boxes if each.kind == "select" and not each.groups and each.line in statements]
    found = []
    for box in boxes:
        around = [each for each in selects if box is not each and _is_around(each, box, statements)]
        if around and box in selects:
            owner = max(around, key=lambda each: each.line or ("", 0))
            if not owner.groups:
                owner.groups.append(("", []))
            owner.groups[0][1].append(box)
        else:
            found.append(box)
    return found


def _is_around(outer: Box, inner: Box, statements: dict[Line, Statement]) -> bool:
    if outer.line is None or inner.line is None or outer.line[0] != inner.line[0]:
        return False
    return outer.line[1] < inner.line[1] <= statements[outer.line].last
