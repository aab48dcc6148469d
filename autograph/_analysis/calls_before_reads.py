"""Calls of a function after which it may read what it has given them, by positions in the text."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import gast

from autograph._analysis.array_paths import ELEMENTS, Leads, argument_values, path_of, root_of
from autograph._analysis.children import walk
from autograph._analysis.positions import NEVER, Position, extent, lines_of, outermost_loops


def calls_before_reads(body: Sequence[gast.AST], parts: Sequence[gast.AST], leads: Leads) -> set[int]:
    """The lines of calls after which the function may read an argument by the name that it has had, or what it read of it before in
    the same statement.

    Args:
      body: that of the function. parts: the nodes of its own scope. leads: what expressions lead to.
    """
    reads = _reads(body)
    lines: set[int] = set()
    for statement in parts:
        if not isinstance(statement, gast.stmt):
            continue
        bound = {path_of(target) for target in getattr(statement, "targets", ())}
        begins, _ = extent(statement)
        _, ends = extent(statement) if isinstance(statement, gast.Return) else (begins, NEVER)
        for call in _calls_in(statement):
            first, last = extent(call)
            found = {lead.path for each in argument_values(call) for lead in leads.of(each)}
            paths = {path for path in found - bound if not path.endswith(ELEMENTS)}
            if any(
                _is_between(reads[root], begins, first) or _is_between(reads[root], last, ends)
                for root in map(root_of, paths)
            ):
                lines.update(lines_of(call))
    return lines


def _reads(body: Sequence[gast.AST]) -> defaultdict[str, list[Position]]:
    """Where each name is read, in the order of the text. What is read in a loop may be read again until the loop ends."""
    found: defaultdict[str, list[Position]] = defaultdict(list)
    parts: list[Any] = [part for node in body for part in walk(node)]
    outermost = outermost_loops(parts)
    for part in parts:
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Load):
            position, _ = extent(part)
            found[part.id].append(position)
            place = bisect.bisect(outermost, (position, NEVER)) - 1
            if place >= 0 and position < outermost[place][1]:
                found[part.id].append(outermost[place][1])
    for positions in found.values():
        positions.sort()
    return found


def _is_between(positions: list[Position], start: Position, end: Position) -> bool:
    place = bisect.bisect_left(positions, start)
    return place < len(positions) and positions[place] < end


def _calls_in(statement: gast.stmt) -> Iterator[gast.Call]:
    """The calls of a statement that are in no statement or function in it."""
    pending = [statement]
    while pending:
        for child in gast.iter_child_nodes(pending.pop()):
            if isinstance(child, gast.stmt | gast.Lambda):
                continue
            if isinstance(child, gast.Call):
                yield child
            pending.append(child)
