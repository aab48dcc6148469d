"""Writes to items that more than one name may show: those to parameters, and to what another name leads to.

An expression without calls, as it is spelled (``m``, ``p.pos``, ``d['a']``), is a *path*. A path is shared if something else is bound to
it, holds it or is a part of it: ``b = a``, ``hist.append(a)``, ``row = m[i]``, ``q = p.pos``. Whether the part that an index takes is a
view, and no number, depends on how many dimensions the array has, which is known when it is written to.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import parameter_names, walk_scope

_VIEWS = frozenset(["reshape", "ravel", "view", "transpose", "squeeze", "swapaxes", "diagonal"])
_PARTS = frozenset(["T", "flat", "real", "imag", "mT"])
_OVER = frozenset(["enumerate", "zip", "reversed", "iter"])
_Position = tuple[float, float]  # in the text: a line, and a column of it
_NEVER: _Position = (math.inf, math.inf)


class SharedWrites(NamedTuple):
    """Lines of a function, and of those in it.

    Attributes:
      by_names: those of writes to what another name may lead to, each with the greatest number of dimensions with which none does.
      by_callers: those of writes to parameters of the function that it does not return, so that its caller may show them.
      by_results: those of writes to parameters that it, or a function in it, returns: whether it is itself.
      by_attributes: those of writes to what attributes hold, each with their names.
      attributes: the names of the attributes that something else is bound to, with these numbers.
      calls: those of calls with arguments that may be read after them, by the names that they have had before.
      sorts: those of statements ``x.sort()``.
    """

    by_names: Mapping[int, int] = {}
    by_callers: frozenset[int] = frozenset()
    by_results: Mapping[int, bool] = {}
    by_attributes: Mapping[int, frozenset[str]] = {}
    attributes: Mapping[str, int] = {}
    calls: frozenset[int] = frozenset()
    sorts: frozenset[int] = frozenset()


def shared_writes(function: gast.AST, parts: Sequence[gast.AST], is_module: Callable[[str], bool]) -> SharedWrites:
    """Find these lines.

    Args:
      parts: all nodes of the function.
      is_module: whether a name is that of a module: its functions keep no arguments.
    """
    by_names: dict[int, int] = {}
    by_callers: set[int] = set()
    by_results: dict[int, bool] = {}
    by_attributes: defaultdict[int, set[str]] = defaultdict(set)
    attributes: dict[str, int] = {}
    calls: set[int] = set()
    functions = [(each, walk_scope(each.body)) for each in parts if isinstance(each, gast.FunctionDef)]
    shared: dict[str, int] = {}
    results = [_returned(own) for _, own in functions]
    for _, own in functions:
        for path, least in shared_paths(own, is_module).items():
            shared[path] = min(shared.get(path, least), least)
    for path, least in [*shared.items(), *(led for returned in results for led in returned)]:
        if (name := _attribute(path)) is not None:
            attributes[name] = min(attributes.get(name, least), least)
    for (each, own), led in zip(functions, results, strict=True):
        parameters, returned = frozenset(parameter_names(each.args)), {path for path, _ in led}
        for path, lines in _writes(own):
            root = _root(path)
            indices = [(start, path[len(start) :].count("[")) for start in _prefixes(path) if start in shared]
            dimensions = [max(shared[start] - count, 0) for start, count in indices]
            if root in parameters - returned and each is not function:
                dimensions.append(0)
            if dimensions:
                by_names |= {line: min(by_names.get(line, dimensions[0]), *dimensions) for line in lines}
            if path in parameters & returned:
                by_results |= dict.fromkeys(lines, each is function)
            elif root in parameters and each is function and path.partition("[")[0] == root:
                by_callers.update(lines)
            if (name := _attribute(path.partition("[")[0])) is not None:
                for line in lines:
                    by_attributes[line].add(name)
        calls |= _calls_that_keep(each.body, own)
    sorts = {part.lineno for part in parts if isinstance(part, gast.Expr) and _is_method(part.value, {"sort"})}
    return SharedWrites(
        by_names,
        frozenset(by_callers),
        by_results,
        {line: frozenset(names) for line, names in by_attributes.items()},
        attributes,
        frozenset(calls),
        frozenset(sorts),
    )


def shared_paths(parts: Sequence[gast.AST], is_module: Callable[[str], bool] = lambda _: False) -> dict[str, int]:
    """The paths that something else leads to, each with the greatest number of dimensions with which an array has no such part."""
    found: dict[str, int] = {}

    def share(path: str, least: int = 0) -> None:
        found[path] = min(found.get(path, least), least)

    for part in parts:
        if isinstance(part, gast.Assign):
            for target in part.targets:
                for one, value in _pairs(target, part.value):
                    led = [*_led_to(value)]
                    for path, least in led:
                        share(path, least + _is_unpacked(one))
                    if led and (bound := path_of(one)) is not None:
                        share(bound)
        elif isinstance(part, gast.For):
            for name in walk(part.target):
                if isinstance(name, gast.Name):
                    share(name.id)
            for path, _ in _led_to(part.iter, _OVER):
                share(path, 1 + (_is_unpacked(part.target) and not isinstance(part.iter, gast.Call)))
        elif isinstance(part, gast.AugAssign) and isinstance(part.value, gast.List | gast.Tuple):
            for path, least in _led_to(part.value):
                share(path, least)
        elif (
            isinstance(part, gast.Call) and isinstance(part.func, gast.Attribute) and not _is_of_module(part, is_module)
        ):
            for argument in part.args:
                for path, least in _led_to(argument):
                    share(path, least)
    return found


def path_of(node: gast.AST) -> str | None:
    """The path that an expression is; None if it is another."""
    after: list[str] = []
    while isinstance(node, gast.Attribute | gast.Subscript):
        is_attribute = isinstance(node, gast.Attribute)
        after.append(f".{node.attr}" if is_attribute else f"[{gast.unparse(node.slice).strip()}]")
        node = node.value
    return "".join([node.id, *after[::-1]]) if isinstance(node, gast.Name) else None


def _pairs(target: gast.AST, value: gast.AST) -> Iterator[tuple[gast.AST, gast.AST]]:
    pair = (gast.Tuple, gast.List)
    if not (isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts)):
        yield target, value
    elif sorted(map(gast.unparse, target.elts)) != sorted(map(gast.unparse, value.elts)):  # else they are exchanged
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)


def _led_to(value: gast.AST, through: frozenset[str] = frozenset()) -> Iterator[tuple[str, int]]:
    """What a value is, holds or is a part of: paths, each with the greatest number of dimensions with which it is no part of an array."""
    if isinstance(value, gast.IfExp):
        yield from _led_to(value.body)
        yield from _led_to(value.orelse)
    elif isinstance(value, gast.List | gast.Tuple):
        for each in value.elts:
            yield from _led_to(each)
    elif isinstance(value, gast.Dict):
        for each in value.values:
            yield from _led_to(each)
    elif isinstance(value, gast.Call) and isinstance(value.func, gast.Name) and value.func.id in through:
        for each in value.args:
            yield from _led_to(each)
    elif _is_method(value, _VIEWS):
        yield from _led_to(value.func.value)
    elif (path := path_of(value)) is not None:
        yield path, 0
        numbers, is_whole = 0, False
        while isinstance(value, gast.Subscript):
            index = value.slice.elts if isinstance(value.slice, gast.Tuple) else [value.slice]
            numbers += len(index)
            is_whole = is_whole or any(isinstance(each, gast.Slice) or _is_ellipsis(each) for each in index)
            value = value.value
            yield path_of(value) or "", 0 if is_whole else numbers
        if isinstance(value, gast.Attribute) and value.attr in _PARTS:
            yield path_of(value.value) or "", 0


def _is_unpacked(target: gast.AST) -> bool:
    return isinstance(target, gast.Tuple | gast.List)


def _is_ellipsis(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and node.value is ...


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _attribute(path: str) -> str | None:
    """The name of the attribute that a path ends with; None if it does not."""
    _, dot, name = path.rpartition(".")
    return name if dot and name.isidentifier() else None


def _prefixes(path: str) -> Iterator[str]:
    """The paths that lead to this one, and itself."""
    for end, character in enumerate(path):
        if character in ".[":
            yield path[:end]
    yield path


def _is_method(node: gast.AST, names: frozenset[str] | set[str]) -> bool:
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in names


def _is_of_module(call: gast.Call, is_module: Callable[[str], bool]) -> bool:
    path = path_of(call.func)
    return path is not None and is_module(_root(path))


def _returned(parts: Sequence[gast.AST]) -> list[tuple[str, int]]:
    returned = [part.value for part in parts if isinstance(part, gast.Return) and part.value is not None]
    return [led for value in returned for led in _led_to(value)]


def _writes(parts: Sequence[gast.AST]) -> Iterator[tuple[str, Iterable[int]]]:
    """The paths of what is written to in place, each with the lines of the write."""
    for part in parts:
        written = None
        if isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store):
            written = part.value
        elif isinstance(part, gast.AugAssign):
            written = part.target
        if written is not None and (path := path_of(written)) is not None:
            yield path, range(part.lineno, (part.end_lineno or part.lineno) + 1)


def _calls_that_keep(body: Sequence[gast.AST], parts: Sequence[gast.AST]) -> set[int]:
    """The lines of calls after which the function may read an argument by the name that it has had, or what it read of it before in
    the same statement."""
    reads = _reads(body)
    lines: set[int] = set()
    for statement in parts:
        if not isinstance(statement, gast.stmt):
            continue
        bound = {path_of(target) for target in getattr(statement, "targets", ())}
        begins, _ = _extent(statement)
        _, ends = _extent(statement) if isinstance(statement, gast.Return) else (begins, _NEVER)
        for call in _calls_in(statement):
            first, last = _extent(call)
            roots = {_root(path) for each in call.args for path, _ in _led_to(each) if path not in bound}
            if any(_is_between(reads[root], begins, first) or _is_between(reads[root], last, ends) for root in roots):
                lines.update(range(call.lineno, (call.end_lineno or call.lineno) + 1))
    return lines


def _reads(body: Sequence[gast.AST]) -> defaultdict[str, list[_Position]]:
    """Where each name is read, in the order of the text. What is read in a loop may be read again until the loop ends."""
    found: defaultdict[str, list[_Position]] = defaultdict(list)
    parts: list[Any] = [part for node in body for part in walk(node)]
    loops = sorted(_extent(part) for part in parts if isinstance(part, gast.For | gast.While))
    outermost: list[tuple[_Position, _Position]] = []
    for loop in loops:
        if not outermost or loop[0] >= outermost[-1][1]:
            outermost.append(loop)
    for part in parts:
        if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Load):
            position, _ = _extent(part)
            found[part.id].append(position)
            place = bisect.bisect(outermost, (position, _NEVER)) - 1
            if place >= 0 and position < outermost[place][1]:
                found[part.id].append(outermost[place][1])
    for positions in found.values():
        positions.sort()
    return found


def _is_between(positions: list[_Position], start: _Position, end: _Position) -> bool:
    place = bisect.bisect_left(positions, start)
    return place < len(positions) and positions[place] < end


def _extent(node: Any) -> tuple[_Position, _Position]:
    """Where in the text a node begins and ends."""
    begins = node.lineno, node.col_offset
    return begins, (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


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
