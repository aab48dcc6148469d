"""Slices by computed bounds that are bound to a name, ``y = a[n:]``, and that writes would show to be parts of the array.

Where a bound is traced, such a slice is an array of its own: what is written to one of the two, the other does not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gast

from autograph._analysis.array_paths import Leads, path_of, root_of
from autograph._analysis.children import walk
from autograph._analysis.positions import NEVER, Position, extent, outermost_loops
from autograph.runtime.code.array_facts import METHODS

_BLOCKS = ("body", "orelse", "finalbody")
_IN_PLACE = frozenset(name for name, facts in METHODS.items() if facts.first)


def open_slices(parts: Sequence[gast.AST], leads: Leads) -> dict[int, bool]:
    """The lines of such slices, each with whether items are written; else, ``y += v`` only.

    Args:
      parts: the nodes of a function but those of functions in it.
    """
    lines = {each.lineno: True for each in parts if _is_open(_changed_in_place(each))}
    found = [each for each in parts if isinstance(each, gast.Assign)]
    bound = [
        (each, name, whole)
        for each in found
        for target in each.targets
        for name, value in _names_in(target, each.value)
        if (whole := _whole(value)) is not None
    ]
    if not bound:
        return lines
    loops = outermost_loops(parts)
    reads: dict[str, list[Position]] = {}
    for part in parts:
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Load):
            reads.setdefault(part.id, []).append(extent(part)[0])
    writes: dict[str, list[tuple[str, bool, Position]]] = {}
    for write in _writes(parts):
        writes.setdefault(root_of(write[0]), []).append(write)
    anew = _Rebindings(parts, leads)
    for each, name, whole in bound:
        begins, ends = extent(each)
        lasts, in_iteration = anew.after(each, name)
        around = [loop for loop in loops if not loop[0] <= begins < loop[1]]
        for path, is_item, position in (*writes.get(name, ()), *writes.get(root_of(whole), ())):
            if root_of(path) == name and (position >= lasts or (in_iteration and position < begins)):
                continue
            if root_of(path) == name:
                is_shown = any(
                    _is_after(read, position, loops) for read in reads.get(root_of(whole), ()) if read > ends
                )
                is_shown = is_shown or any(loop[0] <= begins and position <= loop[1] for loop in loops)
            elif path == whole or path.startswith((f"{whole}[", f"{whole}.")):
                read_while = [
                    read for read in reads.get(name, ()) if read < lasts and not (in_iteration and read < begins)
                ]
                is_shown = position >= begins and any(_is_after(read, position, around) for read in read_while)
            else:
                continue
            if is_shown:
                lines[each.lineno] = lines.get(each.lineno, False) or is_item
    return lines


class _Rebindings:
    """Where names are bound to what is no part of what they were bound to before."""

    def __init__(self, parts: Sequence[gast.AST], leads: Leads) -> None:
        self._blocks: list[tuple[Position, Position, bool]] = []  # each with whether all of it runs if it is begun
        self._jumps: list[Position] = []
        self._found: list[tuple[str, tuple[Position, Position]]] = []
        for part in parts:
            if isinstance(part, gast.Break | gast.Continue):
                self._jumps.append(extent(part)[0])
            elif isinstance(part, gast.Assign):
                for target in part.targets:
                    if isinstance(target, gast.Name) and all(
                        root_of(lead.path) != target.id for lead in leads.of(part.value)
                    ):
                        self._found.append((target.id, extent(part)))
            for field in _BLOCKS:
                block = getattr(part, field, None)
                if isinstance(block, list) and block:
                    is_whole = field != "body" or not isinstance(part, gast.Try | gast.With | gast.AsyncWith)
                    self._blocks.append((extent(block[0])[0], extent(block[-1])[1], is_whole))

    def after(self, bound: gast.Assign, name: str) -> tuple[Position, bool]:
        """Where a name is, in any case, next bound anew after an assignment, and whether that is in each iteration of its loops."""
        begins, ends = extent(bound)
        for position in sorted(position for same, position in self._found if same == name):
            around = [block for block in self._blocks if block[0] <= position[0] < block[1]]
            if position[0] < ends or any(ends <= jump < position[0] for jump in self._jumps):
                continue
            if all(block[2] and block[0] <= begins < block[1] for block in around):
                own = [block for block in self._blocks if block[0] <= begins < block[1]]
                return position[1], len(own) == len(around)
        return NEVER, False


def _names_in(target: gast.AST, value: gast.AST) -> Iterator[tuple[str, gast.AST]]:
    """The names that an assignment binds, each with its value."""
    pair = gast.Tuple | gast.List
    if isinstance(target, gast.Name):
        yield target.id, value
    elif isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _names_in(one, other)


def _whole(value: gast.AST) -> str | None:
    """The path of the array of which an expression is such a slice, or a part of one; None if it is another."""
    found = None
    while isinstance(value, gast.Subscript):
        found = value.value if _is_open(value) else found
        value = value.value
    return None if found is None else path_of(found)


def _changed_in_place(part: gast.AST) -> gast.AST | None:
    """The expression whose method that changes an array in place a statement calls."""
    if not isinstance(part, gast.Expr) or not isinstance(part.value, gast.Call):
        return None
    method = part.value.func
    return method.value if isinstance(method, gast.Attribute) and method.attr in _IN_PLACE else None


def _is_after(read: Position, write: Position, loops: Sequence[tuple[Position, Position]]) -> bool:
    """Whether what is read at one place is read after a write at another, in a later iteration perhaps."""
    return read > write or any(begins <= read and begins <= write <= ends for begins, ends in loops)


def _is_open(value: gast.AST | None) -> bool:
    if not isinstance(value, gast.Subscript):
        return False
    index = value.slice.elts if isinstance(value.slice, gast.Tuple) else [value.slice]
    bounds = [bound for part in index if isinstance(part, gast.Slice) for bound in (part.lower, part.upper)]
    return any(bound is not None and not _is_number(bound) for bound in bounds)


def _is_number(bound: gast.AST) -> bool:
    bound = bound.operand if isinstance(bound, gast.UnaryOp) else bound
    return isinstance(bound, gast.Constant)


def _writes(parts: Sequence[gast.AST]) -> Iterator[tuple[str, bool, Position]]:
    """The paths that are written to, each with whether items are, and where the statement ends."""
    for part in parts:
        targets = (
            part.targets if isinstance(part, gast.Assign) else [part.target] if isinstance(part, gast.AugAssign) else []
        )
        for target in (each for whole in targets for each in walk(whole)):
            is_name = isinstance(target, gast.Name) and isinstance(part, gast.AugAssign)
            written = (
                target.value if isinstance(target, gast.Subscript) and isinstance(target.ctx, gast.Store) else None
            )
            written = target if is_name and target is part.target else written
            if written is not None and (path := path_of(written)) is not None:
                yield path, not is_name, extent(part)[1]
        written = _changed_in_place(part)
        if written is not None and (path := path_of(written)) is not None:
            yield path, True, extent(part)[1]
